//! The spread of frames over the receive queues of a port (receive-side scaling, RSS).

use dpdk_sys::{RTE_ETH_RSS_IP, RTE_ETH_RSS_SCTP, RTE_ETH_RSS_TCP, RTE_ETH_RSS_UDP, shim_port_info};

/// The types that are requested if the driver supports them: addresses, and ports if present.
const TYPES: u64 = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;
/// The length of the key if the driver does not report it (Toeplitz, 320 bits), bytes.
const DEFAULT_KEY_BYTES: usize = 40;

/// The spread of frames over the queues of a port, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// The two directions of a connection reach one queue; also true with a single queue.
    Symmetric,
    /// A flow stays on one queue, its other direction may reach another.
    OneWay,
    /// The spread is not reported by the driver: the producer of the queues decides.
    Unknown,
}

/// The key `6d5a…`, by which Toeplitz is symmetric (Woo and Park 2012), and what is hashed, for one port.
#[derive(Debug)]
pub(super) struct Rss {
    types: u64,
    key: Vec<u8>,
}

impl Rss {
    /// Returns the settings for this many queues of a driver with this information.
    pub(super) fn new(queues: u16, info: &shim_port_info) -> Self {
        let bytes = match info.hash_key_size {
            0 => DEFAULT_KEY_BYTES,
            bytes => usize::from(bytes.min(u16::from(u8::MAX))),
        };
        let types = if queues > 1 { info.rss_types & TYPES } else { 0 };
        Self { types, key: [0x6d, 0x5a].into_iter().cycle().take(bytes).collect() }
    }

    /// Returns what configuring the port needs: types of frames (0: nothing is spread), key, and its bytes.
    pub(super) fn configuration(&mut self) -> (u64, *mut u8, u8) {
        (self.types, self.key.as_mut_ptr(), self.key.len() as u8)
    }

    /// Reads what is in force at a started port, after setting it once more: not every driver applies the key
    /// when it is configured.
    pub(super) fn in_force(&mut self, port: u16, queues: u16) -> Spread {
        if queues == 1 {
            return Spread::Symmetric;
        }
        if self.types == 0 {
            return Spread::Unknown;
        }
        match self.ask(port) {
            Some(Spread::Symmetric) => Spread::Symmetric,
            _ => {
                let (types, key, bytes) = self.configuration();
                // SAFETY: the port is started, and the key has as many bytes. A refusal shows in what is in force.
                unsafe { dpdk_sys::shim_port_set_rss(port, types, key, bytes) };
                // A driver that is configured to spread by these types and does not report the key still
                // keeps a flow together.
                self.ask(port).unwrap_or(Spread::OneWay)
            }
        }
    }

    fn ask(&self, port: u16) -> Option<Spread> {
        let mut types = 0;
        let mut key = vec![0; self.key.len()];
        // SAFETY: a writable number, and a key of as many bytes as are stated.
        let result = unsafe { dpdk_sys::shim_port_rss(port, &mut types, key.as_mut_ptr(), key.len() as u8) };
        (result == 0).then(|| match types & TYPES {
            0 => Spread::Unknown,
            _ if key == self.key => Spread::Symmetric,
            _ => Spread::OneWay,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Toeplitz;

    fn info(hash_key_size: u16, rss_types: u64) -> shim_port_info {
        // SAFETY: numbers, for which zero is a value.
        shim_port_info { hash_key_size, rss_types, ..unsafe { std::mem::zeroed() } }
    }

    #[test]
    fn the_key_is_the_wires_own() {
        let rss = Rss::new(2, &info(40, u64::MAX));
        assert_eq!(rss.key, Toeplitz::SYMMETRIC_KEY[..40]);
        assert_eq!(rss.types, TYPES);
        assert_eq!(Rss::new(2, &info(52, 0)).key.len(), 52);
        assert_eq!(Rss::new(2, &info(0, 0)).key.len(), DEFAULT_KEY_BYTES);
    }

    #[test]
    fn one_queue_needs_no_hash() {
        assert_eq!(Rss::new(1, &info(40, u64::MAX)).types, 0);
        assert_eq!(Rss::new(2, &info(40, 0)).types, 0);
        assert_eq!(Rss::new(2, &info(40, RTE_ETH_RSS_IP | 1 << 40)).types, RTE_ETH_RSS_IP);
    }
}
