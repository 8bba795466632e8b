//! What tasks answer, against maps.

use crate::support;
use crate::support::*;
use flow::Estimate;
use model::{ColumnKind, Value};
use packet::{FlowKey, KeySpec};
use std::collections::{BTreeMap, HashMap, HashSet};
use task::{Point, Structure, TaskAnswer, TaskKind, TaskRows, catalog};

fn f1(named: &HashSet<FlowKey>, truth: &HashSet<FlowKey>) -> f64 {
    2.0 * named.intersection(truth).count() as f64 / (named.len() + truth.len()).max(1) as f64
}

fn names(answer: &TaskAnswer) -> HashSet<FlowKey> {
    flows(answer).iter().map(|flow| flow.key).collect()
}

#[test]
fn heavy_hitters_are_found_by_every_structure() {
    let packets = stream(1, 60_000);
    for (key_text, by_bytes) in [("src_addr+dst_addr", false), ("src_port", false), ("src_addr/16", true)] {
        let spec = key(&key_text.replace('+', ","));
        let weights = weights(&packets, &spec, by_bytes);
        let total: u64 = weights.values().sum();
        let truth: HashSet<_> = weights
            .iter()
            .filter(|(_, weight)| **weight as f64 >= 0.002 * total as f64)
            .map(|(key, _)| *key)
            .collect();
        assert!(truth.len() > 3, "{key_text}");
        for structure in catalog::structures(TaskKind::HeavyHitters) {
            let by = if by_bytes { ",by=bytes" } else { "" };
            // Sets of bytes tell keys only where few share a counter.
            let memory = if structure.name() == "reversible" { "64MiB" } else { "1MiB" };
            let text =
                format!("heavy-hitters:key={key_text}{by},structure={},memory={memory}", structure.name());
            let Ok(_) = text.parse::<task::TaskSpec>() else {
                assert!(by_bytes, "{text}");
                continue;
            };
            let answer = answer(&text, &packets);
            assert_eq!(answer.note.total, total, "{text}");
            let is_exact = structure.name() == "exact";
            let least = if is_exact {
                1.0
            } else if by_bytes {
                0.8
            } else {
                0.9
            };
            assert!(f1(&names(&answer), &truth) >= least, "{text}: {}", f1(&names(&answer), &truth));
            for flow in flows(&answer) {
                let weight = weights[&flow.key] as f64;
                if let Some(bounds) = flow.estimate.bounds.filter(|bounds| bounds.confidence >= 1.0) {
                    assert!(bounds.contain(weight), "{text}: {flow:?} {weight}");
                }
                assert!(!is_exact || flow.estimate.value == weight, "{text}");
            }
            if is_exact {
                assert_eq!((&*answer.bounds(), &*answer.status), ("exact", "ok"), "{text}");
            }
        }
    }
}

#[test]
fn top_and_count_cut_where_they_say() {
    let packets = stream(2, 30_000);
    let weights = weights(&packets, &KeySpec::FIVE_TUPLE, false);
    let mut largest: Vec<u64> = weights.values().copied().collect();
    largest.sort_by(|a, b| b.cmp(a));
    let top = answer("heavy-hitters:top=5", &packets);
    let values: Vec<f64> = flows(&top).iter().map(|flow| flow.estimate.value).collect();
    assert_eq!(values, largest[..5].iter().map(|value| *value as f64).collect::<Vec<_>>());
    assert_eq!(top.status, "ok");
    let limit = largest[20];
    let counted = answer(&format!("heavy-hitters:count={limit}"), &packets);
    assert_eq!(flows(&counted).len(), largest.iter().filter(|value| **value >= limit).count());
    let both = answer(&format!("heavy-hitters:count={limit},top=4"), &packets);
    assert!(both.status.contains("more belong here"), "{}", both.status);
}

#[test]
fn the_largest_are_not_said_to_be_all_where_some_found_no_room() {
    // Two thousand small flows fill the table before the elephant comes.
    let mut packets: Vec<Packet> = (0..2_000).map(|flow| Packet { key: v4(flow, 1, 1), bytes: 40 }).collect();
    packets.extend(vec![Packet { key: v4(9_999, 9, 9), bytes: 40 }; 5_000]);
    let full = answer("heavy-hitters:top=10,structure=exact,memory=32KiB", &packets);
    assert!(full.status.starts_with("incomplete"), "{}", full.status);
    let kept = answer("heavy-hitters:top=1,structure=space-saving,memory=32KiB", &packets);
    assert_eq!(
        (kept.status.as_str(), flows(&kept)[0].estimate.bounds.expect("bounds").contain(5_000.0)),
        ("ok", true)
    );
}

