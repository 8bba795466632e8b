//! Against the sorted samples of each flow in each window.

use super::*;
use packet::{Bursts, PacketFields, TcpSegment, split_mix};
use std::collections::BTreeMap;

const FLOWS: u64 = 7;

fn key(flow: u64) -> KeyV4 {
    KeyV4::new([10, 0, 0, flow as u8, 10, 0, 1, 1], [1, 1, 0, 53], 17)
}

fn key_v6(flow: u64) -> KeyV6 {
    KeyV6::from_words(&[flow, 1, 2, 3, 17])
}

fn parsed(names: &[&str]) -> Vec<Statistic> {
    names.iter().map(|name| name.parse().expect("a statistic")).collect()
}

/// Packets of some flows, every third of another one that is not named. The time steps back now and then.
fn packets(count: usize, first: u64, state: &mut u64) -> Vec<(u64, PacketFields)> {
    let mut below = |most: u64| split_mix(state) % most;
    let mut time = 1_000_000;
    let one = |number| {
        time += below(1000);
        let flow = if below(3) == 0 { FLOWS } else { below(FLOWS) };
        let late = if below(20) == 0 { 500 } else { 0 };
        // The low 32 bits wrap.
        let fields = PacketFields {
            time_ns: time - late,
            number: (first + number) as u32,
            total_byte: 40 + below(1400) as u32,
            ..PacketFields::default()
        };
        (flow, fields)
    };
    (0..count as u64).map(one).collect()
}

fn bursts(packets: &[(u64, PacketFields)], first: u64, seed: &Seed) -> Bursts {
    let mut bursts = Bursts::with_capacity(packets.len());
    bursts.set_numbers(Numbers::near(first));
    for (flow, fields) in packets {
        bursts.v4.push(key(*flow), *fields, seed);
        bursts.v6.push(key_v6(*flow), *fields, seed);
        if *flow != FLOWS {
            bursts.v4.pin(TcpSegment::NONE);
            bursts.v6.pin(TcpSegment::NONE);
        }
    }
    bursts
}

/// The samples of a metric of each flow, in the order of its packets.
fn samples(metric: Metric, packets: &[(u64, PacketFields)]) -> BTreeMap<u64, Vec<f64>> {
    let mut last: BTreeMap<u64, PacketFields> = BTreeMap::new();
    let mut samples: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (flow, fields) in packets {
        let own = samples.entry(*flow).or_default();
        let before = last.insert(*flow, *fields);
        match (metric, before) {
            (Metric::Size, _) => own.push(fields.total_byte.into()),
            (Metric::Gap, Some(before)) => own.push(f64::from(fields.number.wrapping_sub(before.number) - 1)),
            (Metric::InterArrival, Some(before)) => {
                own.push(fields.time_ns.saturating_sub(before.time_ns) as f64)
            }
            (Metric::Gap | Metric::InterArrival, None) => {}
        }
    }
    samples
}

fn close(one: f64, other: f64) -> bool {
    one.is_nan() && other.is_nan() || (one - other).abs() <= 1e-9 * other.abs().max(1.0)
}

/// Whether a value is the statistic of these samples: exactly, or of a percentile of more than five, by rank.
fn is_of(value: f64, kind: StatisticKind, samples: &[f64]) -> bool {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match kind {
        StatisticKind::Mean => close(value, mean),
        StatisticKind::StdDev => {
            let squares = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>();
            close(value, (squares / count).sqrt())
        }
        StatisticKind::Percentile(_) if samples.is_empty() => value.is_nan(),
        StatisticKind::Percentile(percent) if samples.len() <= 5 || [0.0, 100.0].contains(&percent) => {
            let at = (count - 1.0) * percent / 100.0;
            let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            close(value, below + (above - below) * at.fract())
        }
        StatisticKind::Percentile(percent) => {
            // Many samples are equal: an estimate lies between two values.
            let below = sorted.iter().filter(|sample| **sample < value.floor()).count() as f64;
            let up_to = sorted.iter().filter(|sample| **sample <= value.ceil()).count() as f64;
            let allowed = if samples.len() >= 500 { 2.0 } else { 15.0 };
            let ranks = 100.0 * below / count - allowed..=100.0 * up_to / count + allowed;
            ranks.contains(&percent) && (sorted[0]..=sorted[sorted.len() - 1]).contains(&value)
        }
    }
}

