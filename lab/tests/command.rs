//! What the command itself owes its caller.

use std::fs;
use std::process::{Command, Output};

fn self_test(name: &str, vector: &str) -> Output {
    let folder = std::env::temp_dir().join(format!("rampmeter-command-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("vector.json"), vector).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rampmeter"));
    let output = command.arg("self-test").arg("--vectors").arg(&folder).output().expect("the command starts");
    fs::remove_dir_all(&folder).expect("the folder is ours");
    output
}

#[test]
fn self_test_succeeds_if_every_vector_holds() {
    let output = self_test("holds", r#"{"config": {"no_such_option": 1}, "config_error": "no_such_option"}"#);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 passed, 0 failed\n");
    assert!(output.status.success());
}

#[test]
fn self_test_fails_if_a_vector_does_not_hold() {
    let output = self_test("fails", r#"{"config": {"max_attempts": 1}, "config_error": "max_attempts"}"#);
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("0 passed, 1 failed\n"));
    assert_eq!(output.status.code(), Some(1));
}
