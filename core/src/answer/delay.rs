//! Waits as a server can state them: whole seconds, at least one, never
//! rounded down.

use core::time::Duration;

use crate::config::ConfigError;
use crate::time::{SECOND, Wall};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The first Monday of the epoch, in seconds.
const MONDAY: i64 = 4 * DAY;
/// What clocks read as floating-point numbers blur: it costs no second more.
const BLUR: u64 = 1000;

/// A wait in whole seconds, from 1 to 999,999,999 (some 31 years; readers take
/// longer numbers for dates).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delay(u32);

impl Delay {
    /// The longest.
    pub const MAX: Self = Self(999_999_999);

    /// That many seconds; 0 becomes 1, because a client that comes back at
    /// once is refused again.
    #[must_use]
    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds.clamp(1, u64::from(Self::MAX.0)) as u32)
    }

    /// From `now` until `instant`, rounded up; 1 second if that has passed.
    #[must_use]
    pub fn until(instant: Wall, now: Wall) -> Self {
        let nanos = instant.as_unix_nanos().saturating_sub(now.as_unix_nanos());
        let nanos = u64::try_from(nanos).unwrap_or(0).saturating_sub(BLUR);
        Self::from_secs(nanos.div_ceil(SECOND))
    }

    /// From `now` until the next boundary of that period, UTC; a whole period
    /// if `now` is one.
    ///
    /// ```
    /// use rampmeter::{Delay, Period, Wall};
    ///
    /// let now = Wall::from_unix_seconds(1_786_000_000.5).expect("a time"); // 07:06:40.5
    /// assert_eq!(Delay::until_next(Period::Minute, now).as_secs(), 20);
    /// ```
    #[must_use]
    pub fn until_next(period: Period, now: Wall) -> Self {
        Self::until(period.next(now), now)
    }

    /// From `now` until the next midnight, UTC.
    #[must_use]
    pub fn until_next_utc_day(now: Wall) -> Self {
        Self::until_next(Period::Day, now)
    }

    /// In seconds.
    #[must_use]
    pub fn as_secs(self) -> u32 {
        self.0
    }
}

/// Rounds up; at least 1 second.
impl From<Duration> for Delay {
    fn from(wait: Duration) -> Self {
        let seconds = wait.saturating_sub(Duration::from_nanos(BLUR));
        Self::from_secs(seconds.as_secs().saturating_add(u64::from(seconds.subsec_nanos() > 0)))
    }
}

impl From<Delay> for Duration {
    fn from(delay: Delay) -> Self {
        Self::from_secs(u64::from(delay.0))
    }
}

/// A period of the calendar, in UTC, at whose boundaries quotas are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// Ends at the full minute.
    Minute,
    /// Ends at the full hour.
    Hour,
    /// Ends at midnight.
    Day,
    /// Ends on Monday at midnight (ISO 8601).
    Week,
    /// Ends on the first of the month at midnight.
    Month,
    /// Ends at each multiple since the Unix epoch: for windows of, say, five
    /// minutes. Whole seconds, at least 1.
    Every(Delay),
}

impl Period {
    /// Those that have a name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
    ];

    /// The period of that name.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for another name.
    pub fn from_name(name: &str) -> Result<Self, ConfigError> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, period)| *period).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            ConfigError::new("until_next", format!("must be one of {names}, or a number of seconds"))
        })
    }

    /// The first boundary after `now`.
    fn next(self, now: Wall) -> Wall {
        let now = now.as_unix_nanos().div_euclid(SECOND as i64);
        let after = |length: i64, offset: i64| now + length - (now - offset).rem_euclid(length);
        let next = match self {
            Self::Minute => after(MINUTE, 0),
            Self::Hour => after(HOUR, 0),
            Self::Day => after(DAY, 0),
            Self::Week => after(7 * DAY, MONDAY),
            Self::Month => next_month(now.div_euclid(DAY)) * DAY,
            Self::Every(length) => after(i64::from(length.0), 0),
        };
        Wall::from_unix_nanos(next.saturating_mul(SECOND as i64))
    }
}

