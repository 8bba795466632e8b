//! What is refused, and that all reasons are given at once.

use crate::support::{config, plan};
use arena::Limits;
use engine::admission::{self, Directions, LEAST_MEMORY, OneReceiver, Ordered, RunRefusal, SourceProperties};
use engine::{Design, Every, MeasurementConfig, ResolvedDesign, Split, StatePlacement};
use flow::Metric;
use flowtable::{MeasuredParts, Timeouts};
use packet::{KeySpec, Tunnel};
use std::time::Duration;
use task::TaskSpec;

const MIB: usize = 1 << 20;

fn specs(texts: &[&str]) -> Vec<TaskSpec> {
    texts.iter().map(|text| text.parse().expect("a task")).collect()
}

fn refusals(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    tasks: &[&str],
    site: &SourceProperties,
) -> Vec<RunRefusal> {
    admission::admit(config, plan, &specs(tasks), site).err().unwrap_or_default()
}

fn with_memory(bytes: usize) -> MeasurementConfig {
    MeasurementConfig { limits: Limits::new(bytes, usize::MAX), ..config() }
}

#[test]
fn a_run_that_can_be_holds_the_memory_of_its_tasks_and_frames() {
    let config = config();
    let site = SourceProperties { frame_bytes: 3 * MIB, ..SourceProperties::default() };
    // What rows answer takes its memory as it needs it.
    let asked = specs(&["entropy:memory=1MiB", "change"]);
    let admitted = admission::admit(&config, &plan("async/3"), &asked, &site).expect("room");
    let tasks = admitted.tasks.expect("two were asked for").bytes(2);
    assert!((MIB..=8 * MIB).contains(&tasks), "{tasks}");
    assert_eq!((admitted.memory.bytes(), config.limits.bytes_used()), (tasks + 3 * MIB, tasks + 3 * MIB));
    drop(admitted.memory);
    assert_eq!(config.limits.bytes_used(), 0);
    let without = admission::admit(&config, &ResolvedDesign::single(), &[], &SourceProperties::default())
        .expect("room");
    assert!(without.tasks.is_none() && without.memory.bytes() == 0);
}

#[test]
fn all_reasons_are_given_at_once() {
    let key = KeySpec::parse("src_addr").expect("a key");
    let gap = Some((Metric::Gap, "mean".parse().expect("a statistic")));
    let parts =
        MeasuredParts { loss: true, biflow: true, statistics: [gap, None, None], ..MeasuredParts::default() };
    let config = MeasurementConfig {
        key,
        parts,
        every: Every::Packets(10),
        packets: Some(5),
        duration: Some(Duration::from_secs(1)),
        tunnel: Tunnel::Inner,
        timeouts: Timeouts { idle_ns: 1, active_ns: u64::MAX },
        ..with_memory(LEAST_MEMORY - 1)
    };
    let (split, state) = (Split::Position, StatePlacement::Shared);
    let plan = ResolvedDesign { split, state, ..plan("2x2") };
    let site = SourceProperties {
        replaying_queues: 3,
        scatters_flows: true,
        spread_by: KeySpec::FIVE_TUPLE,
        directions: Directions::Apart,
        falls_silent: true,
        frame_bytes: usize::MAX,
    };
    let all = refusals(&config, &plan, &["super-spreaders", "entropy", "quantiles:key=dst_addr"], &site);
    let order = |what| RunRefusal::NeedsOrder { what, split, state };
    let design = Design::Clusters { queues: 2, workers: 2 };
    let one = |what| RunRefusal::NeedsOneReceiver { what, design, receivers: 2 };
    let expected = [
        RunRefusal::TooLittleMemory { allowed: LEAST_MEMORY - 1, least: LEAST_MEMORY },
        RunRefusal::LossNeedsConnections,
        RunRefusal::KeyNotSymmetric { reason: key.why_not_symmetric().expect("it is not") },
        order(Ordered::Loss),
        order(Ordered::Biflow),
        order(Ordered::Timeouts),
        order(Ordered::Statistic(Metric::Gap)),
        RunRefusal::ReplaysApart { queues: 3, receivers: 2 },
        one(OneReceiver::WindowsOfPackets),
        one(OneReceiver::PacketLimit),
        one(OneReceiver::DurationOfReplay),
        one(OneReceiver::Gap),
        one(OneReceiver::InnerTunnel),
        one(OneReceiver::Key("dst_addr")),
        RunRefusal::DirectionsApart { directions: Directions::Apart },
        RunRefusal::FallsSilent { merging: Some((split, state)) },
    ];
    assert_eq!(all[..expected.len()], expected);
    // The tasks that this key cannot answer, each with its own reason.
    let [RunRefusal::Task { reason: first }, RunRefusal::Task { reason: second }] = &all[expected.len()..]
    else {
        panic!("{all:?}");
    };
    assert!(first.contains("super-spreaders") && second.contains("quantiles"), "{all:?}");
    for refusal in &all {
        let text = refusal.to_string();
        assert!(!text.is_empty() && !text.contains("--") && !text.contains('\n'), "{text}");
    }
}

