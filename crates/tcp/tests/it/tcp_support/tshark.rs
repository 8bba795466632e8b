//! Runs tshark on captures: the headers of their TCP segments, and its analysis of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tcp::Segment;
use testbed::captures::CapturePath;

/// The requested fields, in this order.
const FIELDS: [&str; 25] = [
    "frame.number",
    "frame.time_epoch",
    "frame.protocols",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.analysis.lost_segment",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.zero_window",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.acks_frame",
];

/// Sequence analysis with the numbers as they are on the wire; each packet for itself, as a tap sees it.
const PREFERENCES: [&str; 5] = [
    "tcp.analyze_sequence_numbers:TRUE",
    "tcp.relative_sequence_numbers:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
];

/// Address and port.
pub(crate) type Endpoint = (String, u16);

/// A TCP segment as tshark shows it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) frame: u64,
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) segment: Segment,
    pub(crate) analysis: Analysis,
}

/// tshark's analysis of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Analysis {
    pub(crate) lost_segment: bool,
    /// Plain, fast or spurious.
    pub(crate) retransmission: bool,
    pub(crate) out_of_order: bool,
    pub(crate) zero_window: bool,
    /// Round trip that the segment's acknowledgement ends, nanoseconds, and the frame where it began.
    pub(crate) ack_rtt: Option<(u64, u64)>,
}

/// A program that the test needs and that is not there.
pub(crate) fn missing_program() -> Option<&'static str> {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    ["tshark", "mergecap", "capinfos"].into_iter().find(|program| !runs(program))
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The TCP segments of each capture. The sound ones are read by one process, as one file that mergecap writes, but
/// for those whose connections another one in it has too.
pub(crate) fn read(number: usize, captures: &[CapturePath]) -> Vec<Vec<Row>> {
    let counts = sound(captures);
    let mut merged = BTreeMap::new();
    if counts.len() > 1 {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("tcp-{}-{number}.pcapng", std::process::id()));
        let sound = captures.iter().map(|c| &c.path).filter(|path| counts.contains_key(*path));
        let merge =
            output(Command::new("mergecap").args(["-a", "-I", "none", "-w"]).arg(&file).args(sound.clone()));
        assert!(merge.status.success(), "mergecap: {}", String::from_utf8_lossy(&merge.stderr));
        let mut all = rows(&file).into_iter().peekable();
        std::fs::remove_file(&file).expect("the merged file can be removed");
        let (mut end, mut known) = (0, BTreeSet::new());
        for path in sound {
            end += counts[path];
            let mut own = Vec::new();
            while let Some(row) = all.next_if(|row| row.frame <= end) {
                own.push(row);
            }
            let pairs: BTreeSet<_> = own.iter().map(|row| pair(row).0).collect();
            if known.is_disjoint(&pairs) {
                known.extend(pairs);
                merged.insert(path.clone(), own);
            }
        }
        assert!(all.next().is_none(), "frames beyond those of the captures");
    }
    captures.iter().map(|c| merged.remove(&c.path).unwrap_or_else(|| rows(&c.path))).collect()
}

/// The endpoints of a segment in the same order for both directions, and which of them sent it.
pub(crate) fn pair(row: &Row) -> ((Endpoint, Endpoint), usize) {
    let (from, to) = (row.from.clone(), row.to.clone());
    if from <= to { ((from, to), 0) } else { ((to, from), 1) }
}

/// The captures that capinfos reads to their end without complaint, with their numbers of frames.
fn sound(captures: &[CapturePath]) -> BTreeMap<PathBuf, u64> {
    let paths = || captures.iter().map(|capture| &capture.path);
    let output = output(Command::new("capinfos").args(["-c", "-M", "-T", "-r"]).args(paths()));
    let complaints = String::from_utf8_lossy(&output.stderr);
    let complained: BTreeSet<&Path> =
        complaints.split('"').map(Path::new).filter(|path| paths().any(|known| known == path)).collect();
    let lines = String::from_utf8(output.stdout).expect("names in UTF-8");
    let counts = lines.lines().map(|line| {
        let (path, count) = line.split_once('\t').unwrap_or_else(|| panic!("capinfos: {line}"));
        (PathBuf::from(path), count.trim().parse().unwrap_or_else(|_| panic!("capinfos: {line}")))
    });
    counts.filter(|(path, _)| !complained.contains(path.as_path())).collect()
}