/// The first day of the month after that day; both counted from the epoch.
fn next_month(day: i64) -> i64 {
    // Years are counted from March, so that a leap day ends its year: the
    // proleptic Gregorian calendar by Hinnant's `civil_from_days`.
    let shifted = day + 719_468;
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let ends = if month == 11 {
        // The length of the year that February ends.
        let next = year + 1;
        365 + i64::from(next % 4 == 0 && (next % 100 != 0 || next % 400 == 0))
    } else {
        (153 * (month + 1) + 2) / 5
    };
    day - of_year + ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Wall {
        crate::signals::parse_date(text).expect("a date")
    }

    fn next(period: Period, now: &str) -> Wall {
        period.next(at(now))
    }

    #[test]
    fn each_period_ends_at_its_boundary() {
        let now = "Sat, 28 Feb 2026 23:59:58 GMT";
        assert_eq!(next(Period::Minute, now), at("Sun, 01 Mar 2026 00:00:00 GMT"));
        assert_eq!(next(Period::Hour, now), at("Sun, 01 Mar 2026 00:00:00 GMT"));
        assert_eq!(next(Period::Day, now), at("Sun, 01 Mar 2026 00:00:00 GMT"));
        assert_eq!(next(Period::Week, now), at("Mon, 02 Mar 2026 00:00:00 GMT"));
        assert_eq!(next(Period::Month, now), at("Sun, 01 Mar 2026 00:00:00 GMT"));
        assert_eq!(
            next(Period::Every(Delay(900)), "Sat, 28 Feb 2026 12:14:59 GMT"),
            at("Sat, 28 Feb 2026 12:15:00 GMT")
        );
    }

    #[test]
    fn months_end_where_the_calendar_says() {
        for (now, end) in [
            ("Wed, 31 Dec 2025 23:59:59 GMT", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Thu, 01 Jan 2026 00:00:00 GMT", "Sun, 01 Feb 2026 00:00:00 GMT"),
            ("Sun, 01 Feb 2026 00:00:00 GMT", "Sun, 01 Mar 2026 00:00:00 GMT"),
            ("Tue, 01 Feb 2028 00:00:00 GMT", "Wed, 01 Mar 2028 00:00:00 GMT"),
            ("Tue, 29 Feb 2028 10:00:00 GMT", "Wed, 01 Mar 2028 00:00:00 GMT"),
            ("Mon, 01 Feb 2100 00:00:00 GMT", "Mon, 01 Mar 2100 00:00:00 GMT"),
            ("Sat, 31 Oct 2026 00:00:00 GMT", "Sun, 01 Nov 2026 00:00:00 GMT"),
        ] {
            assert_eq!(next(Period::Month, now), at(end), "{now}");
        }
    }

    #[test]
    fn a_boundary_itself_begins_a_whole_period() {
        let midnight = at("Sun, 01 Mar 2026 00:00:00 GMT");
        assert_eq!(Delay::until_next_utc_day(midnight).as_secs(), 86_400);
        assert_eq!(Delay::until_next(Period::Month, midnight).as_secs(), 31 * 86_400);
    }

    #[test]
    fn delays_are_rounded_up_and_at_least_a_second() {
        let now = Wall::from_unix_nanos(1_786_000_000_000_000_000);
        let later = |nanos: i64| Wall::from_unix_nanos(now.as_unix_nanos() + nanos);
        assert_eq!(Delay::until(later(-5), now).as_secs(), 1);
        assert_eq!(Delay::until(later(0), now).as_secs(), 1);
        assert_eq!(Delay::until(later(1_000_000_000), now).as_secs(), 1);
        assert_eq!(Delay::until(later(1_000_002_000), now).as_secs(), 2);
        assert_eq!(Delay::from(Duration::ZERO).as_secs(), 1);
        assert_eq!(Delay::from(Duration::from_millis(1001)).as_secs(), 2);
        assert_eq!(Delay::from(Duration::MAX), Delay::MAX);
    }

    #[test]
    fn the_blur_of_a_floating_point_clock_costs_no_second() {
        let now = Wall::from_unix_seconds(1_786_000_000.123_456).expect("a time");
        let then = Wall::from_unix_seconds(1_786_000_030.123_456_2).expect("a time");
        assert_eq!(Delay::until(then, now).as_secs(), 30);
    }

    #[test]
    fn the_ends_of_time_do_no_harm() {
        for nanos in [i64::MIN, i64::MIN + 1, -1, 0, i64::MAX] {
            let now = Wall::from_unix_nanos(nanos);
            for (_, period) in Period::ALL {
                assert!(Delay::until_next(period, now).as_secs() >= 1);
            }
            assert!(Delay::until(Wall::from_unix_nanos(i64::MAX), now) <= Delay::MAX);
        }
    }
}
