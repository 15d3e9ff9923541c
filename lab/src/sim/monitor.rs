//! Promises that hold in every cell, checked from outside: what the server
//! asked is read here from its verdict, not from the client's parser.

use std::collections::{BTreeMap, BTreeSet};

use crate::servers::Nanos;

/// Who waits, who is held, and what was broken.
#[derive(Debug, Default)]
pub(super) struct Monitor {
    /// Until when each process has been asked to stay away from each key.
    holds: BTreeMap<(usize, usize), Nanos>,
    /// The calls that wait, by process and key, the oldest first.
    waiting: BTreeMap<(usize, usize), BTreeSet<usize>>,
    /// Sends before the end of a wait that the server had asked of the sender.
    pub(super) sends_in_hold: u64,
    /// Sends while an older call of the same process and key still waited.
    pub(super) inversions: u64,
}

impl Monitor {
    pub(super) fn wait(&mut self, process: usize, key: usize, call: usize) {
        self.waiting.entry((process, key)).or_default().insert(call);
    }

    pub(super) fn leave(&mut self, process: usize, key: usize, call: usize) {
        if let Some(waiting) = self.waiting.get_mut(&(process, key)) {
            waiting.remove(&call);
        }
    }

    /// How many wait for anything.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.values().map(BTreeSet::len).sum()
    }

    /// The process has learned that it is to stay away until then.
    pub(super) fn hold(&mut self, process: usize, key: usize, until: Nanos) {
        let hold = self.holds.entry((process, key)).or_default();
        *hold = (*hold).max(until);
    }

    /// The process sends. Answers whether the server had asked it not to.
    pub(super) fn send(&mut self, now: Nanos, process: usize, key: usize, call: usize) -> bool {
        let held = self.holds.get(&(process, key)).is_some_and(|until| now < *until);
        self.sends_in_hold += u64::from(held);
        self.leave(process, key, call);
        held
    }

    /// The call was sent, and all whose turn came by that have been woken.
    /// Answers whether it overtook an older one.
    pub(super) fn sent(&mut self, process: usize, key: usize, call: usize) -> bool {
        let oldest = self.waiting.get(&(process, key)).and_then(BTreeSet::first);
        let overtook = oldest.is_some_and(|oldest| *oldest < call);
        self.inversions += u64::from(overtook);
        overtook
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_in_a_hold_is_noticed_until_it_ends_and_only_for_its_process_and_key() {
        let mut monitor = Monitor::default();
        monitor.hold(0, 0, 10);
        monitor.hold(0, 0, 5);
        assert!(monitor.send(9, 0, 0, 1));
        assert!(!monitor.send(9, 1, 0, 2));
        assert!(!monitor.send(9, 0, 1, 3));
        assert!(!monitor.send(10, 0, 0, 4));
        assert_eq!(monitor.sends_in_hold, 1);
    }

    #[test]
    fn a_send_before_an_older_waiter_is_an_inversion() {
        let mut monitor = Monitor::default();
        for call in [1, 2, 3] {
            monitor.wait(0, 0, call);
        }
        let overtakes = [2, 1, 3].map(|call| {
            monitor.send(0, 0, 0, call);
            monitor.sent(0, 0, call)
        });
        assert_eq!(overtakes, [true, false, false]);
        assert_eq!(monitor.inversions, 1);
    }
}
