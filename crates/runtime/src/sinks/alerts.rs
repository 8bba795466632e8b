//! Firings and resolutions to Alertmanagers: of a run whose queries start others (`--alertmanager`), and of a controller (`alertmanager`).

use super::{Sink, SinkContext};
use crate::exit::no_thread;
use crate::exit::{EARLY, Failure, say};
use crate::spec::AlertOptions;
use crate::trust::tls;
use crate::verdict::ExitStatus;
use alertmanager::{
    AlertmanagerClient, AlertmanagerUrl, Book, Extra, Notifier, NotifierOutcome, Notify, SilencedFiring,
};
use archive::{FiringCause, SilencedStory};
use controller::{Controller, ControllerOutput};
use events::MachineState;
use model::view::AlertmanagerView;
use model::{Event, RunReport};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use web::Hub;

/// The time after which the book is compared with the event machine again.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest time that the end waits until everything is told.
const WAIT: Duration = Duration::from_secs(5);

/// Tells Alertmanagers.
pub struct Alerts {
    notifier: Notifier,
    settled: Option<Instant>,
    /// The number of the silences that were taken last.
    silences: u64,
    /// Where they were taken from; nothing before they are taken for the first time.
    hub: Option<Hub>,
}

impl Alerts {
    /// Begins to tell where the options ask for it. `saved`: where an earlier start left off.
    pub fn start(options: &AlertOptions, saved: Option<&str>) -> Result<Option<Self>, Failure> {
        let AlertOptions { alertmanager: addresses, .. } = options;
        if addresses.is_empty() {
            let lone = [
                (!options.alertmanager_label.is_empty(), "alertmanager-label"),
                (options.alertmanager_page.is_some(), "alertmanager-page"),
                (options.alertmanager_credentials.is_some(), "alertmanager-credentials"),
                (options.alertmanager_ca.is_some(), "alertmanager-ca"),
            ];
            return match lone.iter().find(|(is_given, _)| *is_given) {
                Some((_, name)) => Err(Failure::usage(format!(
                    "{name}: the address of Alertmanager is missing: give alertmanager too, as http://127.0.0.1:9093"
                ))),
                None => Ok(None),
            };
        }
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = addresses.iter().find(|address| !seen.insert((*address).clone())) {
            return Err(Failure::usage(format!("alertmanager: {twice} is there twice")));
        }
        let credentials = credentials(options)?;
        let tls = match addresses.iter().any(AlertmanagerUrl::is_tls) {
            true => Some(tls(options.alertmanager_ca.as_deref(), "alertmanager-ca")?),
            false => None,
        };
        let extra = Extra {
            labels: options.alertmanager_label.iter().cloned().collect(),
            page: options.alertmanager_page.clone(),
        };
        let mut book = Book::new(addresses.iter().map(AlertmanagerUrl::to_string).collect(), extra);
        if let Some(saved) = saved {
            book.restore(saved)
                .map_err(|error| Failure::fault(format!("the state of alerts is damaged: {error}")))?;
        }
        let client = |address: &AlertmanagerUrl| {
            Box::new(AlertmanagerClient::new(address.clone(), tls.clone(), credentials.as_deref()))
                as Box<dyn Notify>
        };
        let notifier = Notifier::start(book, addresses.iter().map(client).collect()).map_err(no_thread)?;
        Ok(Some(Self { notifier, settled: None, silences: 0, hub: None }))
    }

    /// An event happened.
    pub fn event(&self, event: &Event) {
        self.trace(event);
        self.notifier.with(|book| book.take(event, || events::sentence(event)));
    }

    /// Looks up what an event follows from, where the book has that no more, as after a restart. Where it cannot be read, it stays unknown.
    fn trace(&self, event: &Event) {
        let Some(hub) = self.hub.as_ref().filter(|_| event.parent.is_some()) else { return };
        let Some(from) = self.notifier.with(|book| book.untraced(event).map(str::to_owned)) else { return };
        let root = hub.archive().root_cause(&from);
        if let Ok(root) = root {
            let root = root.map(|FiringCause { query, node, key }| (query, node, key));
            self.notifier.with(|book| book.trace(&from, root));
        }
    }

