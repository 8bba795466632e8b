//! Tasks that rows of windows answer: exactly, in memory that is taken as rows come.

use crate::support::*;
use arena::Limits;
use flow::{Rows, WindowRow};
use packet::{FlowKey, KeySpec, KeyV4, KeyV6, Seed};
use std::collections::HashMap;
use task::rows::PlanContext;
use task::{
    Generation, ReportedFacts, RowDesk, RunProperties, TaskAnswer, TaskRows, TaskSet, Tasks, WindowId,
};

/// The rows of packets, in blocks as outputs get them.
fn blocks(packets: &[Packet], block: usize) -> Vec<(Rows<KeyV4>, Rows<KeyV6>)> {
    let mut v4: HashMap<KeyV4, (u64, u64)> = HashMap::new();
    let mut v6: HashMap<KeyV6, (u64, u64)> = HashMap::new();
    for packet in packets {
        let (count, bytes) = match packet.key {
            AnyKey::V4(key) => v4.entry(key).or_default(),
            AnyKey::V6(key) => v6.entry(key).or_default(),
        };
        (*count, *bytes) = (*count + 1, *bytes + u64::from(packet.bytes));
    }
    fn row<K: Copy + Default>((key, (packets, bytes)): (&K, &(u64, u64))) -> WindowRow<K> {
        WindowRow { key: *key, packets: *packets, bytes: *bytes, ..WindowRow::default() }
    }
    fn rows<K: Copy + Default>(of: &[WindowRow<K>]) -> Rows<K> {
        Rows { rows: of.to_vec(), ..Rows::default() }
    }
    let (v4, v6): (Vec<_>, Vec<_>) = (v4.iter().map(row).collect(), v6.iter().map(row).collect());
    let of_v4 = v4.chunks(block).map(|of| (rows(of), Rows::default()));
    of_v4.chain(v6.chunks(block).map(|of| (Rows::default(), rows(of)))).collect()
}

/// The answers of one window, as `missing` says.
fn answers(texts: &[&str], packets: &[Packet], limits: &Limits, missing: Option<&str>) -> Vec<TaskAnswer> {
    let set = set_of(texts, limits);
    let tasks = set.row_tasks().expect("rows tell all of them");
    of_window(&mut RowDesk::default(), tasks, 3, packets, missing)
}

fn set_of(texts: &[&str], limits: &Limits) -> TaskSet {
    set_by(Seed::new(SEED), texts, limits)
}

/// The set of a run with this seed.
fn set_by(seed: Seed, texts: &[&str], limits: &Limits) -> TaskSet {
    let specs: Vec<_> = texts.iter().map(|text| spec(text)).collect();
    let setting = RunProperties { seed, ..setting(10_000_000, 1, false) };
    let planned = Tasks::plan_with_rows(&specs, &setting).expect("it can be");
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, seed, limits.clone());
    TaskSet::plan(Generation::new(1), &[], Some(planned), &site).expect("a set")
}

/// The answers of a window, in the order of windows.
fn of_window(
    desk: &mut RowDesk,
    tasks: &Tasks,
    window: u64,
    packets: &[Packet],
    missing: Option<&str>,
) -> Vec<TaskAnswer> {
    let mut states = RowDesk::window(tasks).expect("memory");
    for (v4, v6) in blocks(packets, 300) {
        desk.add(tasks, &mut states, &v4, &v6);
    }
    let reported = ReportedFacts::from(Some(0));
    desk.report(tasks, WindowId::new(window), Some(states), reported, missing.map(str::to_owned))
}

#[test]
fn a_larger_window_before_changes_nothing() {
    let limits = Limits::new(64 << 20, usize::MAX);
    let set = set_of(&["heavy-hitters:count=1", "flow-sizes", "entropy", "super-spreaders:count=1"], &limits);
    let tasks = set.row_tasks().expect("rows tell all of them");
    let small = stream(7, 500);
    let alone = of_window(&mut RowDesk::default(), tasks, 4, &small, None);
    let mut desk = RowDesk::default();
    of_window(&mut desk, tasks, 3, &stream(5, 40_000), None);
    let after = of_window(&mut desk, tasks, 4, &small, None);
    let told = |answers: &[TaskAnswer]| -> Vec<_> {
        answers.iter().map(|answer| (answer.note.structure.clone(), answer.note.memory_bytes)).collect()
    };
    assert_eq!(told(&after), told(&alone));
}

