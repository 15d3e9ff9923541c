//! Clock readings, from the system or from an object of the host's.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use pyo3::intern;
use pyo3::prelude::*;
use rampmeter::{Now, Wall};

use crate::errors;

/// Where the system's monotonic clock stood in Python's own numbers, so that
/// instants shown to Python compare with `time.monotonic()`.
static ANCHOR: OnceLock<(Instant, u64)> = OnceLock::new();

/// Reads Python's monotonic clock once, as the start of ours.
pub(crate) fn anchor(py: Python<'_>) -> PyResult<()> {
    let nanos: u64 = py.import("time")?.call_method0("monotonic_ns")?.extract()?;
    ANCHOR.get_or_init(|| (Instant::now(), nanos));
    Ok(())
}

/// What a limiter reads the time from.
pub(crate) enum Clock {
    System,
    /// An object with `monotonic_ns()` and, if it has a wall clock,
    /// `time_ns()`.
    Host {
        object: Py<PyAny>,
        wall: bool,
    },
}

impl Clock {
    /// The system's clock for `None`, else the object as a clock.
    pub(crate) fn new(object: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(object) = object else { return Ok(Self::System) };
        let py = object.py();
        if !object.hasattr(intern!(py, "monotonic_ns"))? {
            return Err(errors::config(py, "clock", "must have monotonic_ns() and, for dates, time_ns()"));
        }
        let wall = object.hasattr(intern!(py, "time_ns"))?;
        Ok(Self::Host { object: object.clone().unbind(), wall })
    }

    /// Both clocks now.
    pub(crate) fn now(&self, py: Python<'_>) -> PyResult<Now> {
        match self {
            Self::System => Ok(Now { wall: system_wall(), ..Now::from_nanos(system_nanos()) }),
            Self::Host { object, wall } => {
                let nanos: i128 = object.call_method0(py, intern!(py, "monotonic_ns"))?.extract(py)?;
                let now = Now::from_nanos(nanos.clamp(0, u64::MAX.into()) as u64);
                if !wall {
                    return Ok(now);
                }
                let wall: Option<i64> = object.call_method0(py, intern!(py, "time_ns"))?.extract(py)?;
                Ok(Now { wall: wall.map(Wall::from_unix_nanos), ..now })
            }
        }
    }

    /// The host's object, if it is one.
    pub(crate) fn object(&self) -> Option<&Py<PyAny>> {
        match self {
            Self::System => None,
            Self::Host { object, .. } => Some(object),
        }
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::System => Self::System,
            Self::Host { object, wall } => Self::Host { object: object.clone_ref(py), wall: *wall },
        }
    }
}

/// The system's wall clock; `None` if it stands before 1970.
pub(crate) fn system_wall() -> Option<Wall> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok().map(Wall::from_unix_nanos)
}

fn system_nanos() -> u64 {
    let (start, nanos) = ANCHOR.get_or_init(|| (Instant::now(), 0));
    nanos.saturating_add(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}
