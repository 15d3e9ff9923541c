//! Reading what one response says about limits, without a limiter.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};

use crate::answer::{Answer, Given};
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

/// What a response refuses; and, for servers, what makes such responses.
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
    /// Answers that a quota is used up until a moment: in so many ``seconds``,
    /// at the instant ``until``, or at the boundary at which the period
    /// ``until_next`` ends: ``minute``, ``hour``, ``day``, ``week`` (on
    /// Monday), ``month``, all in UTC, or multiples of that many seconds.
    /// Exactly one of the three is given. Waits are rounded up to whole
    /// seconds, at least 1. ``now`` is the wall clock that they are reckoned
    /// from, by default the system's. The status is 429.
    ///
    /// ``limit`` is how much the quota allows in a window of
    /// ``window_seconds``, counted in ``unit``; ``remaining`` is what is left
    /// of it, 0 unless given. ``policy`` is its name, or a list of the names
    /// of all that are exceeded, at most 128 printable ASCII characters each:
    /// clients hold only what it meters, and with a limit the ``RateLimit``
    /// fields are sent. ``hint`` is a sentence for people. ``abnormal`` says
    /// that the usage was out of the ordinary, rather than a quota.
    /// ``exposed`` sends ``Access-Control-Expose-Headers``, for browsers.
    ///
    ///     >>> from rampmeter import Refusal
    ///     >>> answer = Refusal.windowed(29.2, limit=100, policy="minute")
    ///     >>> answer.headers["Retry-After"], answer.json()["retryAfter"]
    ///     ('30', 30)
    ///
    /// Raises ``ConfigError`` that names the argument that cannot be.
    #[staticmethod]
    #[pyo3(signature = (seconds=None, *, until=None, until_next=None, now=None, limit=None, remaining=None,
        window_seconds=None, unit=None, policy=None, hint=None, abnormal=None, exposed=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn windowed(
        py: Python<'_>,
        seconds: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
        until_next: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        remaining: Option<&Bound<'_, PyAny>>,
        window_seconds: Option<&Bound<'_, PyAny>>,
        unit: Option<&Bound<'_, PyAny>>,
        policy: Option<&Bound<'_, PyAny>>,
        hint: Option<&Bound<'_, PyAny>>,
        abnormal: Option<&Bound<'_, PyAny>>,
        exposed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        Given::default()
            .with("seconds", seconds)?
            .with_instant("until", until)?
            .with("until_next", until_next)?
            .with_clock(now)?
            .with("limit", limit)?
            .with("remaining", remaining)?
            .with("window_seconds", window_seconds)?
            .with("unit", unit)?
            .with("policy", policy)?
            .with("hint", hint)?
            .with("abnormal", abnormal)?
            .with("exposed", exposed)?
            .answer(py, "windowed")
    }

    /// Answers that there is no room now. Nobody knows when there will be, so
    /// no wait is stated; ``suggested_seconds`` is one that is marked as a
    /// suggestion. ``limit`` is how many requests may run at a time.
    /// ``status`` is 429, or 503 where the server is full whoever asks. The
    /// others are as for ``windowed``.
    ///
    ///     >>> from rampmeter import Refusal
    ///     >>> Refusal.capacity(4).json()["retry"], "Retry-After" in Refusal.capacity(4).headers
    ///     (True, False)
    #[staticmethod]
    #[pyo3(signature = (limit=None, *, suggested_seconds=None, status=None, policy=None, hint=None, exposed=None))]
    fn capacity(
        py: Python<'_>,
        limit: Option<&Bound<'_, PyAny>>,
        suggested_seconds: Option<&Bound<'_, PyAny>>,
        status: Option<&Bound<'_, PyAny>>,
        policy: Option<&Bound<'_, PyAny>>,
        hint: Option<&Bound<'_, PyAny>>,
        exposed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        Given::default()
            .with("limit", limit)?
            .with("suggested_seconds", suggested_seconds)?
            .with("status", status)?
            .with("policy", policy)?
            .with("hint", hint)?
            .with("exposed", exposed)?
            .answer(py, "capacity")
    }

    /// Answers that coming back is pointless; ``hint`` should say why.
    /// ``status`` is 429, or 403, which clients that read nothing else do not
    /// repeat. The others are as for ``windowed``.
    ///
    ///     >>> from rampmeter import Refusal
    ///     >>> Refusal.permanent("no credit is left").json()["retry"]
    ///     False
    #[staticmethod]
    #[pyo3(signature = (hint=None, *, limit=None, status=None, policy=None, abnormal=None, exposed=None))]
    fn permanent(
        py: Python<'_>,
        hint: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        status: Option<&Bound<'_, PyAny>>,
        policy: Option<&Bound<'_, PyAny>>,
        abnormal: Option<&Bound<'_, PyAny>>,
        exposed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answer> {
        Given::default()
            .with("hint", hint)?
            .with("limit", limit)?
            .with("status", status)?
            .with("policy", policy)?
            .with("abnormal", abnormal)?
            .with("exposed", exposed)?
            .answer(py, "permanent")
    }

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
