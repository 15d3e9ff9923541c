//! What each header field of a response was read as, for people who look at
//! one. Clients need none of it: they ask what the response says as a whole.

use core::time::Duration;

use super::dialects::{self, Form};
use super::fields::{Counts, Fields, Group, Item, Policy};
use super::grammar::{Lower, What};
use super::retry_after::{self, span};
use super::values::{self, Moment};
use super::{Reader, Reading, Signals};
use crate::time::Wall;

/// A number of a list, or a thousands separator: nobody can tell.
const AMBIGUOUS: &str = "several windows or a thousands separator, which cannot be told apart";

/// What one header field says about limits, taken by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    /// Its figures; none if the field is known and tells nothing that is
    /// needed, or if it was set aside.
    pub says: Vec<Statement>,
    /// Why it was set aside, if it was.
    pub ignored: Option<&'static str>,
    /// Where the field is documented, if names and values alone do not tell
    /// what it means.
    pub source: Option<&'static str>,
}

/// One figure of a field, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The figure.
    pub figure: Figure,
    /// The meter that it belongs to, if the field names one.
    pub meter: Option<Box<str>>,
    /// The window that the field tells with it.
    pub window: Option<Duration>,
    /// What is counted, if the field tells.
    pub unit: Option<Box<str>>,
    /// True if the server says that the figure refuses nobody.
    pub informative: bool,
}

/// What a figure is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// How much is allowed in one window; below zero where servers mean that
    /// nothing is enforced.
    Limit(f64),
    /// How much is left; may be below zero, like the limit.
    Remaining(f64),
    /// How much is used.
    Used(f64),
    /// Which share of the limit is used, from 0 to 1.
    UsedShare(f64),
    /// When more is available.
    Reset(When),
    /// How long to wait.
    Wait(When),
    /// The window's length.
    Window(Duration),
    /// How much a policy allows; the state of its quota stands elsewhere.
    Policy(f64),
    /// What the unnamed meter is called.
    Name(Box<str>),
    /// Why, or for whom, a refusal was made.
    Reason(Box<str>),
    /// Nothing is left, whatever the numbers say.
    Rejected,
    /// Whether the server wants a retry.
    ShouldRetry(bool),
    /// What the unnamed meter counts.
    Unit(Box<str>),
    /// The server's clock.
    Date(Wall),
    /// How long a cache has kept the response.
    Age(Duration),
}

impl Figure {
    /// The name that every language uses.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Limit(_) => "limit",
            Self::Remaining(_) => "remaining",
            Self::Used(_) => "used",
            Self::UsedShare(_) => "used_share",
            Self::Reset(_) => "reset",
            Self::Wait(_) => "wait",
            Self::Window(_) => "window",
            Self::Policy(_) => "policy",
            Self::Name(_) => "name",
            Self::Reason(_) => "reason",
            Self::Rejected => "rejected",
            Self::ShouldRetry(_) => "should_retry",
            Self::Unit(_) => "unit",
            Self::Date(_) => "date",
            Self::Age(_) => "age",
        }
    }
}

/// A time in the form that the server gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct When {
    /// How long from the moment that the response was received; zero if that
    /// time has passed, `None` if there is no clock to tell.
    pub span: Option<Duration>,
    /// The moment itself, if it was stated as a date or an epoch.
    pub at: Option<Wall>,
}

