//! Who is next: the calls that wait in a scope, by rank.
//!
//! Calls of routes that are bound by the same meters wait in one lane, so
//! that the head of a lane answers for all behind it. A head that does not
//! fit blocks the lanes that share what it lacks; others pass.

use std::collections::{BTreeMap, VecDeque};

use super::CallId;
use super::call::Rank;
use crate::time::{Instant, MILLISECOND};

/// A turn that is not claimed for so long goes to the next.
pub(super) const CLAIM_LEASE: u64 = 100 * MILLISECOND;

#[derive(Debug, Default)]
pub(super) struct Queue {
    lanes: Vec<Lane>,
    waiting: usize,
    /// Calls that left, however they left.
    departed: u64,
    /// Calls whose turn has come, oldest first; some may have claimed it or
    /// gone since.
    offers: VecDeque<(Instant, CallId)>,
    offered: u32,
}

/// The calls that are bound by the same meters.
#[derive(Debug, Default)]
struct Lane {
    mask: u64,
    waiting: BTreeMap<Rank, CallId>,
}

/// The heads of the lanes that may still be tried in one pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// Lanes with any of these meters wait for a better head.
    failing: u64,
    /// Lanes whose own head does not fit.
    tried: Vec<u64>,
}

impl Pass {
    pub(super) fn fail(&mut self, mask: u64, meters: u64) {
        self.failing |= meters;
        self.tried.push(mask);
    }
}

impl Queue {
    /// Calls that wait, those whose turn has come included.
    pub(super) fn len(&self) -> usize {
        self.waiting + self.offered as usize
    }

    pub(super) fn offered(&self) -> u32 {
        self.offered
    }

    pub(super) fn departed(&self) -> u64 {
        self.departed
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    pub(super) fn insert(&mut self, mask: u64, rank: Rank, id: CallId) {
        let lane = match self.lanes.iter().position(|lane| lane.mask == mask) {
            Some(at) => &mut self.lanes[at],
            None => {
                self.lanes.retain(|lane| !lane.waiting.is_empty());
                self.lanes.push(Lane { mask, waiting: BTreeMap::new() });
                let last = self.lanes.len() - 1;
                &mut self.lanes[last]
            }
        };
        if lane.waiting.insert(rank, id).is_none() {
            self.waiting += 1;
        }
    }

    /// Takes a waiting call out, wherever it waits.
    pub(super) fn remove(&mut self, mask: u64, rank: Rank) -> bool {
        let here = self.lanes.iter_mut().filter(|lane| lane.mask == mask);
        let found = here.into_iter().any(|lane| lane.waiting.remove(&rank).is_some())
            || self.lanes.iter_mut().any(|lane| lane.waiting.remove(&rank).is_some());
        if found {
            self.waiting -= 1;
        }
        found
    }

    /// A call left the queue for good, or to be sent.
    pub(super) fn depart(&mut self) {
        self.departed += 1;
    }

    /// The best head that this pass has not ruled out. `shared` are meters
    /// that every lane is bound by.
    pub(super) fn best(&self, pass: &Pass, shared: u64) -> Option<(u64, Rank, CallId)> {
        self.lanes
            .iter()
            .filter(|lane| (lane.mask | shared) & pass.failing == 0 && !pass.tried.contains(&lane.mask))
            .filter_map(|lane| lane.waiting.first_key_value().map(|(rank, id)| (lane.mask, *rank, *id)))
            .min_by_key(|(_, rank, _)| *rank)
    }

    pub(super) fn offer(&mut self, now: Instant, id: CallId) {
        self.offers.push_back((now, id));
        self.offered += 1;
    }

    pub(super) fn unoffer(&mut self) {
        self.offered = self.offered.saturating_sub(1);
        if self.offered == 0 {
            self.offers.clear();
        }
    }

    /// The oldest offer, claimed or not.
    pub(super) fn first_offer(&self) -> Option<(Instant, CallId)> {
        self.offers.front().copied()
    }

    pub(super) fn drop_first_offer(&mut self) {
        self.offers.pop_front();
    }

    /// Moves the calls for which `of_route` holds to the lane of `mask`.
    pub(super) fn rebind(&mut self, mask: u64, of_route: impl Fn(CallId) -> bool) {
        let mut moved = Vec::new();
        for lane in self.lanes.iter_mut().filter(|lane| lane.mask != mask) {
            lane.waiting.retain(|rank, id| {
                let moves = of_route(*id);
                if moves {
                    moved.push((*rank, *id));
                }
                !moves
            });
        }
        self.waiting -= moved.len();
        for (rank, id) in moved {
            self.insert(mask, rank, id);
        }
    }

    /// Those whose turn has come, oldest first; some may have gone since.
    pub(super) fn offers(&self) -> Vec<CallId> {
        self.offers.iter().map(|(_, id)| *id).collect()
    }

    pub(super) fn clear(&mut self) {
        *self = Self { departed: self.departed, ..Self::default() };
    }
}
