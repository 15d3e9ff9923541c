//! What a header's name promises at a glance: nearly all fields of nearly all
//! responses are about something else, and must cost next to nothing.

use super::grammar;

/// What a field can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Glance {
    Nothing,
    Age,
    Date,
    Limits,
}

/// Cheap, and right about every name that the grammar or the table knows.
pub(super) fn glance(name: &[u8]) -> Glance {
    match name.len() {
        3 if name.eq_ignore_ascii_case(b"age") => Glance::Age,
        4 if name.eq_ignore_ascii_case(b"date") => Glance::Date,
        8..=grammar::LONGEST_NAME if !is_ordinary(name) && tells_of_limits(name) => Glance::Limits,
        _ => Glance::Nothing,
    }
}

/// Whether a word begins as one word at least of every name of ours does.
fn tells_of_limits(name: &[u8]) -> bool {
    let mut rest = name;
    loop {
        let Some(start) = rest.first_chunk::<4>() else { return false };
        match &start.map(|letter| letter | 0x20) {
            b"rate" | b"limi" | b"rema" | b"rese" | b"retr" | b"quot" | b"thro" | b"usag" | b"used" | b"mbx-" => {
                return true;
            }
            _ => {}
        }
        match rest.iter().position(|byte| matches!(byte, b'-' | b'_' | b'.')) {
            Some(end) => rest = &rest[end + 1..],
            None => return false,
        }
    }
}

/// Names that many responses have and that are not about limits, so that they
/// need not be searched.
#[rustfmt::skip]
const ORDINARY: [&str; 52] = [
    "accept-ranges", "access-control-allow-credentials", "access-control-allow-headers",
    "access-control-allow-methods", "access-control-allow-origin", "access-control-expose-headers",
    "access-control-max-age", "cache-control", "cf-cache-status", "connection", "content-disposition",
    "content-encoding", "content-language", "content-length", "content-location", "content-security-policy",
    "content-type", "cross-origin-embedder-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
    "keep-alive", "last-modified", "location", "permissions-policy", "referrer-policy", "report-to",
    "server-timing", "set-cookie", "strict-transport-security", "timing-allow-origin", "transfer-encoding",
    "www-authenticate", "x-amz-cf-id", "x-amz-cf-pop", "x-amz-request-id", "x-amzn-requestid", "x-amzn-trace-id",
    "x-cache-hits", "x-content-type-options", "x-correlation-id", "x-dns-prefetch-control", "x-download-options",
    "x-envoy-upstream-service-time", "x-frame-options", "x-permitted-cross-domain-policies", "x-powered-by",
    "x-request-id", "x-runtime", "x-served-by", "x-trace-id", "x-ua-compatible", "x-xss-protection",
];

const SLOTS: usize = 1 << 7;

/// The keys of ordinary names, each at its own slot.
static TABLE: [u64; SLOTS] = {
    let mut table = [0; SLOTS];
    let mut at = 0;
    while at < ORDINARY.len() {
        let key = key(ORDINARY[at].as_bytes());
        assert!(table[slot(key)] == 0, "two names share a slot: choose another factor");
        table[slot(key)] = key;
        at += 1;
    }
    table
};

fn is_ordinary(name: &[u8]) -> bool {
    let key = key(name);
    TABLE[slot(key)] == key
}

/// First and last eight letters and the length, in any case: what differs in
/// them differs in the key, but for names that are made to collide, and who
/// makes such a name only hides it.
const fn key(name: &[u8]) -> u64 {
    let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) else { return 0 };
    const LOWER: u64 = 0x2020_2020_2020_2020;
    let (first, last) = (u64::from_le_bytes(*first) | LOWER, u64::from_le_bytes(*last) | LOWER);
    first ^ last.rotate_left(27) ^ (name.len() as u64)
}

const fn slot(key: u64) -> usize {
    (key.wrapping_mul(0xc328_0245_c7cb_a5cd) >> 57) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_nothing_in_any_case() {
        for name in ORDINARY {
            assert_eq!(glance(name.as_bytes()), Glance::Nothing, "{name}");
            assert!(is_ordinary(name.to_uppercase().as_bytes()), "{name}");
        }
    }

    #[test]
    fn no_ordinary_name_is_one_that_is_read() {
        for name in ORDINARY {
            assert!(super::super::dialects::lookup(name).is_none(), "{name}");
            assert!(!tells_of_limits(name.as_bytes()), "{name}");
        }
    }
}
