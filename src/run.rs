//! `edison run`: the main job.

use crate::asked::Asked;
use crate::cli::{RunOptions, TunnelChoice};
use crate::exit::{self, EARLY, FAULT, Failure, say, say_error};
use crate::machine;
use crate::needs;
use crate::origin::Origins;
use crate::parallel;
use crate::parts;
use crate::queries::{self, StandingOptions};
use crate::refusal;
use crate::report_file::ReportFile;
use crate::screen::{self, Screen, Setting, Show};
use crate::signals;
use crate::sources::{self, Sources};
use crate::standard_output::{self, Reader, StandardOutput};
use crate::tasks;
use crate::watched::{Lost, Watched};
use crate::wording;
use engine::admission::Admission;
use engine::{
    Config, Control, Destinations, Every, HAND_OVER_PACKETS, Observer, Outcome, Outputs, OutputsResult,
    RowOutput,
};
use flow::Rows;
use geo::Databases;
use packet::{KeyV4, KeyV6, Seed, Tunnel};
use port::TimeBase;
use port::wire::WireCounters;
use record::{Anonymizer, Patience, RecordWriter, RowWindow, RowWriter, Selection};
use report::{Answer, DesignReport, FlowCounts, Rates, RunReport, WindowCounts, WireReport, terminal};
use signal_hook::consts::SIGHUP;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use summary::{Limits, Timeouts};
use task::rows::{Site, Unplaced};
use task::{Generation, TaskSet, Tasks};

