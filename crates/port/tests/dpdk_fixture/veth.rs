//! A veth pair in a network namespace of this test's own thread, and a sender on its far end. The
//! namespace goes with the process, so nothing stays behind, however the test ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

/// IEEE 802 local experimental: no stack answers it, and nobody else sends it.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

pub(crate) struct Veth {
    socket: OwnedFd,
}

impl Veth {
    /// The end to measure.
    pub(crate) const NEAR: &str = "near";
    const FAR: &str = "far";

    /// `None`, with the reason on standard error, where this process may not make one.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: no arguments; it moves this thread into a new namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("skipped: a network namespace cannot be made: {}", io::Error::last_os_error());
            return None;
        }
        ip(&["link", "add", Self::NEAR, "type", "veth", "peer", "name", Self::FAR]);
        for name in [Self::NEAR, Self::FAR] {
            // No link-local address: the kernel sends nothing of its own.
            ip(&["link", "set", name, "addrgenmode", "none"]);
            ip(&["link", "set", name, "up"]);
        }
        Some(Self { socket: raw_socket(Self::FAR).expect("a raw socket on the far end") })
    }

    /// Frame number `number`: addresses, the type, the number, and a length of 60 to 1,499 bytes.
    pub(crate) fn frame(number: u32) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ETHER_TYPE);
        frame.extend(number.to_be_bytes());
        frame.resize(60 + (number as usize * 37) % 1440, number as u8);
        frame
    }

    pub(crate) fn is_own(frame: &[u8]) -> bool {
        frame.get(12..14) == Some(&ETHER_TYPE)
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        // SAFETY: the buffer has the length that is passed.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", io::Error::last_os_error());
    }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {}", arguments.join(" "));
}

fn raw_socket(interface: &str) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    // Protocol 0: it only sends.
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: an all-zero address is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address has the length that is passed.
    match unsafe { libc::bind(fd, (&raw const address).cast(), length) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}
