//! The graph of events as text.

use crate::checked::{EventEdge, EventGraph};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Lines that are drawn; a larger graph is cut.
const MOST_LINES: usize = 1_000;

/// Queries below those that trigger them; empty where no query does. What stands below a query that several trigger is drawn
/// once. The graph has no cycles.
pub(super) fn draw(graph: &EventGraph) -> String {
    let mut children: HashMap<&str, Vec<&EventEdge>> = HashMap::new();
    let mut is_child = HashSet::new();
    for edge in &graph.edges {
        children.entry(&edge.from).or_default().push(edge);
        is_child.insert(edge.to.as_str());
    }
    // Roots of other texts come first: their edges are here, they are not.
    let own: HashSet<&str> = graph.nodes.iter().map(String::as_str).collect();
    let mut roots: Vec<&str> = Vec::new();
    let foreign = graph.edges.iter().map(|edge| edge.from.as_str()).filter(|name| !own.contains(name));
    for name in foreign.chain(graph.nodes.iter().map(String::as_str)) {
        if !is_child.contains(name) && children.contains_key(name) && !roots.contains(&name) {
            roots.push(name);
        }
    }
    let mut drawing = Drawing { children, drawn: HashSet::new(), lines: 0, text: String::new() };
    for root in roots {
        drawing.line(root);
        drawing.below(root, "");
    }
    drawing.text
}

struct Drawing<'a> {
    children: HashMap<&'a str, Vec<&'a EventEdge>>,
    drawn: HashSet<&'a str>,
    lines: usize,
    text: String,
}

impl<'a> Drawing<'a> {
    fn line(&mut self, line: &str) {
        self.lines += 1;
        if self.lines <= MOST_LINES {
            // Writing to memory does not fail.
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn below(&mut self, name: &'a str, indent: &str) {
        if self.lines > MOST_LINES || !self.drawn.insert(name) {
            return;
        }
        let edges = self.children.get(name).cloned().unwrap_or_default();
        for (at, edge) in edges.iter().enumerate() {
            let is_last = at + 1 == edges.len();
            let again = if self.drawn.contains(edge.to.as_str()) { " (see above)" } else { "" };
            let condition =
                if edge.condition.is_empty() { edge.from.clone() } else { edge.condition.clone() };
            self.line(&format!(
                "{indent}{} {} {condition} → {}{again}",
                if is_last { "└─" } else { "├─" },
                edge.kind.name(),
                edge.to
            ));
            let deeper = format!("{indent}{}", if is_last { "   " } else { "│  " });
            self.below(&edge.to, &deeper);
        }
    }
}
