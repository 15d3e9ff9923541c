//! A reqwest client whose calls keep to the server's limits.
//!
//! `cargo run -p rampmeter --features reqwest-middleware --example reqwest_middleware -- http://127.0.0.1:8080/items`

use core::time::Duration;

use rampmeter::driver::SystemClock;
use rampmeter::reqwest_middleware::{CallOptions, RateLimitMiddleware};
use rampmeter::{Config, Limiter};
use reqwest_middleware::ClientBuilder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("name a URL to fetch")?;
    let limiter = Limiter::new(Config::default().max_retry_after(Duration::from_secs(60)))?;
    let client = ClientBuilder::new(reqwest::Client::new()).with(RateLimitMiddleware::new(limiter.clone())).build();

    let calls: Vec<_> = (1..=200)
        .map(|number| {
            let options = CallOptions::new().deadline(Duration::from_secs(120));
            let call = client.get(&url).with_extension(options).send();
            tokio::spawn(async move {
                match call.await {
                    Ok(response) => println!("{number}: {}", response.status()),
                    Err(error) => println!("{number}: {error}"),
                }
            })
        })
        .collect();
    for call in calls {
        call.await?;
    }

    let now = SystemClock.now();
    for meter in limiter.meters(now, &url) {
        println!("{:?} of {:?} left, reset in {:?}", meter.remaining, meter.limit, meter.until_reset(now.mono));
    }
    let stats = limiter.stats(now).total;
    println!("sent {}, refused {}, waited {:?} in all", stats.sent, stats.refused, stats.slept);
    Ok(())
}
