//! The socket that datagrams come to.

use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The size of the kernel's buffer that is asked for, octets: 0.1 s of a million records a second. The kernel grants what it allows.
const BUFFER: libc::c_int = 8 << 20;
/// The longest datagram.
const LONGEST: usize = 1 << 16;
/// The time that one call waits.
const TIMEOUT: Duration = Duration::from_millis(50);
/// The place where `SO_MEMINFO` has what a socket dropped (linux/sock_diag.h, `SK_MEMINFO_DROPS`), and the number of its numbers.
const DROPS: usize = 8;
const MEMINFO: usize = 9;

/// A socket, and room for a datagram.
#[derive(Debug)]
pub struct Inlet {
    socket: UdpSocket,
    buffer: Box<[u8]>,
    /// Datagrams that the kernel dropped: its counter in 32 bits, and how often it began anew with what it had before.
    drops: (u32, u64),
}

/// The result of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum ReceiveOutcome<'a> {
    /// A datagram of this address and port.
    Datagram(SocketAddr, &'a [u8]),
    /// A pause: no datagram came for a while.
    Nothing,
}

impl Inlet {
    /// Listens at an address.
    ///
    /// # Errors
    /// Returns the errors of the system: the address is not this machine's, or is taken.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        if address.is_ipv6() {
            // One for both families, whatever net.ipv6.bindv6only says.
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(TIMEOUT))?;
        // The first needs rights, the second is limited by net.core.rmem_max; what is granted shows in drops alone.
        let bytes = BUFFER;
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            // SAFETY: the socket is open, and the value is an int of the length that is given.
            let set = unsafe {
                libc::setsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const bytes).cast(),
                    size_of_val(&bytes) as libc::socklen_t,
                )
            };
            if set == 0 {
                break;
            }
        }
        Ok(Self { socket, buffer: vec![0; LONGEST].into(), drops: (0, 0) })
    }

    /// Returns the address at which the inlet listens: the port is the system's where 0 was asked for.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Ends waiting: from now on a call finds what is there already.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn wait_no_more(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }

    /// Waits a little for a datagram.
    ///
    /// # Errors
    /// The socket failed.
    pub fn receive(&mut self) -> io::Result<ReceiveOutcome<'_>> {
        match self.socket.recv_from(&mut self.buffer) {
            Ok((octets, from)) => Ok(ReceiveOutcome::Datagram(from, &self.buffer[..octets])),
            Err(error) if is_nothing(error.kind()) => Ok(ReceiveOutcome::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Returns the number of datagrams that the kernel dropped, because its buffer was full; `None` where it does not say so.
    pub fn dropped(&mut self) -> Option<u64> {
        let mut numbers = [0u32; MEMINFO];
        let mut length = size_of_val(&numbers) as libc::socklen_t;
        // SAFETY: the socket is open, and the kernel writes no more than the length that it is given, which is that of the array.
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                numbers.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if got != 0 || (length as usize) < size_of_val(&numbers) {
            return None;
        }
        let (last, all) = self.drops;
        let now = numbers[DROPS];
        self.drops = (now, all + u64::from(now.wrapping_sub(last)));
        Some(self.drops.1)
    }
}

/// Returns true if nothing came in time, a signal came, or an earlier answer of this socket met no listener.
fn is_nothing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    )
}
