//! Threads of one program share a limiter: when the server says stop, all of
//! them wait, and when it says go, they go in turn.
//!
//! `cargo run -p rampmeter --features blocking --example blocking -- https://api.example.com/items`

use std::thread;

use rampmeter::blocking::Blocking;
use rampmeter::driver::Failed;
use rampmeter::{Config, FailureKind, Limiter, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("name a URL to fetch")?;
    let driver = Blocking::new(Limiter::new(Config::default())?);
    // The limiter reads refusals itself: to it they are responses, not errors.
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();

    thread::scope(|scope| {
        for number in 1..=20 {
            let (driver, agent, url) = (&driver, &agent, &url);
            scope.spawn(move || {
                let request = Request::new("GET", url);
                match driver.run(&request, |_| agent.get(url).call().map_err(failed)) {
                    Ok(response) => println!("{number}: {}", response.status()),
                    Err(error) => println!("{number}: {error}"),
                }
            });
        }
    });

    let stats = driver.limiter().stats(driver.now()).total;
    println!("sent {}, refused {}, waited {:?} in all", stats.sent, stats.refused, stats.slept);
    Ok(())
}

/// What kind of failure it is decides whether the request may be sent again.
fn failed(error: ureq::Error) -> Failed<ureq::Error> {
    match error {
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => Failed::new(FailureKind::Connect, error),
        ureq::Error::Timeout(_) => Failed::new(FailureKind::Timeout, error),
        ureq::Error::Io(_) | ureq::Error::Protocol(_) => Failed::new(FailureKind::Read, error),
        error => Failed::local(error),
    }
}
