//! Answers of queries over rows: of each window when it is closed, and of the run at its end.

use super::{Lacking, RunRows, WindowOutlet};
use crate::closed::{ClosedWindow, Totals};
use crate::control::Control;
use crate::ids::WindowId;
use flow::{Field, Rows};
use packet::{KeyV4, KeyV6};
use record::Anonymizer;
use report::{Account, Answer, Column, ColumnKind, Span, Status, Value, Window, WindowEnd};
use std::collections::BTreeMap;
use std::sync::Arc;
use task::TaskSet;
use task::rows::{RowPartials, RowScratch, RunPartials};

/// See the module's documentation.
pub(super) struct Answers {
    control: Control,
    anonymizer: Option<Anonymizer>,
    node: String,
    outlet: WindowOutlet,
    /// Windows some rows of which have arrived.
    open: BTreeMap<WindowId, (Arc<TaskSet>, RowPartials)>,
    scratch: RowScratch,
    /// The set that the run began with, which answers for the whole of it.
    first: Arc<TaskSet>,
    run: Option<RunPartials>,
    run_rows: RunRows,
    run_lacking: Lacking,
}

impl Answers {
    pub(super) fn new(
        control: Control,
        run_rows: RunRows,
        anonymizer: Option<Anonymizer>,
        node: String,
        outlet: WindowOutlet,
    ) -> Self {
        let first = control.set(WindowId::default());
        Self {
            run: first.rows().run(),
            run_rows,
            first,
            control,
            anonymizer,
            node,
            outlet,
            open: BTreeMap::new(),
            scratch: RowScratch::default(),
            run_lacking: Lacking::default(),
        }
    }

    /// Takes rows of a window.
    pub(super) fn rows(&mut self, window: WindowId, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let Self { control, open, scratch, run, run_rows, .. } = self;
        let (set, partials) = open.entry(window).or_insert_with(|| {
            let set = control.set(window);
            let partials = set.rows().window();
            (set, partials)
        });
        partials.add_v4(set.rows(), v4, scratch);
        partials.add_v6(set.rows(), v6, scratch);
        if let (Some(run), RunRows::OfWindows) = (run, run_rows) {
            run.add_v4(v4);
            run.add_v6(v6);
        }
    }

    /// Takes the totals of ended records. `are_last`: no others of their keys follow.
    pub(super) fn record_rows(&mut self, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>, are_last: bool) {
        match &mut self.run {
            Some(run) if are_last => {
                run.add_last_v4(self.first.rows(), v4);
                run.add_last_v6(self.first.rows(), v6);
            }
            Some(run) => {
                run.add_v4(v4);
                run.add_v6(v6);
            }
            None => {}
        }
    }

    /// Answers a window, all rows of which have arrived. False if it could not be passed on.
    pub(super) fn window(&mut self, closed: ClosedWindow) -> bool {
        let window = closed.window;
        let empty = (closed.empty_before != 0).then(|| self.empty(&closed));
        let empty_passed = empty.is_none_or(|empty| (self.outlet)(empty));
        // Windows of a receiver that failed are in no report: their rows are dropped.
        let later = self.open.split_off(&window.next());
        let own = std::mem::replace(&mut self.open, later).remove(&window);
        self.control.forget_before(window);
        let (set, partials) = own.unwrap_or_else(|| {
            let set = self.control.set(window);
            let partials = set.rows().window();
            (set, partials)
        });
        self.run_lacking.add(&self.run_rows.lacking(&closed));
        let mut answers = vec![totals(Some(closed.span), &closed.totals)];
        let mut packets = closed.packets.clone();
        packets.remarks.0.push(("table_full".to_owned(), closed.unplaced.packets));
        answers[0].account = Some(Account { packets, loss: closed.loss.clone() });
        answers.extend(partials.window_answers(set.rows(), closed.span, &closed.unplaced));
        let rows_missing = missing(closed.refused_rows);
        for answer in &mut answers[1..] {
            rows_missing.iter().for_each(|reason| answer.lacks(reason));
        }
        answers.extend(closed.answers);
        let coverage = closed.loss.as_ref().map(|loss| {
            let received = closed.packets.received as f64;
            let all = received + loss.total() as f64;
            if all == 0.0 { 1.0 } else { received / all }
        });
        let is_cut = closed.watched != closed.span || closed.ended_by == WindowEnd::RunEnd;
        for answer in &mut answers {
            answer.node = Some(self.node.clone());
            answer.coverage = coverage;
            if is_cut {
                answer.watched = Some(closed.watched);
                if answer.status == Status::Complete {
                    answer.status = Status::Cut;
                }
            }
        }
        let status = match (closed.refused_rows, is_cut) {
            (0, false) => Status::Complete,
            (0, true) => Status::Cut,
            _ => Status::Partial,
        };
        let mut window = Window {
            index: closed.index,
            span: closed.span,
            status,
            watched: is_cut.then_some(closed.watched),
            empty: None,
            packets: closed.packets,
            loss: closed.loss,
            table_full: closed.unplaced.packets,
            answers,
        };
        self.anonymize(|f| window.map_addresses(f));
        let passed = (self.outlet)(window) && empty_passed;
        self.control.answered(closed.window);
        passed
    }

