//! Where packets find no place in the flow table, each figure of each answer is an interval that contains the truth.

use crate::support::capture::{self, Frame, Generated, Key};
use crate::support::output::{self, number};
use crate::support::program::{call, edison, run};
use crate::support::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// A spoofed flood, among more sources than a summary keeps.
const SPEC: &str = "packets=24k,flows=12k,rate=24k,zipf=0.6,ipv6=20%,plant=flood";
/// Its victim.
const VICTIM: &str = "203.0.113.10";
const WINDOW: u64 = 500_000_000;
const SEEDS: u32 = 100;

const QUERIES: &str = "\
    dst: select dst_addr, sum(total_count) as p, sum(total_byte) as b, count(*) as f, count(src_addr) as d \
         groupby dst_addr order by p desc limit 30;
    src: select src_addr, sum(total_count) as p, sum(total_byte) as b, count(*) as f, count(dst_addr) as d \
         groupby src_addr order by p desc limit 30;
    pair: select src_addr, dst_addr, sum(total_count) as p, sum(total_byte) as b groupby src_addr, dst_addr limit 30;
    low: select sum(total_count) as p, sum(total_byte) as b, count(*) as f where dst_port < 1024 and protocol = TCP;
    net: select dst_addr, sum(total_count) as p, count(src_addr) as d where dst_addr in 203.0.113.0/24 groupby dst_addr;
    some: select dst_addr, sum(total_count) as p, sum(total_byte) as b where not (src_port > 30000) groupby dst_addr \
          having p > 300;";

/// Designs that keep flows in different ways.
const DESIGNS: [&[&str]; 5] = [
    &["--design", "rss"],
    &["--design", "1x3"],
    &["--design", "cooperative"],
    &["--design", "1x2", "--split", "position"],
    &["--design", "1x2", "--state", "shared"],
];

/// The figures of a group, as a simple count has them.
#[derive(Clone, Debug, Default)]
struct Group {
    packets: u64,
    bytes: u64,
    flows: HashSet<Key>,
    /// Distinct values of the address that is not the group's.
    others: HashSet<IpAddr>,
}

impl Group {
    fn figure(&self, name: &str) -> Option<f64> {
        Some(match name {
            "p" => self.packets,
            "b" => self.bytes,
            "f" => self.flows.len() as u64,
            "d" => self.others.len() as u64,
            _ => return None,
        } as f64)
    }
}

/// The group of a flow in a query, and the other address; `None` if the query's filter does not let it through.
fn group_of(query: &str, key: &Key) -> Option<(String, IpAddr)> {
    let (src, dst, protocol, src_port, dst_port) = *key;
    match query {
        "dst" => Some((dst.to_string(), src)),
        "src" => Some((src.to_string(), dst)),
        "pair" => Some((format!("{src} {dst}"), src)),
        "low" => (dst_port < 1024 && protocol == 6).then(|| (String::new(), src)),
        "net" => dst.to_string().starts_with("203.0.113.").then(|| (dst.to_string(), src)),
        "some" => (src_port <= 30000).then(|| (dst.to_string(), src)),
        other => panic!("{other}"),
    }
}

fn truth<'a>(query: &str, frames: impl IntoIterator<Item = &'a Frame>) -> HashMap<String, Group> {
    let mut groups: HashMap<String, Group> = HashMap::new();
    for frame in frames {
        let (key, bytes) = capture::layer3(&frame.data);
        let Some((name, other)) = group_of(query, &key) else { continue };
        let group = groups.entry(name).or_default();
        group.packets += 1;
        group.bytes += bytes;
        group.flows.insert(key);
        group.others.insert(other);
    }
    if query == "some" {
        groups.retain(|_, group| group.packets > 300);
    }
    groups
}

/// A figure's bounds; those of a number are the number.
fn bounds(value: &Value) -> [f64; 2] {
    match value.as_f64() {
        Some(number) => [number; 2],
        None => ["lower", "upper"].map(|bound| value[bound].as_f64().unwrap_or_else(|| panic!("{value}"))),
    }
}

