//! The sockets of an exporter.

use super::collector::Transport;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// The timeout for connecting to one address.
const CONNECT: Duration = Duration::from_secs(1);
/// The time that a sender waits before it tries again whether a socket takes more.
const FULL: Duration = Duration::from_millis(1);

/// A connection to a collector. Neither kind blocks.
#[derive(Debug)]
pub(super) enum CollectorConnection {
    Udp(UdpSocket),
    Tcp(TcpStream),
}

impl CollectorConnection {
    /// Connects to the first of a host's addresses that answers (UDP: to which there is a route).
    pub(super) fn open(addresses: &[SocketAddr], transport: Transport) -> io::Result<Self> {
        let mut fault = None;
        for address in addresses {
            let link = match transport {
                Transport::Udp => udp(*address),
                Transport::Tcp => tcp(*address),
            };
            match link {
                Ok(link) => return Ok(link),
                Err(error) => fault = Some(error),
            }
        }
        Err(fault.unwrap_or_else(|| io::Error::from(ErrorKind::NotFound)))
    }

    /// Sends one whole message. `goes_on` is called while the socket takes none; if it returns false, the
    /// message counts as not sent (over TCP, the connection is then unusable).
    pub(super) fn send(&mut self, message: &[u8], goes_on: &dyn Fn() -> bool) -> io::Result<()> {
        match self {
            Self::Udp(socket) => loop {
                match socket.send(message) {
                    Err(error) if is_busy(&error) => wait(goes_on)?,
                    result => return result.map(|_| ()),
                }
            },
            Self::Tcp(stream) => {
                listen(stream)?;
                let mut rest = message;
                while !rest.is_empty() {
                    match stream.write(rest) {
                        Ok(0) => return Err(ErrorKind::WriteZero.into()),
                        Ok(taken) => rest = &rest[taken..],
                        Err(error) if is_busy(&error) => wait(goes_on)?,
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
        }
    }

    /// The error of an earlier datagram, if the network has reported one.
    pub(super) fn late_error(&self) -> Option<io::Error> {
        match self {
            Self::Udp(socket) => socket.take_error().unwrap_or_else(Some),
            Self::Tcp(_) => None,
        }
    }
}

/// IPFIX ignores what a collector sends, but the collector may have closed its end: then one more message
/// would be lost.
fn listen(stream: &mut TcpStream) -> io::Result<()> {
    match stream.read(&mut [0; 256]) {
        Ok(0) => Err(io::Error::new(ErrorKind::ConnectionAborted, "the collector closed the connection")),
        Ok(_) => Ok(()),
        Err(error) if is_busy(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

fn wait(goes_on: &dyn Fn() -> bool) -> io::Result<()> {
    if !goes_on() {
        return Err(io::Error::new(ErrorKind::TimedOut, "the collector did not take it in time"));
    }
    std::thread::sleep(FULL);
    Ok(())
}

fn udp(address: SocketAddr) -> io::Result<CollectorConnection> {
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // A connected socket is informed if there is no listener.
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    Ok(CollectorConnection::Udp(socket))
}

fn tcp(address: SocketAddr) -> io::Result<CollectorConnection> {
    let stream = TcpStream::connect_timeout(&address, CONNECT)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(CollectorConnection::Tcp(stream))
}
