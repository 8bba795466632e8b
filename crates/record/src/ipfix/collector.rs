//! The collector to which records are exported: `ipfix://HOST:PORT`, with options after a question mark.

use super::message::LONGEST;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

/// IANA's port for IPFIX.
const PORT: u16 = 4739;
/// Octets of a message over UDP: fits into an Ethernet frame with IPv6, tunnels and VPNs around it (RFC 7011,
/// section 10.3.3, requires 512 where the path's MTU is not known; a tap's collector is usually on known
/// networks).
const DATAGRAM: usize = 1400;
/// Octets of a message over TCP: a few dozen segments.
const CHUNK: usize = 16 << 10;
/// The most octets in a datagram over IPv4.
const LONGEST_DATAGRAM: usize = 65_507;
/// The smallest message size that may be requested: what every network carries. A record that is longer gets
/// its own message.
const SHORTEST: usize = 512;
/// Records a second over UDP, where nothing else limits a replay: a collector with a default socket buffer
/// receives them even when it is not scheduled for some ten milliseconds.
const UDP_RATE: u64 = 50_000;
/// Templates are resent over UDP after this time.
const RESEND: Duration = Duration::from_secs(60);

/// The transport protocol that carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP, with one message a datagram.
    Udp,
    /// TCP, with a stream of messages.
    Tcp,
}

/// A collector and how to send to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    url: String,
    host: String,
    port: u16,
    pub(super) transport: Transport,
    /// Records a second; `None` is unlimited.
    pub(super) rate: Option<u64>,
    /// Octets of a message at most.
    pub(super) message: usize,
    /// The time between two transmissions of templates over UDP.
    pub(super) resend: Duration,
    /// The observation domain; `None` is the one of the node's name.
    pub(super) domain: Option<u32>,
}

impl Collector {
    /// The addresses of the host, in the resolver's order.
    pub(super) fn addresses(&self) -> std::io::Result<Vec<SocketAddr>> {
        let found: Vec<_> = (self.host.as_str(), self.port).to_socket_addrs()?.collect();
        if found.is_empty() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "the host has no address"));
        }
        Ok(found)
    }

    fn option(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = |what: &str, least: u64, most: u64| {
            quantity(value)
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| format!("'{value}' is no {what}: a number from {least} to {most}"))
        };
        match name {
            "transport" => {
                self.transport = match value {
                    "udp" => Transport::Udp,
                    "tcp" => Transport::Tcp,
                    _ => return Err(format!("'{value}' is no transport: udp or tcp")),
                };
            }
            "rate" if value == "off" => self.rate = None,
            "rate" => self.rate = Some(number("rate in records a second, or off", 1, 1_000_000_000)?),
            "message" => {
                let longest = match self.transport {
                    Transport::Udp => LONGEST_DATAGRAM,
                    Transport::Tcp => LONGEST,
                };
                self.message = number("length of a message", SHORTEST as u64, longest as u64)? as usize;
            }
            "resend" => self.resend = Duration::from_secs(number("time in seconds", 1, 86_400)?),
            "domain" => self.domain = Some(number("observation domain", 0, u32::MAX.into())? as u32),
            _ => {
                return Err(format!("unknown option '{name}': transport, rate, message, resend, domain"));
            }
        }
        Ok(())
    }
}

/// A number, optionally followed by `k` or `M`.
fn quantity(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    // Otherwise a sign would be accepted.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Host and port; an IPv6 address is in brackets if a port follows.
fn authority(text: &str) -> Result<(String, u16), String> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("the bracket is not closed")?;
        let port = match rest {
            "" => None,
            _ => Some(rest.strip_prefix(':').ok_or_else(|| format!("'{rest}' stands behind the bracket"))?),
        };
        host.parse::<std::net::Ipv6Addr>().map_err(|_| format!("'{host}' is no IPv6 address"))?;
        (host, port)
    } else {
        match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address stands in brackets: [2001:db8::1]:4739".to_owned());
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    let port = port.map(|port| match port.parse() {
        Ok(0) | Err(_) => Err(format!("'{port}' is no port")),
        Ok(number) => Ok(number),
    });
    Ok((host.to_owned(), port.transpose()?.unwrap_or(PORT)))
}

impl FromStr for Collector {
    type Err = CollectorError;

