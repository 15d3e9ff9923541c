//! Script vectors: steps in virtual time, and the decisions that must follow.

use std::collections::BTreeMap;

use rampmeter::{
    Call, Config, ConfigError, Decision, EventKind, FailureKind, Instant, Limiter, Meter, Now, Request, Response, Wall,
};
use serde_json::{Value, json};

use super::compare;

const SECOND: f64 = 1e9;

/// The monotonic clock at a vector's zero. Its start is arbitrary: an engine
/// that takes zero for "never" shows it here.
const START: u64 = 1_000_000_000_000;

pub(super) fn check(vector: &Value) -> Result<(), String> {
    let options = vector.get("config").filter(|config| !config.is_null()).cloned().unwrap_or_else(|| json!({}));
    let limiter = Config::default().with_options(&options).and_then(Limiter::new);
    match (vector.get("config_error").and_then(Value::as_str), limiter) {
        (Some(option), Ok(_)) => Err(format!("expected a ConfigError that names {option}, got none")),
        (Some(option), Err(error)) if names(&error, option) => Ok(()),
        (Some(option), Err(error)) => Err(format!("expected a ConfigError that names {option}, got: {error}")),
        (None, Err(error)) => Err(format!("the config is refused: {error}")),
        (None, Ok(limiter)) => Script::new(limiter, vector).run(),
    }
}

/// An error about a member of an option names the option, and one about a pair
/// names both.
fn names(error: &ConfigError, option: &str) -> bool {
    error.option.split('.').next() == option.split('.').next() && (!option.contains('.') || error.option == option)
        || error.problem.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == option)
}

struct Script<'a> {
    limiter: Limiter,
    steps: &'a [Value],
    calls: BTreeMap<&'a str, Call>,
    /// The wall clock's reading at the vector's zero.
    wall_at_zero: Option<f64>,
    /// The kinds of the events since the last step that asked.
    events: Vec<EventKind>,
    at: f64,
}

impl<'a> Script<'a> {
    fn new(limiter: Limiter, vector: &'a Value) -> Self {
        limiter.listen(true);
        Self {
            limiter,
            steps: vector.get("steps").and_then(Value::as_array).map_or(&[], Vec::as_slice),
            calls: BTreeMap::new(),
            wall_at_zero: vector.get("wall").and_then(Value::as_f64),
            events: Vec::new(),
            at: 0.0,
        }
    }

    fn run(mut self) -> Result<(), String> {
        for index in 0..self.steps.len() {
            self.step(index).map_err(|problem| {
                let step = &self.steps[index];
                format!("step {} of {}: {problem}\nin {step}", index + 1, self.steps.len())
            })?;
        }
        Ok(())
    }

    fn step(&mut self, index: usize) -> Result<(), String> {
        let step = &self.steps[index];
        self.at = step.get("at").and_then(Value::as_f64).unwrap_or(self.at);
        if let Some(wall) = step.get("wall") {
            self.wall_at_zero = wall.as_f64().map(|wall| wall - self.at);
        }
        let id = |key: &str| step.get(key).and_then(Value::as_str);
        let now = self.now();

        if let Some(id) = id("begin") {
            self.begin(id, step)?;
        } else if let Some(id) = id("poll") {
            expect(step, &self.call(id)?.poll(now))?;
        } else if let Some(id) = id("response") {
            self.response(index, id, step)?;
        } else if let Some(id) = id("failure") {
            let kind = step.get("kind").and_then(Value::as_str).unwrap_or("other");
            let kind = FailureKind::from_name(kind).ok_or_else(|| format!("there is no failure kind {kind}"))?;
            let decision = self.call(id)?.on_failure(now, kind);
            self.finish_unless_told(index, id, &decision)?;
            expect(step, &decision)?;
        } else if let Some(id) = id("settle") {
            let cost = amounts(step.get("cost"))?;
            self.call(id)?
                .settle(now, &borrowed(&cost))
                .or_else(|error| compare::refused_argument(step.get("expect"), &error))?;
        } else if let Some(id) = id("finish") {
            self.call(id)?.finish(now);
        } else if let Some(id) = id("cancel") {
            self.call(id)?.cancel(now);
        } else if let Some(scope) = id("meters") {
            if let Some(expected) = step.get("expect") {
                compare::meters(expected, &self.meters(scope))?;
            }
        } else if step.get("close").is_some_and(|close| close != &Value::Bool(false)) {
            self.limiter.close(now);
        }
        self.expect_events(step)
    }

