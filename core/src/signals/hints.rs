//! Which header fields are read at all: for bindings, to which each field that
//! is passed costs more than a look at its name.

use super::{body, fields};

/// Whether a response's header field of that name may say anything that is
/// read, in any case of letters. Fields for which this is false need not be
/// shown to a reader: what it reads is the same without them.
///
/// ```
/// assert!(rampmeter::header_may_matter(b"RateLimit-History-Remaining"));
/// assert!(!rampmeter::header_may_matter(b"Set-Cookie"));
/// ```
#[must_use]
pub fn header_may_matter(name: &[u8]) -> bool {
    fields::reads(name) || body::reads(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::dialects::ROWS;

    #[test]
    fn every_header_of_the_table_matters() {
        for row in ROWS {
            assert!(header_may_matter(row.header.as_bytes()), "{}", row.header);
        }
    }

    #[test]
    fn what_tells_of_time_and_body_matters() {
        for name in
            ["Age", "DATE", "Retry-After", "retry-after-ms", "Content-Type", "content-length", "Content-Encoding"]
        {
            assert!(header_may_matter(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn most_headers_do_not_matter() {
        for name in
            ["", "server", "set-cookie", "cache-control", "etag", "vary", "x-request-id", "content-security-policy"]
        {
            assert!(!header_may_matter(name.as_bytes()), "{name}");
        }
    }
}
