//! Whose quota a request draws on: a label made of its credential.
//!
//! A label is a keyed hash; its key is drawn at random for each limiter. The
//! credential itself is neither stored nor shown, and a label that leaks
//! cannot be tested against a list of passwords without the key.

use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

use crate::head::Headers;

/// Headers whose whole value is a key that stands for one account.
const KEY_HEADERS: [&str; 4] = ["x-api-key", "api-key", "x-goog-api-key", "private-token"];

/// `Authorization` schemes whose whole value stands for one account.
const WHOLE_VALUE_SCHEMES: [&str; 4] = ["basic", "bearer", "token", "apikey"];

/// One credential, told from all others and from nothing else.
///
/// The order serves look-ups: it differs from limiter to limiter, so nothing
/// that is decided may depend on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label(u128);

impl core::fmt::Debug for Label {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Label(..)")
    }
}

/// Reads credential labels off requests.
#[derive(Debug)]
pub(crate) struct CredentialReader {
    extra_headers: Vec<String>,
    /// Two keys for twice 64 bits, so that two accounts of one origin do not
    /// share a label by chance.
    keys: [RandomState; 2],
}

impl CredentialReader {
    /// A reader that takes `extra_headers` for key headers too; their whole
    /// value counts, whatever it is.
    pub(crate) fn new(extra_headers: &[String]) -> Self {
        let extra_headers = extra_headers.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { extra_headers, keys: [RandomState::new(), RandomState::new()] }
    }

    /// The label of a request's credential; `None` if it carries none that
    /// stays the same from call to call.
    ///
    /// Several credentials make one label, in whatever order they stand.
    pub(crate) fn label(&self, headers: &dyn Headers) -> Option<Label> {
        let mut sum: Option<u128> = None;
        headers.visit(&mut |name, value| {
            if let Some(hash) = self.field(name, value.trim_ascii()) {
                sum = Some(sum.unwrap_or(0).wrapping_add(hash));
            }
        });
        sum.map(Label)
    }

    /// The hash of one field, if it is a credential.
    fn field(&self, name: &[u8], value: &[u8]) -> Option<u128> {
        if value.is_empty() {
            return None;
        }
        let listed = KEY_HEADERS.iter().copied().chain(self.extra_headers.iter().map(String::as_str));
        if let Some(header) = listed.into_iter().find(|header| name.eq_ignore_ascii_case(header.as_bytes())) {
            return Some(self.hash(&[header.as_bytes(), value]));
        }
        if !name.eq_ignore_ascii_case(b"authorization") {
            return None;
        }
        let (scheme, credential) = split_scheme(value)?;
        if WHOLE_VALUE_SCHEMES.contains(&scheme.as_str()) {
            // A JWT is made anew every few minutes; a label of it would
            // forget all that was learned just as often.
            return (!looks_like_jwt(credential)).then(|| self.hash(&[scheme.as_bytes(), credential]));
        }
        let [first, second] = signer(&scheme, credential)?;
        Some(self.hash(&[scheme.as_bytes(), first, second]))
    }

    fn hash(&self, parts: &[&[u8]]) -> u128 {
        let [high, low] = self.keys.each_ref().map(|key| {
            let mut hasher = key.build_hasher();
            for part in parts {
                // The length keeps ("ab", "c") apart from ("a", "bc").
                hasher.write_usize(part.len());
                hasher.write(part);
            }
            u128::from(hasher.finish())
        });
        high << 64 | low
    }
}

/// The scheme in lower case, and what follows it (RFC 9110 section 11.4).
fn split_scheme(value: &[u8]) -> Option<(String, &[u8])> {
    let space = value.iter().position(u8::is_ascii_whitespace)?;
    let scheme = str::from_utf8(&value[..space]).ok()?.to_ascii_lowercase();
    Some((scheme, value[space..].trim_ascii()))
}

/// Three parts, or five if encrypted, in base64url, the first being a JSON
/// object (RFC 7515 section 7.1, RFC 7516 section 7.1).
fn looks_like_jwt(token: &[u8]) -> bool {
    let dots = token.iter().filter(|byte| **byte == b'.').count();
    let base64url = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'=');
    token.starts_with(b"eyJ") && matches!(dots, 2 | 4) && token.iter().all(base64url)
}

