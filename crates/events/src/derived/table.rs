//! Groups whose values are computed, put into an answer.

use crate::condition::GroupFigures;
use crate::derived::derivation::Derivation;
use crate::figure::ColumnRole;
use crate::graph::{Graph, GraphQuery};
use crate::key::EventKey;
use crate::known::{BoundedNumber, DerivedValue};
use crate::truth::TruthValue;
use model::{Answer, AnswerStatus, Class, Column, Rest, Span, Value};
use notation::Operator;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A group and its values.
pub(crate) struct ComputedGroup {
    pub(crate) key: EventKey,
    pub(crate) values: Vec<DerivedValue>,
}

/// The groups of a window, and where they come from.
pub(crate) struct DerivedTable<'a> {
    pub(crate) groups: Vec<ComputedGroup>,
    /// The reasons why the answer is not complete.
    pub(crate) reasons: Vec<String>,
    /// The name of each source, its answer, and how many of the groups it does not list.
    pub(crate) sources: Vec<(Option<&'a str>, Option<&'a Answer>, u64)>,
}

impl DerivedTable<'_> {
    pub(crate) fn answer(
        mut self,
        derivation: &Derivation,
        graph: &Graph,
        (query, node): (usize, usize),
        window: Option<Span>,
    ) -> Answer {
        let (query, node) = (&graph.queries[query], graph.node_name(node));
        let undecided = self.restrict(derivation);
        self.groups.sort_by(|one, other| compare(derivation, one, other));
        let beyond = self.groups.split_off(derivation.limit.min(self.groups.len()));
        let is_uncounted = |answer: &Option<&Answer>| {
            answer.is_some_and(|answer| answer.rest.is_open || answer.may_lack_groups())
        };
        let is_open = !query.key.is_empty() && self.sources.iter().any(|(_, answer, _)| is_uncounted(answer));
        let more = self.more_groups().max(is_open.into());
        let columns: Vec<Column> = query.columns.iter().map(|column| column.column.clone()).collect();
        let row = |group: &ComputedGroup| -> Vec<Value> {
            columns.iter().zip(&group.values).map(|(column, known)| known.value(column.kind)).collect()
        };
        let rows = self.groups.iter().map(row).collect();
        let groups = (beyond.len() as u64).saturating_add(more);
        let totals = if more == 0 { totals(&beyond, query) } else { Vec::new() };
        let mut answer = Answer {
            node: node.map(str::to_owned),
            rest: Rest { groups, is_open, totals },
            ..Answer::new(query.name.clone(), window, columns, rows)
        };
        let shown = self.groups.iter().flat_map(|group| group.values.iter().take(answer.columns.len()));
        // Groups that a source does not list may be larger than those that are known.
        if more != 0 || shown.clone().any(DerivedValue::is_open) {
            answer.bounds = "certain".to_owned();
        }
        let unknown = shown.filter(|known| matches!(known, DerivedValue::Unknown)).count();
        self.take_sources(&mut answer);
        let said = |number: usize, one: &str, what: [&str; 2]| {
            (number != 0).then(|| notation::counted_as(number as u64, one, what))
        };
        let undecided = said(
            undecided,
            "group",
            [
                "of which it is not known whether it passes having",
                "of which it is not known whether they pass having",
            ],
        );
        self.reasons.extend(undecided);
        // What was watched in part, or is not complete, says that itself.
        if answer.status == AnswerStatus::Complete && self.reasons.is_empty() {
            self.reasons.extend(said(unknown, "value", ["that may be anything"; 2]));
        }
        self.reasons.iter().for_each(|reason| answer.mark_partial(reason));
        self.remark_mixed(&mut answer, derivation, graph);
        self.remark_sources(&mut answer);
        answer
    }

    /// Says of values that are computed of what different nodes measured what else is in them. In a window that may be anything. Over the whole run
    /// packets are counted on either side once, whenever they passed: counts are of the same packets, but for those at its two ends. Moments are still
    /// those of each node's own clock.
    fn remark_mixed(&self, answer: &mut Answer, derivation: &Derivation, graph: &Graph) {
        let clocks = if answer.window.is_none() { derivation.clocks(graph) } else { Vec::new() };
        let is_count = |number: &usize| !clocks.iter().any(|(own, _)| own == number);
        let counts: Vec<usize> = derivation.mixed().into_iter().filter(is_count).collect();
        if !counts.is_empty() {
            let within = match answer.window {
                Some(_) => {
                    answer.bounds = "none".to_owned();
                    "what was under way between them and how far their clocks differ is in it"
                }
                None => "what was under way between them when the run began and when it ended is in it",
            };
            let compares = compares(answer, counts.into_iter());
            answer.remark(&format!("{compares} counts of different nodes: {within}"));
        }
        if !clocks.is_empty() {
            answer.bounds = "none".to_owned();
            let nodes: BTreeSet<Option<usize>> =
                clocks.iter().flat_map(|(_, nodes)| nodes).copied().collect();
            let name =
                |node: Option<usize>| node.and_then(|node| graph.node_name(node)).unwrap_or("all nodes");
            let names: Vec<&str> = nodes.into_iter().map(name).collect();
            let compares = compares(answer, clocks.iter().map(|(number, _)| *number));
            let within = "how far their clocks differ is in it";
            answer.remark(&format!("{compares} times of {}: {within}", names.join(" and ")));
        }
    }

    /// Says what is to be known of the answer because it is to be known of a source that lacks nothing: groups without a sampled packet, and what is
    /// in values of different nodes. Of the whole run also which packets a node lost before it measured them.
    fn remark_sources(&self, answer: &mut Answer) {
        for (name, source, _) in &self.sources {
            let Some(source) = source else { continue };
            let lost = source.coverage.filter(|coverage| *coverage < 1.0 && answer.window.is_none());
            if let Some(coverage) = lost {
                let percent = ((1.0 - coverage) * 100.0).max(0.0001);
                let of = name.map(|name| format!("{name}: ")).unwrap_or_default();
                let words = format!("the node lost {percent:.4} % of its packets before it measured them");
                answer.remark(&format!("{of}{words}"));
            }
        }
        // The reasons of a partial source are among those of the answer.
        let sources = self.sources.iter().filter_map(|(name, source, _)| Some((*name, (*source)?)));
        let sources = sources.filter(|(_, source)| source.status != AnswerStatus::Partial);
        let mut remarks: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, reason) in sources.filter_map(|(name, source)| Some((name, source.reason.as_deref()?))) {
            match remarks.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.extend(name),
                None => remarks.push((reason, name.into_iter().collect())),
            }
        }
        for (reason, names) in remarks {
            match &names[..] {
                [] => answer.remark(reason),
                names => answer.remark(&format!("{}: {reason}", names.join(", "))),
            }
        }
    }

    /// Leaves out groups that do not pass `having`. Returns of how many it is not known.
    fn restrict(&mut self, derivation: &Derivation) -> usize {
        let Some(having) = &derivation.having else { return 0 };
        let items = having.items();
        let mut undecided = 0;
        self.groups.retain(|group| {
            let figures: Vec<_> = group.values.iter().map(DerivedValue::figure).collect();
            let truth = having.holds(GroupFigures::from_figures(&figures));
            // What is null passes nothing, whatever else becomes known.
            let is_open = |item: &usize| group.values.get(*item).is_some_and(DerivedValue::is_open);
            undecided += usize::from(truth == TruthValue::Unknown && items.iter().any(is_open));
            truth == TruthValue::True
        });
        undecided
    }

    /// Groups that no source lists: the least possible number, and 0 only if there are none.
    fn more_groups(&self) -> u64 {
        let of = |(_, answer, unlisted): &(Option<&str>, Option<&Answer>, u64)| {
            let rest = answer.map_or(0, |answer| answer.rest.groups);
            if rest == 0 { 0 } else { rest.saturating_sub(*unlisted).max(1) }
        };
        self.sources.iter().map(of).max().unwrap_or(0)
    }

    /// Takes over what holds of the answer because it holds of the sources'.
    fn take_sources(&mut self, answer: &mut Answer) {
        for (name, source, _) in &self.sources {
            let Some(source) = source else { continue };
            answer.coverage = match (answer.coverage, source.coverage) {
                (Some(own), Some(other)) => Some(own.min(other)),
                (own, other) => own.or(other),
            };
            if matches!(source.class, Class::Sketch | Class::Sample) {
                answer.class = source.class;
            }
            answer.sampling = answer.sampling.or(source.sampling);
            if !["exact", "certain"].contains(&&*source.bounds) {
                answer.join_bounds(&source.bounds);
            }
            if let Some(watched) = source.watched {
                let own = answer.watched.unwrap_or(watched);
                answer.watched = Some(Span {
                    start_ns: own.start_ns.max(watched.start_ns),
                    end_ns: own.end_ns.min(watched.end_ns),
                });
            }
            match source.status {
                AnswerStatus::Complete => {}
                AnswerStatus::Cut => answer.status = AnswerStatus::Cut,
                AnswerStatus::Partial => {
                    let reason = source.reason.as_deref().unwrap_or("incomplete");
                    self.reasons.push(match name {
                        Some(name) => format!("{name}: {reason}"),
                        None => reason.to_owned(),
                    });
                }
            }
        }
        // Nodes that were watched at different times were never watched together.
        answer.watched = answer.watched.filter(|watched| watched.start_ns < watched.end_ns);
    }
}

