//! Address prefixes: their text, and the network that an address lies in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address with all bits beyond the first `length` cleared.
pub fn network(address: IpAddr, length: u8) -> IpAddr {
    let length = u32::from(length);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

/// Reads `10.1.2.0/24`.
pub(crate) fn parse(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let (address, length): (IpAddr, u8) = (address.parse().ok()?, length.parse().ok()?);
    let most = if address.is_ipv4() { 32 } else { 128 };
    (length <= most).then_some((address, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_first_bits_alone() {
        let cases = [
            ("10.1.2.3", 24, "10.1.2.0"),
            ("10.1.2.3", 0, "0.0.0.0"),
            ("10.1.2.3", 32, "10.1.2.3"),
            ("255.255.255.255", 9, "255.128.0.0"),
            ("2001:db8:1:2::3", 48, "2001:db8:1::"),
            ("2001:db8:1:2::3", 0, "::"),
            ("2001:db8:1:2::3", 128, "2001:db8:1:2::3"),
        ];
        for (address, length, expected) in cases {
            let address = address.parse().expect("an address");
            assert_eq!(network(address, length).to_string(), expected, "{address}/{length}");
        }
    }

    #[test]
    fn a_prefix_has_a_length_that_its_address_has() {
        assert_eq!(parse("10.0.0.0/8"), Some((IpAddr::from([10, 0, 0, 0]), 8)));
        assert_eq!(parse("::/128"), Some((IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128)));
        for wrong in ["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "10.0.0.0/-1", "10.0.0/8"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
