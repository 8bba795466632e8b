//! Packets that firings ask for.

use crate::capturing::Capturing;
use crate::controller::{Actions, Controller, ControllerOutput};
use crate::health::UNASKED;
use events::{MachineStep, QueryRun};
use model::Span;
use protocol::{CaptureTask, Captured};

/// Letters of a text of a probe, and causes of packets that are not captured, at the most.
const LONGEST_TEXT: usize = 1_000;
const MOST_CAUSES: usize = 16;
/// The time after a capture's own for which nodes are asked for it, nanoseconds.
const TIMEOUT_NS: u64 = 60_000_000_000;

impl Controller {
    /// Starts the captures of the runs that begin.
    pub(crate) fn start_captures(&mut self, step: &MachineStep) {
        for started in &step.started {
            let run = &started.run;
            let is_new = started.events.first() == Some(&run.cause);
            let Some(packets) = self.chain.captures[run.query].filter(|_| is_new) else { continue };
            let task = self.capture_task(run, packets);
            let nodes = self.chain.nodes[run.query].iter().filter(|node| run.is_on(**node)).copied();
            self.capturing.push(Capturing { task, nodes: nodes.collect() });
        }
    }

    fn capture_task(&self, run: &QueryRun, packets: u64) -> CaptureTask {
        let graph = &self.chain.graph;
        let of = &graph.queries[run.query];
        let start_ns =
            if run.looks_back { of.first_start(run.end_ns, &graph.settings) } else { run.start_ns };
        let end_ns = if run.looks_back { of.last_end(start_ns) } else { run.end_ns };
        CaptureTask {
            id: run.cause.clone(),
            query: of.name.clone(),
            filter: self.query_of(run).filter,
            packets,
            time: Some(Span { start_ns, end_ns }),
        }
    }

    /// Returns the captures that a node is to make.
    pub(crate) fn captures(&self, node: usize) -> Vec<CaptureTask> {
        let own = self.capturing.iter().filter(|capture| capture.nodes.contains(&node));
        own.map(|capture| capture.task.clone()).collect()
    }

    /// Takes a capture that has ended, or was refused.
    pub(crate) fn take_captured(&mut self, node: usize, captured: Captured, actions: &mut Actions) {
        let asked =
            |capture: &&mut Capturing| capture.task.id == captured.id && capture.nodes.contains(&node);
        let Some(capture) = self.capturing.iter_mut().find(asked) else {
            self.nodes[node].health.count_rejected(UNASKED, 1);
            return;
        };
        capture.nodes.remove(&node);
        let query = capture.task.query.clone();
        self.capturing.retain(|capture| !capture.nodes.is_empty());
        self.show_captured(node, Captured { query, ..cleaned(captured) }, actions);
    }

    fn show_captured(&mut self, node: usize, captured: Captured, actions: &mut Actions) {
        let name = self.chain.graph.nodes[node].clone();
        let sentence = in_words(&name, &captured);
        self.stories.tell_more(&captured.id, &sentence);
        actions.show.push(ControllerOutput::Sentence(sentence));
        actions.show.push(ControllerOutput::Captured(Box::new((name, captured))));
    }

    /// Captures whose time is long over are not asked for any more, which is told of each node that has not said how its ended.
    pub(crate) fn end_captures(&mut self, settled_ns: u64, actions: &mut Actions) {
        let is_over = |capture: &mut Capturing| {
            capture.task.time.is_some_and(|time| time.end_ns.saturating_add(TIMEOUT_NS) <= settled_ns)
        };
        let over: Vec<Capturing> = self.capturing.extract_if(.., is_over).collect();
        for Capturing { task, nodes } in over {
            for node in nodes {
                let refused = Some("it did not say how the capture ended".to_owned());
                let (id, query) = (task.id.clone(), task.query.clone());
                self.show_captured(node, Captured { id, query, refused, ..Captured::default() }, actions);
            }
        }
    }
}

/// Returns what a probe says in texts of one line and of a length that is stored.
fn cleaned(mut captured: Captured) -> Captured {
    let clean = |text: &mut String| {
        let plain = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
        *text = text.chars().take(LONGEST_TEXT).map(plain).collect();
    };
    captured.dropped.0.truncate(MOST_CAUSES);
    let names = captured.dropped.0.iter_mut().map(|(name, _)| name);
    let texts = captured.file.iter_mut().chain(&mut captured.refused).chain([&mut captured.ended_by]);
    texts.chain(names).for_each(clean);
    captured
}

fn in_words(node: &str, captured: &Captured) -> String {
    let query = &captured.query;
    if let Some(reason) = &captured.refused {
        return format!("{query} captured nothing on {node}: {reason}.");
    }
    let file = captured.file.as_deref().unwrap_or("no file");
    let dropped = match captured.dropped.total() {
        0 => String::new(),
        number => format!(", {} are not in it", notation::grouped(number)),
    };
    format!("{query} captured {} packets on {node}: {file}{dropped}.", notation::grouped(captured.packets))
}
