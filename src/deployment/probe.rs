//! `edison probe`: a node of a deployment.

use crate::commands::{CollectOptions, ProbeOptions};
use crate::config_file;
use crate::deployment::broker;
use crate::deployment::kernel_clock::kernel_clock;
use crate::deployment::load::LoadWatch;
use crate::deployment::settings::Settings;
use crate::exit::{Failure, no_thread, say, say_error};
use crate::quantity;
use crate::questions::asked::Asked;
use crate::router_options::{Listener, RouterOptions};
use crate::runtime::measurement::Measurement;
use crate::runtime::reporting::Reported;
use crate::runtime::stored;
use crate::runtime::{self, Lost};
use crate::signals::{self, HungUp};
use crate::sinks::standard_output::Reader;
use crate::sinks::views::now_ns;
use crate::sinks::{self, Sink, Sinks, Telling};
use crate::spec::Spec;
use engine::{Control, Every, Observer, Snapshot};
use model::view;
use port::TimeBase;
use probe::{Planner, Probe, Reporter, TaskFile, TaskFileState, Vitals};
use protocol::amqp::{self, AmqpProbeLink, ProbeSettings, SpoolFile};
use protocol::{Heartbeat, LinkWatch, ProbeLink};
use router::Network;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{Store, StoreCounts};

/// How long the end of a probe waits until what it measured is delivered.
const DELIVERY: Duration = Duration::from_secs(5);
/// The smallest spool, bytes.
const LEAST_SPOOL: u64 = 1 << 20;
/// How often the connection is looked at.
const LINK_LOOK: Duration = Duration::from_millis(200);

/// Measures until a signal, and answers what the controller asks.
pub(crate) fn run(options: &ProbeOptions) -> Result<ExitCode, Failure> {
    let mut settings = Settings::read(&options.config)?;
    let routers = routers(&mut settings, None)?;
    measure(settings, routers)
}

/// The same of routers, as the options or the file of settings say.
pub(crate) fn collect(options: &CollectOptions) -> Result<ExitCode, Failure> {
    let Some(config) = &options.config else {
        return Err(Failure::fault("the file of settings is not read"));
    };
    let mut settings = Settings::read(config)?;
    match routers(&mut settings, Some(options))? {
        None => Err(settings.wrong("'collect' is missing: where routers send to, as \"ipfix://:4739\"")),
        routers => measure(settings, routers),
    }
}

