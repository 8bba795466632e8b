//! Several nodes, or queries that start others: probes under a controller, in one process.

pub(crate) mod printer;
mod progress;

use crate::alerts::Alerts;
use crate::asked::Asked;
use crate::captured;
use crate::cli::RunOptions;
use crate::delivery::{Delivery, KafkaFeed};
use crate::exit::{EARLY, Failure, say};
use crate::measurement::{Measurement, no_thread};
use crate::nodes::Node;
use crate::page::{News, Page, PageFeed};
use crate::queries::{self, StandingOptions};
use crate::report_file::ReportFile;
use crate::reporting::{self, Reported, Verdict};
use crate::signals;
use crate::standard_output::{self, Reader, StandardOutput};
use crate::stored;
use crate::views;
use crate::watched::Lost;
use controller::{Controller, Outlet, Output, Setting};
use engine::{Control, Every, Gate};
use equery::{Chain, ChainSite, CheckedQuery};
use model::view::QueryView;
use model::{Capture, Event, RunReport};
use port::TimeBase;
use printer::{Printer, Style};
use probe::{Planner, Probe, ReplayGate};
use progress::Progress;
use protocol::{ProbeLink, memory};
use signal_hook::consts::SIGHUP;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use task::query::{Over, Query};

/// How often the page has the state of the controller.
const REFRESH: Duration = Duration::from_millis(100);
/// Events that are kept for the report.
const MOST_EVENTS: usize = 10_000;
/// The same of captures.
const MOST_CAPTURES: usize = 1_000;

/// A node under the controller, ready to be measured.
struct Ready {
    measurement: Measurement,
    control: Control,
    probe: Probe,
}

