//! The plan of a run, made of its options: the nodes, what is asked of them, and how windows are shown.

use super::adapt;
use super::capabilities::{self, NodeFacts};
use super::capture_windows;
use super::connections::{self, Connect};
use super::measurement;
use super::nodes::{self, NodeSpec};
use super::places;
use super::recorded::{OpenRecording, RecordedRun};
use crate::exit::{Failure, say};
use crate::machine;
use crate::origin::Origins;
use crate::questions::asked::QuerySet;
use crate::sinks;
use crate::spec::RunSpec;
use crate::tasks;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::TaskSpec;

/// A run that nothing refuses so far.
pub(super) struct RunPlan {
    /// The options, with what queries need as if it had been requested.
    pub(super) options: RunSpec,
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) asked: QuerySet,
    /// Answers of each window are shown or sent, of all that is asked.
    pub(super) of_windows: bool,
    /// Windows of a replay are shown: who sets their length wants to see them, unless they are written already.
    pub(super) shows_windows: bool,
    /// Connects the node of a deployment.
    pub(super) connect: Option<Connect>,
    /// Recorded rows, in the place of a measurement.
    pub(super) recorded: Option<RecordedRun>,
    /// The tasks of `--task`.
    tasks: Vec<TaskSpec>,
}

impl RunPlan {
    /// Checks what the options say.
    pub(super) fn from_options(
        options: &RunSpec,
        origins: &Origins,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        if let Some(source) = &options.recorded {
            return Self::from_recording(OpenRecording::open(options, source, stop)?, origins);
        }
        let nodes = nodes::split(options)?;
        let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
        let asked = match &options.link {
            None => QuerySet::from_options(options, origins, &names)?,
            // Its controller asks: what is given beside that is refused with the rest.
            Some(_) => QuerySet::default(),
        };
        let captures = asked.checked.iter().any(|query| query.firing.capture_packets.is_some());
        if options.link.is_none() && options.capture.captures.is_some() && !captures {
            say("--captures: no query asks for packets; 'capture 100 packets' in one that others start does");
        }
        let every = asked.every.unwrap_or(options.question.every);
        // As on the screen: windows of a capture come with --every, and where they are sent.
        let is_live = nodes.iter().any(|node| node.options.is_live());
        let shows_sent = sinks::show_windows(options);
        let has_lines = options.output.json || sinks::take_windows(options);
        let has_windows = options.machine.table.is_none();
        let json_windows = has_lines && has_windows && (is_live || origins.has("every") || shows_sent);
        let mut options = options.clone();
        let may_choose = options.output.web.is_some() && !is_live && !json_windows && !shows_sent;
        options.question.every = match may_choose && !origins.has("every") && leaves_windows(&options, &asked)
        {
            true => capture_windows::every(&options, &nodes),
            false => every,
        };
        options.default_every = asked.default_every;
        options.json_windows = json_windows;
        let shows_windows =
            origins.has("every") && options.output.rows.is_none() && options.question.per.is_none();
        let tasks = tasks::specs(&options.question.task)?;
        let of_windows = is_live && has_windows || json_windows || shows_sent;
        let (connect, wrong) = match options.link.as_ref().map(connections::find).transpose() {
            Ok(connect) => (connect, Vec::new()),
            Err(failure) => (None, failure.placed(origins, options.machine.config.as_deref()).messages()),
        };
        let plan = Self { options, nodes, asked, of_windows, shows_windows, connect, recorded: None, tasks };
        plan.check(wrong, origins)?;
        remark_of_sample(&plan.options).iter().for_each(|line| say(line));
        Ok(plan)
    }

    /// Checks what is asked of recorded rows.
    fn from_recording(opened: OpenRecording, origins: &Origins) -> Result<Self, Failure> {
        let OpenRecording { options, nodes, asked, recorded } = opened;
        let plan = Self {
            options,
            nodes,
            asked,
            of_windows: true,
            shows_windows: false,
            connect: None,
            recorded: Some(recorded),
            tasks: Vec::new(),
        };
        plan.check(Vec::new(), origins)?;
        Ok(plan)
    }