/// The routers of a file of settings, and of options, which win.
fn routers(
    settings: &mut Settings,
    given: Option<&CollectOptions>,
) -> Result<Option<RouterOptions>, Failure> {
    let wrong = |settings: &Settings, key: &str, error: &dyn std::fmt::Display| {
        settings.wrong(format!("'{key}': {error}"))
    };
    let listener = settings.text("collect")?.map(|text| text.parse::<Listener>());
    let listener = listener.transpose().map_err(|error| wrong(settings, "collect", &error))?;
    let texts = settings.list("from")?;
    let networks = texts.iter().flat_map(|text| text.split(',')).map(|text| text.trim().parse::<Network>());
    let from = networks.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(settings, "from", &error))?;
    let sampling = settings.text("sampling")?.map(|text| quantity::sampling(&text)).transpose();
    let sampling = sampling.map_err(|error| wrong(settings, "sampling", &error))?;
    let wait = settings.value("wait", Duration::ZERO, notation::duration)?;
    let Some(listener) = given.and_then(|given| given.url.clone()).or(listener) else {
        let keys =
            [("from", !from.is_empty()), ("sampling", sampling.is_some()), ("wait", wait != Duration::ZERO)];
        return match keys.iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                Err(settings.wrong(format!("'{key}' is of routers: 'collect' says where they send to")))
            }
            None => Ok(None),
        };
    };
    let from = given.map(|given| given.from.clone()).filter(|from| !from.is_empty()).unwrap_or(from);
    let sampling = given.and_then(|given| given.sampling).or(sampling);
    let wait_ns = nanoseconds(given.and_then(|given| given.wait).unwrap_or(wait));
    Ok(Some(RouterOptions { listener, from, sampling, wait_ns }))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn measure(mut settings: Settings, routers: Option<RouterOptions>) -> Result<ExitCode, Failure> {
    let broker = broker::take(&mut settings)?;
    let spool_bytes = settings.value("spool", ProbeSettings::SPOOL_BYTES as u64, notation::bytes)?;
    if spool_bytes < LEAST_SPOOL {
        return Err(settings.wrong("'spool': a window of answers may take a mebibyte: give it 1MiB at least"));
    }
    let spool_bytes = usize::try_from(spool_bytes).unwrap_or(usize::MAX);
    let spool_file = settings.text("spool-file")?.map(PathBuf::from);
    let (path, table) = settings.rest();
    let (run, origins) = config_file::run_options(table, &path)?;
    let run = Spec { routers, ..run };
    let node = run.node.clone().unwrap_or_else(crate::machine::host_name);
    let wrong = |reason: &str| Err(crate::toml_file::wrong(&path, reason));
    if let Some(key) = NOT_OF_PROBES.iter().find(|key| origins.has(key)) {
        return wrong(&format!(
            "'{key}' is not possible: a probe measures until it is told to end, and the controller says what it answers"
        ));
    }
    let Every::Time(_) = run.every else {
        return wrong("'every': the windows of a probe are a time, as \"1s\", the same as the controller's");
    };
    if run.tee.is_some() {
        return wrong(
            "'tee' is not possible: a controller adds up what probes counted, and does not know their shares",
        );
    }
    runtime::check_node(&run).map_err(|failure| failure.of(&path.display().to_string()))?;
    let stop = Arc::new(AtomicBool::new(false));
    let (reader, lost) = (Reader::new(&stop), Lost::default());
    let store = stored::open(&run)?;
    let measurement = Measurement::prepare(&run, &node, &[], false, store.as_ref(), (&reader, &lost))?;
    if measurement.time_base != TimeBase::Clock {
        return wrong(
            "a probe measures interfaces and ports: name one with 'interface' or 'port', or routers with 'collect'",
        );
    }
    let names = measurement.names().to_vec();
    let telling = Telling {
        options: &run,
        asked: &Asked::default(),
        nodes: vec![(measurement.site(), names.clone())],
        chain: None,
        sends_answers: false,
        is_replay: false,
        stop: &stop,
    };
    let anonymizer = measurement.anonymizer().cloned();
    let mut planner = Planner::new(measurement.site(), Vec::new()).with_anonymizer(anonymizer);
    let control = Control::new(planner.first().map_err(Failure::fault)?);
    measurement.start_captures(&control)?;
    let place = broker.place();
    let link_settings = ProbeSettings { broker, node: node.clone(), spool_bytes };
    let link = match &spool_file {
        None => amqp::probe_link(link_settings),
        Some(path) => amqp::spooled_probe_link(link_settings, open_spool(path, &node, spool_bytes)?),
    };
    // The lock of the spool is its own too.
    let task_file =
        spool_file.as_deref().map(|path| open_tasks(path, &node, &mut planner, &control)).transpose()?;
    let amqp_link = Arc::new(link.map_err(Failure::usage)?);
    let link: Arc<dyn ProbeLink> = Arc::clone(&amqp_link) as Arc<dyn ProbeLink>;
    let usual = Heartbeat {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: names.clone(),
        started_ns: now_ns(),
        ..Heartbeat::default()
    };
    let load = LoadWatch::new(measurement.config.limits.clone());
    let own = load.clone();
    let kept = store.clone();
    let vitals = move || Vitals {
        clock: kernel_clock(),
        now_ns: now_ns(),
        load: Some(own.take()),
        store: kept.as_deref().map(store_state),
    };
    let reporter = Reporter::new(usual, vitals);
    let tasks = task_file.as_ref().map(TaskFile::state);
    let folder = store.as_ref().map(|store| store.folder().to_owned());
    let own_link = Arc::clone(&link);
    let probe = Probe::start(own_link, planner, control.clone(), None, Some(reporter), task_file, folder)
        .map_err(no_thread)?;
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    // With several files of records, the signal begins the next one.
    let hung_up = run.rotate.is_none().then(HungUp::watch).transpose()?;
    say(&format!("{node} measures {}, controlled through {}", names.join(", "), place));
    let mut watcher = Watcher {
        link: Arc::clone(&amqp_link),
        watch: LinkWatch::default(),
        hung_up,
        load,
        looked: None,
        refused: BTreeMap::new(),
        fault: None,
        tasks,
        tasks_fault: None,
    };
    let sinks = Sinks::start(&telling)?;
    let outlet = sinks::before(sinks.clone(), probe.outlet());
    let measured = measurement.measure(&control, outlet, &stop, &mut watcher)?;
    let mut reported = Reported::of(measured, false);
    reported.verdict.lose(lost.lines());
    stored::close(store.as_ref(), true, &mut reported.verdict);
    sinks.cut(&reported.longer);
    probe.end(std::mem::take(&mut reported.longer));
    let is_delivered = link.flush(DELIVERY);
    sinks.finish(&mut reported.verdict);
    sinks.add_to(&mut reported.report);
    reported.warnings.iter().for_each(|line| say(line));
    let packets = &reported.report.packets;
    say(&format!(
        "{node} ended: {} packets received, {} measured, {} not measured",
        notation::grouped(packets.received),
        notation::grouped(packets.measured),
        notation::grouped(packets.not_measured.total())
    ));
    let spool = link.spool();
    if !is_delivered || spool.dropped != 0 {
        let (messages, dropped) = (notation::grouped(spool.messages), notation::grouped(spool.dropped));
        let fate = match &spool_file {
            Some(path) if amqp_link.save(DELIVERY) => {
                format!("stay in {} for the next start", path.display())
            }
            _ => "are not delivered and lost".to_owned(),
        };
        say(&format!("{messages} messages {fate}, {dropped} windows were dropped before"));
    }
    reported.report.faults.splice(..0, reported.verdict.lines.iter().cloned());
    reported.report.faults.iter().for_each(|line| say_error(line));
    // Whoever ends a probe ends its page too.
    sinks.report(&reported.report)?;
    Ok(ExitCode::from(reported.verdict.code))
}