/// The TCP segments of one file.
fn rows(path: &Path) -> Vec<Row> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;"]);
    command.args(["-Y", "tcp"]).args(PREFERENCES.iter().flat_map(|preference| ["-o", preference]));
    command.args(FIELDS.iter().flat_map(|field| ["-e", field])).arg("-r").arg(path);
    let output = output(&mut command);
    let lines = String::from_utf8(output.stdout).expect("numbers and names");
    lines.lines().flat_map(|line| (0..).map_while(|place| row(line, place))).collect()
}

/// The segment at `place` among those of one frame (aggregated MSDUs have several). `None` if there is no
/// other that tshark analyses: TCP quoted in an ICMP error, or a header that is cut.
fn row(line: &str, place: usize) -> Option<Row> {
    let cells: Vec<&str> = line.split('\t').collect();
    assert_eq!(cells.len(), FIELDS.len(), "{line}");
    let value = |field: &str, place: usize| {
        let column = FIELDS.iter().position(|known| *known == field).expect("a field that was asked for");
        let place = if field.starts_with("frame.") { 0 } else { place };
        cells[column].split(';').nth(place).filter(|text| !text.is_empty())
    };
    let text = |field: &str| value(field, place);
    let parse = |field: &str| {
        let text = text(field)?;
        let number = text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u32::from_str_radix(hex, 16));
        Some(number.unwrap_or_else(|_| panic!("{field} is {text}: {line}")))
    };
    if text("frame.protocols")?.contains(":icmp") {
        return None;
    }
    // The addresses of the IP header that is the last one before this TCP header.
    let protocols: Vec<&str> = text("frame.protocols")?.split(':').collect();
    let tcp = protocols.iter().enumerate().filter(|(_, name)| **name == "tcp").nth(place)?.0;
    let version = *protocols[..tcp].iter().rfind(|name| ["ip", "ipv6"].contains(name))?;
    let level = protocols[..tcp].iter().filter(|name| **name == version).count() - 1;
    let address = |which| Some(value(&format!("{version}.{which}"), level)?.to_owned());
    let seq = parse("tcp.seq_raw")?;
    let port = |field| parse(field).map(|port| port as u16);
    let segment = Segment {
        time_ns: nanoseconds(text("frame.time_epoch")?)?,
        seq,
        ack: parse("tcp.ack_raw")?,
        payload: parse("tcp.len")?,
        window: parse("tcp.window_size_value")? as u16,
        flags: parse("tcp.flags")? as u8,
        ..Segment::default()
    };
    let timestamps = parse("tcp.options.timestamp.tsval").zip(parse("tcp.options.timestamp.tsecr"));
    let is_there = |field| text(field).is_some();
    Some(Row {
        frame: parse("frame.number")?.into(),
        from: (address("src")?, port("tcp.srcport")?),
        to: (address("dst")?, port("tcp.dstport")?),
        segment: segment
            .with_window_scale(parse("tcp.options.wscale.shift").map(|shift| shift as u8))
            .with_timestamps(timestamps),
        analysis: Analysis {
            lost_segment: is_there("tcp.analysis.lost_segment"),
            retransmission: is_there("tcp.analysis.retransmission")
                || is_there("tcp.analysis.fast_retransmission")
                || is_there("tcp.analysis.spurious_retransmission"),
            out_of_order: is_there("tcp.analysis.out_of_order"),
            zero_window: is_there("tcp.analysis.zero_window"),
            ack_rtt: text("tcp.analysis.ack_rtt")
                .and_then(nanoseconds)
                .zip(parse("tcp.analysis.acks_frame").map(u64::from)),
        },
    })
}

/// Seconds and nanoseconds as tshark prints them; a record's fraction may be more than a second. `None` if
/// time went backwards.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?)
}