/// Measures the nodes, drives what their answers start, and shows it.
pub(crate) fn run(options: &RunOptions, nodes: Vec<Node>, asked: &Asked) -> Result<ExitCode, Failure> {
    let Every::Time(window_ns) = options.every else {
        return Err(Failure::usage(
            "--every: several nodes, and queries that start others, need windows of time, as 1s",
        ));
    };
    check(options, asked)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (reader, lost) = (Reader::new(&stop), Lost::default());
    let has_tables = StandardOutput::of(options)?.has_tables;
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let chain = chain(options, asked, &names)?;
    let store = stored::open(options)?;
    let mut measurements = Vec::new();
    let memory = options.memory.unwrap_or_else(crate::machine::half_of_memory) / nodes.len() as u64;
    for Node { name, options: own } in &nodes {
        let of_node = asked.checked.iter().filter(|query| query.needs_loss && query.nodes.matches(name));
        let (zooms, needs_loss) = of_node.fold((false, false), |(zooms, needs_loss), query| {
            (zooms || query.pins_flows, needs_loss || !query.pins_flows)
        });
        let loss = own.loss || needs_loss;
        let capture_bytes = own.capture_bytes / nodes.len() as u64;
        let RunOptions { every, usual_every, .. } = *options;
        let own = RunOptions { loss, every, usual_every, memory: Some(memory), capture_bytes, ..own.clone() };
        let (store, lost) = (store.as_ref(), (&reader, &lost));
        measurements.push(Measurement::prepare(&own, name, &[], zooms, store, lost)?);
    }
    let report_file = options.report.as_deref().map(ReportFile::create).transpose()?;
    let is_replay = measurements.iter().all(|one| one.time_base == TimeBase::Packets);
    if measurements.iter().any(|one| is_replay && one.plan.receivers > 1) {
        return Err(Failure::usage(
            "--cores or --design: a replay whose queries start others has one receiver for each node",
        ));
    }
    let mut controller = Controller::new(chain, Setting { window_ns, is_replay, key: None });
    let (link, probes) = memory::links(&names);
    let mut ready = Vec::new();
    for (measurement, link) in measurements.into_iter().zip(probes) {
        let own = own_queries(options, asked, &measurement.node);
        ready.push(Ready::new(measurement, link, own, window_ns, is_replay, &stop)?);
    }
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    if options.rotate.is_none() {
        signals::stop_on(&[SIGHUP], &stop, &stop)?;
    }
    let style = Style {
        is_silent: !has_tables,
        is_json: options.json,
        is_live: !is_replay,
        has_several_nodes: names.len() > 1,
        steps: (!asked.is_empty()).then(|| steps(asked)),
        ..Style::default()
    };
    let printer = Printer::new(style, reader.clone(), options.enrich.resolver());
    let progress = Progress::new(names.len());
    let sources = ready.iter().map(|ready| {
        let measurement = &ready.measurement;
        (measurement.site(), measurement.names().to_vec())
    });
    let page = Page::start(options, sources.collect(), asked)?;
    let feed = page.as_ref().map(|page| page.feed(is_replay));
    let delivery = Delivery::start(options, !asked.is_empty(), is_replay, &stop)?;
    let alerts = Alerts::start(&options.alerts, None)?;
    let mut shown = Shown {
        events: VecDeque::new(),
        events_unlisted: 0,
        captures: VecDeque::new(),
        captures_unlisted: 0,
        progress,
        printer,
        feed,
        kafka: delivery.as_ref().and_then(Delivery::feed),
        alerts,
        refreshed: None,
    };
    let began = Instant::now();
    let measured = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, ready) in ready.into_iter().enumerate() {
            let (observer, stop) = (shown.progress.observer(number), &*stop);
            let is_unread = reader.clone();
            let work = move || ready.measure(observer, stop, &is_unread, options);
            threads.push(thread::Builder::new().name(format!("node{number}")).spawn_scoped(scope, work));
        }
        // Whatever ends this thread, no node waits for it.
        let _ends = StopOnPanic(&stop);
        controller::drive(&mut controller, &link, &mut shown);
        let joined = threads.into_iter().map(|thread| {
            let thread = thread.map_err(no_thread)?;
            thread.join().unwrap_or_else(|_| Err(Failure::fault("the thread of a node failed")))
        });
        joined.collect::<Result<Vec<_>, Failure>>()
    });
    let mut verdict = Verdict::default();
    shown.progress.clear();
    shown.end_alerts(&mut controller, &mut verdict);
    let Shown { events, events_unlisted, captures, captures_unlisted, printer, .. } = shown;
    let mut report = RunReport { version: env!("CARGO_PKG_VERSION").to_owned(), ..RunReport::default() };
    for Reported { report: own, warnings, verdict: of_node, .. } in measured? {
        warnings.iter().for_each(|line| say(&format!("{}: {line}", own.node)));
        verdict.add(&own.node, &of_node);
        let name = own.node.clone();
        report.add_node(own);
        // The report of all has them from the verdict.
        if let Some(own) = report.nodes.get_mut(&name) {
            own.faults.splice(..0, of_node.lines);
        }
    }
    report.node = names.join(", ");
    report.command_line = std::env::args().collect();
    report.events = events.into();
    report.events_unlisted = events_unlisted;
    report.captures = captures.into();
    report.captures_unlisted = captures_unlisted;
    report.stories = controller.stories().cloned().collect();
    report.stories_unlisted = controller.stories_dropped();
    report.undecided = controller.undecided();
    if options.json || !has_tables {
        terminal::undecided(&report.undecided).lines().for_each(say);
    }
    report.faults.extend(printer.finish(&mut report.answers));
    verdict.lose(&lost);
    stored::close(store.as_ref(), !is_replay, &mut verdict);
    if store.is_some() {
        report.took(began.elapsed().as_secs_f64());
    }
    if let Some(delivery) = delivery {
        delivery.finish(&mut verdict);
    }
    if options.json && !options.json_windows && has_tables {
        reporting::print_whole(&report, !asked.is_empty())?;
    }
    reporting::finish(options, report, report_file, &verdict, page.map(|page| (page, &*stop)))
}

