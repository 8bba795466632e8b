//! The processor time that a controller of a thousand nodes takes for the overview of two hours:
//! `cargo run --release -p overview --example nodes`. Linux alone.

use arena::Limits;
use flow::{Rows, WindowRow};
use model::Span;
use overview::{NodeSetting, NowAsked, Overview, OverviewSetting, TrafficReport, WindowFacts};
use packet::{KeySpec, KeyV4, Seed, split_mix};
use std::time::{Duration, Instant};

const NODES: usize = 1_000;
/// Nodes whose traffic is drawn; the others have the same groups as one of them.
const DRAWN: usize = 100;
const STEPS: u64 = 120;
const STEP_NS: u64 = 60_000_000_000;
/// A whole hour, nanoseconds since the epoch.
const BEGIN: u64 = 1_764_590_400_000_000_000;
const FLOWS: u64 = 600;
/// How often each question is asked.
const ASKED: u32 = 50;

fn main() {
    let names: Vec<String> = (0..NODES).map(|number| format!("node{number}")).collect();
    let controller = Overview::of_nodes(OverviewSetting::live(STEP_NS), &names);
    let mut drawn: Vec<_> = (0..DRAWN)
        .map(|number| {
            let overview = Overview::new(OverviewSetting::live(STEP_NS));
            let setting = NodeSetting {
                key: KeySpec::FIVE_TUPLE,
                seed: Seed::new(1),
                limits: Limits::new(16 << 20, usize::MAX),
                tracks_loss: false,
                without_rows: None,
            };
            let reporter = overview.reporter();
            (overview.recorder(&names[number], setting), reporter)
        })
        .collect();
    let mut state = 7;
    let mut took = Vec::new();
    let mut bytes = 0;
    for step in 0..STEPS {
        let span = Span { start_ns: BEGIN + step * STEP_NS, end_ns: BEGIN + (step + 1) * STEP_NS };
        let mut told: Vec<TrafficReport> = Vec::new();
        for (number, (recorder, reporter)) in drawn.iter_mut().enumerate() {
            let rows = rows(&mut state, number as u32);
            let sum = rows.rows.iter().map(|row| row.bytes).sum();
            recorder.rows(span.start_ns, &rows);
            recorder.window(&WindowFacts {
                bytes: sum,
                packets: FLOWS,
                flows: FLOWS,
                ..WindowFacts::new(span)
            });
            told.extend(reporter.report().map(|report| *report));
        }
        bytes = told.first().map_or(0, |first| serde_json::to_vec(first).map_or(0, |text| text.len()));
        for number in 0..NODES {
            let report = told[number % DRAWN].clone();
            // Too short for the clock of the processor's time, which is that of a tick.
            let began = Instant::now();
            let taken = controller.take(number, report, span.end_ns);
            took.push(began.elapsed());
            assert_eq!(taken.old, 0);
        }
    }
    println!("a step of a node: {} to take, {bytes} bytes of JSON", median(&mut took));
    let ask = |name: &str, asked: &NowAsked| {
        let (began, mut took, mut size) = (worked(), Vec::new(), 0);
        for _ in 0..ASKED {
            let began = Instant::now();
            let now = controller.now(asked).expect("nodes");
            size = serde_json::to_vec(&now).expect("JSON").len();
            took.push(began.elapsed());
        }
        let mean = (worked() - began) / ASKED;
        println!("{name}: {mean:?} of the processor, {} on this machine, {size} bytes", median(&mut took));
    };
    ask("now of all nodes", &NowAsked::default());
    ask("now of all nodes, 50 rows", &NowAsked { top: 50, ..NowAsked::default() });
    ask("now of one node", &NowAsked { node: Some(names[500].clone()), ..NowAsked::default() });
    let kept = controller.now(&NowAsked::default()).expect("nodes").kept;
    let mebibytes = |bytes: u64| bytes >> 20;
    println!(
        "memory: {} MiB of steps, {} MiB at most",
        mebibytes(kept.memory_bytes),
        mebibytes(kept.most_memory_bytes)
    );
}

/// Returns the processor time that this thread has taken, whatever else the machine does.
fn worked() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a kernel that tells it");
    Duration::from_nanos(told.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number"))
}

fn median(took: &mut [Duration]) -> String {
    took.sort_unstable();
    format!("{:?}", took.get(took.len() / 2).copied().unwrap_or_default())
}

/// Returns rows of a node, among them hosts that all nodes have.
fn rows(state: &mut u64, node: u32) -> Rows<KeyV4> {
    let mut rows = Rows::default();
    for _ in 0..FLOWS {
        let mut host = || {
            let drawn = (split_mix(state) % 256).min(split_mix(state) % 256) as u32;
            let of = if split_mix(state).is_multiple_of(4) { 0 } else { node };
            (10 << 24 | of << 8 | drawn).to_be_bytes()
        };
        let [from, to] = [host(), host()];
        let ports = [
            (split_mix(state) as u16 | 0x8000).to_be_bytes(),
            (split_mix(state) as u16 % 1_024).to_be_bytes(),
        ];
        let addresses = [from[0], from[1], from[2], from[3], to[0], to[1], to[2], to[3]];
        let key = KeyV4::new(addresses, [ports[0][0], ports[0][1], ports[1][0], ports[1][1]], 6);
        let bytes = 60 + split_mix(state) % 100_000;
        rows.push(WindowRow { packets: 1, bytes, ..WindowRow::without_packets(key, 0, 0) }, None);
    }
    rows
}
