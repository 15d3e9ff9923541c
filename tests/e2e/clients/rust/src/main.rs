//! The jobs of `clients/README.md` with reqwest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures_util::future::{BoxFuture, FutureExt, join_all};
use rampmeter::asynchronous::{Async, TokioTimer};
use rampmeter::driver::{Failed, RunError};
use rampmeter::reqwest_middleware::RateLimitMiddleware;
use rampmeter::{Config, FailureKind, Limiter, Request};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde_json::{Value, json};

use crate::cache::Cache;

mod cache;

/// What became of one call: its status, or what the client raised.
type Outcome = reqwest_middleware::Result<u16>;

#[tokio::main]
async fn main() -> Result<()> {
    let argument = std::env::args().nth(1).context("a job is needed, as JSON")?;
    let job = Job(serde_json::from_str(&argument)?);
    println!("{}", job.run().await?);
    Ok(())
}

struct Job(Value);

impl Job {
    async fn run(&self) -> Result<Value> {
        match self.text("job")? {
            "fleet" => self.fleet().await,
            "accounts" => self.accounts().await,
            "cancel" => self.cancel().await,
            "too_long" => self.too_long().await,
            "ignore_remaining" => self.ignore_remaining().await,
            "two_meters" => self.two_meters().await,
            "cached" => self.cached().await,
            "post" => self.post().await,
            other => anyhow::bail!("{other} is no job"),
        }
    }

    async fn fleet(&self) -> Result<Value> {
        let client = client(&limiter(Config::default())?);
        Ok(group(&client, &format!("{}/items", self.text("url")?), self.number("calls")?, None).await)
    }

    async fn accounts(&self) -> Result<Value> {
        let client = client(&limiter(Config::default())?);
        let url = format!("{}/items", self.text("url")?);
        let second = async {
            tokio::time::sleep(self.seconds("after")?).await;
            Ok::<_, anyhow::Error>(group(&client, &url, self.number("second")?, Some("Bearer second")).await)
        };
        let (first, second) = tokio::join!(group(&client, &url, self.number("first")?, Some("Bearer first")), second);
        Ok(json!({"first": first, "second": second?}))
    }

