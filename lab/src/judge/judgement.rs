//! What a timeline says about the program that made it. No I/O and no clock.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::findings::{Finding, Kind, Severity};
use super::scenarios::{End, Scenario};
use crate::demo::metrics::{first_release, max_burst};
use crate::dialects::Dialect;
use crate::servers::{Nanos, SECOND, optimum};
use crate::stub::{Arrival, Timeline};

const MILLISECOND: Nanos = SECOND / 1000;
/// What a busy program may still have on its way when the first refusal
/// reaches it.
const IN_FLIGHT: Nanos = 250 * MILLISECOND;
/// Timers fire early by that much, and clocks are read with that grain.
const GRAIN: Nanos = 20 * MILLISECOND;
/// A retry as soon as this has not waited.
const INSTANT: Nanos = 50 * MILLISECOND;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit status; `None` if a signal ended it.
    Exited(Option<i32>),
    /// It was stopped when its time was up.
    Stopped,
}

/// The verdict on one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was found that harms.
    Passes,
    /// Something was.
    Fails,
    /// The program made so few requests that the limit was never met.
    NotTried,
}

/// How the program fared in one scenario. `None` means that it cannot be
/// known, or that there is no such thing in this scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Calls that the program made: requests for different targets. As many as
    /// it was told to make, if its calls cannot be told apart.
    pub calls: u64,
    /// Calls that succeeded.
    pub done: u64,
    /// Requests that came.
    pub requests: u64,
    /// Those of them that were refused.
    pub refused: u64,
    /// Those refused after the first refusal had been read.
    pub refused_again: u64,
    /// Requests of other calls that came while the server had no room and had
    /// said so with a wait.
    pub sends_in_hold: u64,
    /// Those of them that were refused.
    pub refused_in_hold: u64,
    /// Retries that came before their stated wait was over.
    pub early_retries: Option<u64>,
    /// Retries that came at once and in vain, no wait having been stated.
    pub instant_retries: Option<u64>,
    /// The most requests in 50 ms from the first release on.
    pub max_burst: Option<u64>,
    /// The most sends of one call.
    pub max_sends: Option<u64>,
    /// Seconds from the first request to the last answer.
    pub seconds: f64,
    /// Seconds that the best possible client takes.
    pub optimal: Option<f64>,
}

/// The judgement of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The figures.
    pub metrics: Metrics,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
}

/// Judges the requests that a program made in a scenario; the server takes
/// `latency` for each answer.
#[must_use]
pub fn judge(scenario: &Scenario, timeline: &Timeline, ending: Ending, latency: Nanos) -> Judgement {
    let seen = Seen::new(scenario, timeline, latency);
    let metrics = seen.metrics();
    let is_tried = metrics.refused > 0 || scenario.end == End::Served && metrics.done > scenario.room;
    let mut findings = Vec::new();
    findings.extend(seen.early());
    findings.extend(seen.instant());
    findings.extend(seen.in_hold(&metrics));
    findings.extend(seen.herd(&metrics));
    findings.extend(seen.refused_again(&metrics));
    findings.extend(seen.too_many_sends(&metrics));
    findings.extend(seen.ending(&metrics, ending));
    let verdict = match () {
        () if findings.iter().any(|finding| finding.severity == Severity::Failure) => Verdict::Fails,
        () if !is_tried => Verdict::NotTried,
        () => Verdict::Passes,
    };
    Judgement { verdict, metrics, findings }
}

/// A request and the one before it for the same call.
#[derive(Clone, Copy)]
struct Retry<'a> {
    refused: &'a Arrival,
    again: &'a Arrival,
}

impl Retry<'_> {
    /// From the refusal's arrival, which is when its wait was rendered.
    fn waited(&self) -> Nanos {
        self.again.arrival_ns - self.refused.arrival_ns
    }

    /// The stated wait, if it has not been kept.
    fn cut_short(&self) -> Option<Nanos> {
        self.refused.asked_ns.filter(|asked| self.waited() + GRAIN < *asked)
    }

    fn is_instant(&self) -> bool {
        let read = self.refused.completed_ns.unwrap_or(self.refused.arrival_ns);
        self.again.arrival_ns.saturating_sub(read) < INSTANT
    }
}

/// A timeline, looked at from all sides.
struct Seen<'a> {
    scenario: &'a Scenario,
    requests: &'a [Arrival],
    latency: Nanos,
    /// Retries in the order of their arrival; `None` if calls cannot be told
    /// apart.
    retries: Option<Vec<Retry<'a>>>,
    /// How often each call was sent.
    sends: Option<Vec<u64>>,
    /// When the first refusal had been read, at the latest.
    refusal_read: Option<Nanos>,
}