/// What the checks saw, so that they are not passed by answers that say nothing.
#[derive(Default)]
struct Seen {
    exact: u64,
    between: u64,
    victims: u64,
}

impl Seen {
    /// The truth of each figure of an answer is between its bounds, which are narrow for the victim.
    fn check(&mut self, query: &str, answer: &Value, truth: &HashMap<String, Group>) {
        let mut left = truth.clone();
        for row in output::rows(answer) {
            let names = ["src_addr", "dst_addr"].map(|name| row[name].as_str().unwrap_or_default());
            let name = names.join(" ").trim().to_owned();
            let group = left.remove(&name).unwrap_or_default();
            for (column, value) in row.as_object().expect("a row") {
                let Some(figure) = group.figure(column) else { continue };
                let [lower, upper] = bounds(value);
                assert!(
                    lower <= figure && figure <= upper,
                    "{query} {name} {column}: {figure} {value}\n{answer}"
                );
                *(if lower == upper { &mut self.exact } else { &mut self.between }) += 1;
                if name == VICTIM && ["p", "b"].contains(&column.as_str()) {
                    self.victims += 1;
                    assert!(lower > 0.0 && upper <= 1.05 * lower, "{query} {column}: {value}");
                }
            }
        }
        let rest = &answer["rest"];
        for column in ["p", "b", "f"].into_iter().filter(|column| !rest[*column].is_null()) {
            let figure: f64 = left.values().filter_map(|group| group.figure(column)).sum();
            if let [lower, upper] = bounds(&rest[column])
                && !(lower..=upper).contains(&figure)
            {
                panic!("{query} rest {column}: {figure} {rest}");
            }
        }
        if query != "low" && rest["groups"] == 0 {
            assert!(left.is_empty(), "{query}: {left:?} are missing in {answer}");
        }
        assert_eq!(answer["status"] == "partial", !answer["reason"].is_null(), "{answer}");
        assert_ne!(answer["status"], "partial", "{answer}");
    }
}

#[test]
fn each_figure_is_an_interval_that_contains_the_truth() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let report_path = scratch.path("report.json");
    let names = ["dst", "src", "pair", "low", "net", "some"];
    let of_run: Vec<_> = names.iter().map(|query| truth(query, &frames)).collect();
    let mut windows: Vec<Vec<&Frame>> = Vec::new();
    for frame in &frames {
        let index = (frame.time_ns / WINDOW - frames[0].time_ns / WINDOW) as usize;
        windows.resize(windows.len().max(index + 1), Vec::new());
        windows[index].push(frame);
    }
    let of_windows: Vec<Vec<_>> = windows
        .iter()
        .map(|frames| names.iter().map(|query| truth(query, frames.iter().copied())).collect())
        .collect();
    let mut seen = Seen::default();
    let seeds = u64::from(testbed::cases(SEEDS));
    for seed in 0..seeds {
        let design = DESIGNS[seed as usize % DESIGNS.len()];
        let mut command = edison();
        command
            .arg("run")
            .arg(&path)
            .args(["--max-flows", "1000", "--memory", "512MiB", "--json"])
            .args(design);
        command.args(["--seed", &seed.to_string(), "--every", "500ms", "-q", QUERIES]);
        command.args(["--idle-timeout", "off", "--active-timeout", "off"]);
        let ended = run(command.arg("--report").arg(&report_path)).expect(0);
        let report = output::report(&report_path);
        assert_eq!(number(&report["packets"]["measured"]), frames.len() as u64, "{design:?}");
        assert!(number(&report["flows"]["table_full"]) > 5000, "{design:?}");
        for (query, truth) in names.iter().zip(&of_run) {
            seen.check(query, output::of_run(&report, query), truth);
        }
        let mut closed = vec![0; names.len()];
        for line in ended.stdout.lines() {
            let answer: Value = serde_json::from_str(line).expect("JSON");
            let Some(at) = names.iter().position(|query| answer["query"] == *query) else { continue };
            if !answer["empty"].is_null() {
                continue;
            }
            seen.check(names[at], &answer, &of_windows[closed[at]][at]);
            closed[at] += 1;
        }
        assert_eq!(closed, vec![windows.len(); names.len()], "{design:?}");
    }
    let Seen { exact, between, victims } = seen;
    assert!(exact > 1000 && between > 1000 && victims >= 4 * seeds, "{exact} {between} {victims}");
}

