//! `edison-lab bench distributed`: a controller and a thousand probes over a broker that speaks TLS, all on this machine.
//!
//! Probes are simulated: each has its own connection, answers real queries over rows that it makes up, and sends what a probe
//! sends. The controller is the program itself, in a process of its own, whose processor time and memory count. Each answer that a
//! client of its stream is told is compared with what the rows make it, and each must be there once.

mod fleet;
mod merging;
mod plain;
mod process;
mod rows;
mod site;
mod viewer;

use crate::line::to_digits;
use crate::status;
use crate::{BenchResult, Points};
use fleet::Fleet;
use plain::{Passed, ProbePace};
use serde_json::{Value, json};
use site::{ControllerProcess, TestDeployment};
use std::time::{Duration, Instant};
use viewer::{ViewedAnswer, Viewer, ViewerRecord};

/// Probes, unless it is said.
const PROBES: u64 = 1000;
/// Windows are ten seconds long where that leaves room for six of them, else one.
const LONG_NS: u64 = 10_000_000_000;
const SHORT_NS: u64 = 1_000_000_000;
/// The longest time of the comparison with the plain library, seconds each.
const COMPARED: f64 = 120.0;
/// The longest time for which anything is awaited.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The interval at which the controller's memory is looked at.
const MEMORY_LOOK: Duration = Duration::from_secs(2);
/// Windows that are sent after the broker was started again.
const WINDOWS_AFTER: usize = 3;

/// The costs of a time of steady work.
struct Steady {
    wall: Duration,
    /// Processor time of the controller.
    time: Duration,
    /// Seconds since it began, and the controller's resident bytes.
    memory: Vec<(f64, f64)>,
    windows: usize,
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    merging::run(points, out)?;
    let probes = points.probes.unwrap_or(PROBES).max(1);
    let window_ns = if points.seconds >= 60.0 { LONG_NS } else { SHORT_NS };
    let began = Instant::now();
    let site = TestDeployment::new(probes, window_ns)?;
    say(&format!("a broker for {probes} probes is there after {:.1} s", began.elapsed().as_secs_f64()));
    let controller = site.start_controller()?;
    let began = Instant::now();
    let mut fleet = Fleet::connect(&site)?;
    step_until(&mut fleet, "the probes' tasks", |fleet| fleet.asked() == probes as usize)?;
    let connected = began.elapsed();
    say(&format!("all have connected and know their tasks after {:.1} s", connected.as_secs_f64()));
    let viewer = Viewer::start(&controller.url, &site.nodes, window_ns)?;
    let steady = steady(&mut fleet, &controller, points.seconds)?;
    // What the restart delays is no lag of the steady time.
    let told = expected(steady.windows, probes);
    step_until(&mut fleet, "the answers of the steady time", |_| viewer.told() >= told)?;
    let restart = restart(&site, &mut fleet)?;
    say(&format!("all are back {:.1} s after the broker was told to end", restart.as_secs_f64()));
    drain(&site, &mut fleet, &viewer)?;
    let expected = expected(fleet.sent().len(), probes);
    let (of_steady, all) = viewer.view(|view| {
        let first = fleet.sent()[..steady.windows].to_vec();
        (
            lags(view, |window| first.contains(&window)),
            AnswerTally::from_view(view, expected, fleet.dropped()),
        )
    });
    controller.stop()?;
    let params = vec![
        ("probes", json!(probes)),
        ("queries", json!(rows::OF_NODES + 1)),
        ("rows", json!(rows::GROUPS)),
        ("window_s", json!(window_ns / 1_000_000_000)),
    ];
    out(steady_line(&params, &steady, &of_steady, &all));
    out(BenchResult {
        variant: "broker_restart".to_owned(),
        rounds_ns: vec![restart.as_secs_f64() * 1e9],
        more: vec![
            ("seconds", json!(to_digits(restart.as_secs_f64(), 1))),
            ("first_connection_seconds", json!(to_digits(connected.as_secs_f64(), 1))),
        ],
        ..line(&params, probes, all.is_right())
    });
    compare(&site, fleet, points.seconds, &params, out)
}

fn say(text: &str) {
    eprintln!("bench distributed: {text}");
}

