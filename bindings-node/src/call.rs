//! Calls: begun, polled, answered, given up.

use napi::JsString;
use napi::bindgen_prelude::{Env, Uint8Array};
use napi_derive::napi;
use rampmeter::{Class, Error, FailureKind, Instant, Request, Response, Verdict};

use crate::desk::state;
use crate::json;
use crate::limiter::limiter;
use crate::state::{Head, Slot, State, duration};

/// Flags of [`begin`].
mod begin_flag {
    pub const ONE_SHOT: u64 = 1;
    pub const NESTED: u64 = 2;
    pub const RETRY_GIVEN: u64 = 4;
    pub const RETRY: u64 = 8;
    pub const SCOPE: u64 = 16;
    pub const ROUTE: u64 = 32;
}

/// Flags of [`respond`].
mod respond_flag {
    pub const CACHED: u64 = 1;
    pub const URL: u64 = 2;
    pub const VERDICT: u64 = 4;
    /// Ask for the body first if it is worth reading.
    pub const MAY_READ: u64 = 8;
}

/// Begins a call and lays its handle on place 0; answers an error as JSON.
///
/// On the desk: limiter, instant, flags, priority, milliseconds to the
/// deadline (NaN for none), number of costs, number of header pieces, the
/// costs' amounts; then the lengths of the text's pieces: method, URL, scope,
/// route, a unit per cost, header names and values by turns.
#[napi(catch_unwind)]
pub fn begin(env: Env, text: JsString) -> napi::Result<Option<String>> {
    let state = state(&env)?;
    let limiter = limiter(state)?;
    let now = state.now_without_wall(1);
    let flags = state.desk.whole(2);
    let costs = state.desk.whole(5) as usize;
    let pieces = state.desk.whole(6) as usize;
    let first = 7 + costs;
    let text = state.read_text(&env, &text, first..first + 4 + costs + pieces)?;

    let (method, url, scope, route) = (text.str(0), text.str(1), text.str(2), text.str(3));
    let units: Vec<_> = (0..costs).map(|cost| text.str(4 + cost)).collect();
    let cost: Vec<_> = units.iter().enumerate().map(|(at, unit)| (&**unit, state.desk.get(7 + at))).collect();
    let fields = text.fields(4 + costs);
    let mut request = Request::new(&method, &url);
    request.headers = (pieces > 0).then_some(&fields);
    request.scope = (flags & begin_flag::SCOPE != 0).then_some(&*scope);
    request.route = (flags & begin_flag::ROUTE != 0).then_some(&*route);
    request.cost = &cost;
    request.priority = state.desk.get(3) as i32;
    request.deadline = duration(state.desk.get(4)).map(|left| later(now.mono, left));
    request.retry = (flags & begin_flag::RETRY_GIVEN != 0).then_some(flags & begin_flag::RETRY != 0);
    request.replayable = flags & begin_flag::ONE_SHOT == 0;
    request.nested = flags & begin_flag::NESTED != 0;

    let begun = limiter.begin(now, &request);
    state.tell_pending(Some(&limiter));
    let answer = match begun {
        Ok(call) => {
            let handle = state.calls.keep(Slot::new(call, limiter));
            state.desk.put(0, handle);
            None
        }
        Err(error) => Some(json::error(&error).to_string()),
    };
    drop((method, url, scope, route, units));
    state.recycle(text);
    Ok(answer)
}

/// Polls the call on place 0 at the instant on place 1.
#[napi(catch_unwind)]
pub fn poll(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    decide(state, |slot| slot.call.poll(now))
}

/// The same for a call whose driver is about to sleep: when polling again is
/// worthwhile it is listed by `takeWoken`.
#[napi(catch_unwind)]
pub fn park(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    let handle = state.desk.whole(0);
    match state.waker(handle) {
        Some(waker) => decide(state, |slot| slot.call.poll_with(now, &waker)),
        None => Err(gone()),
    }
}

/// How many bytes of a response's body the call on place 0 wants, on place 0.
///
/// On the desk: call, status, number of header pieces, their lengths.
#[napi(catch_unwind)]
pub fn wants_body(env: Env, text: JsString) -> napi::Result<()> {
    let state = state(&env)?;
    let pieces = state.desk.whole(2) as usize;
    let text = state.read_text(&env, &text, 3..3 + pieces)?;
    let status = status(state.desk.get(1));
    let slot = state.calls.get(state.desk.whole(0)).ok_or_else(gone)?;
    let wanted = slot.call.wants_body(status, &text.fields(0));
    state.desk.put(0, wanted as f64);
    state.recycle(text);
    Ok(())
}

/// Reports a response to the call on place 0.
///
/// On the desk: call, monotonic and wall clock, status, flags, the verdict's
/// class (its code, -1 for no refusal) and wait, number of header pieces; then
/// the lengths of the text's pieces: URL, header names and values by turns.
#[napi(catch_unwind)]
pub fn respond(env: Env, text: JsString, body: Option<Uint8Array>) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now(1);
    let status = status(state.desk.get(3));
    let flags = state.desk.whole(4);
    let verdict = (flags & respond_flag::VERDICT != 0).then(|| verdict(state.desk.get(5), state.desk.get(6)));
    let pieces = state.desk.whole(7) as usize;
    let text = state.read_text(&env, &text, 8..9 + pieces)?;
    let handle = state.desk.whole(0);

    if flags & respond_flag::MAY_READ != 0 && verdict.is_none() {
        let slot = state.calls.get_mut(handle).ok_or_else(gone)?;
        let wanted = slot.call.wants_body(status, &text.fields(1));
        if wanted > 0 {
            slot.head = Some(Head { text, status, cached: flags & respond_flag::CACHED != 0 });
            state.want_body(wanted);
            return Ok(());
        }
    }
    let url = text.str(0);
    let fields = text.fields(1);
    let response = Response::new(status, &fields)
        .body(body.as_deref())
        .cached(flags & respond_flag::CACHED != 0)
        .verdict(verdict)
        .answered_by((flags & respond_flag::URL != 0).then_some(&*url));
    decide(state, |slot| slot.call.on_response(now, response))?;
    drop(url);
    state.recycle(text);
    Ok(())
}

