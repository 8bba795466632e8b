//! Where a broker is, and as whom it is spoken to.

use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use std::fmt;
use std::str::FromStr;

/// The port that AMQP has without TLS.
const PORT: u16 = 5672;

/// A broker that has not answered for so long is away, seconds.
const HEARTBEAT: u16 = 10;

/// Where a broker is, and as whom it is spoken to. Neither its text nor its `Debug` has the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Broker {
    host: String,
    port: u16,
    vhost: String,
    user: String,
    password: String,
}

/// Why a broker cannot be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerError {
    /// The address asks for TLS.
    Tls,
    /// The text is not an address, for this reason.
    Address(&'static str),
    /// A node cannot have this name.
    Node(String),
    /// The system has no thread to give.
    Thread(String),
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls => {
                f.write_str("amqps://: TLS is not there yet, and nothing is sent in clear in its place")
            }
            // The text may have a password.
            Self::Address(what) => {
                write!(f, "{what}: a broker is amqp://[USER[:PASSWORD]@]HOST[:PORT][/VHOST]")
            }
            Self::Node(name) => {
                write!(f, "{name:?}: the name of a node has 1 to {} bytes", super::LONGEST_NODE)
            }
            Self::Thread(reason) => write!(f, "cannot start a thread for the broker: {reason}"),
        }
    }
}

impl std::error::Error for BrokerError {}

impl Broker {
    /// The same, spoken to as this user.
    pub fn with_user(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: password.into(), ..self }
    }

    /// The user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// `HOST:PORT`.
    pub fn place(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(super) fn uri(&self) -> AMQPUri {
        let userinfo = AMQPUserInfo { username: self.user.clone(), password: self.password.clone() };
        AMQPUri {
            scheme: AMQPScheme::AMQP,
            authority: AMQPAuthority { userinfo, host: self.host.clone(), port: self.port },
            vhost: self.vhost.clone(),
            query: AMQPQueryString { heartbeat: Some(HEARTBEAT), ..AMQPQueryString::default() },
        }
    }
}

impl FromStr for Broker {
    type Err = BrokerError;

    fn from_str(text: &str) -> Result<Self, BrokerError> {
        let (scheme, rest) = text.split_once("://").ok_or(BrokerError::Address("there is no amqp://"))?;
        match scheme.to_ascii_lowercase().as_str() {
            "amqp" => {}
            "amqps" => return Err(BrokerError::Tls),
            _ => return Err(BrokerError::Address("it does not begin with amqp://")),
        }
        if rest.contains(['?', '#']) {
            return Err(BrokerError::Address("there are no options after '?' or '#'"));
        }
        let (authority, vhost) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (user, place),
            None => ("guest:guest", authority),
        };
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(BrokerError::Address("']' is missing"))?;
                (host, port.strip_prefix(':'))
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        let port = port.map_or(Ok(PORT), str::parse);
        if host.is_empty() {
            return Err(BrokerError::Address("the host is missing"));
        }
        Ok(Self {
            host: decoded(host)?,
            port: port.map_err(|_| BrokerError::Address("the port is not a number"))?,
            vhost: if vhost.is_empty() { "/".to_owned() } else { decoded(vhost)? },
            user: decoded(user)?,
            password: decoded(password)?,
        })
    }
}

/// The text with `%41` as `A`.
fn decoded(text: &str) -> Result<String, BrokerError> {
    let wrong = || BrokerError::Address("what follows a '%' is not a character's number");
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        bytes.push(u8::from_str_radix(digits.ok_or_else(wrong)?, 16).map_err(|_| wrong())?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, vhost, .. } = self;
        write!(f, "Broker({user:?} at {} {vhost:?})", self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(String, String, String, String), BrokerError> {
        let Broker { user, password, vhost, .. } = text.parse::<Broker>()?;
        Ok((text.parse::<Broker>()?.place(), vhost, user, password))
    }

    #[test]
    fn addresses_are_read() {
        let of = |place: &str, vhost: &str, user: &str, password: &str| {
            Ok((place.to_owned(), vhost.to_owned(), user.to_owned(), password.to_owned()))
        };
        assert_eq!(parts("amqp://h"), of("h:5672", "/", "guest", "guest"));
        assert_eq!(parts("AMQP://u@h:1/"), of("h:1", "/", "u", ""));
        assert_eq!(parts("amqp://u%40:p%2F@:x@[::1]:9/a%2fb"), of("[::1]:9", "a/b", "u@", "p/@:x"));
        assert_eq!(parts("amqps://u:p@h"), Err(BrokerError::Tls));
        for text in [
            "",
            "h",
            "http://h",
            "amqp://",
            "amqp://h:x",
            "amqp://h:99999",
            "amqp://[::1",
            "amqp://h/%zz",
            "amqp://h/%ff",
            "amqp://h/%é",
            "amqp://h?heartbeat=0",
        ] {
            assert!(matches!(parts(text), Err(BrokerError::Address(_))), "{text}");
        }
    }

    #[test]
    fn no_text_has_the_password() {
        let broker: Broker = "amqp://u:secret@h".parse().expect("an address");
        let other = broker.clone().with_user("v", "secret");
        let wrong = "amqp://u:secret@h:x".parse::<Broker>().expect_err("no address");
        for text in
            [format!("{broker:?} {broker}"), format!("{other:?} {other}"), format!("{wrong:?} {wrong}")]
        {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
