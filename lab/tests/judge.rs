//! What `rampmeter judge` finds in timelines that are written by hand, and how
//! the command ends.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rampmeter_lab::judge::{Ending, Judgement, Kind, Scenario, Severity, Verdict, judge, scenarios};
use rampmeter_lab::servers::Nanos;
use rampmeter_lab::stub::{Admission, Arrival, Settings, Timeline};
use serde_json::Value;

const MS: Nanos = 1_000_000;
const WELL: Ending = Ending::Exited(Some(0));

fn scenario(name: &str) -> Scenario {
    scenarios().into_iter().find(|scenario| scenario.name == name).expect("a scenario of that name")
}

/// What the scenario's server records of requests at these milliseconds, each
/// with its call; every answer takes 1 ms, and says what `asked` makes of the
/// server's own wait.
struct Sent {
    scenario: Scenario,
    requests: Vec<(u64, u64)>,
}

impl Sent {
    fn to(name: &str) -> Self {
        Self { scenario: scenario(name), requests: Vec::new() }
    }

    /// One request of each of these calls, all in that millisecond.
    fn at(mut self, ms: u64, calls: impl IntoIterator<Item = u64>) -> Self {
        self.requests.extend(calls.into_iter().map(|call| (ms, call)));
        self
    }

    fn timeline(&self) -> Timeline {
        self.timeline_asking(|wait| wait.next_multiple_of(1000 * MS))
    }

    fn timeline_asking(&self, asks: impl Fn(Nanos) -> Nanos) -> Timeline {
        let settings = Settings { spec: self.scenario.spec.clone(), dialect: self.scenario.dialect };
        let mut admission = Admission::new(settings, 0);
        let says_when = !["bare", "concurrency", "outage"].contains(&self.scenario.name);
        let mut arrivals: Vec<Arrival> = Vec::new();
        for (ms, call) in &self.requests {
            let (_, verdict, _) = admission.admit(ms * MS, "", format!("GET /call/{call}"), None);
            let recorded = admission.timeline(ms * MS).requests.pop().expect("the request");
            let asked = verdict.retry_after.filter(|_| says_when).map(&asks);
            arrivals.push(Arrival { completed_ns: Some((ms + 1) * MS), asked_ns: asked, ..recorded });
        }
        Timeline { requests: arrivals, ..admission.timeline(0) }
    }

    fn judged(&self, ending: Ending) -> Judgement {
        judge(&self.scenario, &self.timeline(), ending, MS)
    }
}

/// The failures, and what was seen.
fn failures(judgement: &Judgement) -> Vec<Kind> {
    let failures = judgement.findings.iter().filter(|finding| finding.severity == Severity::Failure);
    failures.map(|finding| finding.kind).collect()
}

fn seen(judgement: &Judgement, kind: Kind) -> &str {
    let finding = judgement.findings.iter().find(|finding| finding.kind == kind);
    &finding.unwrap_or_else(|| panic!("no {kind:?} in {judgement:#?}")).seen
}

/// 60 calls as the best client makes them who has no counters to read: some
/// are refused, each release begins with a probe.
fn well_behaved(name: &str) -> Sent {
    Sent::to(name).at(0, 0..30).at(2010, 20..21).at(2030, 21..40).at(4020, 40..41).at(4040, 41..60)
}

#[test]
fn a_client_that_waits_and_comes_back_a_window_at_a_time_passes() {
    let judgement = well_behaved("retry-after").judged(WELL);
    assert_eq!(judgement.findings, []);
    assert_eq!(judgement.verdict, Verdict::Passes);
    assert_eq!((judgement.metrics.done, judgement.metrics.refused, judgement.metrics.max_sends), (60, 10, Some(2)));
}

#[test]
fn a_retry_before_its_stated_wait_is_early() {
    let judgement = well_behaved("retry-after").at(4100, 60..61).at(5100, 60..61).at(6200, 60..61).judged(WELL);
    assert_eq!(failures(&judgement), [Kind::EarlyRetry]);
    assert_eq!(
        seen(&judgement, Kind::EarlyRetry),
        "1 retry before the stated wait was over, one after 1.00 s where 2.00 s were asked"
    );
}

