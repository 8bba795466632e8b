//! The address of a broker, and the user who connects to it.

use super::tls::Tls;
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo, SASLMechanism};
use std::fmt;
use std::str::FromStr;

/// The port that AMQP has without TLS.
const PORT: u16 = 5672;
/// The port that AMQP has with TLS.
const TLS_PORT: u16 = 5671;
/// The user of an address without one. The broker accepts this user from its own machine only.
const GUEST: &str = "guest";

/// The most bytes of a frame. The library keeps 64 frames of memory for each connection, 8 MiB of the broker's usual ones.
const FRAME_BYTES: u32 = 32 << 10;

/// A broker that has not answered for so long is away, seconds.
const HEARTBEAT: u16 = 10;

/// The address of a broker, and the user who connects to it. Neither its text nor its `Debug` has the password.
#[derive(Clone)]
pub struct BrokerAddress {
    is_tls: bool,
    host: String,
    port: u16,
    vhost: String,
    user: Option<String>,
    password: Option<String>,
    tls: Option<Tls>,
}

/// The reason why a broker cannot be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokerError {
    /// The address requires TLS, and no certificate authority is configured.
    NoAuthority,
    /// The address is without TLS, and there is an authority or a certificate.
    ClearText,
    /// The address has a certificate and names no user whose it is.
    NoUser,
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
            Self::NoAuthority => f.write_str(
                "amqps://: 'ca' is missing, the file of the authority that the broker's certificate is of",
            ),
            Self::ClearText => {
                f.write_str("amqp:// is clear text, where certificates are of no use: say amqps://")
            }
            Self::NoUser => f.write_str(
                "the address does not say whose the certificate is: amqps://USER@HOST, and USER is its common name (CN)",
            ),
            // The text may have a password.
            Self::Address(what) => {
                write!(f, "{what}: a broker is amqp[s]://[USER[:PASSWORD]@]HOST[:PORT][/VHOST]")
            }
            Self::Node(name) => {
                write!(f, "{name:?}: the name of a node has 1 to {} bytes", super::LONGEST_NODE)
            }
            Self::Thread(reason) => write!(f, "cannot start a thread for the broker: {reason}"),
        }
    }
}

impl std::error::Error for BrokerError {}

