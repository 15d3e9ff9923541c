//! The demo as a user runs it, in one language and with few calls.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

struct Demo {
    folder: PathBuf,
    output: Output,
}

impl Demo {
    /// Neither Python nor Node can be found.
    fn run(calls: u32) -> Self {
        let folder = std::env::temp_dir().join(format!("rampmeter-demo-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let output = Command::new(env!("CARGO_BIN_EXE_rampmeter"))
            .args(["demo", "--python", "/nowhere/python", "--node", "/nowhere/node"])
            .args(["--fleets", concat!(env!("CARGO_MANIFEST_DIR"), "/fleets"), "--calls", &calls.to_string()])
            .arg("--html")
            .arg(folder.join("demo.html"))
            .arg("--json")
            .arg(folder.join("demo.json"))
            .output()
            .expect("the command starts");
        Self { folder, output }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a file")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn shows_what_ran_and_reports_what_did_not() {
    let demo = Demo::run(10);

    // Every fleet that could run has done all its calls.
    let lanes: Vec<Value> = serde_json::from_str(&demo.read("demo.json")).expect("JSON");
    assert_eq!(lanes.len(), 5 * 3 * 2);
    for lane in &lanes {
        if lane["language"] == "Rust" {
            assert_eq!(lane["done"], 10, "{lane}");
            assert_eq!(lane["accepted"], 10, "{lane}");
        } else {
            assert!(lane["problem"].as_str().is_some_and(|problem| problem.contains("/nowhere/")), "{lane}");
        }
    }

    // The missing interpreters are named, and the command fails.
    let (stdout, stderr) = (&demo.output.stdout, String::from_utf8_lossy(&demo.output.stderr));
    assert_eq!(String::from_utf8_lossy(stdout).matches("not run").count(), 20);
    assert!(stderr.contains("Python: cannot start /nowhere/python"), "{stderr}");
    assert!(stderr.contains("Node: cannot start /nowhere/node"), "{stderr}");
    assert_eq!(demo.output.status.code(), Some(1));

    // The page has its pictures and asks nobody for anything.
    let page = demo.read("demo.html");
    assert_eq!(page.matches("<svg").count(), 5 * 3);
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    for mark in ["http:", "https:", "url(", "src=", "<link", "@import"] {
        assert!(!elsewhere.contains(mark), "the page contains {mark}");
    }
}
