//! What reading a response's head costs, as multiples of what `httpdate` takes
//! for one date in the same run; beside it the `rate-limits` crate, which reads
//! fewer dialects.
//!
//! `cargo bench --bench signals`

use std::hint::black_box;
use std::time::{Duration, Instant};

use rampmeter::{Reader, Response, Wall};

/// A response of an ordinary API that says nothing about limits.
const ORDINARY: [(&str, &str); 20] = [
    ("Date", "Thu, 06 Aug 2026 07:06:40 GMT"),
    ("Content-Type", "application/json; charset=utf-8"),
    ("Content-Length", "18231"),
    ("Connection", "keep-alive"),
    ("Server", "nginx"),
    ("Vary", "Accept-Encoding, Origin"),
    ("ETag", "W/\"4737-ab12\""),
    ("Cache-Control", "private, max-age=60"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ("X-Request-Id", "0e31c0de-6a0b-4c27-9d33-1f3c6d2f9a11"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Access-Control-Allow-Origin", "*"),
    ("Content-Encoding", "gzip"),
    ("Last-Modified", "Thu, 06 Aug 2026 07:00:00 GMT"),
    ("Content-Security-Policy", "default-src 'none'"),
    ("Referrer-Policy", "strict-origin-when-cross-origin"),
    ("Set-Cookie", "session=abc; Path=/; HttpOnly"),
    ("Link", "<https://api.example.com/items?page=2>; rel=\"next\""),
    ("X-Powered-By", "Express"),
];

/// The fields that GitHub adds.
const GITHUB: [(&str, &str); 6] = [
    ("x-ratelimit-limit", "5000"),
    ("x-ratelimit-remaining", "4987"),
    ("x-ratelimit-used", "13"),
    ("x-ratelimit-reset", "1786002400"),
    ("x-ratelimit-resource", "core"),
    ("retry-after", "60"),
];

/// Something to be timed.
struct Task<'a> {
    what: &'static str,
    run: Box<dyn FnMut() + 'a>,
    /// Nanoseconds of one run: the best of many batches, which is what the
    /// code costs when nothing else disturbs it.
    best: f64,
}

impl<'a> Task<'a> {
    fn new<T>(what: &'static str, mut run: impl FnMut() -> T + 'a) -> Self {
        let run = move || {
            for _ in 0..BATCH {
                black_box(run());
            }
        };
        Self { what, run: Box::new(run), best: f64::INFINITY }
    }
}

const BATCH: u32 = 500;

fn main() {
    let reader = &Reader::default();
    let now = Wall::from_unix_seconds(1_786_000_000.0);
    let with_limits: Vec<_> = ORDINARY.into_iter().chain(GITHUB).collect();
    let with_limits = &with_limits;
    let peer =
        |fields: &[(&'static str, &'static str)]| rate_limits::RateLimit::extract(fields.iter().copied()).is_ok();
    let mut tasks = [
        Task::new("one date by httpdate", || httpdate::parse_http_date(black_box("Thu, 06 Aug 2026 07:06:40 GMT"))),
        Task::new("20 ordinary fields", || reader.read(&Response::new(black_box(200), &ORDINARY), now)),
        Task::new("6 fields like GitHub's", || reader.read(&Response::new(black_box(200), &GITHUB), now)),
        Task::new("both", || reader.read(&Response::new(black_box(200), with_limits), now)),
        Task::new("20 ordinary fields, by rate-limits", || peer(black_box(&ORDINARY))),
        Task::new("both, by rate-limits", || peer(black_box(with_limits))),
        Task::new("wants_body of the 20 ordinary fields", || reader.wants_body(black_box(200), &ORDINARY)),
    ];
    // In turns, so that a busy machine disturbs all alike.
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        for task in &mut tasks {
            let start = Instant::now();
            (task.run)();
            task.best = task.best.min(start.elapsed().as_nanos() as f64 / f64::from(BATCH));
        }
    }
    let unit = tasks[0].best;
    for Task { what, best, .. } in &tasks {
        println!("{what:38} {best:7.1} ns  {:5.1}", best / unit);
    }
}
