//! The controller at work: messages, time and requests in; tasks, answers and events out.

use super::ControllerConfig;
use super::archived::ArchivedStates;
use super::dry_runs::{DryRunRequest, DryRuns};
use super::faults::Faults;
use super::history::{PendingQuestions, Waiter, refusal};
use super::publishers::{self, ControllerPublisher};
use super::queries::ControllerQueries;
use super::senders::Senders;
use super::{lacks, past, unsettled};
use archive::{ArchiveChanges, ArchiveError, ProbeOffset};
use controller::views::{self, Deaf};
use controller::{Actions, Controller, ControllerContext, ControllerOutput, Health, NotAsked};
use events::StoryLog;
use model::{Counters, HistoryAnswers};
use overview::{Overview, OverviewSetting};
use protocol::{Boot, ControllerLink, FromProbe, LinkStateReporter, ReceivedMessage, ToProbe};
use runtime::exit::{Failure, say, say_error};
use runtime::machine::now_ns;
use runtime::questions::history_asked;
use runtime::signals::HungUp;
use runtime::sinks::captured;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use web::view::{Broker, BrokerState, Mode, Note, Status, WindowTotals};
use web::{HistoryAsked, Hub, Reply, Request, RequestRefusal};

/// The time for which messages are awaited before time and requests are looked at.
const WAIT: Duration = Duration::from_millis(50);
/// Messages of this time, and this number of them at most, are stored together.
const GROUP: Duration = Duration::from_millis(100);
const MOST_GROUPED: usize = 200;
/// The interval at which the state is shown.
const SHOW: Duration = Duration::from_millis(250);
/// Notes that are shown.
const MOST_NOTES: usize = 20;
/// Stories that are continued after a restart.
const STORIES: u64 = 1_000;
/// The name of the controller's state in the archive.
const STATE: &str = "controller";

/// The controller at work.
pub(super) struct ControllerService<'a> {
    config: &'a ControllerConfig,
    queries: ControllerQueries,
    controller: Controller,
    link: Box<dyn ControllerLink>,
    watch: LinkStateReporter,
    hung_up: HungUp,
    hub: Hub,
    /// The publishers, which tell others what is stored.
    publishers: Vec<Box<dyn ControllerPublisher>>,
    /// The starts of probes that send.
    senders: Senders,
    /// The changes that are to be stored.
    changes: ArchiveChanges,
    /// The last message of each start of a node of which that is a part.
    marks: BTreeMap<(String, Boot), u64>,
    /// The states that the archive has.
    archived: ArchivedStates,
    /// The messages that are sent once the changes are stored, each for a node by its number.
    send: Vec<(usize, ToProbe)>,
    /// True if the state of events may not be the one that was stored last: to write it takes time where many keys are known.
    has_changed: bool,
    /// The reason why nothing can be stored.
    fault: Option<String>,
    /// The faults of the controller's own, with their times, among them that nothing can be stored.
    faults: Faults,
    /// The last time that nodes could not be heard.
    deaf: Option<Deaf>,
    /// The time since which changes can be stored, nanoseconds since the epoch.
    stores_since_ns: u64,
    notes: VecDeque<Note>,
    /// The clients and dry runs that wait for what nodes remember.
    waiting: PendingQuestions,
    dry_runs: DryRuns,
    /// The messages that are said once, however long their cause lasts.
    said: BTreeSet<String>,
    started_ns: u64,
    shown: Option<Instant>,
}