/// Measures what the options say.
pub(crate) fn run(options: &RunOptions, origins: &Origins) -> Result<ExitCode, Failure> {
    let node = options.node.clone().unwrap_or_else(machine::host_name);
    let asked = Asked::of(options, origins, &node)?;
    // What queries need is as if it had been requested.
    let options = &RunOptions {
        loss: options.loss || asked.needs_loss,
        every: asked.every.unwrap_or(options.every),
        ..options.clone()
    };
    let mut config = config(options);
    // The exporter's queue; the least of the memory has room for it.
    let queue = || config.limits.lease(record::EXPORT_QUEUE_BYTES);
    let _export_queue = options.export.is_some().then(queue).flatten();
    let record_parts = parts::of_records(options, &config.parts);
    let selection = match &options.fields {
        Some(list) => Selection::parse(list, &record_parts)
            .map_err(|error| Failure::usage(wording::of_selection(&error)))?,
        None => Selection::new(&record_parts),
    };
    let standard_output = StandardOutput::of(options)?;
    let anonymizer = options.anonymize.as_deref().map(anonymizer).transpose()?;
    // Before a source is opened: a mistake in it must not start a port.
    let plan = parallel::plan(options, &config)?;
    let mut specs = tasks::specs(&options.task)?;
    specs.extend(asked.sketches.tasks());
    refusal::admit(&config, &plan, &specs, &parallel::site(options))?;
    needs::check(options)?;
    let (geo, resolver) = (options.enrich.databases()?, options.enrich.resolver());
    let opened = sources::open(options, &config, plan, &specs)?;
    let Sources { mut sources, plan, site, filter, time_base, are_captures, wire, damage } = opened;
    // A port may have had fewer queues than were requested, or spread flows over them in its own way.
    let Admission { tasks, memory: _tasks_and_frames } = refusal::admit(&config, &plan, &specs, &site)?;
    let rows = row_output(options, &config, &node, anonymizer.as_ref())?;
    let stop = Arc::new(AtomicBool::new(false));
    let (reader, lost) = (Reader::new(&stop), Lost::default());
    let writers = writers(options, &node, &selection, time_base, &reader, &lost)?;
    let report_file = options.report.as_deref().map(ReportFile::create).transpose()?;

    // Who sets the length of windows of a replay wants to see them, unless they are written already.
    let shows_windows = origins.has("every") && options.rows.is_none() && options.per.is_none();
    let show = match (options.json, time_base) {
        _ if !standard_output.has_tables && tasks.is_some() => Show::Kept,
        _ if !standard_output.has_tables => Show::Nothing,
        (true, _) => Show::Json,
        (false, TimeBase::Clock) => Show::Tables,
        (false, TimeBase::Packets) if tasks.is_some() => Show::Tasks,
        (false, TimeBase::Packets) if shows_windows => Show::Tables,
        (false, TimeBase::Packets) if !asked.windows.is_empty() => Show::Queries,
        (false, TimeBase::Packets) => Show::Nothing,
    };
    let no_thread = |error| Failure::fault(format!("cannot start a thread: {error}"));
    let control = Control::new(Arc::new(task_set(options, &config, &asked, &node, show, tasks, geo)?));
    config.control = Some(control.clone());
    // The queues of a wire have one name.
    let mut names: Vec<String> = sources.iter().map(|source| source.name().to_owned()).collect();
    names.dedup();
    // Before the terminal is taken, so that no signal ends the program while it is.
    let given_back = Arc::new(AtomicBool::new(false));
    let may_end = if screen::is_live(show, time_base, options.per) { &given_back } else { &stop };
    signals::stop_on(&signals::ENDS, &stop, may_end)?;
    let setting = Setting {
        show,
        is_asked: !asked.is_empty(),
        per: options.per,
        time_base,
        sources: names.clone(),
        every: config.every,
        reader: reader.clone(),
        given_back: Arc::clone(&given_back),
        resolver: resolver.clone(),
    };
    let mut screen = Screen::start(setting).map_err(no_thread)?;
    let destinations =
        Destinations { writers, rows, anonymizer, windows: screen.outlet(), node: node.clone() };
    let outputs = Outputs::start(destinations, &config, &control, time_base).map_err(no_thread)?;
    // With several files, SIGHUP begins the next one; otherwise it means that the terminal was closed.
    match options.rotate {
        Some(_) => signals::set_on(SIGHUP, outputs.rotation())?,
        None => signals::stop_on(&[SIGHUP], &stop, may_end)?,
    }
    let mut outcome = engine::run(&mut sources, filter.as_ref(), &config, &plan, &stop, outputs, &mut screen)
        .map_err(|error| refusal::not_begun(&error))?;
    outcome.errors.extend(damage);

    if names.is_empty() {
        // A capture that is damaged from its first byte on, so that nothing came onto the wire.
        names = [&options.read[..], &options.words[..]].concat();
    }
    // Nothing is lost to anybody where the one who read the answers has left.
    let is_unread = reader.has_left() && !standard_output::writes_files(options);
    let mut verdict = Verdict::of(&outcome, are_captures && !is_unread);
    let Reported { mut report, longer, warnings, failed } = report(outcome, names, node);
    // Through the screen, which may be drawing.
    warnings.into_iter().for_each(|line| screen.warning(line));
    let lost = lost.lines();
    if !lost.is_empty() {
        verdict.code = verdict.code.max(EARLY);
        verdict.lines.extend(lost);
    }
    screen.answers(longer);
    let shown = screen.finish();
    report.design = parallel::report(&plan);
    report.wire = wire.map(|wire| wire_report(wire.total()));
    report.faults.extend(shown.fault);
    report.answers.extend(shown.answers.into_iter().flatten());
    report.answers_unlisted = shown.unlisted;
    if let Some(resolver) = &resolver {
        resolver.enrich(&mut report.answers);
        resolver.withheld().iter().for_each(|line| say(line));
    }
    finish(options, report, report_file, &verdict, failed)
}

/// Shows and writes the report, and returns the exit code.
fn finish(
    options: &RunOptions,
    mut report: RunReport,
    file: Option<ReportFile>,
    verdict: &Verdict,
    outputs_failed: bool,
) -> Result<ExitCode, Failure> {
    let faults_of_outputs = report.faults.clone();
    report.faults = verdict.lines.iter().cloned().chain(report.faults).collect();
    if StandardOutput::of(options)?.has_tables && !options.json {
        exit::print(&terminal::run_report(&report))?;
    }
    if let Some(file) = file {
        file.write(&report, options.json)?;
    }
    for line in &report.faults {
        say_error(line);
    }
    let code = if outputs_failed || !faults_of_outputs.is_empty() { FAULT } else { verdict.code };
    Ok(ExitCode::from(code))
}

