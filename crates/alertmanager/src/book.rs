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
mod tests {
    use super::*;
    use model::{Column, ColumnKind, Value};

    const AT: &str = "http://127.0.0.1:9093";
    const OTHER: &str = "http://127.0.0.1:9094";
    const NOW: u64 = 1_000_000_000_000;

    fn event(kind: EventKind, name: &str, key: u64, parent: Option<&str>) -> Event {
        Event {
            event: name.to_owned(),
            kind,
            query: "who".to_owned(),
            fired_by: None,
            key: vec![Item {
                column: Column::new("dst_port", ColumnKind::Unsigned, ""),
                value: Value::Unsigned(key),
            }],
            node: Some("Node1".to_owned()),
            at_ns: 7_000_000_000,
            window: None,
            values: Vec::new(),
            threshold: None,
            late: false,
            coverage: None,
            bounds: None,
            parent: parent.map(str::to_owned),
            title: None,
        }
    }

    fn book(addresses: &[&str]) -> Book {
        Book::new(addresses.iter().map(|address| (*address).to_owned()).collect(), Extra::default())
    }

    fn fire(book: &mut Book, name: &str, key: u64) {
        book.take(&event(EventKind::Fired, name, key, None), || "It fired.".to_owned());
    }

    fn resolve(book: &mut Book, fired: &str) {
        book.take(&event(EventKind::Resolved, "r", 0, Some(fired)), || unreachable!("no summary"));
    }

    /// Has an Alertmanager take what is due. Returns the end of each alert, in seconds.
    fn deliver(book: &mut Book, address: &str, now: Instant) -> Vec<String> {
        let batch = book.due(address, now, NOW);
        (0..batch.len()).for_each(|at| book.record_taken(address, &batch, at, false, now));
        let body: Json = serde_json::from_str(&batch.body(0..batch.len())).expect("JSON");
        let ends = |alert: &Json| alert["endsAt"].as_str().expect("a time")[11..19].to_owned();
        body.as_array().expect("a list").iter().map(ends).collect()
    }

    #[test]
    fn a_firing_is_told_again_until_it_is_resolved() {
        let (mut book, start) = (book(&[AT]), Instant::now());
        fire(&mut book, "a", 1);
        assert_eq!(deliver(&mut book, AT, start), ["00:21:40"]);
        assert_eq!(book.untold(AT, NOW), 0);
        assert!(deliver(&mut book, AT, start + REPEAT / 2).is_empty());
        assert_eq!(deliver(&mut book, AT, start + REPEAT), ["00:21:40"]);
        resolve(&mut book, "a");
        assert!(!book.fires());
        assert_eq!(deliver(&mut book, AT, start + REPEAT), ["00:00:07"]);
        assert!(deliver(&mut book, AT, start + REPEAT * 9).is_empty());
        assert!(book.known.is_empty() && book.of_event.is_empty());
        let counts = book.counts().next().expect("one");
        assert_eq!(*counts, AlertmanagerView { fired: 1, repeated: 1, resolved: 1, ..none_told(AT) });
    }

    #[test]
    fn each_alertmanager_is_told_everything() {
        let (mut book, now) = (book(&[AT, OTHER]), Instant::now());
        fire(&mut book, "a", 1);
        assert_eq!(deliver(&mut book, AT, now).len(), 1);
        resolve(&mut book, "a");
        assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
        // The other one was away, and hears that it is over.
        assert_eq!(deliver(&mut book, OTHER, now), ["00:00:07"]);
        assert!(book.known.is_empty());
        let counts: Vec<AlertmanagerView> = book.counts().cloned().collect();
        assert_eq!(counts[0], AlertmanagerView { fired: 1, resolved: 1, ..none_told(AT) });
        assert_eq!(counts[1], AlertmanagerView { resolved: 1, unseen: 1, ..none_told(OTHER) });
    }

