//! How many clients like this one draw on a quota.
//!
//! Between two readings of one window the server's count falls by what all
//! have spent, ours included. The ratio of the two tells how many share it;
//! each then trusts its share only, or all would believe the same number and
//! trip over it together.

/// Requests of ours that must have been counted before anything is concluded.
const EVIDENCE: f64 = 6.0;
/// Pretended agreement: so many requests of ours, and as many counted, are
/// taken for granted, so that answers out of order prove nothing.
const PRIOR: f64 = 3.0;
/// Below this the quota is ours alone.
const ALONE: f64 = 1.3;
/// What is kept of the evidence from one window to the next.
const KEEP: f64 = 0.75;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sharing {
    /// The number that the user stated, if any.
    stated: Option<u32>,
    /// Evidence of earlier windows: what the server counted, and at most how
    /// many of those were ours.
    counted: f64,
    ours: f64,
    /// The same of this window, since the anchor.
    window: (f64, f64),
    anchor: (f64, u64),
}

impl Sharing {
    pub(super) fn state(&mut self, processes: Option<u32>) {
        self.stated = processes;
    }

    /// A new window begins with so much left, and so many of our requests
    /// counted for sure. Old evidence counts less.
    pub(super) fn anchor(&mut self, left: f64, sends: u64) {
        self.counted = (self.counted + self.window.0) * KEEP;
        self.ours = (self.ours + self.window.1) * KEEP;
        self.window = (0.0, 0.0);
        self.anchor = (left, sends);
    }

    /// So much is left in the same window, and at most so many of our
    /// requests have been counted.
    pub(super) fn observe(&mut self, left: f64, sends: u64) {
        let (then, counted) = self.anchor;
        self.window = (then - left, sends.saturating_sub(counted) as f64);
    }

    /// How many share the quota; 1 if it is ours alone.
    fn clients(&self) -> f64 {
        match self.stated {
            Some(stated) => f64::from(stated),
            None => {
                let (counted, ours) = (self.counted + self.window.0, self.ours + self.window.1);
                let ratio = (counted + PRIOR) / (ours + PRIOR);
                if ours >= EVIDENCE && ratio > ALONE { ratio } else { 1.0 }
            }
        }
    }

    /// Our share of what is left.
    pub(super) fn of(&self, left: f64) -> f64 {
        let clients = self.clients();
        if clients <= 1.0 || left <= 0.0 {
            return left;
        }
        let share = left / clients;
        // A stated number is a promise that the others keep to theirs too.
        if self.stated.is_some() { share.floor().max(1.0) } else { share.floor() }
    }
}
