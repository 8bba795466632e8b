//! The triggers of queries, by the numbers of other queries, their columns and their nodes.

use super::columns::groups;
use super::conditions::{ConditionSource, ConditionSources};
use super::{Chain, ChainSite};
use crate::checked::{CheckedQuery, EdgeKind, FieldBinding, SaidPart};
use crate::checker::group_text;
use crate::executor;
use events::{ALL_NODES, Binding, EvaluationPoint, QueryTrigger, TriggerKind};
use model::Column;

/// Queries are named.
fn listed(names: &[&str]) -> String {
    names.join(", ")
}

impl Chain {
    /// The trigger of a query, the sources of which are in the chain.
    pub(super) fn trigger(
        &self,
        query: &CheckedQuery,
        said: Option<&[SaidPart]>,
        site: &ChainSite<'_>,
    ) -> Result<QueryTrigger, String> {
        let Some(trigger) = &query.trigger else { return Err("nothing starts it".to_owned()) };
        let when = trigger.when.as_ref().ok_or("its condition has an error")?;
        let numbers = trigger.parents.iter().map(|name| self.number(name));
        let numbers: Vec<usize> = numbers.collect::<Result<_, _>>()?;
        let source = |number: &usize| ConditionSource {
            name: &self.graph.queries[*number].name,
            query: &self.graph.queries[*number],
            task: self.task(*number),
        };
        let sources = ConditionSources(numbers.iter().map(source).collect());
        let condition = sources.condition(when)?;
        let until = trigger.rearm.as_ref().map(|rearm| sources.condition(rearm)).transpose()?;
        let mut is_read = vec![false; sources.0.len()];
        let items =
            condition.items().into_iter().chain(until.iter().flat_map(events::TriggerCondition::items));
        items.for_each(|item| is_read[sources.place(item).0] = true);
        let keys = keys(&sources, &is_read, site)?;
        let title = match said {
            Some(said) => sources.said(said)?,
            None => sources.title(&condition),
        };
        let places = self.places(&sources)?;
        check_retrospective(query, trigger, &sources, site)?;
        let binding = |bound: &FieldBinding| binding(bound, &sources, &places);
        let bindings: Vec<Binding> = query.bindings.iter().map(binding).collect::<Result<_, _>>()?;
        let sources =
            numbers.iter().zip(keys).map(|(query, key)| events::TriggerSource { query: *query, key });
        Ok(QueryTrigger {
            kind: match trigger.kind {
                EdgeKind::WhenEach => TriggerKind::Each,
                EdgeKind::While => TriggerKind::While,
                EdgeKind::When | EdgeKind::From => TriggerKind::When,
            },
            sources: sources.collect(),
            places,
            condition,
            text: trigger.condition.clone(),
            title,
            hold_ns: trigger.for_ns.unwrap_or(0),
            until,
            cooldown_ns: trigger.cooldown_ns.unwrap_or(0),
            run_ns: trigger.run_ns.unwrap_or(0),
            in_same_window: trigger.in_same_window,
            within_ns: trigger.within_ns,
            bindings,
        })
    }

    /// Returns the places at which a condition is judged: node by node. A source of one node, or of all nodes together, counts for each of them.
    fn places(&self, sources: &ConditionSources<'_>) -> Result<Vec<EvaluationPoint>, String> {
        let first = &sources.0[0].query;
        if let Some(other) = sources.0.iter().find(|source| source.query.every_ns != first.every_ns) {
            let names = listed(&[sources.0[0].name, other.name]);
            return Err(format!("{names} answer windows of different lengths: give them the same 'every'"));
        }
        let many = sources.0.iter().filter(|source| source.query.nodes.len() != 1);
        let many: Vec<&ConditionSource<'_>> = many.collect();
        let of = |node: &usize| {
            let nodes = sources.0.iter().map(|source| match source.query.nodes[..] {
                [one] => one,
                _ => *node,
            });
            EvaluationPoint { node: *node, of: nodes.collect() }
        };
        match many[..] {
            [] => {
                let nodes: Vec<usize> = sources.0.iter().map(|source| source.query.nodes[0]).collect();
                let is_one = nodes.iter().all(|node| *node == nodes[0]);
                Ok(vec![EvaluationPoint { node: if is_one { nodes[0] } else { ALL_NODES }, of: nodes }])
            }
            [first, ref rest @ ..] => {
                match rest.iter().find(|other| other.query.nodes != first.query.nodes) {
                    None => Ok(first.query.nodes.iter().map(of).collect()),
                    Some(other) => {
                        let names = listed(&[first.name, other.name]);
                        Err(format!("{names} run on different nodes: name the nodes of both, or one of each"))
                    }
                }
            }
        }
    }
}

