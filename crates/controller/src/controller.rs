//! The controller's state, and what it does with a message.

use crate::awaited::Awaited;
use crate::capturing::Capturing;
use crate::clock::{ControllerClock, MOST_AHEAD_NS};
use crate::empty_run::{DerivedRun, EmptyRun};
use crate::ended::EndedAnswers;
use crate::health::{Health, Lacks, UNASKED, WRONG_WINDOW, short};
use crate::inquiry::{HistoryResult, Inquiry};
use crate::listed::TaskListInputs;
use crate::node::ControlledNode;
use crate::saved::SavedController;
use equery::Chain;
use events::{AnswerHistory, Machine, MachineState, StoryLog, Timeline};
use model::view::WindowTotals;
use model::{Answer, Event, Story, UndecidedReport};
use overview::Overview;
use protocol::{Captured, FromProbe, Heartbeat, ListId, RefusedList, ToProbe, WindowResult};
use std::collections::BTreeMap;

/// The settings that do not depend on queries.
#[derive(Clone, Debug)]
pub struct ControllerContext {
    /// The length of windows of all nodes, nanoseconds.
    pub window_ns: u64,
    /// True if nodes replay captures, and wait for one another.
    pub is_replay: bool,
    /// The fields of the flow key, as `--key` has them, where nodes may have others.
    pub key: Option<Vec<String>>,
}

/// An output that is to be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerOutput {
    /// The answer of a query.
    Answer(Box<Answer>),
    /// An event.
    Event(Box<Event>),
    /// A sentence of a story.
    Sentence(String),
    /// A capture that has ended, and its node.
    Captured(Box<(String, Captured)>),
    /// A question about history has been answered.
    History(Box<HistoryResult>),
    /// A line for the user.
    Warning(String),
}

/// The actions that follow from a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actions {
    /// Messages to nodes, by their numbers.
    pub send: Vec<(usize, ToProbe)>,
    /// The outputs that are to be shown, in order.
    pub show: Vec<ControllerOutput>,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    pub(crate) chain: Chain,
    pub(crate) setting: ControllerContext,
    /// The event machine, and the last windows, some of which may still come.
    pub(crate) timeline: Timeline<Machine, EndedAnswers>,
    /// True if some query answers in the window that fired.
    pub(crate) looks_back: bool,
    /// The window that waits for what nodes have kept of it.
    pub(crate) awaited: Option<Awaited>,
    /// The number of the last question about what is kept.
    pub(crate) last_retrospective_id: u64,
    /// Captures that are going on.
    pub(crate) capturing: Vec<Capturing>,
    /// Questions about history that are being answered.
    pub(crate) inquiries: Vec<Inquiry>,
    /// The number of the last question about history.
    pub(crate) last_inquiry: u64,
    pub(crate) stories: StoryLog,
    pub(crate) nodes: Vec<ControlledNode>,
    /// End of the last settled window, nanoseconds: every earlier window is settled. `None` before the first one.
    pub(crate) settled_ns: Option<u64>,
    /// The list that was made last.
    pub(crate) list: ListId,
    /// The inputs of all lists.
    pub(crate) listed: TaskListInputs,
    /// The clock; `None` where nodes are awaited however long they take.
    pub(crate) clock: Option<ControllerClock>,
    /// Answers of the windows that are being settled.
    pub(crate) settling: EndedAnswers,
    /// The windows without packets that are not shown, by query across nodes.
    pub(crate) empty_runs: BTreeMap<usize, EmptyRun>,
    /// The values of earlier windows that derived queries read.
    pub(crate) past: AnswerHistory,
    /// The windows without packets that are not shown, by derived query and node.
    pub(crate) derived_runs: BTreeMap<(usize, usize), DerivedRun>,
    /// What nodes tell of their traffic; `None` where nobody asks.
    pub(crate) traffic: Option<Overview>,
}

