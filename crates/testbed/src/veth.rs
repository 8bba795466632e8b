//! A veth pair in a network namespace of the test's own thread. What the thread starts is in that namespace
//! too, and the pair is removed with the last of them, however the test ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

/// EtherType for local experiments (IEEE 802): no stack answers it, and nothing else sends it.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

/// The pair; its methods work in its thread's namespace.
#[derive(Debug)]
pub struct Veth {
    socket: OwnedFd,
}

/// Runs `test` with a silent veth pair. Without the rights for one, reports that it skips.
///
/// # Panics
/// If `test` panics, or if the pair cannot be made for another reason.
pub fn with_veth(test: impl FnOnce(&Veth) + Send + 'static) {
    in_namespace(|| test(&Veth::new()));
}

/// Runs `test` in a thread with a network namespace of its own. Without the rights for one, reports that it skips.
///
/// # Panics
/// If `test` panics.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        // SAFETY: no pointers; this thread alone moves into a new namespace.
        match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
            0 => test(),
            _ => eprintln!("skipped: a network namespace takes root: {}", io::Error::last_os_error()),
        }
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Makes a silent pair of virtual interfaces: the kernel sends no frames of its own by them.
///
/// # Panics
/// If the pair cannot be made.
pub fn pair(name: &str, peer: &str) {
    ip(&format!("link add {name} type veth peer name {peer}"));
    for name in [name, peer] {
        // The kernel must not send frames itself.
        ip(&format!("link set {name} addrgenmode none"));
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
        ip(&format!("link set {name} up"));
    }
}

impl Veth {
    /// The end to measure.
    pub const NEAR: &str = "near";
    /// The end that sends.
    pub const FAR: &str = "far";

    fn new() -> Self {
        pair(Self::NEAR, Self::FAR);
        Self { socket: raw_socket(Self::FAR).expect("a packet socket") }
    }

    /// An Ethernet frame of `len` bytes (18 at least) with `number` after its header, of a type that nothing
    /// else sends.
    pub fn frame(number: u32, len: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        frame.extend(ETHER_TYPE);
        frame.extend(number.to_be_bytes());
        frame.resize(len, number as u8);
        frame
    }

    /// The number of a frame that [`Veth::frame`] made, and `None` of any other.
    pub fn number_of(frame: &[u8]) -> Option<u32> {
        let (ether_type, number) = (frame.get(12..14)?, frame.get(14..18)?);
        (ether_type == ETHER_TYPE)
            .then(|| number.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    /// Sends a frame from the far end.
    ///
    /// # Panics
    /// If the kernel does not accept it.
    pub fn send(&self, frame: &[u8]) {
        // SAFETY: the buffer has the length that is passed.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        assert_eq!(sent, frame.len() as isize, "{}", io::Error::last_os_error());
    }

    /// Frames that the pair carried, by its own count.
    ///
    /// # Panics
    /// If the kernel does not report it.
    pub fn carried(&self) -> u64 {
        Self::link(Self::FAR)["stats64"]["tx"]["packets"].as_u64().expect("a counter")
    }

    /// Sets the measured end down, or up again; then waits until the other end can send.
    ///
    /// # Panics
    /// If it is not up within a minute.
    pub fn set_near(&self, is_up: bool) {
        ip(&format!("link set {} {}", Self::NEAR, if is_up { "up" } else { "down" }));
        let began = Instant::now();
        while is_up && Self::link(Self::FAR)["operstate"] != "UP" {
            assert!(began.elapsed() < Duration::from_secs(60), "the link does not come up");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns what the kernel reports of one end of the pair, as the JSON of `ip`.
    fn link(name: &str) -> serde_json::Value {
        let shown = Command::new("ip").args(["-j", "-s", "link", "show", name]).output().expect("iproute2");
        let mut links: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        links[0].take()
    }

    /// Deletes the pair.
    ///
    /// # Panics
    /// If it does not exist any more.
    pub fn vanish(&self) {
        ip(&format!("link del {}", Self::NEAR));
    }
}

/// Runs `ip` with these words, in the thread's namespace.
///
/// # Panics
/// If it is missing, or fails.
pub fn ip(arguments: &str) {
    iproute2("ip", arguments);
}

/// Runs `tc` with these words, in the thread's namespace.
///
/// # Panics
/// If it is missing, or fails.
pub fn tc(arguments: &str) {
    iproute2("tc", arguments);
}

fn iproute2(program: &str, arguments: &str) {
    let status =
        Command::new(program).args(arguments.split(' ')).status().expect("Debian's package iproute2");
    assert!(status.success(), "{program} {arguments}");
}

/// A packet socket that only sends.
fn raw_socket(interface: &str) -> io::Result<OwnedFd> {
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: a C string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened and not shared.
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
