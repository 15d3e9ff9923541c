//! `rampmeter audit --source`: every place in a code base that sends 429, and
//! what each answers as far as the source shows.

mod context;
mod evidence;
mod languages;
mod mentions;
mod names;
mod page;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use context::Use;
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use languages::Dialect;
use mentions::{Form, Mention};
use serde::{Deserialize, Serialize};
use tree::Text;
use tree_sitter::{Node, Parser};

use super::options::Format;
use crate::command::Output;
use crate::words;

/// Larger files are made by machines.
const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// Folders of what others wrote, where no `.gitignore` leaves them out.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "target", "__pycache__", "site-packages"];

/// What is looked through.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) folder: PathBuf,
    /// Patterns as in a `.gitignore`.
    pub(super) exclude: Vec<String>,
    /// What `--json` printed before.
    pub(super) known: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// How many files were read.
    pub(super) files: usize,
    pub(super) places: Vec<Place>,
    /// How many places are not shown to answer.
    pub(super) unanswered: usize,
    /// How many places are not in the list of those that are known; absent
    /// without such a list.
    pub(super) new: Option<usize>,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

/// One place that sends 429.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    /// Below the folder, with slashes.
    pub(super) path: String,
    /// From 1.
    pub(super) line: usize,
    /// From 1, in bytes.
    pub(super) column: usize,
    pub(super) language: &'static str,
    /// The function or class around it.
    pub(super) within: Option<String>,
    /// The line itself.
    pub(super) source: String,
    /// The class that it answers as, as far as is shown.
    pub(super) answers: Option<&'static str>,
    /// What is missing, in words.
    pub(super) lacks: Option<String>,
    /// `Retry-After` is set beside it.
    pub(super) header: bool,
    /// The body has a member with seconds.
    pub(super) seconds: bool,
    /// It is in the list of those that are known.
    pub(super) known: Option<bool>,
}

/// A list of places, as `--json` prints it.
#[derive(Deserialize)]
struct Known {
    places: Vec<KnownPlace>,
}

/// By what a place is known again: lines move.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct KnownPlace {
    path: String,
    within: Option<String>,
}

pub(super) fn run(options: &Options, format: Format) -> Result<Output, String> {
    let mut report = look_through(options)?;
    if let Some(file) = &options.known {
        compare(&mut report, file)?;
    }
    let text = match format {
        Format::Page(style) => page::page(&report, style),
        Format::Annotations => page::annotations(&report, &options.folder),
        Format::Json => serde_json::to_string_pretty(&report).map_err(|error| error.to_string())? + "\n",
    };
    Ok(Output { text, code: u8::from(report.new.unwrap_or(report.unanswered) > 0) })
}

fn look_through(options: &Options) -> Result<Report, String> {
    let folder = &options.folder;
    if !folder.exists() {
        return Err(format!("there is no {}", folder.display()));
    }
    let mut overrides = OverrideBuilder::new(folder);
    for pattern in &options.exclude {
        overrides.add(&format!("!{pattern}")).map_err(|error| format!("--exclude {pattern}: {error}"))?;
    }
    let mut walk = WalkBuilder::new(folder);
    walk.require_git(false)
        .overrides(overrides.build().map_err(|error| error.to_string())?)
        .filter_entry(|entry| entry.depth() == 0 || !FOREIGN.iter().any(|name| entry.file_name() == *name))
        .sort_by_file_path(Ord::cmp);
    let mut report = Report::default();
    for entry in walk.build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                report.notes.push(error.to_string());
                continue;
            }
        };
        let Some(dialect) = languages::of(entry.path()) else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path().strip_prefix(folder).ok().filter(|path| !path.as_os_str().is_empty());
        let path = path.unwrap_or(entry.path()).to_string_lossy().replace('\\', "/");
        match text_of(entry.path()) {
            Ok(text) => {
                report.files += 1;
                report.places.extend(places(&path, &text, dialect));
            }
            Err(why) => report.notes.push(format!("{path} is left out: {why}")),
        }
    }
    if report.files == 0 {
        return Err(format!("there is no source in {} that could be read", folder.display()));
    }
    report.unanswered = report.places.iter().filter(|place| place.answers.is_none()).count();
    Ok(report)
}

