//! The entries of the event cookbook (`docs/equery.md`), run as they stand over traffic with the event that they find, and without.

mod floods;
mod hosts;
mod page;
mod paths;
mod played;
mod silence;
mod volumes;

/// The entries that the tests of this folder play.
const PLAYED: [&str; 11] = [
    "DDoS victim",
    "A flood that fills the flow table",
    "Scanner",
    "New heavy hitter",
    "Vanished flow",
    "Where packets are lost",
    "Asymmetric loss",
    "Drop in entropy",
    "Microburst",
    "Expected traffic is absent",
    "Baseline exceeded",
];

#[test]
fn each_entry_is_played() {
    let headings: Vec<String> = page::entries().into_iter().map(|(heading, _)| heading).collect();
    assert_eq!(headings, PLAYED);
}

#[test]
fn the_chain_of_locate_eq_is_that_of_the_page() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/locate.eq");
    let file = std::fs::read_to_string(path).expect("the example");
    let is_comment = |line: &&str| line.starts_with("--");
    let file: Vec<&str> = file.lines().skip_while(|line| is_comment(line) || line.is_empty()).collect();
    assert_eq!(file.join("\n"), page::entry("Where packets are lost"));
}