    async fn cancel(&self) -> Result<Value> {
        let client = client(&limiter(Config::default())?);
        let url = self.text("url")?;
        let begin = Instant::now();
        let tasks: Vec<_> = (0..self.number("calls")?)
            .map(|number| {
                let (client, url) = (client.clone(), format!("{url}/items/{number}"));
                tokio::spawn(async move { get(&client, &url, None).await })
            })
            .collect();
        let answered = self.number("answered")?;
        while tasks.iter().filter(|task| task.is_finished()).count() < answered {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (done, waiting): (Vec<_>, Vec<_>) = tasks.into_iter().partition(tokio::task::JoinHandle::is_finished);
        let (mut kept, mut cancelled) = (done, 0);
        for (index, task) in waiting.into_iter().enumerate() {
            if index % 2 == 0 {
                task.abort();
                cancelled += usize::from(task.await.is_err_and(|error| error.is_cancelled()));
            } else {
                kept.push(task);
            }
        }
        let mut outcomes = Vec::new();
        for task in kept {
            outcomes.push(task.await?);
        }
        let mut facts = facts(begin, outcomes);
        facts["cancelled"] = json!(cancelled);
        Ok(facts)
    }

    async fn too_long(&self) -> Result<Value> {
        let limiter = limiter(Config::default())?;
        let client = client(&limiter);
        let url = format!("{}/items", self.text("url")?);
        let fleet = group(&client, &url, self.number("calls")?, None).await;
        let next = group(&client, &url, 1, None).await;

        let (bare, url) = (reqwest::Client::new(), format!("{url}/0"));
        let run = Async::with_timer(limiter, TokioTimer)
            .run(&Request::new("GET", &url), |_| {
                let sent = bare.get(&url).send();
                async {
                    match sent.await {
                        Ok(response) => Ok(http::Response::<reqwest::Body>::from(response)),
                        Err(error) => Err(Failed::new(FailureKind::Other, error)),
                    }
                }
            })
            .await;
        let run = match run {
            Err(RunError::Limited(error)) => json!({"retry_after": error.retry_after().map(|wait| wait.as_secs_f64())}),
            other => anyhow::bail!("run was to raise, and gave {other:?}"),
        };
        Ok(json!({"fleet": fleet, "next": next, "run": run}))
    }

    async fn ignore_remaining(&self) -> Result<Value> {
        let client = client(&limiter(Config::default().respect_remaining(false).max_attempts(1))?);
        Ok(group(&client, &format!("{}/items", self.text("url")?), self.number("calls")?, None).await)
    }

    async fn two_meters(&self) -> Result<Value> {
        let client = client(&limiter(Config::default())?);
        let url = self.text("url")?;
        let (history, rest) = (format!("{url}/history"), format!("{url}/rest"));
        let rest = async {
            tokio::time::sleep(self.seconds("after")?).await;
            Ok::<_, anyhow::Error>(group(&client, &rest, self.number("rest")?, None).await)
        };
        let (history, rest) = tokio::join!(group(&client, &history, self.number("history")?, None), rest);
        Ok(json!({"history": history, "rest": rest?}))
    }

    async fn cached(&self) -> Result<Value> {
        let limit = RateLimitMiddleware::new(limiter(Config::default())?);
        let builder = ClientBuilder::new(reqwest::Client::new());
        let (url, repeats) = (self.text("url")?, self.number("repeats")?);
        let (client, repeats_of_b) = match self.text("cache")? {
            "outside" => (builder.with(Cache::default()).with(limit).build(), repeats),
            _ => (builder.with(limit).with(Cache::default()).build(), 0),
        };
        let paths: Vec<&str> = [("/items/1", repeats), ("/items/2", repeats_of_b)]
            .iter()
            .flat_map(|(path, times)| vec![*path; times + 1])
            .collect();
        Ok(json!({
            "cached": one_by_one(&client, url, &paths).await,
            "fresh": one_by_one(&client, url, &["/items/3"]).await,
        }))
    }

    async fn post(&self) -> Result<Value> {
        let client = client(&limiter(Config::default())?);
        let url = format!("{}/items", self.text("url")?);
        let (size, one_shot) = (self.number("size")?, self.0["one_shot"] == true);
        let begin = Instant::now();
        let calls = (0..self.number("calls")?).map(|_| {
            let body = vec![b'x'; size];
            let body = match one_shot {
                true => reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(body)])),
                false => body.into(),
            };
            client.post(&url).body(body).send().map(|sent| sent.map(|response| response.status().as_u16()))
        });
        Ok(facts(begin, join_all(calls).await))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.0[name].as_str().with_context(|| format!("the job needs the text {name}"))
    }

    fn number(&self, name: &str) -> Result<usize> {
        let number = self.0[name].as_u64().with_context(|| format!("the job needs the number {name}"))?;
        Ok(usize::try_from(number)?)
    }

    fn seconds(&self, name: &str) -> Result<Duration> {
        let seconds = self.0[name].as_f64().with_context(|| format!("the job needs the seconds {name}"))?;
        Ok(Duration::try_from_secs_f64(seconds)?)
    }
}

fn limiter(config: Config) -> Result<Limiter> {
    Ok(Limiter::new(config)?)
}

fn client(limiter: &Limiter) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new()).with(RateLimitMiddleware::new(limiter.clone())).build()
}

/// That many concurrent GETs.
async fn group(client: &ClientWithMiddleware, url: &str, calls: usize, account: Option<&'static str>) -> Value {
    let begin = Instant::now();
    let calls: Vec<BoxFuture<'_, Outcome>> = (0..calls)
        .map(|number| {
            let url = format!("{url}/{number}");
            async move { get(client, &url, account).await }.boxed()
        })
        .collect();
    facts(begin, join_all(calls).await)
}

async fn one_by_one(client: &ClientWithMiddleware, url: &str, paths: &[&str]) -> Value {
    let begin = Instant::now();
    let mut outcomes = Vec::new();
    for path in paths {
        outcomes.push(get(client, &format!("{url}{path}"), None).await);
    }
    facts(begin, outcomes)
}

/// A call whose body is read, as people do.
async fn get(client: &ClientWithMiddleware, url: &str, account: Option<&str>) -> Outcome {
    let mut request = client.get(url);
    if let Some(account) = account {
        request = request.header("authorization", account);
    }
    let response = request.send().await?;
    let status = response.status().as_u16();
    response.bytes().await?;
    Ok(status)
}

fn facts(begin: Instant, outcomes: Vec<Outcome>) -> Value {
    let elapsed = begin.elapsed().as_secs_f64();
    let mut statuses = BTreeMap::<String, usize>::new();
    let (mut waits, mut errors) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(status) => *statuses.entry(status.to_string()).or_default() += 1,
            Err(reqwest_middleware::Error::Middleware(error)) if error.is::<rampmeter::Error>() => {
                let limited = error.downcast_ref::<rampmeter::Error>();
                waits.push(limited.and_then(rampmeter::Error::retry_after).map(|wait| wait.as_secs_f64()));
            }
            Err(error) => errors.push(format!("{error:?}")),
        }
    }
    json!({"elapsed": elapsed, "statuses": statuses, "retry_after": waits, "errors": errors})
}