impl<'a> Seen<'a> {
    fn new(scenario: &'a Scenario, timeline: &'a Timeline, latency: Nanos) -> Self {
        let requests = timeline.requests.as_slice();
        let mut calls: BTreeMap<usize, Vec<&Arrival>> = BTreeMap::new();
        for request in requests {
            calls.entry(request.target).or_default().push(request);
        }
        let is_known = calls.len() > 1 && calls.values().all(|sends| are_of_one_call(sends));
        let retries = is_known.then(|| {
            let pairs = calls.values().flat_map(|sends| sends.windows(2));
            let mut retries: Vec<_> = pairs.map(|pair| Retry { refused: pair[0], again: pair[1] }).collect();
            retries.sort_by_key(|retry| retry.again.arrival_ns);
            retries
        });
        let sends = is_known.then(|| calls.values().map(|sends| sends.len() as u64).collect());
        let answers = requests.iter().filter(|request| !request.admitted).filter_map(|request| request.completed_ns);
        let refusal_read = answers.min().map(|answered| answered + IN_FLIGHT);
        Self { scenario, requests, latency, retries, sends, refusal_read }
    }

    fn metrics(&self) -> Metrics {
        let (scenario, requests) = (self.scenario, self.requests);
        let refused = requests.iter().filter(|request| !request.admitted);
        let late = |request: &&Arrival| self.refusal_read.is_some_and(|read| request.arrival_ns > read);
        let calls = self.sends.as_ref().map_or(scenario.calls, |sends| sends.len() as u64);
        let in_hold = self.sends_in_hold();
        let first = requests.first().map_or(0, |request| request.arrival_ns);
        let ends = requests.iter().map(|request| request.completed_ns.unwrap_or(request.arrival_ns));
        let release = first_release(&scenario.spec, requests);
        let stated = |retry: &&Retry| retry.cut_short().is_some();
        let in_vain = |retry: &&Retry| asked_nothing(retry) && retry.is_instant() && !retry.again.admitted;
        let count = |keep: &dyn Fn(&&Retry) -> bool| {
            self.retries.as_ref().map(|retries| retries.iter().filter(|retry| keep(retry)).count() as u64)
        };
        Metrics {
            calls,
            done: requests.iter().filter(|request| request.admitted).count() as u64,
            requests: requests.len() as u64,
            refused: refused.clone().count() as u64,
            refused_again: refused.filter(late).count() as u64,
            sends_in_hold: in_hold.len() as u64,
            refused_in_hold: in_hold.iter().filter(|request| !request.admitted).count() as u64,
            early_retries: count(&stated),
            instant_retries: count(&in_vain),
            max_burst: release.map(|release| max_burst(requests, release)),
            max_sends: self.sends.as_ref().and_then(|sends| sends.iter().max().copied()),
            seconds: (ends.max().unwrap_or(first) - first) as f64 / SECOND as f64,
            optimal: (scenario.end == End::Served)
                .then(|| optimum(&scenario.spec, calls, first, self.latency) as f64 / SECOND as f64),
        }
    }

