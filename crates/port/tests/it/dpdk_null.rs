//! net_null: frames out of nothing, counted; and that EAL leaves the process and the machine as they were.
use port::dpdk::{DpdkPorts, DpdkSource, Eal, EalConfig, PortOptions};
use port::{PacketSource, Poll, SourceError, SourceSetting, TimeBase};
use testbed::process::alone;

#[test]
fn frames_are_counted_and_nothing_stays_behind() {
    alone(|| {
        // Works before EAL is initialised as well as after.
        assert!(DpdkPorts::detect().version.starts_with("DPDK "));
        let affinity = status_line("Cpus_allowed:");
        let devargs = ["net_null0,size=64".to_owned(), "net_null1,size=64".to_owned()];
        let options = PortOptions { burst: 32, ..PortOptions::default() };
        let eal = Eal::init(&EalConfig::for_ports(&devargs, &options, &[])).expect("EAL starts");
        let mut source = DpdkSource::open(&eal, &devargs, &options).expect("net_null opens");
        assert_eq!(status_line("Cpus_allowed:"), affinity);
        assert_eq!(source.time_base(), TimeBase::Clock);
        assert_eq!(source.name(), "net_null0,size=64 net_null1,size=64");

        // More than all pools hold, so mbufs must come back.
        let mut count = 0;
        let mut last_time = 0;
        while count < 200_000 {
            match source.rx_burst().expect("net_null works") {
                Poll::Burst(burst) => {
                    assert!((1..=32).contains(&burst.len()));
                    for frame in burst.frames() {
                        assert_eq!((frame.data.len(), frame.wire_len, frame.stripped_vlan), (64, 64, None));
                        assert!(frame.time_ns >= last_time);
                        last_time = frame.time_ns;
                        count += 1;
                    }
                }
                Poll::Idle => {}
                Poll::Ended => panic!("a port does not end"),
            }
        }
        assert_eq!(source.lost(), Some(vec![("imissed", 0), ("ierrors", 0), ("rx_nombuf", 0)]));

        // One EAL per process, one port per name, and a closed port can be opened again.
        assert!(matches!(Eal::init(&EalConfig::default()), Err(SourceError::Open(_))));
        let twice = DpdkSource::open(&eal, &devargs[..1], &options).expect_err("it is open");
        assert!(twice.to_string().contains("open already"), "{twice}");
        drop(source);
        let again = DpdkSource::open(&eal, &devargs[..1], &options).expect("it was closed");
        drop(again);
        let few = PortOptions { mbufs: 100, ..options };
        let error = DpdkSource::open(&eal, &devargs[..1], &few).expect_err("too few mbufs");
        assert!(
            matches!(&error, SourceError::Refused(SourceSetting::Mbufs, text) if text.contains("100 mbufs")),
            "{error}"
        );
        drop(eal);

        let prefix = format!("edison-{}", std::process::id());
        for directory in ["/var/run/dpdk", "/dev/hugepages"] {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // Not those of process 12345 where this is 1234.
                let is_own = name
                    .strip_prefix(&prefix)
                    .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()));
                assert!(!is_own, "{directory}/{name} stays behind");
            }
        }
    });
}

/// A line of this thread's status.
fn status_line(key: &str) -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("procfs");
    status.lines().find(|line| line.starts_with(key)).expect("the line").to_owned()
}