#[test]
fn what_packets_do_not_tell_has_no_bounds_and_says_so() {
    let scratch = Scratch::new();
    let Generated { path, frames, .. } = capture::generate(&scratch, SPEC);
    let report_path = scratch.path("report.json");
    let mut command = edison();
    command.arg("run").arg(&path).args(["--max-flows", "1000", "--every", "1s", "--json"]);
    command.args(["-q", "big: select sum(total_byte) where total_byte > 100; max: select max(total_byte);
        none: select sum(total_byte), max(total_byte) where dst_port = 0 and protocol = 200 and total_byte > 1;"]);
    run(command.arg("--report").arg(&report_path)).expect(0);
    let report = output::report(&report_path);
    for (query, column, reason) in [
        ("big", "sum(total_byte)", "it is not known whether the filter lets their flows through"),
        ("max", "max(total_byte)", "do not tell all of its values"),
    ] {
        let answer = output::of_run(&report, query);
        let value = &output::rows(answer)[0][column];
        assert!(value["lower"].is_null() && value["upper"].is_null(), "{answer}");
        assert_eq!(answer["status"], "partial", "{answer}");
        assert!(answer["reason"].as_str().is_some_and(|said| said.contains(reason)), "{answer}");
    }
    // No packet without a place passes: the answer is exact.
    let answer = output::of_run(&report, "none");
    assert_eq!((&answer["bounds"], &answer["class"]), (&"exact".into(), &"row".into()), "{answer}");
    assert_ne!(answer["status"], "partial", "{answer}");
    let totals = &output::rows(output::of_run(&report, "totals"))[0];
    let flows = frames.iter().map(|frame| capture::layer3(&frame.data).0).collect::<HashSet<_>>().len();
    let [lower, upper] = bounds(&totals["flows"]);
    assert!(lower <= flows as f64 && flows as f64 <= upper && lower < upper, "{totals}");
}

/// The two numbers of a line of the head between which its flow records are.
fn flow_records(screen: &str) -> (u64, u64) {
    let line = screen.lines().find(|line| line.starts_with("traffic")).expect("a line");
    let words: Vec<&str> = line.split_whitespace().collect();
    let end = words.windows(2).position(|pair| pair == ["flow", "records"]).expect("flow records");
    let number = |at: usize| words[at].replace(',', "").parse::<u64>().expect("a number");
    if words[end - 2] == "to" {
        (number(end - 3), number(end - 1))
    } else {
        (number(end - 1), number(end - 1))
    }
}

#[test]
fn the_head_says_between_which_numbers_the_flow_records_of_a_full_table_are() {
    let scratch = Scratch::new();
    let generated = capture::generate(&scratch, "packets=20k,flows=2k,zipf=0.5");
    let flows = capture::flows(&generated.frames).len() as u64;
    let shown = |more: &[&str]| {
        let whole = ["run", text(&generated.path), "--idle-timeout", "off", "--active-timeout", "off"];
        flow_records(&call(&[&whole, more].concat()).expect(0).stdout)
    };
    assert_eq!(shown(&[]), (flows, flows));
    let (least, most) = shown(&["--max-flows", "500"]);
    assert!(least < flows && flows < most && least >= 500, "{least} to {most}, truly {flows}");
}
