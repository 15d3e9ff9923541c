//! From figures to meters: which belong together, which say the same twice,
//! and which numbers mean that nothing is enforced.

use core::time::Duration;

use super::Reading;
use super::dialects::POSITIONS;
use super::fields::{Counts, Fields, Group, Item, MOST_METERS, Policy};
use super::values::{self, Moment};

/// A window below what a clock can tell has no length: it is none.
const SHORTEST_WINDOW: f64 = 1e-9;

/// A meter in the making: spans in seconds.
#[derive(Debug, Default)]
struct Draft {
    name: Option<Box<str>>,
    limit: Option<f64>,
    remaining: Option<f64>,
    reset: Option<f64>,
    /// The reset was stated as an instant.
    dated: bool,
    window: Option<f64>,
    unit: Option<Box<str>>,
    policy: Option<Box<str>>,
    informative: bool,
    /// It came field by field, so that fields of it may stand elsewhere.
    gathered: bool,
    order: u32,
}

/// What the readings of a response depend on beside its fields.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) status: u16,
    /// The clock to read absolute times against, in Unix seconds.
    pub(super) base: Option<f64>,
    /// `Retry-After`, which can tell a reset's unit.
    pub(super) wait: Option<f64>,
}

impl Context {
    /// Whether the status alone says that nothing is left.
    fn refuses(self) -> bool {
        matches!(self.status, 429 | 503)
    }
}

/// The meters that the fields describe, in the order first mentioned.
pub(super) fn readings(fields: &mut Fields<'_>, context: Context) -> Vec<Reading> {
    if fields.groups.is_empty() && fields.items.is_empty() && fields.policies.is_empty() {
        return Vec::new();
    }
    let mut drafts = Vec::with_capacity(fields.groups.len() + fields.items.len());
    let mut policies = core::mem::take(&mut fields.policies);
    for group in core::mem::take(&mut fields.groups) {
        from_group(fields, group, &mut policies, context, &mut drafts);
    }
    for item in core::mem::take(&mut fields.items) {
        drafts.extend(from_item(fields, item, &mut policies, context));
    }
    drafts.extend(policies.into_iter().map(from_policy));
    for draft in &mut drafts {
        draft.window = draft.window.filter(|seconds| *seconds >= SHORTEST_WINDOW);
    }
    drafts.sort_by_key(|draft| draft.order);
    merge(&mut drafts);
    share_reset(&mut drafts);
    label(fields, &mut drafts);
    drafts.retain(|draft| {
        let told = draft.limit.is_some() || draft.remaining.is_some() || draft.reset.is_some();
        told || (draft.name.is_some() && draft.window.is_some() && !draft.gathered)
    });
    drafts.truncate(MOST_METERS);
    drafts.into_iter().map(Draft::finish).collect()
}

fn from_group(
    fields: &mut Fields<'_>,
    group: Group<'_>,
    policies: &mut Vec<Policy>,
    context: Context,
    drafts: &mut Vec<Draft>,
) {
    let name = (!group.name.is_empty()).then(|| group.name.as_str().into());
    let windows = group.used.len();
    if windows > 1 && windows == group.limit.len() {
        return by_position(&group, drafts);
    }
    let states = group.remaining.len();
    // Of a field that two servers added, the tighter is believed, each figure
    // by its own place.
    let at = (0..states)
        .min_by(|a, b| {
            group.remaining.get(*a).partial_cmp(&group.remaining.get(*b)).unwrap_or(core::cmp::Ordering::Equal)
        })
        .unwrap_or(0);
    let place = |counts: &Counts| {
        let alone = counts.ambiguous && counts.len() != states;
        let at = if counts.len() == states { at } else { 0 };
        counts.get(at).filter(|_| !alone)
    };
    let (mut limit, mut remaining) = (place(&group.limit), place(&group.remaining));
    let used = place(&group.used);

    let unenforced = limit.is_some_and(|limit| limit < 0.0) || remaining.is_some_and(|left| left < 0.0);
    limit = limit.filter(|limit| *limit >= 0.0);
    remaining = match remaining {
        Some(left) if left < 0.0 => context.refuses().then_some(0.0),
        left => left.map(f64::floor),
    };
    match (limit, used, remaining) {
        (None, Some(used), Some(left)) => limit = Some(used + left),
        (Some(limit), Some(used), None) if !unenforced => remaining = Some((limit - used).max(0.0)),
        _ => {}
    }
    if let Some(share) = group.utilization {
        limit = Some(1.0);
        remaining = Some((1.0 - share).max(0.0));
    }
    if group.rejected && (limit.is_some() || remaining.is_some() || group.reset_header.is_some()) {
        remaining = Some(0.0);
    }
    // A policy beside the zero tells a limit that is lowered to it for now.
    let all_zero = limit == Some(0.0)
        && remaining.unwrap_or(0.0) <= 0.0
        && !policies.iter().any(|policy| policy.family == group.family && policy.group == group.name);
    let no_reset = matches!(group.reset, None | Some(Moment::Bare(0.0) | Moment::In(0.0)));
    // No quota is set up: all zeros, or zero of nothing, on a served response.
    let no_quota = all_zero && no_reset && context.status < 400;
    if no_quota || (unenforced && limit.is_none() && remaining.is_none()) {
        return;
    }
    // Without the stem a name alone proves little.
    if group.weak && remaining.is_none() {
        return;
    }
    let reset = reset(fields, &group, at, context);
    let dated =
        group.reset_after.is_none() && (group.reset_time.is_some() || matches!(group.reset, Some(Moment::At(_))));

    let unit = match group.utilization {
        Some(_) => Some("fraction"),
        // Nothing allowed and nothing left, yet served at other times: what
        // is counted are requests in flight (Okta).
        None if all_zero && context.refuses() => Some("concurrent-requests"),
        None => group.unit,
    };
    let mut draft = Draft {
        name,
        limit,
        remaining,
        reset,
        dated,
        window: group.window,
        unit: unit.map(Into::into),
        informative: group.informative,
        gathered: true,
        order: group.order,
        ..Draft::default()
    };
    let told = draft.limit.is_some() || draft.remaining.is_some() || draft.reset.is_some();
    if told {
        join_policy(&group, &mut draft, policies);
    }
    drafts.push(draft);
}