impl<'a> ControllerService<'a> {
    /// Continues what the archive has of a controller before.
    pub(super) fn new(
        config: &'a ControllerConfig,
        queries: ControllerQueries,
        hub: Hub,
        link: Box<dyn ControllerLink>,
        hung_up: HungUp,
    ) -> Result<Self, Failure> {
        let site = &config.site;
        let setting =
            ControllerContext { window_ns: site.window_ns, is_replay: false, key: Some(site.key.clone()) };
        let traffic = Overview::of_nodes(OverviewSetting::live(site.window_ns), &config.nodes);
        hub.set_overview(traffic.clone());
        let controller = Controller::new(queries.continuous().chain().clone(), setting);
        let mut controller = controller.with_traffic(traffic);
        let saved = hub.archive().state(STATE).map_err(Failure::fault)?;
        let kept = hub.archive().states(unsettled::PREFIX).map_err(Failure::fault)?;
        let earlier = hub.archive().states(past::PREFIX).map_err(Failure::fault)?;
        if let Some(text) = &saved {
            let saved = serde_json::from_str(text).map_err(|error| {
                Failure::fault(format!("{}: the state of events is damaged: {error}", config.state.display()))
            })?;
            let stories = hub.archive().stories_oldest_first(STORIES).map_err(Failure::fault)?;
            let results = unsettled::read(&kept);
            for line in unsettled::not_continued(kept.len() - results.len(), &results, &config.nodes) {
                say(&line);
            }
            controller.restore(saved, results, StoryLog::restore(stories));
            controller.restore_past(past::read(&earlier));
        }
        let lacked = hub.archive().states(lacks::PREFIX).map_err(Failure::fault)?;
        let (lacks, damaged) = lacks::read(&lacked);
        damaged.iter().for_each(|line| say(line));
        controller.restore_lacks(lacks);
        let publishers = publishers::start(config, &hub)?;
        hub.set_checking(queries.checking(site.settings.grace_ns));
        Ok(Self {
            config,
            publishers,
            queries,
            controller,
            link,
            watch: LinkStateReporter::default(),
            hung_up,
            hub,
            senders: Senders::default(),
            changes: ArchiveChanges::default(),
            marks: BTreeMap::new(),
            archived: ArchivedStates::at_start(kept, earlier),
            send: Vec::new(),
            has_changed: true,
            fault: None,
            faults: Faults::default(),
            deaf: None,
            stores_since_ns: 0,
            notes: VecDeque::new(),
            waiting: PendingQuestions::default(),
            dry_runs: DryRuns::default(),
            said: BTreeSet::new(),
            started_ns: now_ns(),
            shown: None,
        })
    }

    /// Works until `stop` is set.
    pub(super) fn run(
        mut self,
        requests: &Receiver<Request>,
        stop: &AtomicBool,
    ) -> Result<ExitCode, Failure> {
        while !stop.load(Relaxed) {
            self.look_at_link();
            self.hung_up.line().into_iter().for_each(say);
            let lines: Vec<String> = self.publishers.iter().flat_map(|own| own.lines()).collect();
            lines.into_iter().for_each(|line| self.note(line));
            self.publishers.iter_mut().for_each(|own| own.follow(&self.hub));
            self.take_messages()?;
            let state = self.link.state();
            // While nothing can be stored no message is taken, and while the broker takes none, none comes: nodes cannot be blamed for it.
            let listens = state.connected && state.reason.is_none() && self.fault.is_none();
            self.deaf = Deaf::update_hearing(self.deaf, listens, now_ns(), self.config.nodes.len());
            let listens_since_ns = listens.then(|| state.since_ns.max(self.stores_since_ns));
            let actions = self.controller.tick(now_ns(), listens_since_ns);
            self.take(actions);
            self.publishers.iter_mut().for_each(|own| own.settle(self.controller.events()));
            self.store()?;
            requests.try_iter().try_for_each(|request| self.answer(request))?;
            self.dry_runs.questions().into_iter().for_each(|question| self.ask_for_dry_run(question));
            for id in self.waiting.over() {
                let actions = self.controller.end_history(id);
                self.take(actions);
            }
            self.show();
        }
        self.store()?;
        let states: Vec<_> =
            std::mem::take(&mut self.publishers).into_iter().filter_map(|own| own.end()).collect();
        if !states.is_empty() {
            // Without them, what was told already is told again after the next start.
            let _ = self.hub.publish(&ArchiveChanges { states, ..ArchiveChanges::default() });
        }
        say("ended; a controller that is started again continues");
        Ok(ExitCode::SUCCESS)
    }

