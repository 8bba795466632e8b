//! The controller's state, and what it does with a message.

use crate::clock::{Clock, MOST_AHEAD_NS};
use crate::health::Health;
use crate::merged::EmptyRun;
use crate::node::Node;
use crate::saved::Saved;
use equery::Chain;
use events::{Machine, State, Stories};
use protocol::{FromProbe, Heartbeat, ListId, RefusedList, ToProbe, WindowResult};
use report::{Answer, Event, Story};
use std::collections::{BTreeMap, HashMap};

/// What does not depend on queries.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The length of windows of all nodes, nanoseconds.
    pub window_ns: u64,
    /// Nodes replay captures, and wait for one another.
    pub is_replay: bool,
}

/// What is to be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The answer of a query.
    Answer(Box<Answer>),
    /// An event.
    Event(Box<Event>),
    /// A sentence of a story.
    Sentence(String),
    /// A line for the user.
    Warning(String),
}

/// What follows from a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actions {
    /// Messages to nodes, by their numbers.
    pub send: Vec<(usize, ToProbe)>,
    /// What is to be shown, in order.
    pub show: Vec<Output>,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    pub(crate) chain: Chain,
    pub(crate) setting: Setting,
    pub(crate) machine: Machine,
    pub(crate) stories: Stories,
    pub(crate) nodes: Vec<Node>,
    /// End of the last settled window, nanoseconds: every earlier window is settled. `None` before the first one.
    pub(crate) settled_ns: Option<u64>,
    /// The list that was made last.
    pub(crate) list: ListId,
    /// `None` where nodes are awaited however long they take.
    pub(crate) clock: Option<Clock>,
    /// Answers of the windows that are being settled and of longer ones, by query and node.
    pub(crate) settling: HashMap<(usize, usize), Vec<Answer>>,
    /// By query across nodes, the windows without packets that are not shown.
    pub(crate) empty_runs: BTreeMap<usize, EmptyRun>,
}

impl Controller {
    /// A controller of nodes that have said nothing. One whose nodes outlive it starts with [`Controller::tick`], so that its lists are newer
    /// than those of the one before.
    pub fn new(chain: Chain, setting: Setting) -> Self {
        Self {
            machine: Machine::new(chain.graph.clone()),
            nodes: chain.graph.nodes.iter().map(|_| Node::default()).collect(),
            stories: Stories::default(),
            chain,
            setting,
            settled_ns: None,
            list: ListId::default(),
            clock: None,
            settling: HashMap::new(),
            empty_runs: BTreeMap::new(),
        }
    }

    /// Continues what another controller saved, with its stories.
    pub fn restore(&mut self, saved: Saved, stories: Stories) {
        self.machine = Machine::restore(self.chain.graph.clone(), saved.machine);
        self.settled_ns = saved.settled_ns;
        self.stories = stories;
    }

    /// What another controller needs to continue, besides the stories.
    pub fn save(&self) -> Saved {
        Saved { machine: self.machine.save(), settled_ns: self.settled_ns }
    }