fn config(options: &RunOptions) -> Config {
    let memory = options.memory.unwrap_or_else(machine::half_of_memory);
    let fits = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let flows = options.max_flows.map_or(usize::MAX, fits);
    let limits = Limits::new(fits(memory), flows);
    Config {
        every: options.every,
        timeouts: Timeouts { idle_ns: options.idle_timeout, active_ns: options.active_timeout },
        limits,
        tunnel: match options.tunnel {
            TunnelChoice::Outer => Tunnel::Outer,
            TunnelChoice::Inner => Tunnel::Inner,
        },
        key: options.key,
        parts: parts::of(options),
        seed: Seed::new(options.seed.unwrap_or_else(machine::random)),
        control: None,
        burst: usize::from(options.burst),
        hand_over_parcels: options
            .ring
            .map_or(HAND_OVER_PACKETS, usize::from)
            .div_ceil(usize::from(options.burst))
            .max(2),
        timed: false,
        duration: options.duration,
        packets: options.packets,
        idle_exit: options.idle_exit,
    }
}

fn writers(
    options: &RunOptions,
    node: &str,
    selection: &Selection,
    time_base: TimeBase,
    reader: &Reader,
    lost: &Lost,
) -> Result<Vec<Box<dyn RecordWriter>>, Failure> {
    let watched = |name: String, writer: Box<dyn RecordWriter>| {
        let reader = standard_output::is_meant(Path::new(&name)).then(|| reader.clone());
        Box::new(Watched::new(writer, name, reader, lost)) as Box<dyn RecordWriter>
    };
    let file = options.flows.as_deref().map(|path| {
        let writer = match options.rotate {
            Some(rotation) => record::create_rotating(path, rotation, node, selection),
            None => record::create(path, node, selection),
        };
        writer.map(|writer| watched(path.display().to_string(), writer))
    });
    let patience = match time_base {
        TimeBase::Packets => Patience::ForPace,
        TimeBase::Clock => Patience::None,
    };
    let export = options.export.as_ref().map(|collector| {
        let writer = record::export(collector, node, selection, patience);
        writer.map(|writer| watched(collector.to_string(), writer))
    });
    file.into_iter().chain(export).map(|writer| writer.map_err(Failure::usage)).collect()
}

/// The queries and tasks of each window and of the run.
fn task_set(
    options: &RunOptions,
    config: &Config,
    asked: &Asked,
    node: &str,
    show: Show,
    tasks: Option<Tasks>,
    geo: Option<Arc<Databases>>,
) -> Result<TaskSet, Failure> {
    let (of_windows, of_run) =
        (matches!(show, Show::Json | Show::Tables), !options.json || options.report.is_some());
    let queries = match asked.is_empty() {
        true => queries::standing(&StandingOptions {
            key: config.key,
            tracks_loss: config.parts.loss,
            biflow: config.parts.biflow,
            top: options.top,
            of_windows,
            of_run,
        }),
        false => asked.queries(of_windows, of_run),
    };
    let site = Site {
        key: config.key,
        node: node.to_owned(),
        window_ns: match config.every {
            Every::Time(length) => Some(length),
            Every::Packets(_) => None,
        },
        tracks_loss: config.parts.loss,
        statistics: Vec::new(),
        geo,
        seed: config.seed,
        limits: config.limits.clone(),
    };
    TaskSet::plan(Generation::default(), &queries, tasks, &site).map_err(|refusals| {
        let lines = refusals.iter().map(|(query, refusal)| format!("{query}: {refusal}"));
        Failure::usage(lines.collect::<Vec<_>>().join("; "))
    })
}

/// The file of `--rows`.
fn row_output(
    options: &RunOptions,
    config: &Config,
    node: &str,
    anonymizer: Option<&Anonymizer>,
) -> Result<Option<Box<dyn RowOutput>>, Failure> {
    let Some(path) = &options.rows else { return Ok(None) };
    let Every::Time(window_ns) = options.every else {
        return Err(Failure::usage(
            "--rows needs windows of time, which its column window_start names: give --every a time, as 10s",
        ));
    };
    let writer = RowWriter::create(path, node, config.key, config.parts.loss).map_err(Failure::usage)?;
    Ok(Some(Box::new(RowFile { writer: writer.with_anonymizer(anonymizer.cloned()), window_ns })))
}

/// `--rows`.
struct RowFile {
    writer: RowWriter,
    window_ns: u64,
}

impl RowFile {
    fn window(&self, start_ns: u64) -> RowWindow {
        RowWindow { start_ns, end_ns: start_ns.saturating_add(self.window_ns) }
    }
}

