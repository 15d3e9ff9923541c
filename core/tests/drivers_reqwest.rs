//! The middleware for reqwest, against real servers on the loopback.

mod drivers_support;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::request::Parts;
use http_body_util::{BodyExt, Channel, channel::Sender};
use rampmeter::driver::ManualClock;
use rampmeter::reqwest_middleware::{CallOptions, RateLimitMiddleware};
use rampmeter::{Config, Error, LOCAL_REFUSAL_HEADER, LOCAL_REFUSAL_STATUS, Limiter, Now, OnExhausted};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

/// A server that is stopped when it is dropped.
struct Server {
    url: String,
    hits: Arc<Mutex<Vec<Hit>>>,
    /// Lets one request to `/slow` be answered.
    release: Arc<tokio::sync::Semaphore>,
    task: tokio::task::JoinHandle<()>,
}

/// A request that arrived.
#[derive(Clone, Debug)]
struct Hit {
    path: String,
    body: Bytes,
}

impl Server {
    /// Answers each request by its number, from 1.
    async fn start(answer: impl Fn(usize, &Parts) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let hits = Arc::new(Mutex::new(Vec::new()));
        let release = Arc::new(tokio::sync::Semaphore::new(0));
        let answer = Arc::new(answer);
        let router = axum::Router::new().fallback({
            let (hits, release) = (Arc::clone(&hits), Arc::clone(&release));
            move |request: axum::extract::Request| {
                let (hits, release, answer) = (Arc::clone(&hits), Arc::clone(&release), Arc::clone(&answer));
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.unwrap().to_bytes();
                    let number = {
                        let mut hits = hits.lock().unwrap();
                        hits.push(Hit { path: parts.uri.path().to_owned(), body });
                        hits.len()
                    };
                    if parts.uri.path() == "/slow" {
                        release.acquire().await.unwrap().forget();
                    }
                    answer(number, &parts)
                }
            }
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, hits, release, task }
    }

