//! What `rampmeter explain` says, as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};

use rampmeter_tools::explain::run;
use rampmeter_tools::{Fetched, Output};

/// Inputs and the pages that they become, which the Python package and the
/// npm package are held against too.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/explain")
}

fn inputs() -> Vec<PathBuf> {
    let entries = fs::read_dir(cases()).expect("the cases lie in the checkout");
    let is_input =
        |path: &PathBuf| ["http", "har", "jsonl"].iter().any(|kind| path.extension().is_some_and(|it| it == *kind));
    entries.map(|entry| entry.expect("a readable folder").path()).filter(is_input).collect()
}

const FIXED: [&str; 6] = ["--now", "1786000000", "--width", "110", "--color", "never"];

fn explain(input: &[u8], arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = FIXED.iter().chain(arguments).copied().collect();
    run(&arguments, Some(input), None).expect("the input was given")
}

fn page(input: &str, arguments: &[&str]) -> String {
    let output = explain(input.as_bytes(), arguments);
    assert_eq!(output.code, 0, "{}", output.text);
    output.text
}

/// Set to write the pages instead of comparing them.
const BLESS: &str = "RAMPMETER_BLESS";

fn matches(kept: &Path, text: &str) {
    if std::env::var_os(BLESS).is_some() {
        fs::write(kept, text).expect("the page can be written");
    }
    let expected = fs::read_to_string(kept).unwrap_or_default();
    assert!(expected == text, "{} is not what is said now:\n{text}\nset {BLESS}=1 to keep it", kept.display());
}

#[test]
fn every_kept_input_is_explained_as_its_page_says() {
    let inputs = inputs();
    assert!(inputs.len() >= 17, "only {} inputs were found", inputs.len());
    for path in inputs {
        let input = fs::read(&path).expect("a readable input");
        matches(&path.with_extension("page"), &explain(&input, &[]).text);
    }
}

#[test]
fn json_for_scripts_keeps_its_members() {
    for name in ["in-a-row", "past-the-cap"] {
        let input = fs::read(cases().join(name).with_extension("http")).expect("a readable input");
        matches(&cases().join(name).with_extension("json"), &explain(&input, &["--json"]).text);
    }
}

#[test]
fn several_heads_are_shown_to_one_limiter() {
    let success = "HTTP/1.1 200 OK\nx-ratelimit-limit: 10\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 30\n\n";
    let text = page(&format!("{success}HTTP/1.1 200 OK\n\n"), &[]);
    let (_, second) = text.split_once("2. HTTP/1.1 200 OK").expect("the second response");
    assert!(second.contains("would have waited 30.3 s first: a meter has nothing left"), "{second}");
}

#[test]
fn a_refused_call_that_follows_itself_is_its_next_attempt() {
    let refusal = "HTTP/1.1 429 Too Many Requests\nretry-after: 5\n\n";
    let text = page(&refusal.repeat(3), &["--set", "max_attempts=2"]);
    assert!(text.contains("call was refused 2 times (max_attempts)"), "{text}");
}

#[test]
fn a_body_without_a_last_line_end_does_not_hide_the_next_head() {
    let head =
        |status: u16| format!("HTTP/1.1 {status} X\ncontent-type: application/json\nretry-after: 1\n\n{{\"a\":1}}");
    let text = page(&format!("{}{}", head(429), head(200)), &[]);
    assert!(text.contains("2. HTTP/1.1 200 X"), "{text}");
}

#[test]
fn a_body_that_quotes_a_head_is_no_second_response() {
    let quoted = "HTTP/1.1 429 Slow down\nretry-after: 9\n";
    let text = page(&format!("HTTP/1.1 200 OK\ncontent-length: {}\n\n{quoted}", quoted.len()), &[]);
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
}

#[test]
fn header_lines_alone_are_read_with_a_status_that_is_given() {
    let text = page("Retry-After: 7\nServer: x\n", &["--status", "429"]);
    assert!(text.contains("come back in 7 s (07:06:47 UTC)"), "{text}");
    assert!(text.contains("429") && text.contains("refused"), "{text}");
}

