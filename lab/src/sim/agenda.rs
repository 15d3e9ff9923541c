//! What happens next, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::servers::Nanos;

/// Events by time; those of one instant in the order in which they were put
/// in, so that a run is the same on every machine.
#[derive(Debug)]
pub(super) struct Agenda<E> {
    events: BinaryHeap<Reverse<Entry<E>>>,
    inserted: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Nanos,
    number: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { events: BinaryHeap::new(), inserted: 0 }
    }

    pub(super) fn put(&mut self, at: Nanos, event: E) {
        self.inserted += 1;
        self.events.push(Reverse(Entry { at, number: self.inserted, event }));
    }

    pub(super) fn take(&mut self) -> Option<(Nanos, E)> {
        self.events.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_those_of_one_instant_as_they_were_put_in() {
        let mut agenda = Agenda::new();
        for (at, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd')] {
            agenda.put(at, event);
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.take()).collect();
        assert_eq!(order, [(3, 'b'), (3, 'd'), (5, 'a'), (5, 'c')]);
    }
}
