//! A node that is ready to be measured: its options are checked, its sources open, its outputs created once all checks have passed.

use crate::assembly::folder;
use crate::assembly::overview_rows::OverviewRows;
use crate::assembly::parallel;
use crate::assembly::parts;
use crate::assembly::preset;
use crate::assembly::refusal;
use crate::assembly::routers::{CollectionOutcome, Qualities};
use crate::assembly::row_file::RowFile;
use crate::assembly::row_store::RowStore;
use crate::assembly::sources::{self, RunSources};
use crate::assembly::steps;
use crate::assembly::stored;
use crate::assembly::table_records::is_told;
use crate::assembly::watched::{FailedOutputs, WatchedWriter};
use crate::exit::{Failure, no_thread, say};
use crate::machine;
use crate::scheduler::Scheduler;
use crate::signals;
use crate::sinks::standard_output::{self, OutputReader};
use crate::spec::RunSpec;
use crate::wording;
use arena::{Lease, Limits};
use engine::admission::{self, Admission, Directions, check_tracked_flows, no_gaps};
use engine::{
    CaptureSettings, Control, Destinations, Every, HAND_OVER_PACKETS, MeasurementConfig, Observer, Outputs,
    ResolvedDesign, RowOutput, RunOutcome, SamplingControl, StepTiming, TUNED_HAND_OVER_PACKETS,
    WindowOutlet,
};
use flow::{Share, TrackedParts};
use flowtable::Timeouts;
use geo::Databases;
use model::ExporterReport;
use overview::Overview;
use packet::Seed;
use port::TimeBase;
use port::wire::Wire;
use record::{Anonymizer, Patience, RecordWriter, RecordedWindows, Rotation, RowWriter, Selection};
use signal_hook::consts::SIGHUP;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{NodeSetting, StoreWriter};
use task::ChangingFields;
use task::rows::{CountingOffer, PacketFieldPolicy, PlanContext, ZoomOffer};
use task::{TaskSpec, Tasks};

/// A node that is ready to be measured.
pub(crate) struct Measurement {
    pub(crate) node: String,
    pub(crate) config: MeasurementConfig,
    pub(crate) plan: ResolvedDesign,
    pub(crate) time_base: TimeBase,
    /// True if all sources are capture files.
    pub(crate) are_captures: bool,
    /// The tasks that were asked for.
    pub(crate) tasks: Option<Tasks>,
    /// The names of the node's sources.
    names: Vec<String>,
    sources: RunSources,
    /// The options that the node is measured by.
    options: RunSpec,
    /// The columns of the node's records.
    selection: Selection,
    /// The parts that rows may have: losses of the flows that queries pin at least.
    tracked: TrackedParts,
    rows: Vec<Box<dyn RowOutput>>,
    /// What takes the rows of the last hours; `None` where nobody asks.
    overview: Option<Overview>,
    writers: Vec<Box<dyn RecordWriter>>,
    anonymizer: Option<Anonymizer>,
    geo: Option<Arc<Databases>>,
    captures: CaptureSettings,
    tracked_flows: ZoomOffer,
    /// The memory of the queues of the exporter and the store, of tasks and frames.
    _memory: ([Option<Lease>; 2], Lease),
}

/// The tasks that are asked of a node.
#[derive(Clone, Copy)]
pub(crate) struct AskedTasks<'a> {
    /// The tasks that it begins with.
    pub(crate) first: &'a [TaskSpec],
    /// Those, and the ones that a controller may add later.
    pub(crate) all: &'a [TaskSpec],
}

/// The settings that the nodes of a run have in common.
pub(crate) struct SharedNodeContext {
    /// The anonymizer that replaces the addresses of all that leaves the nodes.
    anonymizer: Option<Anonymizer>,
    /// The size of the queue of the store that takes the nodes' rows and records, bytes.
    store_queue: Option<usize>,
}

impl SharedNodeContext {
    /// Reads the key of `--anonymize`, and warns if others could read it too.
    pub(crate) fn from_options(options: &RunSpec) -> Result<Self, Failure> {
        let anonymizer = options.output.anonymize.as_deref().map(Anonymizer::from_file).transpose();
        let (anonymizer, warning) = anonymizer.map_err(Failure::usage)?.unzip();
        warning.flatten().iter().for_each(|line| say(line));
        Ok(Self { anonymizer, store_queue: stored::queue_bytes(options) })
    }
}