    /// Takes the silences of stories that users have set. Where they cannot be read, those before stay.
    pub fn silence(&mut self, hub: &Hub) {
        self.hub.get_or_insert_with(|| hub.clone());
        let Ok(Some((state, silences))) = hub.silences(self.silences) else { return };
        self.silences = state;
        let silences =
            silences.into_iter().map(|(SilencedStory { cause, silence, .. }, events)| SilencedFiring {
                of: cause.map(|FiringCause { query, node, key }| (query, node, key)),
                events,
                until_ns: silence.until_ns,
            });
        let silences = silences.collect();
        self.notifier.with(|book| book.silence(silences));
    }

    /// Lets alerts lapse whose conditions are judged no more, now and then.
    pub fn settle(&mut self, state: &MachineState) {
        if self.settled.is_some_and(|settled| settled.elapsed() < SETTLE) {
            return;
        }
        self.settled = Some(Instant::now());
        self.notifier.with(|book| {
            if book.fires() {
                let held = state.holding();
                book.settle(|event| held.contains(event));
            }
        });
    }

    /// The alerts as data, if they have changed since they were stored.
    pub fn save(&self) -> Option<String> {
        self.notifier.save()
    }

    /// Takes note that the last saved state is stored.
    pub fn stored(&self) {
        self.notifier.stored();
    }

    /// Returns the lines that are to be said since the last call.
    pub fn lines(&self) -> Vec<String> {
        self.notifier.lines()
    }

    /// Returns what became of alerts so far, for each Alertmanager.
    pub fn views(&self) -> Vec<AlertmanagerView> {
        self.notifier.counts()
    }

    /// Ends once everything is told, or after some time.
    pub fn finish(self) -> NotificationOutcome {
        let NotifierOutcome { lines, untold, given_up, counts, saved } = self.notifier.finish(WAIT);
        lines.iter().for_each(|line| say(line));
        NotificationOutcome { untold, given_up, views: counts, saved }
    }
}

/// The outcome of telling Alertmanagers, at the end of a run.
pub struct NotificationOutcome {
    /// The alerts that Alertmanagers were not told, a line each.
    pub untold: Vec<String>,
    /// The alerts that were given up, a line for each Alertmanager.
    pub given_up: Vec<String>,
    /// The alerts for each Alertmanager, by what became of them.
    pub(crate) views: Vec<AlertmanagerView>,
    /// The alerts as data, if they have changed since they were stored.
    pub saved: Option<String>,
}

/// Tells Alertmanagers what a run's queries start.
pub(crate) struct AlertsSink {
    tells: Mutex<Telltale>,
    /// The page's hub, which has the silences; nothing of a run without a page.
    hub: OnceLock<Hub>,
}

/// The alerts that are told, or what became of them once that has ended.
enum Telltale {
    Tells(Alerts),
    Ended(Vec<AlertmanagerView>),
}

impl AlertsSink {
    /// Begins to tell where the options ask for it.
    pub(super) fn start(context: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let alerts = Alerts::start(&context.options.output.alerts, None)?;
        let sink = |alerts| Self { tells: Mutex::new(Telltale::Tells(alerts)), hub: OnceLock::new() };
        Ok(alerts.map(|alerts| Box::new(sink(alerts)) as Box<dyn Sink>))
    }

    /// Calls `call` with the alerts that are told, until that has ended.
    fn with<T: Default>(&self, call: impl FnOnce(&mut Alerts) -> T) -> T {
        match &mut *self.tells.lock().unwrap_or_else(PoisonError::into_inner) {
            Telltale::Tells(alerts) => call(alerts),
            Telltale::Ended(_) => T::default(),
        }
    }
}

impl Sink for AlertsSink {
    fn take_output(&self, output: &ControllerOutput) {
        if let ControllerOutput::Event(event) = output {
            self.with(|alerts| {
                // Before the event: one that fires as a silence is set is silent already.
                self.hub.get().into_iter().for_each(|hub| alerts.silence(hub));
                alerts.event(event);
            });
        }
    }

    fn state(&self, controller: &mut Controller, _: &[AlertmanagerView]) {
        self.with(|alerts| {
            self.hub.get().into_iter().for_each(|hub| alerts.silence(hub));
            alerts.settle(controller.events());
        });
    }

    fn follow(&self, hub: &Hub) {
        self.hub.get_or_init(|| hub.clone());
    }

    fn alerts(&self) -> Vec<AlertmanagerView> {
        match &*self.tells.lock().unwrap_or_else(PoisonError::into_inner) {
            Telltale::Tells(alerts) => alerts.views(),
            Telltale::Ended(views) => views.clone(),
        }
    }

