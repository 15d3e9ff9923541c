//! The core's errors as Python exceptions, which live in `rampmeter._errors`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use rampmeter::{Details, Error};

use crate::convert::{amount, seconds};

/// The exception for an error, with its fields.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    match error {
        Error::Exceeded(exceeded) => {
            fields.set_item(intern!(py, "retry_after"), seconds(exceeded.retry_after))?;
            fields.set_item(intern!(py, "limit_name"), exceeded.limit_name)?;
            fields.set_item(intern!(py, "limit_value"), seconds(exceeded.limit_value))?;
            fields.set_item(intern!(py, "available_in"), seconds(exceeded.available_in))?;
            add_details(&fields, &exceeded.details)?;
        }
        Error::Permanent(permanent) => add_details(&fields, &permanent.details)?,
        Error::Config(wrong) => {
            fields.set_item(intern!(py, "option"), &wrong.option)?;
            fields.set_item(intern!(py, "problem"), &wrong.problem)?;
        }
        _ => {}
    }
    make(py, error.name(), error.to_string(), &fields)
}

/// The same as a `PyErr`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).map_or_else(|failure| failure, PyErr::from_value)
}

/// A `ConfigError` of the binding's own: about a value that only Python can
/// pass wrongly.
pub(crate) fn config(py: Python<'_>, option: &str, problem: &str) -> PyErr {
    raised(py, &Error::Config(rampmeter::ConfigError { option: option.into(), problem: problem.into() }))
}

fn add_details(fields: &Bound<'_, PyDict>, details: &Details) -> PyResult<()> {
    let py = fields.py();
    fields.set_item(intern!(py, "scope"), &details.scope)?;
    fields.set_item(intern!(py, "meter"), &details.meter)?;
    fields.set_item(intern!(py, "status"), details.status)?;
    fields.set_item(intern!(py, "limit"), amount(py, details.limit)?)?;
    fields.set_item(intern!(py, "hint"), &details.hint)?;
    fields.set_item(intern!(py, "attempts"), details.attempts)
}

fn make<'py>(py: Python<'py>, name: &str, message: String, fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("rampmeter._errors").map(Bound::unbind))?.bind(py);
    let error = module.getattr(name)?.call1((message,))?;
    for (field, value) in fields.iter() {
        error.setattr(field.cast_into::<pyo3::types::PyString>()?, value)?;
    }
    Ok(error)
}