/// What heartbeats say of a store.
fn store_state(store: &Store) -> view::Store {
    let StoreCounts { rows, flows, files, bytes, fault, .. } = store.counts();
    view::Store { files, bytes, lost: rows.lost() + flows.lost(), fault }
}

/// Opens the file of the spool, and says what is special about it.
fn open_spool(path: &Path, node: &str, most_bytes: usize) -> Result<SpoolFile, Failure> {
    let spool = SpoolFile::open(path, node, most_bytes).map_err(Failure::usage)?;
    spool.remarks().iter().for_each(|line| say(line));
    if spool.found() > 0 {
        say(&format!(
            "{} messages of earlier starts are sent first",
            notation::grouped(spool.found() as u64)
        ));
    }
    Ok(spool)
}

/// Opens the file of the last task list, beside the spool, and goes on with what is in it.
fn open_tasks(
    spool: &Path,
    node: &str,
    planner: &mut Planner,
    control: &Control,
) -> Result<TaskFile, Failure> {
    let mut name = spool.as_os_str().to_owned();
    name.push(".tasks");
    let path = PathBuf::from(name);
    let file = TaskFile::open(&path, node).map_err(no_thread)?;
    file.problem().iter().for_each(|line| say(line));
    let Some(list) = file.found() else { return Ok(file) };
    match planner.revive(control, list) {
        Ok((number, refused)) => {
            let but = refused.map(|reason| format!(", but for {reason}")).unwrap_or_default();
            say(&format!(
                "until the controller's list comes, that of the last start goes on: {number} standing tasks{but}"
            ));
        }
        Err(reason) => say(&format!("the task list {} is not carried out: {reason}", path.display())),
    }
    Ok(file)
}

/// Options of `run` that say what is asked or shown.
const NOT_OF_PROBES: [&str; 17] = [
    "query",
    "file",
    "by",
    "sort",
    "per",
    "set",
    "task",
    "json",
    "top",
    "read",
    "synthetic",
    "wire",
    "packets",
    "duration",
    "idle-exit",
    "resolve",
    "preset",
];

/// Says when the broker is away and when it is back, and what of the controller's messages is refused.
struct Watcher {
    link: Arc<AmqpProbeLink>,
    watch: LinkWatch,
    hung_up: Option<HungUp>,
    load: LoadWatch,
    looked: Option<Instant>,
    /// What was said to be refused, by reason.
    refused: BTreeMap<&'static str, u64>,
    /// What was said of the file of the spool.
    fault: Option<String>,
    tasks: Option<TaskFileState>,
    /// What was said of the file of the task list.
    tasks_fault: Option<String>,
}

impl Observer for Watcher {
    fn progress(&mut self, snapshot: Snapshot) {
        self.load.see(snapshot);
        if self.looked.is_some_and(|looked| looked.elapsed() < LINK_LOOK) {
            return;
        }
        self.looked = Some(Instant::now());
        self.hung_up.iter().filter_map(HungUp::line).for_each(say);
        let state = self.link.state();
        let lines = [self.watch.line(&state), self.watch.remark(&state)];
        lines.iter().flatten().for_each(|line| say(line));
        let refused = self.link.refused();
        if refused != self.refused {
            let counts = refused.iter().map(|(reason, count)| format!("{count} {reason}"));
            say(&format!("task lists refused: {}", counts.collect::<Vec<_>>().join(", ")));
            self.refused = refused;
        }
        let fault = self.link.spool().fault;
        if fault != self.fault {
            say(&match &fault {
                Some(reason) => format!("the spool is in memory only: {reason}; the file is tried again"),
                None => "the spool is in its file again".to_owned(),
            });
            self.fault = fault;
        }
        let fault = self.tasks.as_ref().and_then(TaskFileState::fault);
        if fault != self.tasks_fault {
            say(&match &fault {
                Some(reason) => {
                    format!("the task list is not kept for the next start: {reason}; it is tried again")
                }
                None => "the task list is kept again".to_owned(),
            });
            self.tasks_fault = fault;
        }
    }

    fn warning(&mut self, line: String) {
        say(&line);
    }
}
