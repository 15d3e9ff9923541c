//! What `rampmeter audit --source` finds, as a user runs it.

#![cfg(feature = "source")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rampmeter_tools::Output;
use rampmeter_tools::audit::run;
use serde_json::Value;

/// A file per language, with what sends 429 and what only looks like it. The
/// former are marked in comments, with what they answer.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/audit-source")
}

fn audit(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.to_str().expect("a path in UTF-8");
    run(&[&["--source", folder, "--width", "120"], arguments].concat(), None, None).expect("no input is needed")
}

fn report(folder: &Path, arguments: &[&str]) -> (Value, u8) {
    let output = audit(folder, &[&["--json"], arguments].concat());
    (serde_json::from_str(&output.text).unwrap_or_else(|error| panic!("{error}: {}", output.text)), output.code)
}

/// What is answered, as the marks say it.
fn answered(place: &Value) -> &str {
    match (place["answers"].as_str(), place["header"].as_bool(), place["seconds"].as_bool()) {
        (Some(class), ..) => class,
        (None, Some(true), _) => "header",
        (None, _, Some(true)) => "body",
        _ => "nothing",
    }
}

fn holds(name: &str) {
    let path = cases().join(name);
    let text = fs::read_to_string(&path).expect("a readable file");
    let marked: BTreeMap<usize, &str> =
        text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.split_once("SENDS ")?.1.trim()))).collect();
    assert!(marked.len() >= 5, "{name} has {} marks", marked.len());
    let (report, _) = report(&path, &[]);
    let places = report["places"].as_array().cloned().expect("a list");
    let found: BTreeMap<usize, &str> =
        places.iter().map(|place| (place["line"].as_u64().expect("a line") as usize, answered(place))).collect();
    let shown = |places: &BTreeMap<usize, &str>| {
        let line = |(number, answer): (&usize, &&str)| {
            format!("{number}: {answer}: {}", text.lines().nth(number - 1).unwrap_or_default().trim())
        };
        places.iter().map(line).collect::<Vec<_>>()
    };
    let (marked, found_lines) = (shown(&marked), shown(&found));
    let missing: Vec<_> = marked.iter().filter(|line| !found_lines.contains(line)).collect();
    let unexpected: Vec<_> = found_lines.iter().filter(|line| !marked.contains(line)).collect();
    assert!(missing.is_empty() && unexpected.is_empty(), "{name}\nmissing {missing:#?}\nunexpected {unexpected:#?}");
    assert_eq!(places.len(), found.len(), "{name}: a line stands twice");
}

macro_rules! languages {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                holds($name);
            }
        )*
    };
}