#[test]
fn keys_without_addresses_have_both_families_contacts() {
    let from = |number: u32| {
        [v4(number, 1, 7), v6(u128::from(number) << 80, 1, 7)].map(|key| Packet { key, bytes: 40 })
    };
    let packets: Vec<Packet> = (0..600).flat_map(from).collect();
    for structure in ["exact", "contact-sample", "spread-sketch"] {
        let task =
            format!("super-spreaders:key=src_port,of=src_addr,count=1000,structure={structure},memory=1MiB");
        let found = answer(&task, &packets);
        assert_eq!(flows(&found).len(), 1, "{structure}");
        assert!((flows(&found)[0].estimate.value / 1_200.0 - 1.0).abs() < 0.1, "{structure}");
    }
}

#[test]
fn shares_are_not_rounded() {
    let packets: Vec<Packet> = (0..100_u32).map(|n| Packet { key: v4(n.max(6), 1, 1), bytes: 40 }).collect();
    // Seven packets of a hundred are 7 %.
    assert_eq!(flows(&answer("heavy-hitters:share=7%", &packets)).len(), 1);
}

#[test]
fn hierarchical_heavy_hitters_are_those_of_the_definition() {
    let packets = stream(3, 40_000);
    let answer = answer("heavy-hitters:key=src_addr,prefixes=8/16/24/32,share=2%", &packets);
    let threshold = 0.02 * packets.len() as f64;
    // By the definition, from addresses up: what a prefix has without the heavy prefixes that lie in it.
    let lengths = [32_u8, 24, 16, 8];
    let at = |length: u8| key(&format!("src_addr/{length}"));
    let mut left: HashMap<usize, usize> = HashMap::new();
    let mut truth: BTreeMap<(FlowKey, u8), f64> = BTreeMap::new();
    let mut taken = vec![false; packets.len()];
    for length in lengths {
        left.clear();
        let mut groups: HashMap<FlowKey, Vec<usize>> = HashMap::new();
        for (number, packet) in packets.iter().enumerate() {
            groups.entry(packet.flow_key(&at(length))).or_default().push(number);
        }
        for (key, group) in groups {
            let own = group.iter().filter(|number| !taken[**number]).count() as f64;
            if own >= threshold {
                let is_v6 = key.src_addr.is_some_and(|address| address.is_ipv6());
                truth.insert((key, if is_v6 { 4 * length } else { length }), own);
                group.iter().for_each(|number| taken[*number] = true);
            }
        }
    }
    let found: BTreeMap<_, _> = flows(&answer)
        .iter()
        .map(|flow| ((flow.key, flow.prefix.expect("a length")), flow.own.expect("what is left").value))
        .collect();
    assert!(truth.len() > 4 && truth.keys().any(|(_, length)| *length < 32));
    assert_eq!(found, truth);
}

#[test]
fn super_spreaders_are_found_and_none_invented() {
    let packets = stream(4, 60_000);
    for (text, key_of, of) in [
        ("key=src_addr,of=dst_addr", "src_addr", "dst_addr"),
        ("key=dst_addr,of=src_addr+src_port", "dst_addr", "src_addr,src_port"),
    ] {
        let contacts = contacts(&packets, &key(key_of), &key(of));
        for structure in catalog::structures(TaskKind::SuperSpreaders) {
            let text = format!("super-spreaders:{text},count=100,structure={},memory=4MiB", structure.name());
            let answer = answer(&text, &packets);
            for flow in flows(&answer) {
                let truth = contacts[&flow.key] as f64;
                assert!((flow.estimate.value / truth - 1.0).abs() < 0.2, "{text}: {flow:?} {truth}");
                assert!(structure.name() == "spread-sketch" || flow.estimate.value == truth, "{text}");
            }
            let truth: HashSet<_> =
                contacts.iter().filter(|(_, count)| **count >= 130).map(|(key, _)| *key).collect();
            assert!(truth.is_subset(&names(&answer)), "{text}");
        }
    }
}