/// Policies share no quota (draft 04), so the live limit tells which one the
/// counter belongs to.
fn join_policy(group: &Group<'_>, draft: &mut Draft, policies: &mut Vec<Policy>) {
    let same = |policy: &Policy| policy.family == group.family && policy.group == group.name;
    let alone = policies.iter().filter(|policy| same(policy)).count() == 1 && draft.limit.is_none();
    let joined = policies.iter().position(|policy| same(policy) && (alone || policy.quota == draft.limit));
    if let Some(at) = joined {
        let policy = policies.remove(at);
        draft.limit = draft.limit.or(policy.quota);
        draft.window = draft.window.or(policy.window);
        draft.name = policy.name.or(draft.name.take());
        draft.policy = policy.label;
        draft.unit = draft.unit.take().or(policy.unit);
    }
}

/// Limits and uses that tell windows by their position.
fn by_position(group: &Group<'_>, drafts: &mut Vec<Draft>) {
    let windows = group.used.len().min(MOST_METERS);
    for at in 0..windows {
        let (word, window) = match POSITIONS.get(at).filter(|_| windows == POSITIONS.len()) {
            Some((word, window)) => ((*word).to_owned(), Some(f64::from(*window))),
            None => ((at + 1).to_string(), None),
        };
        let name = if group.name.is_empty() { word } else { format!("{}-{word}", group.name.as_str()) };
        if let (Some(limit), Some(used)) = (group.limit.get(at), group.used.get(at))
            && limit >= 0.0
        {
            let remaining = Some((limit - used).max(0.0));
            drafts.push(Draft {
                name: Some(name.into()),
                limit: Some(limit),
                remaining,
                window,
                order: group.order,
                ..Draft::default()
            });
        }
    }
}

fn reset(fields: &mut Fields<'_>, group: &Group<'_>, at: usize, context: Context) -> Option<f64> {
    let header = group.reset_header?;
    let numeric = if at == 0 { group.reset } else { group.more_resets.get(at - 1).copied().or(group.reset) };
    let mut read = |moment: Option<Moment>| match values::until(unit_checked(moment?, group, context), context.base) {
        Ok(seconds) => Some(seconds),
        Err(why) => {
            fields.ignore(header.as_str(), why);
            None
        }
    };
    let (after, numeric, dated) = (read(group.reset_after), read(numeric), read(group.reset_time));
    // A span needs no clock; a date beats a number only where they disagree.
    after.or(match (numeric, dated) {
        (Some(numeric), Some(dated)) if (numeric - dated).abs() > 60.0 => Some(dated),
        (numeric, dated) => numeric.or(dated),
    })
}

/// A bare span that outlasts its window, but fits as milliseconds, is that:
/// so with a `Retry-After` that it agrees with.
fn unit_checked(moment: Moment, group: &Group<'_>, context: Context) -> Moment {
    let Moment::Bare(number) = moment else { return moment };
    let seconds = number / 1e3;
    let fits_window = group.window.is_some_and(|window| number > 2.0 * window && seconds <= 1.05 * window);
    let fits_wait =
        context.wait.is_some_and(|wait| wait > 0.0 && number > 100.0 * wait && (seconds - wait).abs() <= 1.5);
    Moment::In(if number >= 1000.0 && (fits_window || fits_wait) { seconds } else { number })
}

