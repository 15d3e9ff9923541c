//! `Retry-After`, in RFC 9110's two forms and in those that servers send.

use core::time::Duration;

use super::values::{self, Moment, Scale};
use crate::time::Wall;

/// The wait that a `Retry-After` value asks.
///
/// `now` and `date` are the local wall clock and the response's own `Date`;
/// the latter wins, so that a skewed local clock does no harm. Decimal
/// seconds, HTTP-dates in all three forms, ISO 8601 and durations such as
/// `1m30s` are read (RFC 9110 section 10.2.3, and what servers send). Digits
/// of epoch size are an epoch if that lies within 40 days. Of several values
/// that a proxy joined by commas the longest counts. `None` for whatever is
/// no usable wait: empty, signed, not a number.
///
/// ```
/// use core::time::Duration;
/// use rampmeter::{Wall, parse_retry_after};
///
/// assert_eq!(parse_retry_after(b"1.5", None, None), Some(Duration::from_millis(1500)));
/// let date = Wall::from_unix_seconds(1_786_000_000.0);
/// let wait = parse_retry_after(b"Thu, 06 Aug 2026 07:08:10 GMT", None, date);
/// assert_eq!(wait, Some(Duration::from_secs(90)));
/// assert_eq!(parse_retry_after(b"-5", None, None), None);
/// ```
#[must_use]
pub fn parse_retry_after(value: &[u8], now: Option<Wall>, date: Option<Wall>) -> Option<Duration> {
    seconds(value, date.or(now).map(Wall::as_unix_seconds)).and_then(span)
}

/// Seconds as a duration; `None` for what no clock can hold.
pub(super) fn span(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

/// The wait in seconds, absolute times read against `base` (Unix seconds).
pub(super) fn seconds(value: &[u8], base: Option<f64>) -> Option<f64> {
    let value = values::trim(value);
    single(value, base).or_else(|| value.contains(&b',').then(|| longest(value, base)).flatten())
}

fn single(value: &[u8], base: Option<f64>) -> Option<f64> {
    if let Some(number) = values::decimal(value) {
        return number_of_seconds(number, base);
    }
    match values::moment(value, Scale::Seconds).ok()? {
        Moment::In(seconds) | Moment::Bare(seconds) => Some(seconds),
        Moment::At(at) => base.map(|base| (at - base).max(0.0)),
    }
}

/// A number is seconds, unless it is an epoch that lies near: an epoch far
/// off is as likely a very long wait, which must not be shortened.
pub(super) fn number_of_seconds(number: f64, base: Option<f64>) -> Option<f64> {
    if number >= values::EPOCHS
        && let Some(base) = base
    {
        let away = values::epoch_seconds(number) - base;
        if away.abs() <= values::FARTHEST {
            return Some(away.max(0.0));
        }
    }
    (number < values::MOST).then_some(number)
}

/// The longest of several joined values. A date has a comma of its own, so a
/// part is tried alone and together with the next.
fn longest(value: &[u8], base: Option<f64>) -> Option<f64> {
    let mut best: Option<f64> = None;
    let mut rest = value;
    // More parts than any proxy joins would only cost time.
    for _ in 0..32 {
        let end = rest.iter().position(|byte| *byte == b',');
        let part = values::trim(&rest[..end.unwrap_or(rest.len())]);
        let found = single(part, base).or_else(|| {
            let next = end?;
            let length = rest[next + 1..].iter().position(|byte| *byte == b',').unwrap_or(rest.len() - next - 1);
            single(values::trim(&rest[..next + 1 + length]), base)
        });
        best = match (best, found) {
            (Some(best), Some(found)) => Some(best.max(found)),
            (best, found) => best.or(found),
        };
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => break,
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Option<f64> = Some(1_786_000_000.0);

    #[test]
    fn joined_values_give_the_longest_and_dates_keep_their_comma() {
        assert_eq!(seconds(b"2814, 2", BASE), Some(2814.0));
        assert_eq!(seconds(b"5,30", BASE), Some(30.0));
        assert_eq!(seconds(b"5, Thu, 06 Aug 2026 07:08:10 GMT", BASE), Some(90.0));
        assert_eq!(seconds(b"Thu, 06 Aug 2026 07:08:10 GMT, 5", BASE), Some(90.0));
        assert_eq!(seconds(b"rand(30),add(30)", BASE), None);
    }

    #[test]
    fn epochs_count_only_within_forty_days() {
        assert_eq!(seconds(b"1786000007", BASE), Some(7.0));
        assert_eq!(seconds(b"1786000007000", BASE), Some(7.0));
        assert_eq!(seconds(b"9999999999", BASE), Some(9_999_999_999.0));
        assert_eq!(seconds(b"18446744073709551616", BASE), None);
    }

    #[test]
    fn what_is_no_wait_is_none() {
        for value in ["", " ", "-1", "+3", "1e3", "0x10", "nan", "infinity", "1000abc", "soon", "\u{b2}"] {
            assert_eq!(seconds(value.as_bytes(), BASE), None, "{value}");
        }
        assert_eq!(seconds(b"\t7 ", BASE), Some(7.0));
        assert_eq!(seconds(b"Thu, 06 Aug 2026 07:06:00 GMT", BASE), Some(0.0));
    }
}
