//! The links, the router, and both hosts' ends of it.

use crate::network::{bring_up, ip, output, set, tc};
use serde_json::Value;
use std::process::Command;

/// The device's interface on the clients' side, which is measured.
pub(super) const IN: &str = "in0";
const OUT: &str = "out0";
const CLIENTS: &str = "c0";
const SERVER: &str = "s0";
/// Echo (RFC 862).
pub(super) const PORT: u16 = 7;
/// The server's address.
pub(super) const ADDRESS: [u8; 4] = [10, 97, 2, 2];

/// Packets that may wait for a link: two of each client, so that none is dropped.
const QUEUE: u32 = 4_000;
/// Bytes that a link sends at once.
const BURST: u32 = 3_000;

/// Frames that crossed the device's interface, either way, by the kernel's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) frames: u64,
    /// Their bytes without check sequences.
    pub(super) bytes: u64,
}

/// A device that forwards between clients and server over narrow links.
pub(super) struct EchoRouter(());

impl EchoRouter {
    /// Makes a device in the network of this thread, and gives its links' other ends to the networks of these threads: clients and server.
    pub(super) fn new([clients, server]: [i32; 2], megabits: u32) -> Result<Self, String> {
        for (number, (own, other, thread)) in
            [(IN, CLIENTS, clients), (OUT, SERVER, server)].into_iter().enumerate()
        {
            let net = number + 1;
            ip(&format!(
                "link add {own} address {own_address} txqueuelen {QUEUE} type veth peer name {other} address {other_address}",
                own_address = hardware(net, 1),
                other_address = hardware(net, 2),
            ))?;
            ip(&format!("link set {other} netns {thread}"))?;
            bring_up(own)?;
            ip(&format!("addr add 10.97.{net}.1/24 dev {own}"))?;
            ip(&format!("neigh add 10.97.{net}.2 lladdr {} dev {own} nud permanent", hardware(net, 2)))?;
            tc(&format!(
                "qdisc add dev {own} root handle 1: htb default 1\n\
                 class add dev {own} parent 1: classid 1:1 htb rate {megabits}mbit ceil {megabits}mbit burst {BURST} cburst {BURST}\n"
            ))?;
        }
        set("ipv4/ip_forward", "1")?;
        Ok(Self(()))
    }

    /// Returns what crossed the interface that is measured.
    pub(super) fn carried(&self) -> Result<Carried, String> {
        let shown = output(Command::new("ip").args(["-s", "-j", "link", "show", IN]), "")?;
        let parsed: Value = serde_json::from_slice(&shown).map_err(|error| format!("ip's JSON: {error}"))?;
        let sum = |name: &str| {
            let way = |way: &str| parsed[0]["stats64"][way][name].as_u64();
            Some(way("rx")? + way("tx")?)
        };
        match (sum("packets"), sum("bytes")) {
            (Some(frames), Some(bytes)) => Ok(Carried { frames, bytes }),
            _ => Err(format!("ip does not say what {IN} carried")),
        }
    }
}

/// Hardware addresses of the ends of a link: the device's is the first.
fn hardware(net: usize, end: usize) -> String {
    format!("02:00:00:00:{net:02x}:{end:02x}")
}

/// Makes the clients' end ready, in the network of this thread.
pub(super) fn clients_end() -> Result<(), String> {
    end(CLIENTS, 1)?;
    // Every port is a client's, and one that is closed may be used again after a second.
    set("ipv4/ip_local_port_range", "1024 65535")?;
    set("ipv4/tcp_tw_reuse", "1")
}

/// Makes the server's end ready.
pub(super) fn server_end() -> Result<(), String> {
    end(SERVER, 2)
}

fn end(name: &str, net: usize) -> Result<(), String> {
    bring_up(name)?;
    ip(&format!("addr add 10.97.{net}.2/24 dev {name}"))?;
    ip(&format!("neigh add 10.97.{net}.1 lladdr {} dev {name} nud permanent", hardware(net, 1)))?;
    ip(&format!("route add default via 10.97.{net}.1"))?;
    // Headers have a known length: a time stamp in each, and no list of what arrived out of order.
    set("ipv4/tcp_timestamps", "1")?;
    set("ipv4/tcp_sack", "0")
}

/// Segments that the network of this thread sent again.
pub(super) fn sent_again() -> Result<u64, String> {
    let counts = std::fs::read_to_string("/proc/thread-self/net/snmp").map_err(|error| error.to_string())?;
    retransmitted(&counts)
        .ok_or_else(|| "the kernel does not say how many segments were sent again".to_owned())
}

/// The value of `RetransSegs` in the second line of TCP, whose first one names the columns.
fn retransmitted(counts: &str) -> Option<u64> {
    let mut lines = counts.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let at = lines.next()?.split(' ').position(|name| name == "RetransSegs")?;
    lines.next()?.split(' ').nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_found_by_its_name() {
        let counts =
            "Ip: Forwarding InReceives\nIp: 1 5\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 42 -1\n";
        assert_eq!(retransmitted(counts), Some(42));
        assert_eq!((retransmitted("Tcp: InErrs\nTcp: 1\n"), retransmitted("")), (None, None));
        assert!(sent_again().is_ok());
    }
}
