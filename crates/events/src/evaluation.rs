//! The groups of a derived query's window.

use crate::derived::derivation::Derivation;
use crate::derived::formula::{Formula, ReadWindows};
use crate::derived::outcome::DerivedResult;
use crate::derived::table::{ComputedGroup, DerivedTable};
use crate::graph::Graph;
use crate::key::EventKey;
use crate::known::{BoundedNumber, DerivedValue};
use crate::past::{AnswerHistory, EarlierValue};
use crate::rows::ConditionGroups;
use crate::seen::{Find, ObservedWindow, QueryWindow};
use model::{Answer, Span, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A source in the window, and the place of its earlier ones.
struct ReadSource<'a> {
    rows: ConditionGroups<'a>,
    answer: Option<&'a Answer>,
    place: (usize, usize),
}

/// A group of a derived query: of each source its row, if it has one.
type SourceRows<'a> = BTreeMap<EventKey, Vec<Option<&'a [Value]>>>;

/// The window that is computed.
struct EvaluatedWindow<'a> {
    reads: Vec<ReadSource<'a>>,
    past: &'a AnswerHistory,
    end_ns: u64,
    every_ns: u64,
    /// True if a value of an earlier window was read for which there was no room.
    lacks_room: Cell<bool>,
}

/// A group while its values are computed.
struct EvaluatedGroup<'a> {
    key: &'a EventKey,
    /// The values that are known of the columns in the window itself, by source.
    known: Vec<Vec<DerivedValue>>,
    /// The number of the key in earlier windows, by source.
    numbers: Vec<Option<u32>>,
}

impl Derivation {
    /// Computes what is known of the window of a query (the one with this derivation) that ends then, on a node. It follows from what its
    /// sources answered in the same window, and in those before as far as it reads them.
    pub fn evaluate(
        &self,
        graph: &Graph,
        (query, node): (usize, usize),
        end_ns: u64,
        find: &Find<'_>,
        past: &AnswerHistory,
    ) -> DerivedResult {
        let window = Span { start_ns: end_ns.saturating_sub(graph.queries[query].over_ns), end_ns };
        let find = |(query, node)| find(QueryWindow { query, node, instance: &[], window });
        self.compute(graph, (query, node), Some(window), &find, past)
    }

    /// Computes what is known of the whole run of a query (the one with this derivation), on a node. It follows from what its sources
    /// answered of the whole run, which `find` has by query and node. The query reads no earlier windows, as a run has none before it.
    pub fn evaluate_run<'a>(
        &self,
        graph: &Graph,
        (query, node): (usize, usize),
        find: &dyn Fn((usize, usize)) -> ObservedWindow<'a>,
    ) -> DerivedResult {
        self.compute(graph, (query, node), None, find, &AnswerHistory::new(graph, &[]))
    }

    /// Computes what is known of a window, or of the whole run.
    fn compute<'a>(
        &self,
        graph: &Graph,
        (query, node): (usize, usize),
        window: Option<Span>,
        find: &dyn Fn((usize, usize)) -> ObservedWindow<'a>,
        past: &AnswerHistory,
    ) -> DerivedResult {
        let of = &graph.queries[query];
        let mut reads = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let place = (source.query, source.on(node));
            let source = &graph.queries[source.query];
            let (rows, answer) = match find(place) {
                ObservedWindow::Missing => return DerivedResult::Missing,
                ObservedWindow::Empty => (ConditionGroups::none(source), None),
                ObservedWindow::Answer(answer) => match ConditionGroups::from_answer(source, answer) {
                    Some(rows) => (rows, Some(answer)),
                    None => return DerivedResult::Missing,
                },
            };
            reads.push(ReadSource { rows, answer, place });
        }
        let end_ns = window.map_or(0, |window| window.end_ns);
        let evaluated =
            EvaluatedWindow { reads, past, end_ns, every_ns: of.every_ns, lacks_room: Cell::new(false) };
        let found = self.found(&evaluated);
        let has_answer = evaluated.reads.iter().any(|read| read.answer.is_some());
        if found.is_empty() && !has_answer {
            return DerivedResult::Empty;
        }
        let groups = found.iter().map(|(key, rows)| {
            let member = self.member(&evaluated, key, rows);
            let values = self.values.iter().map(|value| evaluated.value(value, &member, 0)).collect();
            ComputedGroup { key: key.clone(), values }
        });
        let mut table = DerivedTable { groups: groups.collect(), reasons: Vec::new(), sources: Vec::new() };
        if evaluated.lacks_room.get() {
            table.reasons.push("no room for earlier windows that it reads".to_owned());
        }
        for (source, read) in self.sources.iter().zip(&evaluated.reads) {
            let is_listed = |rows: &&Vec<Option<&[Value]>>| rows[table.sources.len()].is_none();
            let unlisted = found.values().filter(is_listed).count() as u64;
            table.sources.push((source.name.as_deref(), read.answer, unlisted));
        }
        DerivedResult::Answer(Box::new(table.answer(self, graph, (query, node), window)))
    }

    /// The groups that any source has, in the window or in an earlier one that is read. A group that has left these has a last row, so that
    /// what depends on it is seen to end.
    fn found<'a>(&self, window: &EvaluatedWindow<'a>) -> SourceRows<'a> {
        let mut found: SourceRows<'a> = BTreeMap::new();
        let none = || vec![None; self.sources.len()];
        let own = |of: usize, key: &EventKey| -> EventKey {
            self.sources[of].key.iter().filter_map(|member| key.get(*member).cloned()).collect()
        };
        for (at, read) in window.reads.iter().enumerate() {
            for row in read.rows.rows() {
                let key = own(at, &read.rows.key(row));
                found.entry(key).or_insert_with(none)[at] = Some(row);
            }
        }
        for ReadWindows { source, first_ns, number, .. } in self.reads() {
            let more_ns = number.saturating_mul(window.every_ns);
            let Some(last_ns) = window.end_ns.checked_sub(first_ns) else { continue };
            if first_ns == 0 && number <= 1 {
                continue;
            }
            for key in window.past.keys(window.reads[source].place, last_ns.saturating_sub(more_ns)..=last_ns)
            {
                found.entry(own(source, key)).or_insert_with(none);
            }
        }
        found
    }

    fn member<'a>(
        &self,
        window: &EvaluatedWindow<'_>,
        key: &'a EventKey,
        rows: &[Option<&[Value]>],
    ) -> EvaluatedGroup<'a> {
        let all = self.sources.iter().zip(&window.reads).zip(rows);
        let (known, numbers) = all
            .map(|((source, read), row)| {
                // The key with its members in the order of the source.
                let mut own = key.clone();
                source.key.iter().zip(key).for_each(|(member, value)| own[*member] = value.clone());
                let known = match row {
                    Some(row) => read.rows.known(row, 0..row.len()),
                    None => read.rows.known_absent(&own, 0..read.rows.columns()),
                };
                (known, window.past.key_number(read.place, &own))
            })
            .unzip();
        EvaluatedGroup { key, known, numbers }
    }
}

