//! Header fields as Python clients hold them.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use rampmeter::Headers;

/// Fields taken out of a Python object, each kept alive by a reference, so
/// that the engine can visit them without running Python code.
pub(crate) struct Fields<'py>(Vec<(Field<'py>, Field<'py>)>);

enum Field<'py> {
    Bytes(Bound<'py, PyBytes>),
    Text(Bound<'py, PyString>),
    Owned(Vec<u8>),
}

impl Field<'_> {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.as_bytes(),
            // Text that is not UTF-8 inside (lone surrogates) is `Owned`.
            Self::Text(text) => text.to_str().map(str::as_bytes).unwrap_or_default(),
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Headers for Fields<'_> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for (name, value) in &self.0 {
            visit(name.as_slice(), value.as_slice());
        }
    }
}

impl<'py> Fields<'py> {
    /// Takes the fields of a list of pairs, of a mapping, or of a client's
    /// header object: what has `raw` pairs (httpx, starlette) is read line by
    /// line.
    pub(crate) fn new(headers: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let mut fields = Self(Vec::new());
        let Some(headers) = headers else { return Ok(fields) };
        let py = headers.py();
        if let Ok(pairs) = headers.cast::<PyList>() {
            fields.take_list(pairs)?;
        } else if let Ok(dict) = headers.cast::<PyDict>() {
            for (name, value) in dict.iter() {
                fields.take(name, value)?;
            }
        } else if let Ok(raw) = headers.getattr(intern!(py, "raw"))
            && let Ok(pairs) = raw.cast::<PyList>()
        {
            fields.take_list(pairs)?;
        } else if headers.hasattr(intern!(py, "items"))? {
            fields.take_pairs(&headers.call_method0(intern!(py, "items"))?)?;
        } else {
            fields.take_pairs(headers)?;
        }
        Ok(fields)
    }

    fn take_list(&mut self, pairs: &Bound<'py, PyList>) -> PyResult<()> {
        self.0.reserve(pairs.len());
        for pair in pairs.iter() {
            self.take_pair(&pair)?;
        }
        Ok(())
    }

    fn take_pairs(&mut self, pairs: &Bound<'py, PyAny>) -> PyResult<()> {
        for pair in pairs.try_iter()? {
            self.take_pair(&pair?)?;
        }
        Ok(())
    }

    fn take_pair(&mut self, pair: &Bound<'py, PyAny>) -> PyResult<()> {
        if let Ok(pair) = pair.cast::<PyTuple>()
            && pair.len() == 2
        {
            return self.take(pair.get_item(0)?, pair.get_item(1)?);
        }
        let mut parts = pair.try_iter()?;
        match (parts.next(), parts.next(), parts.next()) {
            (Some(name), Some(value), None) => self.take(name?, value?),
            _ => Err(PyTypeError::new_err("headers must be a mapping, or pairs of name and value")),
        }
    }

    fn take(&mut self, name: Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> PyResult<()> {
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for line in value.try_iter()? {
                self.0.push((field(name.clone())?, field(line?)?));
            }
        } else if !value.is_none() {
            self.0.push((field(name)?, field(value)?));
        }
        Ok(())
    }
}

fn field(value: Bound<'_, PyAny>) -> PyResult<Field<'_>> {
    match value.cast_into::<PyBytes>() {
        Ok(bytes) => Ok(Field::Bytes(bytes)),
        Err(other) => match other.into_inner().cast_into::<PyString>() {
            Ok(text) if text.to_str().is_ok() => Ok(Field::Text(text)),
            Ok(text) => Ok(Field::Owned(text.to_string_lossy().into_owned().into_bytes())),
            Err(other) => Ok(Field::Owned(other.into_inner().str()?.to_string_lossy().into_owned().into_bytes())),
        },
    }
}