#[test]
fn a_retry_as_early_as_timers_fire_is_not() {
    // Refused at 0 with a wait of 2 s, and 10 ms early with one of 1 s.
    let judgement = Sent::to("retry-after").at(0, 0..21).at(1990, 20..21).at(2990, 20..21).judged(WELL);
    assert_eq!(judgement.metrics.early_retries, Some(0));
}

#[test]
fn an_early_retry_where_the_wait_was_a_date_says_that_the_date_was_not_read() {
    let early = |ms| Sent::to("date").at(0, 0..21).at(ms, 20..21).at(4000, 20..21).at(4001, 21..60);
    assert!(failures(&early(100).judged(WELL)).contains(&Kind::DateUnread));
    // It was read, and shortened.
    assert!(failures(&early(1500).judged(WELL)).contains(&Kind::EarlyRetry));
}

#[test]
fn retries_at_once_and_in_vain_are_found_where_nothing_was_stated() {
    let instant = |name| Sent::to(name).at(0, 0..21).at(3, 20..21).at(6, 20..21).at(9, 20..21).at(2100, 20..21);
    let judgement = instant("bare").judged(WELL);
    assert!(failures(&judgement).contains(&Kind::InstantRetry));
    assert_eq!(seen(&judgement, Kind::InstantRetry), "3 of 4 retries within 50 ms of their refusal, in vain");
    // A wait of zero is none.
    let zero = instant("zero");
    let judgement = judge(&zero.scenario, &zero.timeline_asking(|_| 0), WELL, MS);
    assert!(failures(&judgement).contains(&Kind::InstantRetry));
}

#[test]
fn a_short_draw_of_full_jitter_is_no_instant_retry() {
    let judgement = Sent::to("bare").at(0, 0..21).at(3, 20..21).at(503, 20..21).at(2100, 20..21).judged(WELL);
    assert_eq!(judgement.metrics.instant_retries, Some(1));
    assert!(!failures(&judgement).contains(&Kind::InstantRetry));
}

#[test]
fn a_slot_that_is_taken_at_once_is_no_instant_retry_in_vain() {
    let mut sent = Sent::to("concurrency");
    for round in 0..4 {
        sent = sent.at(round * 300, [0]);
    }
    assert_eq!(sent.judged(WELL).metrics.instant_retries, None, "one target tells no calls apart");
    let taken = Sent::to("bare").at(0, 0..20).at(1990, 20..24).at(2001, 20..24).judged(WELL);
    assert_eq!(taken.metrics.instant_retries, Some(0));
}

#[test]
fn sends_of_other_calls_in_a_stated_wait_are_found() {
    let judgement = Sent::to("retry-after").at(0, 0..21).at(1000, 21..25).at(2010, 20..21).judged(WELL);
    assert!(failures(&judgement).contains(&Kind::SendInHold));
    assert_eq!(seen(&judgement, Kind::SendInHold), "4 sent while the server had asked to wait, 4 of them refused");
}

#[test]
fn what_was_on_its_way_when_the_refusal_came_is_no_send_in_a_hold() {
    let judgement = Sent::to("retry-after").at(0, 0..21).at(200, 21..25).at(2010, 20..21).judged(WELL);
    assert_eq!(judgement.metrics.sends_in_hold, 0);
}

#[test]
fn a_hold_ends_when_the_server_has_room_and_not_when_its_rounding_does() {
    // Refused at 1.5 s, which is told 1 s instead of the 0.5 s that are left.
    let judgement =
        Sent::to("retry-after").at(0, 0..20).at(1500, 20..21).at(2100, 21..22).at(2500, 20..21).judged(WELL);
    assert_eq!(judgement.metrics.sends_in_hold, 0);
}

#[test]
fn an_hour_does_not_oblige_other_calls() {
    let judgement = Sent::to("hour").at(0, 0..6).at(1000, 6..10).judged(WELL);
    assert_eq!((judgement.metrics.sends_in_hold, judgement.verdict), (4, Verdict::Passes));
    assert_eq!(judgement.findings.first().map(|finding| finding.severity), Some(Severity::Remark));
}

