//! How many clients like this one draw on a quota.
//!
//! Between two readings of one window the server's count falls by what all
//! have spent, ours included. The ratio of the two tells how many share it;
//! each then trusts its share only, or all would believe the same number and
//! trip over it together.

/// Requests of ours that must have been counted before anything is concluded.
const EVIDENCE: f64 = 3.0;
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
    all: f64,
    ours: f64,
    /// Whether that was ever enough to conclude from.
    learned: bool,
    /// What was left when this window was first seen, and how many of ours
    /// had been counted by then.
    anchor: Option<(f64, u64)>,
    /// What is left by the latest word.
    left: f64,
}

impl Sharing {
    pub(super) fn state(&mut self, processes: Option<u32>) {
        self.stated = processes;
    }

    /// A new window begins with so much left; `counted` of our requests were
    /// counted for sure, the one that tells included. Old evidence counts
    /// less.
    pub(super) fn anchor(&mut self, left: f64, counted: u64) {
        let (all, ours) = self.window(counted.saturating_sub(1));
        // A window without a request of ours tells nothing, and is no reason
        // to forget.
        if ours > 0.0 {
            self.all = (self.all + all) * KEEP;
            self.ours = (self.ours + ours) * KEEP;
            self.learned |= self.ours >= EVIDENCE;
        }
        self.anchor = Some((left, counted));
        self.left = left;
    }

    /// So much is left in the same window.
    pub(super) fn observe(&mut self, left: f64) {
        self.left = left;
    }

    /// What the server counted in this window since the anchor, and how many
    /// of those were surely ours.
    fn window(&self, counted: u64) -> (f64, f64) {
        let Some((then, before)) = self.anchor else { return (0.0, 0.0) };
        (then - self.left, counted.saturating_sub(before) as f64)
    }

    /// How many share the quota, after `counted` of our requests were counted
    /// for sure; 1 if it is ours alone. Earlier windows tell better than this
    /// one, in which requests are still out.
    fn clients(&self, counted: u64) -> f64 {
        if let Some(stated) = self.stated {
            return f64::from(stated);
        }
        let (all, ours) = if self.learned { (self.all, self.ours) } else { self.window(counted) };
        let ratio = (all + PRIOR) / (ours + PRIOR);
        if (self.learned || ours >= EVIDENCE) && ratio > ALONE { ratio } else { 1.0 }
    }

    pub(super) fn is_stated(&self) -> bool {
        self.stated.is_some()
    }

    /// Whether others are known to use the quota, without having been stated.
    pub(super) fn is_learned(&self, counted: u64) -> bool {
        self.stated.is_none() && self.clients(counted) > 1.0
    }

    /// Our share of what is left.
    pub(super) fn of(&self, left: f64, counted: u64) -> f64 {
        let clients = self.clients(counted);
        if clients <= 1.0 || left <= 0.0 {
            return left;
        }
        let share = left / clients;
        // A stated number is a promise that the others keep to theirs too; a
        // learned one is rounded.
        if self.stated.is_some() || share >= 0.5 { share.floor().max(1.0) } else { 0.0 }
    }
}
