//! Servers by name.

use rampmeter_lab::servers::Spec;

#[test]
fn a_description_survives_the_way_through_its_text() {
    for text in [
        "fixed:limit=50,window=2",
        "fixed:limit=100,window=60,phase=37",
        "anchored:limit=5,window=0.25",
        "sliding-log:limit=5,window=1",
        "sliding-log-counting:limit=5,window=1",
        "sliding-counter:limit=5,window=1",
        "token-bucket:rate=0.5,burst=3",
        "leaky-queue:rate=10,depth=20",
        "concurrency:cap=10,service=0.2",
        "policies:burst=20/1,hourly=1000/3600",
        "shared:fixed:limit=100,window=60,phase=37,stolen=0.3",
        "shared:policies:burst=20/1,hourly=1000/3600,stolen=0.125",
    ] {
        let spec: Spec = text.parse().expect(text);
        assert_eq!(spec.to_string(), text);
    }
}

#[test]
fn a_policy_without_a_name_is_named_after_its_numbers() {
    let spec: Spec = "policies:20/1,1000/3600".parse().expect("a server");
    assert_eq!(spec.to_string(), "policies:20-in-1=20/1,1000-in-3600=1000/3600");
}

#[test]
fn a_wrong_description_names_what_is_wrong() {
    for (text, named) in [
        ("bucket:rate=1", "unknown server \"bucket\""),
        ("fixed:limit=1,window=1,size=3", "no parameter \"size\""),
        ("fixed:limit=1", "needs the parameter window"),
        ("fixed:limit=0,window=1", "limit of server fixed"),
        ("fixed:limit=1,window=0", "window of server fixed"),
        ("fixed:limit=1,window=nan", "window of server fixed"),
        ("token-bucket:rate=0,burst=1", "rate of server token-bucket"),
        ("policies:", "policy of server policies"),
        ("policies:20/0", "policy of server policies"),
        ("policies:a\"b=20/1", "policy of server policies"),
        ("shared:fixed:limit=1,window=1", "needs the parameter stolen"),
        ("shared:fixed:limit=1,window=1,stolen=1", "stolen of server shared"),
        ("shared:fixed:limit=1,stolen=0.5", "needs the parameter window"),
    ] {
        let error = text.parse::<Spec>().expect_err(text).to_string();
        assert!(error.contains(named), "{text}: {error}");
    }
}

#[test]
fn a_shared_server_without_a_name_is_a_fixed_window() {
    let spec: Spec = "shared:limit=10,window=1,stolen=0.5".parse().expect("a server");
    assert_eq!(spec.to_string(), "shared:fixed:limit=10,window=1,stolen=0.5");
}

#[test]
fn what_is_left_of_a_shared_server_is_what_others_do_not_ask_for() {
    let left = |text: &str| text.parse::<Spec>().expect("a server").left().to_string();
    assert_eq!(left("shared:fixed:limit=100,window=60,phase=37,stolen=0.3"), "fixed:limit=70,window=60,phase=37");
    assert_eq!(left("shared:token-bucket:rate=10,burst=20,stolen=0.25"), "token-bucket:rate=7.5,burst=20");
    assert_eq!(left("fixed:limit=5,window=1"), "fixed:limit=5,window=1");
}