impl Reader {
    /// What one header field of a response says, taken by itself; `None` if
    /// it is about something else.
    ///
    /// `signals` is what this reader read off the whole response at `now`.
    ///
    /// ```
    /// use rampmeter::{Figure, Reader, Response};
    ///
    /// let reader = Reader::default();
    /// let headers = [("X-RateLimit-Remaining", "7"), ("Server", "nginx")];
    /// let signals = reader.read(&Response::new(200, &headers), None);
    /// let meaning = reader.explain(b"X-RateLimit-Remaining", b"7", &signals, None).expect("a counter");
    /// assert_eq!(meaning.says[0].figure, Figure::Remaining(7.0));
    /// assert!(reader.explain(b"Server", b"nginx", &signals, None).is_none());
    /// ```
    #[must_use]
    pub fn explain(&self, name: &[u8], value: &[u8], signals: &Signals, now: Option<Wall>) -> Option<Meaning> {
        let fields = Fields::read(&[(name, value)], &self.own);
        let clock = Clock::of(signals, now);
        if let Some(date) = fields.date.and_then(values::wall) {
            return Some(Figure::Date(date).into());
        }
        if let Some(age) = fields.age.and_then(span) {
            return Some(Figure::Age(age).into());
        }
        let mut lower = Lower::EMPTY;
        let header = lower.fill(name)?;
        let row = self.own.lookup(header);
        let mut says =
            Statements { clock, signals, found: Vec::new(), ignored: fields.ignored.first().map(|field| field.why) };
        says.waits(&fields);
        for group in &fields.groups {
            says.group(group, header);
        }
        for item in &fields.items {
            // The count stands in no meter as long as its limit is not told.
            let used = row.filter(|row| row.form == Form::UsedInWindow).and_then(|_| values::count(value).ok());
            says.item(item, used);
        }
        for policy in &fields.policies {
            says.policy(policy);
        }
        says.texts(&fields);
        if says.found.is_empty() && says.ignored.is_none() && !fields.any {
            return None;
        }
        let ours = row.is_some_and(|row| !row.is_own());
        let source = dialects::lookup(header).filter(|_| ours).map(|row| row.source);
        Some(Meaning { says: says.found, ignored: says.ignored, source })
    }
}

impl From<Figure> for Meaning {
    fn from(figure: Figure) -> Self {
        Self { says: vec![Statement::from(figure)], ..Self::default() }
    }
}

impl From<Figure> for Statement {
    fn from(figure: Figure) -> Self {
        Self { figure, meter: None, window: None, unit: None, informative: false }
    }
}

/// What times are read against, in Unix seconds: as the reader does it.
#[derive(Clone, Copy)]
struct Clock {
    received: Option<f64>,
    made: Option<f64>,
}

impl Clock {
    fn of(signals: &Signals, now: Option<Wall>) -> Self {
        let age = signals.age.unwrap_or_default();
        let received = signals.date.filter(|_| age.is_zero()).or(now).map(Wall::as_unix_seconds);
        Self { received, made: received.map(|received| received - age.as_secs_f64()) }
    }
}

struct Statements<'a> {
    clock: Clock,
    signals: &'a Signals,
    found: Vec<Statement>,
    ignored: Option<&'static str>,
}

