//! Whole messages over TCP.

use std::io::{self, ErrorKind};
use tokio::net::TcpStream;

/// Sends all bytes.
pub(super) async fn send(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Receives bytes until `into` is full; false if the other side ended before.
pub(super) async fn receive(stream: &TcpStream, into: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < into.len() {
        stream.readable().await?;
        match stream.try_read(&mut into[filled..]) {
            Ok(0) => return Ok(false),
            Ok(received) => filled += received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