impl Controller {
    /// A controller of nodes that have said nothing. One whose nodes outlive it starts with [`Controller::tick`], so that its lists are newer
    /// than those of the one before.
    pub fn new(chain: Chain, setting: ControllerContext) -> Self {
        Self {
            timeline: Timeline::new(Machine::new(chain.graph.clone())),
            looks_back: looks_back(&chain),
            awaited: None,
            last_retrospective_id: 0,
            capturing: Vec::new(),
            inquiries: Vec::new(),
            last_inquiry: 0,
            nodes: chain.graph.nodes.iter().map(|_| ControlledNode::default()).collect(),
            stories: StoryLog::default(),
            past: AnswerHistory::new(&chain.graph, &chain.derivations),
            derived_runs: BTreeMap::new(),
            chain,
            setting,
            settled_ns: None,
            list: ListId::default(),
            listed: TaskListInputs::default(),
            clock: None,
            settling: EndedAnswers::default(),
            empty_runs: BTreeMap::new(),
            traffic: None,
        }
    }

    /// Puts what nodes tell of their traffic into an overview of these nodes.
    #[must_use]
    pub fn with_traffic(self, traffic: Overview) -> Self {
        Self { traffic: Some(traffic), ..self }
    }

    /// Continues what another controller saved, with its stories and the results of nodes that it had not settled.
    pub fn restore(
        &mut self,
        saved: SavedController,
        results: impl IntoIterator<Item = (String, WindowResult)>,
        stories: StoryLog,
    ) {
        self.timeline = Timeline::new(Machine::restore(self.chain.graph.clone(), saved.machine));
        self.settled_ns = saved.settled_ns;
        self.stories = stories;
        let mut unsettled = saved.unsettled;
        for (name, node) in self.chain.graph.nodes.iter().zip(&mut self.nodes) {
            node.restore(unsettled.remove(name).unwrap_or_default());
            node.health.came = saved.came.get(name).copied();
        }
        for (name, result) in results {
            let number = self.chain.graph.nodes.iter().position(|known| *known == name);
            let is_settled = self.settled_ns.is_some_and(|settled| result.window.start_ns < settled);
            if let Some(number) = number.filter(|_| !is_settled) {
                self.nodes[number].answer(result);
            }
        }
    }

    /// Results that are not settled, each with its node: probes will not send them again.
    pub fn unsettled(&self) -> impl Iterator<Item = (&str, &WindowResult)> {
        let nodes = self.chain.graph.nodes.iter().zip(&self.nodes);
        nodes.flat_map(|(name, node)| node.results().map(|result| (name.as_str(), result)))
    }

    /// Returns what else another controller needs to continue, besides the stories.
    pub fn save(&self) -> SavedController {
        let unsettled = self.chain.graph.nodes.iter().zip(&self.nodes);
        let unsettled = unsettled.map(|(name, node)| (name.clone(), node.unsettled()));
        SavedController {
            machine: self.timeline.now().save(),
            settled_ns: self.settled_ns,
            unsettled: unsettled.filter(|(_, unsettled)| !unsettled.is_empty()).collect(),
            came: self
                .named_nodes()
                .filter_map(|(name, node)| Some((name.to_owned(), node.health.came?)))
                .collect(),
        }
    }

    /// The nodes with their names.
    fn named_nodes(&self) -> impl Iterator<Item = (&str, &ControlledNode)> {
        self.chain.graph.nodes.iter().map(String::as_str).zip(&self.nodes)
    }

    /// Returns the name of each node, its gaps and missing windows, and how often these have changed.
    pub fn lacks(&self) -> impl Iterator<Item = (&str, &Lacks, u64)> {
        self.named_nodes().map(|(name, node)| (name, &node.health.lacks, node.health.lacks_version))
    }

    /// Continues what another controller knew of what nodes lack, once [`Controller::restore`] has continued its state. The windows of a node
    /// that state does not know, as of one that was not among the nodes for a while, are counted from its next window on: those that it
    /// lacked before are no part of that time.
    pub fn restore_lacks(&mut self, lacks: impl IntoIterator<Item = (String, Lacks)>) {
        for (name, lacks) in lacks {
            if let Some(number) = self.chain.graph.nodes.iter().position(|known| *known == name) {
                let health = &mut self.nodes[number].health;
                health.lacks = lacks;
                if health.came.is_none() && !health.lacks.missing.is_empty() {
                    health.lacks.missing.clear();
                    // The archive has those counters, and is to forget them too.
                    health.lacks_version += 1;
                }
            }
        }
    }