fn line(params: &[(&'static str, Value)], packets: u64, checked: bool) -> BenchResult {
    BenchResult {
        bench: "distributed",
        variant: String::new(),
        params: params.to_vec(),
        packets,
        rounds_ns: Vec::new(),
        memory_bytes: None,
        checked,
        more: Vec::new(),
    }
}

/// Lets the probes do what is due until something is so.
fn step_until(fleet: &mut Fleet, what: &str, mut is_so: impl FnMut(&Fleet) -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is_so(fleet) {
        if began.elapsed() > TIMEOUT {
            return Err(format!("waited in vain for {what}"));
        }
        fleet.step()?;
    }
    Ok(())
}

/// Windows are measured and sent for so long, while nothing fails.
fn steady(fleet: &mut Fleet, controller: &ControllerProcess, seconds: f64) -> Result<Steady, String> {
    let gone = || "the controller has ended".to_owned();
    let process = controller.process();
    fleet.measure(true);
    // What the first windows make the controller allocate once is no growth.
    step_until(fleet, "the first windows", |fleet| fleet.sent().len() == 2)?;
    let (began, before) = (Instant::now(), process::processor_time(process).ok_or_else(gone)?);
    let mut memory: Vec<(f64, f64)> = Vec::new();
    while began.elapsed().as_secs_f64() < seconds {
        fleet.step()?;
        let at = began.elapsed();
        if memory.last().is_none_or(|last| at.as_secs_f64() - last.0 >= MEMORY_LOOK.as_secs_f64()) {
            memory.push((
                at.as_secs_f64(),
                status::bytes(&process.to_string(), "VmRSS").ok_or_else(gone)? as f64,
            ));
        }
    }
    let time = process::processor_time(process).ok_or_else(gone)? - before;
    Ok(Steady { wall: began.elapsed(), time, memory, windows: fleet.sent().len() })
}

/// Ends the broker and starts it again. Returns how long it took, from the beginning of that, until all probes have delivered what they
/// had.
fn restart(site: &TestDeployment, fleet: &mut Fleet) -> Result<Duration, String> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let broker = scope.spawn(|| site.stop_broker().and_then(|()| site.start_broker()));
        while !broker.is_finished() {
            fleet.step()?;
        }
        broker.join().unwrap_or_else(|_| Err("the broker was not started again".to_owned()))
    })?;
    let count = site.nodes.len();
    step_until(fleet, "the probes to come back", |fleet| fleet.delivered() == count)?;
    Ok(began.elapsed())
}

/// Sends some more windows, and waits until the client was told all answers of all windows.
fn drain(site: &TestDeployment, fleet: &mut Fleet, viewer: &Viewer) -> Result<(), String> {
    let windows = fleet.sent().len() + WINDOWS_AFTER;
    step_until(fleet, "windows after the restart", |fleet| fleet.sent().len() >= windows)?;
    fleet.measure(false);
    // A client that is too slow for what comes at once after the restart is told how much it missed, and asks for it.
    let (began, expected) = (Instant::now(), expected(fleet.sent().len(), site.nodes.len() as u64));
    let is_told = |_: &Fleet| viewer.told() >= expected || began.elapsed() > TIMEOUT / 4;
    step_until(fleet, "the last answers", is_told)?;
    let is_there = |fleet: &Fleet| {
        let failed = viewer.look_up(&site.nodes, fleet.sent()).is_err();
        failed || viewer.view(|view| view.answers.len() as u64) >= expected || began.elapsed() > TIMEOUT / 2
    };
    step_until(fleet, "the answers that the stream did not bring", is_there)
}

/// The number of answers of this number of windows.
fn expected(windows: usize, probes: u64) -> u64 {
    windows as u64 * (probes * rows::OF_NODES as u64 + 1)
}

/// The outcome of all answers.
struct AnswerTally {
    expected: u64,
    answers: u64,
    wrong: u64,
    doubled: u64,
    late: u64,
    foreign: u64,
    missed: u64,
    dropped: u64,
    fault: Option<String>,
}

