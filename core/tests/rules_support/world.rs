//! Clients before a simulated server, in virtual time: a queue of moments, a
//! trace of what happened, and no clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rampmeter::{Call, CallId, Decision, FailureKind, Limiter, Now, Request, Response};

use super::{SECOND, START, URL};

/// How the server decides.
#[derive(Clone, Debug)]
pub enum Model {
    /// `limit` requests per aligned window.
    Window { limit: u64, window: u64, said: Said },
    /// At most `cap` requests at once, each served for `service`; a bare 429
    /// beyond.
    Capacity { cap: u64, service: u64 },
    /// A token bucket that tells whole seconds when it is empty.
    Bucket { rate: u64, burst: u64 },
    /// Any answer at all, drawn from this seed.
    Hostile { seed: u64 },
}

/// What a window server says of its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Limit, remaining and reset in every response.
    Everything,
    /// `Retry-After` in a refusal.
    RetryAfter,
    /// Nothing.
    Nothing,
}

/// One client call.
#[derive(Clone, Debug)]
pub struct Plan {
    /// When it begins, from the world's zero.
    pub begins: u64,
    /// How long the way there and back takes.
    pub latency: u64,
    pub priority: i32,
    /// Seconds from its beginning.
    pub deadline: Option<u64>,
    /// When it is given up, from its beginning.
    pub cancelled: Option<u64>,
}

impl Plan {
    pub fn new(begins: u64, latency: u64) -> Self {
        Self { begins, latency, priority: 0, deadline: None, cancelled: None }
    }
}

/// What happened, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A call was sent; `send` counts all sends.
    Sent { call: usize, send: usize },
    /// The answer to `send` was reported.
    Answered {
        call: usize,
        send: usize,
        status: u16,
        retry_after: Option<u64>,
        remaining: Option<u64>,
        reset: Option<u64>,
    },
    /// The core said to sleep.
    Slept { call: usize, wait: u64 },
    /// A call ended: delivered, raised or cancelled.
    Ended { call: usize, how: String },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Begin(usize),
    /// A call polls, unless another poll was arranged since.
    Poll(usize, u64),
    Poke(usize),
    Arrive(usize, usize),
    Return(usize, usize),
    Cancel(usize),
}

struct Client {
    plan: Plan,
    call: Option<Call>,
    waiting: bool,
    /// Counts arrangements, so that an older one means nothing.
    arranged: u64,
    ended: bool,
}

/// A status and header fields on their way back.
type Answer = (u16, Vec<(String, String)>);

pub struct World {
    pub limiter: Limiter,
    pub trace: Vec<(u64, Happened)>,
    /// Requests that the server turned away.
    pub refused: u64,
    pub accepted: u64,
    model: Model,
    clients: Vec<Client>,
    moments: BinaryHeap<Reverse<(u64, u64, Moment)>>,
    order: u64,
    now: u64,
    sends: usize,
    window: u64,
    used: u64,
    busy: u64,
    full_at: u64,
    random: fastrand::Rng,
    answers: Vec<Option<Answer>>,
}

impl World {
    /// `pokes` are extra polls: (when, whom).
    pub fn new(limiter: Limiter, model: Model, plans: &[Plan], pokes: &[(u64, usize)]) -> Self {
        let seed = if let Model::Hostile { seed } = model { seed } else { 0 };
        let mut world = Self {
            limiter,
            trace: Vec::new(),
            refused: 0,
            accepted: 0,
            model,
            clients: Vec::new(),
            moments: BinaryHeap::new(),
            order: 0,
            now: 0,
            sends: 0,
            window: 0,
            used: 0,
            busy: 0,
            full_at: 0,
            random: fastrand::Rng::with_seed(seed),
            answers: Vec::new(),
        };
        for (client, plan) in plans.iter().enumerate() {
            world.arrange(plan.begins, Moment::Begin(client));
            if let Some(after) = plan.cancelled {
                world.arrange(plan.begins + after, Moment::Cancel(client));
            }
            world.clients.push(Client { plan: plan.clone(), call: None, waiting: false, arranged: 0, ended: false });
        }
        for (when, client) in pokes {
            world.arrange(*when, Moment::Poke(client % plans.len().max(1)));
        }
        world
    }