    /// Answers other queries from now on. Queries that both chains have go on as if nothing had happened. The nodes must be the same.
    pub fn replace(&mut self, chain: Chain) -> Actions {
        let mut actions = Actions::default();
        // What it waits with has the numbers of these queries.
        self.settle_awaited(&mut actions);
        self.show_empty_runs(self.settled_ns.unwrap_or(0), &mut actions);
        self.timeline = Timeline::new(Machine::restore(chain.graph.clone(), self.timeline.now().save()));
        self.looks_back = looks_back(&chain);
        let mut past = AnswerHistory::new(&chain.graph, &chain.derivations);
        past.restore(&chain.graph, &chain.derivations, self.past().map(|part| part.windows()));
        (self.past, self.chain) = (past, chain);
        self.listed.forget();
        self.send_tasks(&mut actions);
        actions
    }

    /// The first messages.
    pub fn begin(&mut self) -> Actions {
        let mut actions = Actions::default();
        self.send_tasks(&mut actions);
        actions
    }

    /// Takes the message of a node.
    pub fn take(&mut self, node: usize, message: FromProbe) -> Actions {
        let mut actions = Actions::default();
        let now_ns = self.clock.map(|clock| clock.now_ns);
        let Some(known) = self.nodes.get_mut(node) else { return actions };
        known.health.heard_ns = now_ns.or(known.health.heard_ns);
        match message {
            FromProbe::Reached { at_ns } if self.setting.is_replay => known.reach(at_ns),
            FromProbe::Reached { .. } => {}
            FromProbe::Window(result) => self.take_window(node, *result, &mut actions),
            FromProbe::Refused { list, reason } => {
                self.take_refusal(node, RefusedList { list, reason }, &mut actions)
            }
            FromProbe::LookedBack(looked) => self.take_looked_back(node, *looked, &mut actions),
            FromProbe::Captured(captured) => self.take_captured(node, *captured, &mut actions),
            FromProbe::History(answer) => self.take_history(node, *answer, &mut actions),
            FromProbe::Heartbeat(heartbeat) => self.take_heartbeat(node, *heartbeat, &mut actions),
            FromProbe::Ended { answers, traffic } => {
                self.end_traffic(node, traffic, &mut actions);
                let answers = self.held(node, answers, u64::MAX);
                self.nodes[node].end(answers);
                self.leave_history(node, &mut actions);
            }
        }
        self.go_on(&mut actions);
        actions
    }

    /// Sets the time, nanoseconds since the epoch, and goes on. `listens_since_ns`: since when messages can come, `None` while they cannot.
    /// Nodes that are silent for the grace are not awaited. A controller that is never told waits for all nodes.
    pub fn tick(&mut self, now_ns: u64, listens_since_ns: Option<u64>) -> Actions {
        if self.list.epoch == 0 {
            self.list.epoch = now_ns;
        }
        self.clock = Some(ControllerClock { now_ns, listens_since_ns, nodes: self.nodes.len() });
        let mut actions = Actions::default();
        self.go_on(&mut actions);
        actions
    }

    fn go_on(&mut self, actions: &mut Actions) {
        self.settle(actions);
        self.send_tasks(actions);
        self.let_enter(actions);
    }

