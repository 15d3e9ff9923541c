//! One pass over a response's header fields: those about limits are decoded
//! into figures, the others cost a look at their name.

use super::Ignored;
use super::dialects::{self, Form, Row};
use super::glance::{Glance, glance};
use super::grammar::{self, Lower, Name, Parsed, What};
use super::own::Own;
use super::structured;
use super::values::{self, Moment, Scale};
use crate::head::Headers;

/// The longest field value that is looked at.
const LONGEST_VALUE: usize = 8 * 1024;
/// The longest name of a meter.
const LONGEST_METER: usize = 256;
/// The most meters of one response.
pub(super) const MOST_METERS: usize = 32;
/// The most fields that are told as set aside.
const MOST_IGNORED: usize = 16;

const TOO_LONG: &str = "longer than 8 KiB";
const TOO_MANY: &str = "more than 32 meters";
const UNKNOWN: &str = "not a known rate-limit field";
const MALFORMED: &str = "malformed";

/// The figures of one meter that come field by field.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    pub(super) family: u32,
    /// Empty for the unnamed one.
    pub(super) name: Name,
    pub(super) limit: Counts,
    pub(super) remaining: Counts,
    pub(super) used: Counts,
    pub(super) utilization: Option<f64>,
    pub(super) reset: Option<Moment>,
    pub(super) more_resets: Vec<Moment>,
    pub(super) reset_after: Option<Moment>,
    pub(super) reset_time: Option<Moment>,
    /// The header that the reset came from, to be told if it is set aside.
    pub(super) reset_header: Option<Lower>,
    pub(super) window: Option<f64>,
    pub(super) unit: Option<&'a str>,
    pub(super) rejected: bool,
    pub(super) weak: bool,
    pub(super) informative: bool,
    pub(super) order: u32,
}

/// The number of a figure; several where fields were repeated or list
/// windows by position.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) first: Option<f64>,
    pub(super) more: Vec<f64>,
    /// Written as `200,000`: two windows, or a thousands separator.
    pub(super) ambiguous: bool,
}

impl Counts {
    fn push(&mut self, number: f64) {
        match self.first {
            None => self.first = Some(number),
            Some(_) if self.more.len() < MOST_METERS => self.more.push(number),
            Some(_) => {}
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<f64> {
        if at == 0 { self.first } else { self.more.get(at - 1).copied() }
    }
}

/// A meter that one field tells in full.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) name: Option<Box<str>>,
    pub(super) limit: Option<f64>,
    pub(super) remaining: Option<f64>,
    /// What is used, where the limit stands in another field.
    pub(super) used: Option<f64>,
    pub(super) reset: Option<Moment>,
    pub(super) window: Option<f64>,
    pub(super) unit: Option<Box<str>>,
    pub(super) informative: bool,
    pub(super) order: u32,
}

/// A policy: what a meter allows, without its state.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// The group whose policy field it stood in.
    pub(super) family: u32,
    pub(super) group: Name,
    pub(super) name: Option<Box<str>>,
    pub(super) label: Option<Box<str>>,
    pub(super) quota: Option<f64>,
    pub(super) window: Option<f64>,
    pub(super) unit: Option<Box<str>>,
    pub(super) informative: bool,
    pub(super) order: u32,
}

