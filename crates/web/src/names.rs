//! The names by which this server may be asked.
//!
//! A page of another site can have its name resolve to this server's address. Its requests have that name in `Host`.

use crate::certificate::Certificate;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The names by which a server may be asked: those of loopback, of its certificate, and those that were set.
#[derive(Debug, Default)]
pub(crate) struct ServerNames {
    set: Vec<String>,
    certificate: Option<Certificate>,
}

impl ServerNames {
    pub(crate) fn new(set: Vec<String>, certificate: Option<Certificate>) -> Self {
        Self { set, certificate }
    }

    /// Returns true if a `Host` has one of the names.
    pub(crate) fn has(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        is_loopback(name)
            || self.set.iter().any(|set| set.eq_ignore_ascii_case(name))
            || self.certificate.as_ref().is_some_and(|certificate| certificate.is_for(name))
    }

    /// Returns the hint what to use instead of another name.
    pub(crate) fn hint(&self) -> &'static str {
        match (&self.certificate, self.set.is_empty()) {
            (None, true) => "use localhost or 127.0.0.1",
            _ => "use a name of its certificate, or one of 'web-names'",
        }
    }
}

/// The name or address in a `Host`, without brackets and port.
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, port)
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    (!name.is_empty() && is_port(port)).then_some(name)
}

fn is_loopback(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || name.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// Returns true if a text is nothing, or a colon and the digits of a port.
fn is_port(port: &str) -> bool {
    port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_this_machine_are_loopback() {
        let names = ServerNames::default();
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"] {
            assert!(names.has(host), "{host}");
        }
        let others = [
            "",
            ":8080",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "127.0.0.1:",
            "127.0.0.1:x",
            "128.0.0.1",
            "0.0.0.0",
            "127.1",
            "2130706433",
            "[::1",
            "[::2]",
            "::1",
            "[::1]x",
            "[localhost]",
            "[::ffff:127.0.0.1]",
            "localhost:8080:8080",
            "localhost@example.org",
            "localhost:99999",
            "localhost ",
        ];
        for host in others {
            assert!(!names.has(host), "{host}");
        }
    }

    #[test]
    fn names_that_were_set_are_taken_as_they_are() {
        let names = ServerNames::new(vec!["monitor.example.org".to_owned(), "2001:db8::1".to_owned()], None);
        for host in ["monitor.example.org", "Monitor.Example.Org:8443", "[2001:db8::1]:8443", "localhost"] {
            assert!(names.has(host), "{host}");
        }
        for host in ["example.org", "x.monitor.example.org", "monitor.example.org.", "[2001:db8::2]"] {
            assert!(!names.has(host), "{host}");
        }
    }
}