impl RowOutput for RowFile {
    fn write_v4(&mut self, start_ns: u64, rows: &Rows<KeyV4>) -> std::io::Result<()> {
        self.writer.write(self.window(start_ns), rows)
    }
    fn write_v6(&mut self, start_ns: u64, rows: &Rows<KeyV6>) -> std::io::Result<()> {
        self.writer.write(self.window(start_ns), rows)
    }
    fn finish(mut self: Box<Self>, without_place: &Unplaced) -> std::io::Result<()> {
        let Unplaced { packets, bytes, wire_bytes } = *without_place;
        self.writer.describe_without_place(packets, bytes, wire_bytes);
        self.writer.finish().map(|_| ())
    }
}

/// Reads the key of `--anonymize`, and warns if others could read it too.
fn anonymizer(path: &Path) -> Result<Anonymizer, Failure> {
    let (anonymizer, warning) = Anonymizer::from_file(path).map_err(Failure::usage)?;
    warning.iter().for_each(|line| say(line));
    Ok(anonymizer)
}

/// How the sources ended.
struct Verdict {
    code: u8,
    lines: Vec<String>,
}

impl Verdict {
    fn of(outcome: &Outcome<Outputs>, are_captures: bool) -> Self {
        let mut code = outcome.errors.iter().map(exit::code_of).max().unwrap_or(0);
        let mut lines: Vec<String> = outcome.errors.iter().map(wording::of_source).collect();
        // A port that has vanished has vanished for all its queues.
        lines.dedup();
        if !outcome.faults.is_empty() {
            code = FAULT;
            lines.extend(outcome.faults.iter().cloned());
        }
        if outcome.errors.iter().any(|error| exit::code_of(error) == FAULT) {
            code = FAULT;
        }
        if outcome.stopped && are_captures {
            code = code.max(EARLY);
            lines.push("stopped before the end of the capture".to_owned());
        }
        let packets = &outcome.ended.packets;
        if packets.received != packets.measured + packets.not_measured.total() {
            code = FAULT;
            lines
                .push("the frames received are not all accounted for: this is an error in Edison".to_owned());
        }
        Self { code, lines }
    }
}

/// The report, what the user should know of outputs, and whether they failed.
struct Reported {
    report: RunReport,
    /// Answers of windows that the end of the run cut.
    longer: Vec<Answer>,
    warnings: Vec<String>,
    failed: bool,
}

fn report(outcome: Outcome<Outputs>, source: Vec<String>, node: String) -> Reported {
    let ended = outcome.ended;
    let finished = outcome.records.finish();
    let OutputsResult { exported, dropped, outputs, answers, longer, unreported, warnings, faults } =
        finished;
    let failed = !faults.is_empty();
    let mut totals = engine::totals(None, &ended.totals, ended.flows.table_full);
    totals.node = Some(node.clone());
    let elapsed_seconds = outcome.elapsed.as_secs_f64();
    let report = RunReport {
        source,
        node,
        started_ns: ended.span.map(|span| span.start_ns),
        ended_ns: ended.span.map(|span| span.end_ns),
        windows: WindowCounts { unreported: outcome.unreported + unreported, ..ended.windows },
        rates: Rates::new(ended.packets.received, ended.totals.wire_bytes, ended.span, elapsed_seconds),
        packets: ended.packets,
        loss: outcome.loss,
        flows: FlowCounts { exported, dropped, outputs, ..ended.flows },
        memory_bytes: ended.memory_bytes,
        answers: [totals].into_iter().chain(answers).collect(),
        events: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect(),
        elapsed_seconds,
        link_down: outcome.link_downs,
        design: DesignReport::default(),
        wire: None,
        faults,
        answers_unlisted: 0,
    };
    Reported { report, longer, warnings, failed }
}

fn wire_report(counters: WireCounters) -> WireReport {
    WireReport {
        offered: counters.offered,
        delivered: counters.delivered,
        imissed: counters.imissed,
        offered_clock_stopped: counters.offered_clock_stopped,
        imissed_clock_stopped: counters.imissed_clock_stopped,
        gaps: counters.gaps,
        gap_ns: counters.gap_ns,
        longest_gap_ns: counters.longest_gap_ns,
        rx_nombuf: counters.rx_nombuf,
    }
}
