//! Queries that are counted in sketches, against the same queries over the rows of the same run.

use crate::support::capture;
use crate::support::output::{self, number, rows};
use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::HashMap;

const TRAFFIC: &str = "packets=120k,flows=30k,zipf=1.1,ipv6=30%,rate=10k";
const DESIGNS: [&[&str]; 3] = [&[], &["--design", "1x3"], &["--design", "2x1", "--wire", "queues=2"]];

/// The figures of an exact answer, by the text of their group.
fn exact<'a>(answer: &'a Value, group: &str, figure: &str) -> HashMap<&'a str, u64> {
    assert_eq!((&answer["class"], &answer["bounds"]), (&"row".into(), &"exact".into()));
    assert_eq!(answer["rest"]["groups"], 0, "all groups are in the answer");
    rows(answer).iter().map(|row| (row[group].as_str().expect("a text"), number(&row[figure]))).collect()
}

#[test]
fn the_truth_lies_within_the_bounds() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, TRAFFIC);
    for design in DESIGNS {
        let mut command = edison();
        command.arg("run").arg(&generated.path).args(["--json", "--every", "4s", "--seed", "3"]).args(design);
        command.args([
            "-q",
            "bytes: select dst_addr, sum(total_byte) groupby dst_addr limit 60 using space_saving(memory=8KiB);
             truth: select dst_addr, sum(total_byte) groupby dst_addr limit 100K;
             fan: select src_addr, count(distinct dst_addr) as n groupby src_addr limit 20 using contact_sample(memory=256KiB, packets=40K);
             peers: select src_addr, count(distinct dst_addr) as n groupby src_addr limit 100K;
             bits: select entropy(dst_addr, total_byte) as bits using exact(memory=8MiB);
             entropy: select entropy(dst_addr, total_byte) as bits;",
        ]);
        let ended = run(&mut command).expect(0);
        let answers: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of = |query: &str| -> Vec<&Value> {
            answers.iter().filter(|answer| answer["query"] == query).collect()
        };
        assert_eq!(of("truth").len(), 3, "{design:?}");
        let (mut wide, mut within, mut all) = (0, 0, 0);
        for (index, truth) in of("truth").into_iter().enumerate() {
            let what = format!("{design:?} window {index}");
            let [bytes, fan, peers, bits, entropy] =
                ["bytes", "fan", "peers", "bits", "entropy"].map(|query| of(query)[index]);
            for answer in [bytes, fan, bits] {
                assert_eq!(
                    (&answer["class"], &answer["window"]),
                    (&"sketch".into(), &truth["window"]),
                    "{what}"
                );
                assert_eq!(answer["watched"], truth["watched"], "{what}");
            }
            let names: Vec<_> =
                bytes["columns"].as_array().expect("columns").iter().map(|c| &c["name"]).collect();
            assert_eq!(names, ["dst_addr", "sum(total_byte)"]);
            let truth = exact(truth, "dst_addr", "sum(total_byte)");
            assert_eq!(number(&bytes["task"]["total"]), truth.values().sum::<u64>(), "{what}");
            assert_eq!((rows(bytes).len(), &bytes["bounds"]), (60, &"certain".into()), "{what}");
            for row in rows(bytes) {
                let (group, figure) =
                    (row["dst_addr"].as_str().expect("an address"), &row["sum(total_byte)"]);
                output::estimate(figure);
                let bound = |name: &str| figure[name].as_f64().expect("a bound");
                let true_figure = truth[group] as f64;
                assert!(
                    (bound("lower")..=bound("upper")).contains(&true_figure),
                    "{what}: {row} {true_figure}"
                );
                wide += usize::from(bound("lower") < bound("upper"));
            }
            let largest = truth.iter().max_by_key(|(_, bytes)| **bytes).map(|(group, _)| *group);
            assert_eq!(rows(bytes)[0]["dst_addr"].as_str(), largest, "{what}");

            let peers = exact(peers, "src_addr", "n");
            for row in rows(fan) {
                let bound = |name: &str| row["n"][name].as_f64().expect("a bound");
                let true_figure = peers[row["src_addr"].as_str().expect("an address")] as f64;
                within += usize::from((bound("lower")..=bound("upper")).contains(&true_figure));
                all += 1;
            }
            let [estimate, exactly] = [&bits["rows"][0]["bits"], &entropy["rows"][0]["bits"]];
            let off = output::estimate(estimate) - exactly.as_f64().expect("bits");
            assert!(off.abs() < 1e-9 && bits["bounds"] == "exact", "{what}: {estimate} {exactly}");
        }
        assert!(wide > 0, "{design:?}: so little memory has errors");
        // Each holds with a probability of 95 %.
        assert!(all == 60 && within >= 51, "{design:?}: {within} of {all}");
    }
}

