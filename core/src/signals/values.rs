//! The forms in which servers write numbers, spans and moments.
//!
//! Each reader takes a whole value or refuses it: a prefix that looks like a
//! number is not one, and text is never guessed at.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::Wall;

/// The largest count that is believed: every whole number up to here is exact.
pub(super) const MOST: f64 = 9_007_199_254_740_992.0;
/// Absolute times further away than this are a wrong clock or a wrong unit.
pub(super) const FARTHEST: f64 = 40.0 * 86_400.0;
/// The longest reset that a server may state as a span: a yearly quota's.
const LONGEST: f64 = 400.0 * 86_400.0;
/// Numbers from here on are moments, not spans (dialects agree: the largest
/// span seen is 25 days, the smallest epoch lies decades off).
pub(super) const EPOCHS: f64 = 1e9;

/// A moment as a server states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moment {
    /// So many seconds after the response was made.
    In(f64),
    /// The same, from a number without any sign of its unit.
    Bare(f64),
    /// So many seconds after the Unix epoch.
    At(f64),
}

/// The unit that a field's name gives to its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scale {
    /// None: the number's size decides.
    #[default]
    Open,
    Seconds,
    Milliseconds,
    Minutes,
}

pub(super) const NOT_A_NUMBER: &str = "not a number";
pub(super) const NOT_A_TIME: &str = "neither a number, a duration nor a date";
pub(super) const OUT_OF_RANGE: &str = "out of range";
pub(super) const IMPLAUSIBLE: &str = "more than 40 days away";
pub(super) const NO_CLOCK: &str = "an absolute time, and no clock to read it against";

/// Without optional white space around it (RFC 9110 section 5.6.3).
pub(super) fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// A decimal number without sign: digits, and at most one point between them.
pub(super) fn decimal(value: &[u8]) -> Option<f64> {
    let mut whole = 0u64;
    let mut at = 0;
    while at < value.len() && value[at].is_ascii_digit() {
        if at == 15 {
            return long_decimal(value);
        }
        whole = whole * 10 + u64::from(value[at] - b'0');
        at += 1;
    }
    match value.get(at) {
        None if at > 0 => Some(whole as f64),
        Some(b'.') if at > 0 => long_decimal(value),
        _ => None,
    }
}

fn long_decimal(value: &[u8]) -> Option<f64> {
    if value.len() > 40 {
        return None;
    }
    let text = core::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(fraction)).then(|| text.parse().ok()).flatten()
}

/// A count that may be negative: some servers mean "not enforced" by it.
pub(super) fn count(value: &[u8]) -> Result<f64, &'static str> {
    let value = trim(value);
    let (negative, digits) = match value.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, value),
    };
    match decimal(digits) {
        None => Err(NOT_A_NUMBER),
        Some(number) if number > MOST => Err(OUT_OF_RANGE),
        // A zero has no sign.
        Some(number) if negative && number > 0.0 => Ok(-number),
        Some(number) => Ok(number),
    }
}

/// A moment in any form: durations and dates first, then numbers by the unit
/// of the field's name, then by size.
pub(super) fn moment(value: &[u8], scale: Scale) -> Result<Moment, &'static str> {
    let value = trim(value);
    if let Some(number) = decimal(value) {
        return sized(number, scale);
    }
    if let Some(seconds) = duration(value) {
        return Ok(Moment::In(seconds));
    }
    date(value).map(Moment::At).ok_or(NOT_A_TIME)
}

/// A number as a moment.
pub(super) fn sized(number: f64, scale: Scale) -> Result<Moment, &'static str> {
    let span = match scale {
        Scale::Milliseconds if number < 1e11 => Some(Moment::In(number / 1e3)),
        Scale::Minutes if number < 1e8 => Some(Moment::In(number * 60.0)),
        Scale::Seconds if number < EPOCHS => Some(Moment::In(number)),
        Scale::Open if number < EPOCHS => Some(Moment::Bare(number)),
        _ => None,
    };
    match span {
        Some(span) => Ok(span),
        None if !(0.0..1e20).contains(&number) => Err(OUT_OF_RANGE),
        None => Ok(Moment::At(epoch_seconds(number))),
    }
}

