//! Captures that have ended, as the report and the archive have them.

use model::Capture;
use protocol::Captured;

/// Returns what became of a capture on a node.
pub(crate) fn capture(node: &str, captured: &Captured) -> Capture {
    Capture {
        event: captured.id.clone(),
        node: node.to_owned(),
        query: captured.query.clone(),
        packets: captured.packets,
        bytes: captured.bytes,
        file: captured.file.clone(),
        ended_by: captured.ended_by.clone(),
        dropped: captured.dropped.clone(),
        cut: captured.is_cut,
        refused: captured.refused.clone(),
    }
}

/// Returns what became of a capture on a node, with its file.
pub fn ended((node, captured): (String, Captured)) -> archive::EndedCapture {
    archive::EndedCapture { capture: capture(&node, &captured), content: captured.content }
}
