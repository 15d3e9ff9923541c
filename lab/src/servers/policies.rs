//! Several windows at once.

use super::fixed::Fixed;
use super::{Nanos, Server, Verdict};

/// One of several policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name, as structured headers show it.
    pub name: String,
    /// How many requests it allows in one window.
    pub limit: u64,
    /// The window's length.
    pub window: Nanos,
}

/// Fixed windows that all begin with the server. A request is admitted if
/// every one of them has room, and then counts in each; a refused one counts
/// in none.
#[derive(Clone, Debug)]
pub struct Policies {
    windows: Vec<(String, Fixed)>,
}

impl Policies {
    /// A server that nobody has asked yet.
    #[must_use]
    pub fn new(policies: &[Policy]) -> Self {
        let windows = policies
            .iter()
            .map(|policy| (policy.name.clone(), Fixed::new(policy.limit, policy.window, policy.window)))
            .collect();
        Self { windows }
    }
}

impl Server for Policies {
    fn admit(&mut self, now: Nanos) -> Verdict {
        let at = self.next_admission(now).unwrap_or(now);
        let accepted = at == now;
        if accepted {
            for (_, window) in &mut self.windows {
                window.count(now);
            }
        }
        let mut quotas: Vec<_> = self.windows.iter().map(|(name, window)| window.quota(name, now)).collect();
        quotas.sort_by_key(|quota| (quota.remaining, core::cmp::Reverse(quota.reset)));
        Verdict { accepted, quotas, retry_after: (!accepted).then(|| at - now), delay: 0 }
    }

    fn next_admission(&self, now: Nanos) -> Option<Nanos> {
        // Without arrivals a window that has room keeps it, so all have room
        // once the last of the full ones has ended.
        self.windows.iter().filter_map(|(_, window)| window.next_admission(now)).max()
    }
}
