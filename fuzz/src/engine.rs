//! Calls before a server that keeps to no rule, and a driver that keeps to
//! none either: whatever is done in whatever order, what is answered can be
//! followed, no hold is broken, nobody waits for ever, and the counters add up.
//!
//! An input is a script, a step a line; `N` is a call by its number:
//!
//! | step | |
//! |---|---|
//! | `o{…}` | the options, as the first line; the defaults if they are refused |
//! | `w1700000000` | the wall clock at this moment, in Unix seconds; `w` for none |
//! | `bGET URL scope=a cost=3` | begins a call (see `Driver::begin` for more words) |
//! | `m20` | begins that many like the last and polls each |
//! | `pN`, `P` | polls a call, polls all |
//! | `aN 429 cached by=URL` | answers it; fields follow as lines that begin with a space, the body as lines that begin with `=` |
//! | `A200` | answers all that are out, alike |
//! | `fN 1` | its request fails in that way |
//! | `eN`, `xN`, `dN` | the body is read; it is cancelled; dropped |
//! | `sN requests=3` | settles its cost |
//! | `t1.5`, `n1000` | seconds, nanoseconds pass |
//! | `c` | closes the limiter |

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use rampmeter::{
    Call, Config, Decision, Error, FailureKind, Instant, Limiter, Now, Reason, Request, Response, ScopeStats, Stats,
    Wall,
};

use super::head::{Head, number, words};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * SECOND;
/// The monotonic clock at a script's zero: arbitrary, and not zero.
const START: u64 = 77 * SECOND;
/// Time enough for everybody, and no more than the clock can hold.
const END_OF_TIME: u64 = u64::MAX / 2;

const MOST_STEPS: usize = 400;
const MOST_CALLS: usize = 300;
/// Scopes that are looked into after each step.
const MOST_SCOPES: usize = 8;

/// Plays the script of an input.
pub fn run(input: &[u8]) {
    play(input, None);
}

/// The same, and all that was decided and told.
#[must_use]
pub fn trace(input: &[u8]) -> String {
    play(input, Some(String::new())).unwrap_or_default()
}

fn play(input: &[u8], trace: Option<String>) -> Option<String> {
    let mut lines = input.split(|byte| *byte == b'\n').peekable();
    let options = lines.next_if(|line| line.first() == Some(&b'o')).map(|line| &line[1..]);
    let mut driver = Driver::new(options, trace);
    let mut steps = 0;
    while let Some(line) = lines.next()
        && steps < MOST_STEPS
    {
        let mut head = Head::default();
        while let Some(line) = lines.next_if(|line| matches!(line.first(), Some(b' ' | b'='))) {
            match line[0] {
                b' ' => head.field(&line[1..]),
                _ => head.line(&line[1..]),
            }
        }
        driver.step(line, &head);
        driver.check_counters();
        steps += 1;
    }
    driver.finish();
    driver.trace
}

/// Where a call stands, as its driver knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Begun, and not polled yet.
    Begun,
    /// Told to sleep.
    Waiting,
    /// Its request is out.
    Out,
    /// Its response is with the caller, who has not read it to the end.
    Delivered,
    /// Nothing more will happen to it.
    Over,
}

struct Client {
    call: Option<Call>,
    stage: Stage,
    /// Who is limited, in the words of the request: the same words are the
    /// same scope.
    scope: String,
    deadline: Option<u64>,
    sends: u32,
}

struct Driver<'a> {
    limiter: Limiter,
    /// Whether all options that decide about holds and budgets are default.
    plain: bool,
    clients: Vec<Client>,
    /// The line that began the last call.
    last: &'a [u8],
    now: u64,
    /// The wall clock at the script's zero.
    wall: Option<f64>,
    /// Until when each scope is held, at least.
    holds: BTreeMap<String, u64>,
    /// What the driver saw happen.
    sends: u64,
    outcomes: u64,
    begun: u64,
    closed: bool,
    before: ScopeStats,
    trace: Option<String>,
}