fn from_item(fields: &mut Fields<'_>, item: Item, policies: &mut Vec<Policy>, context: Context) -> Option<Draft> {
    let mut draft = Draft {
        limit: item.limit,
        // A use whose limit never came is no remaining.
        remaining: item.remaining.or_else(|| Some((item.limit? - item.used?).max(0.0))),
        dated: matches!(item.reset, Some(Moment::At(_))),
        window: item.window,
        unit: item.unit,
        informative: item.informative,
        order: item.order,
        ..Draft::default()
    };
    if let Some(moment) = item.reset {
        match values::until(moment, context.base) {
            Ok(seconds) => draft.reset = Some(seconds),
            Err(why) => fields.ignore("ratelimit", why),
        }
    }
    if item.name.is_some()
        && let Some(at) = policies.iter().position(|policy| policy.name == item.name)
    {
        let policy = policies.remove(at);
        draft.limit = draft.limit.or(policy.quota);
        draft.window = draft.window.or(policy.window);
        draft.unit = draft.unit.take().or(policy.unit);
        draft.policy = policy.label;
        draft.order = draft.order.min(policy.order);
    }
    draft.name = item.name;
    (draft.limit.is_some() || draft.remaining.is_some() || draft.reset.is_some() || draft.window.is_some())
        .then_some(draft)
}

fn from_policy(policy: Policy) -> Draft {
    let group = (!policy.group.is_empty()).then(|| policy.group.as_str().into());
    Draft {
        name: policy.name.or(group),
        limit: policy.quota,
        window: policy.window,
        unit: policy.unit,
        policy: policy.label,
        informative: policy.informative,
        order: policy.order,
        ..Draft::default()
    }
}

/// Drops what is said twice: one counter in two spellings, or once with and
/// once without its name.
fn merge(drafts: &mut Vec<Draft>) {
    let mut at = 0;
    while at < drafts.len() {
        let twin = (0..drafts.len()).find(|other| *other != at && says_same(&drafts[at], &drafts[*other]));
        match twin {
            Some(other) => {
                let said = drafts.remove(at);
                let other = if other > at { other - 1 } else { other };
                drafts[other].absorb(said);
                at = 0;
            }
            None => at += 1,
        }
    }
}

/// Whether `draft` adds nothing to `other` but what that lacks.
fn says_same(draft: &Draft, other: &Draft) -> bool {
    let agree = |a: Option<f64>, b: Option<f64>| a.is_none() || b.is_none() || a == b;
    let share = |a: Option<f64>, b: Option<f64>| a.is_some() && a == b;
    let compatible = agree(draft.limit, other.limit)
        && agree(draft.remaining, other.remaining)
        && agree(draft.window, other.window)
        && draft.informative == other.informative;
    let common = share(draft.limit, other.limit) || share(draft.remaining, other.remaining);
    let one_lacks = |a: Option<f64>, b: Option<f64>| a.is_none() || b.is_none();
    let apart = one_lacks(draft.limit, other.limit)
        && one_lacks(draft.remaining, other.remaining)
        && one_lacks(draft.reset, other.reset);
    if draft.name == other.name {
        // Fields of one meter under two spellings complete each other.
        compatible && (common || (apart && draft.gathered && other.gathered))
    } else {
        draft.name.is_none() && draft.gathered && compatible && common
    }
}

impl Draft {
    fn absorb(&mut self, said: Self) {
        self.limit = self.limit.or(said.limit);
        self.remaining = self.remaining.or(said.remaining);
        self.reset = self.reset.or(said.reset);
        self.dated |= said.dated;
        self.window = self.window.or(said.window);
        self.unit = self.unit.take().or(said.unit);
        self.policy = self.policy.take().or(said.policy);
        self.gathered |= said.gathered;
        self.order = self.order.min(said.order);
    }

    fn finish(self) -> Reading {
        let span = |seconds: Option<f64>| seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Reading {
            name: self.name,
            limit: self.limit,
            remaining: self.remaining,
            reset: span(self.reset),
            dated: self.dated,
            window: span(self.window),
            unit: self.unit,
            policy: self.policy,
            informative: self.informative,
        }
    }
}

/// A reset without counters and without a name is that of the named counters
/// which have none.
fn share_reset(drafts: &mut Vec<Draft>) {
    let bare = |draft: &Draft| draft.limit.is_none() && draft.remaining.is_none();
    let lone = |draft: &Draft| draft.name.is_none() && draft.gathered && bare(draft) && draft.reset.is_some();
    let mut unnamed = drafts.iter().filter(|draft| draft.name.is_none());
    let (Some(first), None) = (unnamed.next(), unnamed.next()) else { return };
    if !lone(first) {
        return;
    }
    let (reset, window) = (first.reset, first.window);
    let mut shared = false;
    for draft in drafts.iter_mut() {
        if draft.name.is_some() && draft.gathered && !bare(draft) && draft.reset.is_none() && !draft.informative {
            draft.reset = reset;
            draft.window = draft.window.or(window);
            shared = true;
        }
    }
    if shared {
        drafts.retain(|draft| !lone(draft));
    }
}

/// Gives the unnamed meter the name and unit that fields of their own tell.
fn label(fields: &Fields<'_>, drafts: &mut [Draft]) {
    let reason =
        fields.reasons.iter().find(|(header, _)| header.as_str().ends_with("limit-reason")).map(|(_, reason)| reason);
    for draft in drafts.iter_mut().filter(|draft| draft.name.is_none() && draft.gathered && !draft.informative) {
        draft.name.clone_from(&fields.label);
        if draft.unit.is_none() {
            draft.unit = fields.unit.map(Into::into);
        }
        if draft.policy.is_none() {
            draft.policy = reason.cloned();
        }
    }
}
