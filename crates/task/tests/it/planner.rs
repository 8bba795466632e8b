//! Which structures are chosen, and that they keep what their bounds promise.

use crate::support::*;
use task::{Structure, Tasks};

fn chosen(text: &str, packets: u64, workers: usize) -> Result<(Structure, usize, String), String> {
    let specs = [spec(text)];
    let tasks = Tasks::plan(&specs, &setting(packets, workers, false))?;
    let (_, choice) = tasks.choices().next().expect("a choice");
    Ok((choice.structure, choice.bytes, choice.why.clone()))
}

#[test]
fn exact_where_it_fits_and_only_there() {
    for text in ["heavy-hitters", "super-spreaders", "flow-sizes", "change", "entropy", "quantiles"] {
        let (structure, bytes, why) = chosen(text, 100_000, 1).expect(text);
        assert_eq!(structure, Structure::Exact, "{text}: {why}");
        assert!(bytes < 8 << 20, "{text}: no more than needed, {bytes}");
        let (structure, ..) = chosen(&format!("{text}:memory=128KiB"), 1_000_000, 1).expect(text);
        assert_ne!(structure, Structure::Exact, "{text}");
    }
    // There are only 65,536 ports, and 256 protocols.
    let (structure, ..) =
        chosen("heavy-hitters:key=dst_port,memory=4MiB", 1_000_000_000, 1).expect("a choice");
    assert_eq!(structure, Structure::Exact);
    let (structure, ..) = chosen("entropy:key=protocol,memory=32KiB", 1_000_000_000, 1).expect("a choice");
    assert_eq!(structure, Structure::Exact);
}

#[test]
fn an_error_is_kept_by_the_structure_that_promised_it() {
    // The bound is what the answer has to keep, whatever the structure.
    for (error, most) in [("10%", 0.1), ("1%", 0.01)] {
        let text = format!("heavy-hitters:share=0.5%,error={error}");
        let (structure, bytes, why) = chosen(&text, 100_000, 1).expect(&text);
        assert!(why.contains("least memory"), "{why}");
        let packets = stream(40, 100_000);
        let answer = answer(&text, &packets);
        let weights = weights(&packets, &packet::KeySpec::FIVE_TUPLE, false);
        for flow in flows(&answer) {
            let off = (flow.estimate.value - weights[&flow.key] as f64).abs();
            assert!(off <= most * 500.0, "{structure:?} in {bytes}: {flow:?}");
        }
    }
    let (_, small, _) = chosen("quantiles:error=5%", 10_000_000, 1).expect("a choice");
    let (_, large, _) = chosen("quantiles:error=0.5%", 10_000_000, 1).expect("a choice");
    assert!(small < large / 4, "{small} {large}");
}

/// As many as there is room for, of the family whose keys are short too.
#[test]
fn each_address_family_is_sampled_as_it_has_room() {
    let specs = [spec("heavy-hitters:structure=packet-sample,memory=32KiB")];
    let tasks = Tasks::plan(&specs, &setting(1_000_000, 1, false)).expect("a plan");
    let (_, choice) = tasks.choices().next().expect("a choice");
    let room = |one_in| 1_000_000 / u64::from(one_in);
    // Of 32 KiB: an index half full, a key of 16 or 40 bytes, a sum and a number.
    assert!((600..700).contains(&room(choice.one_in)), "{choice:?}");
    assert!((400..500).contains(&room(choice.one_in_v6)), "{choice:?}");
}

#[test]
fn refuses_with_what_is_possible() {
    for (text, says) in [
        ("heavy-hitters:memory=10", "the least is about"),
        ("heavy-hitters:memory=20,structure=mv-sketch", "mv-sketch"),
        ("flow-sizes:error=1%,structure=size-array", "give memory= instead"),
        ("quantiles:structure=ddsketch", "relative to the value"),
        ("heavy-hitters:key=src_addr,prefixes=8/16,error=1%", "hierarchy"),
        ("heavy-hitters:key=vlan", "it needs vlan"),
        ("heavy-hitters:key=ip_tos", "it needs ip_tos"),
        ("super-spreaders:key=src_addr,of=src_addr", "who has to do with whom"),
    ] {
        let error = chosen(text, 10_000_000_000, 1).expect_err(text);
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
    let mut narrow = setting(1_000, 1, false);
    narrow.key = key("src_addr/24");
    for text in
        ["entropy:key=src_addr", "entropy:key=dst_addr", "heavy-hitters:key=src_addr/24,prefixes=8/32"]
    {
        assert!(Tasks::plan(&[spec(text)], &narrow).is_err(), "{text}");
    }
    assert!(Tasks::plan(&[spec("entropy:key=src_addr/16")], &narrow).is_ok());
}

#[test]
fn says_what_a_window_was_taken_to_have() {
    let unknown = task::RunProperties { packets: None, ..setting(0, 1, false) };
    let why = |text: &str| {
        let tasks = Tasks::plan(&[spec(text)], &unknown).expect(text);
        tasks.choices().next().expect("a choice").1.why.clone()
    };
    assert!(why("entropy").contains("taken to have 10,000,000 packets"), "{}", why("entropy"));
    assert!(!why("entropy:packets=5M").contains("taken to have"));
}