/// An epoch in seconds, milliseconds, microseconds or nanoseconds.
pub(super) fn epoch_seconds(number: f64) -> f64 {
    match number {
        n if n < 1e11 => n,
        n if n < 1e14 => n / 1e3,
        n if n < 1e17 => n / 1e6,
        n => n / 1e9,
    }
}

/// Seconds from reception to that moment, zero if it has passed. `base` is
/// the clock (Unix seconds) to read an absolute time against.
pub(super) fn until(moment: Moment, base: Option<f64>) -> Result<f64, &'static str> {
    match moment {
        Moment::In(seconds) | Moment::Bare(seconds) if seconds > LONGEST => Err(OUT_OF_RANGE),
        Moment::In(seconds) | Moment::Bare(seconds) => Ok(seconds),
        Moment::At(seconds) => match base {
            None => Err(NO_CLOCK),
            Some(base) if (seconds - base).abs() > FARTHEST => Err(IMPLAUSIBLE),
            Some(base) => Ok((seconds - base).max(0.0)),
        },
    }
}

/// A duration of numbers with units, as Go and protobuf print it: `6m0s`,
/// `1.35s`, `120ms`.
pub(super) fn duration(value: &[u8]) -> Option<f64> {
    if value.len() > 40 || !value.first()?.is_ascii_digit() {
        return None;
    }
    let (mut rest, mut total) = (value, 0.0);
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        let number = decimal(&rest[..digits])?;
        rest = &rest[digits..];
        // Longer units first, so that `ms` is not read as minutes.
        let (unit, seconds) = [
            ("ms", 1e-3),
            ("us", 1e-6),
            ("\u{b5}s", 1e-6),
            ("\u{3bc}s", 1e-6),
            ("ns", 1e-9),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
        ]
        .into_iter()
        .find(|(unit, _)| rest.starts_with(unit.as_bytes()))?;
        total += number * seconds;
        rest = &rest[unit.len()..];
    }
    (total <= MOST).then_some(total)
}

/// A date in Unix seconds: the three HTTP forms, ISO 8601, and what `Date`
/// objects of JavaScript, Go and Ruby print.
pub(super) fn date(value: &[u8]) -> Option<f64> {
    if !(8..=100).contains(&value.len()) {
        return None;
    }
    if let Some(seconds) = fixdate(value) {
        return Some(seconds);
    }
    let text = core::str::from_utf8(value).ok()?;
    if let Ok(date) = httpdate::parse_http_date(text) {
        return Some(unix_seconds(date));
    }
    iso_date(value).or_else(|| spelled_date(text))
}

fn unix_seconds(date: SystemTime) -> f64 {
    date.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The preferred HTTP form, `Thu, 06 Aug 2026 07:06:40 GMT`, which nearly
/// every response carries: read at fixed places, a tenth of a general
/// parser's cost.
fn fixdate(value: &[u8]) -> Option<f64> {
    let value: &[u8; 29] = value.try_into().ok()?;
    let marks = value[3] == b','
        && value[4] == b' '
        && value[7] == b' '
        && value[11] == b' '
        && value[16] == b' '
        && value[19] == b':'
        && value[22] == b':'
        && value[25..] == *b" GMT";
    let two = |at: usize| {
        let (tens, ones) = (value[at].wrapping_sub(b'0'), value[at + 1].wrapping_sub(b'0'));
        (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
    };
    if !marks {
        return None;
    }
    let month = month([value[8], value[9], value[10]])?;
    unix(two(12)? * 100 + two(14)?, month, two(5)?, [two(17)?, two(20)?, two(23)?])
}

fn month(name: [u8; 3]) -> Option<i64> {
    const MONTHS: &[u8; 36] = b"janfebmaraprmayjunjulaugsepoctnovdec";
    let name = name.map(|byte| byte.to_ascii_lowercase());
    MONTHS.chunks_exact(3).position(|month| month == name).map(|at| at as i64 + 1)
}

/// Unix seconds of a date of the proleptic Gregorian calendar, UTC.
fn unix(year: i64, month: i64, day: i64, [hour, minute, second]: [i64; 3]) -> Option<f64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    // Counted from March, so that a leap day ends its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second) as f64)
}

/// Reads a value from its front.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take(&mut self, wanted: &[u8]) -> bool {
        let found = self.0.first().is_some_and(|byte| wanted.contains(byte));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(*byte - b'0')))
    }
}