/// The result of a measurement.
pub(crate) struct MeasurementResult {
    pub(crate) outcome: RunOutcome<Outputs>,
    pub(crate) node: String,
    pub(crate) names: Vec<String>,
    pub(crate) plan: ResolvedDesign,
    pub(crate) wire: Option<Wire>,
    pub(crate) are_captures: bool,
    /// The routers that sent records, and what is known of these.
    pub(crate) routers: Option<(Vec<ExporterReport>, Qualities)>,
}

impl Measurement {
    /// Checks what the options ask of a node and opens its sources. Nothing is created. `specs`: its tasks, none of which must be impossible. `zooms`: queries read losses of the flows
    /// that they pin. Where the design does not allow to follow these alone, all are tracked.
    pub(crate) fn prepare(
        options: &RunSpec,
        node: &str,
        specs: AskedTasks<'_>,
        zooms: bool,
        common: &SharedNodeContext,
    ) -> Result<Self, Failure> {
        let config = config(options);
        let plan = parallel::plan(options, &config)?;
        if zooms
            && !options.packets.loss
            && check_tracked_flows(&config, &plan, Directions::Together).is_some()
        {
            let mut tracking = options.clone();
            tracking.packets.loss = true;
            return Self::prepare(&tracking, node, specs, false, common);
        }
        // The exporter's queue; the least of the memory has room for it.
        let queue = || config.limits.lease(record::EXPORT_QUEUE_BYTES);
        let export_queue = options.output.export.is_some().then(queue).flatten();
        let store_queue = common.store_queue.and_then(|bytes| config.limits.lease(bytes));
        let record_parts = parts::select_record_parts(options, &config.parts);
        let selection = match &options.output.fields {
            Some(list) => Selection::parse(list, &record_parts)
                .map_err(|error| Failure::usage(wording::describe_selection_error(&error)))?,
            None => Selection::new(&record_parts),
        };
        let selection = select_columns(options, selection);
        // Before a source is opened: a mistake in it must not start a port.
        refusal::admit(&config, &plan, specs.all, &parallel::site(options))?;
        let geo = options.question.enrich.databases()?;
        let captures = captures(options, node);
        check_places(options)?;
        if let Some(scheduler) = options.machine.scheduler {
            scheduler.check(&plan).map_err(Failure::usage)?;
        }
        let sources = sources::open(options, &config, plan, specs.all)?;
        // A port may have had fewer queues than were requested, or spread flows over them in its own way.
        refusal::admit(&config, &sources.plan, specs.all, &sources.site)?;
        let Admission { tasks, memory } = refusal::admit(&config, &sources.plan, specs.first, &sources.site)?;
        preset::remark(options, &sources.plan).iter().for_each(|line| say(line));
        let zoom = match check_tracked_flows(&config, &sources.plan, sources.site.directions) {
            None => ZoomOffer::Offered,
            Some(why) => ZoomOffer::NotPossible(why.to_string()),
        };
        // The queues of a wire have one name.
        let mut names: Vec<String> = sources.sources.iter().map(|source| source.name().to_owned()).collect();
        names.dedup();
        names.extend(sources.routers.iter().map(|routers| routers.name().to_owned()));
        if names.is_empty() {
            // A capture that is damaged from its first byte on, so that nothing came onto the wire.
            names = [&options.source.read[..], &options.source.words[..]].concat();
        }
        Ok(Self {
            node: node.to_owned(),
            plan: sources.plan.clone(),
            time_base: sources.time_base,
            are_captures: sources.are_captures,
            tracked: TrackedParts { loss: config.parts.loss || zooms, ..config.parts.tracked() },
            config,
            tasks,
            names,
            sources,
            options: options.clone(),
            selection,
            rows: Vec::new(),
            overview: None,
            writers: Vec::new(),
            anonymizer: common.anonymizer.clone(),
            geo,
            captures,
            tracked_flows: zoom,
            _memory: ([export_queue, store_queue], memory),
        })
    }

    /// Creates the files and connections that take its records and rows. `reader` reads standard output; `lost` counts what others do not take.
    pub(crate) fn create_outputs(
        &mut self,
        reader: &OutputReader,
        lost: &FailedOutputs,
    ) -> Result<(), Failure> {
        self.writers = writers(&self.options, &self.node, &self.selection, self.time_base, reader, lost)?;
        self.rows = self.row_output()?;
        if let Some(folder) = &self.options.capture.captures {
            std::fs::create_dir_all(folder).map_err(|error| no_folder("--captures", folder, &error))?;
        }
        Ok(())
    }