/// What a controller shows, on its way to standard output, the report and the page.
struct Shown {
    events: VecDeque<Event>,
    events_unlisted: u64,
    captures: VecDeque<Capture>,
    captures_unlisted: u64,
    progress: Progress,
    printer: Printer,
    feed: Option<PageFeed>,
    kafka: Option<KafkaFeed>,
    alerts: Option<Alerts>,
    /// When the page had the state of the controller.
    refreshed: Option<Instant>,
}

impl Outlet for Shown {
    fn show(&mut self, output: Output) {
        match &output {
            Output::Event(event) => {
                self.alerts.iter().for_each(|alerts| alerts.event(event));
                keep(&mut self.events, (**event).clone(), MOST_EVENTS, &mut self.events_unlisted);
            }
            Output::Captured(captured) => {
                let capture = captured::capture(&captured.0, &captured.1);
                keep(&mut self.captures, capture, MOST_CAPTURES, &mut self.captures_unlisted);
            }
            _ => {}
        }
        self.feed.iter().for_each(|feed| feed.shown(&output));
        self.kafka.iter().for_each(|kafka| kafka.shown(&output));
        self.progress.clear();
        self.printer.show(output);
    }

    fn is_shown(&mut self, controller: &mut Controller) {
        if let Some(alerts) = &mut self.alerts {
            alerts.settle(controller.events());
            let lines = alerts.lines();
            if !lines.is_empty() {
                self.progress.clear();
                lines.iter().for_each(|line| say(line));
            }
        }
        let Some(feed) = &self.feed else { return };
        if self.refreshed.is_none_or(|refreshed| refreshed.elapsed() >= REFRESH) || controller.has_ended() {
            self.refreshed = Some(Instant::now());
            let alerts = self.alerts.as_ref().map(Alerts::views).unwrap_or_default();
            feed.changed(News::of(controller, alerts));
        }
    }
}

impl Shown {
    /// Waits until Alertmanagers were told everything, for some time, and says what they were not told.
    fn end_alerts(&mut self, controller: &mut Controller, verdict: &mut Verdict) {
        let Some(alerts) = self.alerts.take() else { return };
        let told = alerts.finish();
        let lines: Vec<String> = told.untold.into_iter().chain(told.given_up).collect();
        if !lines.is_empty() {
            verdict.code = verdict.code.max(EARLY);
            verdict.lines.extend(lines);
        }
        self.feed.iter().for_each(|feed| feed.changed(News::of(controller, told.views.clone())));
    }
}

/// Adds an item to the newest ones.
fn keep<T>(kept: &mut VecDeque<T>, item: T, most: usize, unlisted: &mut u64) {
    kept.push_back(item);
    if kept.len() > most {
        kept.pop_front();
        *unlisted += 1;
    }
}

