//! Programs of others that read what is written here, and places for files.

use flow::FlowRecord;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Whether a program is installed. Where the captures of the test data are given, everything is to be tested: then it must
/// be.
pub(crate) fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        assert!(std::env::var_os("EDISON_TEST_DATA").is_none(), "{program} is missing: scripts/install test");
        eprintln!("skipped: there is no {program}");
    }
    found
}

/// A separate directory, removed at the end.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let path = format!("edison-record-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of what is in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file system of eight mebibytes.
pub(crate) struct SmallDisk(Directory);

impl SmallDisk {
    /// `None` if this process may not mount one.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let directory = Directory::new(name);
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "edison-record"])
            .arg(&directory.0)
            .stderr(Stdio::null())
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        if !is_mounted {
            eprintln!("skipped: mounting a small file system needs root");
        }
        is_mounted.then(|| Self(directory))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0.0).status();
    }
}

/// What tshark finds: each field's values in their order.
pub(crate) struct Read(HashMap<String, Vec<String>>);

impl Read {
    pub(crate) fn list(&self, field: &str) -> &[String] {
        &self.0[field]
    }

    pub(crate) fn sum(&self, field: &str) -> u64 {
        self.list(field).iter().map(|value| value.parse::<u64>().unwrap()).sum()
    }
}

/// Runs tshark over a file and lists these fields.
pub(crate) fn tshark(arguments: &[&str], fields: &[&str]) -> Read {
    let mut command = Command::new("tshark");
    command.args(arguments).args([
        "-T",
        "fields",
        "-E",
        "separator=;",
        "-E",
        "aggregator=|",
        "-E",
        "occurrence=a",
    ]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lists: HashMap<String, Vec<String>> = HashMap::new();
    for line in text.lines() {
        for (field, values) in fields.iter().zip(line.split(';')) {
            let list = lists.entry((*field).to_owned()).or_default();
            list.extend(values.split('|').filter(|value| !value.is_empty()).map(str::to_owned));
        }
    }
    Read(lists)
}

/// Fields of flow records that [`check`] needs.
pub(crate) const FLOW_FIELDS: [&str; 13] = [
    "cflow.packets",
    "cflow.octets",
    "cflow.layer2_octet_delta_count",
    "cflow.srcaddr",
    "cflow.srcaddrv6",
    "cflow.dstport",
    "cflow.tcp_seq_num",
    "cflow.dstmac",
    "cflow.flow_end_reason",
    "cflow.observation_domain_name",
    "cflow.abstimestart",
    "cflow.abstimeend",
    "cflow.sequence_analysis.expected_sn",
];

/// Compares what tshark found with the records: totals, and values in their order. The records are plain, and so are
/// their times (before 2036).
pub(crate) fn check(read: &Read, records: &[FlowRecord], node: &str) {
    assert_eq!(read.sum("cflow.packets"), records.iter().map(|record| record.total_count).sum::<u64>());
    assert_eq!(read.sum("cflow.octets"), records.iter().map(|record| record.total_byte).sum::<u64>());
    let list = |of: &dyn Fn(&FlowRecord) -> Option<String>| records.iter().filter_map(of).collect::<Vec<_>>();
    let source = |is_v6: bool| {
        list(&|record| {
            let address = record.key?.src_addr?;
            (address.is_ipv6() == is_v6).then(|| address.to_string())
        })
    };
    assert_eq!(read.list("cflow.srcaddr"), source(false));
    assert_eq!(read.list("cflow.srcaddrv6"), source(true));
    for (field, want) in [
        (
            "cflow.layer2_octet_delta_count",
            list(&|record| Some(record.wire_bytes().unwrap_or(0).to_string())),
        ),
        ("cflow.dstport", list(&|record| Some(record.key?.dst_port?.to_string()))),
        ("cflow.tcp_seq_num", list(&|record| Some(record.tcp_seq.to_string()))),
        ("cflow.dstmac", list(&|record| Some(record.dmac.map(|octet| format!("{octet:02x}")).join(":")))),
        (
            "cflow.flow_end_reason",
            list(&|record| Some(["1", "2", "4"][record.end_reason as usize].to_owned())),
        ),
    ] {
        assert_eq!(read.list(field), want, "{field}");
    }
    let named = read.list("cflow.observation_domain_name").iter().filter(|name| *name == node).count();
    assert!(named >= records.len(), "{named}");
    // Each time is there to the nanosecond and to the millisecond.
    for (field, of) in [
        ("cflow.abstimestart", (|record| record.stime) as fn(&FlowRecord) -> u64),
        ("cflow.abstimeend", |record| record.ltime),
    ] {
        let times: Vec<_> = read.list(field).iter().map(|text| nanoseconds(text)).collect();
        let want: Vec<_> =
            records.iter().flat_map(|record| [of(record), of(record) / 1_000_000 * 1_000_000]).collect();
        assert_eq!(times, want, "{field}");
    }
    assert!(
        read.list("cflow.sequence_analysis.expected_sn").is_empty(),
        "sequence numbers are not as expected"
    );
}

/// `Nov 14, 2023 22:13:20.123456789 UTC`
fn nanoseconds(text: &str) -> u64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [month, day, year, time, "UTC"] = words[..] else { panic!("{text}") };
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = MONTHS.find(month).unwrap() / 3;
    let (day, year): (u64, u64) = (day.trim_end_matches(',').parse().unwrap(), year.parse().unwrap());
    let is_leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let february = 28 + u64::from(is_leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let days = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum::<u64>()
        + lengths[..month].iter().sum::<u64>()
        + day
        - 1;
    let (clock, fraction) = time.split_once('.').unwrap();
    let seconds = clock.split(':').fold(0, |seconds, part| seconds * 60 + part.parse::<u64>().unwrap());
    (days * 86_400 + seconds) * 1_000_000_000 + format!("{fraction:0<9}").parse::<u64>().unwrap()
}

/// A capture (pcap, raw IPv4) of a TCP connection that carried `stream` to `port`.
pub(crate) fn capture_of_stream(stream: &[u8], port: u16) -> Vec<u8> {
    /// Octets of a segment.
    const SEGMENT: usize = 1448;
    const RAW: u32 = 101;
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, RAW] {
        capture.extend(word.to_le_bytes());
    }
    for (at, payload) in stream.chunks(SEGMENT).enumerate() {
        let length = 40 + payload.len();
        for word in [at as u32, 0, length as u32, length as u32] {
            capture.extend(word.to_le_bytes());
        }
        // IPv4 without a checksum, which tshark does not check.
        capture.extend([0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        capture.extend([127, 0, 0, 1, 127, 0, 0, 2]);
        capture.extend(50_000_u16.to_be_bytes());
        capture.extend(port.to_be_bytes());
        capture.extend((1 + (at * SEGMENT) as u32).to_be_bytes());
        capture.extend([0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
        capture.extend(payload);
    }
    capture
}
