//! The one driver under which all strategies run: virtual time, servers,
//! links, workers.

use std::collections::VecDeque;

use super::agenda::Agenda;
use super::cell::Cell;
use super::monitor::Monitor;
use super::strategies::Kind;
use super::strategy::{Ask, Clock, Step, Strategy};
use crate::dialects::{Head, asked_until, render};
use crate::servers::{Nanos, SECOND, Server, optimum};

/// The wall clock at the start: no whole second, so that rounding shows.
const EPOCH: Nanos = 1_764_460_800 * SECOND + 400_000_000;
/// A run is given up when it takes this many times the time …
const PATIENCE: u64 = 4;
/// … or this many requests per call, that a client needs.
const REQUESTS_PER_CALL: usize = 60;

/// One request, as all sides know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The call that it was sent for.
    pub call: usize,
    /// When it was sent.
    pub sent: Nanos,
    /// When it reached the server; `None` if the run ended before.
    pub reached: Option<Nanos>,
    /// Whether it was admitted.
    pub accepted: bool,
    /// When its response came back.
    pub answered: Option<Nanos>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was answered.
    Done,
    /// It ended without an answer, for this reason.
    Failed(&'static str),
    /// It was given up by its caller.
    Cancelled,
}

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The process that makes it.
    pub process: usize,
    /// The quota that it spends of.
    pub key: usize,
    /// When its caller wanted it.
    pub begun: Nanos,
    /// When it ended, and how; `None` if it never did.
    pub ended: Option<(Nanos, End)>,
}

/// Everything that happened.
#[derive(Clone, Debug)]
pub struct Record {
    /// The requests, in the order of sending.
    pub requests: Vec<Request>,
    /// The calls, in the order of beginning.
    pub calls: Vec<Call>,
    /// Each moment at which the number of waiting calls changed, and the
    /// number.
    pub waiting: Vec<(Nanos, usize)>,
    /// When each server, having had no room, had room again for the first
    /// time; by key.
    pub releases: Vec<Option<Nanos>>,
    /// Answers that the strategy gave.
    pub decisions: u64,
    /// Sleeps of no length.
    pub empty_sleeps: u64,
    /// Sends before the end of a wait that the server had asked for.
    pub sends_in_hold: u64,
    /// Sends while an older call waited.
    pub inversions: u64,
    /// One line per event, if they were asked for.
    pub trace: Vec<String>,
}

impl Record {
    /// How many requests were out when the first refusal came back, that one
    /// included; 0 if none was refused.
    pub(super) fn flight_at_first_refusal(&self) -> u64 {
        let refused = self.requests.iter().filter(|request| !request.accepted);
        let Some(at) = refused.filter_map(|request| request.answered).min() else { return 0 };
        let out = |request: &&Request| request.sent <= at && request.answered.is_none_or(|answered| answered >= at);
        self.requests.iter().filter(out).count() as u64
    }
}

/// Runs one strategy in one cell.
#[must_use]
pub fn run(cell: &Cell, kind: Kind, trace: bool) -> Record {
    World::new(cell, kind, trace).run()
}

/// The best time for the cell's calls, if they are a batch.
#[must_use]
pub fn best_time(cell: &Cell) -> Option<Nanos> {
    let calls = cell.workload.calls()?;
    let (keys, rtt) = (cell.servers().count() as u64, cell.rtt.median());
    let each = cell.servers().enumerate().map(|(key, spec)| {
        let own = calls / keys + u64::from((key as u64) < calls % keys);
        optimum(spec, own, 0, rtt)
    });
    // However fast the server, a worker makes one call in each round trip.
    let workers = cell.workers.unwrap_or(calls).saturating_mul(cell.processes);
    Some(each.max()?.max(calls.div_ceil(workers.max(1)) * rtt))
}

#[derive(Debug)]
enum Event {
    Begin { call: usize },
    Timer { call: usize, generation: u64 },
    Wake { call: usize },
    Reach { request: usize },
    Release { key: usize },
    Answer { request: usize },
    GiveUp { call: usize },
    GiveUpProbe { request: usize },
    Deadline { call: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Outside,
    Waiting,
    Flying { request: usize },
    Ended,
}

/// A response on its way, and what it asks.
struct Answer {
    head: Head,
    /// The wait that a refusal asks for, and its end if it counts from the
    /// making.
    asked: Option<(Nanos, Nanos)>,
}

/// What one process has of calls and places for them.
struct Process {
    /// The strategy's member that makes its calls.
    member: usize,
    free: u64,
    pending: VecDeque<usize>,
}

struct World<'a> {
    cell: &'a Cell,
    now: Nanos,
    agenda: Agenda<Event>,
    members: Vec<Box<dyn Strategy>>,
    processes: Vec<Process>,
    servers: Vec<Box<dyn Server>>,
    ran_out: Vec<bool>,
    phases: Vec<Phase>,
    deadlines: Vec<Option<Nanos>>,
    generations: Vec<u64>,
    answers: Vec<Option<Answer>>,
    backs: Vec<Nanos>,
    monitor: Monitor,
    link: fastrand::Rng,
    timers: fastrand::Rng,
    cancels: fastrand::Rng,
    record: Record,
    tracing: bool,
    patience: Nanos,
    horizon: Nanos,
}

