//! Python values to and from the core's.

use core::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDelta, PyDeltaAccess as _, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple,
};
use rampmeter::Wall;
use serde_json::{Map, Number, Value};

use crate::errors;

/// A value as JSON: `timedelta` as seconds, any mapping as an object, any
/// list, tuple or set as an array. What JSON cannot hold becomes its `repr`,
/// which the core refuses with the option's name.
pub(crate) fn to_json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        Ok(Value::Null)
    } else if let Ok(flag) = value.cast::<PyBool>() {
        Ok(Value::Bool(flag.is_true()))
    } else if value.is_instance_of::<PyInt>() {
        match value.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => value.extract::<u64>().map(Value::from).or_else(|_| shown(value)),
        }
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Number::from_f64(number.value()).map_or_else(|| shown(value), |number| Ok(Value::Number(number)))
    } else if let Ok(text) = value.cast::<PyString>() {
        Ok(Value::String(text.to_str()?.to_owned()))
    } else if let Ok(delta) = value.cast::<PyDelta>() {
        Ok(Number::from_f64(delta_seconds(delta)).map_or(Value::Null, Value::Number))
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        let mut map = Map::new();
        for item in mapping.items()?.iter() {
            let (name, member): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            map.insert(name.str()?.to_str()?.to_owned(), to_json(&member)?);
        }
        Ok(Value::Object(map))
    } else if let Ok(items) = value.try_iter() {
        items.map(|item| to_json(&item?)).collect::<PyResult<Vec<_>>>().map(Value::Array)
    } else {
        shown(value)
    }
}

fn shown(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(Value::String(value.repr()?.to_str()?.to_owned()))
}

/// JSON as Python values.
pub(crate) fn from_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => Ok(PyBool::new(py, *flag).to_owned().into_any()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Ok(whole.into_pyobject(py)?.into_any()),
            (None, Some(whole)) => Ok(whole.into_pyobject(py)?.into_any()),
            (None, None) => Ok(PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any()),
        },
        Value::String(text) => Ok(PyString::new(py, text).into_any()),
        Value::Array(items) => {
            let items = items.iter().map(|item| from_json(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (name, member) in map {
                dict.set_item(name, from_json(py, member)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// An amount: whole numbers as `int`, so that they read as the server wrote
/// them.
pub(crate) fn amount<'py>(py: Python<'py>, amount: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
    amount
        .map(|amount| {
            if amount.fract() == 0.0 && amount.abs() < 9_007_199_254_740_992.0 {
                Ok((amount as i64).into_pyobject(py)?.into_any())
            } else {
                Ok(PyFloat::new(py, amount).into_any())
            }
        })
        .transpose()
}

/// Seconds of a duration, if there is one.
pub(crate) fn seconds(span: Option<Duration>) -> Option<f64> {
    span.map(|span| span.as_secs_f64())
}

/// A duration given as seconds or `timedelta`; the error names `option`.
pub(crate) fn span(option: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let wrong = |shown: String| errors::config(value.py(), option, &format!("must be a duration from 0, not {shown}"));
    let seconds = match value.cast::<PyDelta>() {
        Ok(delta) => delta_seconds(delta),
        Err(_) => value
            .extract::<f64>()
            .map_err(|_| wrong(value.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string())))?,
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong(seconds.to_string()))
}

fn delta_seconds(delta: &Bound<'_, PyDelta>) -> f64 {
    f64::from(delta.get_days()) * 86_400.0 + f64::from(delta.get_seconds()) + f64::from(delta.get_microseconds()) / 1e6
}

/// A wall time given as Unix seconds, as `datetime`, or as the text of a
/// `Date` field.
pub(crate) fn wall(option: &str, value: &Bound<'_, PyAny>) -> PyResult<Wall> {
    let py = value.py();
    let wall = if let Ok(text) = value.cast::<PyString>() {
        rampmeter::read_signals(200, &[("date", text.to_str()?)], None, None).date
    } else if value.hasattr(intern!(py, "timestamp"))? {
        Wall::from_unix_seconds(value.call_method0(intern!(py, "timestamp"))?.extract()?)
    } else {
        Wall::from_unix_seconds(value.extract()?)
    };
    wall.ok_or_else(|| errors::config(py, option, "must be Unix seconds, a datetime or the text of a Date field"))
}

/// Bytes of a body: `bytes`, `bytearray` or text.
pub(crate) enum Body<'py> {
    Bytes(Bound<'py, PyBytes>),
    Owned(Vec<u8>),
}

impl Body<'_> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.as_bytes(),
            Self::Owned(bytes) => bytes,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Body<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            Ok(Self::Bytes(bytes.to_owned()))
        } else if let Ok(text) = value.cast::<PyString>() {
            Ok(Self::Owned(text.to_string_lossy().into_owned().into_bytes()))
        } else {
            value.extract::<Vec<u8>>().map(Self::Owned)
        }
    }
}

/// Amounts by unit, from a mapping.
pub(crate) fn cost(value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let py = value.py();
    let wrong = || errors::config(py, "cost", "must be a mapping from units to amounts");
    let mapping = value.cast::<PyMapping>().map_err(|_| wrong())?;
    mapping.items()?.iter().map(|item| item.extract().map_err(|_| wrong())).collect()
}

/// A tuple of what an iterator yields.
pub(crate) fn tuple_of<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, items)?.unbind())
}