/// ISO 8601 and RFC 3339; the seconds, the fraction and the zone may be
/// missing (a zone that is missing is UTC).
fn iso_date(value: &[u8]) -> Option<f64> {
    let mut at = Cursor(value);
    let year = at.digits(4)?;
    let month = at.take(b"-").then(|| at.digits(2))??;
    let day = at.take(b"-").then(|| at.digits(2))??;
    let hour = at.take(b"Tt ").then(|| at.digits(2))??;
    let minute = at.take(b":").then(|| at.digits(2))??;
    let second = if at.take(b":") { at.digits(2)? } else { 0 };
    let mut fraction = 0.0;
    if at.take(b".,") {
        let digits = at.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = core::str::from_utf8(&at.0[..digits]).ok().filter(|_| (1..=18).contains(&digits))?;
        fraction = format!("0.{text}").parse().ok()?;
        at.0 = &at.0[digits..];
    }
    Some(unix(year, month, day, [hour, minute, second])? + fraction - zone(trim(at.0))?)
}

/// Seconds east of UTC: nothing, a name for UTC, or an offset.
fn zone(text: &[u8]) -> Option<f64> {
    if text.is_empty() || ["Z", "GMT", "UTC", "UT"].iter().any(|name| text.eq_ignore_ascii_case(name.as_bytes())) {
        return Some(0.0);
    }
    let text = text.strip_prefix(b"GMT").or_else(|| text.strip_prefix(b"UTC")).unwrap_or(text);
    let sign = match text.first()? {
        b'+' => 1.0,
        b'-' => -1.0,
        _ => return None,
    };
    let mut at = Cursor(&text[1..]);
    let hours = at.digits(2)?;
    let colon = at.take(b":");
    let minutes = if at.0.is_empty() && !colon { 0 } else { at.digits(2)? };
    (at.0.is_empty() && hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as f64)
}