    fn now(&self) -> Now {
        let now = Now::from_nanos(self.instant(self.at).as_nanos());
        match self.wall_at_zero.and_then(|zero| Wall::from_unix_seconds(zero + self.at)) {
            Some(wall) => now.with_wall(wall),
            None => now,
        }
    }

    fn instant(&self, at: f64) -> Instant {
        Instant::from_nanos(START.saturating_add((at * SECOND).round() as u64))
    }

    fn call(&self, id: &str) -> Result<&Call, String> {
        self.calls.get(id).ok_or_else(|| format!("no call {id} was begun"))
    }

    fn begin(&mut self, id: &'a str, step: &'a Value) -> Result<(), String> {
        let text = |key: &str| step.get(key).and_then(Value::as_str);
        let cost = amounts(step.get("cost"))?;
        let cost = borrowed(&cost);
        let headers = compare::headers(step.get("headers"))?;
        let mut request = Request::new(text("method").unwrap_or("GET"), text("url").unwrap_or_default());
        request.headers = Some(&headers);
        request.scope = text("scope");
        request.route = text("route");
        request.cost = &cost;
        request.priority = step.get("priority").and_then(Value::as_i64).map_or(0, |priority| priority as i32);
        request.deadline = step.get("deadline").and_then(Value::as_f64).map(|span| self.instant(self.at + span));
        request.retry = step.get("retry").and_then(Value::as_bool);
        match self.limiter.begin(self.now(), &request) {
            Ok(call) => {
                self.calls.insert(id, call);
                Ok(())
            }
            Err(error) => compare::refused_argument(step.get("expect"), &error),
        }
    }

    fn response(&mut self, index: usize, id: &'a str, step: &'a Value) -> Result<(), String> {
        let status = step.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let status = status.ok_or("the step's status is no status code")?;
        let headers = compare::headers(step.get("headers"))?;
        let body = compare::body(step.get("body"));
        let response = Response::new(status, &headers)
            .body(body.as_deref().map(str::as_bytes))
            .cached(step.get("cached").and_then(Value::as_bool).unwrap_or(false))
            .answered_by(step.get("url").and_then(Value::as_str));
        let decision = self.call(id)?.on_response(self.now(), response);
        self.finish_unless_told(index, id, &decision)?;
        expect(step, &decision)
    }

    /// What is delivered counts as finished at once, unless a later step says
    /// when.
    fn finish_unless_told(&self, index: usize, id: &str, decision: &Decision) -> Result<(), String> {
        let told = self.steps[index + 1..].iter().any(|step| step.get("finish").and_then(Value::as_str) == Some(id));
        if matches!(decision, Decision::Deliver { .. }) && !told {
            self.call(id)?.finish(self.now());
        }
        Ok(())
    }

    /// The meters of a scope, each with the seconds until its reset.
    fn meters(&self, scope: &str) -> Vec<(Meter, Option<f64>)> {
        let now = self.now();
        let seconds = |meter: &Meter| meter.until_reset(now.mono).map(|wait| wait.as_secs_f64());
        self.limiter.meters(now, scope).into_iter().map(|meter| (meter.clone(), seconds(&meter))).collect()
    }

    fn expect_events(&mut self, step: &Value) -> Result<(), String> {
        self.events.extend(self.limiter.take_events().into_iter().map(|event| event.kind));
        let Some(expected) = step.get("events").and_then(Value::as_array) else { return Ok(()) };
        let mut happened = std::mem::take(&mut self.events);
        let shown: Vec<_> = happened.iter().map(|kind| kind.name()).collect();
        for kind in expected.iter().filter_map(Value::as_str) {
            match happened.iter().position(|event| event.name() == kind) {
                Some(position) => drop(happened.remove(position)),
                None => return Err(format!("expected the events {expected:?}, got {shown:?}")),
            }
        }
        Ok(())
    }
}

fn expect(step: &Value, decision: &Decision) -> Result<(), String> {
    step.get("expect").map_or(Ok(()), |expected| compare::decision(expected, decision))
}

fn amounts(cost: Option<&Value>) -> Result<Vec<(String, f64)>, String> {
    match cost {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(unit, amount)| match amount.as_f64() {
                Some(amount) => Ok((unit.clone(), amount)),
                None => Err(format!("the vector's cost {amount} is no number")),
            })
            .collect(),
        Some(amount) => match amount.as_f64() {
            Some(amount) => Ok(vec![("requests".to_owned(), amount)]),
            None => Err(format!("the vector's cost {amount} is no mapping")),
        },
    }
}

fn borrowed(cost: &[(String, f64)]) -> Vec<(&str, f64)> {
    cost.iter().map(|(unit, amount)| (unit.as_str(), *amount)).collect()
}
