//! A device that forwards between two links, in a network namespace of the test's own thread: a bridge or a router of the kernel, with
//! a limit that is known.

use crate::veth::{in_namespace, ip, pair, tc};
use std::path::Path;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardingKind {
    /// A bridge, which learns where MAC addresses are.
    Bridge,
    /// A router between 198.18.0.0/16 and 198.19.0.0/16, whose neighbour 198.19.0.2 is known to have the MAC address 02:00:00:00:00:02.
    Router,
}

/// A device between two links. What it forwards from left to right passes a token bucket (tc-tbf(8)).
#[derive(Debug)]
pub struct ForwardingDevice {
    kind: ForwardingKind,
}

impl ForwardingDevice {
    /// The end of the link on the left that is not the device's.
    pub const LEFT: &str = "left";
    /// The end of the link on the right that is not the device's.
    pub const RIGHT: &str = "right";
    /// The MAC address of the router on the left.
    pub const ROUTER_MAC: &str = "02:00:00:00:01:01";
    /// The address of the router on the right.
    pub const ROUTER_ADDR: &str = "198.19.0.1";

    /// Limits what is forwarded to the right to `bits` per second; the bucket and the queue before it hold `bytes` each.
    ///
    /// # Panics
    /// If `tc` fails.
    pub fn limit(&self, bits: u64, bytes: u64) {
        tc(&format!("qdisc replace dev port1 root tbf rate {bits}bit burst {bytes} limit {bytes}"));
    }

    /// Lets the device forward nothing any more.
    ///
    /// # Panics
    /// If `ip` fails.
    pub fn block(&self) {
        match self.kind {
            ForwardingKind::Bridge => ip("link set port1 nomaster"),
            ForwardingKind::Router => forward(false),
        }
    }

    /// Takes the carrier from [`ForwardingDevice::LEFT`] or [`ForwardingDevice::RIGHT`]: the device's port on that side goes down.
    ///
    /// # Panics
    /// If `ip` fails.
    pub fn unplug(&self, end: &str) {
        let port = if end == Self::LEFT { "port0" } else { "port1" };
        ip(&format!("link set {port} down"));
    }

    /// Deletes the link on the left.
    ///
    /// # Panics
    /// If it does not exist any more.
    pub fn vanish(&self) {
        ip(&format!("link del {}", Self::LEFT));
    }
}

/// Runs `test` with a device. Without the rights for one, reports that it skips.
///
/// # Panics
/// If `test` panics, or if the device cannot be made for another reason.
pub fn with_device(kind: ForwardingKind, test: impl FnOnce(&ForwardingDevice) + Send + 'static) {
    in_namespace(move || {
        pair(ForwardingDevice::LEFT, "port0");
        pair(ForwardingDevice::RIGHT, "port1");
        match kind {
            ForwardingKind::Bridge => {
                ip("link add bridge0 type bridge mcast_snooping 0");
                for port in ["port0", "port1"] {
                    ip(&format!("link set {port} master bridge0"));
                }
                ip("link set bridge0 addrgenmode none");
                ip("link set bridge0 up");
            }
            ForwardingKind::Router => {
                ip(&format!("link set port0 address {}", ForwardingDevice::ROUTER_MAC));
                ip("addr add 198.18.0.1/16 dev port0");
                ip(&format!("addr add {}/16 dev port1", ForwardingDevice::ROUTER_ADDR));
                ip("neigh add 198.19.0.2 lladdr 02:00:00:00:00:02 dev port1 nud permanent");
                forward(true);
            }
        }
        test(&ForwardingDevice { kind });
    });
}

fn forward(forwards: bool) {
    let path = Path::new("/proc/sys/net/ipv4/ip_forward");
    std::fs::write(path, if forwards { "1" } else { "0" }).expect("a namespace of its own");
}