/// Who signed: the part of a signature that stays the same from call to call.
fn signer<'a>(scheme: &str, credential: &'a [u8]) -> Option<[&'a [u8]; 2]> {
    let one = |name: &str| parameter(credential, name).map(|value| [value, b"".as_slice()]);
    match scheme {
        "oauth" => {
            let consumer = parameter(credential, "oauth_consumer_key");
            let token = parameter(credential, "oauth_token");
            (consumer.is_some() || token.is_some()).then(|| [consumer.unwrap_or_default(), token.unwrap_or_default()])
        }
        "digest" => one("username").or_else(|| one("username*")),
        "signature" | "hmac" => one("keyid").or_else(|| one("username")).or_else(|| one("id")),
        "hawk" => one("id"),
        // AWS signature version 2 and Azure: `identity:signature`.
        "aws" | "sharedkey" | "sharedkeylite" => {
            let colon = credential.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0)?;
            Some([&credential[..colon], b""])
        }
        // `AWS4-HMAC-SHA256 Credential=AKID/20130524/us-east-1/…` and its
        // kin: what follows the key id in the scope changes with the day.
        _ => {
            let scope = parameter(credential, "credential")?;
            let id = scope.split(|byte| *byte == b'/').next().filter(|id| !id.is_empty())?;
            Some([id, b""])
        }
    }
}

/// The value of a parameter in `name=value, name="value"`; names in any case.
/// A comma inside quotes ends no parameter.
fn parameter<'a>(list: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut quoted = false;
    list.split(|byte| {
        quoted ^= *byte == b'"';
        !quoted && matches!(byte, b',' | b' ' | b';')
    })
    .find_map(|item| {
        let item = item.trim_ascii();
        let equals = item.iter().position(|byte| *byte == b'=')?;
        if !item[..equals].trim_ascii().eq_ignore_ascii_case(name.as_bytes()) {
            return None;
        }
        let value = item[equals + 1..].trim_ascii();
        let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        (!value.is_empty()).then_some(value)
    })
}

/// True if the request says itself that it may be sent twice
/// (draft-ietf-httpapi-idempotency-key-header).
pub(crate) fn idempotency_key(headers: &dyn Headers) -> bool {
    let mut found = false;
    headers.visit(&mut |name, value| {
        found |= name.eq_ignore_ascii_case(b"idempotency-key") && !value.trim_ascii().is_empty();
    });
    found
}

#[cfg(test)]
mod tests {
    use super::{CredentialReader, idempotency_key};

    /// Whether two lists of fields have labels, and the same one.
    #[derive(Debug, PartialEq)]
    enum Labels {
        None,
        Same,
        Different,
    }

    fn compare(left: &[(&str, &str)], right: &[(&str, &str)]) -> Labels {
        compare_with(&CredentialReader::new(&[]), left, right)
    }

    fn compare_with(reader: &CredentialReader, left: &[(&str, &str)], right: &[(&str, &str)]) -> Labels {
        match (reader.label(&left.to_vec()), reader.label(&right.to_vec())) {
            (None, None) => Labels::None,
            (left, right) if left == right => Labels::Same,
            _ => Labels::Different,
        }
    }

    fn authorization(left: &str, right: &str) -> Labels {
        compare(&[("Authorization", left)], &[("authorization", right)])
    }

    #[test]
    fn the_whole_value_of_basic_bearer_token_and_apikey_counts() {
        for scheme in ["Basic", "Bearer", "Token", "ApiKey"] {
            let value = |secret: &str| format!("{scheme} {secret}");
            assert_eq!(authorization(&value("one"), &value("one")), Labels::Same, "{scheme}");
            assert_eq!(authorization(&value("one"), &value("two")), Labels::Different, "{scheme}");
        }
        assert_eq!(authorization("bearer  one", "Bearer one"), Labels::Same);
        assert_eq!(authorization("Bearer one", "Token one"), Labels::Different);
    }

    #[test]
    fn a_jwt_gives_no_label() {
        let one = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        let two = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.b3RoZXI";
        assert_eq!(authorization(one, two), Labels::None);
        assert_eq!(authorization("Bearer a.b.c", "Bearer a.b.d"), Labels::Different);
    }

