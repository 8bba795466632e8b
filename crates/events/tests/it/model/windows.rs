//! Random windows.

use super::draw::Draw;
use super::graphs::{SECOND, alphabet, draw_graph};
use events::{ColumnRole, EventKey, Graph, GraphQuery, ObservedWindow, QueryWindow};
use model::{Answer, AnswerStatus, ColumnKind, Span, Value};
use std::cell::OnceCell;

/// A time in which each node either has no packets or is missing, in all windows that lie in it.
#[derive(Clone, Debug)]
pub(crate) struct Quiet {
    pub(crate) span: Span,
    /// The nodes that are missing.
    pub(crate) missing: Vec<usize>,
}

/// A graph, and what its queries find when.
#[derive(Clone, Debug)]
pub(crate) struct History {
    number: u64,
    pub(crate) graph: Graph,
    pub(crate) first_ns: u64,
    pub(crate) steps: u64,
    /// Times in which a node is missing.
    away: Vec<(usize, Span)>,
    pub(crate) quiet: Vec<Quiet>,
    /// The keys of each query.
    keys: Vec<Vec<EventKey>>,
    /// In how many of a hundred windows a key has a row.
    present: u64,
    /// In how many of a hundred windows a figure is near the thresholds.
    odd: u64,
}

enum Content {
    Missing,
    Empty,
    Answer(Box<Answer>),
}

/// Answers of a query, a node and a window: that of a query without instances, and those of instances.
const VARIANTS: usize = 4;

/// The windows that end at one time; each is drawn when it is first asked for.
pub(crate) struct Windows<'a> {
    history: &'a History,
    end_ns: u64,
    contents: Vec<OnceCell<Content>>,
}

impl History {
    /// The history of this number, without quiet times.
    pub(crate) fn of(number: u64) -> Self {
        let mut draw = Draw::of(&[number]);
        let graph = draw_graph(&mut draw);
        let first_ns = draw.between(100, 111) * SECOND;
        let steps = draw.between(20, 40);
        let mut away = Vec::new();
        for node in 0..graph.nodes.len() {
            if draw.chance(50) {
                let start_ns = first_ns + draw.below(steps) * SECOND;
                away.push((node, Span { start_ns, end_ns: start_ns + draw.between(3, 14) * SECOND }));
            }
        }
        let keys = graph.queries.iter().map(|query| alphabet(&query.columns, &query.key)).collect();
        let (present, odd) = (draw.pick(&[15, 40, 80]), draw.pick(&[5, 20, 60]));
        Self { number, graph, first_ns, steps, away, quiet: Vec::new(), keys, present, odd }
    }

    /// The same with one or two quiet times of 50 to 500 windows between other windows.
    pub(crate) fn with_quiet_times(number: u64) -> Self {
        let mut history = Self::of(number);
        let mut draw = Draw::of(&[number, 1]);
        for trigger in history.graph.queries.iter_mut().filter_map(|query| query.trigger.as_mut()) {
            if draw.chance(40) {
                trigger.hold_ns = draw.between(10, 300) * SECOND;
            }
            if draw.chance(40) {
                trigger.cooldown_ns = draw.between(20, 400) * SECOND;
            }
        }
        let mut at = history.first_ns;
        for _ in 0..draw.between(1, 2) {
            let start_ns = at + draw.between(1, 25) * SECOND;
            if draw.chance(40) {
                // What is pending in one quiet time may go on in the next one.
                let gap = Span { start_ns: at, end_ns: start_ns };
                history.away.extend((0..history.graph.nodes.len()).map(|node| (node, gap)));
            }
            let end_ns = start_ns + draw.between(50, 500) * SECOND;
            let missing = (0..history.graph.nodes.len()).filter(|_| draw.chance(30)).collect();
            history.quiet.push(Quiet { span: Span { start_ns, end_ns }, missing });
            at = end_ns;
        }
        history.steps = (at - history.first_ns) / SECOND + draw.between(10, 40);
        history
    }