#[test]
fn more_at_a_release_than_there_is_room_for_are_a_herd() {
    let herd = |size: u64| Sent::to("retry-after").at(0, 0..60).at(2010, 20..20 + size).judged(WELL);
    assert_eq!(seen(&herd(40), Kind::Herd), "40 requests within 50 ms after a release that has room for 20");
    assert!(!failures(&herd(25)).contains(&Kind::Herd));
    assert!(failures(&herd(26)).contains(&Kind::Herd));
}

#[test]
fn the_first_flight_is_no_herd_and_its_refusals_are_none_again() {
    let judgement = Sent::to("retry-after").at(0, 0..60).judged(WELL);
    assert_eq!((judgement.metrics.max_burst, judgement.metrics.refused_again), (Some(0), 0));
}

#[test]
fn refusals_after_the_first_one_was_read_are_found_beyond_a_probe_now_and_then() {
    let again = |size: u64| Sent::to("bare").at(0, 0..60).at(1000, 20..20 + size).judged(WELL);
    let judgement = again(16);
    assert!(failures(&judgement).contains(&Kind::RefusedAgain));
    assert_eq!(
        seen(&judgement, Kind::RefusedAgain),
        "56 requests refused for 60 calls, 16 of them after the first refusal had been read"
    );
    assert!(!failures(&again(15)).contains(&Kind::RefusedAgain));
}

#[test]
fn retries_that_multiply_are_found() {
    let sends = |count: u64| {
        let begin = Sent::to("outage").at(0, 0..2);
        (1..count).fold(begin, |sent, nth| sent.at(nth * 500, [1])).judged(WELL)
    };
    assert_eq!(seen(&sends(9), Kind::TooManySends), "one call was sent 9 times, 6 at most are fair here");
    assert_eq!(failures(&sends(6)), []);
}

#[test]
fn a_budget_that_has_not_tripped_when_time_is_up_is_found() {
    let judgement = (0..20)
        .fold(Sent::to("never").at(0, [0]), |sent, second| sent.at(second * 1000 + 1, [1]))
        .judged(Ending::Stopped);
    assert!(failures(&judgement).contains(&Kind::BudgetUntripped));
}

#[test]
fn a_program_that_sleeps_for_an_hour_hangs() {
    let judgement = Sent::to("hour").at(0, 0..10).judged(Ending::Stopped);
    assert_eq!(failures(&judgement), [Kind::Hangs]);
    assert_eq!(Sent::to("hour").at(0, 0..10).judged(Ending::Exited(Some(1))).verdict, Verdict::Passes);
}

#[test]
fn calls_that_are_given_up_are_found() {
    let judgement = Sent::to("retry-after").at(0, 0..60).judged(WELL);
    assert_eq!(failures(&judgement), [Kind::CallsLost]);
    assert_eq!(seen(&judgement, Kind::CallsLost), "40 of 60 calls were given up");
}

#[test]
fn a_program_that_is_stopped_has_not_finished_its_calls() {
    assert_eq!(failures(&Sent::to("retry-after").at(0, 0..60).judged(Ending::Stopped)), [Kind::Unfinished]);
}

#[test]
fn slowness_and_an_exit_status_are_only_told() {
    let judgement = well_behaved("retry-after").at(20_000, 60..61).judged(Ending::Exited(Some(3)));
    assert_eq!(seen(&judgement, Kind::Failed), "the program ended with status 3");
    assert_eq!(seen(&judgement, Kind::Slow), "20.0 s, where the best possible client takes 6.0 s");
    assert_eq!(judgement.verdict, Verdict::Passes);
}

#[test]
fn calls_to_one_url_cannot_be_told_apart_and_nothing_is_guessed_of_them() {
    let judgement = Sent::to("retry-after").at(0, vec![0; 60]).at(100, vec![0; 60]).judged(WELL);
    let metrics = judgement.metrics;
    assert_eq!((metrics.early_retries, metrics.instant_retries, metrics.max_sends), (None, None, None));
    assert_eq!(metrics.calls, 60);
    // What came in the hold is known without that.
    let judgement = Sent::to("retry-after").at(0, vec![0; 60]).at(1000, vec![0; 60]).judged(WELL);
    assert_eq!(judgement.metrics.sends_in_hold, 60);
}

