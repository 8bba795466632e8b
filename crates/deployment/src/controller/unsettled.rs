//! Results that wait for those of other nodes, in the archive: the broker has forgotten them.

use controller::Controller;
use protocol::WindowResult;
use std::collections::BTreeSet;

/// The prefix of the names of their states.
pub(super) const PREFIX: &str = "unsettled/";

/// The name of a result. One to which the answers of another start of the node were added is another one.
fn name(node: &str, result: &WindowResult) -> String {
    format!("{PREFIX}{:020}/{}/{node}", result.window.start_ns, result.answers.len())
}

/// The names of all results that are not settled.
pub(super) fn names(controller: &Controller) -> BTreeSet<String> {
    controller.unsettled().map(|(node, result)| name(node, result)).collect()
}

/// Those that are not stored yet: names and texts.
pub(super) fn new(
    controller: &Controller,
    stored: &BTreeSet<String>,
) -> Result<Vec<(String, String)>, serde_json::Error> {
    let text =
        |(node, result): (&str, &WindowResult)| Ok((name(node, result), serde_json::to_string(result)?));
    controller.unsettled().filter(|(node, result)| !stored.contains(&name(node, result))).map(text).collect()
}

/// Returns what is lost of the results, in words: those that are damaged, and those of nodes that the settings no longer have.
pub(super) fn not_continued(
    damaged: usize,
    results: &[(String, WindowResult)],
    nodes: &[String],
) -> Vec<String> {
    let foreign = results.iter().filter(|(node, _)| !nodes.contains(node)).count();
    let lines = [
        (damaged, "that waited for other nodes are damaged"),
        (foreign, "are of nodes that are no longer in 'nodes'"),
    ];
    let said = lines.into_iter().filter(|(number, _)| *number != 0);
    said.map(|(number, why)| format!("{number} results {why}: they are lost")).collect()
}

/// The results of these states, each with its node. One that is damaged is left out.
pub(super) fn read(states: &[(String, String)]) -> Vec<(String, WindowResult)> {
    let one = |(name, text): &(String, String)| {
        let node = name.strip_prefix(PREFIX)?.splitn(3, '/').nth(2)?;
        Some((node.to_owned(), serde_json::from_str(text).ok()?))
    };
    states.iter().filter_map(one).collect()
}
