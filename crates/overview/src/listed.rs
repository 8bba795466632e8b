//! What is unusual, as it is listed.

use crate::error::OverviewError;
use crate::overview::Overview;
use crate::unusual::rule_view;
use model::Span;
use model::view::unusual::{Unusual, UnusualEntry, UnusualRule};

/// The number of entries that are listed.
const LISTED: usize = 100;

impl Overview {
    /// Answers what is unusual.
    ///
    /// # Errors
    /// If there is no node of the name that is asked about.
    pub fn unusual(&self, node: Option<&str>) -> Result<Unusual, OverviewError> {
        let shared = self.shared();
        let nodes = shared.named(node)?;
        let newest = shared.end().unwrap_or(0);
        let mut entries: Vec<UnusualEntry> = Vec::new();
        let mut unlisted = 0_u64;
        for node in &nodes {
            let (more, others) = node.unusual(newest, shared.step_ns);
            entries.extend(more);
            unlisted = unlisted.saturating_add(others);
        }
        entries.sort_by(|one, other| other.since_ns.cmp(&one.since_ns).then_with(|| one.id.cmp(&other.id)));
        unlisted = unlisted.saturating_add(entries.len().saturating_sub(LISTED) as u64);
        entries.truncate(LISTED);
        let begin = nodes.iter().filter_map(|node| node.history.begin()).min();
        let end = nodes.iter().filter_map(|node| node.history.end()).max();
        Ok(Unusual {
            at_ns: end,
            period: begin.zip(end).map(|(start_ns, end_ns)| Span { start_ns, end_ns }),
            rules: UnusualRule::ALL.map(|rule| rule_view(rule, &nodes)).into(),
            entries,
            entries_unlisted: unlisted,
        })
    }
}