    /// The ends of its windows.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u64> + use<> {
        let first_ns = self.first_ns;
        (0..self.steps).map(move |step| first_ns + step * SECOND)
    }

    /// The windows that end then.
    pub(crate) fn windows(&self, end_ns: u64) -> Windows<'_> {
        let number = self.graph.queries.len() * self.graph.nodes.len() * VARIANTS;
        let contents = (0..number).map(|_| OnceCell::new()).collect();
        Windows { history: self, end_ns, contents }
    }

    fn draw_content(&self, query: usize, node: usize, variant: u64, window: Span) -> Content {
        let is_in = |span: &Span| window.start_ns >= span.start_ns && window.end_ns <= span.end_ns;
        if let Some(quiet) = self.quiet.iter().find(|quiet| is_in(&quiet.span)) {
            return if quiet.missing.contains(&node) { Content::Missing } else { Content::Empty };
        }
        let ends_in = |span: &Span| window.end_ns > span.start_ns && window.end_ns <= span.end_ns;
        if self.away.iter().any(|(of, span)| *of == node && ends_in(span)) {
            return Content::Missing;
        }
        let mut draw = Draw::of(&[self.number, query as u64, node as u64, window.end_ns, variant]);
        match draw.below(100) {
            0..4 => Content::Missing,
            4..16 => Content::Empty,
            _ => Content::Answer(self.draw_answer(query, node, window, &mut draw).into()),
        }
    }

    fn draw_answer(&self, number: usize, node: usize, window: Span, draw: &mut Draw) -> Answer {
        let query = &self.graph.queries[number];
        let mut columns: Vec<_> = query.columns.iter().map(|column| column.column.clone()).collect();
        let mut rows = Vec::new();
        for key in &self.keys[number] {
            if draw.chance(self.present) {
                rows.push(self.draw_row(query, key, draw));
            }
        }
        if let Some(column) = query.largest_first {
            let largest = |row: &Vec<Value>| (number_of(&row[column]) * -2.0) as i64;
            rows.sort_by_key(largest);
        } else if !rows.is_empty() {
            let first = draw.below(rows.len() as u64) as usize;
            rows.rotate_left(first);
        }
        if draw.chance(1) {
            columns.pop();
            rows.clear();
        }
        let mut answer = Answer::new(query.name.clone(), Some(window), columns, rows);
        answer.node = Some(self.graph.nodes[node].clone());
        answer.status = match draw.below(100) {
            0..15 => AnswerStatus::Cut,
            15..25 => AnswerStatus::Partial,
            _ => AnswerStatus::Complete,
        };
        answer.coverage = match draw.below(100) {
            0..30 => None,
            30..36 => Some(0.9),
            36..40 => Some(0.999),
            _ => Some(1.0),
        };
        if draw.chance(25) {
            answer.rest.groups = draw.between(1, 3);
            for column in &query.columns {
                if matches!(column.role, ColumnRole::Total | ColumnRole::Rate) && draw.chance(70) {
                    let total = self.draw_value(column, draw);
                    answer.rest.totals.push((column.column.name.clone(), total));
                }
            }
        }
        answer
    }

    fn draw_row(&self, query: &GraphQuery, key: &EventKey, draw: &mut Draw) -> Vec<Value> {
        let value = |(number, column): (usize, &events::AnswerColumn)| match query
            .key
            .iter()
            .position(|of| *of == number)
        {
            Some(position) => Value::from(&key[position]),
            None => self.draw_value(column, draw),
        };
        query.columns.iter().enumerate().map(value).collect()
    }

    fn draw_value(&self, column: &events::AnswerColumn, draw: &mut Draw) -> Value {
        let number = if draw.chance(self.odd) { draw.below(9) } else { 3 };
        if draw.chance(5) {
            return Value::Null;
        }
        if draw.chance(8) {
            let value = number as f64;
            let least = draw.pick(&[value, value - 1.0, f64::NEG_INFINITY]);
            let most = draw.pick(&[value, value + 2.0, f64::INFINITY]);
            return Value::Estimate { value, lower: least, upper: most };
        }
        match column.column.kind {
            ColumnKind::Float => Value::Float(number as f64 + draw.pick(&[0.0, 0.5])),
            ColumnKind::Signed => Value::Signed(number as i64 - i64::from(column.role != ColumnRole::Total)),
            _ => Value::Unsigned(number),
        }
    }
}

/// By what rows are ordered.
fn number_of(value: &Value) -> f64 {
    match value {
        Value::Unsigned(number) => *number as f64,
        Value::Signed(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Estimate { value, .. } => *value,
        _ => 0.0,
    }
}

impl Windows<'_> {
    /// What is known of a window.
    ///
    /// # Panics
    /// If a window is asked for that does not end at this time or is of another length than the query's.
    pub(crate) fn find(&self, asked: QueryWindow<'_>) -> ObservedWindow<'_> {
        let QueryWindow { query, node, instance, window } = asked;
        let of = &self.history.graph.queries[query];
        assert_eq!(window.end_ns, self.end_ns, "{} is asked for a window that does not end now", of.name);
        assert_eq!(window.length_ns(), of.over_ns, "{} is asked for a window of another length", of.name);
        assert!(of.nodes.contains(&node), "{} does not run on {node}", of.name);
        // Instances have answers of their own, of which there are a few.
        let variant = match instance {
            [] => 0,
            of => {
                1 + format!("{of:?}").bytes().fold(0, |sum, octet| sum + usize::from(octet)) % (VARIANTS - 1)
            }
        };
        let cell = &self.contents[(query * self.history.graph.nodes.len() + node) * VARIANTS + variant];
        let content = cell.get_or_init(|| self.history.draw_content(query, node, variant as u64, window));
        match content {
            Content::Missing => ObservedWindow::Missing,
            Content::Empty => ObservedWindow::Empty,
            Content::Answer(answer) => ObservedWindow::Answer(answer),
        }
    }
}
