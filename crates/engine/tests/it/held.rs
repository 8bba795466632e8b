//! A live receiver that does not run for a while: frames that waited are measured in the windows in which they arrived, or it is told that
//! they are not.

use crate::support::{BURST, Recorder, Run, config};
use engine::{ClosedWindow, Every, MeasurementConfig, ResolvedDesign};
use port::{PacketSource, Poll, SourceCounter, SourceError, SyntheticSource, TimeBase};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WINDOW_NS: u64 = 100_000_000;
const FRAMES: u64 = 250;

/// A source that keeps its reader for seconds once, while frames arrive.
struct Held {
    tells_arrivals: bool,
    /// It loses some at the end of that time.
    loses: bool,
    /// It keeps its reader while that waits for frames, and not while it polls.
    in_wait: bool,
    frames: Option<SyntheticSource>,
    /// The traffic that arrives meanwhile; unset before the wait.
    spec: Arc<OnceLock<String>>,
}

impl Held {
    fn hold(&self) -> &str {
        self.spec.get_or_init(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
            let start = now.as_secs() + 1;
            let until = Duration::from_secs(start) + Duration::from_millis(3_700);
            std::thread::sleep(until - now);
            format!("packets={FRAMES},flows=10,rate=100,start={start}")
        })
    }
}

impl PacketSource for Held {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        if self.in_wait && self.spec.get().is_none() {
            return Ok(Poll::Idle);
        }
        if self.frames.is_none() {
            self.frames = Some(SyntheticSource::open(self.hold(), BURST)?);
        }
        self.frames.as_mut().expect("set").rx_burst()
    }
    fn wait(&mut self) {
        self.hold();
    }
    fn time_base(&self) -> TimeBase {
        TimeBase::Clock
    }
    fn tells_arrivals(&self) -> bool {
        self.tells_arrivals
    }
    fn name(&self) -> &str {
        "held"
    }
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        Some(vec![("ps_drop", u64::from(self.loses && self.spec.get().is_some()))])
    }
}

/// The windows of a run, and the packets of the source by window.
fn run(tells_arrivals: bool, loses: bool, in_wait: bool) -> (Vec<ClosedWindow>, BTreeMap<u64, u64>) {
    let spec = Arc::default();
    let source = Held { tells_arrivals, loses, in_wait, frames: None, spec: Arc::clone(&spec) };
    let config = MeasurementConfig { every: Every::Time(WINDOW_NS), ..config() };
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
    let run = Run::new(&mut sources, None, &config, &ResolvedDesign::single(), Recorder::new(|_, _| ()));
    run.is_consistent();
    assert_eq!(run.outcome.ended.packets.measured, FRAMES);
    let mut arrived = BTreeMap::new();
    let mut frames = SyntheticSource::open(spec.get().expect("polled"), BURST).expect("good");
    while let Ok(Poll::Burst(burst)) = frames.rx_burst() {
        burst.times().for_each(|ns| *arrived.entry(ns - ns % WINDOW_NS).or_default() += 1);
    }
    (run.windows, arrived)
}

/// Packets of windows that have some, by begin.
fn measured(windows: &[ClosedWindow]) -> BTreeMap<u64, u64> {
    let with_packets = windows.iter().filter(|window| window.packets.measured != 0);
    with_packets.map(|window| (window.span.start_ns, window.packets.measured)).collect()
}

#[test]
fn frames_count_when_they_arrived() {
    for in_wait in [true, false] {
        let (windows, arrived) = run(true, false, in_wait);
        assert_eq!(measured(&windows), arrived);
        assert_eq!(arrived.len(), 25);
        let remarks: Vec<_> = windows.iter().filter_map(|window| window.lacks.as_ref()).collect();
        assert!(remarks.is_empty(), "{remarks:?}");
    }
}

#[test]
fn windows_behind_the_frames_lack_those_that_were_lost() {
    let (windows, arrived) = run(true, true, true);
    assert_eq!(measured(&windows), arrived);
    let last = *arrived.last_key_value().expect("packets").0;
    let lacking =
        |window: &ClosedWindow| window.lacks.as_deref().is_some_and(|text| text.contains("were lost"));
    // All up to the end of the hold, 1.2 s behind the last frame, and none before.
    let behind: Vec<_> = windows.iter().filter(|window| lacking(window)).map(|w| w.span.start_ns).collect();
    assert!(behind.len() >= 12, "{behind:?}");
    let expected: Vec<u64> = (0..behind.len() as u64).map(|nth| last + nth * WINDOW_NS).collect();
    assert_eq!(behind, expected);
}

#[test]
fn without_times_of_arrival_all_windows_of_the_time_say_so() {
    let (windows, arrived) = run(false, false, true);
    // All frames count in the window in which the receiver went on.
    let measured = measured(&windows);
    assert_eq!(measured.values().sum::<u64>(), FRAMES);
    let lacking = |start_ns: u64| {
        let window = windows.iter().find(|window| window.span.start_ns == start_ns);
        window.and_then(|window| window.lacks.clone()).is_some_and(|text| text.contains("did not run for"))
    };
    for start_ns in arrived.keys().chain([*measured.first_key_value().expect("packets").0].iter()) {
        assert!(lacking(*start_ns), "{start_ns}");
    }
}
