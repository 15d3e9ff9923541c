//! A response that says nothing about limits costs no allocation.

// A global allocator cannot be written without it.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rampmeter::{Reader, Response, Wall};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; the
// counter is a constant-initialised thread-local, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ORDINARY: [(&str, &str); 20] = [
    ("Date", "Thu, 06 Aug 2026 07:06:40 GMT"),
    ("Content-Type", "application/json; charset=utf-8"),
    ("Content-Length", "182311"),
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
    ("X-Acme-Shard", "eu-7"),
    ("Set-Cookie", "session=abc; Path=/; HttpOnly"),
    ("Link", "<https://api.example.com/items?page=2>; rel=\"next\""),
    ("Age", "0"),
];

fn allocations<T>(act: impl FnOnce() -> T) -> usize {
    let before = COUNT.get();
    let kept = act();
    let after = COUNT.get();
    drop(kept);
    after - before
}

#[test]
fn reading_twenty_ordinary_fields_allocates_nothing() {
    let reader = Reader::default();
    let now = Wall::from_unix_seconds(1_786_000_000.0);
    for status in [200, 204, 301, 404, 422, 500] {
        let count = allocations(|| {
            let wanted = reader.wants_body(status, &ORDINARY);
            (wanted, reader.read(&Response::new(status, &ORDINARY), now))
        });
        assert_eq!(count, 0, "status {status}");
    }
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| vec![1, 2, 3]), 1);
}
