//! What a driver shows of a response: status, header fields, and a little of
//! the body where that may matter.

use crate::refusal::Verdict;

/// Header fields in the order received, as bytes.
///
/// Implemented for slices of pairs, so that a test or a small client needs no
/// type of its own; adapters implement it for their client's header map.
pub trait Headers {
    /// Calls `visit` with the name and value of each field line. Repeated
    /// fields are visited once per line, in order. Names may have any case.
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8]));
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> Headers for [(N, V)] {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for (name, value) in self {
            visit(name.as_ref(), value.as_ref());
        }
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>, const LEN: usize> Headers for [(N, V); LEN] {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.as_slice().visit(visit);
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> Headers for Vec<(N, V)> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        self.as_slice().visit(visit);
    }
}

#[cfg(feature = "http")]
impl Headers for http::HeaderMap {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], &[u8])) {
        for (name, value) in self {
            visit(name.as_str().as_bytes(), value.as_bytes());
        }
    }
}

/// No header fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn visit(&self, _: &mut dyn FnMut(&[u8], &[u8])) {}
}

/// One response, as far as the engine reads it.
#[derive(Clone, Copy)]
pub struct Response<'a> {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: &'a dyn Headers,
    /// The first bytes of the body, if [`wants_body`](crate::Call::wants_body)
    /// asked for them and the driver could read them without taking them from
    /// the caller.
    pub body: Option<&'a [u8]>,
    /// True if a client-side cache answered: such a response says nothing
    /// about the server's counters.
    pub cached: bool,
    /// The verdict of the caller's own rule (`classify`), asked before ours.
    pub verdict: Option<Verdict>,
    /// The URL that answered, if a redirect led elsewhere than the request
    /// asked. Signals go to the scope of that origin.
    pub url: Option<&'a str>,
}

impl<'a> Response<'a> {
    /// A response with this status and these header fields.
    #[must_use]
    pub fn new(status: u16, headers: &'a dyn Headers) -> Self {
        Self { status, headers, body: None, cached: false, verdict: None, url: None }
    }

    /// The same with the first bytes of its body.
    #[must_use]
    pub fn body(mut self, body: Option<&'a [u8]>) -> Self {
        self.body = body;
        self
    }

    /// The same, marked as answered by a client-side cache.
    #[must_use]
    pub fn cached(mut self, cached: bool) -> Self {
        self.cached = cached;
        self
    }

    /// The same with the verdict of the caller's own rule.
    #[must_use]
    pub fn verdict(mut self, verdict: Option<Verdict>) -> Self {
        self.verdict = verdict;
        self
    }

    /// The same, answered by `url` after a redirect.
    #[must_use]
    pub fn answered_by(mut self, url: Option<&'a str>) -> Self {
        self.url = url;
        self
    }
}

impl core::fmt::Debug for Response<'_> {
    /// Shows no header and no body: either may hold a secret.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Response").field("status", &self.status).field("cached", &self.cached).finish_non_exhaustive()
    }
}

/// How a request failed without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No connection came about: nothing was processed.
    Connect,
    /// The client's own time limit passed after the request was sent.
    Timeout,
    /// The connection broke while the response was read.
    Read,
    /// Anything else.
    Other,
}

impl FailureKind {
    /// All kinds, with the names that every language uses.
    pub const ALL: [(&'static str, Self); 4] =
        [("connect", Self::Connect), ("timeout", Self::Timeout), ("read", Self::Read), ("other", Self::Other)];

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// The name that every language uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("other", |(name, _)| name)
    }
}
