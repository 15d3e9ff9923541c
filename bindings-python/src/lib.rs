//! The native module `rampmeter._core`: the engine behind frozen classes.
//!
//! It converts and dispatches, nothing more: no option, default, header name
//! or rule lives here, and nothing here sleeps.
//!
//! Two properties hold everywhere:
//!
//! * The engine's mutex is taken only by threads that are attached to the
//!   interpreter, and no Python code runs while it is held. So a fork, which
//!   the interpreter makes attached, never finds it locked; and two threads
//!   cannot wait for each other's attachment and mutex.
//! * The host's objects (header lists, callables, clocks) are read before or
//!   after the engine acts, never meanwhile.

mod answer;
mod call;
mod clock;
mod command;
mod config;
mod convert;
mod decision;
mod errors;
mod headers;
mod limiter;
mod local;
mod observe;
mod signals;
mod waker;

use pyo3::prelude::*;

/// The engine behind frozen classes.
#[pymodule(gil_used = false, name = "_core")]
mod core_module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::call::Call;
    #[pymodule_export]
    use crate::command::{audit, explain};
    #[pymodule_export]
    use crate::config::Config;
    #[pymodule_export]
    use crate::decision::Decision;
    #[pymodule_export]
    use crate::limiter::Limiter;
    #[pymodule_export]
    use crate::local::{BucketRegistry, TokenBucket, decorrelated_jitter, equal_jitter, full_jitter, reseed_jitter};
    #[pymodule_export]
    use crate::observe::{Event, Meter, ScopeStats, Stats};
    #[pymodule_export]
    use crate::signals::{Ignored, Reading, Refusal, Signals, parse_retry_after, read_signals};

    #[pymodule_export]
    use super::{names, options_json};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::clock::anchor(module.py())?;
        module.add("LOCAL_REFUSAL_HEADER", rampmeter::LOCAL_REFUSAL_HEADER)?;
        module.add("LOCAL_REFUSAL_STATUS", rampmeter::LOCAL_REFUSAL_STATUS)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// The options as JSON: name, unit, what they take, what they mean, default.
#[pyfunction]
fn options_json() -> String {
    rampmeter::options_json().to_string()
}

/// The names that a kind of value can have.
#[pyfunction]
fn names(kind: &str) -> PyResult<Vec<&'static str>> {
    fn first<T>(table: &'static [(&'static str, T)]) -> Vec<&'static str> {
        table.iter().map(|(name, _)| *name).collect()
    }
    match kind {
        "decision" => Ok(decision::KINDS.to_vec()),
        "reason" => Ok(first(rampmeter::Reason::ALL)),
        "event" => Ok(first(rampmeter::EventKind::ALL)),
        "failure" => Ok(first(&rampmeter::FailureKind::ALL)),
        "refusal" => Ok(first(&rampmeter::Class::ALL)),
        "form" => Ok(rampmeter::Form::NAMES.to_vec()),
        "period" => Ok(first(&rampmeter::Period::ALL)),
        "wait_source" => Ok(first(&rampmeter::WaitSource::ALL)),
        "error" => Ok(rampmeter::Error::NAMES.to_vec()),
        "backoff" => Ok(rampmeter::Backoff::KINDS.to_vec()),
        _ => Err(pyo3::exceptions::PyValueError::new_err(format!("there are no names of kind {kind:?}"))),
    }
}