    /// Lets everything happen. A call that has not ended by `until` is a
    /// deadlock, a world of too many moments a tight loop.
    pub fn run(&mut self, until: u64) {
        let mut moments = 0u64;
        while let Some(Reverse((when, _, moment))) = self.moments.pop() {
            if self.clients.iter().all(|client| client.ended) {
                break;
            }
            assert!(
                when <= until,
                "{} calls wait for ever",
                self.clients.iter().filter(|client| !client.ended).count()
            );
            moments += 1;
            assert!(moments < 400_000, "the clients poll in a tight loop");
            self.now = when;
            self.happen(moment);
        }
        assert!(self.clients.iter().all(|client| client.ended), "a call was forgotten");
    }

    fn happen(&mut self, moment: Moment) {
        match moment {
            Moment::Begin(client) => self.begin(client),
            Moment::Poll(client, arranged) if self.clients[client].arranged == arranged => self.poll(client),
            Moment::Poll(..) => {}
            Moment::Poke(client) => self.poll(client),
            Moment::Arrive(client, send) => self.arrive(client, send),
            Moment::Return(client, send) => self.come_back(client, send),
            Moment::Cancel(client) => self.cancel(client),
        }
        for id in self.limiter.take_wakes() {
            self.wake(id);
        }
    }

    fn arrange(&mut self, when: u64, moment: Moment) {
        self.order += 1;
        self.moments.push(Reverse((when, self.order, moment)));
    }

    fn clock(&self) -> Now {
        Now::from_nanos(START + self.now)
    }

    fn note(&mut self, happened: Happened) {
        self.trace.push((self.now, happened));
    }

    fn begin(&mut self, client: usize) {
        let now = self.clock();
        let plan = &self.clients[client].plan;
        let mut request = Request::new("GET", URL);
        request.priority = plan.priority;
        request.deadline =
            plan.deadline.map(|span| rampmeter::Instant::from_nanos(now.mono.as_nanos() + span * SECOND));
        self.clients[client].call = Some(self.limiter.begin(now, &request).expect("the request is right"));
        self.clients[client].waiting = true;
        self.poll(client);
    }

    fn poll(&mut self, client: usize) {
        let now = self.clock();
        if !self.clients[client].waiting {
            return;
        }
        let Some(call) = &self.clients[client].call else { return };
        let decision = call.poll(now);
        assert_eq!(decision, call.poll(now), "polling twice at one instant gives the same answer");
        self.follow(client, decision);
    }

    fn follow(&mut self, client: usize, decision: Decision) {
        match decision {
            Decision::Send { .. } => {
                let send = self.sends;
                self.sends += 1;
                self.answers.push(None);
                self.clients[client].waiting = false;
                self.note(Happened::Sent { call: client, send });
                self.arrange(self.now + self.clients[client].plan.latency / 2, Moment::Arrive(client, send));
            }
            Decision::Sleep { wait, .. } => {
                let wait = u64::try_from(wait.as_nanos()).expect("a sleep is finite");
                assert!(wait > 0, "a sleep is above zero");
                self.clients[client].waiting = true;
                self.clients[client].arranged += 1;
                self.note(Happened::Slept { call: client, wait });
                let due = self.now.checked_add(wait).expect("a sleep ends some day");
                self.arrange(due, Moment::Poll(client, self.clients[client].arranged));
            }
            Decision::Deliver { reason } => {
                let now = self.clock();
                if let Some(call) = &self.clients[client].call {
                    call.finish(now);
                }
                self.end(client, format!("delivered {}", reason.name()));
            }
            Decision::Raise { error } => {
                let limit = match &*error {
                    rampmeter::Error::Exceeded(exceeded) => exceeded.limit_name,
                    other => other.name(),
                };
                self.end(client, format!("raised {limit}"));
            }
        }
    }

    fn end(&mut self, client: usize, how: String) {
        self.clients[client].ended = true;
        self.clients[client].waiting = false;
        self.note(Happened::Ended { call: client, how });
    }

    fn cancel(&mut self, client: usize) {
        let now = self.clock();
        if self.clients[client].ended {
            return;
        }
        if let Some(call) = &self.clients[client].call {
            call.cancel(now);
            self.end(client, "cancelled".to_owned());
        }
    }

    fn wake(&mut self, id: CallId) {
        let waits = |client: &Client| client.waiting && client.call.as_ref().is_some_and(|call| call.id() == id);
        if let Some(client) = self.clients.iter().position(waits) {
            self.clients[client].arranged += 1;
            self.arrange(self.now, Moment::Poll(client, self.clients[client].arranged));
        }
    }

