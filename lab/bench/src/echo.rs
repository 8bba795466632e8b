//! A closed loop through a device under test: clients of a TCP echo server, which wait for each answer (Zhang et al. 2019, section IV-C,
//! Figure 9a), on the kernel's TCP, with Linux as a router whose links are narrow, each in a network namespace of its own. Edison measures the
//! device from one side.
//!
//! ```text
//!  clients ─▶ c0 ═══ in0 ── forwarding ── out0 ═══ s0 ─▶ server, which takes its time
//!                     │ HTB          HTB │
//!                   Edison
//! ```
//!
//! A client sends 512 bytes from a port that the kernel draws, reads them back, closes, and begins again. N clients who wait for a server
//! that takes the time S for each complete at most N / S rounds in a second: few of them cannot fill the links.

mod client;
mod host;
mod link;
mod server;
mod stream;

use crate::compare::median;
use crate::monitor::{Monitor, MonitorResult};
use crate::network::in_own_network;
use client::ClientRounds;
use flow::FlowRecord;
use host::Host;
use link::{Carried, EchoRouter};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Bytes that a client sends and gets back.
const PAYLOAD: usize = 512;

/// The clients, the server, and the links of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EchoLoop {
    /// Clients at a time. At most [`EchoLoop::MOST_CLIENTS`].
    pub clients: u16,
    /// The rate of the device's links, each way, megabits a second of frames without their check sequence.
    pub megabits: u32,
    /// The time that the server takes for each echo, milliseconds.
    pub service_ms: u32,
    /// The time in which clients begin rounds, seconds.
    pub seconds: f64,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EchoRun {
    /// Rounds that clients completed, by their own count.
    pub rounds: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Segments that the kernel sent again, on both sides.
    pub sent_again: u64,
    /// Flows from clients to the server that Edison counted.
    pub flows: u64,
    /// The time from Edison's first packet to its last, seconds.
    pub seconds: f64,
    /// Edison's counts to the server and back, megabits a second of frames without their check sequence.
    pub megabits: [f64; 2],
    /// The median over the flows to the server of the bits of their frames by the time that they lived, megabits a second.
    pub flow_megabits: f64,
    /// Frames that Edison's capture lost, by libpcap's count.
    pub monitor_lost: u64,
    /// True if Edison counted what the kernel's interface did, the ports that clients had, and the bytes of their rounds.
    pub checked: bool,
}

impl EchoLoop {
    /// A client has a socket at each end.
    pub const MOST_CLIENTS: u16 = 2000;

    /// Returns what is missing on this machine: rights, `ip` and `tc`, or a part of the kernel.
    pub fn missing() -> Option<String> {
        let tried = in_own_network("the attempt to make links failed", || {
            let hosts = [Host::start(|| Ok(()))?, Host::start(|| Ok(()))?];
            EchoRouter::new([hosts[0].number(), hosts[1].number()], 10).map(|_| ())
        });
        tried.err()
    }

    /// Lets clients begin rounds for the time that is set, and measures the device meanwhile.
    ///
    /// # Errors
    /// One line: what is missing ([`EchoLoop::missing`]), or what failed.
    pub fn run(&self) -> Result<EchoRun, String> {
        let spec = *self;
        if !(1..=Self::MOST_CLIENTS).contains(&spec.clients) || spec.megabits == 0 {
            return Err(format!(
                "clients are 1 to {}, and links carry a megabit at least",
                Self::MOST_CLIENTS
            ));
        }
        in_own_network("the thread that measures the device failed", move || spec.run_here())
    }

