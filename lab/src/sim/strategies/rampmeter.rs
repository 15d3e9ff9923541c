//! The product, as any driver uses it.

use std::collections::HashMap;

use ::rampmeter::{Call, CallId, Config, Decision, Instant, Limiter, Now, Reason, Request, Response, Wall};

use crate::dialects::Head;
use crate::servers::Nanos;
use crate::sim::cell::Cell;
use crate::sim::strategy::{Ask, Clock, Step, Strategy};

/// One limiter, shared by all calls of a process.
pub(super) struct Rampmeter {
    limiter: Limiter,
    calls: HashMap<usize, Call>,
    /// Which call an id means; looked up, never iterated.
    numbers: HashMap<CallId, usize>,
    woken: bool,
    longest_wait: Option<Nanos>,
}

impl Rampmeter {
    /// With `woken`, calls are polled when the limiter says so; else only at
    /// the end of their sleeps.
    ///
    /// # Panics
    ///
    /// If the cell's options are wrong: they are checked when a cell is made.
    pub(super) fn new(cell: &Cell, process: u64, woken: bool, tracing: bool) -> Self {
        let config = config(cell, process).expect("a cell's options are checked when it is made");
        let limiter = Limiter::new(config).expect("a cell's options are checked when it is made");
        limiter.listen(tracing);
        limiter.collect_notices();
        let longest_wait = option(cell, "max_retry_after").as_f64().map(|seconds| (seconds * 1e9) as Nanos);
        Self { limiter, calls: HashMap::new(), numbers: HashMap::new(), woken, longest_wait }
    }

    fn step(&mut self, now: Now, call: usize, decision: Decision) -> Step {
        match decision {
            Decision::Send { reason } => Step::Send { probe: reason == Reason::Probing },
            Decision::Sleep { wait, .. } => Step::Sleep(wait.as_nanos() as Nanos),
            Decision::Deliver { .. } => {
                if let Some(call) = self.forget(call) {
                    call.finish(now);
                }
                Step::Done
            }
            Decision::Raise { error } => {
                self.forget(call);
                Step::Fail(match &*error {
                    ::rampmeter::Error::Exceeded(error) => error.limit_name,
                    error => error.name(),
                })
            }
        }
    }

    fn forget(&mut self, call: usize) -> Option<Call> {
        let call = self.calls.remove(&call)?;
        self.numbers.remove(&call.id());
        Some(call)
    }
}

/// The options of one process's limiter.
pub(super) fn config(cell: &Cell, process: u64) -> Result<Config, ::rampmeter::ConfigError> {
    Config::default().seed(cell.stream("rampmeter", process).u64(..)).with_options(&cell.options)
}

/// The value of an option in this cell.
fn option(cell: &Cell, name: &str) -> serde_json::Value {
    let defaults = ::rampmeter::options_json();
    let default = || defaults.as_array()?.iter().find(|option| option["name"] == name)?.get("default").cloned();
    cell.options.get(name).cloned().or_else(default).unwrap_or_default()
}

fn reading(clock: Clock) -> Now {
    let now = Now::from_nanos(clock.now);
    match i64::try_from(clock.wall) {
        Ok(wall) => now.with_wall(Wall::from_unix_nanos(wall)),
        Err(_) => now,
    }
}

impl Strategy for Rampmeter {
    fn begin(&mut self, clock: Clock, ask: Ask) {
        let url = format!("https://key-{}.example.com/v1/items", ask.key);
        let request = Request { deadline: ask.deadline.map(Instant::from_nanos), ..Request::new("GET", &url) };
        let call = self.limiter.begin(reading(clock), &request).expect("the request has an origin and no cost");
        self.numbers.insert(call.id(), ask.call);
        self.calls.insert(ask.call, call);
    }

    fn poll(&mut self, clock: Clock, call: usize) -> Step {
        let now = reading(clock);
        let Some(handle) = self.calls.get(&call) else { return Step::Fail("unknown") };
        let decision = handle.poll(now);
        self.step(now, call, decision)
    }

    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step {
        let now = reading(clock);
        let Some(handle) = self.calls.get(&call) else { return Step::Fail("unknown") };
        let wanted = handle.wants_body(head.status, &head.headers);
        let body = head.body.as_bytes();
        let body = (wanted > 0).then(|| &body[..body.len().min(wanted)]);
        let decision = handle.on_response(now, Response::new(head.status, &head.headers).body(body));
        self.step(now, call, decision)
    }

    fn cancel(&mut self, clock: Clock, call: usize) {
        if let Some(call) = self.forget(call) {
            call.cancel(reading(clock));
        }
    }

    fn take_wakes(&mut self) -> Vec<usize> {
        let wakes = self.limiter.take_wakes();
        if self.woken { wakes.iter().filter_map(|id| self.numbers.get(id).copied()).collect() } else { Vec::new() }
    }

    fn longest_wait(&self) -> Option<Nanos> {
        self.longest_wait
    }

    fn take_remarks(&mut self) -> Vec<String> {
        let events = self.limiter.take_events();
        let remark = |event: ::rampmeter::Event| {
            let mut words = vec![event.kind.name().to_owned()];
            words.extend(event.reason.map(|reason| reason.name().to_owned()));
            words.extend(event.meter.map(|meter| format!("meter {meter}")));
            words.extend(event.seconds.map(|seconds| format!("{seconds:.3} s")));
            words.extend(event.detail);
            words.extend(event.headers.iter().map(|(name, value)| format!("{name}: {value}")));
            words.push(format!("waiting {}", event.waiting));
            words.join(", ")
        };
        events.into_iter().map(remark).collect()
    }
}