/// The flows whose packets differ between two windows, by the difference.
fn differences(now: &[Packet], before: &[Packet], key: &KeySpec) -> HashMap<FlowKey, i64> {
    let mut changes: HashMap<FlowKey, i64> = HashMap::new();
    weights(now, key, false)
        .into_iter()
        .for_each(|(flow, weight)| *changes.entry(flow).or_default() += weight as i64);
    weights(before, key, false)
        .into_iter()
        .for_each(|(flow, weight)| *changes.entry(flow).or_default() -= weight as i64);
    changes.retain(|_, change| *change != 0);
    changes
}

/// Rows and packets tell the same of each stream.
#[test]
fn rows_are_selected_as_packets_are() {
    let (limits, packets) = (Limits::new(64 << 20, usize::MAX), stream(7, 4_000));
    for text in [
        "inner:key=dst_addr,a=src_port=1024,b=src_port=1025",
        "inner:key=dst_addr,a=src_port=443,by=bytes",
        "inner:key=dst_port,a=src_addr=::/0,b=protocol=6",
        "inner:key=src_addr",
    ] {
        let of_rows = answers(&[text], &packets, &limits, None).remove(0);
        let of_packets = crate::support::answer(text, &packets);
        assert_eq!(of_rows.rows, of_packets.rows, "{text}");
        let TaskRows::Inner { product, totals, .. } = of_rows.rows else { panic!("{text}") };
        assert!(product.value > 0.0 && totals.iter().all(|total| *total > 0), "{text} {product:?}");
    }
}

#[test]
fn windows_without_rows_are_compared() {
    let limits = Limits::new(64 << 20, usize::MAX);
    let texts = ["change:key=dst_addr,count=1,top=1000", "heavy-hitters:key=dst_addr,count=1,top=1000"];
    let set = set_of(&texts, &limits);
    let tasks = set.row_tasks().expect("rows tell all of them");
    let (some, others) = (stream(7, 400), stream(8, 600));
    let windows: [&[Packet]; 7] = [&[], &some, &[], &[], &others, &some, &[]];
    let mut desk = RowDesk::default();
    let mut before: Option<&[Packet]> = None;
    let key = key("dst_addr");
    for (number, packets) in (3..).zip(windows) {
        let answers = match packets {
            [] => desk.report(tasks, WindowId::new(number), None, ReportedFacts::from(Some(0)), None),
            packets => of_window(&mut desk, tasks, number, packets, None),
        };
        let [changed, heavy] = &answers[..] else { panic!("window {number}: {answers:?}") };
        let found = |answer| -> HashMap<FlowKey, i64> {
            flows(answer).iter().map(|flow| (flow.key, flow.estimate.value as i64)).collect()
        };
        assert_eq!(found(heavy), differences(packets, &[], &key), "window {number}");
        match before {
            Some(before) => assert_eq!(found(changed), differences(packets, before, &key), "window {number}"),
            None => assert_eq!(changed.status, "nothing to compare with: no window came before this one"),
        }
        let is_exact = before.is_none() || (&*changed.bounds(), &changed.status[..]) == ("exact", "ok");
        assert!(is_exact, "window {number}: {changed:?}");
        before = Some(packets);
    }
}

#[test]
fn sums_are_those_of_the_packets() {
    let packets = stream(5, 40_000);
    let limits = Limits::new(64 << 20, usize::MAX);
    let texts =
        ["heavy-hitters:key=dst_addr,count=300", "heavy-hitters:by=bytes,count=90000", "entropy:by=bytes"];
    let found = answers(&texts, &packets, &limits, None);
    assert_eq!(limits.bytes_used(), 0, "the memory went back");
    for (answer, (text, is_bytes, least)) in found
        .iter()
        .zip([("dst_addr", false, 300), ("src_addr,dst_addr,protocol,src_port,dst_port", true, 90_000)])
    {
        let mut truth = weights(&packets, &key(text), is_bytes);
        truth.retain(|_, weight| *weight >= least);
        assert!(truth.len() > 10, "{}", truth.len());
        let found: HashMap<_, _> =
            flows(answer).iter().map(|flow| (flow.key, flow.estimate.value as u64)).collect();
        assert_eq!((found, &*answer.bounds(), &answer.status[..]), (truth, "exact", "ok"));
    }
    assert_eq!((&*found[2].bounds(), &found[2].status[..]), ("exact", "ok"));
}