/// Refuses a query that must answer in the windows of its sources but cannot.
fn check_retrospective(
    query: &CheckedQuery,
    trigger: &crate::TriggerClause,
    sources: &ConditionSources<'_>,
    site: &ChainSite<'_>,
) -> Result<(), String> {
    if !trigger.in_same_window && trigger.kind != EdgeKind::While {
        return Ok(());
    }
    if query.sketch.is_some() {
        return Err("nodes keep the rows of the window that fired, and structures count packets".to_owned());
    }
    if query.across.is_some() {
        return Err("answers across nodes are not put together in the window that fired".to_owned());
    }
    if !query.derived_from.is_empty() || !query.earlier.is_empty() {
        return Err("answers of other queries are not read in the window that fired".to_owned());
    }
    // The key of the nodes may be another one than the text was checked for.
    let fields = query.bindings.iter().map(|bound| &*bound.field);
    let (fields, _) = executor::by_packets_of_firing(&query.plan, fields, Some(site.key));
    if let Some(field) = fields.first() {
        let clause = if trigger.in_same_window { "in same window" } else { "while" };
        let (why, instead) =
            (executor::not_kept(&query.label, field), executor::instead_of_kept(field, clause));
        return Err(format!("{why}: {instead}"));
    }
    let first = &sources.0[0];
    match super::lengths(&query.plan, site).0 == first.query.every_ns {
        true => Ok(()),
        false => Err(format!("it answers in the windows of {}: give both the same 'every'", first.name)),
    }
}

/// The columns of the key in each source that is read; a source without a key counts for all keys of the others.
fn keys(
    sources: &ConditionSources<'_>,
    is_read: &[bool],
    site: &ChainSite<'_>,
) -> Result<Vec<Option<Vec<usize>>>, String> {
    let names = |source: &ConditionSource<'_>| -> Vec<String> {
        groups(source.task, site.key).iter().map(group_text).collect()
    };
    let read = || sources.0.iter().zip(is_read).filter(|(_, is_read)| **is_read).map(|(source, _)| source);
    let Some(keyed) = read().find(|source| !source.query.key.is_empty()) else {
        // The one group of each.
        return Ok(is_read.iter().map(|is_read| is_read.then(Vec::new)).collect());
    };
    let key = names(keyed);
    let of = |(source, is_read): (&ConditionSource<'_>, &bool)| {
        if !is_read || source.query.key.is_empty() {
            return Ok(None);
        }
        let own = names(source);
        let column = |name: &String| own.iter().position(|own| own == name).map(|at| source.query.key[at]);
        let columns: Option<Vec<usize>> = key.iter().map(column).collect();
        match columns.filter(|columns| columns.len() == own.len()) {
            Some(columns) => Ok(Some(columns)),
            None => {
                let (a, b) = (key.join(", "), own.join(", "));
                Err(format!(
                    "{} groups by {a}, but {} by {b}: group both by the same",
                    keyed.name, source.name
                ))
            }
        }
    };
    sources.0.iter().zip(is_read).map(of).collect()
}

fn binding(
    bound: &FieldBinding,
    sources: &ConditionSources<'_>,
    places: &[EvaluationPoint],
) -> Result<Binding, String> {
    let source = sources.0.iter().position(|source| source.name == bound.parent);
    let source = source.ok_or_else(|| format!("{} is not in when", bound.parent))?;
    if bound.field == "node_id" {
        return match places.iter().all(|place| place.node != ALL_NODES) {
            true => Ok(Binding::Node),
            false => Err(format!("{} is answered of several nodes together: it pins no node", bound.parent)),
        };
    }
    if bound.field == "conversation" {
        return Err("a conversation is not pinned: pin its addresses and ports".to_owned());
    }
    let item = sources.item_of(source, &bound.item)?;
    let (at, column) = sources.place(item);
    let of = &sources.0[at].query.columns[column].column;
    let column = Column { name: bound.field.clone(), unit: String::new(), ..of.clone() };
    Ok(Binding::Field { column, item })
}
