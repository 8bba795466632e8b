//! Answers of queries over rows: of each window when it is closed, and of the run at its end.

use super::by_packets::PacketQueryState;
use super::long_windows;
use super::{RunRows, RunShortfall, WindowOutlet};
use crate::closed::{ClosedWindow, PacketTotals};
use crate::control::Control;
use crate::ids::WindowId;
use crate::window_answers::{self, missing};
use flow::{Estimate, Field, NULL, Rows, Sampled, Untold};
use model::{Account, Answer, AnswerStatus, Class, Column, ColumnKind, Span, Value, Window};
use packet::{KeyV4, KeyV6};
use record::Anonymizer;
use std::collections::BTreeMap;
use std::sync::Arc;
use task::rows::{LongWindows, Outside, Overflow, RowPartials, RowScratch, RunPartials, Unplaced, mark_lost};
use task::{RowDesk, RowTaskStates, TaskSet, Tasks};

/// The answers of queries over rows: of each window, and of the run.
pub(super) struct RowAnswerer {
    control: Control,
    anonymizer: Option<Anonymizer>,
    node: String,
    outlet: WindowOutlet,
    /// The windows some rows of which have come.
    open: BTreeMap<WindowId, AnswerWindow>,
    scratch: RowScratch,
    /// The desk that answers the tasks that rows tell.
    desk: RowDesk,
    /// The set that the run began with, which answers for the whole of it.
    first: Arc<TaskSet>,
    run: Option<RunPartials>,
    run_rows: RunRows,
    run_lacking: RunShortfall,
    /// Packets of all windows that are in no row.
    without_place: Unplaced,
    run_overflow: Option<Overflow>,
    run_sampled: Option<Sampled>,
    /// The time in which the run was watched.
    watched: Option<Span>,
    /// Windows of other lengths, from set to set as long as these have their queries.
    long: Vec<LongWindows>,
    /// The queries that are answered by packets.
    by_packets: PacketQueryState,
}

/// The state of a window some rows of which have come.
struct AnswerWindow {
    set: Arc<TaskSet>,
    partials: RowPartials,
    /// The states of the tasks that rows answer, where there are any and some rows have come.
    tasks: Option<RowTaskStates>,
    /// The reason why tasks cannot be counted.
    fault: Option<String>,
}

impl AnswerWindow {
    fn new(set: Arc<TaskSet>) -> Self {
        Self { partials: set.rows().window(), set, tasks: None, fault: None }
    }

    /// Counts rows by the tasks of the window.
    fn count(&mut self, desk: &mut RowDesk, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let Some(tasks) = self.set.row_tasks().filter(|_| self.fault.is_none()) else { return };
        if self.tasks.is_none() {
            match RowDesk::window(tasks) {
                Ok(states) => self.tasks = Some(states),
                Err(error) => self.fault = Some(error.to_string()),
            }
        }
        if let Some(states) = &mut self.tasks {
            desk.add(tasks, states, v4, v6);
        }
    }
}