    fn look_at_link(&mut self) {
        let state = self.link.state();
        let now_ns = now_ns();
        // Without a reason it carries messages, or is being tried for the first time.
        let reason = |connected: bool| state.reason.as_deref().filter(|_| state.connected == connected);
        let over = [("broker_away", false), ("broker_blocked", true)]
            .map(|(name, connected)| self.faults.set(name, reason(connected), now_ns));
        let lasted = over.into_iter().flatten().next_back();
        let lasted = lasted.map(|lasted| format!(", after {lasted}")).filter(|_| state.reason.is_none());
        let line = self.watch.line(&state).map(|line| line + &lasted.unwrap_or_default());
        for line in [line, self.watch.remark(&state)].into_iter().flatten() {
            self.note(line);
        }
    }

    fn take_messages(&mut self) -> Result<(), Failure> {
        // While nothing can be stored, messages wait at the broker.
        if self.fault.is_some() {
            std::thread::sleep(WAIT);
            return Ok(());
        }
        let began = Instant::now();
        let mut wait = WAIT;
        for _ in 0..MOST_GROUPED {
            let received = self.link.receive(wait);
            let received = received.map_err(|_| Failure::fault("the connection to the broker has failed"))?;
            let Some(ReceivedMessage { node, id, message }) = received else { break };
            wait = Duration::ZERO;
            if let Some(id) = id.filter(|id| id.sequence != 0) {
                if let Some(line) = self.senders.take(&id, now_ns()) {
                    self.note(line);
                }
                let last = self.marks.entry((id.node, id.boot)).or_default();
                *last = (*last).max(id.sequence);
            }
            self.has_changed |= !matches!(message, FromProbe::Heartbeat(_));
            let actions = self.controller.take(node, message);
            self.take(actions);
            if began.elapsed() >= GROUP {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, actions: Actions) {
        self.has_changed |= !actions.show.is_empty() || !actions.send.is_empty();
        self.send.extend(actions.send);
        for output in actions.show {
            match output {
                ControllerOutput::Answer(answer) => self.changes.answers.push(*answer),
                ControllerOutput::Event(event) => {
                    self.publishers.iter().for_each(|own| own.event(&event));
                    self.changes.events.push(*event);
                }
                ControllerOutput::Sentence(sentence) => say(&sentence),
                ControllerOutput::Warning(line) => self.note(line),
                ControllerOutput::Captured(captured) => {
                    self.changes.captures.push(captured::ended(*captured))
                }
                ControllerOutput::History(history) => self.waiting.answer(*history),
            }
        }
    }

    fn note(&mut self, text: String) {
        say(&text);
        self.keep_note(text);
    }

    fn keep_note(&mut self, text: String) {
        self.notes.push_back(Note { at_ns: now_ns(), text });
        if self.notes.len() > MOST_NOTES {
            self.notes.pop_front();
        }
    }

    /// Stores what follows from the messages so far, and then tells the broker and the nodes.
    fn store(&mut self) -> Result<(), Failure> {
        self.changes.stories.extend(self.controller.changed_stories());
        if self.has_changed {
            let state = serde_json::to_string(&self.controller.save()).map_err(Failure::fault)?;
            let archived = ArchivedStates::from_controller(&self.controller);
            self.changes.states = self.archived.changed(&self.controller).map_err(Failure::fault)?;
            self.changes.states.push((STATE.to_owned(), state));
            self.changes.states.extend(self.publishers.iter().filter_map(|own| own.save()));
            self.changes.dropped_states = self.archived.dropped(&archived);
            let mark = |((node, boot), sequence): (&(String, Boot), &u64)| ProbeOffset {
                node: node.clone(),
                boot: boot.to_string(),
                sequence: *sequence,
            };
            self.changes.marks = self.marks.iter().map(mark).collect();
            let mut published = self.hub.publish(&self.changes);
            if let Err(ArchiveError::NoJson(reason)) = &published {
                // An answer that cannot be written must not keep all others from being stored.
                let number = self.changes.answers.len();
                self.note(format!("{number} answers of one moment are not stored: {reason}"));
                self.changes.answers.clear();
                published = self.hub.publish(&self.changes);
            }
            if let Err(error) = published {
                let reason = error.to_string();
                self.faults.set("archive", Some(&reason), now_ns());
                if self.fault.as_ref() != Some(&reason) {
                    let line = format!("{reason}; probes keep what they measure until it can be stored");
                    say_error(&line);
                    self.keep_note(line);
                }
                self.fault = Some(reason);
                return Ok(());
            }
            if self.fault.take().is_some() {
                self.stores_since_ns = now_ns();
                let lasted = self.faults.set("archive", None, self.stores_since_ns).unwrap_or_default();
                self.note(format!("what happens is stored again, after {lasted}"));
            }
            self.publishers.iter().for_each(|own| own.stored());
            self.changes = ArchiveChanges::default();
            self.marks.clear();
            self.archived = archived;
            self.has_changed = false;
        }
        self.link.acknowledge();
        for (node, message) in std::mem::take(&mut self.send) {
            // A link over a broker keeps what cannot be sent yet.
            let _ = self.link.send(node, message);
        }
        Ok(())
    }

    /// Carries out what a client asks.
    fn answer(&mut self, request: Request) -> Result<(), Failure> {
        match request {
            Request::Install { file, text, replaces, reply } => {
                let installed = self.queries.install(file, text, replaces);
                let result = if installed.is_ok() { self.replace().and(installed) } else { installed };
                reply.send(result);
            }
            Request::Remove { name, reply } => {
                let removed = self.queries.remove(&name);
                let result = if removed.is_ok() { self.replace().and(removed) } else { removed };
                reply.send(result);
            }
            Request::History { asked, reply } => self.ask(&asked, reply),
            Request::DryRun { asked, reply } => self.dry_runs.start(self.queries.continuous(), asked, reply),
        }
        Ok(())
    }

    /// Asks the stores of nodes.
    fn ask(&mut self, asked: &HistoryAsked, reply: Reply<HistoryAnswers>) {
        if let Some(fault) = &self.fault {
            return reply.send(Err(RequestRefusal::Failed(format!(
                "nodes are not asked while nothing can be stored: {fault}"
            ))));
        }
        let begun = history_asked::asked(&self.config.site, "this deployment", asked).and_then(
            |(question, warnings)| {
                let begun = self.controller.ask_history(question).map_err(refusal);
                begun.map(|(id, actions)| (id, actions, warnings))
            },
        );
        match begun {
            Ok((id, actions, warnings)) => {
                self.waiting.add(id, asked.time, Waiter::Client(reply, warnings));
                self.take(actions);
            }
            Err(refused) => reply.send(Err(refused)),
        }
    }

    /// Asks them for a dry run.
    fn ask_for_dry_run(&mut self, question: DryRunRequest) {
        let DryRunRequest { asked, is_over, answer } = question;
        let time = Duration::from_millis(asked.time_ms);
        // One that has ended does not mind.
        let refuse = |refused| drop(answer.send(Err(refused)));
        if let Some(fault) = &self.fault {
            return refuse(NotAsked::NoNode(format!(
                "nodes are not asked while nothing can be stored: {fault}"
            )));
        }
        match self.controller.ask_history(asked) {
            Ok((id, actions)) => {
                self.waiting.add(id, time, Waiter::DryRun(answer, is_over));
                self.take(actions);
            }
            Err(refused) => refuse(refused),
        }
    }

    /// The queries have changed.
    fn replace(&mut self) -> Result<(), web::RequestRefusal> {
        let actions = self.controller.replace(self.queries.continuous().chain().clone());
        self.hub.set_checking(self.queries.checking(self.config.site.settings.grace_ns));
        self.has_changed = true;
        self.take(actions);
        let failed = |error: &dyn std::fmt::Display| web::RequestRefusal::Failed(error.to_string());
        let state = self.queries.state().map_err(|error| failed(&error))?;
        self.hub
            .publish(&ArchiveChanges { states: vec![state], ..ArchiveChanges::default() })
            .map_err(|error| failed(&error))?;
        self.store().map_err(|_| web::RequestRefusal::Failed("the change is not stored".to_owned()))?;
        self.shown = None;
        self.show();
        Ok(())
    }

    /// Shows the state, if it is time.
    pub(super) fn show(&mut self) {
        if self.shown.is_some_and(|shown| shown.elapsed() < SHOW) {
            return;
        }
        self.shown = Some(Instant::now());
        self.say_lasting();
        let texts = self.queries.continuous().queries().iter();
        let texts = texts.map(|known| (&known.query, Some(known.file.as_str())));
        self.hub.set_queries(views::queries(self.controller.chain(), self.controller.events(), texts));
        let status = self.status();
        self.hub.set_status(status);
    }

    /// Says what answers and events lack.
    fn say_lasting(&mut self) {
        let forgotten = self.controller.forgotten().map(|(query, node, _)| {
            format!("{query}: too many keys are known on {node}: no condition judges further ones")
        });
        let unfollowed = self.controller.unfollowed().map(|(query, _)| {
            format!("{query}: too many chains are followed: further ones have no deadline")
        });
        let undecided = self.controller.undecided().into_iter().map(|of| {
            let what = "some windows do not decide it, so that it can neither fire nor resolve by them";
            format!("{}: {}: {what}", of.query, of.condition)
        });
        let refused = self.config.nodes.iter().enumerate().flat_map(|(number, name)| {
            let reasons = self.link.refused_of(number).into_keys();
            reasons.map(move |reason| {
                format!("{name}: messages are refused ({reason}): edison nodes counts them")
            })
        });
        let mut lasting: Vec<String> = forgotten.chain(unfollowed).chain(undecided).chain(refused).collect();
        if self.hub.archive().damaged() != 0 {
            let file = self.config.state.display();
            let line = format!("{file}: some rows are damaged: answers and events without them are shown");
            self.faults.set("archive_rows", Some(&line), now_ns());
            lasting.push(line);
        }
        for line in lasting {
            if self.said.insert(line.clone()) {
                self.note(line);
            }
        }
    }

    fn status(&self) -> Status {
        let now = now_ns();
        let moment = views::HealthCriteria {
            now_ns: now,
            window_ns: self.config.site.window_ns,
            grace_ns: self.config.site.settings.grace_ns,
            deaf: self.deaf,
        };
        let state = self.link.state();
        let mut refused: Counters = self.link.refused().into_iter().collect();
        let doubled = refused.get("doubled");
        // Those that came twice or too early are no refusals: the others of them are taken.
        refused.0.retain(|(name, _)| !["doubled", "early"].contains(&name.as_str()));
        let missing = self.controller.health().flat_map(|health| health.lacks.missing.values());
        let missing = missing.fold(0, |sum: u64, missing| sum.saturating_add(missing.windows));
        let mut windows = WindowTotals { missing, doubled, ..WindowTotals::default() };
        for health in self.controller.health() {
            windows.add(&health.windows);
            refused.add(&health.not_taken);
        }
        let nodes = self.config.nodes.iter().zip(self.controller.health());
        let node = |(number, (name, health)): (usize, (&String, &Health))| {
            let mut node = views::node(name, health, &moment);
            node.refused.add(&self.link.refused_of(number).into_iter().collect());
            node
        };
        let mut status = Status {
            mode: Mode::Controller,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now_ns: now,
            started_ns: self.started_ns,
            ended: false,
            sources: Vec::new(),
            history: true,
            span: None,
            broker: Some(Broker {
                state: match (state.connected, &state.reason) {
                    (true, None) => BrokerState::Connected,
                    (true, Some(_)) => BrokerState::Blocked,
                    (false, _) => BrokerState::Away,
                },
                since_ns: state.since_ns,
                reason: state.reason,
            }),
            nodes: nodes.enumerate().map(node).collect(),
            refused,
            windows,
            notes: self.notes.iter().cloned().collect(),
            faults: self.faults.told(),
            least_coverage: Some(self.config.site.settings.coverage),
            ..Status::default()
        };
        self.publishers.iter().for_each(|own| own.add_to(&mut status));
        status
    }
}