/// All that the header fields say about limits.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    /// The dialects of the caller's own.
    own: &'a Own,
    pub(super) groups: Vec<Group<'a>>,
    pub(super) items: Vec<Item>,
    pub(super) policies: Vec<Policy>,
    /// `Retry-After`, all its lines.
    pub(super) retry_after: Option<Vec<u8>>,
    pub(super) retry_after_ms: Option<f64>,
    /// Waits of vendors' own, with the meter that they are for.
    pub(super) waits: Vec<(Moment, Name)>,
    /// The name that the unnamed meter goes by.
    pub(super) label: Option<Box<str>>,
    /// Why, or for whom, a refusal was made: header and value.
    pub(super) reasons: Vec<(Lower, Box<str>)>,
    /// The refused meter, by a field of the caller's own dialect.
    pub(super) refused: Option<Box<str>>,
    pub(super) should_retry: Option<bool>,
    /// The unit of the unnamed meter.
    pub(super) unit: Option<&'a str>,
    pub(super) age: Option<f64>,
    pub(super) date: Option<f64>,
    /// No field looks as if it were about limits.
    pub(super) silent: bool,
    /// Some field is about limits, whatever it says.
    pub(super) any: bool,
    /// Some field is of Meta's family: its error codes are numbers.
    pub(super) percent_used: bool,
    pub(super) ignored: Vec<Ignored>,
    order: u32,
}

/// Whether a field of that name is looked at.
pub(super) fn reads(name: &[u8]) -> bool {
    glance(name) != Glance::Nothing
}

impl<'a> Fields<'a> {
    fn new(own: &'a Own) -> Self {
        Self {
            own,
            groups: Vec::new(),
            items: Vec::new(),
            policies: Vec::new(),
            retry_after: None,
            retry_after_ms: None,
            waits: Vec::new(),
            label: None,
            reasons: Vec::new(),
            refused: None,
            should_retry: None,
            unit: None,
            age: None,
            date: None,
            silent: true,
            any: false,
            percent_used: false,
            ignored: Vec::new(),
            order: 0,
        }
    }

    /// Reads all fields.
    pub(super) fn read(headers: &dyn Headers, own: &'a Own) -> Self {
        let mut fields = Self::new(own);
        headers.visit(&mut |name, value| match glance(name) {
            Glance::Nothing if own.reads(name) => {
                fields.silent = false;
                fields.take(name, value);
            }
            Glance::Nothing => {}
            Glance::Date => fields.date = values::date(values::trim(value)).or(fields.date),
            Glance::Age => fields.age = values::count(value).ok().filter(|age| *age >= 0.0).or(fields.age),
            Glance::Limits => {
                fields.silent = false;
                fields.take(name, value);
            }
        });
        fields
    }

    /// The same for pairs that stand in a body.
    pub(super) fn take(&mut self, name: &[u8], value: &[u8]) {
        let mut lower = Lower::EMPTY;
        let Some(header) = lower.fill(name) else { return };
        if value.len() > LONGEST_VALUE {
            return self.ignore(header, TOO_LONG);
        }
        let value = values::trim(value);
        if let Some(row) = self.own.lookup(header) {
            self.any = true;
            return self.by_row(header, value, row);
        }
        if self.retry(header, value) {
            return;
        }
        for (stem, meter) in dialects::STEMS {
            if let Some(rest) = header.strip_prefix(stem)
                && let Some(mut parsed) = grammar::parse(&format!("ratelimit-{meter}-{rest}"))
            {
                parsed.unit = grammar::unit(parsed.meter.as_str());
                self.any = true;
                return self.by_grammar(header, value, &parsed);
            }
        }
        if let Some(parsed) = grammar::parse(header) {
            self.any |= !parsed.weak;
            self.by_grammar(header, value, &parsed);
        }
    }

    /// A figure of the caller's own dialect, from a body: `path` stands for the
    /// header.
    pub(super) fn take_own(&mut self, path: &str, value: &[u8], row: Row<'a>) {
        self.any = true;
        self.by_row(path, value, row);
    }

    pub(super) fn ignore(&mut self, field: &str, why: &'static str) {
        if self.ignored.len() < MOST_IGNORED {
            let field: String = field.chars().take(64).collect();
            self.ignored.push(Ignored { field: field.into(), why });
        }
    }

    fn next(&mut self) -> u32 {
        self.order += 1;
        self.order
    }

