//! Flows at even paces, of which the k-th is k times slower than the first.

use super::frame::{FRAME, frame};
use port::{InterfaceSink, PacketSink};
use std::time::{Duration, Instant};

/// Frames that are handed to the kernel at once.
const BATCH: usize = 64;
/// Time for which the kernel may take nothing.
const TIMEOUT: Duration = Duration::from_secs(2);

/// All packets by the times at which they are due.
pub(super) struct PacketSchedule {
    /// Nanoseconds since the start, and the flow.
    due: Vec<(u64, u16)>,
    /// Packets of each flow.
    sent: Vec<u64>,
}

impl PacketSchedule {
    pub(super) fn new(flows: u16, packets_per_second: f64, seconds: f64) -> Self {
        let parts: f64 = (1..=flows).map(|flow| 1.0 / f64::from(flow)).sum();
        let mut due = Vec::new();
        let mut sent = Vec::new();
        for flow in 1..=flows {
            let spacing_ns = 1e9 * parts * f64::from(flow) / packets_per_second;
            // Flows begin at places that have nothing to do with each other (multiples of the golden ratio).
            let phase = (f64::from(flow) * 0.618_033_988_749_895).fract();
            let times = (0..).map(|number| ((f64::from(number) + phase) * spacing_ns) as u64);
            let before = due.len();
            due.extend(times.take_while(|&ns| (ns as f64) < seconds * 1e9).map(|ns| (ns, flow)));
            sent.push((due.len() - before) as u64);
        }
        due.sort_unstable();
        Self { due, sent }
    }

    /// Packets of a flow.
    pub(super) fn sent(&self, flow: u16) -> u64 {
        self.sent[usize::from(flow) - 1]
    }

    /// Sends all of them; the seconds that it took. `to`: the device's hardware address.
    pub(super) fn send(&self, interface: &str, to: &[u8; 6]) -> Result<f64, String> {
        let mut sink = InterfaceSink::open(interface).map_err(|error| error.to_string())?;
        let frames: Vec<[u8; FRAME]> = (1..=self.sent.len() as u16).map(|flow| frame(flow, to)).collect();
        let began = Instant::now();
        let mut next = 0;
        let mut progress = Instant::now();
        while next < self.due.len() {
            let now = began.elapsed().as_nanos() as u64;
            let ready = self.due[next..].iter().take(BATCH).take_while(|(ns, _)| *ns <= now);
            let batch: Vec<&[u8]> = ready.map(|&(_, flow)| &frames[usize::from(flow) - 1][..]).collect();
            if batch.is_empty() {
                // Some frames at a time, so that a core is left to the device and the monitors.
                std::thread::sleep(Duration::from_micros(200));
                progress = Instant::now();
                continue;
            }
            match sink.tx_burst(&batch).map_err(|error| error.to_string())? {
                0 if progress.elapsed() > TIMEOUT => return Err(format!("{interface} takes no frames")),
                0 => std::thread::yield_now(),
                taken => (next, progress) = (next + taken, Instant::now()),
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kth_flow_is_k_times_slower() {
        let schedule = PacketSchedule::new(100, 10_000.0, 2.0);
        let all: u64 = (1..=100).map(|flow| schedule.sent(flow)).sum();
        assert_eq!(all, schedule.due.len() as u64);
        assert!(all.abs_diff(20_000) <= 100, "{all}");
        for flow in 1..=100 {
            let expected = schedule.sent(1) as f64 / f64::from(flow);
            assert!((schedule.sent(flow) as f64 - expected).abs() <= 1.5, "{flow}");
        }
        assert!(schedule.due.is_sorted());
    }
}