/// A date that begins with a weekday, in the order day, month, year, time
/// (RFC 1123 with any zone, RFC 850), month, day, time, year (asctime) or
/// month, day, year, time, zone (JavaScript). A weekday is asked for because
/// text without it is as likely something else.
fn spelled_date(text: &str) -> Option<f64> {
    // JavaScript appends the zone's name in brackets.
    let text = text.split('(').next()?;
    let mut words = text.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let weekday = words.next()?.as_bytes();
    let known = [&b"mon"[..], b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"];
    if weekday.len() < 3 || !known.iter().any(|day| weekday[..3].eq_ignore_ascii_case(day)) {
        return None;
    }
    let first = words.next()?;
    let (day, month_name, mut year, mut clock, mut zone_text);
    if first.contains('-') {
        let mut parts = first.split('-');
        (day, month_name, year) = (parts.next()?, parts.next()?, parts.next()?);
        (clock, zone_text) = (words.next()?, words.next());
    } else if first.as_bytes()[0].is_ascii_digit() {
        (day, month_name, year) = (first, words.next()?, words.next()?);
        (clock, zone_text) = (words.next()?, words.next());
    } else {
        (month_name, day, year) = (first, words.next()?, words.next()?);
        clock = words.next()?;
        if year.contains(':') {
            // asctime; a zone, if any, stands before the year.
            core::mem::swap(&mut year, &mut clock);
            zone_text = None;
            if let Some(last) = words.next() {
                zone_text = Some(year);
                year = last;
            }
        } else {
            zone_text = words.next();
        }
    }
    if words.next().is_some() || month_name.len() < 3 {
        return None;
    }
    let number = |text: &str, most: usize| -> Option<i64> {
        (text.len() <= most && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
    };
    let year = match (year.len(), number(year, 4)?) {
        (2, short) if short < 70 => 2000 + short,
        (2, short) => 1900 + short,
        (4, full) => full,
        _ => return None,
    };
    let month = month(month_name.as_bytes()[..3].try_into().ok()?)?;
    let mut parts = clock.split(':');
    let time = [number(parts.next()?, 2)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?];
    let seconds = unix(year, month, number(day, 2)?, time)?;
    let east = zone(zone_text.unwrap_or_default().as_bytes())?;
    parts.next().is_none().then_some(seconds - east)
}

/// The wall time of that many Unix seconds.
pub(super) fn wall(seconds: f64) -> Option<Wall> {
    Wall::from_unix_seconds(seconds)
}

/// Seconds of a period that a name tells: `minute`, `24hour`, `5h`, `per_day`.
/// Plain digits are seconds.
pub(super) fn period(word: &str) -> Option<u32> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = word.split_at(digits);
    let count: u32 =
        if digits == 0 { 1 } else { count.parse().ok().filter(|count| (1..=1_000_000).contains(count))? };
    let seconds = match unit {
        "" if digits > 0 => 1,
        // One letter alone is a name, not a period.
        "s" if digits > 0 => 1,
        "m" if digits > 0 => 60,
        "h" if digits > 0 => 3600,
        "d" if digits > 0 => 86_400,
        "second" | "seconds" | "secondly" | "sec" | "secs" => 1,
        "minute" | "minutes" | "minutely" | "min" | "mins" => 60,
        "hour" | "hours" | "hourly" | "hr" => 3600,
        "day" | "days" | "daily" | "today" => 86_400,
        "week" | "weeks" | "weekly" => 604_800,
        "month" | "monthly" => 2_592_000,
        "year" | "yearly" => 31_536_000,
        _ => return None,
    };
    count.checked_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_one_instant_is_read_alike() {
        for text in [
            "Thu, 06 Aug 2026 07:06:40 GMT",
            "Thursday, 06-Aug-26 07:06:40 GMT",
            "Thu Aug  6 07:06:40 2026",
            "Thu, 06 Aug 2026 07:06:40 UTC",
            "Thu, 06 Aug 2026 07:06:40 -0000",
            "Thu, 06 Aug 2026 07:06:40",
            "Thu, 06 Aug 2026 09:06:40 +0200",
            "Thu Aug  6 07:06:40 UTC 2026",
            "Thu Aug 06 2026 09:06:40 GMT+0200 (Central European Summer Time)",
            "2026-08-06T07:06:40Z",
            "2026-08-06T07:06:40.000000000Z",
            "2026-08-06T02:06:40-05:00",
            "2026-08-06t07:06:40+0000",
            "2026-08-06 07:06:40 UTC",
        ] {
            assert_eq!(date(text.as_bytes()), Some(1_786_000_000.0), "{text}");
        }
    }

    #[test]
    fn text_that_is_no_date_is_not_guessed_at() {
        for text in [
            "Sep 2027",
            "Jan 1 2030",
            "1 Jan 2099 00:00:00",
            "Thu, 01 Jan 2099 00:00:00 XYZ",
            "Fri, 31 Dec 99999 23:59:59 GMT",
            "Thu, 32 Aug 2026 07:06:40 GMT",
            "2026-02-30T00:00:00Z",
            "2026-08-06",
            "2026-08-06T07:06:40Zjunk",
            "2026-08-06T07:06:40+99:00",
            "Invalid precision",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_whole_or_not_at_all() {
        assert_eq!(duration(b"6m0s"), Some(360.0));
        assert_eq!(duration(b"120ms"), Some(0.12));
        assert_eq!(duration(b"2m59.56s"), Some(179.56));
        assert_eq!(duration("3\u{b5}s".as_bytes()), Some(3e-6));
        for text in ["", "s", "5", "5x", "-5s", "1.2.3s", "5s 3", "99999999999999999999s"] {
            assert_eq!(duration(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_digits_and_one_point_only() {
        assert_eq!(decimal(b"0.0167"), Some(0.0167));
        assert_eq!(decimal(b"120"), Some(120.0));
        for text in ["", ".", "5.", ".5", "+5", "-5", "1e3", "0x10", "nan", "inf", "1 2", "\u{b2}"] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(count(b"18446744073709551616"), Err(OUT_OF_RANGE));
    }
}
