//! The best that any client can do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Nanos, Spec};

/// The shortest time from `start` to the last answer in which a server that is
/// fresh at 0 can serve `calls` requests, if the way there and back takes
/// `rtt`.
///
/// It is what a client attains that knows the server's state and sends each
/// request so that it arrives at the first instant at which it is admitted.
/// No client beats it: on these servers, being admitted earlier makes no later
/// admission later (on a sliding counter by less than one request's share of a
/// window). Of a concurrency cap it knows only the slots that it has seen
/// freed: to use them earlier is to guess.
#[must_use]
pub fn optimum(spec: &Spec, calls: u64, start: Nanos, rtt: Nanos) -> Nanos {
    let mut server = spec.build();
    let mut in_progress = BinaryHeap::new();
    let mut now = start;
    let mut last_answer = start;
    for _ in 0..calls {
        // Slots whose release the client has seen by `now`.
        while in_progress.peek().is_some_and(|Reverse(seen)| *seen <= now) {
            in_progress.pop();
            server.release(now);
        }
        now = loop {
            if let Some(at) = server.next_admission(now) {
                break at;
            }
            let Some(Reverse(seen)) = in_progress.pop() else { return Nanos::MAX };
            now = now.max(seen);
            server.release(now);
        };
        let verdict = server.admit(now);
        debug_assert!(verdict.accepted, "a request at its next admission is admitted");
        let answered = now + verdict.delay;
        last_answer = last_answer.max(answered);
        in_progress.push(Reverse(answered + rtt));
    }
    last_answer - start + rtt
}