fn text_of(path: &Path) -> Result<String, String> {
    let length = path.metadata().map_err(|error| error.to_string())?.len();
    if length > MOST_BYTES {
        return Err(format!("it has {length} bytes, more than people write"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn compare(report: &mut Report, file: &Path) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let known: Known = serde_json::from_slice(&text)
        .map_err(|error| format!("{} is not what --source --json prints: {error}", file.display()))?;
    let mut left: BTreeMap<KnownPlace, usize> = BTreeMap::new();
    for place in known.places {
        *left.entry(place).or_default() += 1;
    }
    let mut new = 0;
    for place in &mut report.places {
        let key = KnownPlace { path: place.path.clone(), within: place.within.clone() };
        let is_known = left.get_mut(&key).filter(|left| **left > 0).map(|left| *left -= 1).is_some();
        place.known = Some(is_known);
        new += usize::from(!is_known);
    }
    report.new = Some(new);
    Ok(())
}

/// The places in one file.
fn places(path: &str, text: &str, dialect: &Dialect) -> Vec<Place> {
    // Most files have nothing to do with it, and need no tree.
    let upper = text.to_ascii_uppercase().replace('_', "");
    if !upper.contains("429") && !upper.contains("TOOMANYREQUESTS") {
        return Vec::new();
    }
    let mut parser = Parser::new();
    if parser.set_language(&(dialect.grammar)()).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(text, None) else { return Vec::new() };
    let source = Text(text);
    let root = tree.root_node();
    let mut own = BTreeSet::new();
    for mention in mentions::all(root, source, &own) {
        if let Use::Defines(name) = context::of(&mention, source) {
            own.insert(name);
        }
    }
    let sending = sending(mentions::all(root, source, &own), source);
    let is_rival_of = |node: Node<'_>| {
        let ranges: Vec<_> = sending.iter().filter(|other| **other != node).map(|other| other.byte_range()).collect();
        move |statement: Node<'_>| {
            let within = statement.byte_range();
            ranges.iter().any(|range| within.start <= range.start && range.end <= within.end)
        }
    };
    let place = |node: &Node<'_>| {
        let evidence = evidence::around(*node, source, &is_rival_of(*node));
        let start = node.start_position();
        let line = text.lines().nth(start.row).unwrap_or_default().trim();
        Place {
            path: words::plain(path.as_bytes(), 300),
            line: start.row + 1,
            column: start.column + 1,
            language: dialect.name,
            within: tree::within(*node, source).map(|name| words::plain(name.as_bytes(), 80)),
            source: words::plain(line.as_bytes(), 120),
            answers: evidence.answers(),
            lacks: evidence.answers().is_none().then(|| evidence.lacks()),
            header: evidence.header,
            seconds: evidence.seconds,
            known: None,
        }
    };
    sending.iter().map(place).collect()
}

/// The mentions that send, one for each statement; those that only describe
/// where nothing around them sends.
fn sending<'t>(mentions: Vec<Mention<'t>>, text: Text<'_>) -> Vec<Node<'t>> {
    let used: Vec<(Node<'t>, Use, Form)> =
        mentions.iter().map(|mention| (mention.node, context::of(mention, text), mention.form)).collect();
    let sends = |used: &&(Node<'t>, Use, Form)| used.1 == Use::Sends;
    let functions: BTreeSet<usize> = used.iter().filter(sends).map(|used| function_of(used.0)).collect();
    let mut statements = BTreeSet::new();
    used.iter()
        .filter(|(node, kind, _)| match kind {
            Use::Sends => true,
            Use::Describes => !functions.contains(&function_of(*node)),
            Use::Defines(_) | Use::Other => false,
        })
        .filter(|(node, ..)| statements.insert(statement_of(*node)))
        .map(|(node, ..)| *node)
        .collect()
}

/// What tells the function around a node from others.
fn function_of(node: Node<'_>) -> usize {
    let mut at = node;
    while let Some(parent) = at.parent() {
        if tree::is_function(parent) {
            return parent.id();
        }
        at = parent;
    }
    0
}

/// The same for the statement around it.
fn statement_of(node: Node<'_>) -> usize {
    let mut at = node;
    while let Some(parent) = at.parent() {
        let ends = tree::is_block(parent)
            || tree::is_class(parent)
            || tree::is_function(parent)
            || matches!(
                parent.kind(),
                "match_arm" | "match_conditional_expression" | "switch_rule" | "array" | "array_expression"
            );
        if ends {
            return at.id();
        }
        at = parent;
    }
    at.id()
}