#[test]
fn indented_heads_are_read_as_wget_prints_them() {
    let text = page("Connecting...\n  HTTP/1.1 429 Slow\n  Retry-After: 7\nLength: unspecified\n", &[]);
    assert!(text.contains("come back in 7 s"), "{text}");
}

#[test]
fn the_date_of_a_response_comes_before_the_clock_at_hand() {
    let head = "HTTP/1.1 200 OK\nDate: Thu, 06 Aug 2026 08:00:00 GMT\nx-ratelimit-remaining: 1\nx-ratelimit-reset: 1786003230\n\n";
    assert!(page(head, &[]).contains("resets in 30 s (08:00:30 UTC)"));
}

#[test]
fn options_of_the_limiter_change_what_it_would_do() {
    let head = "HTTP/1.1 429 Too Many Requests\nretry-after: 300\n\n";
    assert!(page(head, &[]).contains("raises RateLimitExceeded"));
    assert!(page(head, &["--set", "max_retry_after=600"]).contains("waits 5 min 1 s (07:11:41 UTC)"));
    assert!(page(head, &["--preset", "background"]).contains("waits 5 min 1 s"));
}

#[test]
fn a_wait_that_is_cut_or_zero_is_not_called_what_the_server_asked() {
    let head = "HTTP/1.1 429 Too Many Requests\nretry-after: 300\n\n";
    let cut = page(head, &["--set", "beyond_max=clamp"]);
    assert!(
        cut.contains("waits 2 min (07:08:40 UTC)") && cut.contains("the server asked for 5 min, of which"),
        "{cut}"
    );
    let zero = page(&head.replace("300", "0"), &[]);
    assert!(zero.contains("the server asked for no wait"), "{zero}");
}

#[test]
fn a_body_that_clients_leave_unread_is_told() {
    let head = "HTTP/2 200 \nratelimit-remaining: 5\n\n{\"error\":{\"code\":\"rate_limit_exceeded\"},\"errors\":[{\"type\":\"RATE_LIMITED\"}]}";
    assert!(page(head, &[]).contains("clients leave it unread"));
}

#[test]
fn secrets_of_urls_are_not_shown() {
    let record = r#"{"status": 200, "headers": {}, "url": "https://me:pass@api.example.com/x?key=secret#frag"}"#;
    for arguments in [&["--json"][..], &[]] {
        let text = page(record, arguments);
        assert!(text.contains("https://api.example.com/x"), "{text}");
        assert!(!text.contains("secret") && !text.contains("pass"), "{text}");
    }
}

#[test]
fn nothing_that_a_server_sends_reaches_the_terminal_as_a_command() {
    let input = fs::read(cases().join("hostile.http")).expect("a readable input");
    for arguments in [&["--json"][..], &[]] {
        let text = explain(&input, arguments).text;
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text}");
    }
}

#[test]
fn colors_are_off_unless_asked_for() {
    let arguments = ["--now", "1786000000"];
    let head = b"HTTP/1.1 429 Too Many Requests\nretry-after: 5\n\n";
    let plain = run(&arguments, Some(head), None).expect("the input was given");
    assert!(!plain.text.contains('\u{1b}'));
    let colored = run(&[&arguments[..], &["--color", "always"]].concat(), Some(head), None);
    assert!(colored.expect("the input was given").text.contains("\u{1b}[1;31m"));
}

#[test]
fn a_page_is_as_wide_as_asked() {
    for name in ["two-meters", "json-in-a-header", "browser", "past-the-cap"] {
        let kind = if name == "browser" { "har" } else { "http" };
        let input = fs::read(cases().join(name).with_extension(kind)).expect("a readable input");
        for width in [80, 110, 140] {
            let text = explain(&input, &["--width", &width.to_string()]).text;
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{name} at {width}: {widest:?}\n{text}");
        }
    }
}

#[test]
fn what_holds_no_response_ends_with_status_2_and_says_why() {
    let inputs: [(&[u8], &str); 7] = [
        (b"", "the input is empty"),
        (b"  \r\n", "the input is empty"),
        (b"hello\nworld\n", "there is no response in the input"),
        (b"\xff\xfe\x00\x01HTTP/", "there is no response in the input"),
        (b"[1, 2", "looks like JSON but is none"),
        (b"{\"status\": 200}", "record 1 has no `headers`"),
        (b"{\"log\": {}}", "no `log.entries`"),
    ];
    for (input, why) in inputs {
        let output = explain(input, &[]);
        assert_eq!(output.code, 2, "{input:?}");
        assert!(output.text.starts_with("rampmeter explain: ") && output.text.contains(why), "{}", output.text);
    }
}