impl<'a> World<'a> {
    fn new(cell: &'a Cell, kind: Kind, tracing: bool) -> Self {
        let members = kind.build(cell, tracing);
        let count = members.len();
        let processes = (0..cell.processes as usize).map(|process| Process {
            member: process % count,
            free: cell.workers.unwrap_or(u64::MAX),
            pending: VecDeque::new(),
        });
        let keys = cell.servers().count();
        let arrivals = cell.arrivals();
        let count = arrivals.len();
        let last = arrivals.last().copied().unwrap_or(0);
        // Keys change slower than processes, so that each process has calls
        // for both.
        let calls = arrivals.iter().enumerate().map(|(call, begun)| Call {
            process: call % cell.processes as usize,
            key: call / cell.processes as usize % keys,
            begun: *begun,
            ended: None,
        });
        let needed = match best_time(cell) {
            Some(best) => best,
            None => {
                let rate: f64 = cell.servers().map(|spec| spec.left().rate()).sum();
                last.max((count as f64 / rate * SECOND as f64) as Nanos)
            }
        };
        // How long a call that is given up has waited at most: about as long as
        // one waits that is not.
        let workers = cell.workers.map_or(count as u64, |workers| workers.saturating_mul(cell.processes));
        let patience = match cell.workload.calls() {
            Some(calls) => (u128::from(needed) * u128::from(workers.min(calls)) / u128::from(calls)) as Nanos,
            None => 60 * SECOND,
        };
        let mut world = Self {
            cell,
            now: 0,
            agenda: Agenda::new(),
            members,
            processes: processes.collect(),
            servers: cell.servers().map(|spec| spec.build_seeded(cell.stream("others", 0).u64(..))).collect(),
            ran_out: vec![false; keys],
            phases: vec![Phase::Outside; count],
            deadlines: vec![None; count],
            generations: vec![0; count],
            answers: Vec::new(),
            backs: Vec::new(),
            monitor: Monitor::default(),
            link: cell.stream("link", 0),
            timers: cell.stream("timers", 0),
            cancels: cell.stream("cancels", 0),
            record: Record {
                requests: Vec::new(),
                calls: calls.collect(),
                waiting: Vec::new(),
                releases: vec![None; keys],
                decisions: 0,
                empty_sleeps: 0,
                sends_in_hold: 0,
                inversions: 0,
                trace: Vec::new(),
            },
            tracing,
            patience,
            horizon: needed.saturating_mul(PATIENCE).saturating_add(600 * SECOND),
        };
        for (call, begun) in arrivals.iter().enumerate() {
            world.agenda.put(*begun, Event::Begin { call });
        }
        world
    }

    fn run(mut self) -> Record {
        let mut open = self.record.calls.len();
        let most_requests = REQUESTS_PER_CALL * self.record.calls.len() + 1000;
        while open > 0
            && let Some((at, event)) = self.agenda.take()
        {
            if at > self.horizon || self.record.requests.len() > most_requests {
                break;
            }
            self.now = at;
            let ended = self.happen(event);
            open -= ended;
            let waiting = self.monitor.waiting();
            match self.record.waiting.last_mut() {
                Some(last) if last.1 == waiting => {}
                Some(last) if last.0 == at => last.1 = waiting,
                _ => self.record.waiting.push((at, waiting)),
            }
        }
        self.record.sends_in_hold = self.monitor.sends_in_hold;
        self.record.inversions = self.monitor.inversions;
        self.record
    }

    /// Answers how many calls ended.
    fn happen(&mut self, event: Event) -> usize {
        match event {
            Event::Begin { call } => self.arrive(call),
            Event::Timer { call, generation } if self.generations[call] == generation => self.poll(call),
            Event::Timer { .. } => 0,
            Event::Wake { call } => self.poll(call),
            Event::Reach { request } => {
                self.reach(request);
                0
            }
            Event::Release { key } => {
                self.servers[key].release(self.now);
                self.watch(key);
                0
            }
            Event::Answer { request } => self.answer(request),
            Event::GiveUp { call } if self.phases[call] == Phase::Waiting => self.give_up(call, End::Cancelled),
            Event::GiveUpProbe { request } => {
                let call = self.record.requests[request].call;
                let flies = self.phases[call] == Phase::Flying { request };
                if flies { self.give_up(call, End::Cancelled) } else { 0 }
            }
            Event::Deadline { call } if self.phases[call] == Phase::Waiting => {
                self.give_up(call, End::Failed("deadline"))
            }
            Event::GiveUp { .. } | Event::Deadline { .. } => 0,
        }
    }

