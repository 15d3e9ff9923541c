//! The plain pieces, usable alone.

use core::time::Duration;

use napi::JsString;
use napi::bindgen_prelude::{Env, Uint8Array};
use napi_derive::napi;
use rampmeter::{Backoff, BucketRegistry, ConfigError, TokenBucket, parse_retry_after, read_signals};

use crate::desk::state;
use crate::json;
use crate::state::{State, duration, milliseconds, wall};

/// The wait that a `Retry-After` value asks, in milliseconds on place 0, NaN
/// for none. On the desk: the wall clock, the response's own date (NaN for
/// none), the text's length.
#[napi(catch_unwind)]
pub fn retry_after(env: Env, text: JsString) -> napi::Result<()> {
    let state = state(&env)?;
    let (now, date) = (wall(state.desk.get(0)), wall(state.desk.get(1)));
    let text = state.read_text(&env, &text, 2..3)?;
    let wait = parse_retry_after(text.piece(0), now, date);
    state.desk.put(0, wait.map_or(f64::NAN, milliseconds));
    state.recycle(text);
    Ok(())
}

/// What a response says about limits, as JSON. On the desk: status, wall clock,
/// number of header pieces, their lengths.
#[napi(catch_unwind)]
pub fn signals(env: Env, text: JsString, body: Option<Uint8Array>) -> napi::Result<String> {
    let state = state(&env)?;
    let (status, now) = (state.desk.get(0) as u16, wall(state.desk.get(1)));
    let pieces = state.desk.whole(2) as usize;
    let text = state.read_text(&env, &text, 3..3 + pieces)?;
    let signals = read_signals(status, &text.fields(0), body.as_deref(), now);
    state.recycle(text);
    Ok(json::signals(&signals).to_string())
}

/// A backoff's delay in milliseconds, on place 0. On the desk: its kind's code,
/// base, cap and previous delay in milliseconds, the step, a uniform number in
/// [0, 1).
#[napi(catch_unwind)]
pub fn backoff(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let kind = Backoff::KINDS.get(state.desk.whole(0) as usize).copied().unwrap_or_default();
    let span = |place| duration(state.desk.get(place)).unwrap_or(Duration::MAX);
    let delay = Backoff::from_kind(kind, span(1), span(2))
        .map_or(f64::NAN, |backoff| milliseconds(backoff.delay(state.desk.get(4) as u32, span(3), state.desk.get(5))));
    state.desk.put(0, delay);
    Ok(())
}

/// Makes a token bucket and lays its handle on place 0; answers an error as
/// JSON. On the desk: rate and burst.
#[napi(catch_unwind)]
pub fn bucket_new(env: Env) -> napi::Result<Option<String>> {
    let state = state(&env)?;
    let made = TokenBucket::new(state.desk.get(0), state.desk.get(1));
    Ok(made_handle(state, made, |state, bucket| state.buckets.keep(bucket)))
}

/// Makes a registry of token buckets. On the desk: rate, burst, capacity.
#[napi(catch_unwind)]
pub fn registry_new(env: Env) -> napi::Result<Option<String>> {
    let state = state(&env)?;
    let made = BucketRegistry::new(state.desk.get(0), state.desk.get(1), state.desk.whole(2) as usize);
    Ok(made_handle(state, made, |state, registry| state.registries.keep(registry)))
}

/// How many keys the registry on place 0 remembers, on place 0.
#[napi(catch_unwind)]
pub fn registry_len(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let len = state.registries.get(state.desk.whole(0)).map_or(0, BucketRegistry::len);
    state.desk.put(0, len as f64);
    Ok(())
}

/// Forgets the bucket on place 0, or the registry if place 1 is not zero.
#[napi(catch_unwind)]
pub fn bucket_drop(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let handle = state.desk.whole(0);
    if state.desk.get(1) == 0.0 {
        state.buckets.remove(handle);
    } else {
        state.registries.remove(handle);
    }
    Ok(())
}

/// What [`bucket`] may do.
mod act {
    pub const WAIT: u64 = 0;
    pub const TAKE: u64 = 1;
    pub const CHARGE: u64 = 2;
    pub const AVAILABLE: u64 = 3;
}

/// Acts on the bucket on place 0, or on the bucket of `key` in the registry on
/// place 0. On the desk: handle, instant, act, cost; out on place 0: for a wait
/// and a take the milliseconds to wait (0 if none, infinite if the cost never
/// fits), else the tokens that are there.
#[napi(catch_unwind)]
pub fn bucket(env: Env, key: Option<String>) -> napi::Result<()> {
    let state = state(&env)?;
    let (handle, now, what, cost) = (state.desk.whole(0), state.instant(1), state.desk.whole(2), state.desk.get(3));
    let bucket = match &key {
        None => state.buckets.get_mut(handle),
        Some(key) => state.registries.get_mut(handle).map(|registry| registry.bucket(now, key)),
    };
    let bucket = bucket.ok_or_else(|| napi::Error::from_reason("the bucket is gone: its owner was collected"))?;
    let wait = |wait: Option<Duration>| wait.map_or(f64::INFINITY, milliseconds);
    let answer = match what {
        act::WAIT => wait(bucket.wait(now, cost)),
        act::TAKE => bucket.take(now, cost).err().map_or(0.0, wait),
        act::CHARGE | act::AVAILABLE => {
            if what == act::CHARGE {
                bucket.charge(now, cost);
            }
            bucket.available(now)
        }
        _ => f64::NAN,
    };
    state.desk.put(0, answer);
    Ok(())
}

fn made_handle<T>(
    state: &mut State,
    made: Result<T, ConfigError>,
    keep: impl FnOnce(&mut State, T) -> f64,
) -> Option<String> {
    match made {
        Ok(thing) => {
            let handle = keep(state, thing);
            state.desk.put(0, handle);
            None
        }
        Err(error) => Some(json::config_error(&error).to_string()),
    }
}
