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
    for text in
        ["heavy-hitters", "super-spreaders", "flow-sizes", "change", "entropy", "quantiles", "distinct"]
    {
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

/// Makwana's sketch is one line: three rows of 1,024 counters on pairs of addresses, and the pair with the most packets.
#[test]
fn rows_are_those_that_are_given() {
    let text = "heavy-hitters:structure=count-min,key=src_addr+dst_addr,depth=3,width=1024,top=1";
    let (structure, bytes, why) = chosen(text, 100_000, 1).expect(text);
    assert_eq!(structure, Structure::CountMin);
    assert!(bytes > 3 * 1024 * 4 && bytes < 1 << 20, "{bytes}");
    let says = "3 rows of 1,024 counters; a flow's estimate is too large by at most e·N/w, that is 0.27 % of all packets, \
                with a probability of 0.950";
    assert_eq!(why, format!("count-min, as asked: {says}"));
    let packets = stream(50, 100_000);
    let answer = answer(text, &packets);
    assert!(answer.note.structure.starts_with("count_min depth=3 width=1024 "), "{}", answer.note.structure);
    let weights = weights(&packets, &key("src_addr,dst_addr"), false);
    let (heaviest, most) = weights.iter().max_by_key(|(_, weight)| **weight).expect("flows");
    let [row] = flows(&answer) else { panic!("{answer:?}") };
    assert_eq!(row.key, *heaviest);
    let bounds = row.estimate.bounds.expect("bounds");
    assert!(row.estimate.value >= *most as f64 && bounds.lower <= *most as f64, "{row:?} {most}");
    // Any width will do, and any depth; bytes take counters of 64 bits.
    for (text, says) in [
        ("heavy-hitters:structure=count-min,depth=5,width=1000,by=bytes", "depth=5 width=1000 counter=u64"),
        ("heavy-hitters:structure=conservative-update,width=777", "depth=3 width=777 counter=u32"),
        ("change:structure=k-ary,depth=1,width=50", "depth=1 width=50 counter=i32"),
        ("heavy-hitters:structure=simple-hash-table,width=3000", "Simple Hash Table (width 3000)"),
        ("super-spreaders:structure=spread-sketch,depth=2,width=300", "rows 2, width 300"),
        ("inner:structure=count-sketch,depth=7,width=999", "depth=7 width=999 counter=i32"),
    ] {
        let answer = crate::support::answer(text, &packets);
        assert!(answer.note.structure.contains(says), "{text}: {}", answer.note.structure);
        // Two windows, and that which a change is measured against.
        let windows = if text.starts_with("change") { 3 } else { 2 };
        let bytes = tasks(&[text], &setting(1, 1, false)).bytes(1);
        assert_eq!(answer.note.memory_bytes as usize * windows, bytes, "{text}");
    }
    // A depth alone leaves the width to the memory, and the error to both.
    let text = |depth| format!("heavy-hitters:share=0.5%,structure=count-min,depth={depth},memory=128KiB");
    let mut widths = Vec::new();
    for depth in [2, 6] {
        let (_, bytes, why) = chosen(&text(depth), 1_000_000, 1).expect("a choice");
        assert!(bytes == 128 << 10 && why.contains(&format!("; {depth} rows of ")), "{why}");
        let of = why.split("rows of ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a width");
        widths.push(of.replace(',', "").parse::<f64>().expect("a width"));
    }
    assert!((widths[0] / widths[1] - 3.0).abs() < 0.05, "{widths:?}");
}

/// The search for the least memory goes below the kilobyte at which it begins: IPv6 takes no more than is given if it can, and the least that is
/// named is the least.
#[test]
fn structures_may_be_smaller_than_a_kilobyte() {
    let text = "distinct:structure=bitmap,memory=9";
    // Nine bytes for each family and each of two windows, of which a bitmap takes eight.
    assert_eq!(tasks(&[text], &setting(1_000_000, 1, false)).bytes(1), 2 * 2 * 9);
    let answer = answer(text, &stream(1, 100));
    assert_eq!(answer.note.memory_bytes, 16, "{}", answer.note.structure);
    let error = chosen("distinct:structure=bitmap,memory=7", 1_000_000, 1).expect_err("7 bytes");
    assert!(error.contains("the least is about 8 bytes (bitmap)"), "{error}");
}

/// A bitmap is exact enough for few values; of many it is full, and HyperLogLog is not.
#[test]
fn distinct_values_are_counted_by_what_errs_least() {
    for (text, packets, structure) in [
        ("distinct:memory=4KiB", 10_000, Structure::Bitmap),
        ("distinct:memory=4KiB", 10_000_000, Structure::HyperLogLog),
        ("distinct:of=dst_port,memory=4KiB", 10_000_000, Structure::Bitmap),
        ("distinct:of=protocol,memory=16KiB", 10_000_000, Structure::Exact),
        // Registers are a power of two: bitmaps of any width may take less.
        ("distinct:error=2%", 10_000_000, Structure::MultiResolutionBitmap),
    ] {
        assert_eq!(chosen(text, packets, 1).expect(text).0, structure, "{text} {packets}");
    }
    // 1.96 · 1.04 / √m of m registers of a byte each, a power of two.
    let text = "distinct:structure=hyper-log-log,error=2%";
    let (_, bytes, why) = chosen(text, 100_000_000, 1).expect("a choice");
    assert!((16 << 10..18 << 10).contains(&bytes), "{bytes} {why}");
}

#[test]
fn refuses_with_what_is_possible() {
    for (text, says) in [
        (
            "heavy-hitters:structure=simple-hash-table,depth=2",
            "a number of rows of 2 cannot be; it goes from 1 to 1",
        ),
        ("heavy-hitters:structure=k-ary,width=1", "a width of 1 cannot be; it goes from 2"),
        ("heavy-hitters:memory=10", "the least is about"),
        ("heavy-hitters:memory=20,structure=mv-sketch", "mv-sketch"),
        ("flow-sizes:error=1%,structure=size-array", "give memory= instead"),
        ("quantiles:structure=ddsketch", "relative to the value"),
        ("heavy-hitters:key=src_addr,prefixes=8/16,error=1%", "hierarchy"),
        ("heavy-hitters:key=vlan", "it needs vlan"),
        ("heavy-hitters:key=ip_tos", "it needs ip_tos"),
        ("inner:error=1%,structure=count-sketch", "give memory= instead"),
        ("super-spreaders:key=src_addr,of=src_addr", "who has to do with whom"),
    ] {
        let error = chosen(text, 10_000_000_000, 1).expect_err(text);
        assert!(error.contains(says) && !error.contains('\n'), "{text}: {error}");
    }
    let mut narrow = setting(1_000, 1, false);
    narrow.key = key("src_addr/24");
    for text in [
        "entropy:key=src_addr",
        "entropy:key=dst_addr",
        "inner:a=dst_port=80",
        "inner:a=src_addr=10.1.0.0/28",
        "heavy-hitters:key=src_addr/24,prefixes=8/32",
    ] {
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