impl RowAnswerer {
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
            by_packets: PacketQueryState::new(&first),
            run_rows,
            first,
            control,
            anonymizer,
            node,
            outlet,
            open: BTreeMap::new(),
            scratch: RowScratch::default(),
            desk: RowDesk::default(),
            run_lacking: RunShortfall::default(),
            without_place: Unplaced::default(),
            run_overflow: None,
            run_sampled: None,
            watched: None,
            long: Vec::new(),
        }
    }

    /// Takes rows of a window, which begins at this time.
    pub(super) fn rows(&mut self, window: WindowId, start_ns: u64, v4: &Rows<KeyV4>, v6: &Rows<KeyV6>) {
        let Self { control, open, scratch, desk, run, run_rows, long, .. } = self;
        control.recent_windows().rows(window, v4, v6);
        let open = open.entry(window).or_insert_with(|| AnswerWindow::new(control.set(window)));
        open.partials.add_v4(open.set.rows(), v4, scratch);
        open.partials.add_v6(open.set.rows(), v6, scratch);
        open.count(desk, v4, v6);
        open.set.rows().begin_long_windows(long);
        let continued = long.iter_mut().filter(|windows| open.set.rows().continues(windows));
        continued.for_each(|windows| windows.add(start_ns, v4, v6));
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

    /// Answers a window, all rows of which have come. False where it could not be passed on.
    pub(super) fn window(&mut self, mut closed: ClosedWindow) -> bool {
        let window = closed.window;
        let empty = (closed.empty_before != 0).then(|| self.empty(&closed));
        let empty_passed = empty.is_none_or(|empty| (self.outlet)(empty));
        self.begin_long(&closed);
        // Windows of a receiver that failed are in no report: their rows are dropped.
        let later = self.open.split_off(&window.next());
        let own = std::mem::replace(&mut self.open, later).remove(&window);
        self.control.forget_before(window);
        let open = own.unwrap_or_else(|| AnswerWindow::new(self.control.set(window)));
        self.run_lacking.add(&self.run_rows.lacking(&closed));
        self.without_place.add(&closed.unplaced);
        Sampled::merge_into(&mut self.run_sampled, closed.sampled.as_ref());
        let sampled = closed.sampled.as_ref();
        let mut answers = vec![totals(Some(closed.span), &closed.totals, closed.unplaced.packets, sampled)];
        answers[0].mark_untold(&self.first.rows().untold_of_totals(&closed.all_untold()));
        let mut packets = closed.packets.clone();
        packets.remarks.0.push(("table_full".to_owned(), closed.unplaced.packets));
        answers[0].account = Some(Account { packets, loss: closed.loss.clone() });
        let AnswerWindow { set, partials, tasks, fault } = open;
        self.control.recent_windows().close(&closed, &set);
        answers.extend(window_answers::answer_rows(partials, set.rows(), set.rows(), &closed));
        answers.extend(self.by_packets.window(&set, &closed));
        if self.run.is_some() {
            Overflow::merge_into(&mut self.run_overflow, closed.overflow.take());
        }
        answers.extend(task_answers(&set, &mut self.desk, tasks, fault, &mut closed));
        let mut longer = self.close_long(&set, &closed);
        let of_packets = self.by_packets.close_long(&self.control, &set, &closed);
        longer.extend(self.signed(of_packets));
        let is_cut = closed.is_cut();
        window_answers::sign(&mut answers, &closed, &self.node);
        let lacks = closed.refused_rows != 0 || closed.lacks.is_some();
        let status = match (lacks, is_cut) {
            (true, _) => AnswerStatus::Partial,
            (false, true) => AnswerStatus::Cut,
            (false, false) => AnswerStatus::Complete,
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
            longer,
        };
        self.anonymize(|f| window.map_addresses(f));
        let passed = (self.outlet)(window) && empty_passed;
        self.control.mark_answered(closed.window);
        passed
    }

    /// Begins windows of other lengths whose queries are new.
    fn begin_long(&mut self, closed: &ClosedWindow) {
        let Self { control, long, by_packets, .. } = self;
        control.set(closed.window).rows().begin_long_windows(long);
        by_packets.begin_long(control, closed);
        long_windows::begin(long, control, closed, |set, windows| set.rows().continues(windows));
    }

    /// The answers of windows of other lengths that end with this window, or with the last window of their set, and under a gate of
    /// those that end before the next window with a packet: others may wait for them.
    fn close_long(&mut self, set: &Arc<TaskSet>, closed: &ClosedWindow) -> Vec<Answer> {
        let begun = self.watched.map_or(closed.watched.start_ns, |watched| watched.start_ns);
        self.watched = Some(Span { start_ns: begun, end_ns: closed.watched.end_ns });
        let mut answers = Vec::new();
        let next_ns = closed.next_ns.filter(|_| self.control.is_gated());
        let account = window_answers::account(closed);
        self.long.retain_mut(|windows| {
            if set.rows().continues(windows) {
                answers.extend(windows.close(&account));
                answers.extend(next_ns.into_iter().flat_map(|next| windows.pass(next)));
                return true;
            }
            answers.extend(windows.end());
            // Rows of a later window, whose set has the queries again, may have come before this one is closed.
            windows.has_rows()
        });
        self.signed(answers)
    }

    /// The answers of windows of other lengths that the end of the run cuts.
    pub(super) fn end_long(&mut self) -> Vec<Answer> {
        let mut answers: Vec<_> =
            std::mem::take(&mut self.long).iter_mut().flat_map(LongWindows::end).collect();
        answers.extend(self.by_packets.end_long());
        let mut answers = self.signed(answers);
        self.anonymize(|f| answers.iter_mut().for_each(|answer| answer.map_addresses(f)));
        answers
    }

    /// Answers with the name of the observation point.
    fn signed(&self, mut answers: Vec<Answer>) -> Vec<Answer> {
        answers.iter_mut().for_each(|answer| answer.node = Some(self.node.clone()));
        answers
    }

    /// Packets of all windows that are in no row, because they found no place in the table.
    pub(super) fn without_place(&self) -> Unplaced {
        self.without_place
    }

    /// A line for the user, where less was kept to look back at than was to be.
    pub(super) fn recent_windows_warning(&self) -> Option<String> {
        self.control.recent_windows().warning()
    }

    /// Takes what the run's answers lack in addition to what windows report.
    pub(super) fn lack(&mut self, lacking: &RunShortfall) {
        self.run_lacking.add(lacking);
    }

    /// A run of windows without a frame, before the one that is closed.
    fn empty(&self, closed: &ClosedWindow) -> Window {
        // They lie immediately before this window and have the same length. The window before them may have
        // been refused.
        let Span { start_ns, end_ns } = closed.span;
        let length = closed.empty_before.saturating_mul(end_ns - start_ns);
        let span = Span { start_ns: start_ns.saturating_sub(length), end_ns: start_ns };
        let set = self.control.set(closed.window);
        let mut totals = totals(Some(span), &PacketTotals::default(), 0, None);
        totals.rows.clear();
        let empty = |answer| window_answers::empty(answer, span, closed.empty_before, closed, &self.node);
        let answers = [totals].into_iter().chain(set.empty_answers()).map(empty).collect();
        Window {
            index: closed.index,
            span,
            status: AnswerStatus::Complete,
            watched: None,
            empty: Some(closed.empty_before),
            packets: model::PacketCounts::default(),
            loss: closed.loss.as_ref().map(|_| model::Counters::default()),
            table_full: 0,
            answers,
            longer: Vec::new(),
        }
    }

    /// Returns what packets and records of the run did not tell, as far as the answer `totals` depends on it.
    pub(super) fn untold_of_totals(&self) -> Untold {
        self.first.rows().untold_of_totals(&self.run_lacking.untold)
    }

    /// The answers over the whole run.
    pub(super) fn answer_run(&mut self) -> Vec<Answer> {
        let overflow = self.run_overflow.as_ref();
        let RunShortfall { unplaced, untold, .. } = &self.run_lacking;
        let outside = Outside { totals: unplaced, overflow, sampled: self.run_sampled, untold: *untold };
        let run = self.run.take();
        let mut answers =
            run.map_or_else(Vec::new, |run| self.first.rows().run_answers(run, self.watched, outside));
        let RunShortfall { refused_rows, unfollowed, failed_workers, .. } = self.run_lacking;
        let records_missing = (failed_workers != 0).then(|| {
            format!("{failed_workers} workers failed: flows that had not ended on them are missing")
        });
        for answer in &mut answers {
            let reasons = missing(refused_rows).into_iter().chain(records_missing.clone());
            reasons.for_each(|reason| answer.mark_partial(&reason));
            mark_lost(answer, unfollowed);
        }
        let refused = self.run_lacking.split_windows;
        answers.extend(self.by_packets.answer_run(&self.first, self.watched, self.run_sampled, refused));
        answers.iter_mut().for_each(|answer| answer.node = Some(self.node.clone()));
        self.anonymize(|f| answers.iter_mut().for_each(|answer| answer.map_addresses(f)));
        answers
    }

    fn anonymize(&mut self, map: impl FnOnce(&mut dyn FnMut(std::net::IpAddr) -> std::net::IpAddr)) {
        if let Some(anonymizer) = &mut self.anonymizer {
            map(&mut |address| anonymizer.address(address));
        }
    }
}

