//! Reading what one response says about limits, without a limiter.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};

use crate::clock::system_wall;
use crate::convert::{Body, amount, seconds, tuple_of, wall};
use crate::headers::Fields;

/// Everything that one response says about limits.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Signals {
    meters: Py<PyTuple>,
    wait: Option<f64>,
    wait_source: Option<&'static str>,
    refusal: Option<Py<Refusal>>,
    age: Option<f64>,
    date: Option<f64>,
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
    #[getter]
    fn name(&self) -> Option<&str> {
        self.core.name.as_deref()
    }

    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.limit)
    }

    #[getter]
    fn remaining<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.remaining)
    }

    #[getter]
    fn reset(&self) -> Option<f64> {
        seconds(self.core.reset)
    }

    #[getter]
    fn window(&self) -> Option<f64> {
        seconds(self.core.window)
    }

    #[getter]
    fn unit(&self) -> Option<&str> {
        self.core.unit.as_deref()
    }

    #[getter]
    fn policy(&self) -> Option<&str> {
        self.core.policy.as_deref()
    }

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
    kind: &'static str,
    meter: Option<String>,
    limit: Option<Py<PyAny>>,
    hint: Option<String>,
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

/// A field that was set aside, and why.
#[pyclass(frozen, get_all, module = "rampmeter")]
pub struct Ignored {
    field: String,
    why: &'static str,
}

#[pymethods]
impl Ignored {
    fn __repr__(&self) -> String {
        format!("<Ignored {}: {}>", self.field, self.why)
    }
}

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