    fn hits(&self) -> Vec<Hit> {
        self.hits.lock().unwrap().clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn answer(status: u16, fields: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in fields {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

/// A body of unknown length, and what feeds it.
fn stream() -> (Sender<Bytes, Infallible>, Body) {
    let (sender, body) = Channel::<Bytes, Infallible>::new(16);
    (sender, Body::new(body))
}

struct Rig {
    clock: ManualClock,
    limiter: Limiter,
    client: ClientWithMiddleware,
}

impl Rig {
    fn new(config: Config) -> Self {
        Self::with(config, |middleware| middleware)
    }

    fn with(
        config: Config,
        adapt: impl FnOnce(RateLimitMiddleware<ManualClock>) -> RateLimitMiddleware<ManualClock>,
    ) -> Self {
        let clock = ManualClock::new();
        let limiter = drivers_support::limiter(config);
        let middleware = adapt(RateLimitMiddleware::with_timer(limiter.clone(), clock.clone()));
        let client = ClientBuilder::new(plain()).with(middleware).build();
        Self { clock, limiter, client }
    }

    fn now(&self) -> Now {
        self.clock.now()
    }

    fn in_flight(&self) -> usize {
        self.limiter.stats(self.now()).total.in_flight
    }

    fn waiting(&self) -> usize {
        self.limiter.stats(self.now()).total.waiting
    }

    async fn get(&self, url: String) -> reqwest_middleware::Result<reqwest::Response> {
        self.client.get(url).send().await
    }

    /// Waits for the outcome, moving the clock whenever nothing happens for a
    /// while.
    async fn pump<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        for _ in 0..1000 {
            match tokio::time::timeout(Duration::from_millis(20), future.as_mut()).await {
                Ok(outcome) => return outcome,
                Err(_) => drop(self.clock.advance_to_next()),
            }
        }
        panic!("no outcome")
    }
}

fn plain() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn eventually(what: &str, done: impl Fn() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("this never came about: {what}");
}

fn limited(error: reqwest_middleware::Error) -> Error {
    match error {
        reqwest_middleware::Error::Middleware(error) => error.downcast::<Error>().expect("an error of the limiter"),
        reqwest_middleware::Error::Reqwest(error) => panic!("an error of the client: {error}"),
    }
}

#[tokio::test]
async fn a_refused_request_is_sent_again_whole_after_the_wait() {
    let server = Server::start(|number, _| match number {
        1 => answer(429, &[("retry-after", "30")], "wait"),
        _ => answer(200, &[], "done"),
    })
    .await;
    let rig = Rig::new(Config::default());
    let call = tokio::spawn(rig.client.post(server.url("/items")).body("payload").send());
    eventually("the call sleeps", || rig.waiting() == 1 && rig.clock.sleepers() == 1).await;
    rig.clock.advance(Duration::from_millis(29_999));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(server.hits().len(), 1, "sent again before the wait was over");

    rig.clock.advance(Duration::from_millis(501));
    let response = call.await.unwrap().unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (200, "done"));
    let bodies: Vec<_> = server.hits().into_iter().map(|hit| hit.body).collect();
    assert_eq!(bodies, ["payload", "payload"]);
}

#[tokio::test]
async fn a_refusal_whose_wait_does_not_fit_is_returned_as_the_response_that_it_is() {
    let server = Server::start(|_, _| answer(429, &[("retry-after", "3600"), ("x-id", "7")], "come back later")).await;
    let rig = Rig::new(Config::default());
    let response = rig.get(server.url("/items?page=1")).await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["x-id"], "7");
    assert_eq!(response.url().as_str(), server.url("/items?page=1"));
    assert!(response.remote_addr().is_some());
    assert_eq!(response.text().await.unwrap(), "come back later");
    assert_eq!(server.hits().len(), 1);
}

#[tokio::test]
async fn a_refusal_is_raised_if_asked_for() {
    let server = Server::start(|_, _| answer(429, &[("retry-after", "3600")], "")).await;
    let rig = Rig::with(Config::default(), |middleware| middleware.on_exhausted(OnExhausted::Raise));
    let error = limited(rig.get(server.url("/")).await.unwrap_err());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(error.name(), "RateLimitExceeded");
}

#[tokio::test]
async fn a_permanent_refusal_is_returned_at_once() {
    let body = r#"{"error": {"retry": false, "message": "plan ended"}}"#;
    let server = Server::start(move |_, _| answer(429, &[("content-type", "application/json")], body)).await;
    let rig = Rig::new(Config::default());
    let response = rig.get(server.url("/")).await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (429, body));
    assert_eq!(server.hits().len(), 1);
}

#[tokio::test]
async fn a_call_that_cannot_wait_for_its_turn_raises_an_error_of_the_limiter() {
    let server = Server::start(|number, _| match number {
        1 => answer(429, &[("retry-after", "30")], ""),
        _ => answer(200, &[], ""),
    })
    .await;
    let rig = Rig::new(Config::default());
    let held = tokio::spawn(rig.client.get(server.url("/")).send());
    eventually("the gate is held", || rig.waiting() == 1).await;
    let hurried = CallOptions::new().deadline(Duration::from_secs(10));
    let error = limited(rig.client.get(server.url("/")).with_extension(hurried).send().await.unwrap_err());
    let Error::Exceeded(error) = error else { panic!("another error: {error}") };
    assert_eq!(error.limit_name, "deadline");
    assert_eq!(server.hits().len(), 1);
    rig.clock.advance(Duration::from_secs(31));
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_wait_that_does_not_fit_is_a_marked_429_if_asked_for() {
    let server = Server::start(|number, _| match number {
        1 => answer(429, &[("retry-after", "30")], ""),
        _ => answer(200, &[], ""),
    })
    .await;
    let rig = Rig::with(Config::default(), |middleware| middleware.local_refusal(true));
    let held = tokio::spawn(rig.client.get(server.url("/")).send());
    eventually("the gate is held", || rig.waiting() == 1).await;
    let hurried = CallOptions::new().deadline(Duration::from_secs(10));
    let response = rig.client.get(server.url("/hurried")).with_extension(hurried).send().await.unwrap();
    assert_eq!(response.status().as_u16(), LOCAL_REFUSAL_STATUS);
    assert_eq!(response.url().as_str(), server.url("/hurried"));
    assert_eq!(response.headers()[LOCAL_REFUSAL_HEADER], "deadline");
    assert!(["30", "31"].contains(&response.headers()["retry-after"].to_str().unwrap()));
    assert!(response.text().await.unwrap().contains("deadline"));
    assert_eq!(server.hits().len(), 1);
    rig.clock.advance(Duration::from_secs(31));
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_one_shot_body_is_not_sent_twice() {
    let server = Server::start(|_, _| answer(429, &[("retry-after", "1")], "wait")).await;
    let rig = Rig::new(Config::default());
    let (mut sender, body) = Channel::<Bytes, Infallible>::new(1);
    sender.send_data(Bytes::from_static(b"once")).await.unwrap();
    drop(sender);
    let response = rig.client.post(server.url("/")).body(reqwest::Body::wrap(body)).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (429, "wait"));
    let bodies: Vec<_> = server.hits().into_iter().map(|hit| hit.body).collect();
    assert_eq!(bodies, ["once"]);
}

#[tokio::test]
async fn a_refusal_with_a_long_body_reaches_the_caller_whole() {
    let text = "no".repeat(100_000);
    let sent = text.clone();
    let server = Server::start(move |_, _| {
        let (mut sender, body) = stream();
        let text = Bytes::from(sent.clone());
        tokio::spawn(async move {
            for start in (0..text.len()).step_by(10_000) {
                sender.send_data(text.slice(start..start + 10_000)).await.unwrap();
            }
        });
        answer(429, &[("retry-after", "3600")], body)
    })
    .await;
    let rig = Rig::new(Config::default());
    let response = rig.get(server.url("/")).await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.text().await.unwrap() == text);
}

