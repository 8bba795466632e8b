//! The spread of frames over the receive queues of a port (receive-side scaling, RSS).

use dpdk_sys::{
    RTE_ETH_RSS_IP, RTE_ETH_RSS_L3_DST_ONLY, RTE_ETH_RSS_L3_SRC_ONLY, RTE_ETH_RSS_L4_DST_ONLY,
    RTE_ETH_RSS_L4_SRC_ONLY, RTE_ETH_RSS_SCTP, RTE_ETH_RSS_TCP, RTE_ETH_RSS_UDP, shim_port_info,
};
use packet::{RssFields, RssSpec};
use std::ffi::c_int;

/// The types of frames whose ports are hashed.
const PORTS: u64 = RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;
/// The types that are requested if the driver supports them: addresses, and ports if present.
const TYPES: u64 = RTE_ETH_RSS_IP | PORTS;
/// The bits that take one of two addresses or ports out of the hash.
const ONLY: u64 =
    RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY | RTE_ETH_RSS_L4_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY;
/// The length of the key if the driver does not report it (Toeplitz, 320 bits), bytes.
const DEFAULT_KEY_BYTES: usize = 40;

/// The spread of frames over the queues of a port, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spread {
    /// The two directions of a connection reach one queue; also true with a single queue.
    Symmetric,
    /// The hash that was requested is in force. By it a flow stays on one queue, its other direction may reach another.
    Requested,
    /// A flow stays on one queue, its other direction may reach another.
    OneWay,
    /// The spread is not reported by the driver: the producer of the queues decides.
    Unknown,
}

/// The hash of one port: the types of frames, and the key.
#[derive(Debug)]
pub(super) struct Rss {
    types: u64,
    key: Vec<u8>,
    /// The hash that was requested; `None`: the best for this program, if the driver takes it.
    requested: Option<RssSpec>,
}

impl Rss {
    /// Returns the settings for this many queues of a driver with this information.
    ///
    /// # Errors
    /// Returns the reason why this driver cannot have the hash that was requested.
    pub(super) fn new(
        queues: u16,
        info: &shim_port_info,
        requested: Option<&RssSpec>,
    ) -> Result<Self, String> {
        let bytes = match info.hash_key_size {
            0 => DEFAULT_KEY_BYTES,
            bytes => usize::from(bytes.min(u16::from(u8::MAX))),
        };
        let types = match requested {
            Some(requested) => {
                let given = requested.key.given().len();
                if given > bytes {
                    return Err(format!("its key has {bytes} bytes, and {given} are given"));
                }
                types_of(&requested.fields, queues, info)?
            }
            None if queues > 1 => info.rss_types & TYPES,
            None => 0,
        };
        let key = requested.copied().unwrap_or_default().key.bytes(bytes);
        Ok(Self { types, key, requested: requested.copied() })
    }

    /// Returns what configuring the port needs: types of frames (0: nothing is spread), key, and its bytes.
    pub(super) fn configuration(&mut self) -> (u64, *mut u8, u8) {
        (self.types, self.key.as_mut_ptr(), self.key.len() as u8)
    }

    /// Reads what is in force at a started port, after setting it once more: not every driver applies the key
    /// when it is configured.
    ///
    /// # Errors
    /// Returns the driver's error if what was requested is not in force; 0 if it gave none.
    pub(super) fn in_force(&mut self, port: u16, queues: u16) -> Result<Spread, c_int> {
        if queues == 1 {
            return Ok(Spread::Symmetric);
        }
        if self.types == 0 {
            return Ok(Spread::Unknown);
        }
        let is_settled = |spread| matches!(spread, Spread::Symmetric | Spread::Requested);
        if let Some(spread) = self.ask(port).filter(|spread| is_settled(*spread)) {
            return Ok(spread);
        }
        let (types, key, bytes) = self.configuration();
        // SAFETY: the port is started, and the key has as many bytes. A refusal shows in what is in force.
        let result = unsafe { dpdk_sys::shim_port_set_rss(port, types, key, bytes) };
        match self.ask(port) {
            Some(spread) if self.requested.is_some() && !is_settled(spread) => Err(result),
            Some(spread) => Ok(spread),
            None if self.requested.is_some() && result != 0 => Err(result),
            // A driver that is configured to spread by these types and does not report the key still
            // keeps a flow together.
            None => Ok(Spread::OneWay),
        }
    }

    fn ask(&self, port: u16) -> Option<Spread> {
        let mut types = 0;
        let mut key = vec![0; self.key.len()];
        // SAFETY: a writable number, and a key of as many bytes as are stated.
        let result = unsafe { dpdk_sys::shim_port_rss(port, &mut types, key.as_mut_ptr(), key.len() as u8) };
        let is_ours = key == self.key;
        (result == 0).then(|| match (types & TYPES, &self.requested) {
            (0, _) => Spread::Unknown,
            (_, None) if is_ours => Spread::Symmetric,
            (_, Some(requested)) if is_ours && types & (TYPES | ONLY) == self.types => {
                if requested.is_symmetric() { Spread::Symmetric } else { Spread::Requested }
            }
            _ => Spread::OneWay,
        })
    }
}

