//! The alerts that fire, and what each Alertmanager was told of them.

use crate::silences::{FiringOrigin, Silences};
use crate::{Alert, Extra, SilencedFiring};
use model::view::AlertmanagerView;
use model::{Event, EventKind, Item};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The time for which an Alertmanager takes an alert for firing without hearing of it.
pub const KEEP: Duration = Duration::from_secs(300);
/// The interval at which an Alertmanager hears of an alert that fires.
pub const REPEAT: Duration = Duration::from_secs(60);
/// Alerts that are known, those that have ended and wait included.
const MOST: usize = 10_000;
/// Alerts of a request.
pub(crate) const MOST_SENT: usize = 100;

/// The labels of an alert, which say which one it is.
type Labels = BTreeMap<String, String>;

/// The state of an alert: it fires or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum AlertPhase {
    Firing,
    /// The condition is judged no more: its query has ended, or each of its firings stands for itself. The alert lapses.
    Unjudged,
    Resolved {
        at_ns: u64,
    },
}

/// The state of an alert as an Alertmanager was told.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct NotifiedAlert {
    /// The version that the Alertmanager took; 0: none.
    version: u64,
    /// True if the Alertmanager took a firing, and no resolution since.
    fires: bool,
    /// The time when it was told last. After a restart it is told again.
    #[serde(skip)]
    at: Option<Instant>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct TrackedAlert {
    alert: Alert,
    /// The events that fired and are not resolved. Several have equal labels where runs of a query differ in nothing but their cause.
    events: BTreeSet<String>,
    phase: AlertPhase,
    /// Counts the changes of what is to be told.
    version: u64,
    /// The state that each Alertmanager was told, by address.
    told: BTreeMap<String, NotifiedAlert>,
    /// The time until which nobody is told of it, nanoseconds since the epoch; 0: all are. That of the event that is told first.
    #[serde(default)]
    silent_until_ns: u64,
    /// What each of the events follows from, by which a silence knows it.
    #[serde(default)]
    firings: BTreeMap<String, SilenceableFiring>,
}

/// One of the events of an alert.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SilenceableFiring {
    origin: FiringOrigin,
    /// The time until which nobody is told of it, nanoseconds since the epoch; 0: all are.
    silent_until_ns: u64,
}

impl TrackedAlert {
    fn change(&mut self, phase: AlertPhase) {
        if self.phase != phase {
            self.phase = phase;
            self.version += 1;
        }
    }

    /// Returns true if nobody is told that it fires. That it is over is told to who took it for firing.
    fn is_silent(&self, now_ns: u64) -> bool {
        let is_over = matches!(self.phase, AlertPhase::Resolved { .. });
        now_ns < self.silent_until_ns && !is_over
    }

    /// It is silent while all of its events are; one that has ended stays as it was.
    fn follow_firings(&mut self) {
        let until_ns = self.firings.values().map(|firing| firing.silent_until_ns).min();
        self.silent_until_ns = until_ns.unwrap_or(self.silent_until_ns);
    }

    fn told(&self, address: &str) -> NotifiedAlert {
        self.told.get(address).copied().unwrap_or_default()
    }

    /// Returns true if an Alertmanager takes it for firing, or took it so when it was told last.
    fn is_known(&self) -> bool {
        self.told.values().any(|told| told.fires)
    }

    /// Returns true if all Alertmanagers have taken the resolution or the lapse of the alert.
    fn is_done(&self, addresses: &[String]) -> bool {
        self.phase != AlertPhase::Firing
            && addresses.iter().all(|address| self.told(address).version == self.version)
    }
}

/// The alerts that an Alertmanager is told at once.
#[derive(Debug, Default)]
pub(crate) struct AlertBatch {
    /// The alerts, each with its version.
    alerts: Vec<(Labels, u64, AlertPhase)>,
    json: Vec<Json>,
}

impl AlertBatch {
    pub(crate) fn len(&self) -> usize {
        self.alerts.len()
    }

