//! The engine reads no clock, sleeps not, starts no thread, draws from no
//! global source of randomness and does no I/O: all of that is the drivers'.
//! So that it stays that way, the sources are searched.

use std::fs;
use std::path::{Path, PathBuf};

/// What may not stand in the engine, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    ("Instant::now", "the caller reads the clock"),
    ("SystemTime::now", "the caller reads the clock"),
    ("std::time::Instant", "the crate's own integers are the only time"),
    ("elapsed()", "the caller reads the clock"),
    ("thread::", "the engine starts no thread"),
    ("thread_local", "state belongs to a limiter"),
    ("sleep(", "the driver sleeps"),
    ("HashMap", "its order differs from run to run: use a BTreeMap"),
    ("HashSet", "its order differs from run to run: use a BTreeSet"),
    ("fastrand::", "only a seeded fastrand::Rng draws"),
    ("Rng::new(", "a generator is seeded from the config"),
    ("std::fs", "the engine does no I/O"),
    ("std::net", "the engine does no I/O"),
    ("std::io", "the engine does no I/O"),
    ("std::env", "options come from the config"),
    ("std::process", "the engine starts nothing"),
    ("println!", "events and notices say what happened"),
    ("eprintln!", "events and notices say what happened"),
];

/// What a forbidden word may be the start of.
const ALLOWED: &[&str] = &["fastrand::Rng"];

#[test]
fn the_engine_reads_no_clock_and_does_no_io() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    let engine: Vec<_> = files.iter().filter(|file| !file.starts_with(source.join("drivers"))).collect();
    assert!(engine.len() >= 15, "the sources are not where this test looks: {}", source.display());
    assert!(engine.len() < files.len(), "no drivers found to leave out");

    let mut found = Vec::new();
    for file in engine {
        let text = fs::read_to_string(file).expect("a source file can be read");
        for (line, word, why) in offences(&text) {
            found.push(format!("{}:{line}: {word}: {why}", file.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_forbidden_is_found() {
    let words = |text: &str| offences(text).into_iter().map(|(_, word, _)| word).collect::<Vec<_>>();
    assert_eq!(words("let now = std::time::Instant::now();"), ["Instant::now", "std::time::Instant"]);
    assert_eq!(words("let now = SystemTime::now();"), ["SystemTime::now"]);
    assert_eq!(words("started.elapsed()"), ["elapsed()"]);
    assert_eq!(words("std::thread::sleep(wait);"), ["thread::", "sleep("]);
    assert_eq!(words("use std::collections::HashMap;"), ["HashMap"]);
    assert_eq!(words("let unit = fastrand::f64();"), ["fastrand::"]);
    assert_eq!(words("let rng = fastrand::Rng::new();"), ["Rng::new("]);
    assert_eq!(offences("fn a() {}\n\nsleep(1)")[0].0, 3);
}

#[test]
fn comments_strings_and_longer_words_are_no_offence() {
    for text in [
        "// calls Instant::now",
        "/* sleep( /* nested */ HashMap */",
        r#"let text = "thread::spawn \" HashMap";"#,
        r##"let text = r#"HashMap " HashSet"#;"##,
        "config.max_total_sleep(wait)",
        "let rng = fastrand::Rng::with_seed(seed);",
        "let quote = '\"'; // HashMap",
        "fn lifetime<'a>(text: &'a str) {} // HashMap",
    ] {
        assert_eq!(offences(text), [], "{text}");
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder can be read") {
        let path = entry.expect("a source folder can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn offences(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let code = code_only(text);
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (word, why) in FORBIDDEN {
            let hit = line.match_indices(word).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let is_whole = !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
                is_whole && !ALLOWED.iter().any(|allowed| line[at..].starts_with(allowed))
            });
            if hit {
                found.push((number + 1, *word, *why));
            }
        }
    }
    found
}

/// The text with comments and the insides of literals blanked, line by line.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if next == 'r' && !code.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
            raw_string(rest)
        } else if next == '"' {
            string(rest)
        } else if next == '\'' {
            character(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            code.extend(rest[..skipped].chars().filter(|letter| *letter == '\n'));
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string at the start; 0 if there is none.
fn raw_string(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    let open = 2 + hashes;
    text[open..].find(&close).map_or(text.len(), |at| open + at + close.len())
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal at the start; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => {
            text[2..].char_indices().skip(1).find(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 3)
        }
        Some(_) => letters.next().filter(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}