    /// Runs with the device in the network of this thread.
    fn run_here(&self) -> Result<EchoRun, String> {
        let Self { clients, seconds, service_ms, .. } = *self;
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let service = Duration::from_millis(service_ms.into());
        let (ready, is_ready) = channel();
        let server = Host::start(move || server::run(service, &is_stopped, &ready))?;
        let others = Host::start(move || client::run(clients, seconds))?;
        let router = EchoRouter::new([others.number(), server.number()], self.megabits)?;
        let monitor = Monitor::start(link::IN)?;
        server.go();
        // A server that failed says why.
        if is_ready.recv().is_err() {
            server.result()?;
        }
        others.go();
        let rounds = others.result();
        stop.store(true, Ordering::Relaxed);
        let sent_again = server.result()?;
        let rounds = rounds?;
        let seen = monitor.finish()?;
        // The hosts' networks are kept until here, as their links go with them.
        Ok(answer(&rounds, &seen, router.carried()?, rounds.sent_again + sent_again))
    }
}

/// Compares Edison's counts with those of the clients and of the kernel.
fn answer(rounds: &ClientRounds, seen: &MonitorResult, carried: Carried, sent_again: u64) -> EchoRun {
    let [there, back] = [true, false].map(|to_server| {
        seen.records.iter().filter(|record| is_to_server(record) == to_server).collect::<Vec<_>>()
    });
    let first = seen.records.iter().map(|record| record.stime).min().unwrap_or(0);
    let last = seen.records.iter().map(|record| record.ltime).max().unwrap_or(0);
    let seconds = (last - first) as f64 / 1e9;
    let megabits = |flows: &[&FlowRecord], seconds: f64| {
        let bytes: u64 = flows.iter().map(|flow| flow.wire_byte).sum();
        if seconds > 0.0 { 8.0 * bytes as f64 / seconds / 1e6 } else { 0.0 }
    };
    let of_flow = |flow: &&FlowRecord| megabits(&[*flow], (flow.ltime - flow.stime) as f64 / 1e9);
    EchoRun {
        rounds: rounds.by_port.values().sum(),
        failed: rounds.failed,
        sent_again,
        flows: there.len() as u64,
        seconds,
        megabits: [megabits(&there, seconds), megabits(&back, seconds)],
        flow_megabits: if there.is_empty() {
            0.0
        } else {
            median(&there.iter().map(of_flow).collect::<Vec<_>>())
        },
        monitor_lost: seen.lost,
        checked: agrees(rounds, seen, &there, carried, sent_again),
    }
}

fn is_to_server(record: &FlowRecord) -> bool {
    record.key.is_some_and(|key| key.dst_port == Some(link::PORT))
}

/// Returns true if Edison's counts are those of the others: frames and bytes as the interface's, flows as the clients' ports, and in the flows to
/// the server the bytes that clients sent. Where the capture lost frames, by its own count, only frames can be compared; where segments were
/// sent again, there are more bytes than the clients know of.
fn agrees(
    rounds: &ClientRounds,
    seen: &MonitorResult,
    there: &[&FlowRecord],
    carried: Carried,
    sent_again: u64,
) -> bool {
    if !seen.is_whole || seen.received + seen.lost != carried.frames {
        return false;
    }
    if seen.lost > 0 {
        return true;
    }
    let all: u64 = seen.records.iter().map(|record| record.wire_byte).sum();
    let counted: HashSet<u16> = there.iter().filter_map(|flow| flow.key?.src_port).collect();
    let known: HashSet<u16> = rounds.by_port.keys().copied().collect();
    let sum = |of: fn(&FlowRecord) -> u64| there.iter().map(|flow| of(flow)).sum::<u64>();
    let completed: u64 = rounds.by_port.values().sum();
    let headers = HEADERS * sum(|flow| flow.total_count) + SYN_OPTIONS * completed;
    let sent = PAYLOAD as u64 * completed;
    let payload = sum(|flow| flow.total_byte).saturating_sub(headers);
    let is_undisturbed = sent_again == 0 && rounds.failed == 0;
    all == carried.bytes
        && if is_undisturbed {
            counted == known && payload == sent
        } else {
            counted.is_superset(&known) && payload >= sent
        }
}