    fn take_window(&mut self, node: usize, mut result: WindowResult, actions: &mut Actions) {
        if self.setting.is_replay {
            let known = &mut self.nodes[node];
            known.health.count(&result);
            known.answer(result);
            return;
        }
        self.nodes[node].go_on();
        if let Some(wrong) = self.wrong_window(&result) {
            self.nodes[node].health.count_rejected(WRONG_WINDOW, 1);
            let window = notation::how_long(result.window.length_ns());
            self.say_wrong(node, &format!("its windows of {window} are not taken: {wrong}"), actions);
            return;
        }
        let traffic = result.traffic.take();
        self.take_traffic(node, traffic, result.window.end_ns, actions);
        let window_ns = self.setting.window_ns;
        self.nodes[node].health.note_missing(&result, window_ns);
        self.clip(&mut result);
        let window = result.window;
        result.answers = self.held(node, result.answers, window.end_ns);
        let now_ns = self.clock.map(|clock| clock.now_ns);
        let known = &mut self.nodes[node];
        known.health.count(&result);
        known.progress.take(window.end_ns, now_ns.unwrap_or(window.end_ns));
        if self.settled_ns.is_none_or(|settled| settled <= window.start_ns) {
            if known.answer(result) {
                let wrong =
                    "two results of one window came: it was started again, or two probes have its name";
                self.say_wrong(node, wrong, actions);
            } else {
                self.nodes[node].wrong = None;
            }
            return;
        }
        known.health.windows.add(&WindowTotals { late: 1, ..WindowTotals::default() });
        self.take_late(node, result, actions);
    }

    /// Says what is wrong with the windows of a node, once for as long as it is so.
    pub(crate) fn say_wrong(&mut self, node: usize, wrong: &str, actions: &mut Actions) {
        self.say_once(node, |known| &mut known.wrong, wrong, actions);
    }

    /// Says what is wrong with the site of a node, once for as long as it is so.
    fn say_wrong_site(&mut self, node: usize, wrong: Option<String>, actions: &mut Actions) {
        match wrong {
            None => self.nodes[node].wrong_site = None,
            Some(wrong) => {
                let wrong = format!("its site is not taken: {wrong}");
                self.say_once(node, |known| &mut known.wrong_site, &wrong, actions);
            }
        }
    }

    /// Says what is wrong with a node, unless `last`, the last complaint of this kind, is the same.
    pub(crate) fn say_once(
        &mut self,
        node: usize,
        last: fn(&mut ControlledNode) -> &mut Option<String>,
        wrong: &str,
        actions: &mut Actions,
    ) {
        let now_ns = self.clock.map(|clock| clock.now_ns);
        let known = &mut self.nodes[node];
        if last(known).as_deref() != Some(wrong) && now_ns.is_none_or(|now_ns| known.lines.may(now_ns)) {
            *last(known) = Some(wrong.to_owned());
            let line = format!("{}: {wrong}", self.chain.graph.nodes[node]);
            actions.show.push(ControllerOutput::Warning(line));
        }
    }

    /// Windows without packets, of which only those that are not settled matter: a clock that was set may have jumped over years.
    fn clip(&self, result: &mut WindowResult) {
        let Some(number) = &mut result.empty else { return };
        let (window, length) = (&mut result.window, self.setting.window_ns.max(1));
        let last_ns = window.end_ns.saturating_sub(length);
        window.start_ns = self.settled_ns.unwrap_or(last_ns).clamp(window.start_ns, last_ns);
        *number = window.length_ns() / length;
    }

    /// The answers of a node that were asked of it, as its own, of windows that end up to the end of its result. Others are of a faulty
    /// probe, or of a query that has just been removed: they are counted. Nodes in this process are not checked.
    fn held(&mut self, node: usize, answers: Vec<Answer>, end_ns: u64) -> Vec<Answer> {
        let Some(ControllerClock { now_ns, .. }) = self.clock else { return answers };
        let name = self.chain.graph.nodes[node].clone();
        let last_ns = end_ns.min(now_ns.saturating_add(MOST_AHEAD_NS)).saturating_add(self.longest_ns());
        let came = answers.len();
        let is_asked = |answer: &Answer| {
            let in_time = answer.window.is_some_and(|window| window.end_ns <= last_ns);
            in_time && (answer.query == "totals" || self.has_columns(answer))
        };
        let own = answers.into_iter().filter(is_asked);
        let clock = self.nodes[node].health.clock.remark(&name);
        let own = own.map(|answer| {
            let mut own = Answer { node: Some(name.clone()), late: false, revision: 0, ..answer };
            clock.iter().for_each(|remark| own.remark(remark));
            own
        });
        let own: Vec<Answer> = own.collect();
        self.nodes[node].health.count_rejected(UNASKED, came - own.len());
        own
    }