    /// Requests that came while the server, as it had told, had no room, and
    /// that are not a retry of the call which was told so.
    fn sends_in_hold(&self) -> Vec<&'a Arrival> {
        let early = self.retries.iter().flatten().filter(|retry| retry.cut_short().is_some());
        let early: HashSet<*const Arrival> = early.map(|retry| std::ptr::from_ref(retry.again)).collect();
        let mut held_until = Vec::new();
        for request in self.requests.iter().filter(|request| !request.admitted) {
            // A wait that is rounded up is longer than that for room.
            let wait = request.asked_ns.zip(request.room_after_ns).map(|(asked, room)| asked.min(room));
            if let (Some(wait), Some(answered)) = (wait, request.completed_ns) {
                held_until.push((answered + IN_FLIGHT, (request.arrival_ns + wait).saturating_sub(GRAIN)));
            }
        }
        held_until.sort_unstable();
        let mut holds = held_until.into_iter().peekable();
        let mut until = 0;
        let mut inside = Vec::new();
        for request in self.requests {
            while let Some((_, end)) = holds.next_if(|(begin, _)| *begin <= request.arrival_ns) {
                until = until.max(end);
            }
            if request.arrival_ns < until && !early.contains(&std::ptr::from_ref(request)) {
                inside.push(request);
            }
        }
        inside
    }

    fn early(&self) -> Option<Finding> {
        let early: Vec<(Nanos, Nanos)> =
            self.retries.iter().flatten().filter_map(|retry| Some((retry.waited(), retry.cut_short()?))).collect();
        // The one that waited the smallest share of what it was asked.
        let (waited, asked) = *early.iter().min_by_key(|(waited, asked)| waited * 1000 / asked)?;
        let numbers = format!("{} {}", early.len(), plural(early.len(), "retry", "retries"));
        let worst = format!("one after {} where {} were asked", seconds(waited), seconds(asked));
        Some(if self.scenario.dialect == Dialect::RetryAfterDate && waited < asked / 4 {
            Finding::failure(Kind::DateUnread, format!("{numbers} before the stated date, {worst}"))
        } else {
            Finding::failure(Kind::EarlyRetry, format!("{numbers} before the stated wait was over, {worst}"))
        })
    }

    fn instant(&self) -> Option<Finding> {
        let retries: Vec<_> = self.retries.iter().flatten().filter(|retry| asked_nothing(retry)).collect();
        // A slot that this very client has freed may be taken at once.
        let instant = retries.iter().filter(|retry| retry.is_instant() && !retry.again.admitted).count();
        // Full jitter draws a short wait now and then.
        (instant >= 3 && instant * 4 >= retries.len()).then(|| {
            let seen = format!("{instant} of {} retries within 50 ms of their refusal, in vain", retries.len());
            Finding::failure(Kind::InstantRetry, seen)
        })
    }

    fn in_hold(&self, metrics: &Metrics) -> Option<Finding> {
        let (sends, refused) = (metrics.sends_in_hold, metrics.refused_in_hold);
        let seen = format!("{sends} sent while the server had asked to wait, {refused} of them refused");
        // Whether others are held for a wait that nobody sits out is the
        // program's choice.
        let severity = if self.scenario.end == End::TooLong { Severity::Remark } else { Severity::Failure };
        (refused > 0).then_some(Finding { kind: Kind::SendInHold, severity, seen })
    }

    fn herd(&self, metrics: &Metrics) -> Option<Finding> {
        let (burst, room) = (metrics.max_burst?, self.scenario.room);
        // The next release's probe, or a wave that is a little too large.
        let slack = (room / 4).max(2);
        let seen = format!("{burst} requests within 50 ms after a release that has room for {room}");
        (self.scenario.end == End::Served && burst > room + slack).then(|| Finding::failure(Kind::Herd, seen))
    }

    fn refused_again(&self, metrics: &Metrics) -> Option<Finding> {
        let seen = format!(
            "{} requests refused for {} calls, {} of them after the first refusal had been read",
            metrics.refused, metrics.calls, metrics.refused_again
        );
        // A probe at each release is fair; so is a guess where nothing is said.
        let is_too_many = metrics.refused_again * 4 > metrics.calls;
        (self.scenario.end == End::Served && is_too_many).then(|| Finding::failure(Kind::RefusedAgain, seen))
    }

    fn too_many_sends(&self, metrics: &Metrics) -> Option<Finding> {
        let (End::GivenUp(most), Some(sends)) = (self.scenario.end, metrics.max_sends) else { return None };
        let seen = format!("one call was sent {sends} times, {most} at most are fair here");
        (sends > most).then(|| Finding::failure(Kind::TooManySends, seen))
    }

    fn ending(&self, metrics: &Metrics, ending: Ending) -> Vec<Finding> {
        let (calls, done) = (metrics.calls, metrics.done);
        let patience = self.scenario.patience.as_secs();
        match (self.scenario.end, ending) {
            (End::Served, Ending::Stopped) => {
                let seen =
                    format!("{done} of {calls} calls were served when the program was stopped after {patience} s");
                vec![Finding::failure(Kind::Unfinished, seen)]
            }
            (End::Served, Ending::Exited(code)) => {
                let lost = (done < calls).then(|| {
                    let seen = format!("{} of {calls} calls were given up", calls - done);
                    Finding::failure(Kind::CallsLost, seen)
                });
                let failed = (code != Some(0)).then(|| Finding::remark(Kind::Failed, exit(code)));
                let slow = metrics.optimal.filter(|best| done >= calls && metrics.seconds > 3.0 * best + 1.0);
                let slow = slow.map(|best| {
                    let seen = format!("{:.1} s, where the best possible client takes {best:.1} s", metrics.seconds);
                    Finding::remark(Kind::Slow, seen)
                });
                [lost, failed, slow].into_iter().flatten().collect()
            }
            (_, Ending::Exited(_)) => Vec::new(),
            (_, Ending::Stopped) => {
                let last = self.requests.last().map_or(0, |request| request.arrival_ns);
                let first = self.requests.first().map_or(0, |request| request.arrival_ns);
                let is_sending = (last - first) as f64 / SECOND as f64 > self.scenario.patience.as_secs_f64() / 2.0;
                vec![if is_sending {
                    let seen = format!("still retrying after {patience} s, {} requests in all", metrics.requests);
                    Finding::failure(Kind::BudgetUntripped, seen)
                } else {
                    Finding::failure(
                        Kind::Hangs,
                        format!("had neither ended nor sent anything more after {patience} s"),
                    )
                }]
            }
        }
    }
}

/// One call is served once, and is not sent again before its answer.
fn are_of_one_call(sends: &[&Arrival]) -> bool {
    let is_served_once = sends.iter().filter(|send| send.admitted).count() <= 1;
    let follows = |pair: &[&Arrival]| pair[0].completed_ns.is_some_and(|answered| answered <= pair[1].arrival_ns);
    is_served_once && sends.windows(2).all(follows)
}

/// Nothing was stated that could be waited for.
fn asked_nothing(retry: &Retry) -> bool {
    retry.refused.asked_ns.is_none_or(|asked| asked == 0)
}

fn exit(code: Option<i32>) -> String {
    match code {
        Some(code) => format!("the program ended with status {code}"),
        None => "the program was ended by a signal".to_owned(),
    }
}

fn seconds(span: Nanos) -> String {
    format!("{:.2} s", span as f64 / SECOND as f64)
}

fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}
