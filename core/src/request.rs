//! What a driver says of a request before it is sent.

use crate::head::Headers;
use crate::time::Instant;

/// One logical request of the user, over all its attempts.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method, in capital letters.
    pub method: &'a str,
    /// The absolute URL. Its origin is the scope; its path, with identifiers
    /// taken out, is the route. Query and fragment are not read.
    pub url: &'a str,
    /// The request's header fields, from which the credential label and
    /// `Idempotency-Key` are read. No value is stored.
    pub headers: Option<&'a dyn Headers>,
    /// Who is limited, by the caller's own word, instead of origin and
    /// credential.
    pub scope: Option<&'a str>,
    /// What the server meters alike, by the caller's own word, instead of
    /// method and path.
    pub route: Option<&'a str>,
    /// Amounts by unit. Empty means `{"requests": 1}`.
    pub cost: &'a [(&'a str, f64)],
    /// Larger goes first; 0 by default.
    pub priority: i32,
    /// The instant after which an answer is of no use.
    pub deadline: Option<Instant>,
    /// Whether it may be sent again after a failure that leaves open whether
    /// it was processed. `None`: by method, `Idempotency-Key` and
    /// `retry_non_idempotent`.
    pub retry: Option<bool>,
    /// False if the body can be sent only once.
    pub replayable: bool,
    /// True for a call made inside a call of the same limiter: it is not
    /// retried again and waits for no slot.
    pub nested: bool,
}

impl<'a> Request<'a> {
    /// A request with defaults for everything else.
    #[must_use]
    pub fn new(method: &'a str, url: &'a str) -> Self {
        Self {
            method,
            url,
            headers: None,
            scope: None,
            route: None,
            cost: &[],
            priority: 0,
            deadline: None,
            retry: None,
            replayable: true,
            nested: false,
        }
    }
}