impl EvaluatedWindow<'_> {
    /// A value of a group, of the window that ended so long before.
    fn value(&self, formula: &Formula, member: &EvaluatedGroup<'_>, before_ns: u64) -> DerivedValue {
        match formula {
            Formula::Key(at) => member.key.get(*at).map_or(DerivedValue::Null, DerivedValue::from_member),
            Formula::Integer(number) => DerivedValue::Number(BoundedNumber::integer((*number).into())),
            Formula::Number(number) => DerivedValue::Number(BoundedNumber::float(*number)),
            Formula::Item { source, column } if before_ns == 0 => {
                member.known[*source].get(*column).cloned().unwrap_or(DerivedValue::Unknown)
            }
            Formula::Item { source, column } => self.earlier(*source, *column, member, before_ns),
            Formula::Arithmetic(left, operator, right) => {
                let (left, right) =
                    (self.value(left, member, before_ns), self.value(right, member, before_ns));
                left.calculate(*operator, right)
            }
            Formula::Before(of, ns) => self.value(of, member, before_ns.saturating_add(*ns)),
            Formula::Mean { of, first_ns, number } => {
                self.mean(of, member, before_ns.saturating_add(*first_ns), *number)
            }
        }
    }

    fn earlier(
        &self,
        source: usize,
        column: usize,
        member: &EvaluatedGroup<'_>,
        before_ns: u64,
    ) -> DerivedValue {
        let Some(end_ns) = self.end_ns.checked_sub(before_ns) else { return DerivedValue::NoWindow };
        match self.past.value(self.reads[source].place, end_ns, member.numbers[source], column) {
            EarlierValue::Known(known) => known,
            EarlierValue::Unknown => DerivedValue::NoWindow,
            EarlierValue::NotKept => {
                self.lacks_room.set(true);
                DerivedValue::NoWindow
            }
        }
    }

    /// The mean over windows, of which at least half must be known.
    fn mean(&self, of: &Formula, member: &EvaluatedGroup<'_>, first_ns: u64, number: u64) -> DerivedValue {
        let (mut windows, mut numbers) = (0, Vec::new());
        for at in 0..number {
            let before_ns = first_ns.saturating_add(at.saturating_mul(self.every_ns));
            if before_ns > self.end_ns {
                break;
            }
            match self.value(of, member, before_ns) {
                DerivedValue::NoWindow => continue,
                DerivedValue::Number(number) => numbers.push(number),
                DerivedValue::Null => {}
                DerivedValue::Unknown | DerivedValue::Other(_) => return DerivedValue::Unknown,
            }
            windows += 1;
        }
        if windows * 2 < number {
            return DerivedValue::NoWindow;
        }
        BoundedNumber::mean(&numbers).map_or(DerivedValue::Null, DerivedValue::Number)
    }
}
