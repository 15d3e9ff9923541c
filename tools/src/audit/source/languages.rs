//! The languages that are read, by the grammars that editors use.

use std::path::Path;

use tree_sitter::Language;

/// A grammar, and the files that are written in it.
pub(super) struct Dialect {
    pub(super) name: &'static str,
    extensions: &'static [&'static str],
    pub(super) grammar: fn() -> Language,
}

const DIALECTS: [Dialect; 9] = [
    Dialect { name: "Go", extensions: &["go"], grammar: || tree_sitter_go::LANGUAGE.into() },
    Dialect { name: "Python", extensions: &["py", "pyw"], grammar: || tree_sitter_python::LANGUAGE.into() },
    Dialect {
        name: "JavaScript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
    },
    Dialect {
        name: "TypeScript",
        extensions: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    },
    Dialect { name: "TypeScript", extensions: &["tsx"], grammar: || tree_sitter_typescript::LANGUAGE_TSX.into() },
    Dialect { name: "Rust", extensions: &["rs"], grammar: || tree_sitter_rust::LANGUAGE.into() },
    Dialect { name: "Ruby", extensions: &["rb", "ru", "rake"], grammar: || tree_sitter_ruby::LANGUAGE.into() },
    Dialect { name: "Java", extensions: &["java"], grammar: || tree_sitter_java::LANGUAGE.into() },
    Dialect { name: "PHP", extensions: &["php", "phtml"], grammar: || tree_sitter_php::LANGUAGE_PHP.into() },
];

/// The dialect of a file, by its name.
pub(super) fn of(path: &Path) -> Option<&'static Dialect> {
    let extension = path.extension()?.to_str()?;
    DIALECTS.iter().find(|dialect| dialect.extensions.contains(&extension))
}