#[test]
fn flow_sizes_and_entropy_are_those_of_all_flows_together() {
    let packets = stream(5, 80_000);
    let weights = weights(&packets, &KeySpec::FIVE_TUPLE, false);
    let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
    weights.values().for_each(|size| *sizes.entry(*size).or_default() += 1.0);
    let total = packets.len() as f64;
    let entropy: f64 =
        weights.values().map(|size| *size as f64 / total).map(|share| -share * share.log2()).sum();
    for structure in catalog::structures(TaskKind::FlowSizes) {
        let text = format!("flow-sizes:structure={},memory=1MiB", structure.name());
        let TaskRows::Sizes { sizes: found, .. } = answer(&text, &packets).rows else { panic!("{text}") };
        if structure.name() == "exact" {
            assert_eq!(found, sizes.clone().into_iter().collect::<Vec<_>>());
        }
        let flows: f64 = found.iter().map(|(_, flows)| flows).sum();
        assert!((flows / weights.len() as f64 - 1.0).abs() < 0.05, "{text}: {flows} of {}", weights.len());
    }
    for structure in catalog::structures(TaskKind::Entropy) {
        let text = format!("entropy:structure={},memory=1MiB", structure.name());
        let TaskRows::Entropy(Some(bits)) = answer(&text, &packets).rows else { panic!("{text}") };
        let most = if structure.name() == "exact" { 1e-9 } else { 0.02 * entropy };
        assert!((bits.value - entropy).abs() < most, "{text}: {bits:?} {entropy}");
    }
    let TaskRows::Entropy(Some(bits)) = answer("entropy:by=bytes", &packets).rows else {
        panic!("no entropy")
    };
    let weights = support::weights(&packets, &KeySpec::FIVE_TUPLE, true);
    let total = weights.values().sum::<u64>() as f64;
    let truth: f64 =
        weights.values().map(|bytes| *bytes as f64 / total).map(|share| -share * share.log2()).sum();
    assert!((bits.value - truth).abs() < 1e-9);
}

#[test]
fn exact_bins_have_a_row_for_each_size() {
    let packets = stream(5, 80_000);
    for (text, of) in [
        ("flow-sizes:bins=exact", KeySpec::FIVE_TUPLE),
        ("flow-sizes:bins=exact,memory=8MiB", KeySpec::FIVE_TUPLE),
        ("flow-sizes:bins=exact,structure=exact,key=dst_addr", key("dst_addr")),
        ("flow-sizes:bins=exact,error=1%,key=src_port", key("src_port")),
    ] {
        let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
        weights(&packets, &of, false).values().for_each(|size| *truth.entry(*size).or_default() += 1);
        let shown = answer(text, &packets).into_answer(None);
        let names: Vec<_> = shown.columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let columns = ["size_from", "size_to", "flows"].map(|name| (name, ColumnKind::Unsigned));
        assert_eq!(names, columns, "{text}");
        let rows: Vec<Vec<Value>> =
            truth.iter().map(|(size, flows)| vec![(*size).into(), (*size).into(), (*flows).into()]).collect();
        assert_eq!((shown.rows, shown.bounds.as_str()), (rows, "exact"), "{text}");
    }
}

#[test]
fn distinct_values_are_as_many_as_a_set_has() {
    let packets = stream(5, 80_000);
    for of in ["src_addr", "dst_addr/24/64", "src_addr+src_port", "src_port", "protocol"] {
        let spec = key(&of.replace('+', ","));
        let truth: HashSet<FlowKey> = packets.iter().map(|packet| packet.flow_key(&spec)).collect();
        let truth = truth.len() as f64;
        for structure in catalog::structures(TaskKind::Distinct) {
            let text = format!("distinct:of={of},structure={},memory=1MiB", structure.name());
            let answer = answer(&text, &packets);
            let TaskRows::Distinct(found) = answer.rows else { panic!("{text}") };
            assert!((found.value / truth - 1.0).abs() < 0.03, "{text}: {found:?} {truth}");
            if structure == Structure::Exact {
                assert_eq!(found, Estimate::exact(truth), "{text}");
            } else {
                let bounds = found.bounds.expect("bounds");
                assert!(bounds.lower < bounds.upper && bounds.confidence > 0.89, "{text}: {found:?}");
            }
        }
        let shown = answer(&format!("distinct:of={of}"), &packets).into_answer(None);
        assert_eq!((shown.query.as_str(), shown.bounds.as_str()), ("distinct", "exact"));
        assert_eq!(shown.rows, [[Value::from(Estimate::exact(truth))]], "{of}");
    }
}

/// A table that is too small knows how many packets it did not look at, each of which may have had a value of its own.
#[test]
fn distinct_values_of_a_full_table_are_between_bounds() {
    let packets = stream(7, 20_000);
    let truth: HashSet<FlowKey> =
        packets.iter().map(|packet| packet.flow_key(&KeySpec::FIVE_TUPLE)).collect();
    let answer = answer("distinct:structure=exact,memory=8KiB", &packets);
    assert!(answer.status.starts_with("incomplete") && !answer.is_exact, "{}", answer.status);
    let TaskRows::Distinct(found) = answer.rows else { panic!("no number") };
    let bounds = found.bounds.expect("bounds");
    assert!(bounds.contain(truth.len() as f64) && bounds.lower < truth.len() as f64, "{found:?}");
    assert!(bounds.upper.is_finite() && bounds.confidence >= 1.0, "{found:?}");
}

