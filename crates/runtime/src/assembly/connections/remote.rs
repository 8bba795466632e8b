//! A node of a deployment: it measures, and answers what the controller behind the broker asks.

mod kernel_clock;
mod load;

use super::Connect;
use crate::assembly::MeasurementRoute;
use crate::assembly::measurement::Measurement;
use crate::assembly::reporting::NodeOutcome;
use crate::broker;
use crate::exit::{Failure, no_thread, say};
use crate::machine::now_ns;
use crate::signals::HungUp;
use crate::sinks::{self, Sink, Sinks};
use crate::spec::{LinkOptions, RunSpec};
use engine::{Control, Observer, Snapshot};
use kernel_clock::kernel_clock;
use load::LoadWatch;
use model::{RunReport, view};
use probe::{Probe, Reporter, TaskFile, TaskFileState, TaskSetPlanner, Vitals};
use protocol::amqp::{self, AmqpProbeLink, ProbeSettings, SpoolFile};
use protocol::{Heartbeat, LinkStateReporter, ProbeLink};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{StoreCounts, StoreWriter};

/// The longest time that the end of a probe waits until what it measured is delivered.
const DELIVERY: Duration = Duration::from_secs(5);
/// The smallest spool, bytes.
const LEAST_SPOOL: u64 = 1 << 20;
/// The time between two looks at the connection.
const LINK_LOOK: Duration = Duration::from_millis(200);

/// Checks where the broker is and how the node logs in, before anything is opened.
pub(super) fn connection(link: &LinkOptions) -> Result<Connect, Failure> {
    if link.spool < LEAST_SPOOL {
        return Err(Failure::usage(
            "'spool': a window of answers may take a mebibyte: give it 1MiB at least",
        ));
    }
    let broker = broker::from_options(&link.broker)?;
    let link = link.clone();
    Ok(Box::new(move |options, measurement| start(options, measurement, broker.clone(), &link)))
}

/// The node, ready to be measured.
struct RemoteNode {
    /// The parts of the node to measure; `None` once it is measured.
    ready: Option<RemoteNodeSetup>,
    control: Control,
    link: Arc<AmqpProbeLink>,
    spool_file: Option<PathBuf>,
    hung_up: Option<HungUp>,
    /// The site of the node; `None` where nothing says it.
    site: Option<view::Site>,
    /// The store, once it is open.
    store: Option<Arc<StoreWriter>>,
    /// The broker, as the user is told.
    place: String,
}

/// The parts that a node has until it is measured.
struct RemoteNodeSetup {
    measurement: Measurement,
    planner: TaskSetPlanner,
    task_file: Option<TaskFile>,
}

/// Makes a node ready to be connected to its controller.
fn start(
    options: &RunSpec,
    measurement: Measurement,
    broker: amqp::BrokerAddress,
    link: &LinkOptions,
) -> Result<Box<dyn MeasurementRoute>, Failure> {
    let node = measurement.node.clone();
    let anonymizer = measurement.anonymizer().cloned();
    let mut planner = TaskSetPlanner::new(measurement.site(), Vec::new()).with_anonymizer(anonymizer);
    let control = Control::new(planner.first().map_err(Failure::fault)?);
    measurement.start_captures(&control)?;
    let place = broker.place();
    let spool_bytes = usize::try_from(link.spool).unwrap_or(usize::MAX);
    let spool_file = link.spool_file.clone();
    let settings = ProbeSettings { broker, node: node.clone(), spool_bytes };
    let link = match &spool_file {
        None => amqp::probe_link(settings),
        Some(path) => amqp::spooled_probe_link(settings, open_spool(path, &node, spool_bytes)?),
    };
    // The lock of the spool is its own too.
    let task_file =
        spool_file.as_deref().map(|path| open_tasks(path, &node, &mut planner, &control)).transpose()?;
    let link = Arc::new(link.map_err(Failure::usage)?);
    // With several files of records, the signal begins the next one.
    let hung_up = options.output.rotate.is_none().then(HungUp::watch).transpose()?;
    let site = options.output.sites.site_of(&node);
    let ready = Some(RemoteNodeSetup { measurement, planner, task_file });
    Ok(Box::new(RemoteNode { ready, control, link, spool_file, hung_up, site, store: None, place }))
}

impl MeasurementRoute for RemoteNode {
    fn measurements(&mut self) -> Vec<&mut Measurement> {
        self.ready.iter_mut().map(|ready| &mut ready.measurement).collect()
    }

