//! The times of all rows: which windows there are, and how many rows each has.

use crate::files::span_of_rows;
use crate::node_spans::union;
use flow::{NULL, RowValue};
use model::Span;
use record::read::{FlowFile, ReadError, ReadProjection, RowBlock};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node, as a file names it.
pub(super) type NodeName = Option<Arc<str>>;

/// The rows of one node in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeRows {
    /// Rows by the begins of their windows.
    pub(super) counts: BTreeMap<u64, u64>,
    /// The time from the first packet to the last.
    pub(super) span: Option<Span>,
}

/// The result of the survey of a file.
#[derive(Debug, Default)]
pub(super) struct FileSurvey {
    pub(super) nodes: BTreeMap<NodeName, NodeRows>,
    /// The first damage of the file.
    pub(super) error: Option<ReadError>,
    /// The times of damaged parts: the begins of their first and of their last window.
    pub(super) damaged: Vec<[u64; 2]>,
    /// True if reading was ended from outside.
    pub(super) is_stopped: bool,
}

/// The begin of the window of a time.
pub(super) fn window_of(time_ns: u64, window_ns: u64) -> u64 {
    time_ns - time_ns % window_ns.max(1)
}

/// Returns what is read of each row.
fn wanted(has_windows: bool) -> ReadProjection {
    let times = [RowValue::First, RowValue::Last].into_iter().filter(|_| !has_windows);
    ReadProjection {
        columns: times.chain([RowValue::Time]).collect(),
        needs_time: true,
        ..ReadProjection::default()
    }
}

impl FileSurvey {
    /// Reads the times of a file's rows. `continues` ends reading by returning false.
    pub(super) fn from_file(
        file: &mut FlowFile,
        window_ns: u64,
        continues: &mut dyn FnMut() -> bool,
    ) -> Self {
        let mut survey = Self::default();
        for part in 0..file.contents().parts.len() {
            let times = file.contents().parts[part].times;
            let mut found = times.map(|times| times.map(|time| window_of(time, window_ns)));
            let read = part_of(file, part, window_ns, &mut |node, first, count, span| {
                let rows = survey.nodes.entry(node.clone()).or_default();
                *rows.counts.entry(first).or_default() += count;
                rows.span = match (rows.span, span) {
                    (Some(known), Some(span)) => Some(union(known, span)),
                    (known, span) => known.or(span),
                };
                found =
                    Some(found.map_or([first, first], |[least, most]| [least.min(first), most.max(first)]));
                continues()
            });
            match read {
                // What was passed over may have been of any window of the part.
                Ok(true) => {
                    if let Some(what) = file.passed_over() {
                        survey.damaged.extend(found.or_else(|| listed(file)));
                        survey.error.get_or_insert_with(|| ReadError::damaged(file.path(), what));
                    }
                }
                Ok(false) => {
                    survey.is_stopped = true;
                    return survey;
                }
                Err(error) => {
                    survey.damaged.extend(found.or_else(|| listed(file)));
                    survey.error.get_or_insert(error);
                }
            }
        }
        survey
    }
}

/// Returns the begins of the first and the last window that a file lists: what has no time at all may have been of any of them.
fn listed(file: &FlowFile) -> Option<[u64; 2]> {
    file.contents().windows.as_ref()?.ends()
}

/// Rows of one node, window and span of time; whether reading goes on.
pub(super) type RowTimeVisitor<'a> = dyn FnMut(&NodeName, u64, u64, Option<Span>) -> bool + 'a;

/// Reads the times of the rows of a part. Returns false where `found` ended it.
///
/// # Errors
/// The part is damaged, or a row has no time.
pub(super) fn part_of(
    file: &mut FlowFile,
    part: usize,
    window_ns: u64,
    found: &mut RowTimeVisitor<'_>,
) -> Result<bool, ReadError> {
    let path = file.path().to_owned();
    let wanted = wanted(file.contents().has_windows);
    let mut continues = true;
    let mut has_no_time = false;
    file.read_part(part, &wanted, &mut |block: &mut RowBlock| {
        for batch in [block.v4.column(RowValue::Time), block.v6.column(RowValue::Time)] {
            has_no_time |= batch.contains(&NULL);
        }
        has_no_time |= block.without_key.iter().any(|row| row.time_ns.is_none());
        if has_no_time {
            return false;
        }
        let spans = [span_of_rows(&block.v4), span_of_rows(&block.v6)];
        let span = spans.into_iter().flatten().reduce(union);
        let outside = block.without_key.iter().filter_map(|row| row.time_ns);
        let times = block.v4.column(RowValue::Time).iter().chain(block.v6.column(RowValue::Time)).copied();
        let mut windows = times.chain(outside).map(|time| window_of(time, window_ns));
        let Some(mut open) = windows.next() else { return true };
        let mut count = 1;
        for window in windows {
            if window == open {
                count += 1;
                continue;
            }
            continues &= found(&block.node, open, count, None);
            (open, count) = (window, 1);
        }
        continues &= found(&block.node, open, count, span);
        continues
    })?;
    if has_no_time {
        return Err(ReadError::damaged(&path, "a row has no time at which it counts"));
    }
    Ok(continues)
}
