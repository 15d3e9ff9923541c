//! The commands that the tools crate has for all languages.

use pyo3::prelude::*;
use rampmeter_tools::Output;
use rampmeter_tools::audit::run as run_audit;
use rampmeter_tools::explain::run as run_explain;

/// What ``rampmeter explain`` says and its exit status; ``None`` if it needs
/// standard input, which is to be given then.
#[pyfunction]
#[pyo3(signature = (arguments, stdin=None))]
pub(crate) fn explain(py: Python<'_>, arguments: Vec<String>, stdin: Option<&[u8]>) -> Option<(String, u8)> {
    py.detach(|| run_explain(&arguments, stdin, None)).map(said)
}

/// What ``rampmeter audit`` says and its exit status; ``None`` if it needs
/// standard input, which is to be given then.
#[pyfunction]
#[pyo3(signature = (arguments, stdin=None))]
pub(crate) fn audit(py: Python<'_>, arguments: Vec<String>, stdin: Option<&[u8]>) -> Option<(String, u8)> {
    py.detach(|| run_audit(&arguments, stdin, None)).map(said)
}

fn said(output: Output) -> (String, u8) {
    (output.text, output.code)
}