/// Bytes of the headers of IP and TCP with a time stamp, and of what a SYN has in addition.
const HEADERS: u64 = 20 + 20 + 12;
const SYN_OPTIONS: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// Not about time: whatever the machine's load, counts agree with those of the kernel and of the clients.
    #[test]
    fn edison_counts_what_the_kernel_and_the_clients_do() {
        if let Some(reason) = EchoLoop::missing() {
            eprintln!("skipped: {reason}");
            return;
        }
        let run = EchoLoop { clients: 20, megabits: 10, service_ms: 5, seconds: 1.0 }.run().expect("a run");
        assert!(run.checked, "{run:?}");
        // Each client began a round at least, and no frames overtake the link.
        assert!(run.rounds + run.failed >= 20 && run.flows > 0, "{run:?}");
        assert!(run.megabits.iter().all(|megabits| *megabits < 11.0), "{run:?}");
    }

    #[test]
    fn wrong_counts_are_seen() {
        let record = |port: u16, to_server: bool, packets: u64, bytes: u64| {
            let mut record = FlowRecord::without_packets(0, 1_000_000_000);
            let key = packet::FlowKey::default();
            let (src, dst) = if to_server { (port, link::PORT) } else { (link::PORT, port) };
            record.key = Some(packet::FlowKey { src_port: Some(src), dst_port: Some(dst), ..key });
            (record.total_count, record.total_byte) = (packets, bytes);
            record.wire_byte = bytes + 14 * packets;
            record
        };
        // SYN, ACK, data, ACK, FIN, ACK; and the answers.
        let (there, back) = (6 * HEADERS + SYN_OPTIONS + 512, 5 * HEADERS + SYN_OPTIONS + 512);
        let records = vec![record(4_000, true, 6, there), record(4_000, false, 5, back)];
        let seen = MonitorResult { received: 11, lost: 0, is_whole: true, records };
        let carried = Carried { frames: 11, bytes: there + back + 11 * 14 };
        let rounds = ClientRounds { by_port: [(4_000, 1)].into(), failed: 0, sent_again: 0 };
        let run = answer(&rounds, &seen, carried, 0);
        assert!(run.checked && run.rounds == 1 && run.flows == 1 && run.seconds == 1.0, "{run:?}");
        assert!((run.megabits[0] - 8e-6 * (there + 6 * 14) as f64).abs() < 1e-12, "{run:?}");
        assert_eq!(run.flow_megabits, run.megabits[0]);
        let is_wrong =
            |rounds: &ClientRounds, seen: &MonitorResult, carried| !answer(rounds, seen, carried, 0).checked;
        assert!(is_wrong(&rounds, &seen, Carried { frames: 12, ..carried }));
        assert!(is_wrong(&rounds, &seen, Carried { bytes: carried.bytes + 1, ..carried }));
        assert!(is_wrong(&ClientRounds { by_port: [(4_001, 1)].into(), ..rounds.clone() }, &seen, carried));
        assert!(is_wrong(&ClientRounds { by_port: [(4_000, 2)].into(), ..rounds.clone() }, &seen, carried));
        assert!(is_wrong(&rounds, &MonitorResult { is_whole: false, ..seen.clone() }, carried));
        // Sent again: more bytes than the client knows of.
        let again = ClientRounds { by_port: [(4_000, 0)].into(), ..rounds };
        assert!(answer(&again, &seen, carried, 1).checked && !answer(&again, &seen, carried, 0).checked);
    }

    #[test]
    fn what_is_impossible_is_refused() {
        let spec = EchoLoop { clients: 1, megabits: 1, service_ms: 1, seconds: 0.1 };
        for spec in [
            EchoLoop { clients: 0, ..spec },
            EchoLoop { clients: EchoLoop::MOST_CLIENTS + 1, ..spec },
            EchoLoop { megabits: 0, ..spec },
        ] {
            assert!(spec.run().is_err(), "{spec:?}");
        }
    }
}