#[tokio::test]
async fn the_wait_in_a_refusals_body_is_obeyed() {
    let body = r#"{"retry": true, "retryAfter": 30}"#;
    let server = Server::start(move |number, _| match number {
        1 => answer(429, &[("content-type", "application/json")], body),
        _ => answer(200, &[], ""),
    })
    .await;
    let rig = Rig::new(Config::default());
    let call = tokio::spawn(rig.client.get(server.url("/")).send());
    eventually("the call sleeps", || rig.waiting() == 1 && rig.clock.sleepers() == 1).await;
    let wait = rig.clock.next_end().unwrap();
    assert!((Duration::from_secs(30)..Duration::from_secs(31)).contains(&wait), "{wait:?}");
    rig.clock.advance_to_next();
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn no_connection_is_held_during_a_wait() {
    let (closed, is_closed) = tokio::sync::oneshot::channel();
    let closed = Mutex::new(Some(closed));
    let server = Server::start(move |number, _| {
        if number > 1 {
            return answer(200, &[], "");
        }
        let (mut sender, body) = stream();
        let closed = closed.lock().unwrap().take().unwrap();
        tokio::spawn(async move {
            // A body without end, until the client hangs up.
            while sender.send_data(Bytes::from_static(b"wait ")).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            closed.send(()).unwrap();
        });
        answer(429, &[("retry-after", "30")], body)
    })
    .await;
    let rig = Rig::new(Config::default());
    let call = tokio::spawn(rig.client.get(server.url("/")).send());
    // The body is given a second, twice: once to be read, once to end.
    eventually("the body is read", || rig.clock.sleepers() == 1).await;
    rig.clock.advance(Duration::from_secs(1));
    tokio::time::sleep(Duration::from_millis(50)).await;
    rig.clock.advance(Duration::from_secs(1));
    tokio::time::timeout(Duration::from_secs(10), is_closed).await.expect("the connection is let go").unwrap();
    assert_eq!(server.hits().len(), 1);
    rig.clock.advance(Duration::from_secs(40));
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn a_call_whose_wait_is_overtaken_gets_its_own_refusal() {
    let server = Server::start(|_, parts| match parts.uri.path() {
        "/slow" => answer(429, &[("retry-after", "3600")], "the slow one's"),
        _ => answer(429, &[("retry-after", "30")], "the quick one's"),
    })
    .await;
    let rig = Rig::new(Config::default());
    let slow = tokio::spawn(rig.client.get(server.url("/slow")).send());
    eventually("the slow one is out", || server.hits().len() == 1).await;
    let quick = tokio::spawn(rig.client.get(server.url("/quick")).send());
    eventually("the quick one sleeps", || rig.waiting() == 1).await;
    server.release.add_permits(1);
    for (call, text) in [(slow, "the slow one's"), (quick, "the quick one's")] {
        let response = call.await.unwrap().unwrap();
        assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (429, text));
    }
    assert_eq!(server.hits().len(), 2);
}

#[tokio::test]
async fn a_second_refusal_whose_wait_does_not_fit_is_returned() {
    let server = Server::start(|number, _| answer(429, &[("retry-after", "30")], number.to_string())).await;
    let rig = Rig::new(Config::default().max_total_sleep(Duration::from_secs(40)));
    let response = rig.pump(rig.get(server.url("/"))).await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (429, "2"));
}