    /// The file of `--rows`.
    fn row_output(&self) -> Result<Vec<Box<dyn RowOutput>>, Failure> {
        let Some(path) = &self.options.output.rows else { return Ok(Vec::new()) };
        let (window_ns, usual_ns) = window_lengths(&self.options, "--rows")?;
        let writer = RowWriter::create(path, &self.node, self.config.key, self.tracked);
        let writer = writer.map_err(Failure::usage)?.with_anonymizer(self.anonymizer.clone());
        Ok(vec![Box::new(RowFile::new(writer, RecordedWindows::new(window_ns, usual_ns)))])
    }

    /// Lets the store take the node's rows and records too.
    pub(crate) fn keep_in(&mut self, store: &Arc<StoreWriter>) -> Result<(), Failure> {
        let options = &self.options;
        let (window_ns, usual_ns) = window_lengths(options, "--store")?;
        let record_parts = parts::select_record_parts(options, &self.config.parts);
        let (feed, records) = store.node(NodeSetting {
            node: self.node.clone(),
            source: sources::names_of_files(self.names.iter().map(Path::new)),
            key: self.config.key,
            window_ns,
            default_ns: usual_ns,
            tracked: self.tracked,
            has_wire_bytes: true,
            selection: select_columns(options, Selection::new(&record_parts)),
            anonymizer: self.anonymizer.clone(),
            is_live: self.time_base != TimeBase::Packets,
            // Routers wait in their own queue.
            waits: self.time_base == TimeBase::Packets || options.routers.listener.is_some(),
        });
        self.rows.push(Box::new(RowStore::new(Arc::clone(store), feed)));
        self.writers.extend(records);
        Ok(())
    }

    /// Lets an overview take the node's rows too.
    pub(crate) fn record_in(&mut self, overview: &Overview) {
        let Self { config, anonymizer, .. } = self;
        let has_times = matches!(config.every, Every::Time(_));
        let setting = overview::NodeSetting {
            key: config.key,
            seed: config.seed,
            limits: config.limits.clone(),
            tracks_loss: config.parts.loss,
            without_rows: (!has_times).then_some(
                "windows of a number of packets do not tell their rows apart: give --every a time, as 10s",
            ),
        };
        let map = anonymizer.clone().map(|mut anonymizer| {
            Box::new(move |address| anonymizer.address(address)) as overview::AddressMap
        });
        let recorder = overview.recorder(&self.node, setting).with_map(map);
        self.rows.push(Box::new(OverviewRows::new(recorder, has_times)));
        self.overview = Some(overview.clone());
    }

    /// Returns what tells a controller of the traffic of the last hours.
    pub(crate) fn traffic_reporter(&self) -> Option<overview::TrafficReporter> {
        self.overview.as_ref().map(Overview::reporter)
    }

    /// The names of the node's sources.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the anonymizer that replaces the addresses of all that leaves the node.
    pub(crate) fn anonymizer(&self) -> Option<&Anonymizer> {
        self.anonymizer.as_ref()
    }

    /// The first of its sources that cannot count what it loses.
    pub(crate) fn without_loss(&mut self) -> Option<String> {
        for source in &mut self.sources.sources {
            if source.lost().is_none() {
                return Some(source.name().to_owned());
            }
        }
        None
    }

    /// Returns what is known of the node's sources.
    pub(crate) fn sources_site(&self) -> engine::admission::SourceProperties {
        self.sources.site
    }

    /// Returns what becomes of questions by fields in which packets of a flow may differ.
    fn by_packets(&self) -> PacketFieldPolicy {
        let Self { sources, plan, .. } = self;
        // Workers of a silent receiver would report no window.
        let is_silent = plan.receivers > 1 && sources.site.falls_silent && !plan.merges();
        match sources.routers {
            Some(_) => PacketFieldPolicy::Named,
            None if is_silent => PacketFieldPolicy::Refused,
            None => PacketFieldPolicy::Counted,
        }
    }

    /// Returns what becomes of queries whose packets are to be counted.
    fn counting(&self) -> CountingOffer {
        let Self { sources, plan, config, .. } = self;
        if sources.routers.is_some() {
            let why = "structures count packets one by one, and routers send flow records";
            return CountingOffer::NotPossible(why.to_owned());
        }
        match admission::run_properties(config, plan, &sources.site) {
            Ok(run) => CountingOffer::Offered { run, is_sampled: config.sampling.is_some() },
            Err(refusal) => CountingOffer::NotPossible(refusal.to_string()),
        }
    }