    /// `Retry-After` and its kin that carry no rate-limit stem.
    fn retry(&mut self, header: &str, value: &[u8]) -> bool {
        match header {
            "retry-after" => {
                let lines = self.retry_after.get_or_insert_default();
                if !lines.is_empty() {
                    lines.extend_from_slice(b", ");
                }
                // Bounded: a line more than fits is a line too many.
                if lines.len() + value.len() <= LONGEST_VALUE {
                    lines.extend_from_slice(value);
                }
            }
            "retry-after-ms" | "x-ms-retry-after-ms" => match values::decimal(value) {
                Some(millis) if millis <= values::MOST => {
                    self.retry_after_ms = Some(self.retry_after_ms.unwrap_or(0.0).max(millis));
                }
                _ => self.ignore(header, values::NOT_A_NUMBER),
            },
            "x-retry-after" => self.wait(header, value, Scale::Seconds, Name::EMPTY),
            "x-retry-after-ms" => self.wait(header, value, Scale::Milliseconds, Name::EMPTY),
            other => match other.strip_prefix("retry-after-") {
                Some(meter) => self.wait(header, value, Scale::Seconds, Name::from(meter)),
                None => return false,
            },
        }
        true
    }

    fn wait(&mut self, header: &str, value: &[u8], scale: Scale, meter: Name) {
        match values::moment(value, scale) {
            Ok(moment) if self.waits.len() < MOST_METERS => self.waits.push((moment, meter)),
            Ok(_) => self.ignore(header, TOO_MANY),
            Err(why) => self.ignore(header, why),
        }
    }

    fn by_grammar(&mut self, header: &str, value: &[u8], parsed: &Parsed<'a>) {
        match parsed.what {
            What::Unknown => {
                // A field per endpoint, figures within: `total=100; remaining=99`.
                if value.contains(&b'=') {
                    self.state(header, value, parsed);
                } else if !parsed.weak {
                    self.ignore(header, UNKNOWN);
                }
            }
            What::Bare if values::count(value).is_ok() => self.figure(header, value, What::Limit, parsed),
            What::Bare if value.contains(&b'=') || value.contains(&b'"') => self.state(header, value, parsed),
            What::Bare => self.figure(header, value, What::Limit, parsed),
            What::Policy => self.policy(header, value, parsed),
            what => self.figure(header, value, what, parsed),
        }
    }

