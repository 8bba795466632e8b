//! Generated frames as tshark sees them: an oracle that shares nothing with the generator.

use std::io::Write;
use std::process::Command;
use traffic::{Generator, TrafficSpec};

/// A pcap file with nanosecond times.
fn write_capture(path: &std::path::Path, spec: TrafficSpec) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).expect("temporary file"));
    let mut put = |words: &[u32], bytes: &[u8]| {
        words.iter().for_each(|word| file.write_all(&word.to_le_bytes()).expect("write"));
        file.write_all(bytes).expect("write");
    };
    put(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, 1], &[]);
    let mut generator = Generator::new(spec);
    let mut buffer = [0; 9216];
    while let Some(frame) = generator.next_frame(&mut buffer) {
        let (seconds, ns) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
        put(&[seconds as u32, ns as u32, frame.captured, frame.wire_len], &buffer[..frame.captured as usize]);
    }
    file.flush().expect("write");
}

/// What is requested from tshark for each frame.
const FIELDS: [&str; 10] = [
    "_ws.malformed",
    "_ws.expert.severity",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "ip.src",
    "ip.len",
    "tcp.flags",
];
/// `…checksum.status` of a good checksum.
const GOOD: &str = "1";
/// Expert severity `error`.
const ERROR: &str = "8388608";

/// `FIELDS` of every frame.
fn dissect(path: &std::path::Path) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(path).args(["-T", "fields", "-E", "separator=/t"]);
    for layer in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn tshark_finds_nothing_wrong() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: there is no tshark (Debian package tshark)");
        return;
    }
    let text = "packets=20k,flows=3k,ipv6=40%,size=64:3/65:1/1517:1/1518:1,\
                plant=flood:sources=50/scan/portscan/elephant";
    let path = std::env::temp_dir().join(format!("edison-traffic-{}.pcap", std::process::id()));
    write_capture(&path, text.parse().expect("valid"));
    let rows = dissect(&path);
    std::fs::remove_file(&path).expect("temporary file");

    assert_eq!(rows.len(), 20_000);
    let mut transports = [0; 4];
    let (mut syns, mut elephant) = (0, 0);
    for (row, number) in rows.iter().zip(1..) {
        let [malformed, severity, ip, tcp, udp, icmp, icmpv6, src, ip_len, tcp_flags] = row.as_slice() else {
            panic!("frame {number}: {row:?}");
        };
        assert!(malformed.is_empty() && !severity.split(',').any(|s| s == ERROR), "frame {number}: {row:?}");
        assert!(ip.is_empty() || ip == GOOD, "frame {number}: {row:?}");
        let transport = [tcp, udp, icmp, icmpv6].map(|status| status == GOOD);
        assert_eq!(transport.iter().filter(|good| **good).count(), 1, "frame {number}: {row:?}");
        transports.iter_mut().zip(transport).for_each(|(count, good)| *count += u32::from(good));
        syns += u32::from(tcp_flags == "0x0002" && ip_len == "40");
        elephant += u32::from(src == "192.0.2.13" && ip_len == "1500");
    }
    assert!(transports.iter().all(|count| *count > 0), "{transports:?}");
    // 4, 1, 1 and 5 per cent.
    assert_eq!((syns, elephant), (1_200, 1_000));
}
