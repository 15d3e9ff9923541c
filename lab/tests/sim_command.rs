//! `rampmeter simulate`, as a user runs it.

use std::process::{Command, Output};

use serde_json::Value;

fn simulate(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rampmeter"));
    command.arg("simulate").args(arguments.split_whitespace()).output().expect("the command starts")
}

fn json(arguments: &str) -> Vec<Value> {
    let output = simulate(&format!("{arguments} --json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a list of cells")
}

#[test]
fn each_cell_has_its_figures_as_json() {
    let cells = json(
        "--server fixed:limit=100,window=60,phase=37 --dialect ietf --workload batch:1000 --workers 50 \
         --strategy rampmeter,per-request --seed 1",
    );
    assert_eq!(cells.len(), 2);
    for (cell, strategy) in cells.iter().zip(["rampmeter", "per-request"]) {
        assert_eq!(cell["server"], "fixed:limit=100,window=60,phase=37");
        assert_eq!(cell["dialect"], "ietf");
        assert_eq!(cell["workload"], "batch:1000");
        assert_eq!(cell["strategy"], strategy);
        assert_eq!(cell["accepted"], 1000);
        assert_eq!(cell["failed"], 0);
        for figure in ["refused", "makespan", "optimal", "makespan_ratio", "max_burst", "p50", "p99", "jain"] {
            assert!(cell[figure].is_number(), "{strategy}: {figure} is {}", cell[figure]);
        }
    }
    assert_eq!((&cells[0]["refused"], &cells[1]["refused"]), (&Value::from(0), &Value::from(450)));
}

#[test]
fn every_server_meets_every_dialect_and_workload() {
    let cells = json(
        "--server token-bucket:rate=10,burst=20 --server concurrency:cap=10,service=0.2 --dialect none,x-delta \
         --workload batch:50 --workload poisson:load=0.5,minutes=0.2 --strategy oracle",
    );
    assert_eq!(cells.len(), 8);
}

#[test]
fn all_names_of_servers_dialects_and_conditions_are_understood() {
    for arguments in [
        "--server fixed:limit=9,window=2,phase=1 --dialect ietf",
        "--server anchored:limit=9,window=2 --dialect x-delta --rtt 0.005",
        "--server sliding-log:limit=9,window=2 --dialect x-epoch --rtt log-normal:median=0.1,p99=3",
        "--server sliding-log-counting:limit=9,window=2 --dialect x-epoch-ms --processes 4",
        "--server sliding-counter:limit=9,window=2 --dialect reset-after --cancel 0.05",
        "--server token-bucket:rate=9,burst=2 --dialect retry-after --skew -90 --timers coarse",
        "--server leaky-queue:rate=9,depth=2 --dialect retry-after-floor --deadline 30",
        "--server concurrency:cap=9,service=0.2 --dialect retry-after-date --workers 5",
        "--server policies:20/1,1000/3600 --dialect retry-after-ms --second fixed:limit=9,window=2",
        "--server shared:fixed:limit=9,window=2,stolen=0.3 --dialect none --options {\"max_attempts\":null}",
        "--server fixed:limit=9,window=2 --dialect hostile --workload bursts:load=0.8,minutes=0.2,size=5",
    ] {
        let cells = json(&format!("--workload batch:40 {arguments} --strategy oracle,rampmeter,gcra-1.25,sre"));
        assert!(cells.len() >= 4, "{arguments}");
    }
}

#[test]
fn the_table_names_the_cell_and_each_strategy() {
    let output = simulate("--workload batch:200 --strategy rampmeter,per-request");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("fixed:limit=100,window=60,phase=37 ietf batch:200\n"), "{text}");
    assert!(text.contains("│ rampmeter") && text.contains("│ per-request"), "{text}");
}

#[test]
fn a_wrong_argument_names_what_is_wrong() {
    for (arguments, named) in [
        ("--server bucket:rate=1", "unknown server"),
        ("--dialect french", "unknown dialect"),
        ("--workload storm:1", "workload \"storm:1\" cannot be read"),
        ("--strategy hope", "unknown strategy"),
        ("--rtt fast", "round trip \"fast\" cannot be read"),
        ("--options {\"no_such_option\":1}", "no_such_option"),
    ] {
        let output = simulate(arguments);
        assert!(!output.status.success(), "{arguments}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(named), "{arguments}: {text}");
    }
}

#[test]
fn the_page_shows_every_strategy_and_needs_no_network() {
    let path = std::env::temp_dir().join(format!("rampmeter-simulate-{}.html", std::process::id()));
    let output = simulate(&format!("--workload batch:300 --strategy rampmeter,gate --html {}", path.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("a page");
    std::fs::remove_file(&path).expect("the page is ours");
    assert_eq!(page.matches("<svg").count(), 4, "two pictures for each strategy");
    for part in ["<h3>rampmeter</h3>", "<h3>gate</h3>", "prefers-color-scheme: dark", "time ÷ optimum"] {
        assert!(page.contains(part), "no {part}");
    }
    let fetched = ["src=\"http", "href=\"http", "url(http", "<script src", "@import"];
    assert!(!fetched.iter().any(|part| page.contains(part)));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let output = simulate("--workload batch:10 --strategy oracle --html /no/such/folder/page.html");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write /no/such/folder/page.html"));
}
