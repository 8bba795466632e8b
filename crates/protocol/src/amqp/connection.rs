//! Connecting, and what goes wrong in words.

use super::PATIENCE;
use super::broker::Broker;
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::uri::AMQPAuthority;
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, Error, ErrorKind};
use std::future::Future;
use std::io;
use tokio::time::timeout;

/// Connects, within bounded time. `name`: what the broker's operator sees of it.
pub(super) async fn connect(broker: &Broker, name: &str) -> Result<Connection, String> {
    let options = ConnectionProperties::default().with_connection_name(name.into());
    let runtime = lapin::runtime::default_runtime().map_err(|error| words(&error))?;
    let connected = Connection::connector(
        broker.uri(),
        runtime,
        async move |uri, runtime| {
            let AMQPAuthority { host, port, .. } = &uri.authority;
            let reached = async {
                // `lapin` would look the name up in a way that panics where the connection is dropped meanwhile.
                let mut failed = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
                for address in tokio::net::lookup_host((host.as_str(), *port)).await? {
                    match AsyncTcpStream::connect(&runtime, address).await {
                        Ok(stream) => return Ok(stream),
                        Err(error) => failed = error,
                    }
                }
                Err(failed)
            };
            // Without a limit a thread would wait for the system's, which is minutes.
            let reached = timeout(PATIENCE, reached).await;
            Ok(reached.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?)
        },
        options,
    );
    match timeout(PATIENCE * 2, connected).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) if is_refused(&error) => {
            Err(format!("it refuses user {:?} or the password (ACCESS_REFUSED)", broker.user()))
        }
        Ok(Err(error)) => Err(words(&error)),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

/// Ends a connection in good order, if that is quick.
pub(super) async fn close(connection: &Connection) {
    let _ = timeout(PATIENCE / 10, connection.close(200, "done".into())).await;
}

/// What the broker answers, if it does so in time.
pub(super) async fn answer<T>(asked: impl Future<Output = lapin::Result<T>>) -> Result<T, String> {
    match timeout(PATIENCE, asked).await {
        Ok(answered) => answered.map_err(|error| words(&error)),
        Err(_) => Err("it does not answer".to_owned()),
    }
}

/// The same of something of the broker that has a name.
pub(super) async fn answer_of<T>(
    name: &str,
    asked: impl Future<Output = lapin::Result<T>>,
) -> Result<T, String> {
    answer(asked).await.map_err(|reason| format!("{name}: {reason}"))
}

/// An error in words. None of the broker's messages has a password.
pub(super) fn words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::IOError(error) => match error.kind() {
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::UnexpectedEof => "the connection broke".to_owned(),
            io::ErrorKind::TimedOut => "it does not answer".to_owned(),
            _ => error.to_string(),
        },
        // On one line, whatever the broker says.
        ErrorKind::ProtocolError(error) => error.get_message().to_string().replace(char::is_control, " "),
        ErrorKind::InvalidChannelState(..) | ErrorKind::InvalidConnectionState(_) => {
            "the connection broke".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Whether the broker refuses a user.
fn is_refused(error: &Error) -> bool {
    let refused = AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED);
    matches!(error.kind(), ErrorKind::ProtocolError(error) if *error.kind() == refused)
}

/// Whether what was asked for is not there.
pub(super) fn is_missing(error: &Error) -> bool {
    let missing = AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND);
    matches!(error.kind(), ErrorKind::ProtocolError(error) if *error.kind() == missing)
}