    /// The body of a request with a range of the alerts.
    pub(crate) fn body(&self, range: std::ops::Range<usize>) -> String {
        Json::Array(self.json.get(range).unwrap_or_default().to_vec()).to_string()
    }

    /// Returns the name of one of the alerts, for a message.
    pub(crate) fn name(&self, at: usize) -> &str {
        self.alerts.get(at).and_then(|(labels, ..)| labels.get("alertname")).map_or("", String::as_str)
    }
}

/// Returns the counts of an Alertmanager that was told nothing.
fn none_told(address: &str) -> AlertmanagerView {
    AlertmanagerView { address: address.to_owned(), ..AlertmanagerView::default() }
}

/// The book of all alerts, and of what each Alertmanager was told of them. It has no thread and no clock; a controller stores it together with
/// its events.
#[derive(Debug, Default)]
pub struct Book {
    extra: Extra,
    addresses: Vec<String>,
    known: BTreeMap<Labels, TrackedAlert>,
    /// The labels of each event's alert, by event.
    of_event: BTreeMap<String, Labels>,
    counts: BTreeMap<String, AlertmanagerView>,
    silences: Silences,
    /// The number of changes so far, and the numbers when the book was written and stored last.
    changes: u64,
    written: u64,
    stored: u64,
}

impl Book {
    /// A book for these Alertmanagers.
    pub fn new(addresses: Vec<String>, extra: Extra) -> Self {
        let counts = addresses.iter().map(|address| (address.clone(), none_told(address))).collect();
        Self { addresses, extra, counts, ..Self::default() }
    }

    /// Goes on where another book was saved.
    ///
    /// # Errors
    /// The text is damaged.
    pub fn restore(&mut self, saved: &str) -> Result<(), String> {
        let known: Vec<TrackedAlert> = serde_json::from_str(saved).map_err(|error| error.to_string())?;
        for mut known in known {
            for event in &known.events {
                match known.firings.get(event) {
                    Some(firing) => self.silences.remember(event, firing.origin.clone()),
                    // Books of before there were silences do not say it.
                    None => {
                        let (origin, silent_until_ns) = (FiringOrigin::default(), known.silent_until_ns);
                        let firing = SilenceableFiring { origin, silent_until_ns };
                        known.firings.insert(event.clone(), firing);
                    }
                }
            }
            let labels = known.alert.labels.clone();
            let places = known.events.iter().map(|event| (event.clone(), labels.clone()));
            self.of_event.extend(places);
            self.known.insert(labels, known);
        }
        Ok(())
    }

    /// The alerts as data, if they have changed since they were [stored](Self::stored).
    pub fn save(&mut self) -> Option<String> {
        if self.changes == self.stored {
            return None;
        }
        self.written = self.changes;
        let known: Vec<&TrackedAlert> = self.known.values().collect();
        // Maps of texts and numbers alone.
        serde_json::to_string(&known).ok()
    }

    /// Notes that what was saved last is safe.
    pub fn stored(&mut self) {
        self.stored = self.written;
    }

    /// Takes an event. `sentence`: the event with its figures in a sentence, asked for where it fires.
    pub fn take(&mut self, event: &Event, sentence: impl FnOnce() -> String) {
        match (event.kind, &event.parent) {
            (EventKind::Fired, _) => self.fire(event, &sentence()),
            // Their parent is the event that fired.
            (EventKind::Resolved, Some(fired)) => {
                self.end(fired, AlertPhase::Resolved { at_ns: event.at_ns })
            }
            (EventKind::Expired, Some(fired)) => self.end(fired, AlertPhase::Resolved { at_ns: event.at_ns }),
            _ => {}
        }
    }