    #[test]
    fn equal_labels_fire_until_the_last_is_resolved() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        fire(&mut book, "a", 1);
        fire(&mut book, "b", 1);
        fire(&mut book, "c", 2);
        assert_eq!(deliver(&mut book, AT, now).len(), 2);
        resolve(&mut book, "a");
        assert!(deliver(&mut book, AT, now).is_empty());
        resolve(&mut book, "b");
        assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
        // Fires again before it is taken.
        resolve(&mut book, "c");
        fire(&mut book, "d", 2);
        assert_eq!(deliver(&mut book, AT, now), ["00:21:40"]);
        let counts = book.counts().next().expect("one");
        assert_eq!((counts.merged, counts.fired, counts.resolved), (1, 3, 1));
    }

    #[test]
    fn what_is_judged_no_more_lapses() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        fire(&mut book, "a", 1);
        fire(&mut book, "b", 2);
        assert_eq!(deliver(&mut book, AT, now).len(), 2);
        book.settle(|event| event == "b");
        // The last word: until then it is taken for firing.
        assert_eq!(deliver(&mut book, AT, now), ["00:21:40"]);
        assert_eq!(deliver(&mut book, AT, now + REPEAT).len(), 1);
        assert_eq!(book.known.len(), 1);
        // It fires anew.
        fire(&mut book, "c", 1);
        assert_eq!(deliver(&mut book, AT, now + REPEAT).len(), 1);
    }

    #[test]
    fn a_book_goes_on_after_a_restart() {
        let (mut first, now) = (book(&[AT]), Instant::now());
        fire(&mut first, "a", 1);
        fire(&mut first, "b", 2);
        deliver(&mut first, AT, now);
        resolve(&mut first, "a");
        let saved = first.save().expect("it changed");
        assert_eq!(first.save().as_ref(), Some(&saved), "it is not stored");
        first.stored();
        assert_eq!(first.save(), None);
        let mut second = book(&[AT]);
        second.restore(&saved).expect("a book");
        // The resolution, and the firing again: whether it was heard of long ago is not known.
        assert_eq!(deliver(&mut second, AT, now).len(), 2);
        resolve(&mut second, "b");
        assert_eq!(deliver(&mut second, AT, now), ["00:00:07"]);
        assert!(second.known.is_empty());
        assert!(second.restore("[{").is_err());
    }

    #[test]
    fn alerts_are_bounded_and_those_that_find_no_room_are_counted() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        for number in 0..MOST as u64 {
            fire(&mut book, &number.to_string(), number);
        }
        fire(&mut book, "more", u64::MAX);
        assert_eq!(book.counts_of(AT).lost.get("no_room"), 1);
        resolve(&mut book, "3");
        fire(&mut book, "again", u64::MAX);
        // The one that had ended was never told.
        assert_eq!(book.counts_of(AT).lost.get("no_room"), 2);
        assert_eq!(book.known.len(), MOST);
        let mut told = 0;
        while told < MOST {
            let number = deliver(&mut book, AT, now).len();
            assert!((1..=MOST_SENT).contains(&number));
            told += number;
        }
        assert_eq!(book.untold(AT, NOW), 0);
    }

    /// The silence of firings of this query for a key, and of these events.
    fn silence(key: u64, events: &[&str], until_ns: u64) -> SilencedFiring {
        let Event { query, node, key, .. } = event(EventKind::Fired, "", key, None);
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        SilencedFiring { of: Some((query, node, key)), events, until_ns }
    }

    #[test]
    fn nobody_is_told_of_what_is_silent_until_it_is_over() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        book.silence(vec![silence(1, &["z"], NOW + 5)]);
        fire(&mut book, "a", 1);
        fire(&mut book, "b", 2);
        // A step that a silent firing started, and one of an event that was named.
        book.take(&event(EventKind::Fired, "c", 3, Some("a")), || "It fired.".to_owned());
        book.take(&event(EventKind::Fired, "d", 4, Some("z")), || "It fired.".to_owned());
        assert_eq!(deliver(&mut book, AT, now).len(), 1, "that of another key");
        assert_eq!((book.silent(NOW), book.untold(AT, NOW)), (3, 0));
        // One that ends meanwhile was never told, nor is its end.
        resolve(&mut book, "c");
        assert!(deliver(&mut book, AT, now).is_empty());
        assert_eq!(book.known.len(), 3);
        // What still fires when it is over is told then.
        assert_eq!(book.due(AT, now, NOW + 4).len(), 0);
        assert_eq!(book.due(AT, now, NOW + 5).len(), 2);
        // It is ended before its time.
        book.silence(Vec::new());
        assert_eq!(deliver(&mut book, AT, now).len(), 2);
        assert_eq!((book.silent(NOW), book.counts_of(AT).fired), (0, 3));
    }

    #[test]
    fn what_was_told_before_it_is_silent_is_not_told_again_but_its_end_is() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        fire(&mut book, "a", 1);
        fire(&mut book, "b", 2);
        assert_eq!(deliver(&mut book, AT, now).len(), 2);
        book.silence(vec![silence(1, &[], u64::MAX), silence(2, &[], u64::MAX)]);
        assert!(deliver(&mut book, AT, now + REPEAT * 3).is_empty());
        resolve(&mut book, "a");
        assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
        // One that is judged no more lapses, as nobody repeats it.
        book.settle(|_| false);
        assert!(deliver(&mut book, AT, now + REPEAT * 9).is_empty() && book.known.is_empty());
    }

    #[test]
    fn what_follows_from_a_silent_firing_stays_silent_whatever_else_is_silenced() {
        let (mut first, now) = (book(&[AT]), Instant::now());
        first.silence(vec![silence(1, &[], NOW + 9)]);
        // The names of alerts sort against the order in which they follow: a child is judged before its parent.
        let fired = |book: &mut Book, query: &str, name: &str, key: u64, parent: Option<&str>| {
            let event = Event { query: query.to_owned(), ..event(EventKind::Fired, name, key, parent) };
            book.take(&event, || "It fired.".to_owned());
        };
        fired(&mut first, "who", "a", 1, None);
        fired(&mut first, "m", "b", 5, Some("a"));
        fired(&mut first, "c", "c", 6, Some("b"));
        let silent = |book: &Book| (book.due(AT, now, NOW).len(), book.silent(NOW));
        assert_eq!(silent(&first), (0, 3));
        first.silence(vec![silence(1, &[], NOW + 9), silence(7, &["z"], NOW + 9)]);
        assert_eq!(silent(&first), (0, 3));
        // What started them has ended.
        resolve(&mut first, "a");
        first.silence(vec![silence(1, &[], NOW + 9)]);
        assert_eq!(silent(&first), (0, 2));
        // So it is after a restart, and of what follows then.
        let mut second = book(&[AT]);
        second.restore(&first.save().expect("it changed")).expect("a book");
        second.silence(vec![silence(1, &[], NOW + 9)]);
        fired(&mut second, "a", "d", 8, Some("c"));
        assert_eq!(silent(&second), (0, 3));
        // What follows from one that nobody tells of any more is traced.
        let after = event(EventKind::Fired, "e", 9, Some("a"));
        assert_eq!(second.untraced(&after), Some("a"));
        let SilencedFiring { of, .. } = silence(1, &[], 0);
        second.trace("a", of);
        assert_eq!(second.untraced(&after), None);
        second.take(&after, || "It fired.".to_owned());
        assert_eq!(silent(&second), (0, 4));
        second.silence(Vec::new());
        assert_eq!(silent(&second), (4, 0));
    }

    #[test]
    fn all_that_follows_from_a_named_event_is_silent() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        let follow = |book: &mut Book, name: &str, key: u64, parent: &str| {
            book.take(&event(EventKind::Fired, name, key, Some(parent)), || "It fired.".to_owned());
        };
        let named = || SilencedFiring { of: None, events: vec!["z".to_owned()], until_ns: NOW + 9 };
        book.silence(vec![named()]);
        follow(&mut book, "a", 3, "z");
        follow(&mut book, "b", 2, "a");
        follow(&mut book, "c", 1, "b");
        assert_eq!((book.due(AT, now, NOW).len(), book.silent(NOW)), (0, 3));
        resolve(&mut book, "b");
        book.silence(vec![named(), silence(77, &[], NOW + 9)]);
        assert_eq!((book.due(AT, now, NOW).len(), book.silent(NOW)), (0, 2));
    }

    #[test]
    fn a_firing_of_a_silent_key_that_follows_from_another_is_told() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        book.silence(vec![silence(1, &[], NOW + 9)]);
        fire(&mut book, "a", 2);
        book.take(&event(EventKind::Fired, "b", 1, Some("a")), || "It fired.".to_owned());
        assert_eq!((deliver(&mut book, AT, now).len(), book.silent(NOW)), (2, 0));
    }

    #[test]
    fn an_alert_of_several_events_is_silent_while_all_of_them_are() {
        let (mut book, now) = (book(&[AT]), Instant::now());
        let follow = |book: &mut Book, name: &str, parent: &str| {
            book.take(&event(EventKind::Fired, name, 5, Some(parent)), || "It fired.".to_owned());
        };
        fire(&mut book, "a", 1);
        fire(&mut book, "b", 2);
        book.silence(vec![silence(1, &[], NOW + 9)]);
        let fives = |book: &mut Book| {
            let batch = book.due(AT, now, NOW);
            batch.alerts.iter().filter(|(labels, ..)| labels["dst_port"] == "5").count()
        };
        follow(&mut book, "x", "a");
        assert_eq!(fives(&mut book), 0);
        // One of those that nobody silenced comes.
        follow(&mut book, "y", "b");
        assert_eq!(fives(&mut book), 1);
        book.silence(vec![silence(1, &[], NOW + 8)]);
        assert_eq!(fives(&mut book), 1);
        // It ends before the silent one.
        resolve(&mut book, "y");
        assert_eq!(fives(&mut book), 0);
        book.silence(vec![silence(1, &[], NOW + 9), silence(2, &[], NOW + 5)]);
        follow(&mut book, "y", "b");
        // The silence that ends first tells.
        assert_eq!((fives(&mut book), book.silent(NOW + 4), book.silent(NOW + 5)), (0, 3, 1));
    }

    #[test]
    fn what_is_silent_stays_so_after_a_restart() {
        let (mut first, now) = (book(&[AT]), Instant::now());
        first.silence(vec![silence(1, &[], NOW + 9)]);
        fire(&mut first, "a", 1);
        let saved = first.save().expect("it changed");
        let mut second = book(&[AT]);
        second.restore(&saved).expect("a book");
        assert_eq!((second.due(AT, now, NOW).len(), second.silent(NOW)), (0, 1));
        // Its owner says so again, as after each start.
        second.silence(vec![silence(1, &[], NOW + 9)]);
        assert_eq!((second.due(AT, now, NOW).len(), second.due(AT, now, NOW + 9).len()), (0, 1));
        // Books of before there were silences are read.
        let mut before: Json = serde_json::from_str(&saved).expect("JSON");
        for alert in before.as_array_mut().expect("a list") {
            let alert = alert.as_object_mut().expect("an alert");
            assert!(alert.remove("silent_until_ns").is_some() && alert.remove("firings").is_some());
        }
        let mut third = book(&[AT]);
        third.restore(&before.to_string()).expect("a book");
        assert_eq!(third.due(AT, now, NOW).len(), 1);
    }
}