/// The sum over all keys of the weight in one stream times that in another, and both totals.
fn inner_of(
    packets: &[Packet],
    of: &KeySpec,
    by_bytes: bool,
    sides: [&dyn Fn(&FlowKey) -> bool; 2],
) -> (f64, [u64; 2]) {
    let [a, b] = sides.map(|takes| {
        let taken = packets.iter().filter(|packet| takes(&packet.flow_key(&KeySpec::FIVE_TUPLE)));
        weights(&taken.copied().collect::<Vec<_>>(), of, by_bytes)
    });
    let product = a.iter().map(|(key, weight)| weight * b.get(key).copied().unwrap_or(0)).sum::<u64>();
    (product as f64, [a.values().sum(), b.values().sum()])
}

#[test]
fn inner_products_are_those_of_maps() {
    let packets = stream(5, 80_000);
    let port = |port: u16| move |key: &FlowKey| key.src_port == Some(port);
    let (first, second, v6, all) = (port(1_024), port(1_027), port(443), |_: &FlowKey| true);
    let to = |key: &FlowKey| key.dst_addr.is_some_and(|address| address.to_string().starts_with("192.0.2."));
    type Side<'a> = &'a dyn Fn(&FlowKey) -> bool;
    let cases: [(&str, &str, [Side<'_>; 2]); 6] = [
        ("a=src_port=1024,b=src_port=1027", "dst_addr", [&first, &second]),
        ("a=src_port=1024", "dst_addr", [&first, &all]),
        ("b=protocol=tcp+src_port=443", "dst_addr/0/100", [&all, &v6]),
        ("", "src_addr", [&all, &all]),
        ("a=dst_addr=192.0.2.0/24,b=src_port=1024", "protocol", [&to, &first]),
        ("a=src_port=443,b=src_port=1024", "src_addr", [&v6, &first]),
    ];
    for (sides, of, truth) in cases {
        for by in ["packets", "bytes"] {
            let (truth, totals) = inner_of(&packets, &key(of), by == "bytes", truth);
            for structure in catalog::structures(TaskKind::Inner) {
                let name = structure.name();
                let text = format!("inner:key={of},{sides},by={by},structure={name},memory=1MiB");
                let text = text.replace(",,", ",");
                if text.parse::<task::TaskSpec>().is_err() {
                    assert!(name == "count-sketch" && by == "bytes", "{text}");
                    continue;
                }
                let found = answer(&text, &packets);
                let TaskRows::Inner { product, totals: weights, .. } = found.rows else { panic!("{text}") };
                assert_eq!(weights, totals, "{text}");
                let bounds = product.bounds.expect("bounds");
                assert!(
                    bounds.contain(truth) && bounds.contain(product.value),
                    "{text}: {truth} {product:?}"
                );
                if structure == Structure::Exact {
                    assert_eq!(product, Estimate::exact(truth), "{text}");
                } else {
                    // All structures are wide enough for an estimate that is about right.
                    let [a, b] = totals.map(|total| total as f64);
                    assert!((product.value - truth).abs() <= 0.01 * a * b, "{text}: {truth} {product:?}");
                }
            }
            let text = format!("inner:key={of},{sides},by={by}").replace(",,", ",");
            let shown = answer(&text, &packets).into_answer(None);
            let [a, b] = totals;
            assert_eq!(shown.rows, [[Estimate::exact(truth).into(), a.into(), b.into()]], "{text}");
            assert_eq!((shown.query.as_str(), shown.bounds.as_str()), ("inner", "exact"));
        }
    }
}

#[test]
fn all_structures_mean_the_same_by_a_quantile() {
    let packets: Vec<Packet> = (1..=50_u32).map(|n| Packet { key: v4(1, 1, 1), bytes: n }).collect();
    for structure in ["exact", "dyadic", "reservoir"] {
        let text = format!("quantiles:key=size,at=2%/50%/75%/99%,structure={structure},memory=1MiB");
        let TaskRows::Quantiles { quantiles, .. } = answer(&text, &packets).rows else { panic!("{text}") };
        let values: Vec<_> = quantiles.iter().map(|row| row.value).collect();
        assert_eq!(values, [1, 25, 38, 50].map(Point::Number), "{structure}");
    }
}

#[test]
fn quantiles_have_the_rank_that_was_asked_for() {
    let packets = stream(6, 50_000);
    let four = |packet: &&Packet| matches!(packet.key, AnyKey::V4(_));
    let address = |packet: &Packet| packet.flow_key(&key("src_addr")).src_addr.expect("an address");
    let mut addresses: Vec<_> =
        packets.iter().filter(four).map(|packet| Point::Address(address(packet))).collect();
    let mut sizes: Vec<_> = packets.iter().map(|packet| Point::Number(packet.bytes.into())).collect();
    addresses.sort();
    sizes.sort();
    for (field, sorted) in [("src_addr", &addresses), ("size", &sizes)] {
        for structure in catalog::structures(TaskKind::Quantiles) {
            if structure.name() == "ddsketch" && field != "size" {
                continue;
            }
            let text =
                format!("quantiles:key={field},at=10%/50%/90%,structure={},memory=1MiB", structure.name());
            let TaskRows::Quantiles { of, quantiles } = answer(&text, &packets).rows else {
                panic!("{text}")
            };
            assert_eq!(of, field);
            let is_v4 = |point: &Point| !matches!(point, Point::Address(address) if address.is_ipv6());
            let rows: Vec<_> = quantiles.into_iter().filter(|row| is_v4(&row.value)).collect();
            assert_eq!(rows.len(), 3, "{text}");
            for row in rows {
                // Ranks of equal values are a range.
                let below = sorted.partition_point(|value| *value < row.value) as f64 / sorted.len() as f64;
                let upto = sorted.partition_point(|value| *value <= row.value) as f64 / sorted.len() as f64;
                let off = if structure.name() == "exact" { 0.0 } else { 0.02 };
                assert!(
                    below - off <= row.share && row.share <= upto + off,
                    "{text}: {row:?} {below} {upto}"
                );
            }
        }
    }
}

#[test]
fn an_empty_window_answers_with_nothing() {
    for kind in TaskKind::ALL {
        for structure in catalog::structures(kind) {
            let key = match structure.name() {
                "ddsketch" => ",key=size",
                "reversible" => ",key=src_port",
                _ => "",
            };
            let answer = answer(&format!("{kind}:structure={},memory=1MiB{key}", structure.name()), &[]);
            match (kind, &answer.rows) {
                (TaskKind::Distinct, TaskRows::Distinct(values)) => {
                    assert_eq!(*values, Estimate::exact(0.0), "{answer:?}");
                }
                (TaskKind::Inner, TaskRows::Inner { product, totals, .. }) => {
                    assert_eq!((*product, *totals), (Estimate::exact(0.0), [0, 0]), "{answer:?}");
                }
                (_, rows) => assert!(rows.is_empty(), "{answer:?}"),
            }
            let json = format!("{answer:?}");
            assert!(!json.contains("NaN"), "{json}");
        }
    }
}

#[test]
fn a_full_exact_table_says_what_is_missing() {
    let packets = stream(7, 20_000);
    let task = answer("heavy-hitters:structure=exact,memory=8KiB,share=0.5%", &packets);
    assert!(task.status.starts_with("incomplete"), "{}", task.status);
    let weights = weights(&packets, &KeySpec::FIVE_TUPLE, false);
    for flow in flows(&task) {
        assert!(flow.estimate.bounds.expect("bounds").contain(weights[&flow.key] as f64), "{flow:?}");
    }
    for text in [
        "entropy:structure=exact,memory=8KiB",
        "flow-sizes:structure=exact,memory=8KiB",
        "inner:structure=exact,memory=8KiB",
    ] {
        assert!(answer(text, &packets).status.starts_with("incomplete"), "{text}");
    }
}

#[test]
fn a_key_of_prefixes_is_answered_as_prefixes() {
    let packets = stream(1, 2_000);
    let shown = answer("heavy-hitters:key=src_addr/16/32,count=1,structure=exact,memory=1MiB", &packets)
        .into_answer(None);
    assert_eq!(shown.columns[0].kind, ColumnKind::Prefix);
    let truth = weights(&packets, &key("src_addr/16/32"), false);
    assert_eq!(shown.rows.len(), truth.len());
    let mut lengths = BTreeMap::new();
    for row in &shown.rows {
        let Value::Prefix { address, length } = row[0] else { panic!("no prefix: {row:?}") };
        assert_eq!(length, if address.is_ipv4() { 16 } else { 32 });
        *lengths.entry(length).or_insert(0) += 1;
    }
    assert_eq!(lengths.len(), 2, "both families: {lengths:?}");
}
