//! A sample of the packets is measured: every other frame has its name in each window, the sample is one that was drawn uniformly, and
//! the same seed draws the same.

use crate::support;
use crate::support::{
    Live, Recorder, Run, config, generated, on_queues, on_wire, plan, same_answers, shown, task_set,
};
use engine::admission::{EveryPacket, RunRefusal, check_sampling};
use engine::{Control, Every, Gate, MeasurementConfig, SamplingControl, WindowId};
use flow::{Metric, Share};
use packet::Seed;
use port::wire::WireSpec;
use port::{CaptureSource, Filter, PacketSource};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const NOT_SAMPLED: &str = "not_sampled";

fn share(percent: u32) -> Share {
    Share::from_ppm(percent * 10_000).expect("a share")
}

fn sampled(share: Share) -> MeasurementConfig {
    MeasurementConfig { sampling: Some(SamplingControl::new(share)), ..config() }
}

fn run(sources: &mut [Box<dyn PacketSource>], config: &MeasurementConfig, design: &str) -> Run {
    run_filtered(sources, None, config, design)
}

fn run_filtered(
    sources: &mut [Box<dyn PacketSource>],
    filter: Option<&Filter>,
    config: &MeasurementConfig,
    design: &str,
) -> Run {
    let run = Run::new(sources, filter, config, &plan(design), Recorder::new(|_, _| {}));
    run.is_consistent();
    assert_eq!(run.outcome.faults, Vec::<String>::new());
    run
}

/// Fails where the number sampled is no likely outcome: 6 standard deviations, which one of 500 million draws exceeds.
#[track_caller]
fn is_likely(sampled: u64, of: u64, share: Share) {
    let (p, n) = (share.probability(), of as f64);
    let off = (sampled as f64 - p * n).abs();
    assert!(off <= 6.0 * (p * (1.0 - p) * n).sqrt() + 1e-9, "{sampled} of {of} at {share}");
}

/// Packets of each flow in the records of a run.
fn flows(run: &Run) -> BTreeMap<String, u64> {
    let mut flows = BTreeMap::new();
    for (_, record) in run.records() {
        *flows.entry(format!("{:?}", record.key)).or_insert(0) += record.total_count;
    }
    flows
}

#[test]
fn frames_that_are_not_sampled_are_named_in_every_window() {
    let spec = "packets=40k,flows=900,ipv6=30%,rate=10000,plant=flood/scan";
    let whole = run(&mut generated(spec, 32), &config(), "1x1");
    for percent in [1, 15, 50] {
        let config = sampled(share(percent));
        for design in ["1x1", "1x3", "async/4", "pipeline"] {
            let run = run(&mut generated(spec, 32), &config, design);
            assert_eq!(run.outcome.ended.packets.received, whole.outcome.ended.packets.received, "{design}");
            assert_eq!(run.windows.len(), whole.windows.len(), "{design}");
            for (window, all) in run.windows.iter().zip(&whole.windows) {
                assert_eq!(
                    (window.span, window.watched, window.ended_by),
                    (all.span, all.watched, all.ended_by)
                );
                assert_eq!(window.packets.received, all.packets.received);
                assert_eq!(window.sampled.expect("a sample").shares(), [share(percent); 2]);
                let not_sampled = window.packets.not_measured.get(NOT_SAMPLED);
                is_likely(window.packets.received - not_sampled, window.packets.received, share(percent));
            }
        }
    }
}

/// The flows of a sample are flows of the whole, none with more packets.
#[test]
fn what_is_sampled_is_a_part_of_the_whole() {
    let spec = "packets=20k,flows=300,ipv6=30%,rate=10000";
    let whole = flows(&run(&mut generated(spec, 32), &config(), "rss"));
    let part = flows(&run(&mut generated(spec, 32), &sampled(share(15)), "1x1"));
    assert!(part.iter().all(|(key, packets)| packets <= &whole[key]));
    is_likely(part.values().sum(), whole.values().sum(), share(15));
}

