//! Numbers and times as people write them.

use core::time::Duration;
use std::time::UNIX_EPOCH;

/// `41 s`, `5 min 3 s`, `2 h 5 min`, `3 d 4 h`: rounded up, so that who waits
/// that long does not come early.
pub(crate) fn duration(span: Duration) -> String {
    let millis = span.as_nanos().div_ceil(1_000_000);
    match millis {
        0 => "0 s".to_owned(),
        1..1000 => format!("{millis} ms"),
        1000..60_000 if !millis.is_multiple_of(1000) => {
            let tenths = millis.div_ceil(100);
            if tenths.is_multiple_of(10) {
                format!("{} s", tenths / 10)
            } else {
                format!("{}.{} s", tenths / 10, tenths % 10)
            }
        }
        _ => {
            let seconds = millis.div_ceil(1000);
            match seconds {
                0..60 => format!("{seconds} s"),
                60..3600 => two(seconds, 60, "min", 1, "s"),
                3600..86_400 => two(seconds.div_ceil(60) * 60, 3600, "h", 60, "min"),
                _ => two(seconds.div_ceil(3600) * 3600, 86_400, "d", 3600, "h"),
            }
        }
    }
}

/// A window after "per": `minute`, `10 s`.
pub(crate) fn period(span: Duration) -> String {
    match span.as_secs() {
        1 if span.subsec_nanos() == 0 => "second".to_owned(),
        60 => "minute".to_owned(),
        3600 => "hour".to_owned(),
        86_400 => "day".to_owned(),
        _ => duration(span),
    }
}

fn two(seconds: u128, large: u128, large_name: &str, small: u128, small_name: &str) -> String {
    let (whole, rest) = (seconds / large, seconds % large / small);
    if rest == 0 { format!("{whole} {large_name}") } else { format!("{whole} {large_name} {rest} {small_name}") }
}

/// When a wait ends: `07:06:41 UTC`, with the day where it is another than
/// that of `base`, rounded up but for what arithmetic adds. Both in Unix
/// seconds; `None` outside of the years that dates can have.
pub(crate) fn moment(at: f64, base: f64) -> Option<String> {
    let (at, base) = (date((at - 0.001).ceil())?, date(base)?);
    let (day, base_day) = (at.get(5..16)?, base.get(5..16)?);
    let time = format!("{} UTC", at.get(17..25)?);
    Some(if day == base_day {
        time
    } else {
        let day = if day.get(7..) == base_day.get(7..) { day.get(..6)? } else { day };
        format!("{} {time}", day.trim_start_matches('0'))
    })
}

/// When something was: `6 Aug 2026 07:06:41 UTC`.
pub(crate) fn full_moment(at: f64) -> Option<String> {
    let at = date(at)?;
    Some(format!("{} {} UTC", at.get(5..16)?.trim_start_matches('0'), at.get(17..25)?))
}

/// The same without day and zone.
pub(crate) fn time_of_day(at: f64) -> Option<String> {
    Some(date(at)?.get(17..25)?.to_owned())
}

/// As HTTP writes dates.
fn date(at: f64) -> Option<String> {
    // The last second of the year 9999.
    let known = (0.0..253_402_300_799.0).contains(&at);
    known.then(|| httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs_f64(at)))
}

/// `5,000`, `0.0167`.
pub(crate) fn number(number: f64) -> String {
    if number.fract() != 0.0 || number.abs() >= 1e15 {
        return format!("{}", (number * 1e6).round() / 1e6);
    }
    let digits = format!("{:.0}", number.abs());
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if number < 0.0 { format!("-{grouped}") } else { grouped }
}

/// Bytes of strangers as one line of text: control characters, which could
/// command the terminal, are escaped, and what is longer than `most`
/// characters is cut.
pub(crate) fn plain(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(most.saturating_mul(4))]);
    let mut plain = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == most {
            plain.push('…');
            break;
        }
        if letter.is_control() || is_invisible(letter) {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// Characters that change the direction of text or have no width.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A URL without query, fragment and user, which may hold secrets.
pub(crate) fn url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let url = match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("{scheme}://{}{path}", host.rsplit('@').next().unwrap_or_default())
        }
        None => url.to_owned(),
    };
    plain(url.as_bytes(), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up_to_what_people_say() {
        let said = |seconds: f64| duration(Duration::from_secs_f64(seconds));
        assert_eq!(said(0.0), "0 s");
        assert_eq!(said(0.0501), "51 ms");
        assert_eq!(said(1.0), "1 s");
        assert_eq!(said(7.66), "7.7 s");
        assert_eq!(said(59.99), "60 s");
        assert_eq!(said(61.0), "1 min 1 s");
        assert_eq!(said(7_199.5), "2 h");
        assert_eq!(said(231_890.0), "2 d 17 h");
    }

    #[test]
    fn moments_name_the_day_only_where_it_is_another() {
        let base = 1_786_000_000.0;
        assert_eq!(moment(base + 1.0, base).as_deref(), Some("07:06:41 UTC"));
        assert_eq!(moment(base + 86_400.0, base).as_deref(), Some("7 Aug 07:06:40 UTC"));
        assert_eq!(moment(base + 366.0 * 86_400.0, base).as_deref(), Some("7 Aug 2027 07:06:40 UTC"));
        assert_eq!(moment(1e18, base), None);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(number(42.0), "42");
        assert_eq!(number(1_080_000.0), "1,080,000");
        assert_eq!(number(-1.0), "-1");
        assert_eq!(number(0.0167), "0.0167");
    }

    #[test]
    fn what_could_command_a_terminal_is_escaped() {
        assert_eq!(plain(b"a\x1b[31mb\r\n", 80), "a\\u{1b}[31mb\\r\\n");
        assert_eq!(plain("a\u{202e}b".as_bytes(), 80), "a\\u{202e}b");
        assert_eq!(plain(b"0123456789", 4), "0123…");
    }
}