    /// Returns the properties of the node's rows.
    pub(crate) fn site(&self) -> PlanContext {
        PlanContext {
            key: self.config.key,
            node: self.node.clone(),
            window_ns: match self.config.every {
                Every::Time(length) => Some(length),
                Every::Packets(_) => None,
            },
            tracked: self.config.parts.tracked(),
            tracked_flows: self.tracked_flows.clone(),
            row_statistics: self.config.parts.row_statistics(),
            no_gaps: no_gaps(&self.plan),
            statistics: Vec::new(),
            changing: ChangingFields::NONE,
            passes: Vec::new(),
            is_filtered: false,
            by_packets: self.by_packets(),
            counting: self.counting(),
            geo: self.geo.clone(),
            seed: self.config.seed,
            limits: self.config.limits.clone(),
        }
    }

    /// Lets captures be ordered.
    pub(crate) fn start_captures(&self, control: &Control) -> Result<(), Failure> {
        control.captures().start(self.captures.clone()).map_err(no_thread)
    }

    /// Measures until the sources end or `stop` is set. Answers go to `windows`.
    pub(crate) fn measure(
        self,
        control: &Control,
        windows: WindowOutlet,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<MeasurementResult, Failure> {
        let Self {
            node,
            mut config,
            plan,
            time_base,
            are_captures,
            names,
            rows,
            writers,
            anonymizer,
            options,
            ..
        } = self;
        let RunSources { mut sources, filter, wire, damage, routers, .. } = self.sources;
        let windows = match &routers {
            Some(routers) => marked(windows, routers.qualities()),
            None => windows,
        };
        config.control = Some(control.clone());
        let destinations = Destinations { writers, rows, anonymizer, windows, node: node.clone() };
        let outputs = Outputs::start(destinations, &config, control, time_base).map_err(no_thread)?;
        // With several files, SIGHUP begins the next one.
        if options.output.rotate.is_some() {
            signals::set_on(SIGHUP, outputs.rotation())?;
        }
        if let Some(routers) = routers {
            let CollectionOutcome { outcome, exporters, qualities } =
                routers.measure(&config, control, outputs, stop, observer);
            let routers = Some((exporters, qualities));
            return Ok(MeasurementResult { outcome, node, names, plan, wire, are_captures, routers });
        }
        let mut outcome = engine::run(&mut sources, filter.as_ref(), &config, &plan, stop, outputs, observer)
            .map_err(|error| refusal::not_begun(&error))?;
        outcome.errors.extend(damage);
        Ok(MeasurementResult { outcome, node, names, plan, wire, are_captures, routers: None })
    }
}

/// Says in the answers of longer windows how good the records of routers are. The answers of the window itself have it from the engine.
fn marked(mut windows: WindowOutlet, qualities: Qualities) -> WindowOutlet {
    Box::new(move |mut window| {
        qualities.mark(&mut window.longer);
        windows(window)
    })
}

/// Returns why no source could be measured as the options say, a line for each reason. Nothing is opened.
pub(super) fn refusals(options: &RunSpec, specs: &[TaskSpec]) -> Vec<String> {
    let config = config(options);
    let planned = parallel::plan(options, &config)
        .and_then(|plan| refusal::admit(&config, &plan, specs, &parallel::site(options)));
    planned.err().map(Failure::messages).unwrap_or_default()
}

/// Returns the engine's configuration for the options.
pub(super) fn config(options: &RunSpec) -> MeasurementConfig {
    let usual_ring =
        if options.machine.adapt.is_some() { TUNED_HAND_OVER_PACKETS } else { HAND_OVER_PACKETS };
    let memory = options.limit.memory.unwrap_or_else(machine::half_of_memory);
    let fits = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let flows = options.record.max_flows.map_or(usize::MAX, fits);
    let limits = Limits::new(fits(memory), flows);
    MeasurementConfig {
        every: options.question.every,
        timeouts: Timeouts { idle_ns: options.record.idle_timeout, active_ns: options.record.active_timeout },
        limits,
        tunnel: options.packets.tunnel.to_tunnel(),
        key: options.question.key,
        parts: parts::select_parts(options),
        table: options.machine.table,
        seed: Seed::new(options.machine.seed.unwrap_or_else(machine::random)),
        control: None,
        sampling: options.machine.tee.map(SamplingControl::new),
        worker_use: None,
        idle_timeout: None,
        adaption: None,
        burst: usize::from(options.machine.burst),
        hand_over_batches: options
            .machine
            .ring
            .map_or(usual_ring, usize::from)
            .div_ceil(usize::from(options.machine.burst))
            .max(2),
        timed: if options.machine.steps { StepTiming::OneOf(steps::ONE_OF) } else { StepTiming::Off },
        thread_setup: options.machine.scheduler.map(Scheduler::setup),
        duration: options.limit.duration,
        packets: options.limit.packets,
        idle_exit: options.limit.idle_exit,
    }
}

fn writers(
    options: &RunSpec,
    node: &str,
    selection: &Selection,
    time_base: TimeBase,
    reader: &OutputReader,
    lost: &FailedOutputs,
) -> Result<Vec<Box<dyn RecordWriter>>, Failure> {
    let watched = |name: String, writer: Box<dyn RecordWriter>| {
        let reader = standard_output::is_meant(Path::new(&name)).then(|| reader.clone());
        Box::new(WatchedWriter::new(writer, name, reader, lost)) as Box<dyn RecordWriter>
    };
    let patience = match time_base {
        TimeBase::Packets => Patience::ForPace,
        TimeBase::Clock => Patience::None,
    };
    // First, as it leaves nothing where it is refused.
    let export = options.output.export.as_ref().map(|collector| {
        let writer = record::export(collector, node, selection, patience);
        writer.map(|writer| watched(collector.to_string(), writer))
    });
    let export = export.transpose().map_err(Failure::usage)?;
    let file = options.output.flows.as_deref().map(|path| {
        let writer = match options.output.rotate {
            Some(rotation) => {
                let rotation = match (rotation, time_base) {
                    (Rotation::Time(length), TimeBase::Packets) => Rotation::RecordTime(length),
                    (rotation, _) => rotation,
                };
                record::create_rotating(path, rotation, node, selection)
            }
            None => record::create(path, node, selection),
        };
        writer.map(|writer| watched(path.display().to_string(), writer))
    });
    let file = file.transpose().map_err(Failure::usage)?;
    Ok(file.into_iter().chain(export).collect())
}

/// Refuses files and folders that could not be made, and windows that they cannot have. Nothing is left of them.
fn check_places(options: &RunSpec) -> Result<(), Failure> {
    let taking = [("--rows", options.output.rows.is_some()), ("--store", options.output.store.is_some())];
    for (option, _) in taking.into_iter().filter(|(_, is_asked)| *is_asked) {
        window_lengths(options, option)?;
    }
    let files = [
        options.output.flows.as_deref().map(record::check),
        options.output.rows.as_deref().map(RowWriter::check),
    ];
    files.into_iter().flatten().try_for_each(|checked| checked.map_err(Failure::usage))?;
    match &options.capture.captures {
        Some(path) => folder::check(path).map_err(|error| no_folder("--captures", path, &error)),
        None => Ok(()),
    }
}

fn no_folder(option: &str, folder: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("{option} {}: {error}", folder.display()))
}