    /// The number of the query of this name.
    pub(crate) fn query_number(&self, name: &str) -> Option<usize> {
        self.chain.graph.queries.iter().position(|query| query.name == name)
    }

    /// Returns true if the answer of a node is shown as it is: not if it is merged, or only read by another query.
    pub(crate) fn is_shown(&self, answer: &Answer) -> bool {
        let is_hidden = |query: usize| self.chain.mergings[query].is_some() || self.chain.hidden[query];
        !self.query_number(&answer.query).is_some_and(is_hidden)
    }

    /// The time that the longest window of a query covers.
    pub(crate) fn longest_ns(&self) -> u64 {
        self.chain.graph.queries.iter().map(|query| query.over_ns).max().unwrap_or(0)
    }

    /// Returns true if an answer is of a query of the chain, with its columns.
    pub(crate) fn has_columns(&self, answer: &Answer) -> bool {
        let Some(number) = self.query_number(&answer.query) else { return false };
        if self.chain.derivations[number].is_some() {
            return false;
        }
        let own = || {
            self.chain.graph.queries[number]
                .columns
                .iter()
                .map(|column| (&column.column.name, column.column.kind))
        };
        match &self.chain.mergings[number] {
            Some(merging) => merging.fits(answer),
            None => own().eq(answer.columns.iter().map(|column| (&column.name, column.kind))),
        }
    }

    /// Returns the reason why a live node cannot have such a window, if it cannot.
    fn wrong_window(&self, result: &WindowResult) -> Option<String> {
        let (window, length) = (result.window, self.setting.window_ns.max(1));
        let is_one = window.length_ns() == length.saturating_mul(result.empty.unwrap_or(1));
        if !is_one || !window.start_ns.is_multiple_of(length) {
            let own = notation::how_long(length);
            return Some(format!(
                "windows are {own} long; give the probe the same 'every' as the controller"
            ));
        }
        let ahead = self.clock.filter(|clock| window.end_ns > clock.now_ns.saturating_add(MOST_AHEAD_NS));
        ahead.map(|_| "it lies in the future; set the node's clock".to_owned())
    }

    fn take_refusal(&mut self, node: usize, refused: RefusedList, actions: &mut Actions) {
        let now_ns = self.clock.map(|clock| clock.now_ns);
        let (name, known) = (&self.chain.graph.nodes[node], &mut self.nodes[node]);
        let reason = short(&refused.reason);
        let is_new =
            Some(refused.list) == known.health.wanted && known.health.refused.as_ref() != Some(&reason);
        if is_new {
            if now_ns.is_none_or(|now_ns| known.lines.may(now_ns)) {
                let line = format!("{name} cannot answer what is asked next: {reason}");
                actions.show.push(ControllerOutput::Warning(line));
            }
            known.health.refused = Some(reason);
        }
    }

    /// Sends the list again where the node does not have it.
    fn take_heartbeat(&mut self, node: usize, heartbeat: Heartbeat, actions: &mut Actions) {
        let now_ns = self.clock.map_or(u64::MAX, |clock| clock.now_ns);
        let known = &mut self.nodes[node];
        if known.health.is_of_ended_start(&heartbeat) {
            known.health.take(heartbeat);
            return;
        }
        known.go_on();
        let (applied, wanted) = (heartbeat.list, known.health.wanted);
        let refused = heartbeat.refused.clone();
        if heartbeat.now_ns != 0 && self.clock.is_some() {
            known.health.clock.take(heartbeat.now_ns, now_ns);
        }
        let wrong_site = known.health.take(heartbeat);
        self.say_wrong_site(node, wrong_site, actions);
        let known = &mut self.nodes[node];
        match refused.filter(|refused| Some(refused.list) == wanted) {
            Some(refused) => self.take_refusal(node, refused, actions),
            None if applied == wanted => known.health.refused = None,
            None if applied > wanted => {
                // The list of a controller whose clock was ahead of this one's: lists must be newer than that.
                let epoch = applied.map_or(0, |list| list.epoch);
                if epoch > now_ns.saturating_add(MOST_AHEAD_NS) {
                    let wrong = "it carries out tasks of a controller of the future: start it again";
                    return self.say_wrong(node, wrong, actions);
                }
                self.list = ListId { epoch: self.list.epoch.max(epoch.saturating_add(1)), generation: 0 };
                (known.tasks, known.listed) = (None, None);
            }
            None => {
                let again = known.tasks.clone().map(|list| (node, ToProbe::Tasks(list)));
                actions.send.extend(again);
            }
        }
    }

