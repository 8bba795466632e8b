//! Sending from a kernel interface, by a packet socket (packet(7)).

use super::PacketSink;
use crate::kernel_link::{self, LinkWatch};
use crate::{SourceCounter, SourceError};
use std::ffi::{CStr, CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Frames of one system call.
const BATCH: usize = 64;
const ETHERNET_HEADER: usize = 14;
/// The time for which the kernel is asked for room at once, milliseconds.
const POLL_MS: c_int = 2;
/// The longest time that `finish` waits.
const LINGER: Duration = Duration::from_secs(1);

/// Sends whole Ethernet frames from an interface of the kernel.
///
/// It waits for the kernel's queues. What an interface drops after them is in its own counters, which count
/// all senders' frames.
#[derive(Debug)]
pub struct InterfaceSink {
    name: String,
    device: CString,
    socket: OwnedFd,
    longest: usize,
    before: LinkDrops,
    /// Frames that were refused with ENOBUFS: the interface may have counted them, and they were sent again.
    refused: u64,
    /// The kernel's number of the interface.
    index: u32,
    link: LinkWatch,
    /// True if the link was found to be down since that was asked.
    was_down: bool,
}

impl InterfaceSink {
    /// Opens the interface `name` for sending.
    ///
    /// # Errors
    /// Returns [`SourceError::Open`] if there is no interface of this name, it is down, it is no Ethernet, or rights are missing.
    pub fn open(name: &str) -> Result<Self, SourceError> {
        let failed =
            |reason: String| SourceError::Open(format!("cannot send from the interface '{name}': {reason}"));
        let device = CString::new(name).map_err(|_| failed("its name has a zero byte".into()))?;
        // SAFETY: a C string.
        let index = unsafe { libc::if_nametoindex(device.as_ptr()) };
        if index == 0 {
            return Err(failed("there is no such interface: 'ip link' lists them".into()));
        }
        let socket = packet_socket(index as c_int).map_err(|error| {
            failed(match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "it takes the right CAP_NET_RAW: run as root, or 'setcap cap_net_raw+ep' on the program"
                        .into()
                }
                _ => error.to_string(),
            })
        })?;
        if !is_ethernet(&socket) {
            return Err(failed("it is no Ethernet interface, and Ethernet frames are sent".into()));
        }
        let mut sink = Self {
            name: name.to_owned(),
            before: LinkDrops::read(&device),
            device,
            socket,
            longest: 0,
            refused: 0,
            index,
            link: LinkWatch::new(None),
            was_down: false,
        };
        sink.longest = sink.longest_now().map_err(|error| failed(error.to_string()))?;
        if !sink.is_up().map_err(|error| failed(error.to_string()))? {
            return Err(failed(format!("it is down: 'ip link set {name} up'")));
        }
        Ok(sink)
    }

    /// A request about the interface.
    fn ask(&self, request: libc::Ioctl) -> io::Result<libc::ifreq> {
        // SAFETY: an all-zero request is a value.
        let mut wanted: libc::ifreq = unsafe { std::mem::zeroed() };
        let name = self.device.as_bytes_with_nul();
        if name.len() > wanted.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (place, byte) in wanted.ifr_name.iter_mut().zip(name) {
            *place = *byte as libc::c_char;
        }
        // SAFETY: these requests read and write one `ifreq`.
        match unsafe { libc::ioctl(self.socket.as_raw_fd(), request, &mut wanted) } {
            0 => Ok(wanted),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn longest_now(&self) -> io::Result<usize> {
        let answer = self.ask(libc::SIOCGIFMTU)?;
        // SAFETY: this is the member that the request fills.
        let mtu = unsafe { answer.ifr_ifru.ifru_mtu };
        Ok(usize::try_from(mtu).unwrap_or(0) + ETHERNET_HEADER)
    }

    fn is_up(&self) -> io::Result<bool> {
        let answer = self.ask(libc::SIOCGIFFLAGS)?;
        // SAFETY: this is the member that the request fills.
        let flags = unsafe { answer.ifr_ifru.ifru_flags };
        Ok(c_int::from(flags) & libc::IFF_UP != 0)
    }

    fn link_is_down(&self) -> bool {
        kernel_link::is_up(self.index) == Some(false)
    }

    /// Handles a call in which the kernel accepted none.
    fn refusal(&mut self, error: &io::Error, first: usize) -> Result<usize, SourceError> {
        let failed = |reason: &dyn std::fmt::Display| {
            SourceError::Fault(format!("the interface '{}' cannot send any more: {reason}", self.name))
        };
        match error.raw_os_error() {
            Some(libc::EINTR) => return Ok(0),
            Some(libc::EAGAIN) => {}
            Some(libc::ENOBUFS) => self.refused += 1,
            // Its MTU was lowered.
            Some(libc::EMSGSIZE) => {
                self.longest =
                    self.longest_now().map_err(|error| failed(&error))?.min(first.saturating_sub(1));
                return Ok(0);
            }
            _ => return Err(failed(error)),
        }
        let mut room = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one structure, and the count is one.
        unsafe { libc::poll(&mut room, 1, POLL_MS) };
        Ok(0)
    }
}

impl PacketSink for InterfaceSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn link_speed(&self) -> Option<u64> {
        kernel_link::speed(self.index)
    }

    fn link_was_down(&mut self) -> bool {
        std::mem::take(&mut self.was_down) || self.link_is_down()
    }

    fn tx_burst(&mut self, frames: &[&[u8]]) -> Result<usize, SourceError> {
        let frames = &frames[..frames.len().min(BATCH)];
        let Some(first) = frames.first() else { return Ok(0) };
        // The kernel takes frames for an interface without a carrier, and drops them.
        if self.link.is_due() {
            self.was_down |= self.link_is_down();
        }
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        // SAFETY: all-zero headers are values: no address, no data.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for ((message, part), frame) in messages.iter_mut().zip(&mut parts).zip(frames) {
            *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `frames.len()` messages, each with one part that lives until after the call, which only reads them.
        let taken = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                frames.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        match usize::try_from(taken) {
            Ok(taken) => Ok(taken),
            Err(_) => self.refusal(&io::Error::last_os_error(), first.len()),
        }
    }

    fn finish(&mut self) {
        let began = Instant::now();
        let mut waiting: c_int = 0;
        // SAFETY: this request writes one `int`.
        while unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::TIOCOUTQ, &mut waiting) } == 0
            && waiting != 0
            && began.elapsed() < LINGER
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn lost(&mut self) -> Vec<SourceCounter> {
        let now = LinkDrops::read(&self.device);
        let since = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        let dropped = since(now.dropped, self.before.dropped).saturating_sub(self.refused);
        vec![("tx_dropped", dropped), ("tx_errors", since(now.errors, self.before.errors))]
    }
}

