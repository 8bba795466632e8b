//! Messages that measuring hands to the thread that writes.

use crate::NodeSetting;
use flow::{FlowRecord, Rows};
use packet::{KeyV4, KeyV6};
use record::WindowFacts;
use std::sync::mpsc::Sender;

/// A message to the thread that writes. Nodes have numbers.
pub(crate) enum WriterMessage {
    /// The next node, from 0 on.
    Node(Box<NodeSetting>),
    /// Rows of the window that begins then; what they take of the budget, bytes.
    V4(usize, u64, Rows<KeyV4>, usize),
    V6(usize, u64, Rows<KeyV6>, usize),
    /// The end of a window; the last number is that of windows before it without a packet.
    Closed(usize, u64, Box<WindowFacts>, u64),
    Records(usize, Vec<FlowRecord>, usize),
    /// The end of the rows, or of the records. The sender ends once they are written.
    EndRows(usize, Sender<()>),
    EndRecords(usize, Sender<()>),
    /// The end of the store.
    End,
}