#[test]
fn a_program_that_never_meets_the_limit_has_tried_nothing() {
    assert_eq!(Sent::to("retry-after").at(0, 0..20).judged(WELL).verdict, Verdict::NotTried);
    assert_eq!(Sent::to("outage").at(0, 0..1).judged(WELL).verdict, Verdict::NotTried);
    // It obeyed the counters and was never refused.
    let judgement = Sent::to("headers").at(0, 0..20).at(2001, 20..40).judged(WELL);
    assert_eq!(judgement.verdict, Verdict::Passes);
}

// ------------------------------------------------------------ the command

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rampmeter")).arg("judge").args(arguments).output().expect("the command starts")
}

#[test]
fn a_command_that_cannot_be_started_ends_with_status_2() {
    let output = command(&["--only", "hour", "--", "/nowhere/program"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("rampmeter judge: cannot start /nowhere/program: "), "{said}");
}

#[test]
fn a_scenario_that_does_not_exist_ends_with_status_2_and_names_those_that_do() {
    let output = command(&["--only", "hours", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("retry-after, date"));
}

#[test]
fn the_list_needs_no_command_and_names_every_scenario() {
    let output = command(&["--list"]);
    assert!(output.status.success());
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    for scenario in scenarios() {
        assert!(list.contains(scenario.name), "{}", scenario.name);
    }
}

#[cfg(unix)]
mod programs {
    use super::*;

    /// This very command makes a request: `explain --url` sends one GET.
    fn one_request() -> String {
        format!("'{}' explain --url $RAMPMETER_URL/call/1", env!("CARGO_BIN_EXE_rampmeter"))
    }

    fn shell(only: &str, script: &str) -> Output {
        command(&["--only", only, "--json", "--", "sh", "-c", script])
    }

    #[test]
    fn a_program_that_sends_nothing_ends_with_status_2_and_what_it_printed() {
        let output = shell("hour", "echo no such host; exit 7");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("ended with status 7: it must send its requests to the address in RAMPMETER_URL"),
            "{said}"
        );
        assert!(said.contains("no such host"), "{said}");
    }

    #[test]
    fn the_verdicts_are_one_json_object_and_a_limit_that_is_not_met_is_no_pass() {
        let output = shell("hour,never", &one_request());
        assert_eq!(output.status.code(), Some(1));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&report["passed"], &report["command"][0]), (&false.into(), &"sh".into()));
        let names: Vec<_> =
            report["scenarios"].as_array().expect("scenarios").iter().map(|one| &one["scenario"]).collect();
        assert_eq!(names, ["hour", "never"]);
        let hour = &report["scenarios"][0];
        assert_eq!(
            (&hour["verdict"], &hour["exit_status"], &hour["stopped"]),
            (&"not-tried".into(), &0.into(), &false.into())
        );
        assert_eq!((&hour["metrics"]["requests"], &hour["metrics"]["done"]), (&1.into(), &1.into()));
    }

    #[test]
    fn address_and_calls_also_replace_their_names_in_the_command() {
        let script =
            r#"test "$1" = "$RAMPMETER_URL/" && test "$2" = "$RAMPMETER_CALLS" && "#.to_owned() + &one_request();
        let output = command(&["--only", "hour", "--", "sh", "-c", &script, "sh", "{url}/", "{calls}"]);
        // With another address no request is sent, and the status is 2.
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn nothing_that_the_program_started_outlives_its_time() {
        let begin = Instant::now();
        let marker = format!("61{:05}", std::process::id() % 100_000);
        let script = format!("{}; sleep {marker} & sleep {marker}", one_request());
        let output = command(&["--only", "hour", "--timeout", "1", "--json", "--", "sh", "-c", &script]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["scenarios"][0]["stopped"], true);
        assert_eq!(report["scenarios"][0]["findings"][0]["kind"], "hangs");
        assert!(begin.elapsed() < Duration::from_secs(20));
        let left = Command::new("ps").args(["-eo", "args"]).output().expect("ps runs");
        assert!(!String::from_utf8_lossy(&left.stdout).contains(&format!("sleep {marker}")));
    }
}
