//! Response bodies: looked into, kept without their connection, and watched
//! until they end.

use core::future::poll_fn;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use reqwest::{Body, Response, ResponseBuilderExt};

use crate::drivers::asynchronous::Timer;
use crate::limiter::Call;
use crate::time::{MILLISECOND, Now};

/// As much of a refused response is kept during the wait.
pub(super) const KEPT_BODY: usize = 64 * 1024;
/// A refused response's body is worth no longer wait than this.
const READING: Duration = Duration::from_secs(1);
/// A body that nobody reads for this long gives its slot back.
pub(super) const IDLE: Duration = Duration::from_secs(1);

/// Reads up to `limit` bytes of the body. The response returned has its whole
/// body all the same.
pub(super) async fn peek(response: Response, limit: usize, timer: &impl Timer) -> (Response, Vec<u8>) {
    let (url, (parts, body)) = (response.url().clone(), http::Response::from(response).into_parts());
    let body = read(body, limit, timer).await;
    let bytes = body.bytes(limit);
    (rebuild(url, parts, Body::wrap(body)), bytes)
}

/// Reads up to [`KEPT_BODY`] of the body and lets go of the connection.
pub(super) async fn detach(response: Response, timer: &impl Timer) -> Response {
    let (url, (parts, body)) = (response.url().clone(), http::Response::from(response).into_parts());
    let mut body = read(body, KEPT_BODY, timer).await;
    body.rest = None;
    rebuild(url, parts, Body::wrap(body))
}

/// The response with its body under watch: its slot is free when the body
/// ends. A short body of known length has left the server already, so that
/// its slot is free at once.
pub(super) fn watch<T: Timer>(response: Response, call: Call, open: &OpenBodies, timer: &T) -> Response {
    if response.content_length().is_some_and(|length| length <= KEPT_BODY as u64) {
        call.finish(timer.now());
        return response;
    }
    let url = response.url().clone();
    let (parts, body) = http::Response::from(response).into_parts();
    let now = {
        let timer = timer.clone();
        Box::new(move || timer.now())
    };
    let slot =
        Arc::new(Slot { active: AtomicU64::new(now().mono.as_nanos()), done: AtomicBool::new(false), call, now });
    open.add(&slot);
    rebuild(url, parts, Body::wrap(Watched { body, slot }))
}

fn rebuild(url: reqwest::Url, mut parts: http::response::Parts, body: Body) -> Response {
    // The builder is reqwest's only way to give a response its URL.
    let with_url = http::Response::builder().url(url).body(()).unwrap_or_default();
    parts.extensions.extend(with_url.into_parts().0.extensions);
    Response::from(http::Response::from_parts(parts, body))
}

type BodyError = <Body as http_body::Body>::Error;

/// What was read of a body, followed by the rest.
struct Buffered {
    read: VecDeque<Result<Frame<Bytes>, BodyError>>,
    rest: Option<Body>,
}

async fn read(mut body: Body, limit: usize, timer: &impl Timer) -> Buffered {
    let mut read = VecDeque::new();
    let mut length = 0;
    let mut patience = pin!(timer.sleep(READING));
    loop {
        if length >= limit {
            return Buffered { read, rest: Some(body) };
        }
        let frame = poll_fn(|cx| match Pin::new(&mut body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
            Poll::Pending => patience.as_mut().poll(cx).map(|()| None),
        });
        match frame.await {
            Some(Some(frame)) => {
                length += frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
                read.push_back(frame);
            }
            Some(None) => return Buffered { read, rest: None },
            None => return Buffered { read, rest: Some(body) },
        }
    }
}

impl Buffered {
    fn bytes(&self, limit: usize) -> Vec<u8> {
        let data = self.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let mut bytes = data.fold(Vec::new(), |mut bytes, data| {
            bytes.extend_from_slice(data);
            bytes
        });
        bytes.truncate(limit);
        bytes
    }
}

impl http_body::Body for Buffered {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(frame) = self.read.pop_front() {
            return Poll::Ready(Some(frame));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        let polled = Pin::new(rest).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.rest = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.as_ref().is_none_or(|rest| rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), |rest| rest.size_hint());
        let data = self.read.iter().filter_map(|frame| frame.as_ref().ok()?.data_ref());
        let read = data.map(|data| data.len() as u64).sum::<u64>();
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(read));
        }
        hint.set_lower(hint.lower().saturating_add(read));
        hint
    }
}

/// A delivered response's place among the requests in flight.
struct Slot {
    call: Call,
    now: Box<dyn Fn() -> Now + Send + Sync>,
    /// When the reader last took something, in nanoseconds; [`WAITS`] while
    /// it waits for the server.
    active: AtomicU64,
    done: AtomicBool,
}

const WAITS: u64 = u64::MAX;

impl Slot {
    fn finish(&self) {
        if !self.done.swap(true, Ordering::Relaxed) {
            self.call.finish((self.now)());
        }
    }

    fn is_idle(&self, now: Now) -> bool {
        let active = self.active.load(Ordering::Relaxed);
        active != WAITS && now.mono.as_nanos().saturating_sub(active) >= IDLE.as_nanos() as u64
    }
}

struct Watched {
    body: Body,
    slot: Arc<Slot>,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let slot = &self.slot;
        match &polled {
            Poll::Pending => slot.active.store(WAITS, Ordering::Relaxed),
            Poll::Ready(Some(Ok(_))) if !self.body.is_end_stream() => {
                slot.active.store((slot.now)().mono.as_nanos(), Ordering::Relaxed);
            }
            Poll::Ready(_) => slot.finish(),
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.slot.finish();
    }
}

/// The bodies under watch.
///
/// A caller who collects responses before it reads any would otherwise wait
/// for slots that it holds itself. So a waiting call takes back the slots of
/// bodies that nobody reads.
#[derive(Default)]
pub(super) struct OpenBodies {
    slots: Mutex<Vec<Weak<Slot>>>,
    looked: AtomicU64,
}

impl OpenBodies {
    fn add(&self, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() == slots.capacity() {
            slots.retain(is_open);
        }
        slots.push(Arc::downgrade(slot));
    }

    /// Frees the slots of idle bodies; says whether others are open.
    pub(super) fn release_idle(&self, now: Now) -> bool {
        // Many calls may wait: one of them looks for all.
        let looked = self.looked.load(Ordering::Relaxed);
        if looked != 0 && now.mono.as_nanos().saturating_sub(looked) < 100 * MILLISECOND {
            return !self.slots.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        }
        self.looked.store(now.mono.as_nanos().max(1), Ordering::Relaxed);
        let (idle, any) = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.retain(is_open);
            let open = || slots.iter().filter_map(Weak::upgrade);
            (open().filter(|slot| slot.is_idle(now)).collect::<Vec<_>>(), !slots.is_empty())
        };
        // A finished slot wakes others, which must not find the lock taken.
        idle.iter().for_each(|slot| slot.finish());
        any
    }
}

fn is_open(slot: &Weak<Slot>) -> bool {
    slot.upgrade().is_some_and(|slot| !slot.done.load(Ordering::Relaxed))
}
