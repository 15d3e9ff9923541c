//! What the fuzzer found once, replayed: every input under `fuzz/corpus`, and
//! every shared vector as such an input.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fuzz::seeds::{Seeds, files};
use fuzz::{engine, signals};

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Inputs with what to call them.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let files = files(&repository().join("fuzz/corpus").join(target)).expect("a folder can be listed");
    assert!(files.len() >= 100, "the corpus of {target} has only {} inputs", files.len());
    files.into_iter().map(|file| (file.display().to_string(), fs::read(file).expect("an input can be read"))).collect()
}

fn seeds() -> Seeds {
    let seeds = Seeds::read(&repository().join("tests/vectors")).expect("vectors are files of JSON");
    assert!(seeds.signals.len() >= 400 && seeds.engine.len() >= 900, "only some vectors were found");
    seeds
}

fn vectors(inputs: Vec<Vec<u8>>) -> Vec<(String, Vec<u8>)> {
    inputs.into_iter().map(|input| (String::from_utf8_lossy(&input).into_owned(), input)).collect()
}

/// Every input must pass; all that do not are named.
fn replay(inputs: &[(String, Vec<u8>)], check: fn(&[u8])) {
    let failed: Vec<_> =
        inputs.iter().filter(|(_, input)| catch_unwind(|| check(input)).is_err()).map(|(name, _)| &**name).collect();
    assert!(failed.is_empty(), "{} of {} inputs fail:\n{}", failed.len(), inputs.len(), failed.join("\n"));
}

#[test]
fn every_response_that_was_found_is_read_to_usable_numbers() {
    replay(&corpus("signals"), signals::check);
}

#[test]
fn every_script_that_was_found_comes_to_an_end_and_breaks_no_hold() {
    replay(&corpus("engine"), engine::run);
}

#[test]
fn every_vector_is_read_to_usable_numbers() {
    replay(&vectors(seeds().signals), signals::check);
}

#[test]
fn every_vector_comes_to_an_end_and_breaks_no_hold() {
    replay(&vectors(seeds().engine), engine::run);
}

#[test]
fn every_script_that_was_found_decides_alike_twice() {
    replay(&corpus("engine"), |script| assert_eq!(engine::trace(script), engine::trace(script)));
}
