//! The link of a kernel interface: whether it is up, temporarily down, or gone.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Time between two checks.
const INTERVAL: Duration = Duration::from_millis(250);
/// Polls without frames between two readings of the clock.
const POLLS: u32 = 64;

/// Queries the kernel about the interface of this number; `None` if there is none, or if the query fails.
pub(crate) fn ask(interface: u32, request: libc::Ioctl) -> Option<libc::ifreq> {
    let mut answer = named(interface)?;
    let socket = socket()?;
    // SAFETY: the requests made here read and write one `ifreq`.
    (unsafe { libc::ioctl(socket.as_raw_fd(), request, &mut answer) } == 0).then_some(answer)
}

/// Returns a request that has the name of the interface of this number; `None` if there is none.
fn named(interface: u32) -> Option<libc::ifreq> {
    // SAFETY: an all-zero request is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // SAFETY: the buffer has the size that the call demands.
    if interface == 0 || unsafe { libc::if_indextoname(interface, request.ifr_name.as_mut_ptr()) }.is_null() {
        return None;
    }
    Some(request)
}

/// Returns true if the interface of this number is up and has a carrier; `None` if it cannot be queried.
pub(crate) fn is_up(interface: u32) -> Option<bool> {
    let answer = ask(interface, libc::SIOCGIFFLAGS)?;
    let wanted = libc::IFF_UP | libc::IFF_RUNNING;
    // SAFETY: this is the member that the request fills.
    Some(i32::from(unsafe { answer.ifr_ifru.ifru_flags }) & wanted == wanted)
}

/// Returns the speed of the interface of this number in bits per second, as its driver tells it; `None` where it tells none.
pub(crate) fn speed(interface: u32) -> Option<u64> {
    let mut answer = named(interface)?;
    let mut settings = EthtoolSettings { command: ETHTOOL_GSET, ..EthtoolSettings::default() };
    answer.ifr_ifru.ifru_data = (&raw mut settings).cast();
    let socket = socket()?;
    // SAFETY: the request reads and writes one `ifreq`, and the settings that it leads to, which live until after the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut answer) } != 0 {
        return None;
    }
    let mbps = u32::from(settings.speed_high) << 16 | u32::from(settings.speed);
    (mbps != 0 && mbps != UNKNOWN_SPEED && mbps != u32::from(u16::MAX)).then(|| u64::from(mbps) * 1_000_000)
}

/// The request of linux/sockios.h that leads to those of linux/ethtool.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GSET: u32 = 1;
/// The kernel's `SPEED_UNKNOWN`.
const UNKNOWN_SPEED: u32 = u32::MAX;

/// The form of `struct ethtool_cmd` of linux/ethtool.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct EthtoolSettings {
    command: u32,
    _supported_and_advertised: [u32; 2],
    speed: u16,
    _port: [u8; 6],
    _packets: [u32; 2],
    speed_high: u16,
    _mdi: [u8; 2],
    _rest: [u32; 3],
}

/// A socket for requests about interfaces.
fn socket() -> Option<OwnedFd> {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: just opened and not shared; a negative value is no descriptor.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Monitors a link; of a source only when it is idle, as a link that carries frames is up.
#[derive(Debug)]
pub(crate) struct LinkWatch {
    is_down: bool,
    downs: u64,
    polls: u32,
    asked: Instant,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkChange {
    /// The link went down; frames arrive again when it is up.
    Down,
    /// The link went up.
    Up,
}

impl LinkWatch {
    /// Returns a watch of a link with the state that it had when it was opened; up if that cannot be queried. One that was down then, such
    /// as a card's before it has negotiated a speed with its peer, has not gone down.
    pub(crate) fn new(is_up: Option<bool>) -> Self {
        Self { is_down: is_up == Some(false), downs: 0, polls: 0, asked: Instant::now() }
    }

    /// The line for the user about `what`, if its link is down now.
    pub(crate) fn down_at_first(&self, what: &str) -> Option<String> {
        self.is_down.then(|| LinkChange::Down.line(what))
    }

    /// A poll without frames, or a hand-over of frames to send: true if a check is due, a few times a second.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.polls += 1;
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        let now = Instant::now();
        if now.duration_since(self.asked) < INTERVAL {
            return false;
        }
        self.asked = now;
        true
    }

    /// Takes the present state of the link; returns the change, if any.
    pub(crate) fn found(&mut self, is_up: bool) -> Option<LinkChange> {
        if is_up != self.is_down {
            return None;
        }
        self.is_down = !is_up;
        self.downs += u64::from(self.is_down);
        Some(if is_up { LinkChange::Up } else { LinkChange::Down })
    }

    /// Returns how often the link was found to have gone down.
    pub(crate) fn downs(&self) -> u64 {
        self.downs
    }
}

impl LinkChange {
    /// The line for the user about `what`, a port or an interface by its name.
    pub(crate) fn line(self, what: &str) -> String {
        match self {
            Self::Down => format!("{what}: its link is down; measuring goes on when it is up again"),
            Self::Up => format!("{what}: its link is up"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_once_and_downs_are_counted() {
        let mut watch = LinkWatch::new(None);
        let told: Vec<_> = [true, false, false, true, true, false].map(|is_up| watch.found(is_up)).to_vec();
        assert_eq!(
            told,
            [None, Some(LinkChange::Down), None, Some(LinkChange::Up), None, Some(LinkChange::Down)]
        );
        assert_eq!(watch.downs(), 2);
        let mut watch = LinkWatch::new(Some(false));
        let told = [false, true, true].map(|is_up| watch.found(is_up));
        assert_eq!((told, watch.downs()), ([None, Some(LinkChange::Up), None], 0));
    }

    #[test]
    fn the_loopback_interface_can_be_asked_and_none_cannot() {
        // SAFETY: a C string.
        let loopback = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
        assert_eq!(is_up(loopback).is_some(), loopback != 0);
        assert_eq!(is_up(0), None);
        assert_eq!(is_up(u32::MAX / 2), None);
        assert_eq!((speed(0), speed(u32::MAX / 2), speed(loopback)), (None, None, None));
    }
}
