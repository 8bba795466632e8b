//! The controller's state, and what it does with a message.

use crate::node::Node;
use equery::Chain;
use events::{Machine, Stories};
use protocol::{FromProbe, ToProbe};
use report::{Answer, Event, Story};
use std::collections::HashMap;
use task::Generation;
use task::rows::{RowQueries, Site};

/// What does not depend on queries.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The length of windows of all nodes, nanoseconds.
    pub window_ns: u64,
    /// Nodes replay captures, and wait for one another.
    pub is_replay: bool,
    /// What nodes' rows are like, as far as the columns of answers depend on it.
    pub site: Site,
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
    /// The answers of queries without packets, by query.
    pub(crate) empty: Vec<Answer>,
    /// All windows that end by then are settled; `None` before the first one.
    pub(crate) settled_ns: Option<u64>,
    pub(crate) generation: u64,
    /// Answers of the windows that are being settled and of longer ones, by query and node.
    pub(crate) settling: HashMap<(usize, usize), Vec<Answer>>,
}

impl Controller {
    /// A controller of nodes that have said nothing.
    ///
    /// # Errors
    /// What the executor refuses, a line for each query.
    pub fn new(chain: Chain, setting: Setting) -> Result<Self, Vec<String>> {
        let mut empty = Vec::new();
        for query in &chain.tasks {
            let query = task::query::Query { over: task::query::Over::Window, ..query.clone() };
            let planned = RowQueries::plan(Generation::default(), &[query], &setting.site);
            let planned = planned.map_err(|refused| {
                refused.iter().map(|(query, refusal)| format!("{query}: {refusal}")).collect::<Vec<_>>()
            })?;
            empty.extend(planned.empty_answers().take(1));
        }
        Ok(Self {
            machine: Machine::new(chain.graph.clone()),
            nodes: chain.graph.nodes.iter().map(|_| Node::default()).collect(),
            stories: Stories::default(),
            chain,
            setting,
            empty,
            settled_ns: None,
            generation: 0,
            settling: HashMap::new(),
        })
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