#[test]
fn exact_entropies_are_the_same_with_each_seed_and_structure() {
    let packets = stream(9, 20_000);
    let limits = Limits::new(64 << 20, usize::MAX);
    let bits = |answer: &TaskAnswer| match &answer.rows {
        TaskRows::Entropy(Some(bits)) => bits.value.to_bits(),
        other => panic!("{other:?}"),
    };
    let texts = ["entropy", "entropy:key=dst_addr,by=bytes"];
    let mut found: Vec<Vec<u64>> = Vec::new();
    for seed in (1..12).map(Seed::new) {
        let set = set_by(seed, &texts, &limits);
        let tasks = set.row_tasks().expect("rows tell all of them");
        found.push(of_window(&mut RowDesk::default(), tasks, 3, &packets, None).iter().map(bits).collect());
        let counted = texts.map(|text| {
            format!("{text}{}structure=exact,memory=16MiB", if text.contains(':') { "," } else { ":" })
        });
        let counted: Vec<_> = counted.iter().map(|text| spec(text)).collect();
        let counted =
            Tasks::plan(&counted, &RunProperties { seed, ..setting(20_000, 1, false) }).expect("it can be");
        found.push(answers_by(&counted, &[&packets], seed).remove(0).iter().map(bits).collect());
    }
    for (key, at) in [("src_addr,dst_addr,protocol,src_port,dst_port", 0), ("dst_addr", 1)] {
        let weights: Vec<f64> =
            weights(&packets, &self::key(key), at == 1).into_values().map(|w| w as f64).collect();
        let total: f64 = weights.iter().sum();
        let truth: f64 = weights.iter().map(|weight| weight / total * (total / weight).log2()).sum();
        assert!((f64::from_bits(found[0][at]) - truth).abs() < 1e-9, "{key} {truth}");
    }
    assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
}

#[test]
fn an_answer_without_rows_is_exact_too() {
    let limits = Limits::new(64 << 20, usize::MAX);
    let found = answers(&["heavy-hitters:count=1000000", "flow-sizes"], &stream(5, 500), &limits, None);
    for answer in found {
        assert_eq!((&*answer.bounds(), &answer.status[..]), ("exact", "ok"), "{}", answer.name);
    }
}

#[test]
fn what_is_missing_is_said_and_no_bound_is_given() {
    let packets = stream(6, 40_000);
    let texts = ["heavy-hitters:count=300", "flow-sizes", "entropy"];
    // Too little memory for all flows; rows that did not come.
    for (bytes, missing, says) in
        [(100_000, None, "memory"), (64 << 20, Some("rows are missing"), "rows are missing")]
    {
        let limits = Limits::new(bytes, usize::MAX);
        for answer in answers(&texts, &packets, &limits, missing) {
            let is_said = answer.status.starts_with("incomplete") && answer.status.contains(says);
            assert!(is_said, "{} {}", answer.name, answer.status);
            if missing.is_none() && answer.name == "heavy_hitters" {
                // Flows that found room did so with their first row. Which ones these are depends on the order of rows.
                let truth = weights(&packets, &key("src_addr,dst_addr,protocol,src_port,dst_port"), false);
                let is_right = |flow: &task::EstimatedFlow| truth[&flow.key] as f64 == flow.estimate.value;
                assert!(flows(&answer).iter().all(is_right), "{answer:?}");
            } else {
                assert_eq!(answer.bounds(), "none", "{}", answer.name);
            }
        }
        assert!(limits.bytes_used() <= bytes);
    }
    // Contacts that find no room leave a sample.
    let limits = Limits::new(60_000, usize::MAX);
    let answer = answers(&["super-spreaders:count=1000"], &packets, &limits, None).remove(0);
    assert_eq!(answer.bounds(), "each with a probability of 0.950");
    let spreader = &flows(&answer)[0];
    let truth = contacts(&packets, &key("src_addr"), &key("dst_addr"))[&spreader.key] as f64;
    assert!(spreader.estimate.bounds.is_some_and(|bounds| bounds.contain(truth)), "{spreader:?} {truth}");
}