    /// Returns true if all nodes have ended, and nothing is asked of what they have kept.
    pub fn has_ended(&self) -> bool {
        self.awaited.is_none() && self.nodes.iter().all(ControlledNode::has_ended)
    }

    /// Returns what the end leaves open: to be called once, when all nodes have ended.
    pub fn finish(&mut self) -> Actions {
        let mut actions = Actions::default();
        self.show_empty_runs(self.settled_ns.unwrap_or(0), &mut actions);
        if self.setting.is_replay {
            // Nothing more is asked of what they have kept.
            let release = |node| (node, ToProbe::Enter { until_ns: u64::MAX });
            actions.send.extend((0..self.nodes.len()).map(release));
        }
        let step = self.timeline.end(Machine::end);
        self.show_step(&step, &mut actions);
        for (query, node, keys) in self.forgotten() {
            let line =
                format!("{query}: {keys} times a key on {node} was not judged, as too many were known");
            actions.show.push(ControllerOutput::Warning(line));
        }
        for (query, chains) in self.unfollowed() {
            let line = format!("{query}: {chains} chains had no deadline, as too many were followed");
            actions.show.push(ControllerOutput::Warning(line));
        }
        actions.show.extend(self.not_kept().map(ControllerOutput::Warning));
        actions
    }

    /// The queries.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The state of events: the phases of keys, and the runs of triggered queries that have not ended.
    pub fn events(&self) -> &MachineState {
        self.timeline.now().state()
    }

    /// Queries with `within`, and how many chains of theirs have no deadline, as too many are followed.
    pub fn unfollowed(&self) -> impl Iterator<Item = (&str, u64)> {
        self.timeline.now().unfollowed()
    }

    /// Queries and nodes some keys of which are not judged, as too many are known, and how often.
    pub fn forgotten(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.timeline.now().forgotten().map(|(query, node, keys)| (query, node.unwrap_or("all nodes"), keys))
    }

    /// The conditions that some windows did not decide since the controller began.
    pub fn undecided(&self) -> Vec<UndecidedReport> {
        let of_query = |(query, condition, undecided): (&str, &str, &events::Undecided)| UndecidedReport {
            query: query.to_owned(),
            condition: condition.to_owned(),
            windows: undecided.windows,
            reasons: undecided.reasons().map(|(why, windows)| (why.name().to_owned(), windows)).collect(),
        };
        self.timeline.now().undecided().map(of_query).collect()
    }

    /// Returns the health of the nodes, by their numbers.
    pub fn health(&self) -> impl Iterator<Item = &Health> {
        self.nodes.iter().map(|node| &node.health)
    }

    /// Returns the stories, the oldest first.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        self.stories.stories()
    }

    /// Returns the stories that have changed since the last call.
    pub fn changed_stories(&mut self) -> Vec<Story> {
        self.stories.take_changed()
    }

    /// Returns the number of earlier stories, which are not kept.
    pub fn stories_dropped(&self) -> u64 {
        self.stories.dropped()
    }
}

/// Returns true if any query answers in the window that fired.
fn looks_back(chain: &Chain) -> bool {
    let triggers = chain.graph.queries.iter().filter_map(|query| query.trigger.as_ref());
    triggers.into_iter().any(events::QueryTrigger::looks_back)
}
