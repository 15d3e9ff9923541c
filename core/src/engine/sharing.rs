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
    counted: f64,
    ours: f64,
}

impl Sharing {
    pub(super) fn state(&mut self, processes: Option<u32>) {
        self.stated = processes;
    }

    /// Between two readings the server counted `counted`, of which `ours`
    /// were sent by us.
    pub(super) fn observe(&mut self, counted: f64, ours: f64) {
        self.counted += counted;
        self.ours += ours;
    }

    /// A new window: old evidence counts less.
    pub(super) fn fade(&mut self) {
        self.counted *= KEEP;
        self.ours *= KEEP;
    }

    /// How many share the quota; 1 if it is ours alone.
    fn clients(&self) -> f64 {
        match self.stated {
            Some(stated) => f64::from(stated),
            None => {
                let ratio = (self.counted + PRIOR) / (self.ours + PRIOR);
                if self.ours >= EVIDENCE && ratio > ALONE { ratio } else { 1.0 }
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
