//! Networks that exporters may be of.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An address with the length of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExporterNetwork {
    address: IpAddr,
    length: u8,
}

impl ExporterNetwork {
    /// Returns true if an address is of the network. One of IPv4 that came over IPv6 is of IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = u32::from(own) ^ u32::from(other);
                differing.leading_zeros() >= u32::from(self.length)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = u128::from(own) ^ u128::from(other);
                differing.leading_zeros() >= u32::from(self.length)
            }
            _ => false,
        }
    }
}

impl FromStr for ExporterNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no network, as 192.0.2.0/24 or 2001:db8::/32, and no address");
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), |length| length.parse::<u8>().map_err(|_| wrong()))?;
        if length > most {
            return Err(wrong());
        }
        // Addresses of IPv4 within those of IPv6 are compared as what they are.
        Ok(match address.to_canonical() {
            IpAddr::V4(own) if address.is_ipv6() && length >= 96 => {
                Self { address: IpAddr::V4(own), length: length - 96 }
            }
            _ => Self { address, length },
        })
    }
}

impl fmt::Display for ExporterNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_its_addresses_alone() {
        let has = |network: &str, address: &str| {
            let network: ExporterNetwork = network.parse().expect("a network");
            network.contains(address.parse().expect("an address"))
        };
        assert!(has("192.0.2.0/24", "192.0.2.255") && !has("192.0.2.0/24", "192.0.3.0"));
        assert!(has("192.0.2.7", "192.0.2.7") && !has("192.0.2.7", "192.0.2.6"));
        assert!(has("192.0.2.0/24", "::ffff:192.0.2.1") && !has("::/0", "192.0.2.1"));
        assert!(has("::ffff:192.0.2.0/120", "192.0.2.1") && !has("::ffff:192.0.2.0/120", "192.0.3.1"));
        assert!(has("0.0.0.0/0", "255.0.0.1") && has("::/0", "2001:db8::1"));
        assert!(has("2001:db8::/32", "2001:db8:ffff::1") && !has("2001:db8::/32", "2001:db9::1"));
        for wrong in ["", "192.0.2.0/33", "::/129", "192.0.2/24", "a", "1.2.3.4/", "1.2.3.4/-1"] {
            assert!(wrong.parse::<ExporterNetwork>().is_err(), "{wrong}");
        }
    }
}