/// The types and bits that mean these fields.
fn types_of(fields: &RssFields, queues: u16, info: &shim_port_info) -> Result<u64, String> {
    let only = |[source, target]: [&str; 2], [source_bit, target_bit]: [u64; 2]| match (
        fields.has(source),
        fields.has(target),
    ) {
        (true, true) => Some(0),
        (true, false) => Some(source_bit),
        (false, true) => Some(target_bit),
        (false, false) => None,
    };
    let addresses = only(["src_addr", "dst_addr"], [RTE_ETH_RSS_L3_SRC_ONLY, RTE_ETH_RSS_L3_DST_ONLY]);
    let ports = only(["src_port", "dst_port"], [RTE_ETH_RSS_L4_SRC_ONLY, RTE_ETH_RSS_L4_DST_ONLY]);
    let Some(addresses) = addresses else {
        return Err(format!("DPDK has no way to ask a port for {fields}: it hashes an address at least"));
    };
    if queues == 1 {
        return Err("it has one receive queue, for which nothing is hashed".to_owned());
    }
    let (offered, bits) = (info.rss_types, addresses | ports.unwrap_or(0));
    let types = offered & (RTE_ETH_RSS_IP | ports.map_or(0, |_| PORTS));
    let lacks_ports = ports.is_some() && types & PORTS == 0;
    if offered & TYPES == 0 {
        return Err("its driver says of no field that it can be hashed".to_owned());
    }
    if types & RTE_ETH_RSS_IP == 0 || lacks_ports || offered & bits != bits {
        return Err(format!("its driver cannot hash {fields}"));
    }
    Ok(types | bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Toeplitz;

    fn info(hash_key_size: u16, rss_types: u64) -> shim_port_info {
        // SAFETY: numbers, for which zero is a value.
        shim_port_info { hash_key_size, rss_types, ..unsafe { std::mem::zeroed() } }
    }

    fn usual(queues: u16, info: &shim_port_info) -> Rss {
        Rss::new(queues, info, None).expect("nothing was requested")
    }

    #[test]
    fn the_key_is_the_wires_own() {
        let rss = usual(2, &info(40, u64::MAX));
        assert_eq!(rss.key, Toeplitz::SYMMETRIC_KEY[..40]);
        assert_eq!(rss.types, TYPES);
        assert_eq!(usual(2, &info(52, 0)).key.len(), 52);
        assert_eq!(usual(2, &info(0, 0)).key.len(), DEFAULT_KEY_BYTES);
    }

    #[test]
    fn one_queue_needs_no_hash() {
        assert_eq!(usual(1, &info(40, u64::MAX)).types, 0);
        assert_eq!(usual(2, &info(40, 0)).types, 0);
        assert_eq!(usual(2, &info(40, RTE_ETH_RSS_IP | 1 << 40)).types, RTE_ETH_RSS_IP);
    }

    #[test]
    fn requested_fields_are_types_and_bits() {
        let types = |fields: &str| {
            let requested = RssSpec { fields: fields.parse().expect(fields), ..RssSpec::default() };
            Rss::new(2, &info(40, u64::MAX), Some(&requested)).expect(fields).types
        };
        assert_eq!(types("src_addr+dst_addr+src_port+dst_port"), TYPES);
        assert_eq!(types("src_addr+dst_addr"), RTE_ETH_RSS_IP);
        assert_eq!(types("src_addr"), RTE_ETH_RSS_IP | RTE_ETH_RSS_L3_SRC_ONLY);
        assert_eq!(types("dst_addr+dst_port"), TYPES | RTE_ETH_RSS_L3_DST_ONLY | RTE_ETH_RSS_L4_DST_ONLY);
    }

    #[test]
    fn a_driver_says_what_it_cannot_hash() {
        let refused = |fields: &str, key: &str, queues, info: &shim_port_info| {
            let requested = RssSpec { fields: fields.parse().expect(fields), key: key.parse().expect(key) };
            Rss::new(queues, info, Some(&requested)).expect_err(fields)
        };
        let all = info(40, u64::MAX);
        assert!(refused("src_port", "6d5a", 2, &all).contains("an address at least"));
        assert!(refused("src_addr", "6d5a", 1, &all).contains("one receive queue"));
        assert!(refused("src_addr", &"01".repeat(41), 2, &all).contains("40 bytes, and 41"));
        assert!(refused("src_addr", "6d5a", 2, &info(40, TYPES)).contains("cannot hash src_addr"));
        let addresses = info(40, RTE_ETH_RSS_IP);
        assert!(refused("src_addr+src_port", "6d5a", 2, &addresses).contains("cannot hash"));
        assert!(refused("src_addr", "6d5a", 2, &info(40, 0)).contains("of no field"));
    }
}