languages! {
    what_sends_429_is_found_in_go: "server.go",
    what_sends_429_is_found_in_python: "server.py",
    what_sends_429_is_found_in_javascript: "server.js",
    what_sends_429_is_found_in_typescript: "server.ts",
    what_sends_429_is_found_in_rust: "server.rs",
    what_sends_429_is_found_in_ruby: "server.rb",
    what_sends_429_is_found_in_java: "Server.java",
    what_sends_429_is_found_in_php: "server.php",
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("rampmeter-source-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BARE: &str = "def f():\n    abort(429)\n";
const WHOLE: &str = "def f():\n    return {'retry': True, 'retryAfter': 30}, 429, {'Retry-After': '30'}\n";

#[test]
fn the_exit_status_is_1_where_a_place_is_not_shown_to_answer() {
    let bare = Folder::new("bare", &[("app.py", BARE)]);
    assert_eq!(audit(&bare.0, &[]).code, 1);
    let whole = Folder::new("whole", &[("app.py", WHOLE)]);
    assert_eq!(audit(&whole.0, &[]).code, 0, "{}", audit(&whole.0, &[]).text);
    let none = Folder::new("none", &[("app.py", "x = 1\n")]);
    assert_eq!(audit(&none.0, &[]).code, 0);
}

#[test]
fn places_are_named_by_path_line_and_column() {
    let folder = Folder::new("named", &[("inner/app.py", BARE)]);
    assert!(audit(&folder.0, &[]).text.contains("inner/app.py:2:11"), "{}", audit(&folder.0, &[]).text);
    let place = &report(&folder.0, &[]).0["places"][0];
    assert_eq!(place["within"], "f");
    let annotations = audit(&folder.0, &["--annotations"]).text;
    assert!(annotations.starts_with("::error file=") && annotations.contains(",line=2,col=11,title="), "{annotations}");
}

#[test]
fn places_that_are_known_fail_no_check_and_a_new_one_does() {
    let folder = Folder::new("known", &[("app.py", BARE)]);
    let known = folder.0.join("known.json");
    fs::write(&known, audit(&folder.0, &["--json"]).text).expect("a file");
    let known = known.to_str().expect("a path in UTF-8");
    assert_eq!(audit(&folder.0, &["--known", known]).code, 0);
    fs::write(folder.0.join("app.py"), format!("# moved\n\n{BARE}")).expect("a file");
    assert_eq!(audit(&folder.0, &["--known", known]).code, 0, "a place that moved is the same");
    fs::write(folder.0.join("app.py"), format!("{BARE}    abort(429)\n")).expect("a file");
    let output = audit(&folder.0, &["--known", known]);
    assert!(output.code == 1 && output.text.contains("new: "), "{}", output.text);
}

#[test]
fn what_others_wrote_and_what_is_excluded_is_left_out() {
    let folder = Folder::new(
        "foreign",
        &[
            ("node_modules/x/a.js", "res.status(429).end();"),
            ("vendor/a.go", "package a\nfunc f() { w.WriteHeader(429) }"),
            ("made/a.js", "res.status(429).end();"),
            (".gitignore", "made\n"),
            ("tests/a.js", "res.status(429).end();"),
            ("a.js", "res.status(429).end();"),
        ],
    );
    let (report, _) = report(&folder.0, &["--exclude", "tests/"]);
    let paths: Vec<_> = report["places"].as_array().expect("a list").iter().map(|place| &place["path"]).collect();
    assert_eq!(paths, ["a.js"]);
}

#[test]
fn a_folder_without_source_and_wrong_arguments_end_with_status_2() {
    let folder = Folder::new("empty", &[("readme.txt", "429")]);
    let output = audit(&folder.0, &[]);
    assert!(output.code == 2 && output.text.contains("there is no source"), "{}", output.text);
    assert_eq!(audit(Path::new("/no/such/folder"), &[]).code, 2);
    assert_eq!(run(&["--known", "x"], None, None).map(|output| output.code), Some(2));
    assert_eq!(run(&["--source", ".", "file"], None, None).map(|output| output.code), Some(2));
    let known = folder.0.join("readme.txt");
    let output = audit(&cases(), &["--known", known.to_str().expect("a path in UTF-8")]);
    assert!(output.code == 2 && output.text.contains("readme.txt"), "{}", output.text);
}

#[test]
fn damaged_sources_break_nothing() {
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for entry in fs::read_dir(cases()).expect("the cases lie in the checkout") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            continue;
        }
        let whole = fs::read(&path).expect("a readable file");
        let extension = path.extension().expect("an extension").to_str().expect("UTF-8").to_owned();
        for round in 0..20 {
            let mut damaged = whole.clone();
            for _ in 0..=random(8) {
                let at = random(damaged.len());
                match random(3) {
                    0 => damaged[at] = random(256) as u8,
                    1 => damaged.truncate(at.max(1)),
                    _ => damaged.insert(at, b"\n(\"{}'#"[random(7)]),
                }
            }
            let folder = Folder::new(&format!("damaged-{extension}-{round}"), &[]);
            fs::create_dir_all(&folder.0).expect("a folder");
            fs::write(folder.0.join(format!("a.{extension}")), damaged).expect("a file");
            assert!(matches!(audit(&folder.0, &[]).code, 0 | 1));
        }
    }
}

#[test]
fn the_documentation_shows_what_is_said() {
    let page = audit(&cases().join("shown"), &[]).text;
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/audit.md");
    assert!(fs::read_to_string(guide).expect("a readable guide").contains(&page), "the guide does not show {page}");
}

#[test]
fn the_nine_places_of_each_guarded_application_are_listed() {
    let guards = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guards");
    for name in ["fastapi_app.py", "express_app.mjs"] {
        let (report, code) = report(&guards.join(name), &[]);
        let places = report["places"].as_array().expect("a list").len();
        assert_eq!((places, code), (9, 1), "{name}");
    }
}
