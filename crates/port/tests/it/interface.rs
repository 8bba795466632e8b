//! A kernel interface measured over a veth pair. Each test has its own network namespace, which ends with its
//! thread; without root the tests are skipped and say so.

use port::{InterfaceOptions, InterfaceSource, PacketSource, Poll, SourceError, TimeBase, interfaces};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use testbed::veth::{Veth, ip, with_veth};

fn open() -> InterfaceSource {
    InterfaceSource::open(Veth::NEAR, &InterfaceOptions::default()).expect("it is there")
}

/// Number, captured length and wire length of each frame, until nothing has arrived for a while.
fn receive(source: &mut InterfaceSource) -> Result<Vec<(u32, usize, u32)>, SourceError> {
    let mut frames = Vec::new();
    let mut last = Instant::now();
    loop {
        let called = Instant::now();
        if let Poll::Burst(burst) = source.rx_burst()? {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
            for frame in burst.frames() {
                assert!(now - frame.time_ns < 60_000_000_000, "{now} {}", frame.time_ns);
                let number = Veth::number_of(frame.data).expect("nobody else sends");
                frames.push((number, frame.data.len(), frame.wire_len));
            }
            last = Instant::now();
        } else if last.elapsed() >= Duration::from_millis(300) {
            return Ok(frames);
        }
        // Long enough for a machine that has other things to do.
        assert!(called.elapsed() < Duration::from_secs(10), "rx_burst slept for {:?}", called.elapsed());
    }
}

fn lost(source: &mut InterfaceSource, counter: &str) -> u64 {
    let counters = source.lost().expect("libpcap counts");
    counters.iter().find(|(name, _)| *name == counter).expect("the counter").1
}

#[test]
fn every_frame_once_in_order_and_cut() {
    with_veth(|veth| {
        let mut source = open();
        assert_eq!((source.name(), source.time_base()), (Veth::NEAR, TimeBase::Clock));
        assert!(matches!(source.rx_burst(), Ok(Poll::Idle)));
        let length = |number: u32| 60 + (number as usize * 7) % 1400;
        (0..20_000).for_each(|number| veth.send(&Veth::frame(number, length(number))));
        let frames = receive(&mut source).unwrap();
        // On a loaded machine the kernel may have had no room for some.
        let lost = lost(&mut source, "ps_drop") + lost(&mut source, "ps_ifdrop");
        assert_eq!(frames.len() as u64 + lost, 20_000);
        assert!(frames.is_sorted_by(|a, b| a.0 < b.0));
        for frame in &frames {
            let length = length(frame.0);
            assert_eq!(*frame, (frame.0, length.min(512), length as u32));
        }
    });
}

#[test]
fn kernel_drops_are_counted_exactly() {
    with_veth(|veth| {
        let options = InterfaceOptions { buffer_bytes: 1 << 20, ..InterfaceOptions::default() };
        let mut source = InterfaceSource::open(Veth::NEAR, &options).unwrap();
        (0..50_000).for_each(|number| veth.send(&Veth::frame(number, 300)));
        let received = receive(&mut source).unwrap().len() as u64;
        let dropped = lost(&mut source, "ps_drop");
        assert!(dropped > 0 && received > 0, "{received} received, {dropped} dropped");
        assert_eq!(received + dropped, 50_000);
        // The counters are not reset when they are read, and continue.
        (0..50_000).for_each(|number| veth.send(&Veth::frame(number, 300)));
        let received = received + receive(&mut source).unwrap().len() as u64;
        assert_eq!(received + lost(&mut source, "ps_drop"), 100_000);
    });
}

#[test]
fn a_link_that_goes_down_may_come_back() {
    with_veth(|veth| {
        let mut source = open();
        veth.send(&Veth::frame(1, 60));
        assert_eq!(receive(&mut source).unwrap(), [(1, 60, 60)]);
        veth.set_near(false);
        assert_eq!(receive(&mut source).unwrap(), []);
        veth.set_near(true);
        // libpcap checks whether it is back when it is polled for frames.
        assert_eq!(receive(&mut source).unwrap(), []);
        veth.send(&Veth::frame(2, 60));
        assert_eq!(receive(&mut source).unwrap(), [(2, 60, 60)]);
    });
}

#[test]
fn an_interface_that_vanishes_is_a_fault() {
    with_veth(|veth| {
        let mut source = open();
        veth.send(&Veth::frame(1, 60));
        assert_eq!(receive(&mut source).unwrap(), [(1, 60, 60)]);
        veth.vanish();
        let Err(SourceError::Fault(text)) = receive(&mut source) else { panic!("it is gone") };
        assert!(text.contains("'near'") && !text.contains('\n'), "{text}");
        assert_eq!(lost(&mut source, "ps_drop"), 0);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    with_veth(|veth| {
        let open = |name: &str| match InterfaceSource::open(name, &InterfaceOptions::default()) {
            Err(SourceError::Open(text)) => text,
            other => panic!("{name}: {:?}", other.map(|source| source.name().to_string())),
        };
        let text = open("naer");
        assert!(text.contains("'naer'") && text.contains(Veth::NEAR), "{text}");
        veth.set_near(false);
        let text = open(Veth::NEAR);
        assert!(text.contains("ip link set near up"), "{text}");
        veth.set_near(true);
        // SAFETY: by the bare system call this thread alone stops being root.
        let status = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(status, 0);
        let text = open(Veth::NEAR);
        assert!(text.contains("CAP_NET_RAW") && text.contains("setcap"), "{text}");
    });
}

#[test]
fn the_list_of_interfaces() {
    with_veth(|_| {
        ip("address add 192.0.2.1/24 dev far");
        ip("link set lo up");
        let list = interfaces().unwrap();
        let find =
            |name: &str| list.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}: {list:?}"));
        let far = find(Veth::FAR);
        assert!(
            far.up && !far.loopback && far.addresses == ["192.0.2.1".parse::<std::net::IpAddr>().unwrap()]
        );
        assert!(find("lo").loopback && find("lo").addresses.contains(&"127.0.0.1".parse().unwrap()));
        assert!(find(Veth::NEAR).addresses.is_empty());
    });
}
