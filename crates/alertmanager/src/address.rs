//! The address of an Alertmanager.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use ureq::http::Uri;

/// The address of an Alertmanager, as `http://127.0.0.1:9093`, without a slash at its end. It may have a path, before which a proxy stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlertmanagerUrl {
    text: String,
    is_tls: bool,
    is_loopback: bool,
}

impl AlertmanagerUrl {
    /// Returns true if the Alertmanager is spoken to over TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns true if the Alertmanager is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.is_loopback
    }

    /// Returns the URL that takes alerts.
    pub(crate) fn alerts(&self) -> String {
        format!("{}/api/v2/alerts", self.text)
    }
}

impl fmt::Display for AlertmanagerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for AlertmanagerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('@') {
            // It is not repeated: it may have a password.
            return Err("an address has no user and no password: a file of credentials has them".to_owned());
        }
        let wrong = || format!("'{text}' is no address of an Alertmanager, as http://127.0.0.1:9093");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        if uri.query().is_some() || text.contains('#') {
            return Err(format!("'{text}': an address ends with its path"));
        }
        let host = uri.host().ok_or_else(wrong)?;
        if uri.port_u16().is_none() && uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return Err(format!("'{text}': its port must be a number from 1 to 65535"));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        Ok(Self { text: text.trim_end_matches('/').to_owned(), is_tls, is_loopback })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_it_is_spoken_to() {
        let read = |text: &str| text.parse::<AlertmanagerUrl>();
        let address = read("http://127.0.0.1:9093/").expect("an address");
        assert_eq!(address.alerts(), "http://127.0.0.1:9093/api/v2/alerts");
        assert_eq!((address.is_tls(), address.is_loopback()), (false, true));
        let address = read("https://alerts.example.org/am").expect("an address");
        assert_eq!(address.alerts(), "https://alerts.example.org/am/api/v2/alerts");
        assert_eq!((address.is_tls(), address.is_loopback()), (true, false));
        assert!(read("http://[::1]:9093").expect("an address").is_loopback());
        for wrong in [
            "",
            "http://127.0.0.1:99999",
            "http://x:",
            "127.0.0.1:9093",
            "ftp://x",
            "http://",
            "http://x/?a=b",
            "http://x/#a",
            "http://a b",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(!read("http://user:secret@x").expect_err("a password").contains("secret"));
    }
}
