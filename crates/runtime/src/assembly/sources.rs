//! The sources of frames that the options name.

use crate::assembly::parallel;
use crate::assembly::port_drivers;
use crate::assembly::positional::{self, RunArguments};
use crate::assembly::routers::Routers;
use crate::exit::{Failure, say};
use crate::spec::{Listener, RunSpec};
use engine::admission::SourceProperties;
use engine::{MeasurementConfig, ResolvedDesign};
use port::wire::{Trace, Wire, WireQueue, WireSpec};
use port::{
    CaptureSource, Filter, InterfaceOptions, InterfaceSource, MergedSource, PacketSource, SourceError,
    SyntheticSource, TimeBase,
};
use std::path::Path;
use std::sync::Arc;
use task::TaskSpec;

/// The sources that are to be measured.
pub(crate) struct RunSources {
    pub(crate) sources: Vec<Box<dyn PacketSource>>,
    /// The division of the work.
    pub(crate) plan: ResolvedDesign,
    /// The facts about the sources that the engine needs.
    pub(crate) site: SourceProperties,
    pub(crate) filter: Option<Filter>,
    pub(crate) time_base: TimeBase,
    /// True if all are capture files: ending one early is exit code 3.
    pub(crate) are_captures: bool,
    /// The wire whose queues the sources are.
    pub(crate) wire: Option<Wire>,
    /// Routers that send records, in the place of sources.
    pub(crate) routers: Option<Routers>,
    /// The reason why the wire has only the first part of a damaged capture.
    pub(crate) damage: Option<SourceError>,
}

