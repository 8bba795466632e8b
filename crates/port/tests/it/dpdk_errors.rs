//! What cannot be opened: one line that names the port and the reason.
use port::dpdk::{DpdkSource, Eal, EalConfig, PortOptions};
use port::{SourceError, SourceSetting};
use testbed::process::alone;

#[test]
fn each_failure_says_why_on_one_line() {
    alone(|| {
        let options = PortOptions::default();
        let eal =
            Eal::init(&EalConfig { memory_bytes: 128 << 20, ..EalConfig::default() }).expect("EAL starts");
        let cases = [
            ("net_no_such_driver0", "no installed DPDK driver"),
            ("net_pcap0,rx_pcap=/nonexistent.pcap", "/nonexistent.pcap"),
            ("net_af_packet0,iface=nonexistent0", "there is no interface 'nonexistent0'"),
            ("net_af_xdp0,iface=nonexistent0", "there is no interface 'nonexistent0'"),
            ("net_null0,no_such_argument=1", "no_such_argument"),
            ("0000:ff:1f.7", "no device at the PCI address"),
            ("", "names no device"),
        ];
        for (devargs, reason) in cases {
            let error = DpdkSource::open(&eal, &[devargs.to_owned()], &options).expect_err(devargs);
            assert!(
                matches!(error, SourceError::Open(_) | SourceError::Refused(SourceSetting::EalLog, _)),
                "{devargs}: {error:?}"
            );
            let text = error.to_string();
            eprintln!("{text}");
            assert!(text.contains(reason) && !text.contains('\n'), "{devargs}: {text}");
        }
        // One bad port closes the good one: it can be opened afterwards.
        let devargs = ["net_null0".to_owned(), "net_null1,no_such_argument=1".to_owned()];
        assert!(DpdkSource::open(&eal, &devargs, &options).is_err());
        assert!(DpdkSource::open(&eal, &devargs[..1], &options).is_ok());
        // A pool beyond the memory that EAL was given.
        let huge = PortOptions { mbufs: 4_000_000, ..options };
        let error = DpdkSource::open(&eal, &devargs[..1], &huge).expect_err("too many mbufs");
        assert!(error.to_string().contains("4000000 mbufs"), "{error}");
    });
}