/// Receivers stop waiting for answers, however the thread of these ends.
impl Drop for RowAnswerer {
    fn drop(&mut self) {
        self.control.mark_answered(WindowId::MAX);
    }
}

/// The answers of all tasks of a window, in the order in which they were asked.
fn task_answers(
    set: &TaskSet,
    desk: &mut RowDesk,
    states: Option<RowTaskStates>,
    fault: Option<String>,
    closed: &mut ClosedWindow,
) -> Vec<Answer> {
    let by_packets = std::mem::take(&mut closed.answers);
    let Some(tasks) = set.row_tasks() else { return by_packets };
    let not_in_rows = closed.unplaced.packets + if closed.loss.is_none() { closed.refused() } else { 0 };
    let without_rows = (not_in_rows != 0).then(|| format!("{not_in_rows} packets are in no row"));
    let lacking = fault.or(missing(closed.refused_rows)).or(without_rows);
    let reported = closed.reported();
    let is_sample = closed.sampled.is_some_and(|sampled| !sampled.is_whole());
    let class = if is_sample { Class::Sample } else { Class::Row };
    let by_rows = desk.report(tasks, closed.window, states, reported, lacking).into_iter().map(|answer| {
        let mut answer = answer.into_answer(Some(closed.span));
        answer.class = class;
        answer
    });
    let packets = set.packets().map(Tasks::places).unwrap_or_default();
    let of_both = tasks.places().iter().zip(by_rows).chain(packets.iter().zip(by_packets));
    let mut answers: Vec<_> = of_both.collect();
    answers.sort_by_key(|(place, _)| **place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The answer of the query `totals`. `unplaced`: packets among them that had no place in the table, each of which may be one more flow.
/// `sampled`: how they were sampled, if they were.
pub fn totals(
    window: Option<Span>,
    totals: &PacketTotals,
    unplaced: u64,
    sampled: Option<&Sampled>,
) -> Answer {
    let PacketTotals { packets, bytes, wire_bytes, flows, .. } = *totals;
    let sum = |name| {
        let unit = Field::named(name).map_or("", |field| field.unit);
        Column::new(name, ColumnKind::Unsigned, unit)
    };
    let columns = vec![
        sum("total_count"),
        sum("total_byte"),
        sum("wire_byte"),
        Column::new("flows", ColumnKind::Unsigned, "flows"),
        Column::new("stime", ColumnKind::Time, ""),
        Column::new("ltime", ColumnKind::Time, ""),
    ];
    let mut row = [packets, bytes, wire_bytes, flows].map(Value::from).to_vec();
    if wire_bytes == NULL {
        row[2] = Value::Null;
    }
    row.extend(times(totals));
    if unplaced != 0 {
        let [lower, upper] = [flows, flows + unplaced].map(|flows| flows as f64);
        row[3] = Value::Estimate { value: upper, lower, upper };
    }
    let bounds = if unplaced == 0 { "exact" } else { "certain" };
    let answer = Answer { bounds: bounds.to_owned(), ..Answer::new("totals", window, columns, vec![row]) };
    match sampled.filter(|sampled| !sampled.is_whole()) {
        Some(sampled) => answer_from_sample(answer, totals, unplaced, sampled),
        None => answer,
    }
}

/// The times of the first and the last packet.
fn times(totals: &PacketTotals) -> [Value; 2] {
    totals.times.map_or([Value::Null, Value::Null], |times| times.map(Value::Time))
}

/// Totals of all packets, of which these were sampled.
fn answer_from_sample(mut answer: Answer, totals: &PacketTotals, unplaced: u64, sampled: &Sampled) -> Answer {
    let [packets, bytes, wire_bytes] =
        [totals.packets, totals.bytes, totals.wire_bytes].map(|sum| sum as f64);
    let flows = (totals.flows + unplaced) as f64;
    let mut row = [sampled.packets(packets), sampled.bytes(bytes), sampled.wire_bytes(wire_bytes)]
        .map(Value::from)
        .to_vec();
    // Neither bound holds: flows without a sampled packet are missing, and a flow whose sampled packets are further apart than the idle
    // timeout counts several times.
    row.push(Estimate::unbounded(flows).into());
    row.extend(times(totals));
    answer.rows = vec![row];
    answer.class = Class::Sample;
    answer.sampling = Some(sampled.into());
    answer.remark(&sampled.to_string());
    answer.bounds = Sampled::confidence_text();
    answer
}