impl Statements<'_> {
    fn waits(&mut self, fields: &Fields<'_>) {
        if let Some(millis) = fields.retry_after_ms {
            self.found.push(Figure::Wait(When { span: span(millis / 1e3), at: None }).into());
        }
        if let Some(value) = &fields.retry_after {
            match retry_after::seconds(value, self.clock.made) {
                Some(seconds) => {
                    let at = values::date(values::trim(value)).and_then(values::wall);
                    self.found.push(Figure::Wait(When { span: span(seconds), at }).into());
                }
                None => self.ignored = Some(values::NOT_A_TIME),
            }
        }
        for (moment, meter) in &fields.waits {
            let when = self.when(*moment, self.clock.made);
            let meter = (!meter.is_empty()).then(|| meter.as_str().into());
            self.found.push(Statement { meter, ..Figure::Wait(when).into() });
        }
    }

    fn group(&mut self, group: &Group<'_>, header: &str) {
        let meter: Option<Box<str>> = (!group.name.is_empty()).then(|| group.name.as_str().into());
        // Without the word a name is believed only beside a counter.
        if group.weak && !self.signals.meters.iter().any(|read| read.name == meter) {
            return;
        }
        let window = group.window.and_then(span);
        let of = |figure: Figure| Statement {
            figure,
            meter: meter.clone(),
            window,
            unit: group.unit.map(Into::into),
            informative: group.informative,
        };
        let counts = [
            (&group.limit, Figure::Limit as fn(f64) -> Figure),
            (&group.remaining, Figure::Remaining),
            (&group.used, Figure::Used),
        ];
        self.ambiguous(&group.limit, |meter| meter.limit);
        self.ambiguous(&group.remaining, |meter| meter.remaining);
        let start = self.found.len();
        for (counts, figure) in counts {
            self.found.extend((0..counts.len()).filter_map(|at| counts.get(at)).map(|number| of(figure(number))));
        }
        self.found.extend(group.utilization.map(|share| of(Figure::UsedShare(share))));
        for moment in [group.reset_after, group.reset, group.reset_time].into_iter().flatten() {
            let when = self.when(self.unit_checked(moment), self.clock.received);
            self.found.push(of(Figure::Reset(when)));
        }
        for moment in &group.more_resets {
            let when = self.when(*moment, self.clock.received);
            self.found.push(of(Figure::Reset(when)));
        }
        if group.rejected {
            self.found.push(of(Figure::Rejected));
        }
        let is_window = super::grammar::parse(header).is_none_or(|parsed| parsed.what == What::Window);
        if self.found.len() == start
            && is_window
            && let Some(window) = window
        {
            self.found.push(Statement { window: None, ..of(Figure::Window(window)) });
        }
    }

    /// A number that was read as two and is in no meter.
    fn ambiguous(&mut self, counts: &Counts, figure: fn(&Reading) -> Option<f64>) {
        if counts.ambiguous
            && counts.len() > 0
            && !self.signals.meters.iter().any(|meter| figure(meter) == counts.first)
        {
            self.ignored = Some(AMBIGUOUS);
        }
    }

    /// Whether a bare number counts milliseconds is told by the response as a
    /// whole.
    fn unit_checked(&self, moment: Moment) -> Moment {
        let Moment::Bare(number) = moment else { return moment };
        let read_as = |seconds: f64| self.signals.meters.iter().any(|meter| meter.reset == span(seconds));
        Moment::In(if !read_as(number) && read_as(number / 1e3) { number / 1e3 } else { number })
    }

    fn item(&mut self, item: &Item, used: Option<f64>) {
        let of = |figure: Figure| Statement {
            figure,
            meter: item.name.clone(),
            window: item.window.and_then(span),
            unit: item.unit.clone(),
            informative: item.informative,
        };
        let reset = item.reset.map(|moment| self.when(moment, self.clock.received));
        self.found.extend(item.limit.map(|limit| of(Figure::Limit(limit))));
        self.found.extend(item.remaining.map(|left| of(Figure::Remaining(left))));
        self.found.extend(used.or(item.used).map(|used| of(Figure::Used(used))));
        self.found.extend(reset.map(|when| of(Figure::Reset(when))));
    }

    fn policy(&mut self, policy: &Policy) {
        let group = (!policy.group.is_empty()).then(|| policy.group.as_str().into());
        self.found.extend(policy.quota.map(|quota| Statement {
            figure: Figure::Policy(quota),
            meter: policy.name.clone().or(group),
            window: policy.window.and_then(span),
            unit: policy.unit.clone(),
            informative: policy.informative,
        }));
    }

    fn texts(&mut self, fields: &Fields<'_>) {
        let reasons = fields.reasons.iter().map(|(_, reason)| reason).chain(&fields.refused);
        let texts = [
            fields.label.clone().map(Figure::Name),
            fields.should_retry.map(Figure::ShouldRetry),
            fields.unit.map(|unit| Figure::Unit(unit.into())),
        ];
        let texts = reasons.map(|reason| Figure::Reason(reason.clone())).chain(texts.into_iter().flatten());
        self.found.extend(texts.map(Statement::from));
    }

    fn when(&mut self, moment: Moment, base: Option<f64>) -> When {
        let at = match moment {
            Moment::At(seconds) => values::wall(seconds),
            Moment::In(_) | Moment::Bare(_) => None,
        };
        match values::until(moment, base) {
            Ok(seconds) => When { span: span(seconds), at },
            Err(why) => {
                self.ignored = Some(why);
                When { span: None, at }
            }
        }
    }
}