    fn by_row(&mut self, header: &str, value: &[u8], row: Row<'a>) {
        let parsed = Parsed {
            family: 0,
            meter: Name::from(row.meter),
            what: What::Unknown,
            scale: Scale::Open,
            window: row.window,
            unit: row.unit,
            weak: false,
            informative: false,
        };
        match row.form {
            Form::Silent => {}
            Form::Unit => self.unit = row.unit,
            Form::ShouldRetry => self.should_retry = value_of_flag(value),
            Form::Figure(What::Reason, _) if row.is_own() => {
                let name = core::str::from_utf8(value).ok().filter(|name| (1..=128).contains(&name.len()));
                match name {
                    Some(name) => self.refused = Some(name.into()),
                    None => self.ignore(header, MALFORMED),
                }
            }
            Form::Figure(what, scale) => {
                // Figures of one vendor whose names the grammar reads too
                // belong to the same group.
                let family = grammar::parse(header).map_or(0, |parsed| parsed.family);
                self.figure(header, value, what, &Parsed { scale, family, ..parsed });
            }
            Form::PerSecond => match values::decimal(value) {
                Some(rate) if rate <= values::MOST => {
                    self.item(Item { limit: Some(rate), window: row.window.map(f64::from), ..Item::default() });
                }
                _ => self.ignore(header, values::NOT_A_NUMBER),
            },
            Form::NamedUsedOfLimit => self.each(header, value, b";,", |fields, part| {
                let (meter, figures) = structured::pair(part)?;
                let figures = figures.split(|byte| *byte == b'(').next()?;
                let (used, limit) = fraction(figures)?;
                let name = Some(core::str::from_utf8(meter).ok()?.into());
                fields.item(Item {
                    name,
                    limit: Some(limit),
                    remaining: Some((limit - used).max(0.0)),
                    ..Item::default()
                });
                Some(())
            }),
            Form::LimitPerWindow | Form::UsedPerWindow => self.each(header, value, b",", |fields, part| {
                let (figure, window) = halves(part, b':')?;
                fields.windowed(&row, figure, window);
                Some(())
            }),
            Form::NamedCounts => self.each(header, value, b",", |fields, part| {
                let (meter, count) = halves_text(part, b';')?;
                let window = window_in(meter);
                fields.item(Item { name: Some(meter.into()), remaining: Some(count), window, ..Item::default() });
                Some(())
            }),
            Form::Categories => self.each(header, value, b",", |fields, part| {
                let mut parts = part.split(|byte| *byte == b':');
                let seconds = values::decimal(values::trim(parts.next()?))?;
                let categories = core::str::from_utf8(parts.next()?).ok()?.trim();
                let name = (!categories.is_empty()).then(|| categories.into());
                let reset = Some(Moment::In(seconds));
                fields.item(Item { name, remaining: Some(0.0), reset, ..Item::default() });
                Some(())
            }),
            Form::UsedInWindow => {
                let start = row.header.len() - 1;
                let window = header.get(start..).and_then(|end| values::period(end.trim_start_matches('-')));
                match (values::count(value), window) {
                    (Ok(_), Some(window)) => self.item(Item {
                        name: Some(row.meter.into()),
                        window: Some(f64::from(window)),
                        unit: row.unit.map(Into::into),
                        ..Item::default()
                    }),
                    (Ok(_), None) => {}
                    (Err(why), _) => self.ignore(header, why),
                }
            }
            Form::PercentUsed => {
                self.percent_used = true;
                match serde_json::from_slice::<serde_json::Value>(value) {
                    Ok(usage) => self.percents(&usage, row.meter, 0),
                    Err(_) => self.ignore(header, MALFORMED),
                }
            }
            Form::Quotas => self.state(header, value, &parsed),
        }
    }

    /// Reads each part of a list; those that cannot be read are told once.
    fn each(&mut self, header: &str, value: &[u8], at: &[u8], mut read: impl FnMut(&mut Self, &[u8]) -> Option<()>) {
        let mut whole = true;
        for part in value.split(|byte| at.contains(byte)).take(MOST_METERS) {
            let part = values::trim(part);
            whole &= part.is_empty() || read(self, part).is_some();
        }
        if !whole {
            self.ignore(header, MALFORMED);
        }
    }

    /// Adds a meter, within bounds.
    pub(super) fn item(&mut self, mut item: Item) {
        if self.items.len() < MOST_METERS {
            item.order = self.next();
            self.items.push(item);
        }
    }

    /// A limit or a use of one window; both halves come in either order. Of
    /// a half that comes twice the tighter is believed.
    fn windowed(&mut self, row: &Row<'_>, figure: f64, window: f64) {
        let same = |item: &&mut Item| item.name.as_deref() == Some(row.meter) && item.window == Some(window);
        let is_limit = row.form == Form::LimitPerWindow;
        let (limit, used) = if is_limit { (Some(figure), None) } else { (None, Some(figure)) };
        match self.items.iter_mut().find(same) {
            Some(item) if is_limit => item.limit = Some(item.limit.map_or(figure, |limit| limit.min(figure))),
            Some(item) => item.used = Some(item.used.map_or(figure, |used| used.max(figure))),
            None => {
                let (name, window) = (Some(row.meter.into()), Some(window));
                self.item(Item { name, limit, used, window, ..Item::default() });
            }
        }
    }

