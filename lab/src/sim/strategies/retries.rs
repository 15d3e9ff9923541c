//! What the baselines share: how they read a refusal, and how they back off.

use std::collections::BTreeMap;

use rampmeter::{Backoff, Wall, parse_retry_after};

use crate::dialects::Head;
use crate::servers::{Nanos, SECOND};
use crate::sim::strategy::{Ask, Clock};

/// Backs off with full jitter from 1 s to this.
const CAP: u64 = 20;

/// Whether the response is a refusal.
pub(super) fn is_refused(head: &Head) -> bool {
    head.status == 429
}

/// The `Retry-After` of a response, as a careful client reads it.
pub(super) fn retry_after(clock: Clock, head: &Head) -> Option<Nanos> {
    let field = |name: &str| head.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_slice());
    if let Some(value) = field("retry-after-ms") {
        let milliseconds: u64 = core::str::from_utf8(value).ok()?.parse().ok()?;
        return Some(milliseconds * (SECOND / 1000));
    }
    let date = httpdate::parse_http_date(core::str::from_utf8(field("date")?).ok()?).ok()?;
    let date = date.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?;
    let wall = |nanos: u64| i64::try_from(nanos).ok().map(Wall::from_unix_nanos);
    let date = wall(u64::try_from(date.as_nanos()).ok()?);
    let wait = parse_retry_after(field("retry-after")?, wall(clock.wall), date)?;
    u64::try_from(wait.as_nanos()).ok()
}

/// A draw of full jitter after `refusals` refusals in a row, at least 1 ms.
pub(super) fn backoff(rng: &mut fastrand::Rng, refusals: u32) -> Nanos {
    let backoff = Backoff::Full { base: core::time::Duration::from_secs(1), cap: core::time::Duration::from_secs(CAP) };
    let draw = backoff.delay(refusals.saturating_sub(1), core::time::Duration::ZERO, rng.f64());
    (draw.as_nanos() as Nanos).max(SECOND / 1000)
}

/// The calls of one process.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<usize, Call>);

/// What is known of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) key: usize,
    /// The instant before which it is not sent.
    pub(super) not_before: Nanos,
    pub(super) refusals: u32,
    pub(super) flies: bool,
}

impl Calls {
    pub(super) fn begin(&mut self, ask: Ask) {
        self.0.insert(ask.call, Call { key: ask.key, not_before: 0, refusals: 0, flies: false });
    }

    /// # Panics
    ///
    /// If the call is unknown: the driver asks about what it began.
    pub(super) fn get(&mut self, call: usize) -> &mut Call {
        self.0.get_mut(&call).expect("the driver asks about calls that it began")
    }

    pub(super) fn remove(&mut self, call: usize) -> Option<Call> {
        self.0.remove(&call)
    }
}