/// Names the columns of these values, with the verb that fits them; other values are read by conditions and orders.
fn compares(answer: &Answer, values: impl Iterator<Item = usize>) -> String {
    let columns = values.filter_map(|number| answer.columns.get(number));
    let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
    match &names[..] {
        [] => "having or order by compares".to_owned(),
        [name] => format!("{name} compares"),
        names => format!("{} compare", names.join(", ")),
    }
}

/// Compares two groups by the order of the answer.
fn compare(derivation: &Derivation, one: &ComputedGroup, other: &ComputedGroup) -> Ordering {
    let by_values = derivation.order.iter().map(|order| {
        let of = |group: &ComputedGroup| group.values.get(order.value).cloned().unwrap_or(DerivedValue::Null);
        of(one).order(&of(other), order.descending)
    });
    by_values.fold(Ordering::Equal, Ordering::then).then_with(|| one.key.cmp(&other.key))
}

/// The totals of groups, of columns that are sums and counts.
fn totals(groups: &[ComputedGroup], query: &GraphQuery) -> Vec<(String, Value)> {
    if groups.is_empty() {
        return Vec::new();
    }
    let columns = query.columns.iter().enumerate();
    let of_sums = columns.filter(|(_, column)| matches!(column.role, ColumnRole::Total | ColumnRole::Net));
    let total = |at: usize| {
        let values = groups.iter().filter_map(|group| group.values.get(at)).cloned();
        values.fold(DerivedValue::Number(BoundedNumber::integer(0)), |sum, value| {
            sum.calculate(Operator::Add, value)
        })
    };
    of_sums.map(|(at, column)| (column.column.name.clone(), total(at).value(column.column.kind))).collect()
}
