//! What the grammar of names and values cannot know: one row per exception,
//! each with the place that documents it.
//!
//! An unknown vendor that follows the usual patterns needs no row.

use super::grammar::What;
use super::values::Scale;

/// How a field's value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One figure, in the grammar's forms.
    Figure(What, Scale),
    /// A rate: so many per second, not a quota.
    PerSecond,
    /// `name=used/limit; name=used/limit(note)`.
    NamedUsedOfLimit,
    /// `limit:window, limit:window`.
    LimitPerWindow,
    /// `used:window, used:window`, joined to the former by the window.
    UsedPerWindow,
    /// `name;count, name;count`.
    NamedCounts,
    /// `seconds:category;category:scope:reason`, active holds only; no
    /// category means all.
    Categories,
    /// JSON whose numbers are percent used.
    PercentUsed,
    /// A count used in the window that the name's end tells (`1m`), of a
    /// limit told elsewhere.
    UsedInWindow,
    /// `b=name;q=limit;r=remaining;t=reset`.
    Quotas,
    /// Whether the server wants a retry at all: `true` or `false`.
    ShouldRetry,
    /// What is counted, told by the field's presence.
    Unit,
    /// Known to say nothing that is needed.
    Silent,
}

/// One exception.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// Whose it is, as the `dialects` option names it.
    pub(super) dialect: &'a str,
    /// The header's name in lower case; with `*` at its end, what it begins
    /// with.
    pub(super) header: &'a str,
    pub(super) form: Form,
    /// The meter's name; empty for the unnamed one.
    pub(super) meter: &'a str,
    pub(super) unit: Option<&'a str>,
    pub(super) window: Option<u32>,
    /// Where that is documented or was seen.
    pub(super) source: &'a str,
}

const fn row(dialect: &'static str, header: &'static str, form: Form, source: &'static str) -> Row<'static> {
    Row { dialect, header, form, meter: "", unit: None, window: None, source }
}

impl Row<'_> {
    /// Whether it is of a dialect of the caller's own, which has no name here.
    pub(super) fn is_own(&self) -> bool {
        self.dialect.is_empty()
    }
}

impl Row<'static> {
    fn is_beginning(&self) -> bool {
        self.header.ends_with('*')
    }

    /// The header, or its beginning.
    fn stem(&self) -> &'static str {
        self.header.strip_suffix('*').unwrap_or(self.header)
    }

    const fn meter(mut self, meter: &'static str) -> Self {
        self.meter = meter;
        self
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    const fn window(mut self, seconds: u32) -> Self {
        self.window = Some(seconds);
        self
    }
}

const LIMIT: Form = Form::Figure(What::Limit, Scale::Open);
const REMAINING: Form = Form::Figure(What::Remaining, Scale::Open);
const REASON: Form = Form::Figure(What::Reason, Scale::Open);

const ANTHROPIC: &str = "docs.anthropic.com, rate limits";
const AUTH0: &str = "auth0.com/docs, client and organization quotas";
const AZURE: &str = "learn.microsoft.com/azure, request limits and throttling";
const BIGCOMMERCE: &str = "developer.bigcommerce.com, API rate limits";
const BINANCE: &str = "github.com/binance/binance-spot-api-docs, rest-api.md";
const BYBIT: &str = "bybit-exchange.github.io, v5 rate limit rules";
const ETSY: &str = "developers.etsy.com, rate limits";
const HUBSPOT: &str = "developers.hubspot.com, usage guidelines";
const META: &str = "developers.facebook.com, Graph API rate limits";
const RIOT: &str = "hextechdocs.dev, rate limiting";
const SPRING: &str = "github.com/spring-cloud/spring-cloud-gateway, RedisRateLimiter.java";
const STRIPE: &str = "docs.stripe.com, rate limits";
const XERO: &str = "developer.xero.com, API limits";