/// The columns of records, with those that only the source of this node needs, and the share by which packets are sampled.
fn select_columns(options: &RunSpec, selection: Selection) -> Selection {
    match options.routers.listener {
        Some(_) => selection.with_open_fields(),
        None if options.machine.table.is_some() => selection.limit_to(|name| is_told(options, name)),
        None => selection.with_share(options.machine.tee.unwrap_or(Share::ALL)),
    }
}

/// Returns the settings of captures: where they go, and what is kept of them.
fn captures(options: &RunSpec, node: &str) -> CaptureSettings {
    CaptureSettings {
        folder: options.capture.captures.clone(),
        node: node.to_owned(),
        bytes: options.capture.capture_bytes,
        snap: options.capture.capture_snap,
        rate: options.capture.capture_rate,
        anonymizes: options.output.anonymize.is_some(),
    }
}

/// The length of windows, and of those of queries that do not say it, nanoseconds.
fn window_lengths(options: &RunSpec, option: &str) -> Result<(u64, u64), Failure> {
    let Every::Time(window_ns) = options.question.every else {
        return Err(Failure::usage(format!(
            "{option} needs windows of time, which its column window_start names: give --every a time, as 10s"
        )));
    };
    let usual_ns = match options.default_every {
        Some(Every::Time(length)) => length,
        _ => window_ns,
    };
    Ok((window_ns, usual_ns))
}
