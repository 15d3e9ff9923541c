//! What names of calls and values tell, across languages: libraries name alike
//! what is alike.

/// Names of what holds a status.
pub(super) fn is_status(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let letters = ["http", "response", "resp", "res", "default", "error"]
        .iter()
        .fold(letters.as_str(), |letters, word| letters.strip_prefix(word).unwrap_or(letters));
    matches!(letters, "status" | "statuscode" | "statusmut" | "code")
}

/// Calls that only change the type of a status; of a bare number only those
/// that make a status of it.
pub(super) fn is_wrapper(name: &str, of_number: bool) -> bool {
    const STATUSES: [&str; 7] =
        ["from_u16", "valueOf", "HTTPStatus", "HttpStatus", "StatusCode", "HttpStatusCode", "try_from"];
    const OTHERS: [&str; 7] = ["from", "Err", "Some", "Ok", "int", "Number", "resolve"];
    STATUSES.contains(&name) || !of_number && OTHERS.contains(&name)
}

/// Calls whose first argument is a body.
pub(super) fn is_member_of_body(name: &str) -> bool {
    matches!(name, "json" | "send" | "jsonify" | "json_encode" | "dumps" | "stringify" | "H" | "Json")
}

/// Calls that check something, or play a server for those that do.
pub(super) fn is_test(name: &str) -> bool {
    const BEGINNINGS: [&str; 10] =
        ["assert", "expect", "toequal", "tomatch", "tobe", "tohave", "tostrict", "mock", "stub", "verify"];
    let lower = name.to_ascii_lowercase();
    BEGINNINGS.iter().any(|word| lower.starts_with(word))
        || matches!(lower.as_str(), "to_return" | "thenreturn" | "willreturn" | "matches")
}

/// Calls that ask, compare, collect or tell, and so send nothing.
pub(super) fn is_question(name: &str) -> bool {
    const BEGINNINGS: &str = "have_ be_ should contain include index equal retry push append insert parse print log debug \
                              warn describe isinstance issubclass instance kind_of inc record observe track count";
    const ENDS: &str = "codes statuses table handler raises equals _log";
    const COMPARING: &str = "eq ne in_array array_search isin match min max when given";
    const COLLECTING: &str =
        "set hashset frozenset list tuple vec of aslist add get has delete filter some every find range";
    const TELLING: &str = "statustext info format println sprintf errorf fatalf phrase reason_phrase canonical_reason \
                           apiresponse json_schema";
    const WAITING: &str = "sleep settimeout";
    let lower = name.to_ascii_lowercase();
    let continues = |word: &str| {
        let rest = name.strip_prefix(word).unwrap_or_default();
        rest.starts_with(|letter: char| letter == '_' || letter.is_uppercase())
    };
    let mut whole = [COMPARING, COLLECTING, TELLING, WAITING].into_iter().flat_map(words);
    ["is", "has", "on"].into_iter().any(continues)
        || is_test(name)
        || words(BEGINNINGS).any(|word| lower.starts_with(word))
        || words(ENDS).any(|word| lower.ends_with(word))
        || whole.any(|word| lower == word)
}

/// Calls to which a status is given.
pub(super) fn is_answer(name: &str) -> bool {
    const PARTS: &str = "status abort throw error exception response json html render reply send head halt write fail reject \
                         text string data throttl limit refuse many code raise problem respond xml end deny denied super \
                         construct init result";
    let lower = name.to_ascii_lowercase();
    words(PARTS).any(|part| lower.contains(part))
}

/// Calls that make the answer by their name: `Boom.tooManyRequests()`.
pub(super) fn is_named_answer(name: &str) -> bool {
    matches!(name, "tooManyRequests" | "too_many_requests")
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split_whitespace()
}
