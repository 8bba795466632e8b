//! Packets that are captured while they are measured, against tshark's choice.

use crate::support::{BURST, Recorder, Run, config, on_queues, plan};
use engine::{
    CaptureOrder, CaptureSettings, Control, Every, FinishedCapture, FlowCaptures, Gate, MeasurementConfig,
    NotCaptured, Snap, WindowId,
};
use model::Span;
use port::{CaptureSource, CaptureWriter, PacketSource, Poll, SyntheticSource};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use task::query::{Comparison, Condition};
use task::rows::{KeyFilter, PlanContext};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;
const WINDOW: u64 = 100 * MS;
const SPEC: &str = "packets=4k,flows=300,ipv6=30%,rate=2000,size=64/594,tcp=handshake";

/// Packets that both the engine and tshark select.
const PORT: i64 = 20_000;

fn filter(config: &MeasurementConfig) -> KeyFilter {
    let port = |name| Condition::compare(name, Comparison::Less, PORT);
    let ports = Condition::Or(vec![port("src_port"), Condition::Not(Box::new(port("dst_port")))]);
    let protocol = |number| Condition::compare("protocol", Comparison::Equal, number);
    let condition = Condition::And(vec![ports, Condition::Or(vec![protocol(6), protocol(17)])]);
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    KeyFilter::plan(&condition, &site).expect("a filter")
}

fn tshark_filter() -> String {
    format!(
        "(tcp && (tcp.srcport < {PORT} || tcp.dstport >= {PORT})) || (udp && (udp.srcport < {PORT} || udp.dstport >= {PORT}))"
    )
}

/// A separate folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("edison-captures-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    fn settings(&self) -> CaptureSettings {
        CaptureSettings {
            folder: Some(self.0.clone()),
            node: "Node1".to_owned(),
            rate: u32::MAX,
            ..CaptureSettings::none()
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes generated frames as a capture file.
fn capture_file(folder: &Folder, spec: &str) -> PathBuf {
    let path = folder.0.join("source.pcap");
    let mut source = SyntheticSource::open(spec, BURST).expect("a good specification");
    let mut writer = CaptureWriter::create(&path, 1, 65_535).expect("a file");
    while let Poll::Burst(burst) = source.rx_burst().expect("frames") {
        for frame in burst.frames() {
            writer.write(frame.time_ns, frame.data, frame.wire_len).expect("space");
        }
    }
    writer.finish().expect("space");
    path
}

/// What tshark says of a packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    time_ns: u64,
    length: u64,
    /// Link, network and transport header.
    headers: u64,
    captured: u64,
}

