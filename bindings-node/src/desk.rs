//! The shared array and the strings beside it: the only unsafe code here.

#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr;

use napi::bindgen_prelude::Float64Array;
use napi::{Env, JsString, JsValue, sys};

use crate::state::State;

/// Numbers in and out. JavaScript owns the memory; the reference keeps it
/// alive and where it is.
pub(crate) struct Desk {
    array: Float64Array,
}

impl Desk {
    pub(crate) fn new(array: Float64Array) -> Self {
        Self { array }
    }

    pub(crate) fn get(&self, index: usize) -> f64 {
        self.array.get(index).copied().unwrap_or(f64::NAN)
    }

    /// The number at `index` as a flag, count, code or handle: whole, not
    /// negative, 0 if it is no number.
    pub(crate) fn whole(&self, index: usize) -> u64 {
        self.get(index) as u64
    }

    pub(crate) fn put(&mut self, index: usize, value: f64) {
        // SAFETY: only the thread of this environment touches the array, and
        // no slice of it outlives a call.
        if let Some(place) = unsafe { self.array.as_mut() }.get_mut(index) {
            *place = value;
        }
    }
}

/// Ties `state` to the environment, which drops it when it ends.
pub(crate) fn install(env: &Env, state: State) -> napi::Result<()> {
    unsafe extern "C" fn release(_: sys::napi_env, state: *mut c_void, _: *mut c_void) {
        // SAFETY: `state` is the box below; the environment ends and releases
        // it once.
        drop(unsafe { Box::from_raw(state.cast::<State>()) });
    }
    let state = Box::into_raw(Box::new(state));
    // SAFETY: the environment is that of the running call, and `release` fits
    // the box.
    let status = unsafe { sys::napi_set_instance_data(env.raw(), state.cast(), Some(release), ptr::null_mut()) };
    if status == sys::Status::napi_ok {
        return Ok(());
    }
    // SAFETY: nobody else knows of it.
    drop(unsafe { Box::from_raw(state) });
    Err(napi::Error::from_reason("the environment keeps no data"))
}

/// The state of this environment. Each loading of the addon (in a worker
/// thread, say) is an environment of its own.
///
/// `napi`'s own accessor looks every pointer up in a table of the process;
/// nothing but [`install`] sets this one.
#[allow(clippy::mut_from_ref, reason = "the environment keeps the state outside of `Env`, and one call runs at a time")]
pub(crate) fn state(env: &Env) -> napi::Result<&mut State> {
    let mut state: *mut c_void = ptr::null_mut();
    // SAFETY: the environment is that of the running call. What it keeps is
    // null or the box of `install`; it lives as long as the environment does,
    // and no function here calls another that asks for it while holding it.
    unsafe {
        sys::napi_get_instance_data(env.raw(), &mut state);
        state.cast::<State>().as_mut()
    }
    .ok_or_else(|| napi::Error::from_reason("attach was not called: load the addon through the rampmeter package"))
}

/// Copies a string's code units, one byte each, into `bytes`. JavaScript says
/// the length beforehand, which spares asking for it.
pub(crate) fn copy_latin1(env: &Env, text: &JsString<'_>, length: usize, bytes: &mut Vec<u8>) -> napi::Result<()> {
    bytes.clear();
    bytes.reserve(length + 1);
    let mut written = 0;
    // SAFETY: the buffer has room for `length` bytes and the NUL that N-API
    // appends; `written` of them are initialised.
    let status = unsafe {
        let status = sys::napi_get_value_string_latin1(
            env.raw(),
            text.raw(),
            bytes.as_mut_ptr().cast(),
            length + 1,
            &mut written,
        );
        if status == sys::Status::napi_ok {
            bytes.set_len(written);
        }
        status
    };
    if status == sys::Status::napi_ok { Ok(()) } else { Err(napi::Error::from_reason("the text is no string")) }
}