/// A date in any of the forms that are read in responses: those of HTTP,
/// ISO 8601, and what JavaScript, Go and Ruby print.
///
/// ```
/// use rampmeter::{Wall, parse_date};
///
/// assert_eq!(parse_date("2026-08-06T07:06:40Z"), Wall::from_unix_seconds(1_786_000_000.0));
/// assert_eq!(parse_date("tomorrow"), None);
/// ```
#[must_use]
pub fn parse_date(text: &str) -> Option<Wall> {
    values::date(text.trim().as_bytes()).and_then(values::wall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Response;

    const RECEIVED: f64 = 1_786_000_000.0;

    /// What the first of these fields means beside the others.
    fn first(status: u16, headers: &[(&str, &str)]) -> Option<Meaning> {
        let reader = Reader::default();
        let now = Wall::from_unix_seconds(RECEIVED);
        let signals = reader.read(&Response::new(status, &headers.to_vec()), now);
        let (name, value) = headers[0];
        reader.explain(name.as_bytes(), value.as_bytes(), &signals, now)
    }

    fn figures(status: u16, headers: &[(&str, &str)]) -> Vec<Figure> {
        first(status, headers).expect("a field about limits").says.into_iter().map(|said| said.figure).collect()
    }

    fn seconds(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn a_reset_that_is_an_epoch_tells_span_and_moment() {
        let at = Wall::from_unix_seconds(RECEIVED + 41.0);
        let reset = Figure::Reset(When { span: seconds(41), at });
        assert_eq!(figures(200, &[("x-ratelimit-reset", "1786000041")]), [reset]);
    }

    #[test]
    fn a_bare_reset_counts_milliseconds_where_the_response_shows_it() {
        let reset = Figure::Reset(When { span: seconds(20), at: None });
        let headers = [("x-ratelimit-reset", "20000"), ("x-ratelimit-remaining", "0"), ("retry-after", "20")];
        assert_eq!(figures(429, &headers), [reset]);
    }

    #[test]
    fn a_name_without_the_word_counts_only_beside_a_counter() {
        assert_eq!(first(200, &[("x-limit-depth", "3")]), None);
    }

    #[test]
    fn each_meter_of_a_list_has_its_own_figures() {
        let meaning = first(200, &[("ratelimit", "\"a\";r=5;t=3, \"b\";r=0;t=9")]).expect("about limits");
        let names: Vec<_> = meaning.says.iter().map(|said| said.meter.as_deref()).collect();
        assert_eq!(names, [Some("a"), Some("a"), Some("b"), Some("b")]);
    }

    #[test]
    fn a_use_without_its_limit_is_told_though_no_meter_has_it() {
        assert_eq!(figures(200, &[("x-mbx-used-weight-1m", "6004")]), [Figure::Used(6004.0)]);
        assert_eq!(figures(200, &[("x-app-rate-limit-count", "3:1")]), [Figure::Used(3.0)]);
    }

    #[test]
    fn what_is_set_aside_says_why() {
        let meaning = first(429, &[("retry-after", "-5")]).expect("about limits");
        assert_eq!((meaning.says.len(), meaning.ignored), (0, Some(values::NOT_A_TIME)));
        let meaning = first(200, &[("x-ratelimit-reset", "1999999999")]).expect("about limits");
        assert_eq!(meaning.ignored, Some(values::IMPLAUSIBLE));
    }

    #[test]
    fn a_row_of_the_table_names_its_source() {
        let meaning = first(429, &[("stripe-should-retry", "false")]).expect("about limits");
        assert!(meaning.source.is_some_and(|source| source.contains("stripe.com")));
    }
}