#[test]
fn a_promised_error_is_kept() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, TRAFFIC);
    let mut command = edison();
    command.arg("run").arg(&generated.path).args(["--json", "--every", "40Kp", "--seed", "3"]).args([
        "-q",
        "few: select src_addr, sum(total_count) as n groupby src_addr having n >= 400 error 5%;
         truth: select src_addr, sum(total_count) as n groupby src_addr limit 100K;",
    ]);
    let ended = run(&mut command).expect(0);
    let answers: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |query: &str| answers.iter().filter(|answer| answer["query"] == query).collect::<Vec<_>>();
    assert_eq!((of("few").len(), of("truth").len()), (3, 3));
    for (few, truth) in of("few").into_iter().zip(of("truth")) {
        let truth = exact(truth, "src_addr", "n");
        let found: HashMap<&str, f64> = rows(few)
            .iter()
            .map(|row| (row["src_addr"].as_str().expect("an address"), output::estimate(&row["n"])))
            .collect();
        assert!(!found.is_empty());
        let heavy = truth.iter().filter(|(_, packets)| **packets as f64 >= 400.0 * 1.05);
        heavy.for_each(|(group, _)| assert!(found.contains_key(group), "{group} is missing"));
        for (group, estimate) in found {
            assert!(
                (estimate - truth[group] as f64).abs() <= 400.0 * 0.05,
                "{group} {estimate} {}",
                truth[group]
            );
        }
    }
}

#[test]
fn the_screen_and_the_report_have_the_answers_of_windows() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=2k,rate=10k");
    let path = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(&generated.path).args(["--every", "1s", "--report"]).arg(&path).args([
        "-q",
        "most: select dst_addr, sum(total_byte) as b groupby dst_addr limit 3 using space_saving(memory=64KiB)",
    ]);
    let ended = run(&mut command).expect(0);
    let headings = ended.stdout.matches("  most: heavy-hitters:key=dst_addr,by=bytes,top=3").count();
    assert!(headings >= 2, "{}", ended.stdout);
    let report = output::report(&path);
    let answers = report["answers"].as_array().expect("answers").iter();
    let own: Vec<_> = answers.filter(|answer| answer["query"] == "most").collect();
    assert!(
        own.len() == 2 && own.iter().all(|answer| answer["class"] == "sketch" && rows(answer).len() == 3)
    );
}

#[test]
fn a_design_that_a_structure_cannot_have_is_refused_with_the_query() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=1k,flows=100");
    let mut command = edison();
    command.arg("run").arg(&generated.path).args(["--design", "1x2", "-q"]);
    command.arg(
        "most: select dst_addr, sum(total_count) groupby dst_addr using conservative_update(memory=64KiB)",
    );
    let ended = run(&mut command).expect(2);
    let says = "most: heavy-hitters:key=dst_addr,by=packets,top=1000,structure=conservative-update";
    assert!(ended.stderr.contains(says) && ended.stderr.contains("on one core"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("--task"), "{}", ended.stderr);
}
