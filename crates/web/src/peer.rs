//! The address of a client.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The address of the client of a request, which its connection adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Returns the addresses that one client has: an address, of IPv6 a network of 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_of_version_6_is_one_client() {
        let parse = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(network(parse("2001:db8:1:2:3::4")), network(parse("2001:db8:1:2:5:6:7:8")));
        assert_ne!(network(parse("2001:db8:1:2::")), network(parse("2001:db8:1:3::")));
        assert_eq!(network(parse("::ffff:192.0.2.1")), parse("192.0.2.1"));
        assert_eq!(network(parse("::1")), parse("::1"));
    }
}