    /// Refuses all that does not go together, and what else is wrong, before anything is opened or created.
    fn check(&self, wrong: Vec<String>, origins: &Origins) -> Result<(), Failure> {
        let has_several_nodes = self.nodes.len() > 1;
        let has_routers = self.nodes.iter().any(|node| node.options.routers.listener.is_some());
        // Each line with the nodes that it is about.
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        for node in &self.nodes {
            let (spec, _) = self.node_options(node);
            let tasks = self.specs(&node.name);
            let facts = NodeFacts {
                spec: &spec,
                origins,
                queries: &self.asked.checked,
                tasks: &tasks,
                has_routers,
                has_several_nodes,
                recorded: self.recorded.as_ref().and_then(|recorded| recorded.node(&node.name)),
                is_controlled: self.is_controlled() || spec.link.is_some(),
            };
            let mut lines = capabilities::refusals(&facts);
            if spec.routers.listener.is_none() && self.recorded.is_none() {
                lines.extend(measurement::refusals(&spec, &tasks));
            }
            for line in lines {
                match found.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, nodes)) => nodes.push(&node.name),
                    None => found.push((line, vec![&node.name])),
                }
            }
        }
        let line = |(line, nodes): (String, Vec<&str>)| match has_several_nodes {
            true if line.contains("--memory") => {
                let shared = format!("--memory is shared out among {} nodes", self.nodes.len());
                format!("{}: {line} ({shared})", nodes.join(", "))
            }
            true => format!("{}: {line}", nodes.join(", ")),
            false => line,
        };
        let places = places::refusals(&self.options, &self.nodes);
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let sites = self.options.output.sites.refusals(&names);
        let lines: Vec<String> =
            wrong.into_iter().chain(places).chain(sites).chain(found.into_iter().map(line)).collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
    }

    /// Returns true if a controller joins the nodes.
    pub(super) fn is_controlled(&self) -> bool {
        self.nodes.len() > 1 || self.asked.needs_controller || self.recorded.is_some()
    }

    /// The tasks of a node, with those of queries.
    pub(super) fn specs(&self, node: &str) -> Vec<TaskSpec> {
        self.tasks.iter().cloned().chain(self.asked.sketches.tasks_of(node)).collect()
    }

    /// The tasks that a node begins with: those of queries come in task lists where there is a controller.
    pub(super) fn first_specs(&self, node: &str) -> Vec<TaskSpec> {
        if self.is_controlled() { self.tasks.clone() } else { self.specs(node) }
    }

    /// The options of a node, and whether queries read losses of the flows that they pin. Nodes share the memory.
    pub(super) fn node_options(&self, node: &NodeSpec) -> (RunSpec, bool) {
        let own = &node.options;
        let of_node = || self.asked.checked.iter().filter(|query| query.nodes.matches(&node.name));
        let of_losses = of_node().filter(|query| query.parts.loss);
        let (zooms, needs_loss) = of_losses.fold((false, false), |(zooms, needs_loss), query| {
            (zooms || query.pins_flows, needs_loss || !query.pins_flows)
        });
        let number = self.nodes.len() as u64;
        let memory = match number {
            1 => own.limit.memory,
            _ => Some(own.limit.memory.unwrap_or_else(machine::half_of_memory) / number),
        };
        let mut options = adapt::sampled(own);
        options.packets.loss |= needs_loss;
        options.output.headers |= of_node().any(|query| query.parts.headers);
        options.read_statistics = of_node().flat_map(|query| query.plan.statistics()).collect();
        options.question.every = self.options.question.every;
        options.default_every = self.options.default_every;
        options.json_windows = self.options.json_windows;
        options.limit.memory = memory;
        options.capture.capture_bytes /= number;
        (options, zooms)
    }
}

/// Returns true if nothing but the page sees how long the windows of a capture are.
fn leaves_windows(options: &RunSpec, asked: &QuerySet) -> bool {
    let RunSpec { output, question, link, .. } = options;
    let has_own = asked.every.is_some() || asked.needs_controller || !asked.windows.is_empty();
    let is_recorded = output.store.is_some() || output.rows.is_some();
    let has_tasks = !question.task.is_empty() || asked.sketches.names().next().is_some();
    !has_own && !is_recorded && !has_tasks && link.is_none() && question.per.is_none()
}

/// Says which of the outputs take a sample without a word about it: files have one share, and `--adapt` changes it.
fn remark_of_sample(options: &RunSpec) -> Option<String> {
    let path = options.output.flows.as_deref().filter(|_| options.machine.adapt.is_some())?.display();
    Some(format!(
        "--flows {path}: its counters are those of the sample, whose share changes; the report has each share"
    ))
}
