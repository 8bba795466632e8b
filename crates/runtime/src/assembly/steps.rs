//! `--steps`: where the time of a packet goes.

use engine::{HardwareCounts, StepNs, StepTimes, ThreadRole};
use model::{Counters, HardwareReport, StepsReport, StepsThread};
use std::time::Duration;

/// The bursts of which one is timed. Eight readings of the clock are some 200 ns: of full bursts, 0.01 ns a packet.
pub(super) const ONE_OF: u32 = 64;

/// Returns the part of the report about the steps of a packet; `None` where no steps were timed. `received`: frames that the receivers took.
pub(super) fn report(threads: &[StepTimes], received: u64, loss: Option<&Counters>) -> Option<StepsReport> {
    if threads.is_empty() {
        return None;
    }
    let StepNs { receive, free, parse, process, hand_over } = StepNs::from_threads(threads);
    let all = |time: fn(&StepTimes) -> Duration| threads.iter().map(time).sum::<Duration>().as_secs_f64();
    let of_receivers = || threads.iter().filter(|thread| thread.role == ThreadRole::Receiver);
    let drop_percent = loss.map(|loss| {
        let lost = loss.total();
        100.0 * lost as f64 / received.saturating_add(lost).max(1) as f64
    });
    let cost = all(|thread| thread.readings) / all(|thread| thread.elapsed).max(f64::MIN_POSITIVE);
    let [receive_ns, parse_ns, hand_over_ns, processing_ns, free_ns] =
        [receive, parse, hand_over, process, free].map(|ns| rounded(ns, 100.0));
    Some(StepsReport {
        one_of: ONE_OF,
        timed_packets: of_receivers().map(|thread| thread.timed_packets).sum(),
        receive_ns,
        parse_ns,
        hand_over_ns,
        processing_ns,
        free_ns,
        delay_ns: rounded(receive_ns + parse_ns + hand_over_ns + processing_ns + free_ns, 100.0),
        drop_percent,
        cost_percent: rounded(100.0 * cost, 1e6),
        hardware: hardware(threads, received),
        threads: threads.iter().map(thread).collect(),
    })
}

fn thread(steps: &StepTimes) -> StepsThread {
    StepsThread {
        role: match steps.role {
            ThreadRole::Receiver => "receiver",
            ThreadRole::Worker => "worker",
        }
        .to_owned(),
        packets: steps.packets,
        busy: (steps.timed_packets != 0).then(|| rounded(steps.busy(), 1000.0)),
    }
}

/// The counts of the processor for each frame; `None` unless all threads have them.
fn hardware(threads: &[StepTimes], received: u64) -> Option<HardwareReport> {
    let counts = threads.iter().map(|thread| thread.hardware).collect::<Option<Vec<HardwareCounts>>>()?;
    let of = |count: fn(&HardwareCounts) -> u64| {
        rounded(counts.iter().map(count).sum::<u64>() as f64 / received.max(1) as f64, 1000.0)
    };
    Some(HardwareReport {
        cycles: of(|counts| counts.cycles),
        instructions: of(|counts| counts.instructions),
        cache_misses: of(|counts| counts.cache_misses),
    })
}

fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_steps_of_all_threads() {
        let receiver = StepTimes {
            packets: 1000,
            timed_packets: 100,
            receive: Duration::from_nanos(5_000),
            parse: Duration::from_nanos(10_000),
            count: Duration::from_nanos(2_000),
            free: Duration::from_nanos(1_000),
            elapsed: Duration::from_micros(50),
            readings: Duration::from_nanos(90),
            hardware: Some(HardwareCounts { cycles: 2_000, instructions: 3_000, cache_misses: 10 }),
            ..StepTimes::default()
        };
        let worker = StepTimes {
            role: ThreadRole::Worker,
            packets: 800,
            timed_packets: 50,
            count: Duration::from_nanos(32_000),
            elapsed: Duration::from_micros(50),
            readings: Duration::from_nanos(10),
            hardware: receiver.hardware,
            ..StepTimes::default()
        };
        let loss: Counters = [("imissed", 100), ("ring_full", 150)].into_iter().collect();
        let report = report(&[receiver, worker], 1000, Some(&loss)).expect("two threads were timed");
        assert_eq!(
            [report.receive_ns, report.parse_ns, report.hand_over_ns, report.processing_ns, report.free_ns],
            [5.0, 10.0, 2.0, 40.0, 1.0]
        );
        assert_eq!((report.delay_ns, report.timed_packets, report.one_of), (58.0, 100, 64));
        // 250 of 1,250 packets; 100 ns of twice 50 us.
        assert_eq!((report.drop_percent, report.cost_percent), (Some(20.0), 0.1));
        assert_eq!(report.hardware.map(|hardware| hardware.instructions), Some(6.0));
        assert_eq!(report.threads[0].busy, Some(0.36));
        assert_eq!((report.threads[1].role.as_str(), report.threads[1].packets), ("worker", 800));
        assert_eq!(super::report(&[], 5, None), None);
        let unknown = super::report(&[StepTimes { hardware: None, ..receiver }], 1000, None).expect("one");
        assert_eq!((unknown.drop_percent, unknown.hardware), (None, None));
    }
}
