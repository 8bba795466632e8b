//! `edison-lab bench capture`: from a capture file in the page cache to the last record, against the flow meters
//! that Debian has. Processor time of whole processes counts, so that a second thread is no advantage.

use crate::compare::{in_turn, median_ratio};
use crate::huge::room;
use crate::program;
use crate::status;
use crate::{BenchResult, Points};
use arena::Limits;
use engine::{Every, MeasurementConfig, Observer, RecordSink, ResolvedDesign, Snapshot};
use flow::FlowRecord;
use packet::{FlowKey, Seed};
use port::{CaptureSource, CaptureWriter};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use traffic::{Generator, TrafficSpec, Truth};

const ETHERNET: u16 = 1;
const BURST: usize = 64;

/// Entries of pmacct's cache, which takes 4 kB for each: of more flows, several share one.
const PMACCT_ENTRIES: u64 = 100_003;

/// Seconds that pmacct waits for its second process, which touches 400 MB first: longer where the machine is busy. Waiting takes no processor
/// time.
const PMACCT_WAITS: [u64; 3] = [1, 5, 20];

/// A program to compare, and what it needs on its command line.
struct MeterVariant {
    name: &'static str,
    program: String,
    arguments: fn(capture: &str, output: &str) -> Vec<String>,
    /// Nanoseconds of processor time are taken from its rounds; this is the peak memory that it reported.
    memory_bytes: Option<u64>,
    answer: Option<Value>,
    fault: Option<String>,
}