    /// Meta's usage objects: numbers under names, perhaps under an account
    /// and a type.
    fn percents(&mut self, usage: &serde_json::Value, prefix: &str, depth: u32) {
        let Some(members) = usage.as_object() else { return };
        let reset = members.get("reset_time_duration").and_then(serde_json::Value::as_f64);
        for (key, value) in members.iter().take(MOST_METERS) {
            let joined = || if prefix.is_empty() { key.clone() } else { format!("{prefix}/{key}") };
            match value {
                serde_json::Value::Number(number) => {
                    let Some(number) = number.as_f64().filter(|number| (0.0..=values::MOST).contains(number)) else {
                        continue;
                    };
                    if key == "estimated_time_to_regain_access" {
                        if number > 0.0 && self.waits.len() < MOST_METERS {
                            self.waits.push((Moment::In(number * 60.0), Name::EMPTY));
                        }
                    } else if key.ends_with("_pct")
                        || matches!(key.as_str(), "call_count" | "total_time" | "total_cputime")
                    {
                        self.item(Item {
                            name: Some(joined().into()),
                            limit: Some(100.0),
                            remaining: Some((100.0 - number).max(0.0)),
                            reset: reset.filter(|reset| *reset > 0.0).map(Moment::In),
                            unit: Some("percent".into()),
                            ..Item::default()
                        });
                    }
                }
                serde_json::Value::Array(entries) if depth == 0 => {
                    for entry in entries.iter().take(MOST_METERS) {
                        let kind = entry.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
                        let prefix = if kind.is_empty() { joined() } else { format!("{}/{kind}", joined()) };
                        self.percents(entry, &prefix, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }

    fn group(&mut self, parsed: &Parsed<'a>) -> Option<&mut Group<'a>> {
        let name = parsed.meter;
        let found = self.groups.iter().position(|group| group.family == parsed.family && group.name == name);
        let at = match found {
            Some(at) => at,
            None if self.groups.len() < MOST_METERS => {
                let order = self.next();
                self.groups.push(Group {
                    family: parsed.family,
                    name,
                    order,
                    weak: parsed.weak,
                    informative: parsed.informative,
                    ..Group::default()
                });
                self.groups.len() - 1
            }
            None => return None,
        };
        let group = &mut self.groups[at];
        group.unit = group.unit.or(parsed.unit);
        group.window = group.window.or(parsed.window.map(f64::from));
        Some(group)
    }

    fn figure(&mut self, header: &str, value: &[u8], what: What, parsed: &Parsed<'a>) {
        let read = match what {
            What::Limit | What::Remaining | What::Used => self.counter(value, what, parsed),
            What::Utilization => values::decimal(value)
                .filter(|share| *share <= 1e6)
                .ok_or(values::NOT_A_NUMBER)
                .map(|share| self.set(parsed, |group| group.utilization = Some(share))),
            What::Reset | What::ResetAfter | What::ResetTime => self.reset(header, value, what, parsed),
            What::Window => self.window(value, parsed),
            What::Wait => {
                if !parsed.informative {
                    let scale = if parsed.scale == Scale::Open { Scale::Seconds } else { parsed.scale };
                    self.wait(header, value, scale, parsed.meter);
                }
                Ok(())
            }
            What::Label if parsed.meter.is_empty() => match core::str::from_utf8(value) {
                Ok(label) if (1..=128).contains(&label.len()) => {
                    self.label.get_or_insert_with(|| label.into());
                    Ok(())
                }
                _ => Err(MALFORMED),
            },
            What::Reason => match core::str::from_utf8(value) {
                Ok(reason) if self.reasons.len() < MOST_METERS && reason.len() <= 128 => {
                    self.reasons.push((header.into(), reason.into()));
                    Ok(())
                }
                _ => Err(MALFORMED),
            },
            What::Status => {
                let rejected = value.eq_ignore_ascii_case(b"rejected");
                if rejected {
                    self.set(parsed, |group| group.rejected = true);
                }
                Ok(())
            }
            What::Label | What::Text | What::Bare | What::Policy | What::Unknown => Ok(()),
        };
        if let Err(why) = read
            && !parsed.weak
        {
            self.ignore(header, why);
        }
    }

    fn set(&mut self, parsed: &Parsed<'a>, set: impl FnOnce(&mut Group<'a>)) {
        if let Some(group) = self.group(parsed) {
            set(group);
        }
    }

    /// A count; a pair of used and limit; or a list, whose first member is the
    /// live figure and whose others are policies (drafts 00 to 03) or the
    /// figures of a repeated field.
    fn counter(&mut self, value: &[u8], what: What, parsed: &Parsed<'a>) -> Result<(), &'static str> {
        if let Ok(number) = values::count(value) {
            self.set(parsed, |group| counts(group, what).push(number));
            return Ok(());
        }
        if let Some((used, limit)) = fraction(value) {
            self.set(parsed, |group| {
                group.used.push(used);
                group.limit.push(limit);
            });
            return Ok(());
        }
        if is_grouped(value) {
            self.set(parsed, |group| counts(group, what).ambiguous = true);
        }
        let mut first = true;
        for member in structured::members(value).ok_or(MALFORMED)?.take(MOST_METERS) {
            let mut parts = structured::parts(member);
            let head = parts.next().unwrap_or_default();
            let number = if head.is_empty() { None } else { Some(values::count(head)?) };
            let (mut window, mut label) = (None, None);
            for (key, value) in parts.filter_map(structured::pair) {
                match key {
                    b"w" => window = values::decimal(value),
                    b"name" => {
                        let name = structured::text(value).filter(|name| (1..=LONGEST_METER).contains(&name.len()));
                        label = name.map(|name| Box::from(&*name));
                    }
                    _ => {}
                }
            }
            if number.is_none() && window.is_none() {
                return Err(values::NOT_A_NUMBER);
            }
            if !first && window.is_some() && what == What::Limit {
                // Below zero servers mean that nothing is enforced.
                if number.is_none_or(|quota| quota >= 0.0) {
                    self.add_policy(parsed, Policy { name: label, quota: number, window, ..Policy::default() });
                }
            } else {
                self.set(parsed, |group| {
                    if let Some(number) = number {
                        counts(group, what).push(number);
                    }
                    group.window = group.window.or(window);
                });
            }
            first = false;
        }
        Ok(())
    }

    fn reset(&mut self, header: &str, value: &[u8], what: What, parsed: &Parsed<'a>) -> Result<(), &'static str> {
        let scale = match (parsed.scale, what) {
            (Scale::Open, What::ResetAfter) => Scale::Seconds,
            (scale, _) => scale,
        };
        let bare = |value: &[u8]| values::moment(value, scale);
        let moment = match bare(value) {
            Ok(moment) => moment,
            // Parameters on the field are to be ignored (draft 04); a repeated
            // field is a list.
            Err(why) => {
                let members = structured::members(value).ok_or(why)?;
                let mut moments = members
                    .take(MOST_METERS)
                    .map(|member| bare(structured::parts(member).next().unwrap_or_default()).map_err(|_| why));
                let first = moments.next().ok_or(why)??;
                let rest = moments.collect::<Result<Vec<_>, _>>()?;
                self.set(parsed, |group| group.more_resets = rest);
                first
            }
        };
        self.set(parsed, |group| {
            group.reset_header.get_or_insert_with(|| header.into());
            let slot = match what {
                What::ResetAfter => &mut group.reset_after,
                What::ResetTime => &mut group.reset_time,
                _ => &mut group.reset,
            };
            match *slot {
                None => *slot = Some(moment),
                // A repeated line: the position tells whose it is.
                Some(_) if group.more_resets.len() < MOST_METERS => group.more_resets.push(moment),
                Some(_) => {}
            }
        });
        Ok(())
    }

    fn window(&mut self, value: &[u8], parsed: &Parsed<'a>) -> Result<(), &'static str> {
        let seconds = match values::moment(value, parsed.scale) {
            Ok(Moment::In(seconds) | Moment::Bare(seconds)) => seconds,
            Ok(Moment::At(_)) => return Err(values::OUT_OF_RANGE),
            Err(why) => core::str::from_utf8(value)
                .ok()
                .and_then(|word| values::period(&word.to_ascii_lowercase()))
                .map(f64::from)
                .ok_or(why)?,
        };
        if seconds > 0.0 {
            self.set(parsed, |group| group.window = Some(seconds));
        }
        Ok(())
    }

    /// The state of meters in one field: `limit=10, remaining=5, reset=3`
    /// (draft 07), `"name";r=5;t=3` (drafts 08 on), or the like.
    fn state(&mut self, header: &str, value: &[u8], parsed: &Parsed<'a>) {
        let Some(members) = structured::members(value) else { return self.ignore(header, MALFORMED) };
        let mut plain = Item::default();
        let mut malformed = false;
        for member in members.take(MOST_METERS) {
            let Some(item) = state_member(member, &mut plain) else {
                malformed = true;
                continue;
            };
            let Some(mut item) = item else { continue };
            // Auth0 tells the window by the bucket's name, `per_hour`.
            let told = item.name.as_deref().and_then(|name| name.strip_prefix("per_")).and_then(values::period);
            item.window = item.window.or(told.map(f64::from));
            if !parsed.meter.is_empty()
                && !parsed.informative
                && let Some(name) = &item.name
            {
                item.name = Some(format!("{}/{name}", parsed.meter.as_str()).into());
            }
            item.unit = item.unit.or(parsed.unit.map(Into::into));
            item.informative = parsed.informative;
            self.item(item);
        }
        // A dictionary is one field: malformed in part is malformed (draft 07).
        let said = plain.limit.is_some() || plain.remaining.is_some() || plain.reset.is_some();
        if said && !malformed {
            self.set(parsed, |group| {
                plain.limit.into_iter().for_each(|limit| group.limit.push(limit));
                plain.remaining.into_iter().for_each(|remaining| group.remaining.push(remaining));
                group.reset_header.get_or_insert_with(|| header.into());
                group.reset = plain.reset.or(group.reset);
                group.window = plain.window.or(group.window);
            });
        }
        if malformed {
            self.ignore(header, MALFORMED);
        }
    }

    fn policy(&mut self, header: &str, value: &[u8], parsed: &Parsed<'a>) {
        let Some(members) = structured::members(value) else { return self.ignore(header, MALFORMED) };
        let mut malformed = false;
        for member in members.take(MOST_METERS) {
            match policy_member(member) {
                Some(policy) => self.add_policy(parsed, policy),
                None => malformed = true,
            }
        }
        if malformed {
            self.ignore(header, MALFORMED);
        }
    }

    fn add_policy(&mut self, parsed: &Parsed<'a>, policy: Policy) {
        if self.policies.len() < MOST_METERS {
            let group = parsed.meter;
            let order = self.next();
            let informative = parsed.informative;
            self.policies.push(Policy { family: parsed.family, group, order, informative, ..policy });
        }
    }
}

fn counts<'g>(group: &'g mut Group<'_>, what: What) -> &'g mut Counts {
    match what {
        What::Limit => &mut group.limit,
        What::Remaining => &mut group.remaining,
        _ => &mut group.used,
    }
}

/// One member of a state field: `None` if malformed, `Some(None)` if it went
/// into the nameless `plain`.
fn state_member(member: &[u8], plain: &mut Item) -> Option<Option<Item>> {
    let mut item = Item::default();
    for (at, part) in structured::parts(member).enumerate() {
        let Some((key, value)) = structured::pair(part) else {
            if at == 0 || part.first() == Some(&b'"') {
                item.name = Some(structured::text(part)?.into_owned().into());
            }
            continue;
        };
        match key {
            b"limit" | b"q" | b"total" => item.limit = Some(natural(value)?),
            b"remaining" | b"r" | b"left" => item.remaining = Some(natural(value)?),
            b"reset" | b"resets" | b"t" => item.reset = Some(values::moment(value, Scale::Open).ok()?),
            b"w" | b"window" => item.window = Some(values::decimal(value)?),
            b"qu" => item.unit = Some(structured::text(value)?.into_owned().into()),
            b"b" | b"name" => item.name = Some(structured::text(value)?.into_owned().into()),
            _ => {}
        }
    }
    if item.name.as_deref().is_some_and(|name| (1..=LONGEST_METER).contains(&name.len())) {
        let told = item.limit.is_some() || item.remaining.is_some() || item.reset.is_some();
        return told.then_some(Some(item));
    }
    plain.limit = plain.limit.or(item.limit);
    plain.remaining = plain.remaining.or(item.remaining);
    plain.reset = plain.reset.or(item.reset);
    plain.window = plain.window.or(item.window);
    Some(None)
}

/// One policy: `100;w=60` (drafts 04 to 07) or `"name";q=100;w=60` (08 on);
/// Hugging Face puts a label before the name.
fn policy_member(member: &[u8]) -> Option<Policy> {
    let mut policy = Policy::default();
    for (at, part) in structured::parts(member).enumerate() {
        let Some((key, value)) = structured::pair(part) else {
            if at == 0
                && part.first() != Some(&b'"')
                && let Ok(quota) = values::count(part)
            {
                policy.quota = Some(quota);
            } else if at == 0 || part.first() == Some(&b'"') {
                policy.label = policy.name.take();
                policy.name = Some(structured::text(part)?.into_owned().into());
            }
            continue;
        };
        match key {
            b"q" => policy.quota = Some(natural(value)?),
            b"w" => policy.window = Some(values::decimal(value).filter(|seconds| *seconds > 0.0)?),
            b"qu" => policy.unit = Some(structured::text(value)?.into_owned().into()),
            b"name" => policy.name = Some(structured::text(value)?.into_owned().into()),
            _ => {}
        }
    }
    let named = policy.name.as_deref().is_none_or(|name| (1..=LONGEST_METER).contains(&name.len()));
    (policy.quota.is_some_and(|quota| quota >= 0.0) && named).then_some(policy)
}

/// Digits in groups of three: `200,000`.
fn is_grouped(value: &[u8]) -> bool {
    let mut groups = value.split(|byte| *byte == b',');
    let first = groups.next().is_some_and(|group| group.len() <= 3);
    first && groups.all(|group| group.len() == 3 && group.iter().all(u8::is_ascii_digit))
}

fn natural(value: &[u8]) -> Option<f64> {
    values::count(value).ok().filter(|number| *number >= 0.0)
}

/// `used/limit`, which is the order everywhere it was found.
fn fraction(value: &[u8]) -> Option<(f64, f64)> {
    halves(value, b'/')
}

fn halves(value: &[u8], at: u8) -> Option<(f64, f64)> {
    let middle = value.iter().position(|byte| *byte == at)?;
    Some((natural(&value[..middle])?, natural(&value[middle + 1..])?))
}

fn halves_text(value: &[u8], at: u8) -> Option<(&str, f64)> {
    let middle = value.iter().position(|byte| *byte == at)?;
    let name = core::str::from_utf8(&value[..middle]).ok()?.trim();
    (1..=128).contains(&name.len()).then_some((name, natural(&value[middle + 1..])?))
}

/// The window that Azure's policy names end with: `HighCostGet3Min`.
fn window_in(name: &str) -> Option<f64> {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = name[stem.len()..].to_ascii_lowercase();
    let count = &stem[stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).len()..];
    if count.is_empty() {
        return None;
    }
    values::period(&format!("{count}{unit}")).map(f64::from)
}

fn value_of_flag(value: &[u8]) -> Option<bool> {
    match value {
        value if value.eq_ignore_ascii_case(b"true") => Some(true),
        value if value.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}
