//! What a script in a browser can read of a response from another origin
//! (Fetch standard, CORS protocol).

use std::collections::BTreeSet;

use rampmeter::Figure;

use super::finding::Finding;
use super::heard::Heard;
use crate::input::Exchange;
use crate::words;

const ALLOWED: &str = "access-control-allow-origin";
const EXPOSED: &str = "access-control-expose-headers";

/// Whether it is meant for scripts of other origins.
fn is_shared(exchange: &Exchange) -> bool {
    exchange.header(ALLOWED).is_some()
}

/// Fields about limits that a script cannot read although the response is
/// meant for it.
pub(super) fn hidden(heard: &Heard<'_>) -> Option<Finding> {
    let exchange = heard.exchange;
    if !is_shared(exchange) {
        return None;
    }
    let exposed: Vec<String> = exchange
        .lines(EXPOSED)
        .flat_map(|line| {
            let line = String::from_utf8_lossy(line).into_owned();
            line.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>()
        })
        .filter(|name| !name.is_empty())
        .collect();
    // With credentials the asterisk is an ordinary name.
    let with_credentials = exchange.header("access-control-allow-credentials").is_some_and(|value| value == b"true");
    if !with_credentials && exposed.iter().any(|name| name == "*") {
        return None;
    }
    let mut hidden: Vec<String> = Vec::new();
    for (name, value) in &exchange.headers {
        let known = |names: &[String]| names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name));
        if is_about_limits(heard, name, value) && !known(&exposed) && !known(&hidden) {
            hidden.push(words::plain(name, 64));
        }
    }
    if hidden.is_empty() {
        return None;
    }
    let all: Vec<&str> = exposed.iter().chain(&hidden).map(String::as_str).filter(|name| *name != "*").collect();
    Some(Finding::warning(
        "hidden-from-browsers",
        format!("scripts of other origins may read the answer, but not {}", hidden.join(", ")),
        format!("`Access-Control-Expose-Headers: {}`", words::plain(all.join(", ").as_bytes(), 400)),
    ))
}

fn is_about_limits(heard: &Heard<'_>, name: &[u8], value: &[u8]) -> bool {
    heard
        .reader
        .explain(name, value, &heard.signals, heard.now)
        .is_some_and(|meaning| !meaning.says.iter().any(|said| matches!(said.figure, Figure::Date(_) | Figure::Age(_))))
}

/// The origins whose answers scripts of other origins may read.
pub(super) fn shared_origins(exchanges: &[Exchange]) -> BTreeSet<&str> {
    let served = exchanges.iter().filter(|exchange| exchange.status < 400 && is_shared(exchange));
    served.filter_map(origin).collect()
}

/// A refusal without the permission that the same server's answers have: the
/// browser shows the script a network error in its place.
pub(super) fn refused_unseen(exchange: &Exchange, shared: &BTreeSet<&str>) -> Option<Finding> {
    let by_script = exchange.request_headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("origin"));
    let could_be = by_script || exchange.request_headers.is_empty();
    let unseen = !is_shared(exchange) && could_be && origin(exchange).is_some_and(|origin| shared.contains(origin));
    unseen.then(|| {
        Finding::warning(
            "refused-unseen",
            "scripts of other origins may read this server's answers, but not this refusal: they see a network error",
            "`Access-Control-Allow-Origin` on refusals as on answers",
        )
    })
}

/// The URL up to its path; `None` if it has no host.
fn origin(exchange: &Exchange) -> Option<&str> {
    let url = exchange.url.as_deref()?;
    let host = url.find("://")? + 3;
    Some(url[host..].find('/').map_or(url, |path| &url[..host + path]))
}
