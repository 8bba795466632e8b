//! Chains that must go on within a time.

use super::chained::udp;
use super::conditions::ask;

/// A first step at second 0, a second one that runs from second 3, and a third one, if more flows come.
fn queries(within: &str) -> String {
    format!(
        "q: select count(*) as n every 1s;
         second: select count(*) as n every 1s when q.n > 0 run 10s;
         third: select count(*) every 1s when second.n > 1 within {within}"
    )
}

#[test]
fn a_chain_that_does_not_go_on_in_time_ends() {
    let chained = ask(udp(1000, 0..20).chain(udp(2000, 10..20)), &queries("6s"));
    // It began at the end of second 0.
    assert_eq!(chained.happened("third"), [("timeout", 6..7)], "{}", chained.stdout);
    let timeout = chained.of("timeout", "third")[0];
    assert_eq!(timeout.json["values"]["reached"], "second");
    assert_eq!(timeout.parent.as_ref(), Some(&chained.of("fired", "second")[0].id));
    // Nothing of it runs on.
    assert_eq!(chained.windows_of("second", "here").last(), Some(&(6..7)));
    assert!(chained.story(timeout).text.contains("did not start in time"));
}

/// The second step answers once, three seconds before the time is over.
#[test]
fn a_chain_that_has_ended_before_its_time_is_told_of() {
    let queries = queries("6s").replace(" run 10s", "");
    let chained = ask(udp(1000, 0..20).chain(udp(2000, 10..20)), &queries);
    assert_eq!(chained.windows_of("second", "here"), [3..4]);
    assert_eq!(chained.happened("third"), [("timeout", 6..7)], "{}", chained.stdout);
    let timeout = chained.of("timeout", "third")[0];
    assert_eq!(timeout.json["values"]["reached"], "second");
    assert_eq!(timeout.parent.as_ref(), Some(&chained.of("fired", "second")[0].id));
}

#[test]
fn a_chain_that_goes_on_in_time_is_left_alone() {
    let chained = ask(udp(1000, 0..20).chain(udp(2000, 5..20)), &queries("7s"));
    assert_eq!(chained.happened("third"), [("fired", 5..6)], "{}", chained.stdout);
    assert_eq!(chained.windows_of("second", "here").last(), Some(&(12..13)));
    assert_eq!(chained.windows_of("third", "here"), [8..9]);
}