    fn fire(&mut self, event: &Event, sentence: &str) {
        let alert = Alert::from_event(event, sentence, &self.extra);
        let labels = alert.labels.clone();
        let origin = self.silences.origin(event);
        self.silences.remember(&event.event, origin.clone());
        let silent_until_ns = self.silences.until(&event.event, &origin);
        let firing = SilenceableFiring { origin, silent_until_ns };
        self.changes += 1;
        if let Some(known) = self.known.get_mut(&labels) {
            if let AlertPhase::Resolved { .. } = known.phase {
                for (address, counts) in &mut self.counts {
                    counts.merged += u64::from(known.told.get(address).is_some_and(|told| told.fires));
                }
            }
            known.change(AlertPhase::Firing);
            if known.events.is_empty() {
                known.alert = alert;
            }
            known.events.insert(event.event.clone());
            known.firings.insert(event.event.clone(), firing);
            known.follow_firings();
        } else if self.has_room() {
            let events = [event.event.clone()].into();
            let known = TrackedAlert {
                alert,
                events,
                phase: AlertPhase::Firing,
                version: 1,
                told: BTreeMap::new(),
                silent_until_ns,
                firings: [(event.event.clone(), firing)].into(),
            };
            self.known.insert(labels.clone(), known);
        } else {
            return self.counts.values_mut().for_each(|counts| counts.lost.count("no_room", 1));
        }
        self.of_event.insert(event.event.clone(), labels);
    }

    /// Replaces the silences. Alerts of which nobody was told because of one before are told, once it is over.
    pub fn silence(&mut self, silences: Vec<SilencedFiring>) {
        self.silences.replace(silences);
        for known in self.known.values_mut() {
            let before_ns = known.silent_until_ns;
            for (event, firing) in &mut known.firings {
                firing.silent_until_ns = self.silences.until(event, &firing.origin);
            }
            known.follow_firings();
            self.changes += u64::from(known.silent_until_ns != before_ns);
        }
    }

