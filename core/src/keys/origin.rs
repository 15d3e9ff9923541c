//! The origin of a URL (RFC 6454 section 4): scheme, host and port.

use core::net::Ipv6Addr;

/// DNS allows 253 characters (RFC 1035 section 2.3.4); the bound keeps a
/// hostile URL from filling memory.
const LONGEST_HOST: usize = 255;

/// `scheme://host[:port]` of an absolute URL: scheme and host in lower case,
/// the scheme's default port left out. User name, password, path, query and
/// fragment, any of which may hold a secret, are never part of it.
///
/// `None` if the URL has no host, or one that no connection could be made to.
pub(crate) fn origin(url: &str) -> Option<String> {
    let (scheme, rest) = split_scheme(url.trim())?;
    let scheme = scheme.to_ascii_lowercase();
    let authority = &rest[..rest.find(AUTHORITY_ENDS).unwrap_or(rest.len())];
    // The last `@` ends the user information: a password may hold one.
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, host_port)| host_port);
    let (host, port) = split_port(host_port)?;
    let host = canonical_host(host)?;
    Some(match port {
        Some(port) if default_port(&scheme) != Some(port) => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
    })
}

/// What ends an authority. Clients take a backslash for a slash (WHATWG URL),
/// so what follows one is path.
const AUTHORITY_ENDS: [char; 4] = ['/', '\\', '?', '#'];

/// The scheme and what follows its `://`.
pub(super) fn split_scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let mut letters = scheme.bytes();
    let well_formed = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'-' | b'.'))
        && scheme.len() <= 32;
    well_formed.then_some((scheme, rest))
}

/// What follows the authority: path, query and fragment.
pub(super) fn after_authority(rest: &str) -> &str {
    rest.find(AUTHORITY_ENDS).map_or("", |end| &rest[end..])
}

/// Host and port. An empty port means the default (RFC 3986 section 3.2.3).
fn split_port(host_port: &str) -> Option<(&str, Option<u16>)> {
    // Colons inside the brackets belong to an IPv6 address.
    let colon = match host_port.rfind(']') {
        Some(bracket) => host_port[bracket..].find(':').map(|at| bracket + at),
        None => host_port.find(':'),
    };
    let Some(colon) = colon else { return Some((host_port, None)) };
    match &host_port[colon + 1..] {
        "" => Some((&host_port[..colon], None)),
        port if port.bytes().all(|digit| digit.is_ascii_digit()) => {
            Some((&host_port[..colon], Some(port.parse().ok()?)))
        }
        _ => None,
    }
}

fn canonical_host(host: &str) -> Option<String> {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']')?;
        // RFC 6874: a zone follows the address after `%25`.
        let (address, zone) = address.split_once('%').map_or((address, None), |(address, zone)| (address, Some(zone)));
        let address: Ipv6Addr = address.parse().ok()?;
        return match zone {
            None => Some(format!("[{address}]")),
            Some(zone) if !zone.is_empty() && zone.len() <= 64 && zone.bytes().all(is_host_byte) => {
                Some(format!("[{address}%{zone}]"))
            }
            Some(_) => None,
        };
    }
    let well_formed = !host.is_empty() && host.len() <= LONGEST_HOST && host.bytes().all(is_host_byte);
    well_formed.then(|| host.to_lowercase())
}

/// True for what may stand in a host name, international ones included.
fn is_host_byte(byte: u8) -> bool {
    byte >= 0x80
        || byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'%'
                | b'!'
                | b'$'
                | b'\''
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b'&'
                | b'('
                | b')'
        )
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::origin;

    fn assert_origin(url: &str, expected: Option<&str>) {
        assert_eq!(origin(url).as_deref(), expected, "{url}");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert_origin("https://api.example.com/v1/x", Some("https://api.example.com"));
        assert_origin("http://127.0.0.1:8080/", Some("http://127.0.0.1:8080"));
        assert_origin("wss://stream.example.com:9443", Some("wss://stream.example.com:9443"));
        assert_origin("ws://a/b", Some("ws://a"));
    }

    #[test]
    fn scheme_and_host_are_lower_cased() {
        assert_origin("HTTPS://API.Example.COM/V1", Some("https://api.example.com"));
        assert_origin("https://BÜCHER.example/", Some("https://bücher.example"));
    }

    #[test]
    fn a_default_port_is_dropped_and_any_other_kept() {
        assert_origin("https://a.example:443/x", Some("https://a.example"));
        assert_origin("http://a.example:80", Some("http://a.example"));
        assert_origin("ws://a.example:80", Some("ws://a.example"));
        assert_origin("wss://a.example:0443", Some("wss://a.example"));
        assert_origin("https://a.example:80/x", Some("https://a.example:80"));
        assert_origin("https://a.example:/x", Some("https://a.example"));
    }

    #[test]
    fn user_name_password_path_query_and_fragment_are_never_part_of_it() {
        assert_origin("https://user:p@ss@a.example:8443/secret?key=k#f", Some("https://a.example:8443"));
        assert_origin("https://a.example?token=t@b.example", Some("https://a.example"));
        assert_origin("https://a.example#x@b.example", Some("https://a.example"));
        assert_origin("https://a.example\\@b.example/", Some("https://a.example"));
    }

    #[test]
    fn an_ipv6_address_keeps_its_brackets_and_has_one_spelling() {
        assert_origin("http://[::1]:8080/x", Some("http://[::1]:8080"));
        assert_origin("https://[2001:DB8:0:0::1]", Some("https://[2001:db8::1]"));
        assert_origin("https://u:p@[2001:db8::1]:443/", Some("https://[2001:db8::1]"));
        assert_origin("http://[fe80::1%25eth0]/", Some("http://[fe80::1%25eth0]"));
    }

    #[test]
    fn what_is_no_absolute_url_has_no_origin() {
        for url in [
            "",
            "/v1/x",
            "api.example.com/x",
            "https://",
            "https:///x",
            "https://:80",
            "https://a b/",
            "https://a:99999/",
            "https://a:x/",
            "https://a:-1/",
            "http://[::1/",
            "http://[zz]/",
            "http://[::1]x/",
            "1s://a",
            "://a",
            "https://a\n.example/",
            "mailto:a@example.com",
            "http://[::1%]/",
        ] {
            assert_origin(url, None);
        }
    }

    #[test]
    fn a_hostile_url_fills_no_memory() {
        assert_origin(&format!("https://{}/", "a".repeat(1_000_000)), None);
        assert_origin(&format!("{}://a/", "a".repeat(1_000_000)), None);
    }
}