impl<'a> Driver<'a> {
    fn new(options: Option<&[u8]>, trace: Option<String>) -> Self {
        let default = Config::default().seed(1);
        let given = options
            .and_then(|options| serde_json::from_slice(options).ok())
            .and_then(|options| default.clone().with_options(&options).ok());
        let config = given.unwrap_or_else(|| default.clone());
        let plain = config == default;
        let limiter = Limiter::new(config).expect("the options are checked");
        limiter.listen(true);
        limiter.collect_notices();
        Self {
            limiter,
            plain,
            clients: Vec::new(),
            last: b"GET https://api.example.com/v1/x",
            now: 0,
            wall: None,
            holds: BTreeMap::new(),
            sends: 0,
            outcomes: 0,
            begun: 0,
            closed: false,
            before: ScopeStats::default(),
            trace,
        }
    }

    fn clock(&self) -> Now {
        let now = Now::from_nanos(START + self.now);
        let wall = self.wall.map(|wall| wall + self.now as f64 / SECOND as f64).and_then(Wall::from_unix_seconds);
        wall.map_or(now, |wall| now.with_wall(wall))
    }

    fn pass(&mut self, nanos: u64) {
        self.now = self.now.saturating_add(nanos).min(END_OF_TIME);
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push_str(&what());
            trace.push('\n');
        }
    }

    fn step(&mut self, line: &'a [u8], head: &Head<'_>) {
        let Some((kind, rest)) = line.split_first() else { return };
        let mut words = words(rest);
        match kind {
            b'b' => {
                self.last = rest;
                self.begin(rest);
            }
            b'm' => {
                for _ in 0..words.next().map_or(1, number::<usize>).min(60) {
                    if let Some(client) = self.begin(self.last) {
                        self.poll(client);
                    }
                }
            }
            b'P' => (0..self.clients.len()).for_each(|client| self.poll(client)),
            b'A' => {
                let status = words.next().map_or(200, number);
                for client in 0..self.clients.len() {
                    if self.clients[client].stage == Stage::Out {
                        self.answer(client, status, head, false, None);
                    }
                }
            }
            b't' => {
                let seconds: f64 = words.next().map_or(0.0, number);
                self.pass(
                    Duration::try_from_secs_f64(seconds).map_or(0, |span| span.as_nanos().min(u64::MAX.into()) as u64),
                );
            }
            b'n' => self.pass(words.next().map_or(0, number)),
            b'w' => {
                let wall = words.next().and_then(|word| word.parse::<f64>().ok());
                self.wall = wall.map(|wall| wall - self.now as f64 / SECOND as f64);
            }
            b'c' => {
                self.limiter.close(self.clock());
                self.closed = true;
            }
            _ if self.clients.is_empty() => {}
            _ => {
                let client = words.next().map_or(0, number::<usize>) % self.clients.len();
                match kind {
                    b'p' => self.poll(client),
                    b'a' => {
                        let status = words.next().map_or(200, number);
                        let (mut cached, mut by) = (false, None);
                        for word in words {
                            cached |= word == "cached";
                            by = by.or(word.strip_prefix("by="));
                        }
                        self.answer(client, status, head, cached, by);
                    }
                    b'f' => self.fail(client, words.next().map_or(0, number::<usize>)),
                    b'e' => self.read(client),
                    b'x' => self.give_up(client, false),
                    b'd' => self.give_up(client, true),
                    b's' => self.settle(client, words),
                    _ => {}
                }
            }
        }
    }

    /// Begins a call: method, URL, then any of `scope=`, `route=`, `auth=`,
    /// `priority=`, `cost=`, `tokens=`, `deadline=` (seconds), `retry=0`,
    /// `once` (the body cannot be sent twice), `nested`, `key` (an
    /// `Idempotency-Key`).
    fn begin(&mut self, line: &[u8]) -> Option<usize> {
        if self.clients.len() >= MOST_CALLS {
            return None;
        }
        let now = self.clock();
        let mut words = words(line);
        let (method, url) = (words.next().unwrap_or("GET"), words.next().unwrap_or(""));
        let mut request = Request::new(method, url);
        let (mut cost, mut headers, mut deadline, mut auth) = (Vec::new(), Vec::new(), None, "");
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("scope", name) => request.scope = Some(name),
                ("route", name) => request.route = Some(name),
                ("auth", secret) => auth = secret,
                ("priority", priority) => request.priority = number(priority),
                ("cost", amount) => cost.push(("requests", number(amount))),
                ("tokens", amount) => cost.push(("tokens", number(amount))),
                ("deadline", seconds) => {
                    let span = Duration::try_from_secs_f64(number(seconds)).unwrap_or_default();
                    deadline = Some((START + self.now).saturating_add(span.as_nanos().min(u64::MAX.into()) as u64));
                }
                ("retry", flag) => request.retry = Some(flag != "0"),
                ("once", _) => request.replayable = false,
                ("nested", _) => request.nested = true,
                ("key", _) => headers.push(("Idempotency-Key", "7".to_owned())),
                _ => {}
            }
        }
        if !auth.is_empty() {
            headers.push(("Authorization", format!("Bearer {auth}")));
        }
        request.cost = &cost;
        request.headers = Some(&headers);
        request.deadline = deadline.map(Instant::from_nanos);
        let wrong = cost.iter().any(|(_, amount)| !(amount.is_finite() && *amount >= 0.0));
        match self.limiter.begin(now, &request) {
            Ok(call) => {
                assert!(!wrong, "a cost that is no amount is refused");
                let origin: String = url.split('/').take(3).collect::<Vec<_>>().join("/");
                let scope = request.scope.map_or_else(|| format!("{origin} {auth}"), |scope| format!("={scope}"));
                self.clients.push(Client { call: Some(call), stage: Stage::Begun, scope, deadline, sends: 0 });
                self.begun += 1;
                Some(self.clients.len() - 1)
            }
            Err(error) => {
                assert!(matches!(error, Error::Config(_)), "only an argument can be wrong: {error:?}");
                None
            }
        }
    }

    fn poll(&mut self, client: usize) {
        let now = self.clock();
        let Some(call) = &self.clients[client].call else { return };
        let decision = call.poll(now);
        assert_eq!(decision, call.poll(now), "polling twice at one instant gives the same answer");
        self.follow(client, decision);
    }

    fn answer(&mut self, client: usize, status: u16, head: &Head<'_>, cached: bool, by: Option<&str>) {
        let now = self.clock();
        let Some(call) = &self.clients[client].call else { return };
        assert!(call.wants_body(status, &head.headers) <= 65_536);
        let response = Response::new(status, &head.headers).body(head.body.as_deref()).cached(cached).answered_by(by);
        let decision = call.on_response(now, response);
        if self.clients[client].stage == Stage::Out {
            self.outcomes += 1;
            if let (429, false, None, Some(seconds)) = (status, cached, by, plain_wait(head)) {
                let until = self.holds.entry(self.clients[client].scope.clone()).or_default();
                *until = (*until).max(self.now.saturating_add(seconds * SECOND));
            }
            self.clients[client].stage = Stage::Begun;
        }
        self.follow(client, decision);
    }

    fn fail(&mut self, client: usize, kind: usize) {
        let Some(call) = &self.clients[client].call else { return };
        let decision = call.on_failure(self.clock(), FailureKind::ALL[kind % 4].1);
        if self.clients[client].stage == Stage::Out {
            self.outcomes += 1;
            self.clients[client].stage = Stage::Begun;
        }
        self.follow(client, decision);
    }

    fn read(&mut self, client: usize) {
        let now = self.clock();
        let client = &mut self.clients[client];
        let Some(call) = &client.call else { return };
        call.finish(now);
        if client.stage == Stage::Delivered {
            client.stage = Stage::Over;
        }
    }

    fn give_up(&mut self, client: usize, drop: bool) {
        let now = self.clock();
        let client = &mut self.clients[client];
        client.stage = Stage::Over;
        if drop {
            client.call = None;
        } else if let Some(call) = &client.call {
            call.cancel(now);
        }
    }

    fn settle<'w>(&mut self, client: usize, words: impl Iterator<Item = &'w str>) {
        let Some(call) = &self.clients[client].call else { return };
        let cost: Vec<(&str, f64)> =
            words.filter_map(|word| word.split_once('=')).map(|(unit, amount)| (unit, number(amount))).collect();
        let wrong = cost.iter().any(|(_, amount)| !(amount.is_finite() && *amount >= 0.0));
        assert_eq!(call.settle(self.clock(), &cost).is_err(), wrong, "amounts are refused only if they are none");
    }

    /// Whether a decision can be followed, and what it does to its call.
    fn follow(&mut self, at: usize, decision: Decision) {
        self.note(|| format!("{at} {decision:?}"));
        let (now, plain, clock) = (self.now, self.plain, START + self.now);
        let client = &mut self.clients[at];
        match decision {
            Decision::Send { .. } if client.stage == Stage::Out => {}
            Decision::Send { .. } => {
                assert!(
                    matches!(client.stage, Stage::Begun | Stage::Waiting),
                    "call {at} was over and is sent again: {:?}",
                    client.stage
                );
                let until = self.holds.get(&client.scope).copied().unwrap_or(0);
                assert!(!plain || now >= until, "call {at} is sent {} ns before its hold's end", until - now);
                let late = client.deadline.is_some_and(|deadline| clock > deadline);
                assert!(!plain || !late, "call {at} is sent after its deadline");
                client.stage = Stage::Out;
                client.sends += 1;
                self.sends += 1;
                assert!(!plain || client.sends <= 10, "call {at} is sent {} times", client.sends);
                let attempts = client.call.as_ref().map(Call::attempts);
                assert_eq!(attempts, Some(client.sends), "call {at}: attempts are sends");
            }
            Decision::Sleep { wait, reason } => {
                assert!(!wait.is_zero(), "call {at}: a sleep is above zero ({reason:?})");
                assert!(
                    matches!(client.stage, Stage::Begun | Stage::Waiting),
                    "call {at} sleeps, but is {:?}",
                    client.stage
                );
                // The default cap on a server's wait, and its jitter. A probe is
                // waited for as long as answers take.
                let probing = reason == Reason::Probing;
                let capped = !plain || probing || wait <= Duration::from_millis(120_500);
                assert!(capped, "call {at} sleeps {wait:?} ({reason:?})");
                let ends = u128::from(clock) + wait.as_nanos();
                assert!(
                    client.deadline.is_none_or(|deadline| ends <= u128::from(deadline)),
                    "call {at} sleeps beyond its deadline"
                );
                client.stage = Stage::Waiting;
            }
            Decision::Deliver { .. } => {
                assert!(client.sends > 0, "call {at}: nothing was received that could be delivered");
                if client.stage != Stage::Over {
                    client.stage = Stage::Delivered;
                }
            }
            Decision::Raise { error } => {
                let words = error.to_string();
                assert!(!words.is_empty() && !words.contains("NaN") && !words.contains("inf s"), "{words}");
                if !matches!(*error, Error::Misuse(_)) {
                    client.stage = Stage::Over;
                }
            }
        }
    }

    /// The limiter's own numbers against what its driver saw.
    fn check_counters(&mut self) {
        let now = self.clock();
        let stats = self.limiter.stats(now);
        let count = |stage| self.clients.iter().filter(|client| client.stage == stage).count();
        let (out, delivered) = (count(Stage::Out), count(Stage::Delivered));
        let total = &stats.total;
        assert_eq!(total.sent, self.sends, "every send is counted once");
        assert!((out..=out + delivered).contains(&total.in_flight), "{out} out, {delivered} unread: {total:?}");
        assert!(total.waiting <= count(Stage::Waiting), "{} wait, {total:?}", count(Stage::Waiting));
        assert!(
            total.accepted + total.refused + total.failed <= self.outcomes,
            "{} outcomes, {total:?}",
            self.outcomes
        );
        assert!(total.raised <= self.begun, "{} calls, {total:?}", self.begun);
        check_sum(&stats);
        check_growth(&self.before, total);
        for scope in self.limiter.scopes().iter().take(MOST_SCOPES) {
            let meters = self.limiter.meters(now, scope);
            assert!(meters.len() <= 64, "{} meters", meters.len());
            for meter in meters {
                let natural =
                    |number: Option<f64>| number.is_none_or(|number| number.is_finite() && number.is_sign_positive());
                assert!(natural(meter.limit) && natural(meter.remaining), "{meter:?}");
                assert!(
                    meter.until_reset(now.mono).is_none_or(|left| !left.is_zero()),
                    "a reset has passed: {meter:?}"
                );
                assert!(meter.window.is_none_or(|window| !window.is_zero()), "{meter:?}");
                assert_eq!(meter.exhausted(), meter.remaining == Some(0.0), "{meter:?}");
            }
        }
        for event in self.limiter.take_events() {
            assert!(event.seconds.is_none_or(|seconds| seconds.is_finite() && seconds >= 0.0), "{event:?}");
            assert!(event.waiting <= self.clients.len() && event.headers.len() <= 32, "{event:?}");
            self.note(|| format!("{event:?}"));
        }
        let _ = (self.limiter.take_notices(), self.limiter.take_wakes());
        self.note(|| format!("{stats:?}"));
        self.before = stats.total;
    }

    /// Every outcome comes, time goes on: then every call comes to its end,
    /// and so does one that is new.
    fn finish(&mut self) {
        self.drain();
        let scopes: BTreeSet<String> = self.clients.iter().map(|client| client.scope.clone()).collect();
        for scope in scopes.iter().take(MOST_SCOPES) {
            let mut request = Request::new("GET", "https://api.example.com/v1/new");
            request.scope = scope.strip_prefix('=');
            let origin = scope.split(' ').next().unwrap_or_default();
            if request.scope.is_none() {
                request.url = origin;
            }
            let call = self.limiter.begin(self.clock(), &request).expect("the scope is known");
            self.clients.push(Client {
                call: Some(call),
                stage: Stage::Begun,
                scope: scope.clone(),
                deadline: None,
                sends: 0,
            });
            self.begun += 1;
        }
        self.drain();
        self.check_counters();
        if self.now < END_OF_TIME {
            assert_eq!((self.before.in_flight, self.before.waiting), (0, 0), "nobody is left");
        }
    }

    fn drain(&mut self) {
        let head = Head::default();
        // A slow server may have taught patience with probes.
        let until = self.now.saturating_mul(5).saturating_add(48 * HOUR);
        for client in 0..self.clients.len() {
            if self.clients[client].stage == Stage::Out {
                self.answer(client, 200, &head, false, None);
            }
            self.read(client);
        }
        // When each is to poll.
        let mut due: BTreeSet<(u64, usize)> = BTreeSet::new();
        for (at, client) in self.clients.iter().enumerate() {
            if matches!(client.stage, Stage::Begun | Stage::Waiting) && client.call.is_some() {
                due.insert((self.now, at));
            }
        }
        let mut polls = 0;
        while let Some((when, at)) = due.pop_first() {
            self.now = self.now.max(when);
            if self.now >= END_OF_TIME {
                break;
            }
            polls += 1;
            assert!(polls < 100_000, "the calls poll in a tight loop");
            assert!(!self.plain || self.now < until, "call {at} waits for ever");
            let now = self.clock();
            let Some(call) = &self.clients[at].call else { continue };
            let decision = call.poll(now);
            let wait = decision.wait();
            self.follow(at, decision);
            if self.clients[at].stage == Stage::Out {
                self.answer(at, 200, &head, false, None);
            }
            self.read(at);
            if let Some(wait) = wait {
                due.insert((self.now.saturating_add(wait.as_nanos().min(u64::MAX.into()) as u64), at));
            }
        }
    }
}

