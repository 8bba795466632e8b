//! Connecting, and what goes wrong in words.

use super::broker::BrokerAddress;
use super::room::Room;
use super::tls::{self, Tls};
use super::{TIMEOUT, wire};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::uri::AMQPAuthority;
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, Error, ErrorKind};
use std::future::Future;
use std::io;
use std::sync::Arc;
use tokio::time::timeout;

/// A connection of the library alone, over the same TLS, without what this module makes of it.
///
/// # Errors
/// Returns why there is no connection, in words.
pub async fn plain_connection(broker: &BrokerAddress, name: &str) -> Result<Connection, String> {
    connect(broker, name, None).await
}

/// Connects, within bounded time. `name`: what the broker's operator sees of it. `room`: for the bodies of messages, where it is limited.
pub(super) async fn connect(
    broker: &BrokerAddress,
    name: &str,
    room: Option<&Arc<Room>>,
) -> Result<Connection, String> {
    let options = ConnectionProperties::default().with_connection_name(name.into());
    broker.check().map_err(|error| error.to_string())?;
    let (tls, room) = (broker.tls().cloned(), room.cloned());
    let connected = Connection::connector(
        broker.uri(),
        wire::runtime(),
        async move |uri, _| {
            let AMQPAuthority { host, port, .. } = &uri.authority;
            Ok(AsyncTcpStream::Plain(wire::connect(host, *port, tls.as_ref(), room.as_ref()).await?))
        },
        options,
    );
    match timeout(TIMEOUT * 3, connected).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if is_refused(&error) => Err(refused(broker)),
        Ok(Err(error)) => Err(unopened(broker, &error)),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

fn refused(broker: &BrokerAddress) -> String {
    let user = broker.user();
    match broker.is_external() {
        true => format!(
            "it refuses the certificate of user {user:?} (ACCESS_REFUSED): it needs EXTERNAL, and a user of the certificate's common name"
        ),
        false => format!("it refuses user {user:?} or the password (ACCESS_REFUSED)"),
    }
}

/// Returns the reason why a connection did not come about, in words.
fn unopened(broker: &BrokerAddress, error: &Error) -> String {
    let reason = words(error);
    match error.kind() {
        ErrorKind::IOError(error) if tls::words(error).is_some() => reason,
        ErrorKind::IOError(_) if reason != BROKEN => reason,
        ErrorKind::IOError(_) | ErrorKind::ParsingError(_) | ErrorKind::InvalidConnectionState(_) => {
            match (broker.is_tls(), broker.tls().is_some_and(Tls::has_certificate)) {
                (false, _) => format!("{BROKEN} at once: does it want TLS there (amqps://)?"),
                (true, false) => {
                    format!(
                        "{BROKEN} at once: does it want a client certificate ('certificate' and 'key-file')?"
                    )
                }
                (true, true) => format!("{BROKEN} at once: does it refuse the certificate?"),
            }
        }
        _ => reason,
    }
}

/// Ends a connection in good order, if that is quick.
pub(super) async fn close(connection: &Connection) {
    let _ = timeout(TIMEOUT / 10, connection.close(200, "done".into())).await;
}

/// Waits for the answer of the broker, for at most [`TIMEOUT`].
pub(super) async fn answer<T>(asked: impl Future<Output = lapin::Result<T>>) -> Result<T, String> {
    match timeout(TIMEOUT, asked).await {
        Ok(answered) => answered.map_err(|error| words(&error)),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

/// Waits for the answer of the broker, as [`answer`] does, and puts the name of what was asked for before an error.
pub(super) async fn answer_of<T>(
    name: &str,
    asked: impl Future<Output = lapin::Result<T>>,
) -> Result<T, String> {
    answer(asked).await.map_err(|reason| format!("{name}: {reason}"))
}

/// The words for a connection that ended.
const BROKEN: &str = "the connection broke";

/// An error in words. None of the broker's messages has a password.
pub(super) fn words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::IOError(error) => match error.kind() {
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof => BROKEN.to_owned(),
            io::ErrorKind::TimedOut => "it does not answer".to_owned(),
            _ => tls::words(error).unwrap_or_else(|| error.to_string()),
        },
        // On one line, whatever the broker says.
        ErrorKind::ProtocolError(error) => error.get_message().to_string().replace(char::is_control, " "),
        ErrorKind::InvalidChannelState(..) | ErrorKind::InvalidConnectionState(_) => BROKEN.to_owned(),
        _ => error.to_string(),
    }
}

/// Returns true if the broker refuses a user, or what the user asks for.
pub(super) fn is_refused(error: &Error) -> bool {
    let refused = AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED);
    matches!(error.kind(), ErrorKind::ProtocolError(error) if *error.kind() == refused)
}

/// Returns true if the broker does not have what was asked for.
pub(super) fn is_missing(error: &Error) -> bool {
    let missing = AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND);
    matches!(error.kind(), ErrorKind::ProtocolError(error) if *error.kind() == missing)
}