/// A key goes with several receivers if it has all that decides the queue.
#[test]
fn keys_that_stay_on_one_of_several_receivers() {
    let key = |text: &str| KeySpec::parse(text).expect(text);
    for (keys, spread_by, lacking) in [
        (KeySpec::FIVE_TUPLE, KeySpec::FIVE_TUPLE, None),
        (key("src_addr,dst_addr,protocol,src_port,dst_port,vlan"), KeySpec::FIVE_TUPLE, None),
        (key("src_addr,dst_addr"), KeySpec::FIVE_TUPLE, Some("protocol")),
        (key("src_addr,dst_addr"), key("src_addr,dst_addr"), None),
        (key("src_addr/24,dst_addr"), key("src_addr,dst_addr"), Some("src_addr")),
        (key("dst_addr"), key("src_addr"), Some("src_addr")),
        (key("src_addr,src_port"), key("src_addr,src_port,protocol"), Some("protocol")),
        // IPv4 and IPv6 have the same keys then, and other hashes.
        (key("src_port,protocol"), key("src_port,protocol"), Some("the IP version")),
    ] {
        let config = MeasurementConfig { key: keys, ..config() };
        let site = SourceProperties { spread_by, ..SourceProperties::default() };
        let refused = refusals(&config, &plan("rss/2"), &[], &site);
        let expected = lacking.map(|field| RunRefusal::NeedsOneReceiver {
            what: OneReceiver::Key(field),
            design: Design::Rss,
            receivers: 2,
        });
        assert_eq!(refused, Vec::from_iter(expected), "{keys:?} by {spread_by:?}");
        assert_eq!(refusals(&config, &plan("async/2"), &[], &site), []);
    }
}

#[test]
fn what_one_receiver_makes_possible() {
    let config = MeasurementConfig { every: Every::Packets(10), tunnel: Tunnel::Inner, ..config() };
    let parts = MeasuredParts { biflow: true, ..MeasuredParts::default() };
    let config = MeasurementConfig { parts, ..config };
    let site = SourceProperties {
        directions: Directions::Unknown,
        falls_silent: true,
        ..SourceProperties::default()
    };
    assert_eq!(refusals(&config, &plan("async/3"), &["entropy"], &site), []);
    let all = refusals(&config, &plan("rss/2"), &["entropy"], &site);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[2], RunRefusal::DirectionsApart { directions: Directions::Unknown });
    assert_eq!(all[3], RunRefusal::FallsSilent { merging: None });
    // Without tasks and merging, receivers wait for nothing.
    assert_eq!(refusals(&config, &plan("rss/2"), &[], &site).len(), 3);
    // A duration of what goes by a clock begins with it.
    let timed = MeasurementConfig { duration: Some(Duration::from_secs(1)), ..self::config() };
    assert_eq!(refusals(&timed, &plan("rss/2"), &[], &SourceProperties::default()), []);
}

#[test]
fn each_part_may_have_half_of_the_memory_and_all_of_them_all_of_it() {
    let task = "entropy:structure=size-array,memory=16MiB";
    let single = ResolvedDesign::single();
    let site = SourceProperties::default();
    let all = refusals(&with_memory(64 * MIB), &single, &[task], &site);
    let [too_large @ RunRefusal::TasksTooLarge { bytes, workers: 1 }] = &all[..] else { panic!("{all:?}") };
    assert!(*bytes > 32 * MIB);
    let enough = too_large.enough_memory().expect("memory is the reason");
    assert_eq!((enough, refusals(&with_memory(enough), &single, &[task], &site)), (2 * bytes, vec![]));
    // Frames as well, and what outputs took before.
    let config = with_memory(enough);
    let _outputs = config.limits.lease(8 * MIB);
    let site = SourceProperties { frame_bytes: *bytes, ..site };
    let all = refusals(&config, &single, &[task], &site);
    let [RunRefusal::MemoryExceeded { tasks, frames, between_cores: 0, outputs, enough, .. }] = all[..]
    else {
        panic!("{all:?}");
    };
    assert_eq!(
        (tasks, frames, outputs, enough),
        (*bytes, *bytes, 8 * MIB, 2 * bytes + 8 * MIB + LEAST_MEMORY)
    );
    assert_eq!(refusals(&with_memory(enough), &single, &[task], &site), []);
    // Rings, and the tables of flows that are merged.
    let config = MeasurementConfig { hand_over_batches: 100_000, ..with_memory(64 * MIB) };
    let plan = ResolvedDesign { split: Split::Position, ..plan("async/3") };
    let all = refusals(&config, &plan, &[], &SourceProperties::default());
    let [
        RunRefusal::RingsTooLarge { bytes: rings },
        RunRefusal::MergingTooLarge { bytes: merging, workers: 2, .. },
    ] = all[..]
    else {
        panic!("{all:?}");
    };
    assert!(rings > 32 * MIB && merging > 32 * MIB);
}