#[test]
fn the_seed_decides_what_is_sampled_and_the_burst_does_not() {
    let spec = "packets=20k,flows=300,ipv6=30%,rate=10000,plant=flood";
    let of = |seed: u64, burst: usize, design: &str| {
        let config = MeasurementConfig { seed: Seed::new(seed), burst, ..sampled(share(15)) };
        flows(&run(&mut generated(spec, burst), &config, design))
    };
    let first = of(1, 32, "1x1");
    for (burst, design) in [(1, "1x1"), (7, "1x1"), (256, "1x1"), (32, "1x3"), (64, "rss")] {
        assert_eq!(of(1, burst, design), first, "bursts of {burst}, {design}");
    }
    assert_ne!(of(2, 32, "1x1"), first);
}

#[test]
fn a_share_of_all_is_no_sample() {
    let spec = "packets=20k,flows=900,ipv6=30%,rate=10000,plant=flood/elephant";
    for design in ["1x1", "1x2"] {
        let whole = run(&mut generated(spec, 32), &config(), design);
        same_answers(&whole, &run(&mut generated(spec, 32), &sampled(Share::ALL), design), design);
        let filter = Filter::new("udp").expect("a filter");
        let whole = run_filtered(&mut generated(spec, 32), Some(&filter), &config(), design);
        let run = run_filtered(&mut generated(spec, 32), Some(&filter), &sampled(Share::ALL), design);
        same_answers(&whole, &run, design);
    }
}

/// Windows of packets count what was received, not what was sampled; those of several receivers have one share.
#[test]
fn windows_and_receivers_sample_alike() {
    let config = MeasurementConfig { every: Every::Packets(1000), ..sampled(share(15)) };
    let run_of_packets = run(&mut generated("packets=9500,flows=100", 32), &config, "1x1");
    let received: Vec<_> = run_of_packets.windows.iter().map(|window| window.packets.received).collect();
    assert_eq!(received, [[1000; 9].to_vec(), vec![500]].concat());
    let two = run(&mut on_queues("packets=20k,flows=300,rate=10000", 2, 32), &sampled(share(15)), "2x1");
    assert_eq!(two.outcome.ended.packets.received, 20_000);
    is_likely(two.outcome.ended.packets.measured, 20_000, share(15));
    // Each receiver draws its own sample: two copies of one stream are not sampled alike.
    let not_sampled = two.outcome.ended.packets.not_measured.get(NOT_SAMPLED);
    assert_eq!(two.outcome.ended.packets.measured + not_sampled, 20_000);
}

/// Sets the share of each window before it is entered.
#[derive(Debug)]
struct Shares {
    sampling: SamplingControl,
    of: fn(WindowId) -> Share,
}

impl Gate for Shares {
    fn enter(&self, window: WindowId) {
        self.sampling.set((self.of)(window));
    }
}

#[test]
fn the_share_changes_between_windows() {
    let sampling = SamplingControl::new(share(50));
    let of = |window: WindowId| share(if window.number().is_multiple_of(2) { 10 } else { 60 });
    let gate = Arc::new(Shares { sampling: sampling.clone(), of });
    let config = MeasurementConfig { sampling: Some(sampling), ..config() };
    let control = Control::gated(task_set(0, &[], None, &config), gate);
    let config = MeasurementConfig { control: Some(control), ..config };
    let run = run(&mut generated("packets=60k,flows=100,rate=10000", 64), &config, "1x1");
    assert!(run.windows.len() >= 6);
    for window in &run.windows {
        assert_eq!(window.sampled.expect("a sample").shares(), [of(window.window); 2], "{}", window.window);
        is_likely(window.packets.measured, window.packets.received, of(window.window));
    }
}