    #[test]
    fn of_a_signature_only_the_signer_counts() {
        let aws = |id: &str, day: &str, signature: &str| {
            format!(
                "AWS4-HMAC-SHA256 Credential={id}/{day}/us-east-1/s3/aws4_request, SignedHeaders=host, Signature={signature}"
            )
        };
        assert_eq!(authorization(&aws("AK1", "20250101", "aa"), &aws("AK1", "20250102", "bb")), Labels::Same);
        assert_eq!(authorization(&aws("AK1", "20250101", "aa"), &aws("AK2", "20250101", "aa")), Labels::Different);

        let oauth = |consumer: &str, token: &str, nonce: &str| {
            format!(
                r#"OAuth realm="a, b", oauth_consumer_key="{consumer}", oauth_token="{token}", oauth_nonce="{nonce}""#
            )
        };
        assert_eq!(authorization(&oauth("c", "t", "1"), &oauth("c", "t", "2")), Labels::Same);
        assert_eq!(authorization(&oauth("c", "t", "1"), &oauth("c", "u", "1")), Labels::Different);
        assert_eq!(authorization(&oauth("ab", "c", "1"), &oauth("a", "bc", "1")), Labels::Different);

        let digest =
            |user: &str, nonce: &str| format!(r#"Digest username="{user}", realm="r", nonce="{nonce}", nc=00000001"#);
        assert_eq!(authorization(&digest("anna", "1"), &digest("anna", "2")), Labels::Same);
        assert_eq!(authorization(&digest("anna", "1"), &digest("ben", "1")), Labels::Different);

        let signature = |key: &str, signature: &str| {
            format!(r#"Signature keyId="{key}",algorithm="hs2019",signature="{signature}""#)
        };
        assert_eq!(authorization(&signature("k1", "a="), &signature("k1", "b=")), Labels::Same);
        assert_eq!(authorization(&signature("k1", "a="), &signature("k2", "a=")), Labels::Different);
        assert_eq!(authorization("HMAC keyId=k1 sig=a", "HMAC keyId=k1 sig=b"), Labels::Same);
        assert_eq!(authorization("SharedKey acct:aa", "SharedKey acct:bb"), Labels::Same);
        assert_eq!(
            authorization(r#"Hawk id="a", ts="1", mac="x""#, r#"Hawk id="b", ts="1", mac="x""#),
            Labels::Different
        );
    }

    #[test]
    fn an_unknown_scheme_gives_no_label() {
        for value in [
            "Negotiate YII=",
            "NTLM TlRM",
            "one-time",
            "",
            "  ",
            "Bearer",
            "AWS4-HMAC-SHA256 Signature=x",
            "AWS :x",
            "Digest username=\"\"",
        ] {
            assert_eq!(authorization(value, "Negotiate other"), Labels::None, "{value}");
        }
    }

    #[test]
    fn the_whole_value_of_a_key_header_counts() {
        for header in ["X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Private-Token", "x-api-key"] {
            assert_eq!(compare(&[(header, "one")], &[(header, " one ")]), Labels::Same, "{header}");
            assert_eq!(compare(&[(header, "one")], &[(header, "two")]), Labels::Different, "{header}");
        }
        assert_eq!(compare(&[("X-Other", "one")], &[("X-Other", "two")]), Labels::None);
    }

    #[test]
    fn a_header_that_the_caller_lists_counts_too() {
        let reader = CredentialReader::new(&["X-Tenant".to_owned()]);
        assert_eq!(compare_with(&reader, &[("x-tenant", "one")], &[("X-TENANT", "two")]), Labels::Different);
    }

    #[test]
    fn several_credentials_make_one_label_in_any_order() {
        let (bearer, key) = (("Authorization", "Bearer b"), ("X-Api-Key", "k"));
        assert_eq!(compare(&[bearer, key], &[key, bearer]), Labels::Same);
        assert_eq!(compare(&[bearer, key], &[bearer]), Labels::Different);
    }

    #[test]
    fn two_limiters_give_one_credential_different_labels() {
        let fields = [("X-Api-Key", "one")];
        let label = || CredentialReader::new(&[]).label(&fields);
        assert!(label() != label());
    }

    #[test]
    fn neither_label_nor_reader_shows_a_secret() {
        let reader = CredentialReader::new(&[]);
        let label = reader.label(&[("Authorization", "Bearer hunter2")]).unwrap();
        assert_eq!(format!("{label:?}"), "Label(..)");
        assert!(!format!("{reader:?}").contains("hunter2"));
    }

    #[test]
    fn bytes_that_are_no_text_break_nothing() {
        let reader = CredentialReader::new(&[]);
        let fields: [(&[u8], &[u8]); 3] =
            [(b"authorization", b"\xff\xfe \xff"), (b"authorization", b"Digest \"\"\",=,=\""), (b"\xff", b"\xff")];
        assert_eq!(reader.label(&fields), None);
        assert!(reader.label(&[(b"x-api-key".as_slice(), b"\xff".as_slice())]).is_some());
    }

    #[test]
    fn an_idempotency_key_is_seen_unless_it_is_empty() {
        assert!(idempotency_key(&[("Idempotency-Key", "7")]));
        assert!(!idempotency_key(&[("idempotency-key", " ")]));
        assert!(!idempotency_key(&[("X-Other", "7")]));
    }
}
