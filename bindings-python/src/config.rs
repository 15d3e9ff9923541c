//! Options by name, passed through to the core.

use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use rampmeter::{Class, ConfigError, Error, Verdict};

use crate::convert::{from_json, seconds, span, to_json};
use crate::errors;

/// A caller's own rule is code, so it is no option of the core's list.
const CLASSIFY: &str = "classify";

/// Checked options; immutable.
///
/// Raises ``ConfigError``, which names the option, for an unknown one, for a
/// value that it does not take, and for two given ones that conflict.
///
///     >>> from rampmeter import Config
///     >>> Config(max_retry_after=30).max_retry_after
///     30
///     >>> Config.web(max_attempts=3)
///     Config.web(max_attempts=3)
#[pyclass(frozen, module = "rampmeter")]
pub struct Config {
    core: rampmeter::Config,
    preset: &'static str,
    given: Py<PyDict>,
    classify: Option<Py<PyAny>>,
}

#[pymethods]
impl Config {
    #[new]
    #[pyo3(signature = (**options))]
    fn new(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::with(py, "default", options)
    }

    /// For request handlers: short waits, then an error that a handler can
    /// turn into its own refusal.
    #[staticmethod]
    #[pyo3(signature = (**options))]
    fn web(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::with(py, "web", options)
    }

    /// For queues and batch senders: patient.
    #[staticmethod]
    #[pyo3(signature = (**options))]
    fn background(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::with(py, "background", options)
    }

    /// The same with other values for these options.
    #[pyo3(signature = (**options))]
    pub(crate) fn replace(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = self.given.bind(py).copy()?;
        if let Some(options) = options {
            given.update(options.as_mapping())?;
        }
        Self::with(py, self.preset, Some(&given))
    }

    /// True if the option was set by name, rather than by default or preset.
    fn is_given(&self, py: Python<'_>, option: &str) -> PyResult<bool> {
        self.given.bind(py).contains(option)
    }

    /// The value of an option: durations in seconds, ``None`` for no limit.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let span = |span| Ok(seconds(span).into_pyobject(py)?.into_any());
        match name {
            CLASSIFY => Ok(self.classify.as_ref().map(|rule| rule.clone_ref(py)).into_pyobject(py)?.into_any()),
            // As they hold: unset, they follow from others.
            "max_total_sleep" => span(self.core.total_sleep()),
            "max_rate_limit_duration" => span(self.core.rate_limit_duration()),
            _ if rampmeter::options().iter().any(|option| option.name == name) => from_json(py, &self.core.get(name)),
            _ => Err(PyAttributeError::new_err(format!("Config has no option {name:?}"))),
        }
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let options = rampmeter::options().iter().map(|option| option.name).filter(|name| !name.contains('.'));
        options.chain([CLASSIFY, "web", "background", "replace", "is_given"]).collect()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let same_rule = match (&self.classify, &other.get().classify) {
            (None, None) => true,
            (Some(one), Some(two)) => one.bind(py).eq(two)?,
            _ => false,
        };
        Ok(same_rule && self.core == other.get().core)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut shown = Vec::new();
        for (name, value) in self.given.bind(py).iter() {
            shown.push(format!("{}={}", name.str()?, value.repr()?));
        }
        let preset = if self.preset == "default" { String::new() } else { format!(".{}", self.preset) };
        Ok(format!("Config{preset}({})", shown.join(", ")))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let this = slf.get();
        let restore = slf.getattr("_restore")?;
        Ok((restore, (this.preset, this.given.bind(slf.py())).into_pyobject(slf.py())?))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, preset: &str, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        Self::with(py, preset, Some(given))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.given)?;
        self.classify.as_ref().map_or(Ok(()), |rule| visit.call(rule))
    }
}

impl Config {
    pub(crate) fn core(&self) -> &rampmeter::Config {
        &self.core
    }

    /// The options of a limiter: a `Config`, a mapping or nothing, with
    /// further options on top.
    pub(crate) fn of(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<Self>> {
        let Some(config) = config else { return Py::new(py, Self::new(py, options)?) };
        if let Ok(config) = config.cast::<Self>() {
            return match options {
                None => Ok(config.clone().unbind()),
                Some(_) => Py::new(py, config.get().replace(py, options)?),
            };
        }
        let given = PyDict::new(py);
        let Ok(mapping) = config.cast::<pyo3::types::PyMapping>() else {
            return Err(errors::config(py, "config", "must be a Config, or a mapping from option names to values"));
        };
        given.update(mapping)?;
        if let Some(options) = options {
            given.update(options.as_mapping())?;
        }
        Py::new(py, Self::new(py, Some(&given))?)
    }

    fn with(py: Python<'_>, preset: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let preset = ["default", "web", "background"].into_iter().find(|known| *known == preset).unwrap_or("default");
        let given = match options {
            Some(options) => options.copy()?,
            None => PyDict::new(py),
        };
        let passed = given.copy()?;
        let classify = passed.get_item(CLASSIFY)?.filter(|rule| !rule.is_none());
        if let Some(rule) = &classify
            && !rule.is_callable()
        {
            return Err(errors::config(py, CLASSIFY, "must be a callable (status, headers, body), or none"));
        }
        passed.del_item(CLASSIFY).ok();
        let core = rampmeter::Config::preset(preset)
            .unwrap_or_default()
            .with_options(&to_json(passed.as_any())?)
            .map_err(|error| wrong(py, error))?;
        Ok(Self { core, preset, given: given.unbind(), classify: classify.map(Bound::unbind) })
    }

    /// The verdict of the caller's own rule, if there is a rule and it has
    /// one: `None` leaves the response to the core; a name of a refusal class,
    /// or a pair (class or `None` for no refusal, seconds or `None`).
    pub(crate) fn verdict(
        &self,
        py: Python<'_>,
        status: u16,
        headers: Option<&Bound<'_, PyAny>>,
        body: Option<&[u8]>,
    ) -> PyResult<Option<Verdict>> {
        let Some(rule) = &self.classify else { return Ok(None) };
        let answer = rule.bind(py).call1((status, headers, body))?;
        if answer.is_none() {
            return Ok(None);
        }
        let (class, wait) = match answer.cast::<PyString>() {
            Ok(name) => (Some(name.clone().into_any()), None),
            Err(_) => answer.extract::<(Option<Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>)>().map_err(|_| {
                errors::config(py, CLASSIFY, "must return None, a refusal class, or a pair (class, seconds)")
            })?,
        };
        let class = class
            .map(|class| {
                let name = class.str()?;
                Class::from_name(name.to_str()?).ok_or_else(|| {
                    let known: Vec<_> = Class::ALL.iter().map(|(name, _)| *name).collect();
                    errors::config(py, CLASSIFY, &format!("returned the class {name}; known are {}", known.join(", ")))
                })
            })
            .transpose()?;
        let wait = wait.map(|wait| span(CLASSIFY, &wait)).transpose()?;
        Ok(Some(Verdict { class, wait }))
    }
}

/// The core writes `null` where Python says `None`.
fn wrong(py: Python<'_>, error: ConfigError) -> PyErr {
    errors::raised(py, &Error::Config(ConfigError { problem: error.problem.replace("null", "None"), ..error }))
}
