//! Header fields: what a client can act on that reads no body.

use super::Facts;
use crate::refusal::Class;

/// The fields, in the order sent.
pub(super) fn fields(facts: &Facts<'_>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::with_capacity(6);
    if let Some(delay) = facts.delay {
        fields.push(("Retry-After", delay.as_secs().to_string()));
    }
    // Entries of these lists have a name (draft-ietf-httpapi-ratelimit-headers
    // section 3).
    if let Some(name) = facts.policies.first() {
        if let Some(limit) = facts.limit {
            let window = facts.window.map(|window| format!(";w={window}")).unwrap_or_default();
            let unit = facts.unit.map(|unit| format!(";qu={}", string(unit))).unwrap_or_default();
            fields.push(("RateLimit-Policy", format!("{};q={limit}{window}{unit}", string(name))));
        }
        if let Some(remaining) = facts.remaining {
            // The draft asks that the reset be no later than `Retry-After`. A
            // suggestion is no reset: there may be no room then.
            let reset = facts.delay.filter(|_| !facts.suggested);
            let reset = reset.map(|delay| format!(";t={}", delay.as_secs())).unwrap_or_default();
            fields.push(("RateLimit", format!("{};r={remaining}{reset}", string(name))));
        }
    }
    if facts.class == Class::Permanent {
        // The one field that many clients obey which else repeat every 429.
        fields.push(("X-Should-Retry", "false".to_owned()));
    }
    // A stored refusal would refuse callers that it does not concern (RFC 6585
    // section 4; of other statuses a cache may keep what it likes).
    fields.push(("Cache-Control", "no-store".to_owned()));
    if facts.exposed {
        let names: Vec<_> = fields.iter().map(|(name, _)| *name).filter(|name| *name != "Cache-Control").collect();
        if !names.is_empty() {
            fields.push(("Access-Control-Expose-Headers", names.join(", ")));
        }
    }
    fields
}

/// A structured field's string (RFC 9651 section 4.1.6).
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
