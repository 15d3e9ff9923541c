//! The stub on the wire.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::admission::{Admission, Counts, Settings, Ticket, Timeline};
use crate::dialects::{Head, asked_until, render};
use crate::servers::Nanos;

/// How long open connections may take to end once the server stops.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// A stub server: admission under one mutex, and how requests reach it.
pub struct Stub {
    clock: Instant,
    admission: Mutex<Admission>,
    key_headers: Vec<HeaderName>,
    latency: Duration,
    stop: Notify,
}

impl Stub {
    /// A stub whose windows begin now. Requests share one quota unless they
    /// differ in the first of `key_headers` that they carry. Every answer takes
    /// at least `latency`.
    #[must_use]
    pub fn new(settings: Settings, key_headers: Vec<HeaderName>, latency: Duration) -> Self {
        Self {
            clock: Instant::now(),
            admission: Mutex::new(Admission::new(settings, 0)),
            key_headers,
            latency,
            stop: Notify::new(),
        }
    }

    /// How many came so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.with(|admission, _| admission.counts())
    }

    /// The record so far.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        self.with(|admission, now| admission.timeline(now))
    }

    fn now(&self) -> Nanos {
        Nanos::try_from(self.clock.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }

    /// Acts on the admission at a reading that no other request can overtake:
    /// the clock is read under the lock.
    fn with<T>(&self, act: impl FnOnce(&mut Admission, Nanos) -> T) -> T {
        let mut admission: MutexGuard<'_, Admission> = self.admission.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        act(&mut admission, now)
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        Ok(match request.uri().path() {
            "/_timeline" => json(&self.timeline()),
            "/_counts" => json(&self.counts()),
            "/_reset" => {
                self.with(|admission, now| admission.reset(now));
                json(&"reset")
            }
            "/_stop" => {
                self.stop.notify_one();
                json(&"stopping")
            }
            _ => self.judge(request).await,
        })
    }

    async fn judge(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let key = String::from_utf8_lossy(self.key(&request));
        let client = client(&request);
        let target = format!("{} {}", request.method(), request.uri());
        let (dialect, (sequence, verdict, ticket)) = self.with(|admission, now| {
            let dialect = admission.settings().dialect;
            (dialect, admission.admit(now, &key, target, client))
        });
        let mut in_progress = InProgress { stub: Arc::clone(&self), ticket };
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let wall = Nanos::try_from(wall.as_nanos()).unwrap_or(Nanos::MAX);
        let head = render(dialect, &verdict, wall, sequence);
        if !verdict.accepted {
            in_progress.ticket.asked = asked_until(dialect, &verdict, 0, wall, 0).map(|(wait, _)| wait);
        }

        // An unread body would make the connection unfit for its next request.
        let mut body = request.into_body();
        while let Some(Ok(_)) = body.frame().await {}
        let delay = Duration::from_nanos(verdict.delay).max(self.latency);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        response(head)
    }

    fn key<'a>(&self, request: &'a Request<Incoming>) -> &'a [u8] {
        let found = self.key_headers.iter().find_map(|name| request.headers().get(name));
        found.map_or(b"", |value| value.as_bytes())
    }
}

/// Frees the slot even if the client goes away before its answer.
struct InProgress {
    stub: Arc<Stub>,
    ticket: Ticket,
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.stub.with(|admission, now| admission.complete(now, &self.ticket));
    }
}

/// The label of `x-fleet`, else of the query parameter `fleet`.
fn client(request: &Request<Incoming>) -> Option<String> {
    let header = request.headers().get("x-fleet").and_then(|value| value.to_str().ok());
    let query = || request.uri().query()?.split('&').find_map(|pair| pair.strip_prefix("fleet="));
    header.or_else(query).map(str::to_owned)
}

fn response(head: Head) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(head.body));
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::OK);
    for (name, value) in head.headers {
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn json(value: &impl Serialize) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(serde_json::to_vec(value).unwrap_or_default()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Answers on `listener` until `stop` resolves or `/_stop` is asked for.
///
/// # Errors
///
/// If the listener breaks.
pub async fn serve(listener: TcpListener, stub: Arc<Stub>, stop: impl Future<Output = ()>) -> std::io::Result<()> {
    let connections = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted?.0,
            () = &mut stop => break,
            () = stub.stop.notified() => break,
        };
        stream.set_nodelay(true)?;
        let service = service_fn({
            let stub = Arc::clone(&stub);
            move |request| Arc::clone(&stub).answer(request)
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        // An idle client keeps its connections between two of its waves.
        http.header_read_timeout(None);
        let connection = connections.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A connection that its client breaks is the client's matter.
            let _ = connection.await;
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(SHUTDOWN, connections.shutdown()).await;
    Ok(())
}