/// Names the files that a run reads so that the same files have the same name in each folder; `None` if one of them is none, such as
/// standard input.
pub fn names_of_files(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<String> {
    let whole = |file: &Path| file.canonicalize().ok().map(|file| file.display().to_string());
    let names = files.into_iter().map(|file| whole(file.as_ref()).filter(|_| file.as_ref().is_file()));
    names.collect::<Option<Vec<_>>>().map(|names| names.join(", "))
}

/// Opens everything that the options name. `plan`: made before anything was open; ports may change it.
pub(crate) fn open(
    options: &RunSpec,
    config: &MeasurementConfig,
    mut plan: ResolvedDesign,
    specs: &[TaskSpec],
) -> Result<RunSources, Failure> {
    if let Some(listener) = &options.routers.listener {
        return of_routers(options, listener, plan);
    }
    let has_other = !options.source.interface.is_empty()
        || !options.source.port.is_empty()
        || options.source.synthetic.is_some();
    let RunArguments { files, filter } =
        positional::split(&options.source.words, &options.source.read, has_other)?;
    refuse_several_kinds(options, &files)?;
    // The filter first: a mistake in it must not start a port.
    let filter = filter.map(|expression| Filter::new(&expression)).transpose()?;
    filter.iter().flat_map(Filter::warnings).for_each(|line| say(&line));
    let mut sources = of_frames(options, &files)?;
    // Files and interfaces have one receiver, and the queues of a wire are chosen by the hash of --rss.
    let mut site = parallel::site(options);
    if !options.source.port.is_empty() {
        (sources, plan, site) = (port_drivers::find("--port")?.open)(options, config, specs)?;
    }
    let (mut wire, mut damage) = (None, None);
    if let Some(spec) = &options.source.wire {
        let memory = config.limits.bytes_allowed() as u64;
        (sources, wire, damage) = wire_around(options, *spec, sources, memory)?;
    }
    let wire = wire.map(|(wire, bytes)| {
        site.frame_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        wire
    });
    let time_base = sources.first().map_or(TimeBase::Packets, |source| source.time_base());
    let are_captures = !files.is_empty() && wire.is_none();
    Ok(RunSources { sources, plan, site, filter, time_base, are_captures, wire, routers: None, damage })
}

/// Returns routers that send records, in the place of sources.
fn of_routers(options: &RunSpec, listener: &Listener, plan: ResolvedDesign) -> Result<RunSources, Failure> {
    Ok(RunSources {
        sources: Vec::new(),
        plan,
        site: parallel::site(options),
        filter: None,
        time_base: TimeBase::Clock,
        are_captures: false,
        wire: None,
        routers: Some(Routers::open(listener, &options.routers)?),
        damage: None,
    })
}

/// Refuses a run without sources, and one with sources of several kinds.
fn refuse_several_kinds(options: &RunSpec, files: &[String]) -> Result<(), Failure> {
    let kinds = [
        !files.is_empty(),
        !options.source.interface.is_empty(),
        !options.source.port.is_empty(),
        options.source.synthetic.is_some(),
    ];
    match kinds.iter().filter(|&&given| given).count() {
        0 => Err(Failure::usage(
            "nothing to measure: name a capture file, '-', -i NAME, --port DEVARGS or --synthetic SPEC",
        )),
        1 => Ok(()),
        _ => Err(Failure::usage(
            "one run measures one kind of source: capture files, -i, --port or --synthetic",
        )),
    }
}

/// Opens the capture files, the interfaces and the synthetic traffic. Ports have a driver of their own.
fn of_frames(options: &RunSpec, files: &[String]) -> Result<Queues, Failure> {
    let burst = usize::from(options.machine.burst);
    let mut sources: Queues = Vec::new();
    match files {
        [] => {}
        [file] => {
            refuse_foreign(file)?;
            sources.push(Box::new(CaptureSource::open(file, burst)?));
        }
        several => sources.push(Box::new(MergedSource::open(several, burst)?)),
    }
    for name in &options.source.interface {
        let interface = InterfaceOptions {
            promiscuous: !options.source.no_promiscuous,
            burst,
            ..InterfaceOptions::default()
        };
        let source = InterfaceSource::open(name, &interface);
        sources.push(Box::new(source.map_err(|error| Failure::from(error).with_option("--interface"))?));
    }
    if let Some(spec) = &options.source.synthetic {
        sources.push(Box::new(SyntheticSource::open(spec, burst)?));
    }
    Ok(sources)
}

/// Refuses a file that is no capture before anything is measured. Data of a pipe can be read only once.
fn refuse_foreign(file: &str) -> Result<(), Failure> {
    if !std::fs::metadata(file).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    match CaptureSource::open(file, 1)?.rx_burst() {
        Err(error @ SourceError::Open(_)) => Err(error.into()),
        // What else is wrong is said when the frames before it are measured.
        _ => Ok(()),
    }
}

const WIRE_AROUND: &str = "--wire goes around capture files or --synthetic";

type Queues = Vec<Box<dyn PacketSource>>;
/// Queues, the wire with the bytes of its frames, and why it lacks a part of the capture.
type OpenedWire = (Queues, Option<(Wire, u64)>, Option<SourceError>);

/// The queues of a wire on which the frames of the one source arrive. Of a damaged capture those before the
/// damage do, as without a wire; if there are none, there is nothing to put on a wire.
fn wire_around(
    options: &RunSpec,
    spec: WireSpec,
    mut sources: Queues,
    memory: u64,
) -> Result<OpenedWire, Failure> {
    let [source] = &mut sources[..] else { return Err(Failure::usage(WIRE_AROUND)) };
    let hash = options.machine.rss_spec().unwrap_or_default();
    // Half for the frames, half for the tables.
    let (trace, damage) = match Trace::load_hashed(source.as_mut(), spec.queues, memory / 2, &hash) {
        Ok(mut trace) => {
            let damage = trace.take_damage();
            (Arc::new(trace), damage)
        }
        Err(error @ SourceError::Damaged(_)) => return Ok((Vec::new(), None, Some(error))),
        Err(error) => return Err(error.into()),
    };
    source.warnings().iter().for_each(|line| say(line));
    let name = format!("{} --wire {spec}", source.name());
    let queues = match spec.mbufs {
        Some(_) => (port_drivers::find("--wire mbufs")?.wire)(options, &name, &spec, &trace)?,
        None => Wire::open(&name, &spec, &trace, usize::from(options.machine.burst))?,
    };
    let Some(wire) = queues.first().map(WireQueue::wire) else {
        return Err(Failure::usage("--wire needs a queue at least"));
    };
    let queues = queues.into_iter().map(|queue| Box::new(queue) as Box<dyn PacketSource>).collect();
    Ok((queues, Some((wire, trace.memory_bytes())), damage))
}
