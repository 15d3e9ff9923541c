//! The commands that the tools crate has for all languages.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use rampmeter_tools::explain::run;
use serde_json::json;

/// What `rampmeter explain` says and its exit status, as JSON; nothing if it
/// needs standard input, which is to be given then.
#[napi(catch_unwind)]
pub fn explain(arguments: Vec<String>, stdin: Option<Uint8Array>) -> Option<String> {
    let output = run(&arguments, stdin.as_deref(), None)?;
    Some(json!({"text": output.text, "code": output.code}).to_string())
}