/// Ends the measurement where the thread that drives it fails.
pub(crate) struct StopOnPanic<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// Refuses options that do not go with several nodes and events.
fn check(options: &RunOptions, asked: &Asked) -> Result<(), Failure> {
    let mut refused = Vec::new();
    let mut refuse = |is_given: bool, what: &str| {
        if is_given {
            refused.push(format!("{what} is not possible with several nodes or queries that start others"));
        }
    };
    refuse(!options.task.is_empty(), "--task");
    refuse(asked.sketches.names().next().is_some(), "'using' or 'error' in a query");
    refuse(options.per.is_some(), "--per");
    refuse(options.anonymize.is_some(), "--anonymize");
    refuse(options.wire.is_some(), "--wire");
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// Whether a query starts or reads another one, is started or read, or reads its own earlier windows.
fn is_connected(query: &CheckedQuery, asked: &Asked) -> bool {
    let is_parent = |other: &CheckedQuery| {
        other.derived_from.contains(&query.label)
            || other.trigger.iter().any(|trigger| trigger.parents.contains(&query.label))
    };
    let is_computed = !query.derived_from.is_empty() || !query.earlier.is_empty();
    query.trigger.is_some() || is_computed || asked.checked.iter().any(is_parent)
}

/// The queries that start others: what they found is in the stories.
fn steps(asked: &Asked) -> Vec<String> {
    let parents = |query: &CheckedQuery| {
        query.trigger.iter().flat_map(|trigger| trigger.parents.clone()).collect::<Vec<_>>()
    };
    asked.checked.iter().flat_map(parents).collect()
}

/// The queries of windows. On screen, those that say nothing of time and start nothing answer over the run alone, each on its node.
pub(crate) fn chain(options: &RunOptions, asked: &Asked, nodes: &[String]) -> Result<Chain, Failure> {
    let usual_ns = match asked.usual_every.unwrap_or(options.every) {
        Every::Time(length) => length,
        Every::Packets(_) => 0,
    };
    let has_windows = |query: &&CheckedQuery| {
        let is_of_windows = query.plan.over != Over::Window || query.across.is_some();
        options.json_windows || options.kafka.is_asked() || is_of_windows || is_connected(query, asked)
    };
    let queries: Vec<CheckedQuery> = asked.checked.iter().filter(has_windows).cloned().collect();
    let site = ChainSite {
        nodes,
        key: &options.key.parts(),
        window_ns: usual_ns,
        settings: events::Settings::default(),
    };
    Chain::new(&queries, &site).map_err(Failure::usages)
}

/// The queries of a run of one node, as they are shown while it runs. What the executor refuses is said elsewhere.
pub(crate) fn query_views(options: &RunOptions, asked: &Asked, node: &str) -> Vec<QueryView> {
    let Ok(chain) = chain(options, asked, &[node.to_owned()]) else { return Vec::new() };
    let texts = asked.checked.iter().map(|query| (query, None));
    views::queries(&chain, &events::State::default(), texts)
}

/// What a node answers whatever the controller asks: queries over the run, and without the user's those of the program.
fn own_queries(options: &RunOptions, asked: &Asked, node: &str) -> Vec<Query> {
    let of_run = queries::are_of_run(options);
    if asked.is_empty() {
        return queries::standing(&StandingOptions {
            key: options.key,
            tracks_loss: options.loss,
            biflow: options.biflow,
            top: options.top,
            of_windows: options.json_windows || options.kafka.is_asked(),
            of_run,
        });
    }
    let timeless = asked.checked.iter().filter(|query| query.plan.over == Over::Window);
    let is_of_node = |query: &&CheckedQuery| query.across.is_none() && query.nodes.matches(node);
    // Statistics of packets are of single windows.
    let of_run = |query: &&CheckedQuery| of_run && query.statistics.is_empty();
    let own = timeless.filter(|query| of_run(query) && is_of_node(query) && !is_connected(query, asked));
    own.map(|query| Query { over: Over::Run, ..query.plan.clone() }).collect()
}

impl Ready {
    fn new(
        measurement: Measurement,
        link: memory::MemoryProbeLink,
        own: Vec<Query>,
        window_ns: u64,
        is_replay: bool,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let link: Arc<dyn ProbeLink> = Arc::new(link);
        let planner = Planner::new(measurement.site(), own);
        let first = planner.first().map_err(Failure::usage)?;
        let gate = is_replay.then(|| ReplayGate::new(window_ns, Arc::clone(&link), Arc::clone(stop)));
        let control = match &gate {
            Some(gate) => Control::gated(first, Arc::clone(gate) as Arc<dyn Gate>),
            None => Control::new(first),
        };
        measurement.start_captures(&control)?;
        let probe =
            Probe::start(link, planner, control.clone(), gate, None, None, None).map_err(no_thread)?;
        Ok(Self { measurement, control, probe })
    }

    fn measure(
        self,
        mut observer: progress::NodeProgress,
        stop: &AtomicBool,
        reader: &Reader,
        options: &RunOptions,
    ) -> Result<Reported, Failure> {
        let Self { measurement, control, probe } = self;
        // A live source would be measured without its tasks at first.
        probe.await_tasks();
        let measured = measurement.measure(&control, probe.outlet(), stop, &mut observer)?;
        let is_unread = reader.has_left() && !standard_output::writes_files(options);
        let mut reported = Reported::of(measured, is_unread);
        probe.end(std::mem::take(&mut reported.longer));
        Ok(reported)
    }
}
