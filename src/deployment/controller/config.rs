//! The settings of a controller.

use super::access;
use super::kafka::KafkaKeys;
use crate::alert_options::{self, AlertOptions};
use crate::deployment::broker;
use crate::deployment::settings::Settings;
use crate::exit::Failure;
use archive::Keep;
use controller::Site;
use packet::KeySpec;
use protocol::amqp::Broker;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest name of a node, characters.
const LONGEST_NAME: usize = 128;

/// The settings of a controller.
pub(super) struct Config {
    pub(super) broker: Broker,
    /// The file of the archive.
    pub(super) state: PathBuf,
    pub(super) keep: Keep,
    /// It waits for its turn where another controller has the archive open.
    pub(super) is_standby: bool,
    pub(super) nodes: Vec<String>,
    /// Files of queries.
    pub(super) queries: Vec<String>,
    pub(super) site: Site,
    pub(super) kafka: KafkaKeys,
    pub(super) alerts: AlertOptions,
}

impl Config {
    /// Reads a file: the settings, and those of the page and the API.
    pub(super) fn read(path: &Path) -> Result<(Self, web::Settings), Failure> {
        let mut settings = Settings::read(path)?;
        let usual = Keep::default();
        let count = |text: &str| notation::count(text);
        let nanoseconds = |text: &str| {
            notation::duration(text).map(|length| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
        };
        let broker = broker::take(&mut settings)?;
        let web = access::take(&mut settings)?;
        let state = settings.text("state")?.unwrap_or_else(|| "edison-controller.db".to_owned());
        let keep = Keep {
            answers: settings.value("keep-answers", usual.answers, count)?,
            events: settings.value("keep-events", usual.events, count)?,
            captures: settings.value("keep-captures", usual.captures, count)?,
            capture_bytes: settings.value("keep-capture-bytes", usual.capture_bytes, notation::bytes)?,
        };
        let is_standby = settings.value("standby", false, yes_or_no)?;
        let nodes = settings.list("nodes")?;
        check_nodes(&nodes, &settings)?;
        let window_ns = settings.value("every", 10_000_000_000, nanoseconds)?;
        let key = settings.value("key", KeySpec::FIVE_TUPLE, |text| {
            KeySpec::parse(text).map_err(|error| error.to_string().replace('\n', " "))
        })?;
        let mut events = events::Settings::default();
        events.grace_ns = settings.value("grace", events.grace_ns, nanoseconds)?;
        events.lateness_ns = settings.value("lateness", events.lateness_ns, nanoseconds)?;
        events.expire_windows = settings.value("expire", events.expire_windows, count)?;
        events.coverage = settings.value("coverage", events.coverage, share)?;
        events.look_back_flows = settings.value("look-back-flows", events.look_back_flows, count)?;
        events.past_bytes = settings.value("earlier-memory", events.past_bytes, notation::bytes)?;
        if events.grace_ns > LONGEST_GRACE_NS {
            return Err(settings.wrong("'grace': answers of a window are awaited for 5min at most"));
        }
        if events.lateness_ns > LONGEST_LATENESS_NS {
            return Err(settings.wrong("'lateness': late windows are judged for a day at most"));
        }
        if window_ns < MOST_SHORT_NS {
            return Err(settings.wrong("'every': windows of a deployment are 100 ms long at least"));
        }
        let queries = settings.list("queries")?;
        let set = settings.pairs("set")?;
        let kafka = KafkaKeys::take(&mut settings)?;
        if let Some(reason) = kafka.lacks(&keep) {
            return Err(settings.wrong(reason));
        }
        let alerts = alert_keys(&mut settings)?;
        settings.finish("docs/deployment.md lists all keys")?;
        let site = Site {
            nodes: nodes.clone(),
            key: key.parts(),
            base_ns: window_ns,
            window_ns,
            set,
            settings: events,
        };
        let state = PathBuf::from(state);
        let config = Self { broker, state, keep, is_standby, nodes, queries, site, kafka, alerts };
        Ok((config, web))
    }
}

/// The keys of Alertmanagers, which are named as the options of `run`.
fn alert_keys(settings: &mut Settings) -> Result<AlertOptions, Failure> {
    let addresses = settings.list("alertmanager")?;
    let labels = settings.list("alertmanager-label")?;
    let wrong = |key: &str, error: String| settings.wrong(format!("'{key}': {error}"));
    let address = |text: &String| text.parse().map_err(|error| wrong("alertmanager", error));
    let label =
        |text: &String| alert_options::label(text).map_err(|error| wrong("alertmanager-label", error));
    Ok(AlertOptions {
        alertmanager: addresses.iter().map(address).collect::<Result<_, _>>()?,
        alertmanager_label: labels.iter().map(label).collect::<Result<_, _>>()?,
        alertmanager_page: settings
            .value("alertmanager-page", None, |text| alert_options::page(text).map(Some))?,
        alertmanager_credentials: settings.text("alertmanager-credentials")?.map(PathBuf::from),
        alertmanager_ca: settings.text("alertmanager-ca")?.map(PathBuf::from),
    })
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("'{text}' is neither true nor false"))
}

/// Events are as late as this.
const LONGEST_GRACE_NS: u64 = 300_000_000_000;

/// The state of events from before late windows is kept for this long.
const LONGEST_LATENESS_NS: u64 = 86_400_000_000_000;

/// A share, as `99.9%` or `0.999`.
fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|number| number / unit);
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| format!("'{text}' is no share, as 99.9%"))
}

/// Windows that are shorter come faster than a broker should carry them.
const MOST_SHORT_NS: u64 = Duration::from_millis(100).as_nanos() as u64;

/// Whether these can be the names of all nodes.
pub(super) fn check_nodes(nodes: &[String], settings: &Settings) -> Result<(), Failure> {
    if nodes.is_empty() {
        return Err(settings.wrong("'nodes' is missing: the names of all probes, as [\"Node1\", \"Node2\"]"));
    }
    let mut seen = BTreeSet::new();
    for name in nodes {
        if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            let most = format!(
                "'nodes': {name:?}: a name has 1 to {LONGEST_NAME} characters, no control characters"
            );
            return Err(settings.wrong(most));
        }
        if !seen.insert(name) {
            return Err(settings.wrong(format!("'nodes': {name} is there twice")));
        }
    }
    Ok(())
}