    fn lines(&self) -> Vec<String> {
        self.with(|alerts| alerts.lines())
    }

    /// Waits until Alertmanagers were told everything, for some time, and says what they were not told.
    fn finish(&self, _: &RunReport, verdict: &mut ExitStatus) {
        let mut telltale = self.tells.lock().unwrap_or_else(PoisonError::into_inner);
        let Telltale::Tells(alerts) = std::mem::replace(&mut *telltale, Telltale::Ended(Vec::new())) else {
            return;
        };
        let told = alerts.finish();
        *telltale = Telltale::Ended(told.views);
        let lines: Vec<String> = told.untold.into_iter().chain(told.given_up).collect();
        if !lines.is_empty() {
            verdict.code = verdict.code.max(EARLY);
            verdict.lines.extend(lines);
        }
    }
}

/// The user and the password. They are not sent in clear to another machine.
fn credentials(options: &AlertOptions) -> Result<Option<String>, Failure> {
    let Some(file) = &options.alertmanager_credentials else { return Ok(None) };
    let text = secret::password(file)
        .map_err(|error| Failure::usage(format!("alertmanager-credentials: {error}")))?;
    if !text.contains(':') {
        return Err(Failure::usage(format!(
            "alertmanager-credentials: {}: its first line is not USER:PASSWORD",
            file.display()
        )));
    }
    let open = options.alertmanager.iter().find(|address| !address.is_tls() && !address.is_loopback());
    match open {
        Some(address) => Err(Failure::usage(format!(
            "alertmanager: {address}: the password would be sent in clear: use https://"
        ))),
        None => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::{Archive, ArchiveChanges, ArchiveRetention, Silence};
    use model::{EventKind, Story};

    #[test]
    fn what_does_not_go_together_is_refused() {
        let start =
            |options: AlertOptions| Alerts::start(&options, None).err().expect("it is refused").line();
        let only = AlertOptions { alertmanager_page: Some("http://x".to_owned()), ..AlertOptions::default() };
        assert!(start(only).contains("the address of Alertmanager is missing"));
        let address: AlertmanagerUrl = "http://127.0.0.1:1".parse().expect("an address");
        let twice = AlertOptions { alertmanager: vec![address.clone(), address], ..AlertOptions::default() };
        assert!(start(twice).contains("is there twice"));
        assert!(Alerts::start(&AlertOptions::default(), None).expect("nothing").is_none());
    }

    fn fired(name: &str, query: &str, parent: Option<&str>) -> Event {
        Event {
            event: name.to_owned(),
            kind: EventKind::Fired,
            query: query.to_owned(),
            fired_by: None,
            key: Vec::new(),
            node: None,
            at_ns: 1,
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

    #[test]
    fn a_firing_just_after_its_silence_is_silent_and_so_is_what_follows_from_one_of_before() {
        let options = AlertOptions {
            alertmanager: vec!["http://127.0.0.1:1".parse().expect("an address")],
            ..AlertOptions::default()
        };
        let alerts = Alerts::start(&options, None).expect("it starts").expect("alerts");
        let sink = AlertsSink { tells: Mutex::new(Telltale::Tells(alerts)), hub: OnceLock::new() };
        let hub = Hub::new(Archive::in_memory(ArchiveRetention::default()).expect("an archive"));
        let story =
            |name: &str| Story { id: name.to_owned(), events: vec![name.to_owned()], ..Story::default() };
        let changes = ArchiveChanges {
            events: vec![fired("e1", "busy", None), fired("f1", "busy", None), fired("x1", "other", None)],
            stories: ["e1", "f1", "x1"].map(story).into(),
            ..ArchiveChanges::default()
        };
        hub.publish(&changes).expect("it is stored");
        let silence = Silence { at_ns: 0, until_ns: u64::MAX, by: None, note: String::new(), fired: 0 };
        hub.archive().silence("e1", Some(silence), 1).expect("it is stored");
        sink.follow(&hub);
        let shown = |event: Event| sink.take_output(&ControllerOutput::Event(Box::new(event)));
        let silent = || sink.with(|alerts| alerts.notifier.with(|book| book.silent(1)));
        shown(fired("g1", "busy", None));
        assert_eq!(silent(), 1);
        // The book has never seen what these follow from.
        shown(fired("f2", "who", Some("f1")));
        shown(fired("x2", "where", Some("x1")));
        shown(fired("y2", "which", Some("y1")));
        assert_eq!(silent(), 2);
    }
}
