//! The commands that the tools crate has for all languages.

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use rampmeter_tools::Output;
use rampmeter_tools::audit::run as run_audit;
use rampmeter_tools::explain::run as run_explain;
use serde_json::json;

/// What `rampmeter explain` says and its exit status, as JSON; nothing if it
/// needs standard input, which is to be given then.
#[napi(catch_unwind)]
pub fn explain(arguments: Vec<String>, stdin: Option<Uint8Array>) -> Option<String> {
    run_explain(&arguments, stdin.as_deref(), None).map(said)
}

/// What `rampmeter audit` says and its exit status, as JSON; nothing if it
/// needs standard input, which is to be given then.
#[napi(catch_unwind)]
pub fn audit(arguments: Vec<String>, stdin: Option<Uint8Array>) -> Option<String> {
    run_audit(&arguments, stdin.as_deref(), None).map(said)
}

fn said(output: Output) -> String {
    json!({"text": output.text, "code": output.code}).to_string()
}