    fn arrive(&mut self, call: usize) -> usize {
        let process = &mut self.processes[self.record.calls[call].process];
        if process.free == 0 {
            process.pending.push_back(call);
            return 0;
        }
        process.free -= 1;
        self.begin(call)
    }

    fn begin(&mut self, call: usize) -> usize {
        let deadline = self.cell.deadline.map(|span| self.now + span);
        self.deadlines[call] = deadline;
        if let Some(deadline) = deadline {
            // A strategy that minds deadlines is never caught waiting at one.
            self.agenda.put(deadline + 1, Event::Deadline { call });
        }
        if self.cell.cancel > 0.0 && self.cancels.f64() < self.cell.cancel {
            let at = self.now + self.cancels.u64(0..=self.patience);
            self.agenda.put(at, Event::GiveUp { call });
        }
        let key = self.record.calls[call].key;
        let clock = self.clock();
        self.member(call).begin(clock, Ask { call, key, deadline });
        self.phases[call] = Phase::Waiting;
        self.poll(call)
    }

    fn poll(&mut self, call: usize) -> usize {
        if self.phases[call] != Phase::Waiting {
            return 0;
        }
        let clock = self.clock();
        let step = self.member(call).poll(clock, call);
        self.follow(call, step)
    }

    fn follow(&mut self, call: usize, step: Step) -> usize {
        self.record.decisions += 1;
        let Call { process, key, .. } = self.record.calls[call];
        self.remark(call);
        // Not every strategy minds deadlines: then its caller does.
        let goes_on = matches!(step, Step::Send { .. } | Step::Sleep(_) | Step::Park);
        if goes_on && self.deadlines[call].is_some_and(|deadline| deadline < self.now) {
            return self.give_up(call, End::Failed("deadline"));
        }
        let sent = matches!(step, Step::Send { .. });
        let ended = match step {
            Step::Send { probe } => {
                self.send(call, probe);
                0
            }
            Step::Sleep(wait) => {
                self.trace(call, || format!("sleeps {}", Seconds(wait)));
                self.record.empty_sleeps += u64::from(wait == 0);
                let wait = self.cell.timers.sleep(wait, &mut self.timers).max(1);
                self.generations[call] += 1;
                let generation = self.generations[call];
                self.agenda.put(self.now.saturating_add(wait), Event::Timer { call, generation });
                self.phases[call] = Phase::Waiting;
                self.monitor.wait(process, key, call);
                0
            }
            Step::Park => {
                self.trace(call, || "parks".to_owned());
                self.generations[call] += 1;
                self.phases[call] = Phase::Waiting;
                self.monitor.wait(process, key, call);
                0
            }
            Step::Done => self.end(call, End::Done),
            Step::Fail(reason) => self.end(call, End::Failed(reason)),
        };
        self.wake(call);
        if sent && self.monitor.sent(process, key, call) {
            self.trace(call, || "OVERTOOK an older call".to_owned());
        }
        ended
    }

    fn send(&mut self, call: usize, probe: bool) {
        let Call { process, key, .. } = self.record.calls[call];
        let early = self.monitor.send(self.now, process, key, call);
        self.trace(call, || {
            format!("SENDS{}{}", if probe { " (probe)" } else { "" }, if early { " IN A HOLD" } else { "" })
        });
        let request = self.record.requests.len();
        let rtt = self.cell.rtt.draw(&mut self.link);
        self.record.requests.push(Request { call, sent: self.now, reached: None, accepted: false, answered: None });
        self.answers.push(None);
        self.backs.push(rtt - rtt / 2);
        self.phases[call] = Phase::Flying { request };
        self.agenda.put(self.now + rtt / 2, Event::Reach { request });
        // Probes are few: given up at the rate of waiters hardly one would be.
        if probe && self.cell.cancel > 0.0 && self.cancels.f64() < (10.0 * self.cell.cancel).min(0.5) {
            let at = self.now + self.cancels.u64(0..=rtt.max(1));
            self.agenda.put(at, Event::GiveUpProbe { request });
        }
    }