#[test]
fn statistics_are_those_of_the_packets_of_each_window() {
    let (seed, limits) = (Seed::new(3), Limits::new(1 << 24, 1000));
    let mut statistics = ZoomStatistics::new(seed, &limits);
    let all = [
        "gap_mean",
        "gap_p0",
        "gap_p50",
        "gap_p100",
        "gap_stddev",
        "iat_mean",
        "iat_p90",
        "iat_stddev",
        "size_p99",
    ];
    let others = ["size_mean", "size_p50"];
    let mut state = 1;
    let mut first = (1 << 32) - 300;
    let mut checked = 0;
    // Of the first window nothing is asked; one window has few packets, and one asks for others.
    let windows: [(usize, &[&str]); 6] =
        [(200, &[]), (8000, &all), (8000, &all), (20, &all), (9000, &others), (300, &all)];
    let asked = windows.map(|(_, names)| parsed(names));
    let counts = windows.map(|(count, _)| count);
    for (window, (asked, count)) in asked.iter().zip(counts).enumerate() {
        statistics.set(asked);
        let packets = packets(count, first, &mut state);
        for (number, part) in packets.chunks(64).enumerate() {
            let bursts = bursts(part, first + 64 * number as u64, &seed);
            let named = bursts.v4.pinned().len();
            let expected = if asked.is_empty() { 0 } else { named };
            assert_eq!(statistics.count_v4(&bursts.v4).filter(|counted| *counted).count(), expected);
            assert_eq!(statistics.count_v6(&bursts.v6).filter(|counted| *counted).count(), expected);
        }
        first += count as u64;
        statistics.turn();
        for flow in 0..=FLOWS {
            let values = statistics.get_v4(&key(flow)).to_vec();
            let has_any = flow != FLOWS && packets.iter().any(|(of, _)| *of == flow) && !asked.is_empty();
            assert_eq!(values.len(), if has_any { asked.len() } else { 0 }, "flow {flow} in {window}");
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(statistics.get_v6(&key_v6(flow))), bits(&values));
            for (statistic, value) in asked.iter().zip(values) {
                let samples = samples(statistic.metric, &packets);
                assert!(
                    is_of(value, statistic.kind, &samples[&flow]),
                    "{statistic} of flow {flow} in {window}: {value} of {} samples",
                    samples[&flow].len()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn a_packet_without_memory_is_not_counted() {
    let (seed, none) = (Seed::new(3), Limits::new(0, 0));
    let mut statistics = ZoomStatistics::new(seed, &none);
    statistics.set(&parsed(&["gap_mean"]));
    let bursts = bursts(&packets(50, 1, &mut 5), 1, &seed);
    let named = bursts.v4.pinned().len();
    let counted: Vec<_> = statistics.count_v4(&bursts.v4).collect();
    assert!(counted.len() == named && named > 0 && !counted.contains(&true));
    statistics.turn();
    assert!(statistics.get_v4(&key(0)).is_empty());
    assert_eq!(statistics.bytes(), 0);
}

#[test]
fn more_than_rows_have_are_not_given() {
    let (seed, limits) = (Seed::new(3), Limits::new(1 << 24, 1000));
    let mut statistics = ZoomStatistics::new(seed, &limits);
    let asked: Vec<_> = (0..40).map(|percent| format!("size_p{percent}").parse().expect("one")).collect();
    statistics.set(&asked);
    let bursts = bursts(&packets(50, 1, &mut 5), 1, &seed);
    statistics.count_v4(&bursts.v4).for_each(drop);
    statistics.turn();
    assert_eq!(statistics.get_v4(&key(0)).len(), MAX_ROW_STATISTICS);
}