/// The table, in the order of the headers' names.
#[rustfmt::skip]
pub(super) const ROWS: &[Row<'static>] = &[
    row("anthropic", "anthropic-ratelimit-unified-reset", Form::Silent, ANTHROPIC),
    row("auth0", "auth0-client-quota-limit", Form::Quotas, AUTH0).meter("client").unit("tokens"),
    row("auth0", "auth0-organization-quota-limit", Form::Quotas, AUTH0).meter("organization").unit("tokens"),
    row("salesforce", "sforce-limit-info", Form::NamedUsedOfLimit, "developer.salesforce.com, Limit Info header"),
    row("stripe", "stripe-rate-limited-reason", REASON, STRIPE),
    row("stripe", "stripe-should-retry", Form::ShouldRetry, STRIPE),
    row("meta", "x-ad-account-usage", Form::PercentUsed, META).meter("ad-account").unit("percent"),
    row("aws", "x-amz-retry-after", Form::Figure(What::Wait, Scale::Milliseconds), "github.com/boto/botocore, retries/standard.py"),
    row("amazon-sp-api", "x-amzn-ratelimit-limit", Form::PerSecond, "github.com/amzn/selling-partner-api-docs, usage plans").window(1),
    row("riot", "x-app-rate-limit", Form::LimitPerWindow, RIOT).meter("app"),
    row("riot", "x-app-rate-limit-count", Form::UsedPerWindow, RIOT).meter("app"),
    row("meta", "x-app-usage", Form::PercentUsed, META).meter("app").unit("percent"),
    row("xero", "x-appminlimit-remaining", REMAINING, XERO).meter("app-minute").window(60),
    row("bybit", "x-bapi-limit", LIMIT, BYBIT),
    row("bybit", "x-bapi-limit-reset-timestamp", Form::Figure(What::Reset, Scale::Open), BYBIT),
    row("bybit", "x-bapi-limit-status", REMAINING, BYBIT),
    row("meta", "x-business-use-case-usage", Form::PercentUsed, META).unit("percent"),
    row("xero", "x-daylimit-remaining", REMAINING, XERO).meter("day").window(86_400),
    row("discogs", "x-discogs-ratelimit", LIMIT, "discogs.com/developers, rate limiting").window(60),
    row("meta", "x-fb-ads-insights-throttle", Form::PercentUsed, META).meter("ads-insights").unit("percent"),
    row("hubspot", "x-hubspot-ratelimit-secondly*", Form::Silent, HUBSPOT),
    row("etsy", "x-limit-per-day", LIMIT, ETSY).meter("day").window(86_400),
    row("etsy", "x-limit-per-second", LIMIT, ETSY).meter("second").window(1),
    row("binance", "x-mbx-order-count*", Form::UsedInWindow, BINANCE).meter("order-count"),
    row("binance", "x-mbx-used-weight*", Form::UsedInWindow, BINANCE).meter("used-weight").unit("weight"),
    row("riot", "x-method-rate-limit", Form::LimitPerWindow, RIOT).meter("method"),
    row("riot", "x-method-rate-limit-count", Form::UsedPerWindow, RIOT).meter("method"),
    row("xero", "x-minlimit-remaining", REMAINING, XERO).meter("minute").window(60),
    row("azure", "x-ms-ratelimit-remaining-resource", Form::NamedCounts, AZURE),
    row("azure", "x-ms-throttle-limit-percentage", Form::Silent, "learn.microsoft.com/graph, throttling"),
    row("azure", "x-ms-throttle-scope", Form::Silent, "learn.microsoft.com/graph, throttling"),
    row("meta", "x-page-usage", Form::PercentUsed, META).meter("page").unit("percent"),
    row("xero", "x-rate-limit-problem", REASON, XERO),
    row("bigcommerce", "x-rate-limit-requests-left", REMAINING, BIGCOMMERCE).unit("requests"),
    row("bigcommerce", "x-rate-limit-requests-quota", LIMIT, BIGCOMMERCE).unit("requests"),
    row("riot", "x-rate-limit-type", REASON, RIOT),
    row("spring-cloud-gateway", "x-ratelimit-replenish-rate", Form::Silent, SPRING),
    row("spring-cloud-gateway", "x-ratelimit-requested-tokens", Form::Unit, SPRING).unit("tokens"),
    row("discord", "x-ratelimit-scope", REASON, "github.com/discord/discord-api-docs, rate-limits.mdx"),
    // Their documentation spells it without the last letter.
    row("etsy", "x-remaining-this-secon*", REMAINING, ETSY).meter("second").window(1),
    row("etsy", "x-remaining-today", REMAINING, ETSY).meter("day").window(86_400),
    row("traefik", "x-retry-in", Form::Figure(What::Wait, Scale::Seconds), "github.com/traefik/traefik, rate_limiter.go"),
    row("binance", "x-sapi-used-ip-weight*", Form::UsedInWindow, BINANCE).meter("used-ip-weight").unit("weight"),
    row("binance", "x-sapi-used-uid-weight*", Form::UsedInWindow, BINANCE).meter("used-uid-weight").unit("weight"),
    row("sentry", "x-sentry-rate-limits", Form::Categories, "github.com/getsentry/sentry-go, rate limits"),
    row("openai", "x-should-retry", Form::ShouldRetry, "github.com/openai/openai-python, _base_client.py"),
    row("django-rest-framework", "x-throttle-wait-second*", Form::Figure(What::Wait, Scale::Seconds), "github.com/encode/django-rest-framework, views.py"),
];