/// The packets of a file that pass a filter; `None` without tshark.
fn tshark(path: &Path, filter: &str) -> Option<Vec<Seen>> {
    let fields = ["frame.time_epoch", "frame.len", "frame.cap_len", "ip.hdr_len", "tcp.hdr_len"];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-r"])
        .arg(path)
        .args(["-Y", filter])
        .args(fields)
        .output();
    let Ok(output) = output else {
        assert!(std::env::var_os("EDISON_TEST_DATA").is_none(), "tshark is missing: scripts/install test");
        eprintln!("skipped: there is no tshark");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let number = |text: &str| text.parse::<u64>().ok();
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let seen = lines.lines().map(|line| {
        let [time, length, captured, ip, tcp] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (seconds, fraction) = time.split_once('.').expect("a time");
        Seen {
            time_ns: number(seconds).expect("seconds") * 1_000_000_000
                + number(fraction).expect("nanoseconds"),
            length: number(length).expect("a length"),
            headers: 14 + number(ip).unwrap_or(40) + number(tcp).unwrap_or(8),
            captured: number(captured).expect("a length"),
        }
    });
    Some(seen.collect())
}

/// Fails where packets are not those expected, and shows the first one that is not.
#[track_caller]
fn same(captured: &[Seen], expected: &[Seen], what: &str) {
    if let Some(at) =
        (0..captured.len().max(expected.len())).find(|at| captured.get(*at) != expected.get(*at))
    {
        panic!("{what}: packet {at} is {:?}, not {:?}", captured.get(at), expected.get(at));
    }
}

/// The same packets, each with the captured length that `captured` gives.
fn cut(seen: &[Seen], captured: impl Fn(&Seen) -> u64) -> Vec<Seen> {
    seen.iter().map(|seen| Seen { captured: captured(seen).min(seen.length), ..seen.clone() }).collect()
}

fn control(config: &MeasurementConfig) -> Control {
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    Control::new(Arc::new(TaskSet::plan(Generation::default(), &[], None, &site).expect("no query")))
}

fn order(id: &str, filter: &KeyFilter, packets: u64, time: Option<Span>) -> CaptureOrder {
    CaptureOrder {
        id: id.to_owned(),
        comment: format!("capture {id}"),
        filter: filter.clone(),
        packets,
        time,
    }
}

/// Measures with captures that were ordered before, and gives those that have ended, by name.
fn run(
    sources: &mut [Box<dyn PacketSource>],
    design: &str,
    settings: CaptureSettings,
    order: impl FnOnce(&FlowCaptures, &KeyFilter),
) -> Vec<FinishedCapture> {
    let config = MeasurementConfig { every: Every::Time(WINDOW), ..config() };
    let control = control(&config);
    control.captures().start(settings).expect("a thread");
    order(control.captures(), &filter(&config));
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let run = Run::new(sources, None, &config, &plan(design), Recorder::new(|_, _| ()));
    run.is_consistent();
    let mut finished = control.captures().end();
    finished.sort_by(|one, other| one.id.cmp(&other.id));
    finished
}

fn file_source(path: &Path) -> Vec<Box<dyn PacketSource>> {
    let name = path.to_str().expect("a name in UTF-8");
    vec![Box::new(CaptureSource::open(name, BURST).expect("a capture"))]
}

fn file(finished: &FinishedCapture) -> &Path {
    assert_eq!(finished.failed, None, "{finished:?}");
    finished.file.as_deref().expect("a file")
}

#[test]
fn captured_packets_are_those_that_tshark_selects() {
    let of_all = Folder::new("source");
    let source = capture_file(&of_all, SPEC);
    let Some(selected) = tshark(&source, &tshark_filter()) else { return };
    let all = tshark(&source, "").expect("tshark");
    assert!(selected.len() > 500 && selected.len() < all.len(), "{}", selected.len());
    let begin = all[0].time_ns / WINDOW * WINDOW;
    let third = Span { start_ns: begin + 2 * WINDOW, end_ns: begin + 3 * WINDOW };
    for design in ["rss", "async/2", "sync/2", "cooperative", "async/3"] {
        let folder = Folder::new(&design.replace('/', "-"));
        let finished = run(&mut file_source(&source), design, folder.settings(), |captures, filter| {
            captures.order(order("a", filter, 100, None)).expect("it is taken");
            captures.order(order("b", filter, 50, Some(third))).expect("it is taken");
            captures.order(order("c", filter, 5_000, Some(third))).expect("it is taken");
            captures.order(order("d", &KeyFilter::all(), 5_000, None)).expect("it is taken");
        });
        let of_third = |seen: &&Seen| third.start_ns <= seen.time_ns && seen.time_ns < third.end_ns;
        let of_third: Vec<Seen> = selected.iter().filter(of_third).cloned().collect();
        assert!(of_third.len() > 50);
        let expected = [&selected[..100], &of_third[..50], &of_third, &all];
        for ((finished, expected), by) in
            finished.iter().zip(expected).zip(["packets", "packets", "time", "run_end"])
        {
            let captured = tshark(file(finished), "").expect("tshark");
            same(&captured, &cut(expected, |seen| seen.headers), &format!("{design}: {}", finished.id));
            assert_eq!((finished.packets, finished.ended_by), (expected.len() as u64, by), "{design}");
            let content = std::fs::read(file(finished)).expect("a file");
            assert_eq!(finished.bytes, content.len() as u64);
            assert_eq!(finished.content, Some(content));
            assert!(finished.is_cut && finished.dropped.total() == 0, "{finished:?}");
        }
        assert_eq!(finished.len(), 4);
        let names = ["a.Node1.pcapng", "b.Node1.pcapng", "c.Node1.pcapng", "d.Node1.pcapng"];
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn several_receivers_capture_together() {
    for (design, queues) in [("rss/2", 2), ("2x1", 2)] {
        let folder = Folder::new(&format!("queues-{}", design.replace('/', "-")));
        let source = capture_file(&folder, SPEC);
        let Some(selected) = tshark(&source, &tshark_filter()) else { return };
        let settings = CaptureSettings { snap: Snap::Bytes(80), ..folder.settings() };
        let finished = run(&mut on_queues(SPEC, queues, BURST), design, settings, |captures, filter| {
            captures.order(order("all", filter, 5_000, None)).expect("it is taken");
            captures.order(order("some", filter, 100, None)).expect("it is taken");
        });
        let mut captured = tshark(file(&finished[0]), "").expect("tshark");
        captured.sort();
        let mut expected = cut(&selected, |_| 80);
        expected.sort();
        same(&captured, &expected, design);
        let some = tshark(file(&finished[1]), "").expect("tshark");
        assert_eq!((some.len(), finished[1].packets, finished[1].ended_by), (100, 100, "packets"));
        assert!(some.iter().all(|seen| expected.binary_search(seen).is_ok()), "{design}");
    }
}

#[test]
fn whole_packets_are_captured_where_that_is_set() {
    let folder = Folder::new("whole");
    let source = capture_file(&folder, SPEC);
    let Some(selected) = tshark(&source, &tshark_filter()) else { return };
    let settings = CaptureSettings { snap: Snap::Bytes(65_535), ..folder.settings() };
    let finished = run(&mut file_source(&source), "rss", settings, |captures, filter| {
        captures.order(order("a", filter, 5_000, None)).expect("it is taken");
    });
    same(&tshark(file(&finished[0]), "").expect("tshark"), &selected, "whole");
    assert!(!finished[0].is_cut);
}

#[test]
fn bytes_and_rate_are_bounded() {
    let folder = Folder::new("bounds");
    let source = capture_file(&folder, SPEC);
    let settings = CaptureSettings { bytes: 30_000, snap: Snap::Bytes(200), ..folder.settings() };
    let finished = run(&mut file_source(&source), "rss", settings, |captures, filter| {
        captures.order(order("a", filter, 250, None)).expect("it may fit");
        // The first one may take all.
        let refused = captures.order(order("b", filter, 1, None));
        assert!(matches!(refused, Err(NotCaptured::NoRoom { left: 0, .. })), "{refused:?}");
        let refused = captures.order(order("c", filter, 0, None));
        assert!(matches!(refused, Err(NotCaptured::NoRoom { .. })), "nothing is no capture: {refused:?}");
    });
    let [a] = &finished[..] else { panic!("{finished:?}") };
    assert_eq!((a.ended_by, std::fs::metadata(file(a)).expect("a file").len()), ("bytes", a.bytes));
    assert!(a.bytes <= 30_000 && a.packets > 100 && a.packets < 250, "{a:?}");

    let settings = CaptureSettings { rate: 7, ..folder.settings() };
    let all = CaptureSource::open(source.to_str().expect("UTF-8"), BURST).map(|mut source| {
        let mut seconds = std::collections::BTreeMap::<u64, u64>::new();
        while let Poll::Burst(burst) = source.rx_burst().expect("frames") {
            burst.frames().for_each(|frame| *seconds.entry(frame.time_ns / 1_000_000_000).or_default() += 1);
        }
        seconds
    });
    let all = all.expect("a capture");
    let finished = run(&mut file_source(&source), "rss", settings, |captures, _| {
        captures.order(order("r", &KeyFilter::all(), 5_000, None)).expect("it is taken");
    });
    let kept: u64 = all.values().map(|packets| 7.min(*packets)).sum();
    let dropped = all.values().sum::<u64>() - kept;
    assert_eq!((finished[0].packets, finished[0].dropped.get("capture_rate")), (kept, dropped));
    assert!(all.len() > 1, "{all:?}");
}

#[test]
fn what_cannot_be_captured_is_refused_by_name() {
    let folder = Folder::new("refused");
    let config = config();
    let (control, filter) = (control(&config), filter(&config));
    let captures = control.captures();
    let refused = |id: &str| captures.order(order(id, &filter, 1, None)).expect_err("a refusal");
    assert_eq!(refused("a"), NotCaptured::NoFolder);
    assert!(refused("a").to_string().contains("--captures DIR"));
    captures.start(CaptureSettings::none()).expect("no thread");
    assert_eq!((refused("a"), refused("../a")), (NotCaptured::NoFolder, NotCaptured::BadName));
    captures.start(CaptureSettings { anonymizes: true, ..folder.settings() }).expect("no thread");
    assert_eq!(refused("a"), NotCaptured::Anonymized);
    captures.start(folder.settings()).expect("a thread");
    captures.order(order("a", &filter, 1, None)).expect("it is taken");
    assert_eq!(refused("a"), NotCaptured::SameName);
    std::fs::write(folder.0.join("b.Node1.pcapng"), "mine").expect("a file");
    captures.order(order("b", &filter, 1, None)).expect("the file is seen later");
    captures.order(order("c", &filter, 1, None)).expect("it is taken");
    captures.cancel("c");
    let mut finished = captures.end();
    finished.sort_by(|one, other| one.id.cmp(&other.id));
    let ended: Vec<_> = finished.iter().map(|finished| (&*finished.id, finished.ended_by)).collect();
    assert_eq!(ended, [("a", "run_end"), ("b", "fault"), ("c", "cancelled")]);
    let failed = finished[1].failed.as_deref().expect("a reason");
    assert!(failed.starts_with("file: ") && failed.contains("is there"), "{failed}");
    assert_eq!(std::fs::read_to_string(folder.0.join("b.Node1.pcapng")).expect("a file"), "mine");
    assert_eq!(refused("d"), NotCaptured::RunOver);
}

/// Orders what is to be captured when a window is about to be entered.
#[derive(Debug)]
struct Ordering {
    captures: Mutex<Option<(FlowCaptures, KeyFilter)>>,
    entered: AtomicU64,
    at: Mutex<Option<WindowId>>,
}

impl Gate for Ordering {
    fn enter(&self, window: WindowId) {
        if self.entered.fetch_add(1, Relaxed) != 5 {
            return;
        }
        let captures = self.captures.lock().expect("no panic");
        let (captures, filter) = captures.as_ref().expect("a handle");
        captures.order(order("gate", filter, 40, None)).expect("it is taken");
        *self.at.lock().expect("no panic") = Some(window);
    }
}

#[test]
fn what_is_ordered_at_a_gate_begins_with_the_window() {
    let folder = Folder::new("gate");
    let source = capture_file(&folder, SPEC);
    let Some(all) = tshark(&source, "") else { return };
    let config = MeasurementConfig { every: Every::Time(WINDOW), ..config() };
    let (captures, entered, at) = Default::default();
    let gate = Arc::new(Ordering { captures, entered, at });
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let set = TaskSet::plan(Generation::default(), &[], None, &site).expect("no query");
    let control = Control::gated(Arc::new(set), Arc::clone(&gate) as Arc<dyn Gate>);
    control.captures().start(folder.settings()).expect("a thread");
    *gate.captures.lock().expect("no panic") = Some((control.captures().clone(), KeyFilter::all()));
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let run = Run::new(&mut file_source(&source), None, &config, &plan("rss"), Recorder::new(|_, _| ()));
    run.is_consistent();
    let finished = control.captures().end();
    let start_ns = gate.at.lock().expect("no panic").expect("it was entered").number() * WINDOW;
    let expected: Vec<_> = all.into_iter().filter(|seen| seen.time_ns >= start_ns).take(40).collect();
    same(&tshark(file(&finished[0]), "").expect("tshark"), &cut(&expected, |seen| seen.headers), "gate");
}