    fn from_str(url: &str) -> Result<Self, CollectorError> {
        let refused = |reason: String| CollectorError { url: url.to_owned(), reason };
        let scheme = "write ipfix://HOST:PORT, or ipfix+tcp://HOST:PORT";
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refused(scheme.to_owned()))?;
        let transport = match scheme.to_ascii_lowercase().as_str() {
            "ipfix" | "ipfix+udp" => Transport::Udp,
            "ipfix+tcp" => Transport::Tcp,
            _ => {
                let known = "write ipfix:// (UDP) or ipfix+tcp://";
                return Err(refused(format!("nothing is exported by '{scheme}': {known}")));
            }
        };
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '#', '@']) {
            return Err(refused("a collector has no path, user or fragment".to_owned()));
        }
        let (host, port) = authority(place).map_err(refused)?;
        let mut collector = Self {
            url: String::new(),
            host,
            port,
            transport,
            rate: None,
            message: 0,
            resend: RESEND,
            domain: None,
        };
        let mut pairs = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let pair = option.split_once('=');
            pairs.push(pair.ok_or_else(|| refused(format!("'{option}' has no value: name=value")))?);
        }
        // The transport determines the other defaults.
        for (name, value) in pairs.iter().filter(|(name, _)| *name == "transport") {
            collector.option(name, value).map_err(refused)?;
        }
        (collector.rate, collector.message) = match collector.transport {
            Transport::Udp => (Some(UDP_RATE), DATAGRAM),
            Transport::Tcp => (None, CHUNK),
        };
        for (name, value) in pairs {
            collector.option(name, value).map_err(refused)?;
        }
        collector.url = url.to_owned();
        Ok(collector)
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// The reason why the URL of a collector cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorError {
    url: String,
    reason: String,
}

impl fmt::Display for CollectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "collector '{}': {}", self.url, self.reason)
    }
}

impl std::error::Error for CollectorError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Collector {
        url.parse().unwrap()
    }

    #[test]
    fn reads_hosts_and_ports() {
        for (url, host, port) in [
            ("ipfix://127.0.0.1:9995", "127.0.0.1", 9995),
            ("ipfix://collector.example", "collector.example", 4739),
            ("IPFIX://localhost:1/", "localhost", 1),
            ("ipfix+tcp://[::1]:2055", "::1", 2055),
            ("ipfix://[2001:db8::1]?rate=off", "2001:db8::1", 4739),
        ] {
            let collector = read(url);
            assert_eq!((collector.host.as_str(), collector.port), (host, port), "{url}");
            assert_eq!(collector.to_string(), url);
        }
    }

    #[test]
    fn the_transport_decides_what_is_usual_and_options_go_before() {
        let usual = read("ipfix://h");
        assert_eq!((usual.transport, usual.rate, usual.message), (Transport::Udp, Some(UDP_RATE), DATAGRAM));
        for url in ["ipfix+tcp://h", "ipfix://h?transport=tcp"] {
            let tcp = read(url);
            assert_eq!((tcp.transport, tcp.rate, tcp.message), (Transport::Tcp, None, CHUNK), "{url}");
        }
        let told = read("ipfix://h?message=9000&rate=200k&resend=5&domain=7");
        assert_eq!((told.message, told.rate, told.domain), (9000, Some(200_000), Some(7)));
        assert_eq!(told.resend, Duration::from_secs(5));
        assert_eq!(read("ipfix://h?rate=1M&transport=tcp").rate, Some(1_000_000));
    }

    #[test]
    fn says_in_one_line_what_is_wrong() {
        for (url, reason) in [
            ("127.0.0.1:9995", "ipfix://HOST:PORT"),
            ("http://h", "ipfix+tcp://"),
            ("ipfix://", "the host is missing"),
            ("ipfix://:99", "the host is missing"),
            ("ipfix://h:0", "no port"),
            ("ipfix://h:66000", "no port"),
            ("ipfix://2001:db8::1", "brackets"),
            ("ipfix://[::1", "not closed"),
            ("ipfix://[::g]:1", "no IPv6 address"),
            ("ipfix://[::1]1", "behind the bracket"),
            ("ipfix://h/path", "no path"),
            ("ipfix://h?speed=1", "unknown option 'speed'"),
            ("ipfix://h?rate", "no value"),
            ("ipfix://h?rate=0", "no rate"),
            ("ipfix://h?rate=-1", "no rate"),
            ("ipfix://h?rate=99999999999999999999", "no rate"),
            ("ipfix://h?message=99", "from 512 to 65507"),
            ("ipfix+tcp://h?message=65536", "from 512 to 65535"),
            ("ipfix://h?transport=sctp", "udp or tcp"),
        ] {
            let error = url.parse::<Collector>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(url) && !error.contains('\n'), "{error}");
        }
    }
}
