//! A conversation: both directions of a flow.

use std::fmt;
use std::net::IpAddr;

/// A flow without its direction. Text: `192.0.2.1:443 <-> 198.51.100.7:50000 tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversation {
    /// Address and port of each end.
    pub ends: [(IpAddr, u16); 2],
    /// The IP protocol's number.
    pub protocol: u8,
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |(address, port): (IpAddr, u16)| match address {
            IpAddr::V6(address) => format!("[{address}]:{port}"),
            IpAddr::V4(address) => format!("{address}:{port}"),
        };
        let [one, other] = self.ends.map(end);
        write!(f, "{one} <-> {other} {}", flow::protocol_name(self.protocol))
    }
}
