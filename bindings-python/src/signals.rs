//! Reading what one response says about limits, without a limiter.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};

use crate::clock::system_wall;
use crate::convert::{Body, amount, seconds, tuple_of, wall};
use crate::headers::Fields;

/// Everything that one response says about limits; ``None`` where it says
/// nothing.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Signals {
    /// The quotas that it describes, in the order first mentioned.
    meters: Py<PyTuple>,
    /// The explicit wait that it orders, in seconds.
    wait: Option<f64>,
    /// Where that stood.
    wait_source: Option<&'static str>,
    /// What it refuses, if it is a refusal.
    refusal: Option<Py<Refusal>>,
    /// Seconds that the response spent in a cache.
    age: Option<f64>,
    /// The server's clock in Unix seconds.
    date: Option<f64>,
    /// Fields that were set aside, and why.
    ignored: Py<PyTuple>,
}

#[pymethods]
impl Signals {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let wait = self.wait.map_or_else(|| Ok("None".to_owned()), |wait| shown(py, wait))?;
        Ok(format!(
            "<Signals wait={wait} refusal={} meters={}>",
            self.refusal.as_ref().map_or("None", |refusal| refusal.get().kind),
            self.meters.bind(py).repr()?
        ))
    }
}

/// What one response says about one quota.
#[pyclass(frozen, module = "rampmeter")]
pub struct Reading {
    core: rampmeter::Reading,
}

#[pymethods]
impl Reading {
    /// The quota's name, if the response names it.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.core.name.as_deref()
    }

    /// How much the quota allows in one window.
    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.limit)
    }

    /// How much is left.
    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.remaining)
    }

    /// Seconds until more is available, from reception.
    #[getter]
    fn reset(&self) -> Option<f64> {
        seconds(self.core.reset)
    }

    /// The window's length in seconds.
    #[getter]
    fn window(&self) -> Option<f64> {
        seconds(self.core.window)
    }

    /// What is counted.
    #[getter]
    fn unit(&self) -> Option<&str> {
        self.core.unit.as_deref()
    }

    /// The policy's name, where it is another than the quota's.
    #[getter]
    fn policy(&self) -> Option<&str> {
        self.core.policy.as_deref()
    }

    /// True if the server says that this quota refuses nobody.
    #[getter]
    fn informative(&self) -> bool {
        self.core.informative
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut fields = Vec::new();
        for (field, value) in [("name", self.name()), ("unit", self.unit()), ("policy", self.policy())] {
            if let Some(value) = value {
                fields.push(format!("{field}={value:?}"));
            }
        }
        for (field, value) in [("limit", self.limit(py)?), ("remaining", self.remaining(py)?)] {
            if let Some(value) = value {
                fields.push(format!("{field}={}", value.repr()?));
            }
        }
        for (field, value) in [("reset", self.reset()), ("window", self.window())] {
            if let Some(value) = value {
                fields.push(format!("{field}={}", shown(py, value)?));
            }
        }
        Ok(format!("<Reading {}>", fields.join(" ")))
    }
}

/// What a response refuses.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Refusal {
    /// What it asks of the client.
    kind: &'static str,
    /// The quota that it says is exceeded, if it names one.
    meter: Option<String>,
    /// The limit that it states.
    limit: Option<Py<PyAny>>,
    /// The sentence for people that the server sent.
    hint: Option<String>,
    /// The shortest first wait in seconds that the server's documentation
    /// asks where the response gives none.
    first_wait: Option<f64>,
}

#[pymethods]
impl Refusal {
    fn __repr__(&self) -> String {
        let meter = self.meter.as_ref().map(|meter| format!(" meter={meter:?}")).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!(" hint={hint:?}")).unwrap_or_default();
        format!("<Refusal {}{meter}{hint}>", self.kind)
    }
}

/// A field that was set aside.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Ignored {
    /// The field's name, in lower case.
    field: String,
    /// Why it was set aside.
    why: &'static str,
}

#[pymethods]
impl Ignored {
    fn __repr__(&self) -> String {
        format!("<Ignored {}: {}>", self.field, self.why)
    }
}

/// Reads what a response says about limits.
///
/// ``now`` is the local wall clock at reception, by default the system's; it is
/// used only for dates and epochs of a response without a ``Date`` of its own.
#[pyfunction]
#[pyo3(signature = (status, headers=None, body=None, *, now=None))]
pub(crate) fn read_signals(
    py: Python<'_>,
    status: u16,
    headers: Option<&Bound<'_, PyAny>>,
    body: Option<Body<'_>>,
    now: Option<&Bound<'_, PyAny>>,
) -> PyResult<Signals> {
    let now = now.map(|now| wall("now", now)).transpose()?.or_else(system_wall);
    let fields = Fields::new(headers)?;
    let signals = rampmeter::read_signals(status, &fields, body.as_ref().map(Body::as_slice), now);
    let refusal = signals
        .refusal
        .map(|refusal| {
            let limit = amount(py, refusal.limit)?.map(Bound::unbind);
            Py::new(
                py,
                Refusal {
                    kind: refusal.class.name(),
                    meter: refusal.meter.map(Into::into),
                    limit,
                    hint: refusal.hint.map(Into::into),
                    first_wait: seconds(refusal.first_wait),
                },
            )
        })
        .transpose()?;
    let meters: Vec<_> = signals.meters.into_iter().map(|core| Reading { core }).collect();
    let ignored = signals.ignored.into_iter().map(|ignored| Ignored { field: ignored.field.into(), why: ignored.why });
    Ok(Signals {
        meters: tuple_of(py, meters)?,
        wait: signals.wait.map(|wait| wait.span.as_secs_f64()),
        wait_source: signals.wait.map(|wait| wait.source.name()),
        refusal,
        age: seconds(signals.age),
        date: signals.date.map(rampmeter::Wall::as_unix_seconds),
        ignored: tuple_of(py, ignored.collect::<Vec<_>>())?,
    })
}

/// The wait in seconds that a ``Retry-After`` value asks; ``None`` for what is
/// no usable wait (empty, negative, signed, not a number).
///
/// Dates are read against ``date``, the response's own ``Date``, if given, else
/// against ``now``, by default the system's clock.
///
///     >>> from rampmeter import parse_retry_after
///     >>> parse_retry_after("1.5")
///     1.5
///     >>> parse_retry_after("-5") is None
///     True
#[pyfunction]
#[pyo3(signature = (value, *, now=None, date=None))]
pub(crate) fn parse_retry_after(
    value: Option<&Bound<'_, PyAny>>,
    now: Option<&Bound<'_, PyAny>>,
    date: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<f64>> {
    let Some(value) = value else { return Ok(None) };
    let now = now.map(|now| wall("now", now)).transpose()?.or_else(system_wall);
    let date = date.map(|date| wall("date", date)).transpose()?;
    // A header value that a client has turned into a number already.
    let value = if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        Body::Owned(value.str()?.to_str()?.as_bytes().to_vec())
    } else {
        value.extract()?
    };
    Ok(seconds(rampmeter::parse_retry_after(value.as_slice(), now, date)))
}

fn shown(py: Python<'_>, number: f64) -> PyResult<String> {
    Ok(PyFloat::new(py, number).repr()?.to_str()?.to_owned())
}
