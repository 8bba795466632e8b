//! Runs tshark and takes its fields apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testbed::captures::CapturePath;

/// The requested fields; a frame has any number of values of each, in the order of the headers.
pub(crate) const FIELDS: &[&str] = &[
    "frame.encap_type",
    "frame.len",
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.proto",
    "ip.frag_offset",
    "ip.flags.mf",
    "ip.hdr_len",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "ipv6.nxt",
    "ipv6.hopopts.nxt",
    "ipv6.routing.nxt",
    "ipv6.fraghdr.nxt",
    "ipv6.fraghdr.offset",
    "ipv6.fraghdr.more",
    "ipv6.dstopts.nxt",
    "ah.next_header",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "sctp.srcport",
    "sctp.dstport",
    "icmp.type",
    "icmp.code",
    "icmpv6.type",
    "icmpv6.code",
    "_ws.expert.message",
];

/// Later fragments must not be reassembled: a packet is counted as it was on the wire.
const PREFERENCES: [&str; 3] =
    ["ip.defragment:FALSE", "ipv6.defragment:FALSE", "tcp.desegment_tcp_streams:FALSE"];

/// The fields of one frame, as text.
#[derive(Debug)]
pub(crate) struct Row(Vec<Vec<String>>);

impl Row {
    /// The values of a field.
    pub(crate) fn values(&self, field: &str) -> &[String] {
        let column = FIELDS.iter().position(|known| *known == field).expect("a field that was asked for");
        &self.0[column]
    }
}

/// What tshark has of a capture.
#[derive(Debug)]
pub(crate) struct Frames {
    /// `None` if it cannot read the link type at all.
    pub(crate) rows: Option<Vec<Row>>,
    /// It could not read the file to its end.
    pub(crate) damaged: bool,
}

/// A program that the test needs and that is not there.
pub(crate) fn missing_program() -> Option<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    ["tshark", "mergecap", "capinfos"].into_iter().find(|program| !runs(program))
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What tshark has of each capture. The sound ones are read by one process, as one file that mergecap writes.
pub(crate) fn read(number: usize, captures: &[CapturePath]) -> Vec<Frames> {
    let counts = sound(captures);
    let sound = || captures.iter().filter_map(|c| Some((&c.path, *counts.get(&c.path)?)));
    let mut merged = BTreeMap::new();
    if counts.len() > 1 {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("oracle-{}-{number}.pcapng", std::process::id()));
        let merge = output(
            Command::new("mergecap")
                .args(["-a", "-I", "none", "-w"])
                .arg(&file)
                .args(sound().map(|(path, _)| path)),
        );
        assert!(merge.status.success(), "mergecap: {}", String::from_utf8_lossy(&merge.stderr));
        let (rows, complaint) = rows(&file);
        std::fs::remove_file(&file).expect("the merged file can be removed");
        assert_eq!(complaint, "", "of the merged file");
        let total: usize = sound().map(|(_, count)| count).sum();
        assert_eq!(rows.len(), total, "frames of the merged file");
        let mut rows = rows.into_iter();
        for (path, count) in sound() {
            merged.insert(path.clone(), rows.by_ref().take(count).collect::<Vec<_>>());
        }
    }
    let frames = |capture: &CapturePath| match merged.remove(&capture.path) {
        Some(rows) => Frames { rows: Some(rows), damaged: false },
        None => {
            let (rows, complaint) = rows(&capture.path);
            let unknown = complaint.contains("contains record data that TShark doesn't support");
            Frames { rows: (!unknown).then_some(rows), damaged: !unknown && !complaint.is_empty() }
        }
    };
    captures.iter().map(frames).collect()
}

/// The captures that capinfos reads to their end without complaint, with their numbers of frames.
fn sound(captures: &[CapturePath]) -> BTreeMap<PathBuf, usize> {
    let output = output(
        Command::new("capinfos")
            .args(["-c", "-M", "-T", "-r"])
            .args(captures.iter().map(|capture| &capture.path)),
    );
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complained: BTreeSet<&Path> = complaints
        .split('"')
        .map(Path::new)
        .filter(|path| captures.iter().any(|c| c.path == *path))
        .collect();
    let lines = String::from_utf8(output.stdout).expect("names in UTF-8");
    let counts = lines.lines().map(|line| {
        let (path, count) = line.split_once('\t').unwrap_or_else(|| panic!("capinfos: {line}"));
        (PathBuf::from(path), count.trim().parse().unwrap_or_else(|_| panic!("capinfos: {line}")))
    });
    counts.filter(|(path, _)| !complained.contains(path.as_path())).collect()
}

/// The frames of one file, and what tshark complained of.
fn rows(path: &Path) -> (Vec<Row>, String) {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;"]);
    // Linux's VXLAN port before the number was assigned; tshark knows it only when told.
    command.args(["-d", "udp.port==8472,vxlan"]);
    command.args(PREFERENCES.iter().flat_map(|preference| ["-o", preference]));
    command.args(FIELDS.iter().flat_map(|field| ["-e", field])).arg("-r").arg(path);
    let output = output(&mut command);
    let lines = String::from_utf8(output.stdout).expect("numbers and names");
    let rows = lines.lines().map(|line| {
        let columns = line
            .split('\t')
            .map(|column| column.split(';').filter(|value| !value.is_empty()).map(str::to_owned).collect());
        let row = Row(columns.collect());
        assert_eq!(row.0.len(), FIELDS.len(), "{line}");
        row
    });
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = complaints.lines().filter(|line| line.starts_with("tshark:")).collect();
    (rows.collect(), complaints.join(" "))
}