    /// Returns the event from which a firing follows, if it is not known what that follows from: [`Book::trace`] says it.
    pub fn untraced<'e>(&self, event: &'e Event) -> Option<&'e str> {
        let is_fired = event.kind == EventKind::Fired;
        event.parent.as_deref().filter(|parent| is_fired && !self.silences.knows(parent))
    }

    /// Takes note of the query, the node and the key of the firing that an event follows from; `None` if nobody knows.
    pub fn trace(&mut self, event: &str, root: Option<(String, Option<String>, Vec<Item>)>) {
        self.silences.remember_root(event, root);
    }

    /// Returns true if there is room for another alert. An alert that has ended and waits longest for an Alertmanager makes room.
    fn has_room(&mut self) -> bool {
        if self.known.len() < MOST {
            return true;
        }
        let ended = self.known.iter().filter_map(|(labels, known)| match known.phase {
            AlertPhase::Resolved { at_ns } => Some((at_ns, labels)),
            AlertPhase::Unjudged => Some((known.alert.starts_ns, labels)),
            AlertPhase::Firing => None,
        });
        let Some(labels) = ended.min().map(|(_, labels)| labels.clone()) else { return false };
        let Some(known) = self.known.remove(&labels) else { return false };
        for (address, counts) in &mut self.counts {
            counts.lost.count("no_room", u64::from(known.told(address).version != known.version));
        }
        true
    }

    fn end(&mut self, fired: &str, phase: AlertPhase) {
        let Some(labels) = self.of_event.remove(fired) else { return };
        let Some(known) = self.known.get_mut(&labels) else { return };
        self.changes += 1;
        known.events.remove(fired);
        known.firings.remove(fired);
        known.follow_firings();
        if known.events.is_empty() {
            known.change(phase);
            // Nobody has heard of it, and nobody is to; or it lapses by itself.
            if known.silent_until_ns != 0 && (phase == AlertPhase::Unjudged || !known.is_known()) {
                self.known.remove(&labels);
            }
        }
    }

    /// Lets alerts lapse whose events are no longer held by the event machine. `holds`: whether it holds one.
    pub fn settle(&mut self, holds: impl Fn(&str) -> bool) {
        let ended: Vec<String> = self.of_event.keys().filter(|event| !holds(event)).cloned().collect();
        for event in ended {
            self.end(&event, AlertPhase::Unjudged);
        }
    }

    /// Returns true if any alert fires.
    pub fn fires(&self) -> bool {
        !self.of_event.is_empty()
    }

    /// Returns the counts of alerts for each Alertmanager.
    pub fn counts(&self) -> impl Iterator<Item = &AlertmanagerView> {
        self.addresses.iter().filter_map(|address| self.counts.get(address))
    }

    pub(crate) fn counts_of(&mut self, address: &str) -> &mut AlertmanagerView {
        self.counts.entry(address.to_owned()).or_insert_with_key(|address| none_told(address))
    }

    /// Returns the number of alerts whose last change this Alertmanager has not been told as yet; repetitions, and what is silent, do not
    /// count. `now_ns` is by the system's clock.
    pub(crate) fn untold(&self, address: &str, now_ns: u64) -> usize {
        let is_untold =
            |known: &&TrackedAlert| known.told(address).version != known.version && !known.is_silent(now_ns);
        self.known.values().filter(is_untold).count()
    }

    /// Returns the number of alerts that fire and of which nobody is told now. `now_ns` is by the system's clock.
    pub fn silent(&self, now_ns: u64) -> u64 {
        let fires = |known: &&TrackedAlert| known.phase == AlertPhase::Firing && known.is_silent(now_ns);
        self.known.values().filter(fires).count() as u64
    }

    /// Returns the alerts that this Alertmanager is to be told now. `now_ns` is by the system's clock.
    pub(crate) fn due(&self, address: &str, now: Instant, now_ns: u64) -> AlertBatch {
        let mut batch = AlertBatch::default();
        let until_ns = now_ns.saturating_add(u64::try_from(KEEP.as_nanos()).unwrap_or(u64::MAX));
        for (labels, known) in &self.known {
            let told = known.told(address);
            let is_old = told.at.is_none_or(|at| now.saturating_duration_since(at) >= REPEAT);
            let is_due = told.version != known.version || (known.phase == AlertPhase::Firing && is_old);
            if !is_due || known.is_silent(now_ns) {
                continue;
            }
            let ends_ns = match known.phase {
                AlertPhase::Firing | AlertPhase::Unjudged => until_ns,
                // A node's clock may be ahead.
                AlertPhase::Resolved { at_ns } => at_ns.min(now_ns),
            };
            batch.alerts.push((labels.clone(), known.version, known.phase));
            batch.json.push(known.alert.json(ends_ns));
            if batch.len() == MOST_SENT {
                break;
            }
        }
        batch
    }

    /// Notes that this Alertmanager took one alert of a batch, or will never take it (`is_lost`).
    pub(crate) fn record_taken(
        &mut self,
        address: &str,
        batch: &AlertBatch,
        at: usize,
        is_lost: bool,
        now: Instant,
    ) {
        let Some((labels, version, phase)) = batch.alerts.get(at) else { return };
        let counts = self.counts.entry(address.to_owned()).or_insert_with_key(|address| none_told(address));
        let Some(known) = self.known.get_mut(labels) else { return };
        let told = known.told.entry(address.to_owned()).or_default();
        let is_new = told.version != *version;
        match phase {
            _ if is_lost => counts.lost.count("refused", u64::from(is_new)),
            AlertPhase::Firing | AlertPhase::Unjudged if !is_new => counts.repeated += 1,
            // That it lapses is told as a firing: the last one.
            AlertPhase::Unjudged if told.fires => counts.repeated += 1,
            AlertPhase::Firing | AlertPhase::Unjudged => counts.fired += 1,
            AlertPhase::Resolved { .. } => {
                counts.resolved += 1;
                counts.unseen += u64::from(!told.fires);
            }
        }
        let fires = !is_lost && !matches!(phase, AlertPhase::Resolved { .. });
        *told = NotifiedAlert { version: *version, fires, at: Some(now) };
        self.changes += u64::from(is_new);
        if known.is_done(&self.addresses) {
            self.known.remove(labels);
        }
    }
}

#[cfg(test)]
mod tests;
