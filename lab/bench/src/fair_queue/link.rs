//! The links and the router, in a network namespace of the calling thread.

use super::Queueing;
use super::frame::{FIRST_PORT, FRAME, RECEIVER};
use crate::network::{bring_up, ip, output, set, tc};
use serde_json::Value;
use std::process::Command;

/// The sender's end, the device's two, and the receiver's.
pub(super) const TX: &str = "tx0";
pub(super) const IN: &str = "in0";
const OUT: &str = "out0";
pub(super) const RX: &str = "rx0";

/// An address of no interface: frames to the receiver are measured and go no further.
const RECEIVER_ADDRESS: &str = "02:00:00:00:00:22";

/// Packets that may wait of one flow, and of all in one queue.
const FLOW_QUEUE: usize = 4;
const FIFO_QUEUE: usize = 64;
/// Bytes that a flow may send in its turn: two frames.
const QUANTUM: usize = 2 * FRAME;
/// The class of flow 0, which is none; class 1 is the link.
const FIRST_CLASS: u16 = 0x10;

/// A device that forwards from [`IN`] to [`OUT`], where the link is narrow.
pub(super) struct Router(());

impl Router {
    /// Makes a device for flows 1 to `flows`, whose packets leave at `packets_per_second` altogether.
    pub(super) fn new(queueing: Queueing, flows: u16, packets_per_second: f64) -> Result<Self, String> {
        let out_queue = match queueing {
            Queueing::Fair => FLOW_QUEUE,
            Queueing::Fifo => FIFO_QUEUE,
        };
        ip(&format!("link add {TX} type veth peer name {IN}"))?;
        // The queues of HTB's classes are as long as the interface's, by default.
        ip(&format!("link add {OUT} txqueuelen {out_queue} type veth peer name {RX}"))?;
        for name in [TX, IN, OUT, RX] {
            bring_up(name)?;
        }
        ip(&format!("addr add 10.98.1.1/24 dev {IN}"))?;
        ip(&format!("addr add 10.98.2.1/24 dev {OUT}"))?;
        ip(&format!("neigh add {RECEIVER} lladdr {RECEIVER_ADDRESS} dev {OUT} nud permanent"))?;
        set("ipv4/ip_forward", "1")?;
        tc(&orders(queueing, flows, packets_per_second))?;
        Ok(Self(()))
    }

    /// Packets that its queues dropped.
    pub(super) fn dropped(&self) -> Result<u64, String> {
        let shown = output(Command::new("tc").args(["-s", "-j", "qdisc", "show", "dev", OUT, "root"]), "")?;
        let parsed: Value = serde_json::from_slice(&shown).map_err(|error| format!("tc's JSON: {error}"))?;
        parsed[0]["drops"].as_u64().ok_or_else(|| "tc does not say what was dropped".to_owned())
    }

    /// The hardware address of [`IN`].
    pub(super) fn hardware_address(&self) -> Result<[u8; 6], String> {
        let shown = output(Command::new("ip").args(["-j", "link", "show", IN]), "")?;
        let parsed: Value = serde_json::from_slice(&shown).map_err(|error| format!("ip's JSON: {error}"))?;
        let text = parsed[0]["address"].as_str().unwrap_or_default();
        let bytes: Result<Vec<u8>, _> = text.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect();
        bytes
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| format!("'{text}' is no hardware address"))
    }
}

/// Returns the commands that `tc` is told.
fn orders(queueing: Queueing, flows: u16, packets_per_second: f64) -> String {
    let bits = |packets: f64| (packets * (8 * FRAME) as f64).round().max(8.0) as u64;
    let rate = bits(packets_per_second);
    // A burst of a few frames: the link's rate is the same at any time.
    let burst = 4 * FRAME;
    let link = format!("htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum {QUANTUM}");
    let mut orders = match queueing {
        Queueing::Fair => format!("qdisc add dev {OUT} root handle 1: htb\n"),
        Queueing::Fifo => format!("qdisc add dev {OUT} root handle 1: htb default 1\n"),
    };
    orders += &format!("class add dev {OUT} parent 1: classid 1:1 {link}\n");
    if queueing == Queueing::Fair {
        let own = bits(packets_per_second / f64::from(flows));
        for flow in 1..=flows {
            let class = FIRST_CLASS + flow;
            orders += &format!(
                "class add dev {OUT} parent 1:1 classid 1:{class:x} htb rate {own}bit ceil {rate}bit burst {burst} cburst {burst} quantum {QUANTUM}\n"
            );
        }
        // Load the source port, subtract, or the major number, return it as the class.
        let offset = FIRST_PORT - FIRST_CLASS;
        orders += &format!(
            "filter add dev {OUT} parent 1: protocol ip prio 1 bpf bytecode \"4,40 0 0 34,20 0 0 {offset},68 0 0 65536,22 0 0 0\"\n"
        );
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_classes_add_up_to_the_links() {
        let text = orders(Queueing::Fair, 4, 1000.0);
        let rates: Vec<u64> = text
            .lines()
            .filter_map(|line| line.split_once(" rate ")?.1.split_once("bit")?.0.parse().ok())
            .collect();
        assert_eq!(rates, [4_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000]);
        assert!(text.contains("classid 1:14 ") && text.ends_with("\"\n"));
        assert_eq!(orders(Queueing::Fifo, 4, 1000.0).lines().count(), 2);
    }
}
