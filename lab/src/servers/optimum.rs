//! The best that any client can do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Nanos, Spec};

/// The shortest time from `start` to the last answer in which a server that is
/// fresh at 0 can serve `calls` requests, if the way there and back takes
/// `rtt`.
///
/// It is what [`schedule`] attains. No client beats it: on these servers, being
/// admitted earlier makes no later admission later (on a sliding counter by
/// less than one request's share of a window).
#[must_use]
pub fn optimum(spec: &Spec, calls: u64, start: Nanos, rtt: Nanos) -> Nanos {
    let last_answer = schedule(spec, calls, start, rtt).iter().map(|best| best.answered).max();
    last_answer.unwrap_or(start) - start + rtt
}

/// One request of the best possible client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// When it is admitted.
    pub admitted: Nanos,
    /// When the server answers it.
    pub answered: Nanos,
}

/// The requests of a client that knows the server's state and sends each so
/// that it arrives at the first instant, from `start` on, at which it is
/// admitted. Of a concurrency cap it knows only the slots that it has seen
/// freed, one `rtt` after they were: to use them earlier is to guess. Of a
/// server that others use it has what they do not ask for.
#[must_use]
pub fn schedule(spec: &Spec, calls: u64, start: Nanos, rtt: Nanos) -> Vec<Best> {
    let mut server = spec.left().build();
    let mut in_progress = BinaryHeap::new();
    let mut now = start;
    let mut schedule = Vec::new();
    for _ in 0..calls {
        // Slots whose release the client has seen by `now`.
        while in_progress.peek().is_some_and(|Reverse(seen)| *seen <= now) {
            in_progress.pop();
            server.release(now);
        }
        while server.next_admission(now).is_none()
            && let Some(Reverse(seen)) = in_progress.pop()
        {
            now = now.max(seen);
            server.release(now);
        }
        now = server.next_admission(now).unwrap_or(now);
        let verdict = server.admit(now);
        debug_assert!(verdict.accepted, "a request at its next admission is admitted");
        let answered = now + verdict.delay;
        schedule.push(Best { admitted: now, answered });
        in_progress.push(Reverse(answered + rtt));
    }
    schedule
}