/// A live source's frames are not looked at; whatever a full ring refuses of the sample has its own name.
#[test]
fn a_live_source_is_sampled() {
    let wire = WireSpec::default();
    let (_wire, sources) = on_wire("packets=200k,flows=300", &wire, 256);
    let mut sources: Vec<Box<dyn PacketSource>> =
        sources.into_iter().map(|source| Box::new(Live::new(source)) as Box<dyn PacketSource>).collect();
    let config = MeasurementConfig { burst: 256, ..sampled(share(15)) };
    let run = run(&mut sources, &config, "1x1");
    let not_sampled = run.outcome.ended.packets.not_measured.get(NOT_SAMPLED);
    is_likely(200_000 - not_sampled, 200_000, share(15));
    assert_eq!(run.outcome.ended.packets.measured + run.lost("ring_full") + not_sampled, 200_000);
    assert!(run.outcome.ended.packets.measured > 0);
}

/// Over the captures of the folder that `EDISON_TEST_DATA` names: damaged clocks, jumps, cut frames and all else that is in them.
#[test]
fn captures_are_sampled() {
    let Some(folder) = std::env::var_os("EDISON_TEST_DATA").map(PathBuf::from) else { return };
    let mut read = 0;
    for capture in testbed::captures::find(&folder) {
        let open = |burst| -> Option<Vec<Box<dyn PacketSource>>> {
            let source = CaptureSource::open(capture.path.to_str()?, burst).ok()?;
            Some(vec![Box::new(source)])
        };
        let (Some(mut all), Some(mut some), Some(mut others)) = (open(256), open(256), open(5)) else {
            continue;
        };
        let config = MeasurementConfig { every: Every::Time(100_000_000), burst: 256, ..sampled(share(15)) };
        let whole = MeasurementConfig { sampling: None, ..config.clone() };
        let whole = Run::new(&mut all, None, &whole, &plan("1x1"), Recorder::new(|_, _| {}));
        let part = Run::new(&mut some, None, &config, &plan("1x1"), Recorder::new(|_, _| {}));
        // What a capture says of losses at its end alone is in no window.
        for packets in part.windows.iter().map(|window| &window.packets).chain([&part.outcome.ended.packets])
        {
            let named = packets.measured + packets.not_measured.total();
            assert_eq!(packets.received, named, "{}", capture.name);
        }
        let spans = |run: &Run| -> Vec<_> {
            run.windows.iter().map(|window| (window.span, window.packets.received)).collect()
        };
        assert_eq!(spans(&part), spans(&whole), "{}", capture.name);
        let packets = &part.outcome.ended.packets;
        is_likely(packets.received - packets.not_measured.get(NOT_SAMPLED), packets.received, share(15));
        let config = MeasurementConfig { burst: 5, ..config };
        let other = Run::new(&mut others, None, &config, &plan("1x1"), Recorder::new(|_, _| {}));
        assert_eq!(shown(&other.outcome.ended.packets), shown(packets), "{}", capture.name);
        assert_eq!(flows(&other), flows(&part), "{}", capture.name);
        read += 1;
    }
    assert!(read > 0, "no capture in {}", folder.display());
}

#[test]
fn every_packet_is_needed_by_some() {
    let refused = |config: &MeasurementConfig, design: &str| check_sampling(config, &plan(design));
    let config = sampled(share(15));
    assert_eq!(refused(&config, "1x1"), []);
    assert_eq!(refused(&support::config(), "rss"), []);
    for design in ["rss", "sync", "cooperative"] {
        let design = plan(design).design;
        assert_eq!(refused(&config, &design.to_string()), [RunRefusal::SamplingNeedsWorkers { design }]);
    }
    let mut config = config;
    (config.parts.loss, config.parts.biflow) = (true, true);
    let spec = "mean".parse().expect("a statistic");
    config.parts.statistics =
        [Some((Metric::Gap, spec)), Some((Metric::Size, spec)), Some((Metric::InterArrival, spec))];
    let needs = [
        EveryPacket::Loss,
        EveryPacket::Biflow,
        EveryPacket::Statistic(Metric::Gap),
        EveryPacket::Statistic(Metric::InterArrival),
    ];
    assert_eq!(refused(&config, "1x1"), needs.map(|what| RunRefusal::NeedsEveryPacket { what }));
}