    /// Answers other queries from now on. Queries that both chains have go on as if nothing had happened. The nodes must be the same.
    pub fn replace(&mut self, chain: Chain) -> Actions {
        let mut actions = Actions::default();
        self.show_empty_runs(self.settled_ns.unwrap_or(0), &mut actions);
        self.machine = Machine::restore(chain.graph.clone(), self.machine.save());
        self.chain = chain;
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
            FromProbe::Heartbeat(heartbeat) => self.take_heartbeat(node, *heartbeat, &mut actions),
            FromProbe::Ended { answers } => {
                known.health.has_ended = true;
                known.end(answers);
            }
        }
        self.go_on(&mut actions);
        actions
    }

    /// It is this time, nanoseconds since the epoch. `listens_since_ns`: since when messages can come, `None` while they cannot. Nodes
    /// that are silent for the grace are not awaited. A controller that is never told waits for all nodes.
    pub fn tick(&mut self, now_ns: u64, listens_since_ns: Option<u64>) -> Actions {
        if self.list.epoch == 0 {
            self.list.epoch = now_ns;
        }
        self.clock = Some(Clock { now_ns, listens_since_ns });
        let mut actions = Actions::default();
        self.go_on(&mut actions);
        actions
    }

    fn go_on(&mut self, actions: &mut Actions) {
        self.settle(actions);
        self.send_tasks(actions);
        self.let_enter(actions);
    }

    fn take_window(&mut self, node: usize, result: WindowResult, actions: &mut Actions) {
        let name = &self.chain.graph.nodes[node];
        let window = result.window;
        let at = report::format_time(window.start_ns);
        if let Some(wrong) = self.wrong_window(&result) {
            actions.show.push(Output::Warning(format!("{name}: its window at {at} is not taken: {wrong}")));
            return;
        }
        let known = &mut self.nodes[node];
        known.health.count(&result);
        if self.settled_ns.is_none_or(|settled| settled <= window.start_ns) || self.setting.is_replay {
            return known.answer(result);
        }
        known.health.windows.late += 1;
        actions.show.push(Output::Warning(format!("{name}: its window at {at} came too late")));
        let is_part = |answer: &Answer| {
            let mut queries = self.chain.graph.queries.iter().zip(&self.chain.mergings);
            queries.any(|(query, merging)| query.name == answer.query && merging.is_some())
        };
        // Parts of what was merged without them are none of an answer.
        for answer in result.answers.into_iter().filter(|answer| !is_part(answer)) {
            let answer = Answer { late: true, ..self.as_shown(answer) };
            actions.show.push(Output::Answer(Box::new(answer)));
        }
    }

    /// Why a live node cannot have such a window.
    fn wrong_window(&self, result: &WindowResult) -> Option<String> {
        if self.setting.is_replay {
            return None;
        }
        let (window, length) = (result.window, self.setting.window_ns.max(1));
        let is_one = window.length_ns() == length.saturating_mul(result.empty.unwrap_or(1));
        if !is_one || !window.start_ns.is_multiple_of(length) {
            let own = report::terminal::how_long(length);
            return Some(format!(
                "windows are {own} long; give the probe the same 'every' as the controller"
            ));
        }
        let ahead = self.clock.filter(|clock| window.end_ns > clock.now_ns.saturating_add(MOST_AHEAD_NS));
        ahead.map(|_| "it lies in the future; set the node's clock".to_owned())
    }

    fn take_refusal(&mut self, node: usize, refused: RefusedList, actions: &mut Actions) {
        let (name, health) = (&self.chain.graph.nodes[node], &mut self.nodes[node].health);
        let is_new = Some(refused.list) == health.wanted && health.refused.as_ref() != Some(&refused.reason);
        if is_new {
            let line = format!("{name} cannot answer what is asked next: {}", refused.reason);
            actions.show.push(Output::Warning(line));
            health.refused = Some(refused.reason);
        }
    }

    /// Sends the list again where the node does not have it.
    fn take_heartbeat(&mut self, node: usize, heartbeat: Heartbeat, actions: &mut Actions) {
        let known = &mut self.nodes[node];
        known.health.has_ended = false;
        let (applied, wanted) = (heartbeat.list, known.health.wanted);
        let refused = heartbeat.refused.clone();
        known.health.heartbeat = Some(heartbeat);
        match refused.filter(|refused| Some(refused.list) == wanted) {
            Some(refused) => self.take_refusal(node, refused, actions),
            None if applied == wanted => known.health.refused = None,
            // The list of a controller whose clock was ahead of this one's: lists must be newer than that.
            None if applied > wanted => {
                self.list = self.list.max(applied.unwrap_or_default());
                known.tasks = None;
            }
            None => {
                let again = known.tasks.clone().map(|list| (node, ToProbe::Tasks(list)));
                actions.send.extend(again);
            }
        }
    }

    /// Whether all nodes have ended.
    pub fn has_ended(&self) -> bool {
        self.nodes.iter().all(Node::has_ended)
    }

    /// What the end leaves open: to be called once, when all nodes have ended.
    pub fn finish(&mut self) -> Actions {
        let mut actions = Actions::default();
        self.show_empty_runs(self.settled_ns.unwrap_or(0), &mut actions);
        let step = self.machine.end();
        self.show_step(&step, &mut actions);
        for (query, node, keys) in self.machine.forgotten() {
            let node = node.unwrap_or("all nodes");
            let line =
                format!("{query}: {keys} times a key on {node} was not judged, as too many were known");
            actions.show.push(Output::Warning(line));
        }
        actions
    }

    /// The queries.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The state of events: the phases of keys, and the runs of triggered queries that have not ended.
    pub fn events(&self) -> &State {
        self.machine.state()
    }

    /// How the nodes fare, by their numbers.
    pub fn health(&self) -> impl Iterator<Item = &Health> {
        self.nodes.iter().map(|node| &node.health)
    }

    /// All stories, the oldest first.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        self.stories.stories()
    }

    /// Stories that have changed since the last call.
    pub fn changed_stories(&mut self) -> Vec<Story> {
        self.stories.take_changed()
    }

    /// Earlier stories, which are not kept.
    pub fn stories_dropped(&self) -> u64 {
        self.stories.dropped()
    }
}
