//! A kernel interface measured over a veth pair. Each test has a network namespace of its own, which goes with
//! its thread; without root they are skipped and say so.

use port::{InterfaceOptions, InterfaceSource, PacketSource, Poll, SourceError, TimeBase, interfaces};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// IEEE's EtherType for local experiments: nothing else on the link has it.
const ETHER_TYPE: u16 = 0x88b5;

/// Runs `test` in a new network namespace with a veth pair `left`, `right`, both up and silent.
fn with_veth(test: impl FnOnce() + Send + 'static) {
    let outcome = std::thread::spawn(move || {
        // SAFETY: changes the namespace of this thread only.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("skipped: a network namespace takes root: {}", std::io::Error::last_os_error());
            return;
        }
        ip("link add left type veth peer name right");
        for name in ["left", "right"] {
            // Without IPv6 the kernel itself sends nothing.
            let file = format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6");
            let _ = std::fs::write(file, "1");
            ip(&format!("link set {name} up"));
        }
        test();
    })
    .join();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("Debian package iproute2");
    assert!(status.success(), "ip {arguments}");
}

/// A packet socket that sends on `left`.
struct Sender {
    socket: libc::c_int,
    address: libc::sockaddr_ll,
}

impl Sender {
    fn new() -> Self {
        // SAFETY: no pointers but a C string; the structure may be all zeros.
        unsafe {
            let socket = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
            assert!(socket >= 0, "{}", std::io::Error::last_os_error());
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_ifindex = libc::if_nametoindex(c"left".as_ptr()) as i32;
            Self { socket, address }
        }
    }

    /// Sends a frame of `length` bytes with `number` behind the header.
    fn send(&self, number: u32, length: usize) {
        let mut frame = vec![0; length];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 8]);
        frame[12..14].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        // SAFETY: both pointers lead to as many bytes as are stated.
        let sent = unsafe {
            libc::sendto(
                self.socket,
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const self.address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        assert_eq!(sent, length as isize, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // SAFETY: the socket is open and closed here only.
        unsafe { libc::close(self.socket) };
    }
}

/// Number, captured length and wire length of each frame, until nothing has come for a while.
fn receive(source: &mut InterfaceSource) -> Result<Vec<(u32, usize, u32)>, SourceError> {
    let mut frames = Vec::new();
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_millis(300) {
        let called = Instant::now();
        if let Poll::Burst(burst) = source.rx_burst()? {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
            for frame in burst.frames() {
                assert_eq!(frame.data[12..14], ETHER_TYPE.to_be_bytes());
                assert!(now - frame.time_ns < 60_000_000_000, "{now} {}", frame.time_ns);
                let number = u32::from_be_bytes(frame.data[14..18].try_into().expect("four bytes"));
                frames.push((number, frame.data.len(), frame.wire_len));
            }
            last = Instant::now();
        }
        assert!(called.elapsed() < Duration::from_millis(250), "rx_burst slept for {:?}", called.elapsed());
    }
    Ok(frames)
}

fn lost(source: &mut InterfaceSource, counter: &str) -> u64 {
    let counters = source.lost().expect("libpcap counts");
    counters.iter().find(|(name, _)| *name == counter).expect("the counter").1
}

#[test]
fn every_frame_once_in_order_and_cut() {
    with_veth(|| {
        let mut source = InterfaceSource::open("right", &InterfaceOptions::default()).unwrap();
        assert_eq!((source.name(), source.time_base()), ("right", TimeBase::Clock));
        assert!(matches!(source.rx_burst(), Ok(Poll::Idle)));
        let sender = Sender::new();
        let length = |number: u32| 60 + (number as usize * 7) % 1400;
        (0..20_000).for_each(|number| sender.send(number, length(number)));
        let frames = receive(&mut source).unwrap();
        assert_eq!(lost(&mut source, "ps_drop"), 0);
        assert_eq!(lost(&mut source, "ps_ifdrop"), 0);
        assert_eq!(frames.len(), 20_000);
        for (at, frame) in frames.iter().enumerate() {
            let length = length(at as u32);
            assert_eq!(*frame, (at as u32, length.min(256), length as u32));
        }
    });
}

#[test]
fn kernel_drops_are_counted_exactly() {
    with_veth(|| {
        let options = InterfaceOptions { buffer_bytes: 1 << 20, ..InterfaceOptions::default() };
        let mut source = InterfaceSource::open("right", &options).unwrap();
        let sender = Sender::new();
        (0..50_000).for_each(|number| sender.send(number, 300));
        let received = receive(&mut source).unwrap().len() as u64;
        let dropped = lost(&mut source, "ps_drop");
        assert!(dropped > 0 && received > 0, "{received} received, {dropped} dropped");
        assert_eq!(received + dropped, 50_000);
        // The counters stay when they are asked for again, and go on.
        (0..50_000).for_each(|number| sender.send(number, 300));
        let received = received + receive(&mut source).unwrap().len() as u64;
        assert_eq!(received + lost(&mut source, "ps_drop"), 100_000);
    });
}

#[test]
fn a_link_that_goes_down_may_come_back() {
    with_veth(|| {
        let mut source = InterfaceSource::open("right", &InterfaceOptions::default()).unwrap();
        let sender = Sender::new();
        sender.send(1, 60);
        assert_eq!(receive(&mut source).unwrap(), [(1, 60, 60)]);
        ip("link set right down");
        assert_eq!(receive(&mut source).unwrap(), []);
        ip("link set right up");
        // libpcap looks whether it is back when it is asked for frames.
        assert_eq!(receive(&mut source).unwrap(), []);
        sender.send(2, 60);
        assert_eq!(receive(&mut source).unwrap(), [(2, 60, 60)]);
    });
}

#[test]
fn an_interface_that_vanishes_is_a_fault() {
    with_veth(|| {
        let mut source = InterfaceSource::open("right", &InterfaceOptions::default()).unwrap();
        Sender::new().send(1, 60);
        assert_eq!(receive(&mut source).unwrap(), [(1, 60, 60)]);
        ip("link del right");
        let Err(SourceError::Fault(text)) = receive(&mut source) else { panic!("it is gone") };
        assert!(text.contains("'right'") && !text.contains('\n'), "{text}");
        assert_eq!(lost(&mut source, "ps_drop"), 0);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    with_veth(|| {
        let open = |name: &str| match InterfaceSource::open(name, &InterfaceOptions::default()) {
            Err(SourceError::Open(text)) => text,
            other => panic!("{name}: {:?}", other.map(|source| source.name().to_string())),
        };
        let text = open("rihgt");
        assert!(text.contains("'rihgt'") && text.contains("right"), "{text}");
        ip("link set right down");
        let text = open("right");
        assert!(text.contains("ip link set right up"), "{text}");
        ip("link set right up");
        // SAFETY: by the bare system call this thread alone stops being root.
        let status = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(status, 0);
        let text = open("right");
        assert!(text.contains("CAP_NET_RAW") && text.contains("setcap"), "{text}");
    });
}

#[test]
fn the_list_of_interfaces() {
    with_veth(|| {
        ip("address add 192.0.2.1/24 dev left");
        ip("link set lo up");
        let list = interfaces().unwrap();
        let find =
            |name: &str| list.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}: {list:?}"));
        let left = find("left");
        assert!(
            left.up && !left.loopback && left.addresses == ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]
        );
        assert!(find("lo").loopback && find("lo").addresses.contains(&"127.0.0.1".parse().unwrap()));
        assert!(find("right").addresses.is_empty());
    });
}
