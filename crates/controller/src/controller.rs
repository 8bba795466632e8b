//! The controller's state, and what it does with a message.

use crate::node::Node;
use equery::Chain;
use events::{Machine, Stories};
use protocol::{FromProbe, ToProbe};
use report::{Answer, Event, Story};
use std::collections::HashMap;

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
    pub(crate) generation: u64,
    /// Answers of the windows that are being settled and of longer ones, by query and node.
    pub(crate) settling: HashMap<(usize, usize), Vec<Answer>>,
}

impl Controller {
    /// A controller of nodes that have said nothing.
    pub fn new(chain: Chain, setting: Setting) -> Self {
        Self {
            machine: Machine::new(chain.graph.clone()),
            nodes: chain.graph.nodes.iter().map(|_| Node::default()).collect(),
            stories: Stories::default(),
            chain,
            setting,
            settled_ns: None,
            generation: 0,
            settling: HashMap::new(),
        }
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
        let Some(known) = self.nodes.get_mut(node) else { return actions };
        match message {
            FromProbe::Reached { at_ns } => known.reach(at_ns),
            FromProbe::Window(result) => {
                let window = result.window;
                if !known.answer(*result) {
                    let name = &self.chain.graph.nodes[node];
                    let at = report::format_time(window.start_ns);
                    actions.show.push(Output::Warning(format!("{name}: its window at {at} came too late")));
                }
            }
            FromProbe::Refused { reason, .. } => {
                let name = &self.chain.graph.nodes[node];
                actions
                    .show
                    .push(Output::Warning(format!("{name} cannot answer what is asked next: {reason}")));
            }
            FromProbe::Heartbeat(_) => {}
            FromProbe::Ended { answers } => known.end(answers),
        }
        self.settle(&mut actions);
        self.send_tasks(&mut actions);
        self.let_enter(&mut actions);
        actions
    }

    /// Whether all nodes have ended.
    pub fn has_ended(&self) -> bool {
        self.nodes.iter().all(Node::has_ended)
    }

    /// What the end leaves open: to be called once, when all nodes have ended.
    pub fn finish(&mut self) -> Actions {
        let mut actions = Actions::default();
        let step = self.machine.end();
        self.show_step(&step, &mut actions);
        for (query, node, keys) in self.machine.forgotten() {
            let line =
                format!("{query}: {keys} times a key on {node} was not judged, as too many were known");
            actions.show.push(Output::Warning(line));
        }
        actions
    }

    /// All stories, the oldest first.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        self.stories.stories()
    }

    /// Earlier stories, which are not kept.
    pub fn stories_dropped(&self) -> u64 {
        self.stories.dropped()
    }
}
