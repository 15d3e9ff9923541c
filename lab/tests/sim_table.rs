//! The results, line by line. A change in how the product fares shows as a
//! changed line; `INSTA_UPDATE=always cargo test -p rampmeter-lab --test
//! sim_table` writes them anew.

use rampmeter_lab::sim::{Kind, gates, suite, sweep, table};

fn assert_table(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn the_product_fares_as_the_table_says() {
    assert_table("product", &table::gates(&gates::run(&gates::gates())));
}

#[test]
fn all_strategies_fare_as_the_table_says() {
    let kinds: Vec<Kind> = Kind::ALL.iter().map(|(_, kind)| *kind).collect();
    assert_table("strategies", &suite::lines(&suite::run(&suite::cells(), &kinds)));
}

#[test]
fn the_product_fares_elsewhere_as_the_table_says() {
    let lines: Vec<String> = sweep::run(100, 1).iter().map(ToString::to_string).collect();
    assert_table("sweep", &lines.join("\n"));
}
