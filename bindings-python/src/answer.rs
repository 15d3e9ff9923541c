//! Refusals as a server writes them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rampmeter::{Error, Form, Wall};
use serde_json::{Map, Number, Value};

use crate::clock::system_wall;
use crate::convert::{amount, from_json, to_json, wall};
use crate::errors;

/// A refusal as a server writes it, made by ``Refusal.windowed``,
/// ``Refusal.capacity`` and ``Refusal.permanent``.
///
/// Header fields and every form of body say the same.
#[pyclass(frozen, module = "rampmeter")]
pub struct Answer {
    core: rampmeter::Answer,
}

#[pymethods]
impl Answer {
    /// What it declares: ``windowed``, ``capacity`` or ``permanent``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.core.refusal().class.name()
    }

    /// The status code.
    #[getter]
    fn status(&self) -> u16 {
        self.core.status()
    }

    /// The wait in whole seconds that it states; for capacity, the suggested
    /// one.
    #[getter]
    fn seconds(&self) -> Option<u32> {
        self.core.delay().map(rampmeter::Delay::as_secs)
    }

    /// The limit that it states.
    #[getter]
    fn limit<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        amount(py, self.core.refusal().limit)
    }

    /// The sentence for people: a general one unless it was given.
    #[getter]
    fn hint(&self) -> Option<String> {
        self.core.refusal().hint.map(Into::into)
    }

    /// The names of the policies that it says are exceeded.
    #[getter]
    fn policies<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.policies().collect::<Vec<_>>())
    }

    /// The header fields that go with every form of body, ``Content-Type``
    /// excepted.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, self.core.headers())
    }

    /// The body as an object that can be laid into a response of the server's
    /// own form: whole, or as its member ``error`` or ``detail``.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.core.json())
    }

    /// The body as problem details (RFC 9457).
    fn problem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.core.problem())
    }

    /// The body as the response to the JSON-RPC 2.0 request with that ``id``.
    #[pyo3(signature = (id=None))]
    fn json_rpc<'py>(&self, py: Python<'py>, id: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.core.body(&form(py, Some("json-rpc"), id)?))
    }

    /// The whole response: status, header fields with ``Content-Type``, and
    /// body. ``form`` is ``json`` unless given; ``id`` is the request's, for
    /// ``json-rpc``.
    ///
    /// Raises ``ConfigError`` for a form or id that cannot be.
    #[pyo3(signature = (form=None, *, id=None))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        form: Option<&str>,
        id: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(u16, Bound<'py, PyDict>, Bound<'py, PyBytes>)> {
        let rendered = self.core.render(&self::form(py, form, id)?);
        Ok((rendered.status, fields(py, rendered.headers)?, PyBytes::new(py, rendered.body.as_bytes())))
    }

    fn __repr__(&self) -> String {
        let seconds = self.seconds().map(|seconds| format!(" seconds={seconds}")).unwrap_or_default();
        format!("<Answer {}{seconds} hint={:?}>", self.kind(), self.hint().unwrap_or_default())
    }
}

fn form(py: Python<'_>, name: Option<&str>, id: Option<&Bound<'_, PyAny>>) -> PyResult<Form> {
    let id = id.map(to_json).transpose()?;
    Form::from_name(name.unwrap_or(Form::NAMES[0]), id).map_err(|error| errors::raised(py, &Error::Config(error)))
}

fn fields<'py>(py: Python<'py>, fields: Vec<(&'static str, String)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in fields {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// Arguments by the core's names, as far as they are given.
#[derive(Default)]
pub(crate) struct Given(Map<String, Value>);

impl Given {
    pub(crate) fn with(mut self, name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), to_json(value)?);
        }
        Ok(self)
    }

    /// An instant that is `datetime`, Unix seconds or the text of a `Date`.
    pub(crate) fn with_instant(self, name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let instant = value.map(|value| wall(name, value)).transpose()?;
        Ok(self.with_wall(name, instant))
    }

    /// The clock, by default the system's.
    pub(crate) fn with_clock(self, now: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let now = now.map(|now| wall("now", now)).transpose()?.or_else(system_wall);
        Ok(self.with_wall("now", now))
    }

    fn with_wall(mut self, name: &str, instant: Option<Wall>) -> Self {
        if let Some(seconds) = instant.and_then(|instant| Number::from_f64(instant.as_unix_seconds())) {
            self.0.insert(name.to_owned(), Value::Number(seconds));
        }
        self
    }

    /// The answer of that class.
    pub(crate) fn answer(self, py: Python<'_>, class: &str) -> PyResult<Answer> {
        rampmeter::Answer::from_options(class, &Value::Object(self.0))
            .map(|core| Answer { core })
            .map_err(|error| errors::raised(py, &Error::Config(error)))
    }
}