#[tokio::test]
async fn a_streamed_response_stays_in_flight_until_it_is_read() {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let senders = Arc::clone(&senders);
        move |_, _| {
            let (sender, body) = stream();
            senders.lock().unwrap().push(sender);
            answer(200, &[], body)
        }
    })
    .await;
    let rig = Rig::new(Config::default());
    let response = rig.get(server.url("/")).await.unwrap();
    let unread = rig.get(server.url("/")).await.unwrap();
    assert_eq!(rig.in_flight(), 2);
    let mut sender = senders.lock().unwrap().remove(0);
    sender.send_data(Bytes::from_static(b"all")).await.unwrap();
    drop(sender);
    assert_eq!(response.text().await.unwrap(), "all");
    assert_eq!(rig.in_flight(), 1);
    drop(unread);
    assert_eq!(rig.in_flight(), 0);
}

#[tokio::test]
async fn a_short_response_gives_its_slot_back_at_once() {
    let server = Server::start(|_, _| answer(200, &[], "short")).await;
    let rig = Rig::new(Config::default());
    let unread = rig.get(server.url("/")).await.unwrap();
    assert_eq!(rig.in_flight(), 0);
    assert_eq!(unread.text().await.unwrap(), "short");
}

#[tokio::test]
async fn a_long_response_stays_in_flight_though_its_length_is_known() {
    let server = Server::start(|_, _| answer(200, &[], "x".repeat(200_000))).await;
    let rig = Rig::new(Config::default());
    let response = rig.get(server.url("/")).await.unwrap();
    assert_eq!((response.content_length(), rig.in_flight()), (Some(200_000), 1));
    assert_eq!(response.text().await.unwrap().len(), 200_000);
    assert_eq!(rig.in_flight(), 0);
}

#[tokio::test]
async fn who_collects_responses_before_reading_any_is_not_starved() {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let senders = Arc::clone(&senders);
        move |number, _| {
            // Refused for being full as soon as two are being read.
            if number == 3 {
                let body = r#"{"retry": true, "limit": 2, "code": "concurrency_limit_exceeded"}"#;
                return answer(429, &[("content-type", "application/json")], body);
            }
            let (sender, body) = stream();
            senders.lock().unwrap().push(sender);
            answer(200, &[], body)
        }
    })
    .await;
    let rig = Rig::new(Config::default());
    let calls: Vec<_> = (0..12).map(|_| tokio::spawn(rig.client.get(server.url("/")).send())).collect();
    let mut responses = Vec::new();
    for call in calls {
        responses.push(rig.pump(call).await.unwrap().unwrap());
    }
    assert!(responses.iter().all(|response| response.status() == 200));
    senders.lock().unwrap().clear();
    for response in responses {
        response.text().await.unwrap();
    }
    assert_eq!(rig.in_flight(), 0);
}

#[tokio::test]
async fn dropping_a_request_frees_its_place() {
    let server = Server::start(|_, _| answer(429, &[("retry-after", "30")], "")).await;
    let rig = Rig::new(Config::default());
    let call = tokio::spawn(rig.client.get(server.url("/")).send());
    eventually("the call sleeps", || rig.waiting() == 1).await;
    call.abort();
    eventually("its place is free", || rig.waiting() == 0 && rig.clock.sleepers() == 0).await;
}