    fn arrive(&mut self, client: usize, send: usize) {
        let mut back = self.clients[client].plan.latency - self.clients[client].plan.latency / 2;
        let answer = match self.model.clone() {
            Model::Window { limit, window, said } => self.window_answer(limit, window, said),
            Model::Capacity { cap, service } => {
                let free = self.busy < cap;
                if free {
                    self.busy += 1;
                    back += service;
                }
                (if free { 200 } else { 429 }, Vec::new())
            }
            Model::Bucket { rate, burst } => self.bucket_answer(rate, burst),
            Model::Hostile { .. } => self.hostile_answer(),
        };
        if answer.0 == 429 {
            self.refused += 1
        } else {
            self.accepted += 1
        }
        self.answers[send] = Some(answer);
        self.arrange(self.now + back, Moment::Return(client, send));
    }

    fn window_answer(&mut self, limit: u64, window: u64, said: Said) -> (u16, Vec<(String, String)>) {
        if self.now / window != self.window {
            self.window = self.now / window;
            self.used = 0;
        }
        let free = self.used < limit;
        self.used += u64::from(free);
        let reset = (window - self.now % window).div_ceil(SECOND).to_string();
        let mut headers = Vec::new();
        if said == Said::Everything {
            headers.push(("RateLimit-Limit".to_owned(), limit.to_string()));
            headers.push(("RateLimit-Remaining".to_owned(), (limit - self.used).to_string()));
            headers.push(("RateLimit-Reset".to_owned(), reset.clone()));
        }
        if said != Said::Nothing && !free {
            headers.push(("Retry-After".to_owned(), reset));
        }
        (if free { 200 } else { 429 }, headers)
    }

    fn bucket_answer(&mut self, rate: u64, burst: u64) -> (u16, Vec<(String, String)>) {
        let token = SECOND / rate;
        let earliest = self.full_at.max(self.now);
        if earliest + token <= self.now + burst * token {
            self.full_at = earliest + token;
            return (200, Vec::new());
        }
        let wait = (earliest + token - self.now - burst * token).div_ceil(SECOND);
        (429, vec![("Retry-After".to_owned(), wait.to_string())])
    }

    fn hostile_answer(&mut self) -> (u16, Vec<(String, String)>) {
        const STATUS: [u16; 12] = [200, 200, 200, 204, 304, 400, 403, 404, 429, 429, 500, 503];
        const NAMES: [&str; 9] = [
            "Retry-After",
            "retry-after-ms",
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
            "RateLimit",
            "RateLimit-Policy",
            "Age",
            "Date",
        ];
        const VALUES: [&str; 20] = [
            "0",
            "1",
            "5",
            "40",
            "100",
            "3600",
            "-1",
            "-5",
            "nan",
            "inf",
            "1e999",
            "18446744073709551616",
            "",
            " ",
            "1700000000",
            "Tue, 14 Nov 2023 22:13:20 GMT",
            "\"p\";r=0;t=9",
            "\"p\";q=10;w=60",
            "limit=5, remaining=0, reset=7",
            "\u{fc}\u{0}",
        ];
        let status = STATUS[self.random.usize(..STATUS.len())];
        let headers = (0..self.random.usize(..4))
            .map(|_| {
                (
                    NAMES[self.random.usize(..NAMES.len())].to_owned(),
                    VALUES[self.random.usize(..VALUES.len())].to_owned(),
                )
            })
            .collect();
        (status, headers)
    }

    fn come_back(&mut self, client: usize, send: usize) {
        let Some((status, headers)) = self.answers[send].take() else { return };
        if matches!(self.model, Model::Capacity { .. }) && status == 200 {
            // The way back is not counted: the client cannot know better.
            self.busy -= 1;
        }
        if self.clients[client].ended {
            return;
        }
        let number = |name: &str| {
            headers.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.parse::<u64>().ok())
        };
        let (retry_after, remaining, reset) =
            (number("Retry-After"), number("RateLimit-Remaining"), number("RateLimit-Reset"));
        self.note(Happened::Answered { call: client, send, status, retry_after, remaining, reset });
        let now = self.clock();
        let Some(call) = &self.clients[client].call else { return };
        let lost = matches!(self.model, Model::Hostile { .. }) && self.random.u8(..) < 20;
        let decision = if lost {
            call.on_failure(now, FailureKind::ALL[self.random.usize(..4)].1)
        } else {
            call.on_response(now, Response::new(status, &headers))
        };
        self.follow(client, decision);
    }
}