    fn keep_in(&mut self, store: &Arc<StoreWriter>) -> Result<(), Failure> {
        self.store = Some(Arc::clone(store));
        self.measurements().into_iter().try_for_each(|measurement| measurement.keep_in(store))
    }

    fn measure(&mut self, sinks: &Sinks, stop: &AtomicBool) -> Result<Vec<NodeOutcome>, Failure> {
        let Some(RemoteNodeSetup { measurement, planner, task_file }) = self.ready.take() else {
            return Ok(Vec::new());
        };
        let node = measurement.node.clone();
        let load = LoadWatch::new(measurement.config.limits.clone());
        let mut watcher = LinkObserver {
            link: Arc::clone(&self.link),
            watch: LinkStateReporter::default(),
            hung_up: self.hung_up.take(),
            load: load.clone(),
            looked: None,
            refused: BTreeMap::new(),
            fault: None,
            tasks: task_file.as_ref().map(TaskFile::state),
            tasks_fault: None,
        };
        let folder = self.store.as_ref().map(|store| store.folder().to_owned());
        let reporter = Some(self.reporter(&measurement, load));
        let link = Arc::clone(&self.link) as Arc<dyn ProbeLink>;
        let probe = Probe::start(link, planner, self.control.clone(), None, reporter, task_file, folder)
            .map_err(no_thread)?
            .with_traffic(measurement.traffic_reporter());
        say(&format!(
            "{node} measures {}, controlled through {}",
            measurement.names().join(", "),
            self.place
        ));
        let outlet = sinks::before(sinks.clone(), probe.outlet());
        let measured = measurement.measure(&self.control, outlet, stop, &mut watcher)?;
        let mut reported = NodeOutcome::from_measured(measured, false);
        sinks.cut(&reported.longer);
        probe.end(std::mem::take(&mut reported.longer));
        let is_delivered = self.link.flush(DELIVERY);
        let packets = &reported.report.packets;
        say(&format!(
            "{node} ended: {} packets received, {} measured, {} not measured",
            notation::grouped(packets.received),
            notation::grouped(packets.measured),
            notation::grouped(packets.not_measured.total())
        ));
        self.say_undelivered(is_delivered);
        Ok(vec![reported])
    }

    fn end(self: Box<Self>, _: &Sinks, _: &mut RunReport) -> Option<String> {
        None
    }
}

impl RemoteNode {
    /// Returns the reporter that makes the node's heartbeats.
    fn reporter(&self, measurement: &Measurement, load: LoadWatch) -> Reporter {
        let usual = Heartbeat {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: measurement.names().to_vec(),
            site: self.site.clone(),
            started_ns: now_ns(),
            ..Heartbeat::default()
        };
        let store = self.store.clone();
        let vitals = move || Vitals {
            clock: kernel_clock(),
            now_ns: now_ns(),
            load: Some(load.take()),
            store: store.as_deref().map(store_state),
        };
        Reporter::new(usual, vitals)
    }

    /// Says what the controller does not have.
    fn say_undelivered(&self, is_delivered: bool) {
        let spool = self.link.spool();
        if is_delivered && spool.dropped == 0 {
            return;
        }
        let (messages, dropped) = (notation::grouped(spool.messages), notation::grouped(spool.dropped));
        let fate = match &self.spool_file {
            Some(path) if self.link.save(DELIVERY) => {
                format!("stay in {} for the next start", path.display())
            }
            _ => "are not delivered and lost".to_owned(),
        };
        say(&format!("{messages} messages {fate}, {dropped} windows were dropped before"));
    }
}

/// Returns the state of a store for heartbeats.
fn store_state(store: &StoreWriter) -> view::Store {
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
    planner: &mut TaskSetPlanner,
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

/// Says when the broker is away and when it is back, and what of the controller's messages is refused.
struct LinkObserver {
    link: Arc<AmqpProbeLink>,
    watch: LinkStateReporter,
    hung_up: Option<HungUp>,
    load: LoadWatch,
    looked: Option<Instant>,
    /// The numbers of refused task lists that the user was told last, by reason.
    refused: BTreeMap<&'static str, u64>,
    /// The fault of the file of the spool that the user was told last.
    fault: Option<String>,
    tasks: Option<TaskFileState>,
    /// The fault of the file of the task list that the user was told last.
    tasks_fault: Option<String>,
}

impl Observer for LinkObserver {
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