impl BrokerAddress {
    /// Returns this broker with another user and password.
    pub fn with_user(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: Some(user.into()), password: Some(password.into()), ..self }
    }

    /// Returns this broker with another password of its user.
    pub fn with_password(self, password: impl Into<String>) -> Self {
        let user = self.user().to_owned();
        self.with_user(user, password)
    }

    /// Returns this broker with settings of TLS, by whose authorities it is trusted. Where they have a certificate and there is no password, the
    /// certificate says who speaks (`EXTERNAL`).
    ///
    /// # Errors
    /// If the address is one of clear text.
    pub fn with_tls(self, tls: Tls) -> Result<Self, BrokerError> {
        if self.is_tls { Ok(Self { tls: Some(tls), ..self }) } else { Err(BrokerError::ClearText) }
    }

    /// Checks that the broker can be connected to: the settings of TLS are as the address says.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), BrokerError> {
        match (self.is_tls, &self.tls) {
            (true, None) => Err(BrokerError::NoAuthority),
            _ if self.is_external() && self.user.is_none() => Err(BrokerError::NoUser),
            _ => Ok(()),
        }
    }

    /// The user.
    pub fn user(&self) -> &str {
        self.user.as_deref().unwrap_or(GUEST)
    }

    /// The virtual host.
    pub fn vhost(&self) -> &str {
        &self.vhost
    }

    /// The host, without its port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns true if the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns the settings of TLS, if any: the authorities that are trusted.
    pub(super) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Returns true if the certificate authenticates the user, without a password.
    pub(super) fn is_external(&self) -> bool {
        self.password.is_none() && self.tls.as_ref().is_some_and(Tls::has_certificate)
    }

    /// Returns `HOST:PORT`.
    pub fn place(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(super) fn uri(&self) -> AMQPUri {
        let password = match (&self.password, &self.user) {
            (Some(password), _) => password.clone(),
            (None, None) => GUEST.to_owned(),
            (None, Some(_)) => String::new(),
        };
        let userinfo = AMQPUserInfo { username: self.user().to_owned(), password };
        AMQPUri {
            scheme: if self.is_tls { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
            authority: AMQPAuthority { userinfo, host: self.host.clone(), port: self.port },
            vhost: self.vhost.clone(),
            query: AMQPQueryString {
                heartbeat: Some(HEARTBEAT),
                frame_max: Some(FRAME_BYTES),
                auth_mechanism: self.is_external().then_some(SASLMechanism::External),
                ..AMQPQueryString::default()
            },
        }
    }
}

impl FromStr for BrokerAddress {
    type Err = BrokerError;

    fn from_str(text: &str) -> Result<Self, BrokerError> {
        let (scheme, rest) = text.split_once("://").ok_or(BrokerError::Address("there is no amqp://"))?;
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "amqp" => false,
            "amqps" => true,
            _ => return Err(BrokerError::Address("it does not begin with amqp:// or amqps://")),
        };
        if rest.contains(['?', '#']) {
            return Err(BrokerError::Address("there are no options after '?' or '#'"));
        }
        let (authority, vhost) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let (user, password) = match user.and_then(|user| user.split_once(':')) {
            Some((user, password)) => (Some(user), Some(password)),
            None => (user, None),
        };
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
        let port = port.map_or(Ok(if is_tls { TLS_PORT } else { PORT }), str::parse);
        if host.is_empty() {
            return Err(BrokerError::Address("the host is missing"));
        }
        Ok(Self {
            is_tls,
            host: decoded(host)?,
            port: port.map_err(|_| BrokerError::Address("the port is not a number"))?,
            vhost: if vhost.is_empty() { "/".to_owned() } else { decoded(vhost)? },
            user: user.map(decoded).transpose()?,
            password: password.map(decoded).transpose()?,
            tls: None,
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

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

impl fmt::Debug for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, vhost, scheme) = (self.user(), &self.vhost, if self.is_tls { "amqps" } else { "amqp" });
        write!(f, "Broker({user:?} at {scheme} {} {vhost:?})", self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(String, String, String, String), BrokerError> {
        let broker = text.parse::<BrokerAddress>()?;
        let AMQPUserInfo { username, password } = broker.uri().authority.userinfo;
        Ok((broker.place(), broker.vhost, username, password))
    }

    #[test]
    fn addresses_are_read() {
        let of = |place: &str, vhost: &str, user: &str, password: &str| {
            Ok((place.to_owned(), vhost.to_owned(), user.to_owned(), password.to_owned()))
        };
        assert_eq!(parts("amqp://h"), of("h:5672", "/", "guest", "guest"));
        assert_eq!(parts("AMQP://u@h:1/"), of("h:1", "/", "u", ""));
        assert_eq!(parts("amqp://u%40:p%2F@:x@[::1]:9/a%2fb"), of("[::1]:9", "a/b", "u@", "p/@:x"));
        assert_eq!(parts("amqps://u:p@h"), of("h:5671", "/", "u", "p"));
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
    fn nothing_is_sent_in_clear_in_the_place_of_tls() {
        let checked = |text: &str| text.parse::<BrokerAddress>().expect("an address").check();
        assert_eq!(checked("amqp://h"), Ok(()));
        assert_eq!(checked("amqps://u:p@h"), Err(BrokerError::NoAuthority));
        let scheme = |text: &str| text.parse::<BrokerAddress>().expect("an address").uri().scheme;
        assert_eq!((scheme("amqp://h"), scheme("amqps://h")), (AMQPScheme::AMQP, AMQPScheme::AMQPS));
    }

    #[test]
    fn no_text_has_the_password() {
        let broker: BrokerAddress = "amqp://u:secret@h".parse().expect("an address");
        let other = broker.clone().with_user("v", "secret");
        let wrong = "amqp://u:secret@h:x".parse::<BrokerAddress>().expect_err("no address");
        for text in
            [format!("{broker:?} {broker}"), format!("{other:?} {other}"), format!("{wrong:?} {wrong}")]
        {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