#[tokio::test]
async fn signals_after_a_redirect_go_to_the_origin_that_answered() {
    let fields = [("x-ratelimit-limit", "10"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "60")];
    let second = Server::start(move |_, _| answer(200, &fields, "")).await;
    let target = second.url("/there");
    let first = Server::start(move |_, _| answer(302, &[("location", &target)], "")).await;
    let rig = Rig::new(Config::default());
    assert_eq!(rig.get(first.url("/here")).await.unwrap().status(), 200);
    assert_eq!(rig.limiter.meters(rig.now(), &second.url).len(), 1);
    assert_eq!(rig.limiter.meters(rig.now(), &first.url), []);
}

#[tokio::test]
async fn a_failure_to_connect_is_retried_and_then_delivered_as_it_is() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let rig = Rig::new(Config::default());
    let error = rig.pump(rig.client.post(format!("http://{closed}/")).body("x").send()).await.unwrap_err();
    assert!(error.is_connect(), "{error}");
    let stats = rig.limiter.stats(rig.now()).total;
    assert_eq!((stats.sent, stats.failed, stats.in_flight), (3, 3, 0));
}

#[tokio::test]
async fn two_layers_of_one_limiter_retry_once() {
    let server = Server::start(|_, _| answer(429, &[("retry-after", "1")], "")).await;
    let clock = ManualClock::new();
    let limiter = drivers_support::limiter(Config::default().max_attempts(3));
    let layer = || RateLimitMiddleware::with_timer(limiter.clone(), clock.clone());
    let client = ClientBuilder::new(plain()).with(layer()).with(layer()).build();
    let rig = Rig { clock: clock.clone(), limiter: limiter.clone(), client };
    assert_eq!(rig.pump(rig.get(server.url("/"))).await.unwrap().status(), 429);
    assert_eq!(server.hits().len(), 3);
}

#[tokio::test]
async fn a_cache_inside_changes_nothing() {
    struct Cache;

    #[async_trait::async_trait]
    impl reqwest_middleware::Middleware for Cache {
        async fn handle(
            &self,
            request: reqwest::Request,
            _: &mut http::Extensions,
            _: reqwest_middleware::Next<'_>,
        ) -> reqwest_middleware::Result<reqwest::Response> {
            let age = if request.url().path() == "/aged" { ("age", "5") } else { ("x-from-cache", "1") };
            let response = http::Response::builder()
                .header("x-ratelimit-limit", "10")
                .header("x-ratelimit-remaining", "0")
                .header("x-ratelimit-reset", "600")
                .header(age.0, age.1);
            Ok(response.body("stored").unwrap().into())
        }
    }

    let clock = ManualClock::new();
    let limiter = drivers_support::limiter(Config::default());
    let middleware = RateLimitMiddleware::with_timer(limiter.clone(), clock.clone())
        .cached_by(|response| response.headers().contains_key("x-from-cache"));
    let client = ClientBuilder::new(plain()).with(middleware).with(Cache).build();
    for path in ["/aged", "/fresh", "/aged", "/fresh"] {
        let url = format!("http://cached.example{path}");
        let response = tokio::time::timeout(Duration::from_secs(5), client.get(url).send()).await;
        assert_eq!(response.expect("nobody is held").unwrap().text().await.unwrap(), "stored");
    }
    assert_eq!(limiter.meters(clock.now(), "http://cached.example"), []);
}

#[tokio::test]
async fn two_credentials_do_not_disturb_each_other() {
    let server = Server::start(|_, parts| match parts.headers.get("authorization").map(|value| value.as_bytes()) {
        Some(b"Bearer spent") => answer(429, &[("retry-after", "60")], ""),
        _ => answer(200, &[], ""),
    })
    .await;
    let rig = Rig::new(Config::default());
    let held = tokio::spawn(rig.client.get(server.url("/")).header("authorization", "Bearer spent").send());
    eventually("the first is held", || rig.waiting() == 1).await;
    let other = rig.client.get(server.url("/")).header("authorization", "Bearer other").send().await;
    assert_eq!(other.unwrap().status(), 200);
    assert_eq!(rig.limiter.scopes().len(), 2);
    let shown = format!("{:?} {:?}", rig.limiter.scopes(), rig.limiter.stats(rig.now()));
    assert!(!shown.contains("spent\"") && !shown.contains("Bearer"), "{shown}");
    held.abort();
}

