//! The groups of a derived query's window.

use crate::derived::derivation::Derivation;
use crate::derived::formula::{Formula, Reads};
use crate::derived::outcome::Outcome;
use crate::derived::table::{Group, Table};
use crate::graph::Graph;
use crate::key::Key;
use crate::known::{Known, Number};
use crate::past::{Earlier, Past};
use crate::rows::Rows;
use crate::seen::{Asked, Find, Seen};
use model::{Answer, Span, Value};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A source in the window, and the place of its earlier ones.
struct Read<'a> {
    rows: Rows<'a>,
    answer: Option<&'a Answer>,
    place: (usize, usize),
}

/// A group of a derived query: of each source its row, if it has one.
type Found<'a> = BTreeMap<Key, Vec<Option<&'a [Value]>>>;

/// The window that is computed.
struct Window<'a> {
    reads: Vec<Read<'a>>,
    past: &'a Past,
    end_ns: u64,
    every_ns: u64,
    /// True if a value of an earlier window was read for which there was no room.
    lacks_room: Cell<bool>,
}

/// A group while its values are computed.
struct Member<'a> {
    key: &'a Key,
    /// The values that are known of the columns in the window itself, by source.
    known: Vec<Vec<Known>>,
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
        past: &Past,
    ) -> Outcome {
        let of = &graph.queries[query];
        let window = Span { start_ns: end_ns.saturating_sub(of.over_ns), end_ns };
        let mut reads = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let place = (source.query, source.on(node));
            let source = &graph.queries[source.query];
            let (rows, answer) = match find(Asked { query: place.0, node: place.1, instance: &[], window }) {
                Seen::Missing => return Outcome::Missing,
                Seen::Empty => (Rows::none(source), None),
                Seen::Answer(answer) => match Rows::of(source, answer) {
                    Some(rows) => (rows, Some(answer)),
                    None => return Outcome::Missing,
                },
            };
            reads.push(Read { rows, answer, place });
        }
        let window = Window { reads, past, end_ns, every_ns: of.every_ns, lacks_room: Cell::new(false) };
        let found = self.found(&window);
        let has_answer = window.reads.iter().any(|read| read.answer.is_some());
        if found.is_empty() && !has_answer {
            return Outcome::Empty;
        }
        let groups = found.iter().map(|(key, rows)| {
            let member = self.member(&window, key, rows);
            let values = self.values.iter().map(|value| window.value(value, &member, 0)).collect();
            Group { key: key.clone(), values }
        });
        let mut table = Table { groups: groups.collect(), reasons: Vec::new(), sources: Vec::new() };
        if window.lacks_room.get() {
            table.reasons.push("no room for earlier windows that it reads".to_owned());
        }
        for (source, read) in self.sources.iter().zip(&window.reads) {
            let is_listed = |rows: &&Vec<Option<&[Value]>>| rows[table.sources.len()].is_none();
            let unlisted = found.values().filter(is_listed).count() as u64;
            table.sources.push((source.name.as_deref(), read.answer, unlisted));
        }
        Outcome::Answer(Box::new(table.answer(self, of, graph.node_name(node), end_ns)))
    }

    /// The groups that any source has, in the window or in an earlier one that is read. A group that has left these has a last row, so that
    /// what depends on it is seen to end.
    fn found<'a>(&self, window: &Window<'a>) -> Found<'a> {
        let mut found: Found<'a> = BTreeMap::new();
        let none = || vec![None; self.sources.len()];
        let own = |of: usize, key: &Key| -> Key {
            self.sources[of].key.iter().filter_map(|member| key.get(*member).cloned()).collect()
        };
        for (at, read) in window.reads.iter().enumerate() {
            for row in read.rows.rows() {
                let key = own(at, &read.rows.key(row));
                found.entry(key).or_insert_with(none)[at] = Some(row);
            }
        }
        for Reads { source, first_ns, number, .. } in self.reads() {
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

    fn member<'a>(&self, window: &Window<'_>, key: &'a Key, rows: &[Option<&[Value]>]) -> Member<'a> {
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
        Member { key, known, numbers }
    }
}

impl Window<'_> {
    /// A value of a group, of the window that ended so long before.
    fn value(&self, formula: &Formula, member: &Member<'_>, before_ns: u64) -> Known {
        match formula {
            Formula::Key(at) => member.key.get(*at).map_or(Known::Null, Known::of_member),
            Formula::Integer(number) => Known::Number(Number::integer((*number).into())),
            Formula::Number(number) => Known::Number(Number::float(*number)),
            Formula::Item { source, column } if before_ns == 0 => {
                member.known[*source].get(*column).cloned().unwrap_or(Known::Unknown)
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

    fn earlier(&self, source: usize, column: usize, member: &Member<'_>, before_ns: u64) -> Known {
        let Some(end_ns) = self.end_ns.checked_sub(before_ns) else { return Known::NoWindow };
        match self.past.value(self.reads[source].place, end_ns, member.numbers[source], column) {
            Earlier::Known(known) => known,
            Earlier::Unknown => Known::NoWindow,
            Earlier::NotKept => {
                self.lacks_room.set(true);
                Known::NoWindow
            }
        }
    }

    /// The mean over windows, of which at least half must be known.
    fn mean(&self, of: &Formula, member: &Member<'_>, first_ns: u64, number: u64) -> Known {
        let (mut windows, mut numbers) = (0, Vec::new());
        for at in 0..number {
            let before_ns = first_ns.saturating_add(at.saturating_mul(self.every_ns));
            if before_ns > self.end_ns {
                break;
            }
            match self.value(of, member, before_ns) {
                Known::NoWindow => continue,
                Known::Number(number) => numbers.push(number),
                Known::Null => {}
                Known::Unknown | Known::Other(_) => return Known::Unknown,
            }
            windows += 1;
        }
        if windows * 2 < number {
            return Known::NoWindow;
        }
        Number::mean(&numbers).map_or(Known::Null, Known::Number)
    }
}