/// Counters of an interface: 32 bits, which wrap. Zeros if they cannot be read.
#[derive(Clone, Copy, Debug, Default)]
struct LinkDrops {
    errors: u32,
    dropped: u32,
}

/// The beginning of `struct rtnl_link_stats` of linux/if_link.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct LinkStats {
    _received_and_sent: [u32; 4],
    _rx_errors: u32,
    tx_errors: u32,
    _rx_dropped: u32,
    tx_dropped: u32,
}

impl LinkDrops {
    fn read(device: &CStr) -> Self {
        let mut found = Self::default();
        let mut first = std::ptr::null_mut();
        // SAFETY: a writable place for the list, which is freed below.
        if unsafe { libc::getifaddrs(&mut first) } != 0 {
            return found;
        }
        let mut next: *const libc::ifaddrs = first;
        // SAFETY: null ends the list.
        while let Some(entry) = unsafe { next.as_ref() } {
            next = entry.ifa_next;
            // SAFETY: a C string; an address or null.
            let (name, address) = unsafe { (CStr::from_ptr(entry.ifa_name), entry.ifa_addr.as_ref()) };
            let is_link = address.is_some_and(|address| c_int::from(address.sa_family) == libc::AF_PACKET);
            if is_link && name == device && !entry.ifa_data.is_null() {
                // SAFETY: entries of this family have these counters (getifaddrs(3)).
                let stats = unsafe { entry.ifa_data.cast::<LinkStats>().read_unaligned() };
                found = Self { errors: stats.tx_errors, dropped: stats.tx_dropped };
            }
        }
        // SAFETY: the list above, of which nothing is kept.
        unsafe { libc::freeifaddrs(first) };
        found
    }
}

/// A packet socket that only sends, from the interface of this number.
fn packet_socket(index: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no pointers. Protocol 0: it receives nothing.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened and not shared.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: an all-zero address is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address has the length that is passed.
    match unsafe { libc::bind(fd, (&raw const address).cast(), length) } {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns true if the bound interface has Ethernet frames; a loopback interface has.
fn is_ethernet(socket: &OwnedFd) -> bool {
    // SAFETY: an all-zero address is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address has the length that is passed.
    let result = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &mut length) };
    result == 0 && [libc::ARPHRD_ETHER, libc::ARPHRD_LOOPBACK].contains(&address.sll_hatype)
}
