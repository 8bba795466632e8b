//! The settings of a controller.

use super::access;
use crate::options::{ArchiveOptions, ControllerSettings, JudgementOptions};
use archive::ArchiveRetention;
use controller::CheckContext;
use protocol::amqp::BrokerAddress;
use runtime::broker;
use runtime::exit::Failure;
use runtime::spec::{AlertOptions, ClusterOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

/// The longest name of a node, characters.
const LONGEST_NAME: usize = 128;

/// The settings of a controller.
pub(super) struct ControllerConfig {
    pub(super) broker: BrokerAddress,
    /// The file of the archive.
    pub(super) state: PathBuf,
    pub(super) keep: ArchiveRetention,
    /// True if the controller waits for its turn where another one has the archive open.
    pub(super) is_standby: bool,
    pub(super) nodes: Vec<String>,
    /// Files of queries.
    pub(super) queries: Vec<String>,
    pub(super) site: CheckContext,
    pub(super) kafka: ClusterOptions,
    pub(super) alerts: AlertOptions,
}

impl ControllerConfig {
    /// Checks the settings: those of the controller, and those of the page and the API.
    pub(super) fn from_settings(
        settings: &ControllerSettings,
    ) -> Result<(Self, web::ServerSettings), Failure> {
        let broker = broker::from_options(&settings.broker)?;
        let web = access::read_settings(&settings.page)?;
        let keep = keep(&settings.archive);
        check_nodes(&settings.nodes)?;
        let site = site(&settings.judgement, &settings.nodes)?;
        let kafka = settings.kafka.clone();
        if let Some(reason) = without_archive(&kafka, &keep) {
            return Err(Failure::usage(reason));
        }
        let config = Self {
            broker,
            state: settings.state.clone(),
            keep,
            is_standby: settings.standby,
            nodes: settings.nodes.clone(),
            queries: settings.judgement.queries.clone(),
            site,
            kafka,
            alerts: settings.alerts.clone(),
        };
        Ok((config, web))
    }
}

/// Returns why Kafka does not go with what the archive keeps.
fn without_archive(options: &ClusterOptions, keep: &ArchiveRetention) -> Option<String> {
    let of = [("keep-answers", keep.answers), ("keep-events", keep.events)];
    let nothing = of.into_iter().find(|(_, number)| options.kafka.is_some() && *number == 0);
    nothing.map(|(key, _)| format!("'{key}': what Kafka is to have waits in the archive: keep some"))
}

/// Returns the limits of the archive.
fn keep(options: &ArchiveOptions) -> ArchiveRetention {
    let usual = ArchiveRetention::default();
    ArchiveRetention {
        answers: options.keep_answers.unwrap_or(usual.answers),
        events: options.keep_events.unwrap_or(usual.events),
        captures: options.keep_captures.unwrap_or(usual.captures),
        capture_bytes: options.keep_capture_bytes.unwrap_or(usual.capture_bytes),
    }
}

/// Returns what nodes are asked, and how their answers are judged.
fn site(options: &JudgementOptions, nodes: &[String]) -> Result<CheckContext, Failure> {
    let nanoseconds = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    let window_ns = nanoseconds(options.every);
    let usual = events::EventSettings::default();
    let settings = events::EventSettings {
        grace_ns: options.grace.map_or(usual.grace_ns, nanoseconds),
        lateness_ns: options.lateness.map_or(usual.lateness_ns, nanoseconds),
        expire_windows: options.expire.unwrap_or(usual.expire_windows),
        coverage: options.coverage.unwrap_or(usual.coverage),
        look_back_flows: options.look_back_flows.unwrap_or(usual.look_back_flows),
        past_bytes: options.earlier_memory.unwrap_or(usual.past_bytes),
        ..usual
    };
    if settings.grace_ns > LONGEST_GRACE_NS {
        return Err(Failure::usage("'grace': answers of a window are awaited for 5min at most"));
    }
    if settings.lateness_ns > LONGEST_LATENESS_NS {
        return Err(Failure::usage("'lateness': late windows are judged for a day at most"));
    }
    if window_ns < MOST_SHORT_NS {
        return Err(Failure::usage("'every': windows of a deployment are 100 ms long at least"));
    }
    Ok(CheckContext {
        nodes: nodes.to_vec(),
        key: options.key.parts(),
        base_ns: window_ns,
        window_ns,
        set: options.set.clone(),
        settings,
    })
}

/// Events are as late as this.
const LONGEST_GRACE_NS: u64 = 300_000_000_000;

/// The state of events from before late windows is kept for this long.
const LONGEST_LATENESS_NS: u64 = 86_400_000_000_000;

/// Windows that are shorter come faster than a broker should carry them.
const MOST_SHORT_NS: u64 = Duration::from_millis(100).as_nanos() as u64;

/// Refuses names that cannot be those of all nodes.
pub(super) fn check_nodes(nodes: &[String]) -> Result<(), Failure> {
    if nodes.is_empty() {
        return Err(Failure::usage("'nodes' is missing: the names of all probes, as [\"Node1\", \"Node2\"]"));
    }
    let mut seen = BTreeSet::new();
    for name in nodes {
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            let most = format!(
                "'nodes': {name:?}: a name has 1 to {LONGEST_NAME} characters, no control characters"
            );
            return Err(Failure::usage(most));
        }
        if !seen.insert(name) {
            return Err(Failure::usage(format!("'nodes': {name} is there twice")));
        }
    }
    Ok(())
}
