//! A replay: rows as they come, windows as they can be entered and closed.

use super::held::{BufferedWindow, RowMemory};
use super::node::{FinishedWindow, NodeRecording, NodeSelection, Replayed, WindowSink};
use super::plan::ReplayWindowFacts;
use super::survey::{part_of, window_of};
use crate::totals::ColumnTotals;
use flow::{BatchRows, LossCounts, OpenFields, Untold, row_columns};
use model::Span;
use packet::FamilyRow;
use record::Shortfall;
use record::read::{FlowFile, ReadError, ReadProjection, RowBlock, WithoutKey};
use std::collections::BTreeMap;
use task::rows::Unplaced;

impl NodeRecording {
    /// Gives its windows, the earliest first.
    pub fn replay(mut self, sink: &mut dyn WindowSink) -> Replayed {
        let open: Vec<Option<FlowFile>> = self.files.iter_mut().map(|file| file.open.take()).collect();
        let mut work = ReplayState::new(&self, sink);
        if !work.advance() {
            return work.replayed;
        }
        let mut files: Vec<Option<FlowFile>> = Vec::new();
        for (file, open) in self.files.iter().zip(open) {
            let again = || FlowFile::open(&file.path).map_err(|error| work.replayed.errors.push(error)).ok();
            files.push(open.or_else(again));
        }
        let wanted = ReadProjection {
            members: self.site.key.columns().collect(),
            columns: row_columns(self.site.tracked),
            open_fields: true,
            samples: true,
            needs_time: true,
            ..Default::default()
        };
        let mut totals = ColumnTotals::new(&wanted);
        for (number, part) in places(&files) {
            let (Some(file), picked) = (&mut files[number], &self.files[number].picked) else { continue };
            let mut given: BTreeMap<u64, u64> = BTreeMap::new();
            let mut refused = None;
            let is_measured = file.contents().is_measured;
            let read = file.read_part(part, &wanted, &mut |block| {
                if matches!(picked, NodeSelection::Of(node) if *node != block.node) {
                    return true;
                }
                if let Err(reason) = totals.add(block, &wanted) {
                    refused = Some(reason);
                    return false;
                }
                work.take(block, &mut given, is_measured);
                work.advance()
            });
            if work.replayed.is_stopped {
                return work.replayed;
            }
            let refused = refused.map(|reason| ReadError::damaged(file.path(), reason));
            if let Some(error) = read.err().or(refused) {
                work.give_up(file, part, picked, &given);
                let is_known = |known: &ReadError| known.path() == error.path();
                if !work.replayed.errors.iter().any(is_known) {
                    work.replayed.errors.push(error);
                }
            }
            if !work.advance() {
                return work.replayed;
            }
        }
        work.finish();
        work.replayed
    }
}

/// The parts of files, by their first times; those without times first, as their rows may be of any.
fn places(files: &[Option<FlowFile>]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let parts = file.iter().flat_map(|file| &file.contents().parts).enumerate();
        places.extend(parts.map(|(part, of)| (of.times.map(|[first, _]| first), number, part)));
    }
    places.sort_unstable();
    places.into_iter().map(|(_, file, part)| (file, part)).collect()
}

/// The window whose rows are given.
#[derive(Debug)]
struct ReplayedWindow {
    start_ns: u64,
    empty_before: u64,
    sums: [u64; 4],
}

/// A replay.
struct ReplayState<'a> {
    node: &'a NodeRecording,
    sink: &'a mut dyn WindowSink,
    /// Rows that have not come, by the begins of their windows.
    remaining: BTreeMap<u64, u64>,
    held: BTreeMap<u64, BufferedWindow>,
    memory: RowMemory,
    open: Option<ReplayedWindow>,
    /// Windows that begin before this time are closed.
    until_ns: u64,
    /// True if a window was entered.
    began: bool,
    /// Rows of windows that are closed: the file has changed while it was read.
    late_rows: u64,
    /// Numbers of rows that do not tell a value, by the begins of their windows.
    untold: BTreeMap<u64, Untold>,
    replayed: Replayed,
}

impl<'a> ReplayState<'a> {
    fn new(node: &'a NodeRecording, sink: &'a mut dyn WindowSink) -> Self {
        Self {
            remaining: node.plan.counts.clone(),
            held: BTreeMap::new(),
            memory: RowMemory::new(&node.site.limits),
            open: None,
            until_ns: 0,
            began: false,
            replayed: Replayed::default(),
            late_rows: 0,
            untold: BTreeMap::new(),
            node,
            sink,
        }
    }