/// Prefixes that open a rate-limit header without the word: what stands
/// before the meter's name.
pub(super) const STEMS: [(&str, &str); 1] = [("anthropic-priority-", "priority")];

/// Windows told by position where limit and usage are lists of two (Strava:
/// developers.strava.com/docs/rate-limits).
pub(super) const POSITIONS: [(&str, u32); 2] = [("15min", 900), ("daily", 86_400)];

/// The row of that lower-case header.
pub(super) fn lookup(header: &str) -> Option<&'static Row<'static>> {
    if !may_be_listed(header.as_bytes()) {
        return None;
    }
    // A row for a beginning stands just before or at the header's place.
    let at = ROWS.partition_point(|row| row.stem() <= header);
    let row = ROWS.get(at.checked_sub(1)?)?;
    (row.stem() == header || row.is_beginning() && header.starts_with(row.stem())).then_some(row)
}

/// Most headers are told from all rows by their length and two letters, or by
/// the fifth letter, which spares the search.
fn may_be_listed(header: &[u8]) -> bool {
    const EXACT: [bool; 256] = {
        let mut listed = [false; 256];
        let mut at = 0;
        while at < ROWS.len() {
            let header = ROWS[at].header.as_bytes();
            listed[mark(header)] = true;
            at += 1;
        }
        listed
    };
    const BEGINNINGS: [bool; 256] = {
        let mut listed = [false; 256];
        let mut at = 0;
        while at < ROWS.len() {
            let header = ROWS[at].header.as_bytes();
            if header[header.len() - 1] == b'*' {
                listed[header[4] as usize] = true;
            }
            at += 1;
        }
        listed
    };
    header.len() > 4 && (EXACT[mark(header)] || BEGINNINGS[usize::from(header[4])])
}

const fn mark(header: &[u8]) -> usize {
    // The factor is the one by which the commonest headers meet no row.
    (header.len() * 35 + header[2] as usize + header[header.len() - 1] as usize) & 255
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_lower_case_and_name_their_source() {
        for row in ROWS {
            assert_eq!(row.header, row.header.to_lowercase());
            assert!(!row.source.is_empty() && !row.dialect.is_empty(), "{}", row.header);
        }
    }

    #[test]
    fn each_row_is_found_by_its_header() {
        assert!(ROWS.is_sorted_by_key(Row::stem));
        for row in ROWS {
            let end = if row.is_beginning() { "-1m" } else { "" };
            let found = lookup(&format!("{}{end}", row.stem())).map(|found| found.header);
            assert_eq!(found, Some(row.header));
        }
    }
}
