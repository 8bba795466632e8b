//! The thread that writes what is measured.

use crate::budget::Budget;
use crate::flow_segments::FlowSegments;
use crate::flush;
use crate::message::WriterMessage;
use crate::row_segments::RowSegments;
use crate::shared::StoreState;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The time between two looks at segments that wait.
const TICK: Duration = Duration::from_millis(500);

struct NodeSegments {
    rows: RowSegments,
    flows: FlowSegments,
}

/// Writes until no one hands over any more.
pub(crate) fn run(shared: &Arc<StoreState>, budget: &Budget, messages: &Receiver<WriterMessage>) {
    let mut nodes: Vec<NodeSegments> = Vec::new();
    let mut ticked = Instant::now();
    loop {
        match messages.recv_timeout(TICK) {
            Ok(WriterMessage::End) => break,
            Ok(message) => take(shared, budget, &mut nodes, message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if ticked.elapsed() >= TICK {
            ticked = Instant::now();
            for node in &mut nodes {
                node.rows.tick();
                node.flows.tick();
            }
            flush::flush_due(shared);
        }
    }
    for mut node in nodes {
        node.rows.end();
        node.flows.end();
    }
    // What could not be noted before, if it can be now.
    flush::flush_all(shared);
}

fn take(shared: &Arc<StoreState>, budget: &Budget, nodes: &mut Vec<NodeSegments>, message: WriterMessage) {
    match message {
        WriterMessage::Node(setting) => nodes.push(NodeSegments {
            rows: RowSegments::new(Arc::clone(shared), (*setting).clone()),
            flows: FlowSegments::new(Arc::clone(shared), *setting),
        }),
        WriterMessage::V4(node, start_ns, rows, bytes) => {
            if let Some(node) = nodes.get_mut(node) {
                node.rows.write(start_ns, &rows);
            }
            drop(rows);
            budget.give(bytes);
        }
        WriterMessage::V6(node, start_ns, rows, bytes) => {
            if let Some(node) = nodes.get_mut(node) {
                node.rows.write(start_ns, &rows);
            }
            drop(rows);
            budget.give(bytes);
        }
        WriterMessage::Closed(node, start_ns, facts, empty_before) => {
            if let Some(node) = nodes.get_mut(node) {
                node.rows.close(start_ns, *facts, empty_before);
            }
        }
        WriterMessage::Records(node, records, bytes) => {
            if let Some(node) = nodes.get_mut(node) {
                node.flows.write(&records);
            }
            drop(records);
            budget.give(bytes);
        }
        WriterMessage::EndRows(node, ended) => {
            if let Some(node) = nodes.get_mut(node) {
                node.rows.end();
            }
            drop(ended);
        }
        WriterMessage::EndRecords(node, ended) => {
            if let Some(node) = nodes.get_mut(node) {
                node.flows.end();
            }
            drop(ended);
        }
        // It is the loop's.
        WriterMessage::End => {}
    }
}
