//! The processor time that the outputs' thread takes for the overview of windows of a million flows:
//! `cargo run --release -p overview --example cost`. Linux alone.

use arena::Limits;
use flow::{Rows, WindowRow};
use model::Span;
use overview::{NodeSetting, Overview, OverviewSetting, WindowFacts};
use packet::{KeySpec, KeyV4, Seed, split_mix};
use std::time::Duration;

const FLOWS: u64 = 1_000_000;
const WINDOW_NS: u64 = 10_000_000_000;
/// The rows of a block, as the engine hands them over.
const BLOCK: usize = 3_000;

fn main() {
    for (name, hosts) in [("64k hosts", 1_u64 << 16), ("1M hosts", 1 << 20)] {
        let overview = Overview::new(OverviewSetting::live(WINDOW_NS));
        let limits = Limits::new(8 << 30, usize::MAX);
        let (key, seed) = (KeySpec::FIVE_TUPLE, Seed::new(1));
        let setting =
            NodeSetting { key, seed, limits: limits.clone(), tracks_loss: false, without_rows: None };
        let mut recorder = overview.recorder("node", setting);
        let mut state = 1;
        let mut took = Vec::new();
        for window in 0..12 {
            let mut bytes = 0;
            let blocks: Vec<Rows<KeyV4>> =
                (0..FLOWS.div_ceil(BLOCK as u64)).map(|_| block(&mut state, hosts, &mut bytes)).collect();
            let flows = blocks.iter().map(|rows| rows.len() as u64).sum();
            let began = worked();
            blocks.iter().for_each(|rows| recorder.rows(window * WINDOW_NS, rows));
            let span = Span { start_ns: window * WINDOW_NS, end_ns: (window + 1) * WINDOW_NS };
            recorder.window(&WindowFacts { bytes, packets: flows, flows, ..WindowFacts::new(span) });
            took.push(worked() - began);
        }
        // Minutes end within some windows.
        let mean = took.iter().sum::<Duration>() / took.len() as u32;
        let most = took.iter().max().copied().unwrap_or_default();
        let percent = 100.0 * mean.as_secs_f64() / (WINDOW_NS as f64 / 1e9);
        let megabytes = limits.bytes_used() >> 20;
        println!(
            "{name}: {mean:?} a window of {FLOWS} flows, {most:?} at most, {percent:.2} % of the thread's time, {megabytes} MiB"
        );
    }
}

/// Returns the processor time that this thread has taken, whatever else the machine does.
fn worked() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a kernel that tells it");
    Duration::from_nanos(told.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number"))
}

/// Returns rows of random pairs of hosts, few of which have most.
fn block(state: &mut u64, hosts: u64, bytes: &mut u64) -> Rows<KeyV4> {
    let mut rows = Rows::default();
    for _ in 0..BLOCK {
        let mut host = || (split_mix(state) % hosts).min(split_mix(state) % hosts) as u32;
        let [from, to] = [host(), host()].map(u32::to_be_bytes);
        let [own, service] = [(split_mix(state) as u16 | 0x8000).to_be_bytes(), [1, 187]];
        let addresses = [from[0], from[1], from[2], from[3], to[0], to[1], to[2], to[3]];
        let key = KeyV4::new(addresses, [own[0], own[1], service[0], service[1]], 6);
        let own = 60 + split_mix(state) % 1_400;
        *bytes += own;
        rows.push(WindowRow { packets: 1, bytes: own, ..WindowRow::without_packets(key, 0, 0) }, None);
    }
    rows
}