#[tokio::test]
async fn scope_and_route_are_named_by_the_caller() {
    let server = Server::start(|_, _| answer(200, &[], "")).await;
    let rig = Rig::with(Config::default(), |middleware| {
        middleware.scope_by(|request| request.url().path().starts_with("/eu").then(|| "eu".to_owned()))
    });
    rig.get(server.url("/eu/items")).await.unwrap();
    rig.get(server.url("/us/items")).await.unwrap();
    let named = CallOptions::new().scope("tenant").route("items").priority(3).cost("tokens", 5.0);
    rig.client.get(server.url("/eu/items")).with_extension(named).send().await.unwrap();
    let scopes = rig.limiter.scopes();
    assert_eq!(scopes.len(), 3, "{scopes:?}");
    for scope in ["eu", "tenant", server.url.as_str()] {
        assert!(scopes.iter().any(|shown| shown == scope), "{scope} is not among {scopes:?}");
    }
}

#[tokio::test]
async fn a_wrong_cost_is_a_typed_error_and_nothing_is_sent() {
    let server = Server::start(|_, _| answer(200, &[], "")).await;
    let rig = Rig::new(Config::default());
    let wrong = CallOptions::new().cost("tokens", f64::NAN);
    let error = limited(rig.client.get(server.url("/")).with_extension(wrong).send().await.unwrap_err());
    assert!(matches!(error, Error::Config(_)), "{error}");
    assert_eq!(server.hits().len(), 0);
}

#[tokio::test]
async fn routes_are_told_apart_by_path_and_not_by_identifier() {
    let fields = [("ratelimit", r#""history";r=0;t=60"#), ("ratelimit-policy", r#""history";q=1;w=60"#)];
    let server = Server::start(move |_, parts| match parts.uri.path() {
        "/rest" => answer(200, &[], ""),
        _ => answer(200, &fields, ""),
    })
    .await;
    let rig = Rig::new(Config::default());
    rig.get(server.url("/history/1")).await.unwrap();
    let rest = tokio::time::timeout(Duration::from_secs(5), rig.get(server.url("/rest"))).await;
    assert_eq!(rest.expect("a spent history meter does not hold rest").unwrap().status(), 200);
    let held = tokio::time::timeout(Duration::from_millis(50), rig.get(server.url("/history/2"))).await;
    assert!(held.is_err(), "sent though its meter is spent");
    assert_eq!(server.hits().iter().map(|hit| hit.path.as_str()).collect::<Vec<_>>(), ["/history/1", "/rest"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_is_not_refused_by_a_server_that_says_what_is_left() {
    let started = std::time::Instant::now();
    let window = Mutex::new((0u128, 0u32));
    let refused = Arc::new(Mutex::new(0));
    let server = Server::start({
        let refused = Arc::clone(&refused);
        move |_, _| {
            let now = started.elapsed().as_millis();
            let mut window = window.lock().unwrap();
            if window.0 != now / 1000 {
                *window = (now / 1000, 0);
            }
            let left = format!("{:.3}", (1000 - now % 1000) as f64 / 1000.0);
            if window.1 >= 40 {
                *refused.lock().unwrap() += 1;
                return answer(429, &[("retry-after", &left)], "");
            }
            window.1 += 1;
            let remaining = (40 - window.1).to_string();
            let fields =
                [("x-ratelimit-limit", "40"), ("x-ratelimit-remaining", &remaining), ("x-ratelimit-reset", &left)];
            answer(200, &fields, "ok")
        }
    })
    .await;
    let limiter = Limiter::new(Config::default()).unwrap();
    let client = ClientBuilder::new(plain()).with(RateLimitMiddleware::new(limiter)).build();
    let calls: Vec<_> = (0..120).map(|_| tokio::spawn(client.get(server.url("/items")).send())).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(*refused.lock().unwrap(), 0);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