/// Whole seconds of a lone `Retry-After` that no default cap forbids.
fn plain_wait(head: &Head<'_>) -> Option<u64> {
    let ([(name, value)], None) = (&head.headers[..], &head.body) else { return None };
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let seconds = core::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()?;
    (name.eq_ignore_ascii_case(b"retry-after") && (1..=120).contains(&seconds)).then_some(seconds)
}

/// A counter and its name.
type Counter = (&'static str, fn(&ScopeStats) -> u64);

fn check_sum(stats: &Stats) {
    let sum = |of: fn(&ScopeStats) -> u64| stats.scopes.iter().map(of).sum::<u64>();
    let parts: [Counter; 9] = [
        ("sent", |scope| scope.sent),
        ("refused", |scope| scope.refused),
        ("accepted", |scope| scope.accepted),
        ("failed", |scope| scope.failed),
        ("waits", |scope| scope.waits),
        ("raised", |scope| scope.raised),
        ("ignored", |scope| scope.ignored),
        ("waiting", |scope| scope.waiting as u64),
        ("in_flight", |scope| scope.in_flight as u64),
    ];
    for (name, of) in parts {
        assert_eq!(sum(of), of(&stats.total), "the sum of {name} over all scopes");
    }
    for scope in &stats.scopes {
        assert!(scope.held_for.is_none_or(|left| !left.is_zero()), "{scope:?}");
    }
}

fn check_growth(before: &ScopeStats, after: &ScopeStats) {
    let grows = before.sent <= after.sent
        && before.refused <= after.refused
        && before.accepted <= after.accepted
        && before.failed <= after.failed
        && before.waits <= after.waits
        && before.slept <= after.slept
        && before.raised <= after.raised
        && before.ignored <= after.ignored;
    assert!(grows, "a counter went back: {before:?}, then {after:?}");
}
