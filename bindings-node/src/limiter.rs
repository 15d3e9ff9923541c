//! Limiters: made from options, asked for what they know.

use napi::bindgen_prelude::{Env, Float64Array};
use napi_derive::napi;
use rampmeter::{Config, ConfigError, Limiter};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::desk::{Desk, install, state};
use crate::json;
use crate::state::State;

/// Whether the limiter on place 0 reads a response's header fields of that
/// name; others need not be passed.
#[napi(catch_unwind)]
pub fn header_matters(env: Env, name: String) -> napi::Result<bool> {
    Ok(limiter(state(&env)?)?.header_may_matter(name.as_bytes()))
}

/// Takes over the desk and answers the names and options that JavaScript
/// derives its own from, as JSON. To be called once, before all else.
#[napi(catch_unwind)]
pub fn attach(env: Env, desk: Float64Array) -> napi::Result<String> {
    install(&env, State::new(Desk::new(desk)))?;
    Ok(json::names().to_string())
}

/// Checks a preset with options laid over it. Answers
/// `{"options": {name: value}}` with the values that hold, or
/// `{"error": {…}}`.
#[napi(catch_unwind)]
pub fn config_check(preset: String, options: String) -> String {
    match config(&preset, &options) {
        Ok(config) => json!({ "options": json::options(&config) }),
        Err(error) => json!({ "error": json::config_error(&error) }),
    }
    .to_string()
}

/// Makes a limiter and lays its handle on place 0; answers an error as JSON.
#[napi(catch_unwind)]
pub fn limiter_new(env: Env, preset: String, options: String) -> napi::Result<Option<String>> {
    let state = state(&env)?;
    Ok(match config(&preset, &options).and_then(Limiter::new) {
        Ok(limiter) => {
            // What the core would log is said through Node's own channels.
            limiter.collect_notices();
            let handle = state.limiters.keep(limiter);
            state.desk.put(0, handle);
            None
        }
        Err(error) => Some(json::config_error(&error).to_string()),
    })
}

fn config(preset: &str, options: &str) -> Result<Config, ConfigError> {
    let options: Value = serde_json::from_str(options).unwrap_or(Value::Null);
    Config::preset(preset).unwrap_or_default().with_options(&options)
}

/// Forgets the limiter on place 0. Its calls keep it alive until they end.
#[napi(catch_unwind)]
pub fn limiter_drop(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let handle = state.desk.whole(0);
    state.limiters.remove(handle);
    Ok(())
}

/// Closes the limiter on place 0 at the instant on place 1.
#[napi(catch_unwind)]
pub fn limiter_close(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let limiter = limiter(state)?;
    limiter.close(state.now(1));
    state.tell_pending(Some(&limiter));
    Ok(())
}

/// Whether the limiter on place 0 is closed, on place 0.
#[napi(catch_unwind)]
pub fn limiter_closed(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let closed = limiter(state)?.is_closed();
    state.desk.put(0, f64::from(u8::from(closed)));
    Ok(())
}

/// Starts (place 1 not zero) or stops the collection of events.
#[napi(catch_unwind)]
pub fn limiter_listen(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    limiter(state)?.listen(state.desk.get(1) != 0.0);
    Ok(())
}

/// The events of the limiter on place 0 since the last time, as JSON; empty
/// text if there are none.
#[napi(catch_unwind)]
pub fn limiter_events(env: Env) -> napi::Result<String> {
    let events = limiter(state(&env)?)?.take_events();
    Ok(if events.is_empty() { String::new() } else { json::events(&events).to_string() })
}

/// The counters of the limiter on place 0 at the instant on place 1, as JSON.
#[napi(catch_unwind)]
pub fn limiter_stats(env: Env) -> napi::Result<String> {
    let state = state(&env)?;
    Ok(json::stats(&limiter(state)?.stats(state.now(1))).to_string())
}

/// The scopes that the limiter on place 0 knows, as JSON.
#[napi(catch_unwind)]
pub fn limiter_scopes(env: Env) -> napi::Result<String> {
    Ok(json!(limiter(state(&env)?)?.scopes()).to_string())
}

/// The meters of a scope of the limiter on place 0 at the instant on place 1,
/// as JSON.
#[napi(catch_unwind)]
pub fn limiter_meters(env: Env, scope: String) -> napi::Result<String> {
    let state = state(&env)?;
    let now = state.now(1);
    Ok(json::meters(&limiter(state)?.meters(now, &scope), now.mono).to_string())
}

/// The handles of the calls without a driver of ours that should poll again.
#[napi(catch_unwind)]
pub fn limiter_wakes(env: Env) -> napi::Result<Vec<f64>> {
    let state = state(&env)?;
    let limiter = limiter(state)?;
    let woken = limiter.take_wakes();
    if woken.is_empty() {
        return Ok(Vec::new());
    }
    // An id is one within its limiter.
    let mut handles: FxHashMap<_, _> = state
        .calls
        .iter()
        .filter(|(_, slot)| slot.limiter.is_same(&limiter))
        .map(|(handle, slot)| (slot.call.id(), handle as f64))
        .collect();
    Ok(woken.into_iter().filter_map(|id| handles.remove(&id)).collect())
}

/// The lines for the log since the last time, as JSON.
#[napi(catch_unwind)]
pub fn take_notices(env: Env) -> napi::Result<String> {
    let notices = std::mem::take(&mut state(&env)?.notices);
    Ok(json::notices(&notices).to_string())
}

/// The handles of woken calls, in order.
#[napi(catch_unwind)]
pub fn take_woken(env: Env) -> napi::Result<Vec<f64>> {
    Ok(state(&env)?.take_woken())
}

/// The limiter whose handle lies on place 0.
pub(crate) fn limiter(state: &State) -> napi::Result<Limiter> {
    state
        .limiters
        .get(state.desk.whole(0))
        .cloned()
        .ok_or_else(|| napi::Error::from_reason("the limiter is gone: its owner was collected"))
}