    /// Takes the rows of a block. `given`: how many rows of each window the part gave so far. `is_measured`: those without a key are of the record `other`.
    fn take(&mut self, block: &RowBlock, given: &mut BTreeMap<u64, u64>, is_measured: bool) {
        let tracked = self.node.site.tracked;
        let (v4, v6) = (BatchRows::new(&block.v4, tracked), BatchRows::new(&block.v6, tracked));
        for at in 0..v4.len() {
            let (row, loss) = v4.row(at);
            self.row(v4.time(at), FamilyRow::V4(row), loss, block.open_v4(at), given);
        }
        for at in 0..v6.len() {
            let (row, loss) = v6.row(at);
            self.row(v6.time(at), FamilyRow::V6(row), loss, block.open_v6(at), given);
        }
        for WithoutKey { time_ns, packets, bytes, wire_bytes, .. } in &block.without_key {
            let Some(start_ns) = self.expect(time_ns.unwrap_or(u64::MAX), given) else { continue };
            let (packets, bytes, wire_bytes) = (*packets, *bytes, *wire_bytes);
            let keyless = if is_measured { 0 } else { packets };
            let more = Unplaced { packets, bytes, wire_bytes, keyless };
            self.held.entry(start_ns).or_default().unplaced.add(&more);
        }
    }

    /// The window of a row that counts then; `None` if no row of it is awaited.
    fn expect(&mut self, time_ns: u64, given: &mut BTreeMap<u64, u64>) -> Option<u64> {
        let start_ns = window_of(time_ns, self.node.plan.window_ns);
        if !self.node.plan.wants(start_ns) {
            return None;
        }
        self.replayed.rows += 1;
        match self.remaining.get_mut(&start_ns) {
            Some(rest) if *rest != 0 => {
                *rest -= 1;
                *given.entry(start_ns).or_default() += 1;
                Some(start_ns)
            }
            _ => {
                self.late_rows += 1;
                None
            }
        }
    }

    fn row(
        &mut self,
        time_ns: u64,
        row: FamilyRow,
        loss: Option<LossCounts>,
        open_fields: OpenFields,
        given: &mut BTreeMap<u64, u64>,
    ) {
        let Some(start_ns) = self.expect(time_ns, given) else { return };
        if !open_fields.is_empty() {
            self.untold.entry(start_ns).or_default().add_record(open_fields);
        }
        let merges = self.node.merges;
        match &mut self.open {
            Some(open) if open.start_ns == start_ns && !merges => give(self.sink, open, row, loss.as_ref()),
            _ => {
                self.held.entry(start_ns).or_default().push(row, loss, merges, &mut self.memory);
            }
        }
    }

    /// Enters and closes windows as far as their rows have come. Returns false once the sink has ended it.
    fn advance(&mut self) -> bool {
        while !self.replayed.is_stopped {
            let start_ns = match &self.open {
                Some(open) => open.start_ns,
                None => {
                    let Some(start_ns) = self.node.plan.next(self.until_ns) else { return true };
                    if !self.enter(start_ns) {
                        break;
                    }
                    start_ns
                }
            };
            if self.remaining.get(&start_ns).is_some_and(|rest| *rest != 0) {
                return true;
            }
            self.close();
        }
        false
    }

    fn enter(&mut self, start_ns: u64) -> bool {
        let passed_ns = start_ns.saturating_sub(self.until_ns);
        let empty_before = if self.began { passed_ns / self.node.plan.window_ns.max(1) } else { 0 };
        self.began = true;
        if !self.sink.enter(start_ns) {
            self.replayed.is_stopped = true;
            return false;
        }
        let mut open = ReplayedWindow { start_ns, empty_before, sums: [0; 4] };
        if let Some(held) = self.held.get_mut(&start_ns).filter(|_| !self.node.merges) {
            held.give(&mut self.memory, |row, loss| give(self.sink, &mut open, row, loss));
        }
        self.open = Some(open);
        true
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let NodeRecording { plan, damaged, lacks, shortfall, .. } = self.node;
        let start_ns = open.start_ns;
        self.remaining.remove(&start_ns);
        self.until_ns = start_ns.saturating_add(plan.window_ns);
        let mut held = self.held.remove(&start_ns).unwrap_or_default();
        held.give(&mut self.memory, |row, loss| give(self.sink, &mut open, row, loss));
        let ReplayWindowFacts { facts, lack } = plan.known(start_ns);
        let [packets, bytes, wire_bytes] = facts.without_place;
        let keyless = if facts.of_records { packets } else { 0 };
        let mut unplaced = Unplaced { packets, bytes, wire_bytes, keyless };
        unplaced.add(&held.unplaced);
        let mut untold = self.untold.remove(&start_ns).unwrap_or_default();
        untold.add(&facts.untold);
        let mut why = lacks.clone();
        why.extend(lack.map(str::to_owned));
        let is_damaged = |span: &Span| (span.start_ns..span.end_ns).contains(&start_ns);
        why.extend(damaged.iter().filter(|(span, _)| is_damaged(span)).map(|(_, reason)| reason.clone()));
        let recorded_lacks: Vec<String> =
            facts.lacks.into_iter().chain(shortfall_reasons(shortfall)).collect();
        let missing_rows = held.unread.saturating_add(held.without_memory);
        let all = self.replayed.missing.iter_mut().zip([held.unread, held.without_memory]);
        all.for_each(|(sum, rows)| *sum = sum.saturating_add(rows));
        let missing = [
            (held.unread, ["could not be read"; 2]),
            (
                held.without_memory,
                [
                    "is not in it, as memory ran out: give it more with --memory",
                    "are not in it, as memory ran out: give it more with --memory",
                ],
            ),
        ];
        let missing = missing.into_iter().filter(|(rows, _)| *rows != 0);
        why.extend(missing.map(|(rows, reason)| notation::counted_as(rows, "row", reason)));
        let window = FinishedWindow {
            start_ns,
            watched: facts.watched.map(|[start_ns, end_ns]| Span { start_ns, end_ns }),
            ended: facts.ended,
            empty_before: open.empty_before,
            next_ns: plan.next(self.until_ns),
            received: [open.sums[0], unplaced.packets, facts.unmeasured]
                .iter()
                .fold(0, |sum, more| sum.saturating_add(*more)),
            lost: facts.lost,
            refused_rows: facts.refused_rows,
            unplaced,
            untold,
            missing_rows,
            sums: open.sums,
            lacks: why,
            of_records: facts.of_records || self.node.files.iter().any(|file| !file.contents.has_windows),
            recorded_lacks: (!recorded_lacks.is_empty()).then(|| recorded_lacks.join("; ")),
            estimates: facts.estimates.or_else(|| shortfall.estimates.clone()),
            sampled: facts.sample.and_then(|sample| sample.sampled()),
        };
        self.replayed.windows += 1;
        self.replayed.without_place = self.replayed.without_place.saturating_add(unplaced.packets);
        self.replayed.is_stopped |= !self.sink.close(window);
    }

