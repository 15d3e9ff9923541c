//! The route of a request: method and path, with what tells one resource from
//! another of its kind taken out.

use super::origin::{after_authority, split_scheme};

/// Longer segments are identifiers, not words of an API.
const LONGEST_WORD: usize = 24;
/// The shortest run of hex digits that is an identifier.
const SHORTEST_HEX: usize = 8;
/// Routes are kept in memory: what goes beyond is cut.
const LONGEST_ROUTE: usize = 256;

/// Method and path template: `GET /users/{}/items`. Segments that are
/// numbers, UUIDs, hex of 8 or more, or longer than 24 characters become
/// `{}`; empty segments, a trailing slash, query and fragment do not count.
/// At most 256 bytes; of a longer path the rest is written `/*`.
///
/// A relative URL is read as a path.
pub(crate) fn route(method: &str, url: &str) -> String {
    let url = url.trim();
    let target = split_scheme(url).map_or(url, |(_, rest)| after_authority(rest));
    let path = &target[..target.find(['?', '#']).unwrap_or(target.len())];

    let mut route: String = method.chars().take(LONGEST_WORD).map(|letter| letter.to_ascii_uppercase()).collect();
    route.push(' ');
    let root = route.len();
    for segment in path.split(['/', '\\']).filter(|segment| !segment.is_empty()) {
        let word = if is_identifier(segment) { "{}" } else { segment };
        if route.len() + 1 + word.len() > LONGEST_ROUTE - "/*".len() {
            route.push_str("/*");
            break;
        }
        route.push('/');
        route.push_str(word);
    }
    if route.len() == root {
        route.push('/');
    }
    route
}

fn is_identifier(segment: &str) -> bool {
    // A UUID has 36 characters and so is too long for a word; without its
    // dashes it is hex.
    let is_number = || segment.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = || segment.len() >= SHORTEST_HEX && segment.bytes().all(|byte| byte.is_ascii_hexdigit());
    segment.chars().nth(LONGEST_WORD).is_some() || is_number() || is_hex()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_ROUTE, route};

    #[test]
    fn a_route_is_method_and_path() {
        assert_eq!(route("GET", "https://api.example.com/v1/users"), "GET /v1/users");
        assert_eq!(route("post", "https://api.example.com/v1/users"), "POST /v1/users");
    }

    #[test]
    fn numbers_uuids_hex_and_long_segments_are_taken_out() {
        let of = |segment: &str| route("GET", &format!("https://a.example/x/{segment}/y"));
        for identifier in [
            "7",
            "123456789012345678901",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "3F2504E04F8911D39A0C0305E82C3301",
            "deadbeef",
            "abcdefghijklmnopqrstuvwxy",
        ] {
            assert_eq!(of(identifier), "GET /x/{}/y", "{identifier}");
        }
        for word in ["v1", "1.1", "beef", "feedbee", "abcdefghijklmnopqrstuvwx", "deadbeefs", "user-7"] {
            assert_eq!(of(word), format!("GET /x/{word}/y"));
        }
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        let word = "ü".repeat(24);
        assert_eq!(route("GET", &format!("https://a.example/{word}")), format!("GET /{word}"));
        assert_eq!(route("GET", &format!("https://a.example/{word}ü")), "GET /{}");
    }

    #[test]
    fn query_fragment_and_trailing_slash_do_not_count() {
        for url in [
            "https://a.example/x",
            "https://a.example/x/",
            "https://a.example/x?page=2/3",
            "https://a.example/x/#a/b",
            "https://a.example//x",
        ] {
            assert_eq!(route("GET", url), "GET /x", "{url}");
        }
        for url in ["https://a.example", "https://a.example/", "https://a.example?x=/y", "https://a.example#/y", ""] {
            assert_eq!(route("GET", url), "GET /", "{url}");
        }
    }

    #[test]
    fn user_name_and_password_are_no_part_of_it() {
        assert_eq!(route("GET", "https://user:secret@a.example/x"), "GET /x");
    }

    #[test]
    fn a_relative_url_is_a_path() {
        assert_eq!(route("GET", "/v1/users/7?x=1"), "GET /v1/users/{}");
        assert_eq!(route("GET", "v1/users"), "GET /v1/users");
    }

    #[test]
    fn a_hostile_url_gives_a_route_of_bounded_length() {
        for url in [
            format!("https://a.example{}", "/word".repeat(100_000)),
            format!("/{}", "a".repeat(1_000_000)),
            "/".repeat(1_000_000),
        ] {
            let route = route(&"M".repeat(1_000_000), &url);
            assert!(route.len() <= LONGEST_ROUTE, "{}", route.len());
        }
        assert!(route("GET", &"/word".repeat(100)).ends_with("/word/*"));
    }
}