/// Completes a response whose body was asked for. On the desk: call, monotonic
/// and wall clock.
#[napi(catch_unwind)]
pub fn respond_body(env: Env, body: Option<Uint8Array>) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now(1);
    let handle = state.desk.whole(0);
    let head = state.calls.get_mut(handle).and_then(|slot| slot.head.take()).ok_or_else(gone)?;
    let url = head.text.str(0);
    let fields = head.text.fields(1);
    let response = Response::new(head.status, &fields)
        .body(body.as_deref())
        .cached(head.cached)
        .answered_by((!url.is_empty()).then_some(&*url));
    decide(state, |slot| slot.call.on_response(now, response))
}

/// Reports that the last send of the call on place 0 ended without a response,
/// at the instant on place 1, for the kind on place 2.
#[napi(catch_unwind)]
pub fn fail(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    let kind = FailureKind::ALL.get(state.desk.whole(2) as usize).map_or(FailureKind::Other, |(_, kind)| *kind);
    decide(state, |slot| slot.call.on_failure(now, kind))
}

/// Settles the cost of the call on place 0; answers an error as JSON.
///
/// On the desk: call, instant, number of costs, their amounts, the lengths of
/// their units.
#[napi(catch_unwind)]
pub fn settle(env: Env, text: JsString) -> napi::Result<Option<String>> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    let costs = state.desk.whole(2) as usize;
    let text = state.read_text(&env, &text, 3 + costs..3 + 2 * costs)?;
    let units: Vec<_> = (0..costs).map(|cost| text.str(cost)).collect();
    let cost: Vec<_> = units.iter().enumerate().map(|(at, unit)| (&**unit, state.desk.get(3 + at))).collect();
    let slot = state.calls.get(state.desk.whole(0)).ok_or_else(gone)?;
    let settled = slot.call.settle(now, &cost);
    let limiter = slot.limiter.clone();
    state.tell_pending(Some(&limiter));
    Ok(settled.err().map(|error| json::error(&error).to_string()))
}

/// Says that the body of the call on place 0 is read or closed, at the instant
/// on place 1.
#[napi(catch_unwind)]
pub fn finish(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    act(state, |slot| slot.call.finish(now));
    Ok(())
}

/// Gives up the call on place 0, at the instant on place 1.
#[napi(catch_unwind)]
pub fn cancel(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let now = state.now_without_wall(1);
    act(state, |slot| slot.call.cancel(now));
    Ok(())
}

/// Forgets the call on place 0: given up unless it is finished. A handle of a
/// call that is forgotten already does nothing.
#[napi(catch_unwind)]
pub fn forget(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let handle = state.desk.whole(0);
    let limiter = state.calls.remove(handle).map(|slot| slot.limiter.clone());
    state.tell_pending(limiter.as_ref());
    Ok(())
}

/// [`finish`] and [`forget`] in one.
#[napi(catch_unwind)]
pub fn complete(env: Env) -> napi::Result<()> {
    finish(env)?;
    forget(env)
}

/// How often the call on place 0 was sent, on place 0.
#[napi(catch_unwind)]
pub fn attempts(env: Env) -> napi::Result<()> {
    let state = state(&env)?;
    let attempts = state.calls.get(state.desk.whole(0)).map_or(0, |slot| slot.call.attempts());
    state.desk.put(0, f64::from(attempts));
    Ok(())
}

/// The error of the last decision to raise of the call on place 0, as JSON.
#[napi(catch_unwind)]
pub fn take_error(env: Env) -> napi::Result<String> {
    let state = state(&env)?;
    let slot = state.calls.get_mut(state.desk.whole(0)).ok_or_else(gone)?;
    let error = slot.error.take().ok_or_else(|| napi::Error::from_reason("the last decision was not to raise"))?;
    Ok(json::error(&error).to_string())
}

/// Lays the call's decision on the desk.
fn decide(state: &mut State, ask: impl FnOnce(&Slot) -> rampmeter::Decision) -> napi::Result<()> {
    let handle = state.desk.whole(0);
    let slot = state.calls.get(handle).ok_or_else(gone)?;
    let decision = ask(slot);
    let limiter = slot.limiter.clone();
    state.answer(handle, decision);
    state.tell_pending(Some(&limiter));
    Ok(())
}

fn act(state: &mut State, act: impl FnOnce(&Slot)) {
    if let Some(slot) = state.calls.get(state.desk.whole(0)) {
        act(slot);
        let limiter = slot.limiter.clone();
        state.tell_pending(Some(&limiter));
    }
}

fn verdict(class: f64, wait: f64) -> Verdict {
    let class = if class < 0.0 { None } else { Class::ALL.get(class as usize).map(|(_, class)| *class) };
    Verdict { class, wait: duration(wait) }
}

/// A status code from JavaScript; 0 for what is none.
fn status(number: f64) -> u16 {
    number as u16
}

fn later(instant: Instant, span: core::time::Duration) -> Instant {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(instant.as_nanos().saturating_add(nanos))
}

fn gone() -> napi::Error {
    // The kinds of the core's own errors are typed; this one means that a
    // finished and disposed call was used again.
    napi::Error::from_reason(Error::Misuse("the call is over: begin another").to_string())
}