#[test]
fn wrong_arguments_end_with_status_2_and_name_the_mistake() {
    let arguments: [(&[&str], &str); 8] = [
        (&["--nonsense"], "'--nonsense'"),
        (&["--status", "42"], "--status"),
        (&["--now", "later"], "--now"),
        (&["--width", "3"], "--width"),
        (&["--preset", "mine"], "mine"),
        (&["--set", "max_attempts=0"], "max_attempts"),
        (&["--set", "nonsense=1"], "nonsense"),
        (&["/no/such/file"], "cannot read /no/such/file"),
    ];
    for (arguments, mistake) in arguments {
        let output = run(arguments, None, None).expect("no input is needed");
        assert_eq!(output.code, 2, "{arguments:?}");
        assert!(output.text.contains(mistake), "{}", output.text);
    }
}

#[test]
fn standard_input_is_asked_for_only_where_it_is_needed() {
    assert_eq!(run::<&str>(&[], None, None), None);
    assert_eq!(run(&["-"], None, None), None);
    assert_eq!(run(&["--help"], None, None).map(|output| output.code), Some(0));
    let file = cases().join("github.http");
    let file = file.to_str().expect("a path in UTF-8");
    assert_eq!(run(&[file], None, None).map(|output| output.code), Some(0));
}

#[test]
fn a_url_is_fetched_where_the_host_can_and_refused_where_it_cannot() {
    let fetch = |url: &str| match url {
        "https://api.example.com/x" => Ok(Fetched {
            version: "HTTP/1.1".to_owned(),
            status: 200,
            headers: vec![(b"ratelimit-remaining".to_vec(), b"3".to_vec())],
            // Not taken for a second response.
            body: b"HTTP/1.1 429 Too Many Requests\r\n\r\n".to_vec(),
            ..Fetched::default()
        }),
        other => Err(format!("cannot fetch {other}")),
    };
    let fetched = |url: &str| run(&["--url", url], None, Some(&fetch)).expect("no input is needed");
    let output = fetched("https://api.example.com/x");
    assert_eq!(output.code, 0);
    assert!(output.text.starts_with("HTTP/1.1 200 · GET https://api.example.com/x"), "{}", output.text);
    assert_eq!(fetched("https://other.example.com").code, 2);
    let refused = run(&["--url", "https://api.example.com/x"], None, None).expect("no input is needed");
    assert!(refused.code == 2 && refused.text.contains("curl -si URL"), "{}", refused.text);
}

#[test]
fn damaged_inputs_break_nothing() {
    let mut state = 7_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for path in inputs() {
        let input = fs::read(path).expect("a readable input");
        for _ in 0..40 {
            let mut damaged = input.clone();
            for _ in 0..=random(8) {
                let at = random(damaged.len());
                match random(4) {
                    0 => damaged[at] = random(256) as u8,
                    1 => damaged.truncate(at.max(1)),
                    2 => damaged.insert(at, b"\n:\"{}\x000"[random(7)]),
                    _ => damaged.extend_from_within(at..),
                }
            }
            for arguments in [&["--json"][..], &[]] {
                assert!(matches!(explain(&damaged, arguments).code, 0 | 2));
            }
        }
    }
}

#[test]
fn long_recordings_are_told_in_bounded_pages() {
    let refusal = "HTTP/1.1 429 Too Many Requests\nretry-after: 1\nratelimit-remaining: 0\n\n";
    let text = page(&refusal.repeat(3000), &[]);
    assert!(text.starts_with("3000 responses: 3000 refused"), "{text}");
    assert!(text.contains("2800 more are not listed"));
    assert!(text.len() < 60_000, "{}", text.len());
}

#[test]
fn the_documentation_shows_what_is_said() {
    let page = fs::read_to_string(cases().join("explicit-wait-before-reset.page")).expect("a readable page");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explain.md");
    assert!(fs::read_to_string(guide).expect("a readable guide").contains(&page));
}
