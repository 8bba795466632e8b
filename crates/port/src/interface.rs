//! Network interfaces of the kernel, by libpcap.

use crate::kernel_link::{self, LinkWatch};
use crate::libpcap::{
    self, Handle, PCAP_ERRBUF_SIZE, PCAP_ERROR_IFACE_NOT_UP, PCAP_ERROR_NO_SUCH_DEVICE,
    PCAP_ERROR_PERM_DENIED, PCAP_ERROR_PROMISC_PERM_DENIED, PCAP_TSTAMP_PRECISION_NANO, PacketHeader,
    Statistics,
};
use crate::{Burst, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, TimeBase};
use packet::LinkType;
use std::ffi::{CString, c_char, c_int};
use std::net::IpAddr;

/// The kernel hands a block of frames over when it is full or has waited for this long. Short, since a window
/// of the machine's clock contains only what has arrived; a block that is handed over half empty costs
/// little.
const BLOCK_TIMEOUT_MS: c_int = 10;

/// The time for which one `wait` waits for frames, milliseconds.
const POLL_MS: c_int = 5;

const MAX_SNAPLEN: usize = 256 << 10;

/// The options with which an interface is opened.
#[derive(Clone, Debug)]
pub struct InterfaceOptions {
    /// Bytes of a frame that are kept ([`Self::SNAPLEN`]).
    pub snaplen: usize,
    /// True if frames addressed to others are received too.
    pub promiscuous: bool,
    /// Size of the kernel's ring of frames that wait.
    pub buffer_bytes: usize,
    /// Frames that are delivered at once.
    pub burst: usize,
}

impl InterfaceOptions {
    /// Bytes of a frame that are kept unless said otherwise: all headers that are parsed, within tunnels too. Ethernet with two tags and
    /// four labels, three tunnels with IPv6, UDP, VXLAN and Ethernet, extension headers, and a TCP header with all its options take 396.
    pub const SNAPLEN: usize = 512;
}

impl Default for InterfaceOptions {
    fn default() -> Self {
        Self { snaplen: Self::SNAPLEN, promiscuous: true, buffer_bytes: 64 << 20, burst: 256 }
    }
}

/// An interface as [`interfaces`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceInfo {
    /// The name that `-i` accepts.
    pub name: String,
    /// The message of libpcap about the interface.
    pub description: Option<String>,
    /// The IPv4 and IPv6 addresses of the interface.
    pub addresses: Vec<IpAddr>,
    /// True if the interface is up.
    pub up: bool,
    /// True if the interface is a loopback interface.
    pub loopback: bool,
}

/// The interfaces that libpcap can measure, kernel interfaces and pseudo devices such as `any`.
///
/// # Errors
/// Returns [`SourceError::Fault`] with libpcap's message.
pub fn interfaces() -> Result<Vec<InterfaceInfo>, SourceError> {
    let mut first = std::ptr::null_mut();
    let mut message = [0; PCAP_ERRBUF_SIZE];
    // SAFETY: both are writable, the message in the size that libpcap requires.
    if unsafe { libpcap::pcap_findalldevs(&mut first, message.as_mut_ptr()) } != 0 {
        return Err(SourceError::Fault(format!("cannot list the interfaces: {}", message_text(&message))));
    }
    let mut list = Vec::new();
    let mut next: *const libpcap::PcapInterface = first;
    // SAFETY: a list that libpcap made and that is freed below; null ends it.
    while let Some(interface) = unsafe { next.as_ref() } {
        // SAFETY: its strings are C strings or null, its addresses another such list.
        let (name, description, addresses) = unsafe {
            (
                libpcap::text(interface.name),
                libpcap::text(interface.description),
                addresses(interface.addresses),
            )
        };
        list.push(InterfaceInfo {
            name,
            description: (!description.is_empty()).then_some(description),
            addresses,
            up: interface.flags & libpcap::PCAP_IF_UP != 0,
            loopback: interface.flags & libpcap::PCAP_IF_LOOPBACK != 0,
        });
        next = interface.next;
    }
    // SAFETY: the list above, of which nothing is kept.
    unsafe { libpcap::pcap_freealldevs(first) };
    Ok(list)
}