    /// A part gave only these rows: the others do not come.
    fn give_up(
        &mut self,
        file: &mut FlowFile,
        part: usize,
        picked: &NodeSelection,
        given: &BTreeMap<u64, u64>,
    ) {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        // It ends where it ended when it was surveyed.
        let _ = part_of(file, part, self.node.plan.window_ns, &mut |node, start_ns, rows, _| {
            if matches!(picked, NodeSelection::Of(own) if own != node) {
                return true;
            }
            *counts.entry(start_ns).or_default() += rows;
            true
        });
        for (start_ns, rows) in counts {
            let unread = rows.saturating_sub(given.get(&start_ns).copied().unwrap_or(0));
            if let Some(rest) = self.remaining.get_mut(&start_ns) {
                *rest = rest.saturating_sub(unread);
                self.held.entry(start_ns).or_default().unread += unread;
            }
        }
    }

    /// Ends the rows, as none follows: windows that wait for some were changed after they were surveyed.
    fn finish(&mut self) {
        for (start_ns, rest) in &mut self.remaining {
            let unread = std::mem::take(rest);
            if unread != 0 {
                self.held.entry(*start_ns).or_default().unread += unread;
                self.late_rows += unread;
            }
        }
        self.advance();
        let file = self.node.files.first().filter(|_| self.late_rows != 0 && self.replayed.errors.is_empty());
        let error = file.map(|file| {
            let rows = self.late_rows;
            ReadError::damaged(
                &file.path,
                format!(
                    "it changed while it was read: {}",
                    notation::counted_as(rows, "row", ["is not in its window", "are not in their windows"])
                ),
            )
        });
        self.replayed.errors.extend(error);
    }
}

/// Returns what files of flow records lack, a sentence each. The times are not known.
pub fn shortfall_reasons(shortfall: &Shortfall) -> impl Iterator<Item = String> {
    let Shortfall { lost, reason, untold, estimates: _, watched: _ } = shortfall;
    let were = ["was lost before it was", "were lost before they were"];
    let lost = (*lost != 0).then(|| {
        format!("{} measured, at times that are not known", notation::counted_as(*lost, "packet", were))
    });
    lost.into_iter().chain(reason.clone()).chain(model::untold_sentences(untold))
}

fn give(sink: &mut dyn WindowSink, open: &mut ReplayedWindow, row: FamilyRow, loss: Option<&LossCounts>) {
    let mut add =
        |row: [u64; 4]| open.sums.iter_mut().zip(row).for_each(|(sum, more)| *sum = sum.saturating_add(more));
    match row {
        FamilyRow::V4(row) => {
            add([row.packets, row.bytes, row.wire_bytes, u64::from(row.packets != 0)]);
            sink.row_v4(row, loss);
        }
        FamilyRow::V6(row) => {
            add([row.packets, row.bytes, row.wire_bytes, u64::from(row.packets != 0)]);
            sink.row_v6(row, loss);
        }
    }
}
