//! The commands that the tools crate has for all languages.

use pyo3::prelude::*;
use rampmeter_tools::explain::run;

/// What ``rampmeter explain`` says and its exit status; ``None`` if it needs
/// standard input, which is to be given then.
#[pyfunction]
#[pyo3(signature = (arguments, stdin=None))]
pub(crate) fn explain(py: Python<'_>, arguments: Vec<String>, stdin: Option<&[u8]>) -> Option<(String, u8)> {
    let output = py.detach(|| run(&arguments, stdin, None))?;
    Some((output.text, output.code))
}