    /// Takes what the run's answers lack in addition to what windows report.
    pub(super) fn lack(&mut self, lacking: &Lacking) {
        self.run_lacking.add(lacking);
    }

    /// A run of windows without a frame, before the one that is closed.
    fn empty(&self, closed: &ClosedWindow) -> Window {
        // They lie immediately before this window and have the same length. The window before them may have
        // been refused.
        let Span { start_ns, end_ns } = closed.span;
        let length = closed.empty_before.saturating_mul(end_ns - start_ns);
        let span = Span { start_ns: start_ns.saturating_sub(length), end_ns: start_ns };
        let mut answer = totals(Some(span), &Totals::default());
        answer.rows.clear();
        answer.node = Some(self.node.clone());
        answer.empty = Some(closed.empty_before);
        answer.coverage = closed.loss.as_ref().map(|_| 1.0);
        Window {
            index: closed.index,
            span,
            status: Status::Complete,
            watched: None,
            empty: Some(closed.empty_before),
            packets: report::PacketCounts::default(),
            loss: closed.loss.as_ref().map(|_| report::Counters::default()),
            table_full: 0,
            answers: vec![answer],
        }
    }

    /// The answers over the whole run.
    pub(super) fn of_run(&mut self) -> Vec<Answer> {
        let Some(run) = self.run.take() else { return Vec::new() };
        let mut answers = self.first.rows().run_answers(run, &self.run_lacking.unplaced);
        let Lacking { refused_rows, failed_workers, .. } = self.run_lacking;
        let records_missing = (failed_workers != 0).then(|| {
            format!("{failed_workers} workers failed: flows that had not ended on them are missing")
        });
        for answer in &mut answers {
            let reasons = missing(refused_rows).into_iter().chain(records_missing.clone());
            reasons.for_each(|reason| answer.lacks(&reason));
            answer.node = Some(self.node.clone());
        }
        self.anonymize(|f| answers.iter_mut().for_each(|answer| answer.map_addresses(f)));
        answers
    }

    fn anonymize(&mut self, map: impl FnOnce(&mut dyn FnMut(std::net::IpAddr) -> std::net::IpAddr)) {
        if let Some(anonymizer) = &mut self.anonymizer {
            map(&mut |address| anonymizer.address(address));
        }
    }
}

/// However this thread ends, receivers stop waiting for its answers.
impl Drop for Answers {
    fn drop(&mut self) {
        self.control.answered(WindowId::MAX);
    }
}

/// A statement of what answers over rows lack.
fn missing(refused_rows: u64) -> Option<String> {
    (refused_rows != 0).then(|| format!("{refused_rows} rows came faster than they were answered"))
}

/// The answer of the query `totals`.
pub fn totals(window: Option<Span>, totals: &Totals) -> Answer {
    let Totals { packets, bytes, wire_bytes, flows } = *totals;
    let sum = |name| {
        let unit = Field::named(name).map_or("", |field| field.unit);
        Column::new(name, ColumnKind::Unsigned, unit)
    };
    let columns = vec![
        sum("total_count"),
        sum("total_byte"),
        sum("wire_byte"),
        Column::new("flows", ColumnKind::Unsigned, "flows"),
    ];
    let row = [packets, bytes, wire_bytes, flows].map(Value::from).to_vec();
    Answer::new("totals", window, columns, vec![row])
}
