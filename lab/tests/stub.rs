//! The stub server, met over HTTP as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use serde_json::Value;

struct Server {
    process: Child,
    base: String,
    client: Client,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_rampmeter"))
            .arg("serve")
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let base = line.trim().strip_prefix("listening on ").expect("the address").to_owned();
        Self { process, base, client: Client::new() }
    }

    async fn get(&self, path: &str) -> Response {
        self.client.get(format!("{}{path}", self.base)).send().await.expect("an answer")
    }

    async fn get_with(&self, path: &str, header: &str, value: &str) -> Response {
        self.client.get(format!("{}{path}", self.base)).header(header, value).send().await.expect("an answer")
    }

    async fn statuses(&self, count: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..count {
            statuses.push(self.get("/").await.status().as_u16());
        }
        statuses
    }

    async fn timeline(&self) -> Vec<Value> {
        let timeline: Value = self.get("/_timeline").await.json().await.expect("JSON");
        timeline["requests"].as_array().expect("requests").clone()
    }

    fn exit(&mut self) -> ExitStatus {
        let patience = Instant::now() + Duration::from_secs(10);
        while Instant::now() < patience {
            if let Some(status) = self.process.try_wait().expect("a child") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn refuses_what_the_model_refuses_in_the_dialect_asked_for() {
    let server = Server::start(&["--server", "fixed:limit=2,window=60", "--dialect", "x-delta"]);
    assert_eq!(server.statuses(3).await, [200, 200, 429]);
    let refusal = server.get("/").await;
    assert_eq!(refusal.headers()["x-ratelimit-limit"], "2");
    assert_eq!(refusal.headers()["x-ratelimit-remaining"], "0");
    assert_eq!(refusal.headers()["x-ratelimit-reset"], "60");
}

#[tokio::test]
async fn remembers_every_request_with_its_clients_label() {
    let server = Server::start(&["--server", "anchored:limit=1,window=60"]);
    server.get_with("/a", "x-fleet", "python").await;
    server.get("/b?fleet=node").await;
    let requests = server.timeline().await;
    let seen: Vec<_> = requests.iter().map(|entry| (&entry["client"], &entry["admitted"])).collect();
    assert_eq!(seen, [(&Value::from("python"), &Value::from(true)), (&Value::from("node"), &Value::from(false))]);
    assert!(requests[0]["arrival_ns"].as_u64() <= requests[0]["completed_ns"].as_u64());
    assert!(requests[0]["completed_ns"].as_u64() <= requests[1]["arrival_ns"].as_u64());
}

#[tokio::test]
async fn counts_what_it_admits_and_refuses() {
    let server = Server::start(&["--server", "fixed:limit=2,window=60"]);
    server.statuses(5).await;
    let counts: Value = server.get("/_counts").await.json().await.expect("JSON");
    assert_eq!(counts, serde_json::json!({"admitted": 2, "refused": 3}));
}

#[tokio::test]
async fn a_reset_gives_fresh_quotas_and_an_empty_timeline() {
    let server = Server::start(&["--server", "fixed:limit=1,window=60"]);
    assert_eq!(server.statuses(2).await, [200, 429]);
    server.get("/_reset").await;
    assert!(server.timeline().await.is_empty());
    assert_eq!(server.statuses(2).await, [200, 429]);
}

#[tokio::test]
async fn all_clients_share_one_quota_unless_told_otherwise() {
    let server = Server::start(&["--server", "fixed:limit=1,window=60"]);
    assert_eq!(server.get_with("/", "authorization", "Bearer a").await.status(), 200);
    assert_eq!(server.get_with("/", "authorization", "Bearer b").await.status(), 429);
}

#[tokio::test]
async fn per_key_each_credential_has_a_quota_of_its_own() {
    let server = Server::start(&["--server", "fixed:limit=1,window=60", "--per-key"]);
    assert_eq!(server.get_with("/", "authorization", "Bearer a").await.status(), 200);
    assert_eq!(server.get_with("/", "authorization", "Bearer b").await.status(), 200);
    assert_eq!(server.get_with("/", "authorization", "Bearer a").await.status(), 429);
    assert_eq!(server.get_with("/", "x-scope", "c").await.status(), 200);
    let quotas: Vec<_> = server.timeline().await.iter().map(|entry| entry["quota"].clone()).collect();
    assert_eq!(quotas, [0, 1, 0, 2]);
}

#[tokio::test]
async fn per_key_the_header_can_be_named() {
    let server = Server::start(&["--server", "fixed:limit=1,window=60", "--per-key", "x-api-key"]);
    assert_eq!(server.get_with("/", "x-api-key", "a").await.status(), 200);
    assert_eq!(server.get_with("/", "x-api-key", "b").await.status(), 200);
    assert_eq!(server.get_with("/", "authorization", "Bearer a").await.status(), 200);
    assert_eq!(server.get_with("/", "authorization", "Bearer b").await.status(), 429);
}

#[tokio::test]
async fn a_concurrency_cap_counts_requests_in_progress() {
    let server = Server::start(&["--server", "concurrency:cap=1,service=0.3", "--dialect", "none"]);
    let (first, second) = tokio::join!(server.get("/"), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.get("/").await
    });
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 429));
    assert_eq!(server.get("/").await.status(), 200);
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_slot_back() {
    let server = Server::start(&["--server", "concurrency:cap=1,service=30"]);
    let gone = tokio::time::timeout(Duration::from_millis(200), server.get("/")).await;
    assert!(gone.is_err(), "the server answers before its service time");
    for _ in 0..100 {
        if server.timeline().await[0]["completed_ns"].is_u64() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the slot is never freed");
}

#[tokio::test]
async fn an_answer_takes_at_least_the_latency() {
    let server = Server::start(&["--latency", "0.2"]);
    let begin = Instant::now();
    server.get("/").await;
    assert!(begin.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_posted_body_is_read_and_the_connection_reused() {
    let server = Server::start(&[]);
    for _ in 0..3 {
        let body = vec![b'x'; 200_000];
        let response = server.client.post(format!("{}/", server.base)).body(body).send().await.expect("an answer");
        assert_eq!(response.status(), 200);
    }
}

#[tokio::test]
async fn ends_when_asked_over_http() {
    let mut server = Server::start(&[]);
    server.get("/_stop").await;
    assert!(server.exit().success());
}

#[cfg(unix)]
#[test]
fn ends_at_sigterm() {
    let mut server = Server::start(&[]);
    let id = server.process.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill runs").success());
    assert!(server.exit().success());
}

#[test]
fn a_wrong_model_is_an_error_that_names_it() {
    let output = Command::new(env!("CARGO_BIN_EXE_rampmeter"))
        .args(["serve", "--server", "fixed:limit=2"])
        .output()
        .expect("the command starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("server fixed needs the parameter window"));
}
