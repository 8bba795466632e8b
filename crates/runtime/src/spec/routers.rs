//! The address where flow records of routers are received (`ipfix://[HOST]:PORT`), and the routers that may send.

use super::SOURCE;
use crate::quantity;
use clap::Args;
use router::{ExporterNetwork, SamplingRate};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

/// What is received of routers, and how.
#[derive(Clone, Debug, Default, Args)]
pub struct RouterOptions {
    /// Where they send to, in the place of sources of frames.
    #[arg(skip)]
    pub listener: Option<Listener>,
    /// Only routers of these networks or addresses: 192.0.2.0/24,2001:db8::1 [default: all]
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "PREFIX,…", env = "EDISON_FROM", hide_env = true, value_delimiter = ',')]
    pub from: Vec<ExporterNetwork>,
    /// Routers that do not tell their sampling rate count one packet of N
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "N", env = "EDISON_SAMPLING", hide_env = true, value_parser = quantity::sampling)]
    pub sampling: Option<SamplingRate>,
    /// Keep a window open for so long after its end, for records of routers that come late
    #[arg(help_heading = SOURCE, hide_short_help = true, long, value_name = "TIME", env = "EDISON_WAIT", hide_env = true, value_parser = notation::duration)]
    pub wait: Option<Duration>,
}

/// The schemes, each with its usual port. All versions are received whichever it is.
const SCHEMES: [(&str, u16); 3] = [("ipfix", 4739), ("netflow", 2055), ("sflow", 6343)];

/// The address to listen at, with its scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    scheme: &'static str,
    /// The host; empty for all addresses of the machine.
    host: String,
    port: u16,
}

impl Listener {
    pub(crate) fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The addresses, of which the first is listened at that can be.
    pub(crate) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        if self.host.is_empty() {
            // The first receives IPv4 too; a machine without IPv6 has the second.
            return Ok(vec![
                SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.port)),
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port)),
            ]);
        }
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        Ok((host, self.port).to_socket_addrs()?.collect())
    }
}

impl FromStr for Listener {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not ipfix://[HOST]:PORT, netflow://[HOST]:PORT or sflow://[HOST]:PORT, as ipfix://:4739"
            )
        };
        let (scheme, place) = text.split_once("://").ok_or_else(wrong)?;
        let (scheme, usual) = SCHEMES.into_iter().find(|(known, _)| *known == scheme).ok_or_else(wrong)?;
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (place, usual),
        };
        let is_bare = !host.contains(':') || host.starts_with('[') && host.ends_with(']');
        if !is_bare || host.contains(['/', '?', '@', ' ']) {
            return Err(wrong());
        }
        Ok(Self { scheme, host: host.to_owned(), port })
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", self.scheme, self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_has_a_host_and_a_port() {
        for (text, shown) in [
            ("ipfix://:4739", "ipfix://:4739"),
            ("ipfix://", "ipfix://:4739"),
            ("netflow://192.0.2.1", "netflow://192.0.2.1:2055"),
            ("netflow://[::1]:9995", "netflow://[::1]:9995"),
            ("ipfix://[::1]", "ipfix://[::1]:4739"),
            ("sflow://", "sflow://:6343"),
        ] {
            let listener: Listener = text.parse().expect("a listener");
            assert_eq!(listener.to_string(), shown);
            assert!(!listener.addresses().expect("addresses").is_empty());
        }
        for wrong in [
            "",
            "ipfix:4739",
            "http://:80",
            "ipfix://:x",
            "ipfix://::1:4739",
            "ipfix://a/b",
            "ipfix://:99999",
        ] {
            assert!(wrong.parse::<Listener>().is_err(), "{wrong}");
        }
    }
}