    fn reach(&mut self, request: usize) {
        let call = self.record.requests[request].call;
        let key = self.record.calls[call].key;
        let verdict = self.servers[key].admit(self.now);
        self.record.requests[request].reached = Some(self.now);
        self.record.requests[request].accepted = verdict.accepted;
        let answered = self.now + verdict.delay;
        if verdict.accepted {
            self.agenda.put(answered, Event::Release { key });
        }
        let ahead = (self.cell.skew * SECOND as f64) as i64;
        let wall = (EPOCH + self.now).saturating_add_signed(ahead);
        let back = self.backs[request];
        let asked = if verdict.accepted {
            None
        } else {
            asked_until(self.cell.dialect, &verdict, self.now, wall, answered + back)
        };
        let head = render(self.cell.dialect, &verdict, wall, request as u64);
        self.trace(call, || {
            let quotas: Vec<_> = verdict
                .quotas
                .iter()
                .map(|quota| {
                    let reset = quota.reset.map_or("-".to_owned(), |reset| Seconds(reset).to_string());
                    format!("{}/{} reset {reset}", quota.remaining, quota.limit)
                })
                .collect();
            let wait = verdict.retry_after.map_or(String::new(), |wait| format!(", retry after {}", Seconds(wait)));
            let word = if verdict.accepted { "admitted" } else { "REFUSED" };
            format!("is {word} at the server: left {}{wait}", quotas.join("; "))
        });
        self.answers[request] = Some(Answer { head, asked });
        self.agenda.put(answered + back, Event::Answer { request });
        self.watch(key);
    }

    /// Notes the first instant at which a server that had no room has some.
    fn watch(&mut self, key: usize) {
        if self.record.releases[key].is_some() {
            return;
        }
        match self.servers[key].next_admission(self.now) {
            Some(release) if release > self.now => self.record.releases[key] = Some(release),
            Some(_) if self.ran_out[key] => self.record.releases[key] = Some(self.now),
            Some(_) => {}
            None => self.ran_out[key] = true,
        }
    }

    fn answer(&mut self, request: usize) -> usize {
        self.record.requests[request].answered = Some(self.now);
        let Request { call, accepted, .. } = self.record.requests[request];
        let Some(Answer { head, asked }) = self.answers[request].take() else { return 0 };
        // The caller of a call that was given up is gone.
        if self.phases[call] != (Phase::Flying { request }) {
            return 0;
        }
        let Call { process, key, .. } = self.record.calls[call];
        if !accepted && let Some((wait, until)) = asked {
            let longest = self.member(call).longest_wait();
            if longest.is_none_or(|longest| wait <= longest) {
                self.monitor.hold(process, key, until);
            }
        }
        self.trace(call, || format!("is answered {}", head.status));
        let clock = self.clock();
        let step = self.member(call).on_response(clock, call, &head);
        let ended = self.follow(call, step);
        // A refusal out of a cache concerns its own call alone: others may
        // pass while it waits.
        if head.status == 429 && head.headers.iter().any(|(name, _)| *name == "age") {
            self.monitor.leave(process, key, call);
        }
        ended
    }

    fn give_up(&mut self, call: usize, end: End) -> usize {
        let clock = self.clock();
        self.member(call).cancel(clock, call);
        self.remark(call);
        let ended = self.end(call, end);
        self.wake(call);
        ended
    }

    fn end(&mut self, call: usize, end: End) -> usize {
        self.trace(call, || format!("ends: {end:?}"));
        let Call { process, key, .. } = self.record.calls[call];
        self.monitor.leave(process, key, call);
        self.phases[call] = Phase::Ended;
        self.record.calls[call].ended = Some((self.now, end));
        let process = &mut self.processes[process];
        process.free = process.free.saturating_add(1);
        if let Some(next) = process.pending.pop_front() {
            self.agenda.put(self.now, Event::Begin { call: next });
        }
        1
    }

    /// Those that the strategy wants polled are polled at once.
    fn wake(&mut self, call: usize) {
        for call in self.member(call).take_wakes() {
            self.trace(call, || "is woken".to_owned());
            // Its turn has come: whoever is polled first at this instant does
            // not overtake it.
            let Call { process, key, .. } = self.record.calls[call];
            self.monitor.leave(process, key, call);
            self.agenda.put(self.now, Event::Wake { call });
        }
    }

    fn member(&mut self, call: usize) -> &mut dyn Strategy {
        let process = self.record.calls[call].process;
        &mut *self.members[self.processes[process].member]
    }

    fn clock(&self) -> Clock {
        Clock { now: self.now, wall: EPOCH + self.now }
    }

    fn remark(&mut self, call: usize) {
        if self.tracing {
            for remark in self.member(call).take_remarks() {
                self.record.trace.push(format!("{:>12} {:>4}       * {remark}", Seconds(self.now).to_string(), ""));
            }
        }
    }

    fn trace(&mut self, call: usize, line: impl FnOnce() -> String) {
        if self.tracing {
            let process = self.record.calls[call].process;
            let at = Seconds(self.now).to_string();
            self.record.trace.push(format!("{at:>12} p{process:<3} #{call:<5} {}", line()));
        }
    }
}

/// Nanoseconds as people read them.
struct Seconds(Nanos);

impl core::fmt::Display for Seconds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:.4}", self.0 as f64 / SECOND as f64)
    }
}