impl MeterVariant {
    fn new(name: &'static str, program: &str, arguments: fn(&str, &str) -> Vec<String>) -> Self {
        Self { name, program: program.to_owned(), arguments, memory_bytes: None, answer: None, fault: None }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let all = [(10_000_000, 1_000_000, 1.0), (2_000_000, 1_000_000, 0.0)];
    let is_narrowed = points.packets.is_some() || points.flows.is_some() || points.zipf.is_some();
    for (packets, flows, zipf) in all.into_iter().take(if is_narrowed { 1 } else { 2 }) {
        let packets = points.packets.unwrap_or(packets);
        let flows = points.flows.unwrap_or(flows);
        let zipf = points.zipf.unwrap_or(zipf);
        let spec = format!("packets={packets},flows={flows},zipf={zipf},size=64,seed=1");
        point(&spec, points.seconds, out)?;
    }
    Ok(())
}

fn point(spec: &str, seconds: f64, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let itself = program::itself()?.to_string_lossy().into_owned();
    let edison = program::edison()?.to_string_lossy().into_owned();
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let capture = directory.path().join("bench.pcap");
    let truth = write_capture(&capture, spec)?;
    let records = |capture: &str, output: &str| {
        words(&["run", capture, "--top", "0", "--every", "1h", "--flows", output])
    };
    let new = MeterVariant::new;
    let mut variants = vec![
        new("edison", &itself, |capture, _| words(&["bench", "capture", "--file", capture])),
        new("edison_csv", &edison, records),
        new("edison_jsonl", &edison, records),
        new("edison_parquet", &edison, records),
        new("nfpcapd", "nfpcapd", |capture, output| words(&["-r", capture, "-w", output, "-t", "3600"])),
        new("softflowd", "softflowd", |capture, _| {
            // As many flows as there can be, in the foreground, without a collector, process file or control socket.
            words(&["-r", capture, "-d", "-m", "4000000", "-p", "none", "-c", "none"])
        }),
    ];
    let times = in_turn(&mut variants, seconds, |variant| {
        if variant.fault.is_some() {
            return f64::NAN;
        }
        match round(variant, &capture, directory.path()) {
            Ok(time) => time,
            Err(fault) => {
                variant.fault = Some(fault);
                f64::NAN
            }
        }
    });
    let nfpcapd = variants.iter().position(|v| v.name == "nfpcapd").map(|at| times[at].clone());
    for (variant, rounds_ns) in variants.into_iter().zip(times) {
        let mut more = vec![("distinct", json!(truth.totals.flows))];
        if let Some(fault) = variant.fault {
            // A missing meter is reported on the line where its figure would be.
            more.push(("fault", json!(fault)));
        } else if let Some(nfpcapd) = &nfpcapd
            && nfpcapd.iter().all(|time| time.is_finite())
        {
            more.push(("times_nfpcapd", json!((median_ratio(nfpcapd, &rounds_ns) * 10.0).round() / 10.0)));
        }
        let is_own_memory = variant.name == "edison";
        if let (Some(bytes), true) = (variant.memory_bytes, is_own_memory) {
            more.push(("anonymous_bytes_per_flow", json!(bytes / truth.totals.flows.max(1))));
        }
        let checked = match variant.name {
            "edison" => variant.answer.as_ref().is_some_and(|answer| agrees(answer, &truth)),
            "nfpcapd" => {
                variant.answer.as_ref().is_some_and(|a| a["packets"] == json!(truth.totals.count.packets))
            }
            "softflowd" => {
                variant.answer.as_ref().is_some_and(|a| a["packets"] == json!(truth.totals.count.packets))
            }
            name => records_agree(name, directory.path(), &truth),
        };
        out(BenchResult {
            bench: "capture",
            variant: variant.name.to_owned(),
            params: vec![("spec", json!(spec)), ("cores", json!(1))],
            packets: truth.totals.count.packets,
            rounds_ns,
            memory_bytes: variant.memory_bytes,
            checked,
            more,
        });
    }
    Ok(())
}

/// Measures this program (by `bench capture --file`), argus and pmacct on the same capture, in turn, each this many times: processor time of
/// whole processes. `programs` are those of the two that are there, each with its path.
///
/// # Errors
/// One line: what failed.
pub(crate) fn meters(
    spec: &str,
    rounds: usize,
    programs: &[(&'static str, PathBuf)],
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no place for temporary files: {error}"))?;
    let capture = directory.path().join("bench.pcap");
    let truth = write_capture(&capture, spec)?;
    let itself = program::itself()?;
    let edison: fn(&str, &str) -> Vec<String> = |capture, _| words(&["bench", "capture", "--file", capture]);
    let mut variants = vec![MeterVariant::new("edison", &itself.to_string_lossy(), edison)];
    for (name, program) in programs {
        let arguments: fn(&str, &str) -> Vec<String> = match *name {
            "argus" => |capture, output| words(&["-r", capture, "-w", output]),
            _ => |_, output| words(&["-f", &format!("{output}.conf")]),
        };
        variants.push(MeterVariant::new(name, &program.to_string_lossy(), arguments));
    }
    let mut times = vec![Vec::new(); variants.len()];
    let mut waits = PMACCT_WAITS.to_vec();
    for _ in 0..rounds {
        for (variant, times) in variants.iter_mut().zip(&mut times) {
            let directory = directory.path();
            let time = match variant.name {
                "pmacctd" => patient_round(truth.totals.count.packets, &mut waits, |wait| {
                    write_pmacct_settings(&capture, directory, wait)?;
                    let time = fresh_round(variant, &capture, directory)?;
                    Ok((time, variant.answer.as_ref().and_then(|answer| answer["packets"].as_u64())))
                }),
                _ => fresh_round(variant, &capture, directory),
            };
            times.push(time?);
        }
    }
    let own = times[0].clone();
    for (variant, rounds_ns) in variants.into_iter().zip(times) {
        let answer = variant.answer.unwrap_or_default();
        let checked = match variant.name {
            "edison" => agrees(&answer, &truth),
            _ => answer["packets"] == json!(truth.totals.count.packets),
        };
        let times_own = median_ratio(&rounds_ns, &own);
        out(BenchResult {
            bench: "capture",
            variant: variant.name.to_owned(),
            params: vec![("spec", json!(spec)), ("cores", json!(1))],
            packets: truth.totals.count.packets,
            rounds_ns,
            memory_bytes: variant.memory_bytes,
            checked,
            more: vec![("times_edison", json!((times_own * 10.0).round() / 10.0))],
        });
    }
    Ok(())
}

/// A round without what the one before wrote, to which meters would append.
fn fresh_round(variant: &mut MeterVariant, capture: &Path, directory: &Path) -> Result<f64, String> {
    let _ = std::fs::remove_file(output_of(variant.name, directory));
    round(variant, capture, directory)
}

/// A round of pmacct, which has to wait until its second process has touched its cache: what is read before that is in no row. `one` runs it
/// with a wait, and returns what the round took and the packets in its rows. Of `waits`, those that were too short are taken out.
fn patient_round(
    packets: u64,
    waits: &mut Vec<u64>,
    mut one: impl FnMut(u64) -> Result<(f64, Option<u64>), String>,
) -> Result<f64, String> {
    loop {
        let ran = one(waits[0]);
        let is_whole = matches!(ran, Ok((_, Some(counted))) if counted == packets);
        if is_whole || waits.len() == 1 {
            return ran.map(|(time, _)| time);
        }
        waits.remove(0);
    }
}

/// Writes the settings with which pmacct waits so many seconds before it reads the capture.
fn write_pmacct_settings(capture: &Path, directory: &Path, wait: u64) -> Result<(), String> {
    let output = output_of("pmacctd", directory);
    let settings = format!(
        "daemonize: false\npcap_savefile: {}\npcap_savefile_delay: {wait}\nplugins: print\n\
         aggregate: src_host, dst_host, src_port, dst_port, proto\nprint_output: csv\nprint_output_file: {}\n\
         print_cache_entries: {PMACCT_ENTRIES}\nplugin_buffer_size: 65536\nplugin_pipe_size: 67108864\n",
        capture.display(),
        output.display()
    );
    let file = output.with_extension("conf");
    std::fs::write(&file, settings).map_err(|error| format!("{}: {error}", file.display()))
}

fn write_capture(path: &Path, spec: &str) -> Result<Truth, String> {
    let spec: TrafficSpec = spec.parse().map_err(|error| format!("{error}"))?;
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut generator = Generator::with_truth(spec);
    let mut frame = vec![0; generator.longest_capture()];
    let mut writer = CaptureWriter::create(path, ETHERNET, 65_535).map_err(fail)?;
    while let Some(made) = generator.next_frame(&mut frame) {
        writer.write(made.time_ns, &frame[..made.captured as usize], made.wire_len).map_err(fail)?;
    }
    writer.finish().map_err(fail)?;
    generator.truth().ok_or_else(|| "the generator kept no truth".to_owned())
}

fn output_of(name: &str, directory: &Path) -> PathBuf {
    match name.strip_prefix("edison_") {
        Some(format) => directory.join(format!("records.{format}")),
        None => directory.join(name),
    }
}

/// Memory that is allocated, written and freed before each program runs: more than any of them needs.
const WARM_BYTES: usize = 512 << 20;

/// Touches the machine's memory first. A virtual machine may return freed memory to its host (free page
/// reporting) within seconds, and the next program pays for getting it back: reading ten million packets took
/// 0.40 to 0.46 s of kernel time six seconds after the last program, 0.06 to 0.2 s immediately after one.
/// This is no property of the program, and affects the quickest most.
fn warm_memory() {
    let mut memory = room::<u8>(WARM_BYTES);
    memory.resize(WARM_BYTES, 1);
    std::hint::black_box(&memory);
}

/// Runs a variant once; returns its processor time, user and system, nanoseconds.
fn round(variant: &mut MeterVariant, capture: &Path, directory: &Path) -> Result<f64, String> {
    let output = output_of(variant.name, directory);
    if variant.name == "nfpcapd" {
        std::fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    }
    let arguments = (variant.arguments)(&capture.to_string_lossy(), &output.to_string_lossy());
    warm_memory();
    let before = children_usage();
    let ran =
        Command::new(&variant.program).args(arguments).stdin(Stdio::null()).output().map_err(|error| {
            format!("{}: {error}; scripts/install bench installs Debian's meters", variant.program)
        })?;
    let after = children_usage();
    let text = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    if !ran.status.success() {
        let last = text.lines().last().unwrap_or_default().to_owned();
        return Err(format!("{}: {}: {last}", variant.program, ran.status));
    }
    variant.answer = match variant.name {
        "argus" => records_of_argus(&output)?,
        "pmacctd" => rows_of_pmacct(&output)?,
        name => answer(name, &text),
    };
    variant.memory_bytes = variant
        .answer
        .as_ref()
        .and_then(|answer| answer["anonymous_bytes"].as_u64())
        .or(variant.memory_bytes);
    Ok(after - before)
}

/// The sum of the packets of argus' records, by its own client.
fn records_of_argus(records: &Path) -> Result<Option<Value>, String> {
    let count = Command::new("racount").arg("-r").arg(records).stdin(Stdio::null()).output();
    let count = count.map_err(|error| format!("racount: {error}; install Debian's argus-client"))?;
    let text = String::from_utf8_lossy(&count.stdout);
    // A heading, and: sum, records, packets, …
    let mut words = text.lines().nth(1).unwrap_or_default().split_whitespace();
    Ok(words
        .nth(2)
        .and_then(|packets| packets.parse::<u64>().ok())
        .map(|packets| json!({ "packets": packets })))
}

/// The sum of the packets of pmacct's rows.
fn rows_of_pmacct(rows: &Path) -> Result<Option<Value>, String> {
    let text = std::fs::read_to_string(rows).map_err(|error| format!("{}: {error}", rows.display()))?;
    let mut lines = text.lines();
    let Some(at) = lines.next().and_then(|heading| heading.split(',').position(|name| name == "PACKETS"))
    else {
        return Ok(None);
    };
    let packets = lines.map(|line| line.split(',').nth(at).and_then(|cell| cell.parse::<u64>().ok()));
    Ok(packets.sum::<Option<u64>>().map(|packets| json!({ "packets": packets })))
}

/// Returns what a program reported to have counted.
fn answer(name: &str, text: &str) -> Option<Value> {
    let after = |label: &str| -> Option<u64> {
        let rest = &text[text.find(label)? + label.len()..];
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    match name {
        "edison" => text.lines().find_map(|line| serde_json::from_str(line).ok()),
        "nfpcapd" => Some(json!({ "packets": after("Processed:")? })),
        "softflowd" => Some(json!({ "packets": after("Packets processed:")? })),
        _ => None,
    }
}

/// Processor time of all children that have ended, nanoseconds.
pub(crate) fn children_usage() -> f64 {
    // SAFETY: all-zero bytes are a `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a place for one `rusage`.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

fn agrees(answer: &Value, truth: &Truth) -> bool {
    answer["packets"] == json!(truth.totals.count.packets)
        && answer["total_byte"] == json!(truth.totals.count.total_byte)
        && answer["flows"] == json!(truth.totals.flows)
}

/// Compares a file of records with the truth, flow by flow for CSV, by the number of rows else.
fn records_agree(name: &str, directory: &Path, truth: &Truth) -> bool {
    let path = output_of(name, directory);
    let Ok(file) = std::fs::File::open(&path) else { return false };
    if name == "edison_parquet" {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        return SerializedFileReader::new(file)
            .is_ok_and(|file| file.metadata().file_metadata().num_rows() as u64 == truth.totals.flows);
    }
    let Ok(text) = std::fs::read_to_string(&path) else { return false };
    if name == "edison_jsonl" {
        return text.lines().count() as u64 == truth.totals.flows;
    }
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let Some(columns) =
        ["src_addr", "dst_addr", "src_port", "dst_port", "protocol", "total_count", "total_byte"]
            .iter()
            .map(|name| header.iter().position(|column| column == name))
            .collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let mut left: HashMap<FlowKey, (u64, u64)> =
        truth.flows.iter().map(|(key, count)| (*key, (count.packets, count.total_byte))).collect();
    let all_known = lines.all(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |at: usize| cells.get(columns[at]).copied().unwrap_or_default();
        let parse = || {
            let src = (cell(0).parse().ok()?, cell(2).parse().ok()?);
            let dst = (cell(1).parse().ok()?, cell(3).parse().ok()?);
            let key = FlowKey::five_tuple(src, dst, cell(4).parse().ok()?);
            Some((key, (cell(5).parse().ok()?, cell(6).parse().ok()?)))
        };
        parse().is_some_and(|(key, counts): (FlowKey, (u64, u64))| left.remove(&key) == Some(counts))
    });
    all_known && left.is_empty()
}

/// Keeps the last block of records only: measuring to the last record in memory.
#[derive(Default)]
struct LastBlock {
    block: Vec<FlowRecord>,
    total_byte: u64,
    /// Memory of this process when its tables were fullest.
    anonymous_bytes: Arc<AtomicU64>,
}

impl RecordSink for LastBlock {
    fn record(&mut self, record: FlowRecord) {
        if self.block.len() == 1 << 12 {
            self.block.clear();
        }
        self.total_byte += record.total_byte;
        self.block.push(record);
    }
    /// Called when everything is counted and the final flows have not ended, on the thread that measures.
    fn may_wait(&mut self) {
        self.anonymous_bytes.fetch_max(status::bytes("self", "RssAnon").unwrap_or(0), Relaxed);
    }
    fn sibling(&self) -> Self {
        Self { anonymous_bytes: Arc::clone(&self.anonymous_bytes), ..Self::default() }
    }
    fn absorb(&mut self, sibling: Self) {
        self.total_byte += sibling.total_byte;
    }
}

struct SilentObserver;

impl Observer for SilentObserver {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, _: String) {}
}

/// Measures one capture in this process and reports what was counted, and the measuring thread's time and
/// memory: one round of the variant `edison`.
///
/// # Errors
/// One line.
pub fn measure_file(path: &Path) -> Result<Value, String> {
    let name = path.to_string_lossy();
    let source = CaptureSource::open(&name, BURST).map_err(|error| error.to_string())?;
    let config = MeasurementConfig {
        // One window, as the other meters have one file.
        every: Every::Time(3_600_000_000_000),
        limits: Limits::new(usize::MAX >> 1, 1 << 28),
        seed: Seed::new(1),
        burst: BURST,
        ..MeasurementConfig::default()
    };
    let stop = AtomicBool::new(false);
    let outcome = engine::run(
        &mut [Box::new(source)],
        None,
        &config,
        &ResolvedDesign::single(),
        &stop,
        LastBlock::default(),
        &mut SilentObserver,
    )
    .map_err(|error| error.to_string())?;
    if let Some(error) = outcome.errors.first() {
        return Err(error.to_string());
    }
    let ended = outcome.ended;
    Ok(json!({
        "packets": ended.packets.measured,
        "total_byte": outcome.records.total_byte,
        "flows": ended.flows.seen,
        "ns_per_packet": (outcome.processor_time.as_nanos() as f64 / ended.packets.received.max(1) as f64 * 10.0).round() / 10.0,
        "anonymous_bytes": outcome.records.anonymous_bytes.load(Relaxed),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmacct_is_given_the_time_that_it_takes_to_be_ready() {
        let mut waits = PMACCT_WAITS.to_vec();
        // Before three seconds it has no rows, or not all.
        let mut waited = Vec::new();
        let mut round = |waits: &mut Vec<u64>, packets| {
            patient_round(packets, waits, |wait| {
                waited.push(wait);
                if wait < 3 { Err("no rows".to_owned()) } else { Ok((wait as f64, Some(7))) }
            })
        };
        assert_eq!(round(&mut waits, 7), Ok(5.0));
        assert_eq!(round(&mut waits, 7), Ok(5.0));
        // What is wrong stays wrong, however long it waits.
        assert_eq!(round(&mut waits, 8), Ok(20.0));
        assert_eq!(waited, [1, 5, 5, 5, 20]);
        let failed = patient_round(7, &mut waits, |_| Err("broken".to_owned()));
        assert_eq!((failed, waits), (Err("broken".to_owned()), vec![20]));
    }
}
