//! The addresses of Kafka's brokers, and the names of the topics.

use crate::Topic;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The port where none is named.
const PORT: u16 = 9092;
/// The longest name of a topic, characters.
const LONGEST_TOPIC: usize = 249;

/// Brokers to begin with: any of a cluster tell of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers(Vec<String>);

impl Servers {
    /// Returns the address of each broker as `HOST:PORT`.
    pub fn each(&self) -> &[String] {
        &self.0
    }

    /// True if all are on this machine, as far as their names say.
    pub fn are_loopback(&self) -> bool {
        self.0.iter().all(|server| {
            let host = server.rsplit_once(':').map_or(server.as_str(), |(host, _)| host);
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
        })
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl FromStr for Servers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|server| parse_server(server.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn parse_server(text: &str) -> Result<String, String> {
    let wrong = || format!("'{text}' is no HOST:PORT, as kafka1:9092");
    if text.contains("://") || text.contains('@') || text.contains('/') {
        return Err(wrong());
    }
    // The colons of an address of IPv6 without brackets are none before a port.
    let is_bare = text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
    if is_bare {
        return Ok(format!("[{text}]:{PORT}"));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && (!host.contains(':') || host.ends_with(']')) => {
            (host, port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(wrong)?)
        }
        Some(_) if text.ends_with(']') => (text, PORT),
        Some(_) => return Err(wrong()),
        None => (text, PORT),
    };
    let is_host = !host.is_empty() && host.chars().all(|letter| letter.is_ascii_graphic());
    if is_host { Ok(format!("{host}:{port}")) } else { Err(wrong()) }
}

/// The names of the topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    prefix: String,
}

impl Default for Topics {
    fn default() -> Self {
        Self { prefix: "edison".to_owned() }
    }
}

impl Topics {
    /// The name of a topic.
    pub fn name(&self, topic: Topic) -> String {
        format!("{}.{}", self.prefix, topic.name())
    }
}

impl FromStr for Topics {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&letter);
        let room = LONGEST_TOPIC - ".answers".len();
        if text.is_empty() || text.len() > room || !text.chars().all(is_letter) {
            return Err(format!(
                "'{text}' cannot begin the name of a topic: it has 1 to {room} letters, digits, '.', '_' and '-'"
            ));
        }
        Ok(Self { prefix: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_a_host_and_a_port() {
        for (text, expected) in [
            ("kafka1:9093", "kafka1:9093"),
            ("kafka1", "kafka1:9092"),
            ("a:1, b:2", "a:1,b:2"),
            ("::1", "[::1]:9092"),
            ("[::1]:19092", "[::1]:19092"),
            ("[::1]", "[::1]:9092"),
        ] {
            assert_eq!(text.parse::<Servers>().expect(text).to_string(), expected);
        }
        for text in ["", "a:1,", ":9092", "a:0", "a:65536", "a:b", "kafka://a:1", "u@a:1", "a b:1", "::1:x"] {
            assert!(text.parse::<Servers>().is_err(), "{text}");
        }
        let is_loopback = |text: &str| text.parse::<Servers>().expect(text).are_loopback();
        assert!(is_loopback("localhost:1,127.0.0.1:2,[::1]:3") && !is_loopback("localhost:1,kafka1:2"));
    }

    #[test]
    fn topics_have_names_that_kafka_takes() {
        assert_eq!(Topics::default().name(Topic::Events), "edison.events");
        assert_eq!("a.b-c_1".parse::<Topics>().expect("a prefix").name(Topic::Rows), "a.b-c_1.rows");
        for text in ["", "a b", "ä", "a/b", &"x".repeat(242)] {
            assert!(text.parse::<Topics>().is_err(), "{text}");
        }
    }
}
