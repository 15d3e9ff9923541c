//! All scopes: found by origin and credential, bounded in number.

use core::ops::{Index, IndexMut};
use std::collections::BTreeMap;

use super::journal::Journal;
use super::scope::Scope;
use crate::config::{Config, ConfigError};
use crate::error::Error;
use crate::keys::{CredentialReader, Label, origin};
use crate::request::Request;
use crate::stats::ScopeStats;
use crate::time::Instant;

/// Scopes kept; beyond it the one that rested longest is forgotten.
const SCOPES_MAX: usize = 4096;
/// New scopes of one origin in a row, none of them used twice, that show that
/// the scope changes with every call.
const CHANGING: u32 = 1000;

#[derive(Debug)]
pub(super) struct Scopes {
    slots: Vec<Option<Scope>>,
    free: Vec<usize>,
    index: BTreeMap<Key, u32>,
    origins: BTreeMap<String, Origin>,
    credentials: CredentialReader,
    rng: fastrand::Rng,
    /// The counters of scopes that were forgotten.
    pub(super) forgotten: ScopeStats,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Origin and credential.
    Derived(String, Option<Label>),
    /// The caller's own word.
    Given(String),
}

#[derive(Debug, Default)]
struct Origin {
    /// Credentials seen, for ordinals.
    labels: u32,
    /// New scopes in a row.
    fresh: u32,
    /// Whether its scopes were given up.
    changing: bool,
}

impl Scopes {
    pub(super) fn new(config: &Config, rng: fastrand::Rng) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            origins: BTreeMap::new(),
            credentials: CredentialReader::new(&config.credential_headers),
            rng,
            forgotten: ScopeStats::default(),
        }
    }

    /// The scope of a request, made on first use.
    pub(super) fn find(
        &mut self,
        config: &Config,
        journal: &mut Journal,
        now: Instant,
        request: &Request<'_>,
    ) -> Result<u32, Error> {
        let origin = origin(request.url);
        let key = match (request.scope, &origin) {
            (Some(label), _) => Key::Given(label.to_owned()),
            (None, Some(origin)) => {
                Key::Derived(origin.clone(), request.headers.and_then(|headers| self.credentials.label(headers)))
            }
            (None, None) => {
                return Err(Error::Config(ConfigError::new(
                    "url",
                    "must be absolute (scheme and host) where no scope is named",
                )));
            }
        };
        let name = origin.unwrap_or_default();
        if let Some(scope) = self.index.get(&key) {
            if let Some(origin) = self.origins.get_mut(&name) {
                origin.fresh = 0;
            }
            return Ok(*scope);
        }
        Ok(self.first_use(config, journal, now, key, &name))
    }

    /// The scope of an origin without credential, made on first use: where a
    /// redirect ended.
    pub(super) fn of_url(&mut self, config: &Config, journal: &mut Journal, now: Instant, url: &str) -> Option<u32> {
        let origin = origin(url)?;
        let key = Key::Derived(origin.clone(), None);
        Some(match self.index.get(&key) {
            Some(scope) => *scope,
            None => self.first_use(config, journal, now, key, &origin),
        })
    }

    fn first_use(&mut self, config: &Config, journal: &mut Journal, now: Instant, key: Key, name: &str) -> u32 {
        let origin = self.origins.entry(name.to_owned()).or_default();
        let plain = Key::Derived(name.to_owned(), None);
        if key != plain {
            origin.fresh += 1;
            if origin.fresh >= CHANGING && !origin.changing {
                origin.changing = true;
                journal.notice(true, || {
                    format!(
                        "the scope of calls to {name} changes with every call, so nothing can be learned: \
                         falling back to the origin; name a scope that stays the same"
                    )
                });
            }
            if origin.changing && !name.is_empty() {
                if let Some(scope) = self.index.get(&plain) {
                    return *scope;
                }
                return self.insert(config, now, plain, name.to_owned(), name);
            }
        }
        let shown = match &key {
            Key::Given(label) => shorten(label),
            Key::Derived(origin, None) => origin.clone(),
            Key::Derived(shown, Some(_)) => {
                origin.labels += 1;
                format!("{shown} #{}", origin.labels)
            }
        };
        self.insert(config, now, key, shown, name)
    }

    fn insert(&mut self, config: &Config, now: Instant, key: Key, shown: String, origin: &str) -> u32 {
        self.make_room(now);
        let scope = Scope::new(shown, origin.to_owned(), config, self.rng.fork());
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(scope);
        self.index.insert(key, slot as u32);
        slot as u32
    }

    /// Forgets scopes at rest: without calls, longest unused, not held if
    /// possible.
    fn make_room(&mut self, now: Instant) {
        if self.index.len() < SCOPES_MAX {
            return;
        }
        let mut resting: Vec<_> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, scope)| scope.as_ref().map(|scope| (slot, scope)))
            .filter(|(_, scope)| scope.calls == 0)
            .map(|(slot, scope)| (scope.is_holding(now), scope.used_at, slot))
            .collect();
        resting.sort_unstable();
        // In batches, so that each forgetting pays for many arrivals.
        let gone: Vec<usize> = resting.into_iter().take(SCOPES_MAX / 8).map(|(_, _, slot)| slot).collect();
        for slot in &gone {
            if let Some(scope) = self.slots[*slot].take() {
                add(&mut self.forgotten, &scope.counters(now));
            }
        }
        self.index.retain(|_, slot| self.slots[*slot as usize].is_some());
        self.free.extend(gone);
        if self.origins.len() > SCOPES_MAX {
            let live: std::collections::BTreeSet<&str> =
                self.slots.iter().flatten().map(|scope| scope.origin.as_str()).collect();
            self.origins.retain(|name, origin| origin.changing || live.contains(name.as_str()));
        }
    }

    /// The scope that is shown by that name, or of that URL.
    pub(super) fn named(&self, name: &str) -> Option<&Scope> {
        self.iter().find(|scope| scope.shown == name).or_else(|| {
            let origin = origin(name)?;
            self.iter().find(|scope| scope.shown == origin).or_else(|| self.iter().find(|scope| scope.origin == origin))
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Scope> {
        self.slots.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Scope> {
        self.slots.iter_mut().flatten()
    }
}

impl Index<u32> for Scopes {
    type Output = Scope;

    fn index(&self, scope: u32) -> &Scope {
        self.slots[scope as usize].as_ref().expect("a scope with live calls is never forgotten")
    }
}

impl IndexMut<u32> for Scopes {
    fn index_mut(&mut self, scope: u32) -> &mut Scope {
        self.slots[scope as usize].as_mut().expect("a scope with live calls is never forgotten")
    }
}

/// A caller's label may be long.
fn shorten(label: &str) -> String {
    label.chars().take(128).collect()
}

/// Adds the counters of one scope to a sum.
pub(super) fn add(sum: &mut ScopeStats, part: &ScopeStats) {
    sum.sent += part.sent;
    sum.refused += part.refused;
    sum.accepted += part.accepted;
    sum.failed += part.failed;
    sum.waits += part.waits;
    sum.slept += part.slept;
    sum.raised += part.raised;
    sum.ignored += part.ignored;
    sum.waiting += part.waiting;
    sum.in_flight += part.in_flight;
}