impl AnswerTally {
    fn from_view(view: &ViewerRecord, expected: u64, dropped: u64) -> Self {
        let count =
            |is: fn(&ViewedAnswer) -> bool| view.answers.values().filter(|seen| is(seen)).count() as u64;
        Self {
            expected,
            answers: view.answers.len() as u64,
            wrong: count(|seen| !seen.is_right),
            doubled: count(|seen| seen.times > 1),
            late: count(|seen| seen.is_late),
            foreign: view.foreign,
            missed: view.missed,
            dropped,
            fault: view.fault.clone(),
        }
    }

    /// Returns true if nothing is lost, doubled or wrong.
    fn is_right(&self) -> bool {
        let bad = self.wrong + self.doubled + self.foreign + self.dropped;
        self.answers == self.expected && bad == 0 && self.fault.is_none()
    }
}

/// Returns the delays of the answers of some windows, in order.
fn lags(view: &ViewerRecord, is_of: impl Fn(u64) -> bool) -> Vec<Duration> {
    let seen = view.answers.iter().filter(|((_, window, _), _)| is_of(*window));
    let mut lags: Vec<Duration> = seen.map(|(_, seen)| seen.lag).collect();
    lags.sort_unstable();
    lags
}

fn steady_line(
    params: &[(&'static str, Value)],
    steady: &Steady,
    lags: &[Duration],
    all: &AnswerTally,
) -> BenchResult {
    let share = |part: f64| {
        let at = ((lags.len() as f64 * part) as usize).min(lags.len().saturating_sub(1));
        json!(lags.get(at).map(|lag| to_digits(lag.as_secs_f64(), 3)))
    };
    let cores = steady.time.as_secs_f64() / steady.wall.as_secs_f64();
    let memory: Vec<f64> = steady.memory.iter().map(|point| point.1).collect();
    let most = memory.iter().copied().fold(0.0, f64::max);
    // Windows for which late results are awaited are in memory: until there are as many as there will be, it grows.
    let settled = &steady.memory[steady.memory.len() / 3..];
    BenchResult {
        variant: "controller".to_owned(),
        rounds_ns: vec![steady.time.as_secs_f64() * 1e9],
        memory_bytes: Some(most as u64),
        more: vec![
            ("seconds", json!(to_digits(steady.wall.as_secs_f64(), 1))),
            ("controller_cores", json!(to_digits(cores, 3))),
            ("growth_mb_per_minute", json!(to_digits(process::slope(settled) * 60.0 / 1e6, 3))),
            ("memory_mb_by_minute", json!(process::by_minute(&steady.memory))),
            ("lag_p50_s", share(0.5)),
            ("lag_p99_s", share(0.99)),
            ("lag_max_s", share(1.0)),
            ("expected", json!(all.expected)),
            ("wrong", json!(all.wrong)),
            ("doubled", json!(all.doubled)),
            ("late", json!(all.late)),
            ("foreign", json!(all.foreign)),
            ("missed", json!(all.missed)),
            ("dropped", json!(all.dropped)),
            ("fault", json!(all.fault)),
        ],
        ..line(params, all.answers, all.is_right())
    }
}

/// Compares the protocol with a plain publisher and consumer of the same bytes.
fn compare(
    site: &TestDeployment,
    fleet: Fleet,
    seconds: f64,
    params: &[(&'static str, Value)],
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let window = Duration::from_nanos(site.window_ns);
    let windows = (seconds.min(COMPARED) / window.as_secs_f64()).round().max(1.0);
    let pace = ProbePace { window, windows: windows as u32 };
    let results = plain::results(&fleet, site)?;
    let ours = plain::by_protocol(site, &fleet, &results, pace)?;
    drop(fleet);
    let plain = plain::by_plain_library(site, &results, pace)?;
    for (variant, passed) in [("protocol", ours), ("plain_lapin", plain)] {
        let Passed { time_ns, sent, arrived, heartbeats } = passed;
        let ratio = ours.time_ns / plain.time_ns;
        let mut more =
            vec![("processor_s", json!(to_digits(time_ns / 1e9, 2))), ("heartbeats", json!(heartbeats))];
        if variant == "protocol" {
            more.push(("times_plain", json!(to_digits(ratio, 2))));
        }
        out(BenchResult {
            variant: variant.to_owned(),
            rounds_ns: vec![time_ns],
            more,
            ..line(params, sent, sent == arrived)
        });
    }
    Ok(())
}