/// # Safety
/// `next` begins a list of addresses that libpcap made.
unsafe fn addresses(mut next: *const libpcap::PcapAddress) -> Vec<IpAddr> {
    let mut list = Vec::new();
    // SAFETY: the caller guarantees the list; null ends it.
    while let Some(address) = unsafe { next.as_ref() } {
        next = address.next;
        // SAFETY: null or a socket address.
        let Some(family) = (unsafe { address.addr.as_ref() }).map(|address| c_int::from(address.sa_family))
        else {
            continue;
        };
        if family == libc::AF_INET {
            // SAFETY: its family identifies this structure.
            let address = unsafe { address.addr.cast::<libc::sockaddr_in>().read_unaligned() };
            list.push(IpAddr::from(address.sin_addr.s_addr.to_ne_bytes()));
        } else if family == libc::AF_INET6 {
            // SAFETY: as above.
            let address = unsafe { address.addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            list.push(IpAddr::from(address.sin6_addr.s6_addr));
        }
    }
    list
}

fn message_text(message: &[c_char; PCAP_ERRBUF_SIZE]) -> String {
    // SAFETY: libpcap terminates its messages with a zero, and the array was zeroed.
    unsafe { libpcap::text(message.as_ptr()) }
}

/// The frames of a kernel interface, copied: the host still receives all its traffic.
///
/// libpcap reinserts VLAN tags that the driver removed. Frames of both directions are delivered, on a
/// loopback interface each once.
pub struct InterfaceSource {
    name: String,
    handle: Handle,
    poll_fd: c_int,
    buffer: FrameBuffer,
    counted: Statistics,
    ps_drop: u64,
    ps_ifdrop: u64,
    /// The kernel's number of the interface; 0 for a pseudo device such as `any`, which has no link.
    index: u32,
    link: LinkWatch,
    warnings: Vec<String>,
}

/// The buffer that one burst is copied to.
struct FrameBuffer {
    bytes: Box<[u8]>,
    /// Distance of two frames in `bytes`.
    stride: usize,
    slots: Box<[FrameDescriptor]>,
    filled: usize,
    link: LinkType,
    /// Nanoseconds in one unit of a time stamp's fraction.
    fraction_ns: u64,
}

// SAFETY: the pointers in `slots` point into `bytes`, which moves with them; only the borrower of a burst
// dereferences them.
unsafe impl Send for FrameBuffer {}

/// Copies a frame into the [`FrameBuffer`] that `user` points to.
unsafe extern "C" fn copy_frame(user: *mut u8, header: *const PacketHeader, data: *const u8) {
    // SAFETY: `rx_burst` passes its buffer, which is not used elsewhere meanwhile; libpcap passes a valid
    // header.
    let (buffer, header) = unsafe { (&mut *user.cast::<FrameBuffer>(), &*header) };
    let at = buffer.filled;
    let room = buffer.bytes.get_mut(at * buffer.stride..(at + 1) * buffer.stride);
    // libpcap respects the given count and snap length; otherwise the frame is cut.
    let (Some(slot), Some(room)) = (buffer.slots.get_mut(at), room) else {
        return;
    };
    let captured = (header.caplen as usize).min(room.len());
    // SAFETY: libpcap passes `caplen` readable bytes, `room` has as many, and they cannot overlap.
    unsafe { std::ptr::copy_nonoverlapping(data, room.as_mut_ptr(), captured) };
    let seconds = u64::try_from(header.ts.tv_sec).unwrap_or(0);
    let fraction = u64::try_from(header.ts.tv_usec).unwrap_or(0);
    *slot = FrameDescriptor {
        data: room.as_ptr(),
        time_ns: seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(fraction.saturating_mul(buffer.fraction_ns)),
        captured: captured as u32,
        wire_len: header.len.max(captured as u32),
        link: buffer.link,
        stripped_vlan: None,
        rss_hash: None,
    };
    buffer.filled += 1;
}

impl InterfaceSource {
    /// Opens the interface `name`.
    ///
    /// # Errors
    /// Returns [`SourceError::Open`] if there is no interface of this name, it is down, or rights are missing, or with libpcap's reason.
    pub fn open(name: &str, options: &InterfaceOptions) -> Result<Self, SourceError> {
        let snaplen = options.snaplen.clamp(1, MAX_SNAPLEN);
        let handle = activate(name, snaplen, options)?;
        let failed =
            |reason: String| SourceError::Open(format!("cannot measure the interface '{name}': {reason}"));
        // Without a program the kernel copies whole frames into the ring; this one cuts them.
        handle.compile(c"").and_then(|mut all| all.install(&handle)).map_err(failed)?;
        let mut message = [0; PCAP_ERRBUF_SIZE];
        // SAFETY: the handle is active, the message has the size that libpcap requires.
        if unsafe { libpcap::pcap_setnonblock(handle.as_ptr(), 1, message.as_mut_ptr()) } != 0 {
            return Err(failed(message_text(&message)));
        }
        // SAFETY: the handle is active.
        let (poll_fd, link_number, precision) = unsafe {
            (
                libpcap::pcap_get_selectable_fd(handle.as_ptr()),
                libpcap::pcap_datalink(handle.as_ptr()),
                libpcap::pcap_get_tstamp_precision(handle.as_ptr()),
            )
        };
        let link = u32::try_from(link_number).map_or(LinkType::Unsupported, LinkType::from);
        let mut warnings = if link == LinkType::Unsupported {
            vec![format!("{name}: link type {link_number} is not supported: its frames are not measured")]
        } else {
            Vec::new()
        };
        let burst = options.burst.max(1);
        // A frame begins at a cache line.
        let stride = snaplen.next_multiple_of(64);
        let buffer = FrameBuffer {
            bytes: vec![0; burst * stride].into_boxed_slice(),
            stride,
            slots: vec![FrameDescriptor::EMPTY; burst].into_boxed_slice(),
            filled: 0,
            link,
            fraction_ns: if precision == PCAP_TSTAMP_PRECISION_NANO { 1 } else { 1000 },
        };
        // SAFETY: a C string, which the call only reads.
        let index = CString::new(name).map_or(0, |name| unsafe { libc::if_nametoindex(name.as_ptr()) });
        let link = LinkWatch::new(kernel_link::is_up(index));
        warnings.extend(link.down_at_first(&format!("interface '{name}'")));
        Ok(Self {
            name: name.into(),
            handle,
            poll_fd,
            buffer,
            counted: Statistics::default(),
            ps_drop: 0,
            ps_ifdrop: 0,
            index,
            link,
            warnings,
        })
    }

    /// Checks the link from time to time, when idle: libpcap waits silently for one that is down.
    fn check_link(&mut self) {
        if !self.link.is_due() {
            return;
        }
        if let Some(change) = kernel_link::is_up(self.index).and_then(|is_up| self.link.found(is_up)) {
            self.warnings.push(change.line(&format!("interface '{}'", self.name)));
        }
    }

    /// Copies the waiting frames, at most a burst.
    fn dispatch(&mut self) -> Result<usize, SourceError> {
        self.buffer.filled = 0;
        let count = self.buffer.slots.len() as c_int;
        let user = (&raw mut self.buffer).cast::<u8>();
        // SAFETY: the handle is active; `copy_frame` is made for this `user`, which lives and is not used
        // otherwise during the call.
        let status = unsafe { libpcap::pcap_dispatch(self.handle.as_ptr(), count, copy_frame, user) };
        if status >= 0 {
            return Ok(self.buffer.filled);
        }
        // An interface that is merely down does not get here: libpcap waits for it.
        let reason = self.handle.error();
        Err(SourceError::Fault(format!(
            "the interface '{}' cannot be measured any more: {reason}",
            self.name
        )))
    }
}

/// Creates, sets and activates a handle.
fn activate(name: &str, snaplen: usize, options: &InterfaceOptions) -> Result<Handle, SourceError> {
    let failed = |reason: &str| SourceError::Open(format!("cannot open the interface '{name}': {reason}"));
    let device = CString::new(name).map_err(|_| failed("its name has a zero byte"))?;
    let mut message = [0; PCAP_ERRBUF_SIZE];
    // SAFETY: a C string, and a message of the size that libpcap requires; the handle is owned from here on.
    let handle = unsafe { Handle::new(libpcap::pcap_create(device.as_ptr(), message.as_mut_ptr())) }
        .ok_or_else(|| failed(&message_text(&message)))?;
    let buffer_bytes = c_int::try_from(options.buffer_bytes).unwrap_or(c_int::MAX);
    // SAFETY: the handle is open and not active. The setters fail only for an active handle, except the
    // precision, which is read back afterwards.
    let status = unsafe {
        libpcap::pcap_set_snaplen(handle.as_ptr(), snaplen as c_int);
        libpcap::pcap_set_promisc(handle.as_ptr(), options.promiscuous.into());
        libpcap::pcap_set_timeout(handle.as_ptr(), BLOCK_TIMEOUT_MS);
        libpcap::pcap_set_buffer_size(handle.as_ptr(), buffer_bytes);
        libpcap::pcap_set_tstamp_precision(handle.as_ptr(), PCAP_TSTAMP_PRECISION_NANO);
        libpcap::pcap_activate(handle.as_ptr())
    };
    let known = || interfaces().map(|list| list.into_iter().map(|it| it.name).collect::<Vec<_>>());
    match status {
        0.. => Ok(handle),
        PCAP_ERROR_PERM_DENIED | PCAP_ERROR_PROMISC_PERM_DENIED => Err(failed(
            "the right CAP_NET_RAW is missing: run with sudo, or give the right once by \
             `sudo setcap cap_net_raw,cap_net_admin=eip edison` (the program's path)",
        )),
        PCAP_ERROR_NO_SUCH_DEVICE => Err(failed(&match known() {
            Ok(names) => format!("there is none of this name, but {}", names.join(", ")),
            Err(_) => "there is none of this name".into(),
        })),
        PCAP_ERROR_IFACE_NOT_UP => {
            Err(failed(&format!("it is down: bring it up by `ip link set {name} up`")))
        }
        status => {
            let reason = handle.error();
            // SAFETY: a static C string for any number.
            let kind = unsafe { libpcap::text(libpcap::pcap_statustostr(status)) };
            Err(failed(if reason.is_empty() { &kind } else { &reason }))
        }
    }
}

impl PacketSource for InterfaceSource {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        let frames = self.dispatch()?;
        if frames == 0 {
            self.check_link();
            return Ok(Poll::Idle);
        }
        // SAFETY: `copy_frame` filled these descriptors and the bytes that they lead to, which the next dispatch
        // overwrites: not while the burst borrows `self`.
        Ok(Poll::Burst(unsafe { Burst::new(&self.buffer.slots[..frames]) }))
    }

    fn wait(&mut self) {
        let mut ready = libc::pollfd { fd: self.poll_fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: `ready` is one valid pollfd. The next dispatch shows the result.
        unsafe { libc::poll(&mut ready, 1, POLL_MS) };
    }

    fn time_base(&self) -> TimeBase {
        TimeBase::Clock
    }

    /// The kernel's times.
    fn tells_arrivals(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counters `ps_drop` and `ps_ifdrop`.
    /// `ps_drop`: frames dropped because the kernel's ring was full. On Linux `ps_recv` includes them, so it
    /// is no part of this list. `ps_ifdrop`: frames that the interface itself lost before the kernel saw
    /// them. A frame is in one of the two at most.
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        let mut now = Statistics::default();
        // SAFETY: the handle is active and `now` writable.
        if unsafe { libpcap::pcap_stats(self.handle.as_ptr(), &mut now) } == 0 {
            // libpcap's counters have 32 bits and wrap.
            self.ps_drop += u64::from(now.ps_drop.wrapping_sub(self.counted.ps_drop));
            self.ps_ifdrop += u64::from(now.ps_ifdrop.wrapping_sub(self.counted.ps_ifdrop));
            self.counted = now;
        }
        // For an interface that has vanished, the last count remains.
        Some(vec![("ps_drop", self.ps_drop), ("ps_ifdrop", self.ps_ifdrop)])
    }

    fn link_downs(&self) -> Option<u64> {
        (self.index != 0).then(|| self.link.downs())
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
