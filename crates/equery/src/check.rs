//! The way from a text to checked queries.

mod computed;
mod planning;

use crate::ast::{QueryText, Spanned};
use crate::canonical::{name_fields, name_items};
use crate::checked::{CheckedQuery, CheckedText, EdgeKind, EventEdge, EventGraph};
use crate::checker::{Checker, Links, Outline, QueryNeeds, concerns, derived, finish, outline, sources};
use crate::diagnostic::Diagnostics;
use crate::graph::{cycles, ordered};
use crate::habits::without_table;
use crate::kind::ValueKind;
use crate::options::CheckOptions;
use crate::parents::{Parent, Parents};
use crate::source::SourceText;
use crate::variables::{Variables, constants};
use crate::{lexer, parser};
use model::is_own_query;
use std::collections::{HashMap, HashSet};

/// The largest text that is read.
const LARGEST: usize = 1 << 20;
/// The longest chain of queries that trigger each other.
const LONGEST_CHAIN: usize = 16;

/// Checks a text and plans its queries. All its errors are reported, up to fifty; it never panics.
pub fn check(source: &SourceText<'_>, options: &CheckOptions) -> CheckedText {
    let mut diagnostics = Diagnostics::new(source.text);
    if source.text.len() > LARGEST {
        let message = format!("the text has {} bytes: at most {LARGEST} (1 MiB) are read", source.text.len());
        diagnostics.error_with_help("too_large", &(0..0), message, "split it into several files");
        return CheckedText { diagnostics: diagnostics.finish(), ..CheckedText::default() };
    }
    let tokens = lexer::tokens(source.text, &mut diagnostics);
    let constants = constants(&tokens, &options.set);
    let mut file = parser::parse(&tokens, &constants, &mut diagnostics);
    file.queries.iter_mut().for_each(name_fields);
    let variables = Variables::new(&file.definitions, &options.set, &mut diagnostics);
    let labels = labels(&file.queries, &mut diagnostics);
    let is_query = |name: &str| {
        let mut known = options.continuous.iter().map(|standing| &standing.name).chain(&labels);
        known.any(|known| known == name)
    };
    file.queries.iter_mut().for_each(|query| without_table(query, is_query));
    let mut session = CheckSession {
        texts: file.queries,
        labels,
        variables,
        options,
        parents: continuous_parents(options),
        outlines: Vec::new(),
    };
    session.outlines.resize_with(session.texts.len(), || None);
    session.outline(&mut diagnostics);
    let links = session.link(&mut diagnostics);
    let graph = session.graph(&links, &mut diagnostics);
    let spans = session.texts.iter().map(|query| query.span.0.clone());
    let places = session.labels.iter().cloned().zip(spans).collect();
    let queries = session.planned(links, &mut diagnostics);
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let definitions = session.variables.definitions_in(&texts.join(" "));
    CheckedText { queries, definitions, diagnostics: diagnostics.finish(), graph, places }
}

/// Names of queries: their labels, and `q1`, `q2`, … as far as these are free.
fn labels(queries: &[QueryText], diagnostics: &mut Diagnostics<'_>) -> Vec<String> {
    let mut taken: HashSet<&str> = HashSet::new();
    for label in queries.iter().filter_map(|query| query.label.as_ref()) {
        if !taken.insert(&label.value) {
            let message = format!(
                "the label '{}' stands here for the second time",
                crate::lexer::shortened(&label.value)
            );
            diagnostics.error_with_help(
                "duplicate_label",
                &label.span,
                message,
                "give the query another label",
            );
        }
        if is_own_query(&label.value) {
            let message = format!(
                "the name '{}' is taken by Edison, which answers a query of this name in every run",
                label.value
            );
            let help = "give the query another name";
            diagnostics.error_with_help("taken_name", &label.span, message, help);
        }
    }
    let mut next = 0;
    let free = |next: &mut usize| loop {
        *next += 1;
        let name = format!("q{next}");
        if !taken.contains(name.as_str()) {
            return name;
        }
    };
    let label =
        |query: &QueryText| query.label.as_ref().map_or_else(|| free(&mut next), |label| label.value.clone());
    queries.iter().map(label).collect()
}

fn continuous_parents(options: &CheckOptions) -> Parents {
    let parent = |standing: &crate::QueryItems| {
        let names = standing.columns.iter().chain(&standing.keys);
        let field = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
        let kind =
            |name: &str| crate::fields::find(&field(name)).map_or(ValueKind::Unknown, |field| field.kind);
        let names = names.map(|name| (name.clone(), kind(name)));
        let items = names.chain(standing.keys.iter().map(|key| (field(key), kind(key))));
        Parent::new(items, standing.keys.clone(), standing.over)
    };
    options.continuous.iter().map(|standing| (standing.name.clone(), parent(standing))).collect()
}

/// The queries of a text while they are checked.
struct CheckSession<'a> {
    texts: Vec<QueryText>,
    labels: Vec<String>,
    variables: Variables,
    options: &'a CheckOptions,
    parents: Parents,
    outlines: Vec<Option<Outline>>,
}

impl CheckSession<'_> {
    /// Checks each query for itself, derived ones after those that they read.
    fn outline(&mut self, diagnostics: &mut Diagnostics<'_>) {
        let numbers: HashMap<&str, usize> =
            self.labels.iter().enumerate().rev().map(|(at, label)| (label.as_str(), at)).collect();
        let number = |name: &Spanned<String>| numbers.get(name.value.as_str()).copied();
        let read = |text: &QueryText| -> Vec<usize> { sources(text).iter().filter_map(number).collect() };
        let dependencies: Vec<Vec<usize>> = self.texts.iter().map(read).collect();
        let order = ordered(&dependencies);
        for cycle in cycles(&dependencies, &order) {
            self.report_cycle(&cycle, "read", diagnostics);
        }
        let is_ordered: HashSet<usize> = order.iter().copied().collect();
        let others = (0..self.texts.len()).filter(|at| !is_ordered.contains(at));
        for at in others {
            self.parents.insert(self.labels[at].clone(), Parent::default());
        }
        for at in order {
            name_items(&mut self.texts[at], &self.parents);
            let (text, label) = (&self.texts[at], &self.labels[at]);
            let mut checker = self.checker(diagnostics);
            let outline = match sources(text) {
                [] => outline(&mut checker, text, label),
                _ => derived(&mut checker, text, label),
            };
            let parent = outline.as_ref().map(Outline::parent).unwrap_or_default();
            self.parents.insert(label.clone(), parent);
            self.outlines[at] = outline;
        }
    }

    fn checker<'c, 't>(&'c self, diagnostics: &'c mut Diagnostics<'t>) -> Checker<'c, 't> {
        let Self { variables, options, parents, .. } = self;
        Checker {
            diagnostics,
            variables,
            options,
            parents,
            used: QueryNeeds::default(),
            sources: &[],
            expanded: 0,
            kept_nulls: Vec::new(),
            query: None,
        }
    }

    fn report_cycle(&self, cycle: &[usize], verb: &str, diagnostics: &mut Diagnostics<'_>) {
        let names = cycle.iter().chain(cycle.first()).map(|at| self.labels[*at].as_str());
        let path = names.take(20).collect::<Vec<_>>().join(" → ");
        let message = format!("queries {verb} each other in a circle: {path}");
        let clause = |text: &QueryText| match verb {
            "read" => text.from.as_ref().map(|clause| clause.span.clone()),
            _ => text.trigger.as_ref().map(|clause| clause.span.clone()),
        };
        let span = cycle
            .iter()
            .find_map(|at| clause(&self.texts[*at]))
            .unwrap_or_else(|| self.texts[cycle[0]].span.0.clone());
        diagnostics.error_with_help("cycle", &span, message, "remove one of these references");
    }

    /// Checks what refers to other queries, also of queries that have errors elsewhere.
    fn link(&mut self, diagnostics: &mut Diagnostics<'_>) -> Vec<Links> {
        self.texts.iter_mut().for_each(|text| name_items(text, &self.parents));
        let mut links = Vec::with_capacity(self.texts.len());
        for ((text, label), outline) in self.texts.iter().zip(&self.labels).zip(&self.outlines) {
            links.push(finish(&mut self.checker(diagnostics), text, label, outline.as_ref()));
        }
        for at in 0..links.len() {
            links[at].has_errors |= self.says_in_vain(at, &links, diagnostics);
        }
        links
    }

    /// Returns whether a query says something of firings that there are none of, and reports it.
    fn says_in_vain(&self, at: usize, links: &[Links], diagnostics: &mut Diagnostics<'_>) -> bool {
        let (text, label) = (&self.texts[at], &self.labels[at]);
        let Some(say) = text.say.as_ref().filter(|_| text.trigger.is_none()) else { return false };
        let is_judged = |(text, links): (&QueryText, &Links)| {
            let Some(trigger) = &text.trigger else { return (false, false) };
            let concerns = concerns(&trigger.value.condition, label);
            // Of a condition with an error it is not known what it rests on.
            let when = links.trigger.as_ref().and_then(|trigger| trigger.when.as_ref());
            (concerns, when.map_or(concerns, |when| when.rests_on(label)))
        };
        let judged: Vec<(bool, bool)> = self.texts.iter().zip(links).map(is_judged).collect();
        if judged.iter().any(|(_, rests)| *rests) || links[at].has_errors {
            return false;
        }
        let why = match judged.iter().any(|(concerns, _)| *concerns) {
            true => format!("each condition that concerns '{label}' may hold whatever it answers"),
            false => format!("no condition concerns '{label}'"),
        };
        let message = format!("'say' titles what fires, but {why}");
        let help = format!("write it in a query with 'when {label}.…', or remove it");
        diagnostics.error_with_help("say", &say.span, message, help);
        true
    }

    /// The graph of events, without circles and long chains.
    fn graph(&self, links: &[Links], diagnostics: &mut Diagnostics<'_>) -> EventGraph {
        let numbers: HashMap<&str, usize> =
            self.labels.iter().enumerate().rev().map(|(at, label)| (label.as_str(), at)).collect();
        let number = |name: &String| numbers.get(name.as_str()).copied();
        let triggers = |links: &Links| -> Vec<usize> {
            links.trigger.iter().flat_map(|trigger| &trigger.parents).filter_map(number).collect()
        };
        let triggers: Vec<Vec<usize>> = links.iter().map(triggers).collect();
        let read = |text: &QueryText| -> Vec<usize> {
            sources(text).iter().filter_map(|name| number(&name.value)).collect()
        };
        let reads = self.texts.iter().map(read);
        let dependencies: Vec<Vec<usize>> =
            triggers.iter().zip(reads).map(|(triggers, read)| [&triggers[..], &read].concat()).collect();
        let order = ordered(&dependencies);
        for cycle in cycles(&dependencies, &order) {
            let next = cycle.iter().cycle().skip(1);
            let is_trigger = |(at, next): (&usize, &usize)| triggers[*at].contains(next);
            let by_trigger = cycle.iter().zip(next).filter(|(at, next)| is_trigger((at, next))).count();
            // A circle of queries that read each other is reported already.
            match by_trigger {
                0 => {}
                all if all == cycle.len() => self.report_cycle(&cycle, "trigger", diagnostics),
                _ => self.report_cycle(&cycle, "read and trigger", diagnostics),
            }
        }
        let mut steps = vec![0; self.texts.len()];
        for at in order {
            steps[at] = 1 + dependencies[at].iter().map(|parent| steps[*parent]).max().unwrap_or(0);
            if steps[at] == LONGEST_CHAIN + 1 {
                let message = format!(
                    "the chain that ends in '{}' has more than {LONGEST_CHAIN} queries",
                    self.labels[at]
                );
                let text = &self.texts[at];
                let trigger = text.trigger.as_ref().map(|clause| clause.span.clone());
                let from = text.from.as_ref().map(|clause| clause.span.clone());
                let span = trigger.or(from).unwrap_or(0..0);
                diagnostics.error("chain_too_long", &span, message);
            }
        }
        let mut edges = Vec::new();
        for (at, links) in links.iter().enumerate() {
            let edge = |from: &String, kind, condition: &str| EventEdge {
                from: from.clone(),
                to: self.labels[at].clone(),
                kind,
                condition: condition.to_owned(),
            };
            let trigger = links.trigger.iter();
            edges.extend(trigger.flat_map(|trigger| {
                trigger.parents.iter().map(|from| edge(from, trigger.kind, &trigger.condition))
            }));
            edges.extend(sources(&self.texts[at]).iter().map(|from| edge(&from.value, EdgeKind::From, "")));
        }
        EventGraph { nodes: self.labels.clone(), edges }
    }

    /// The queries that have no errors.
    fn planned(&mut self, links: Vec<Links>, diagnostics: &mut Diagnostics<'_>) -> Vec<CheckedQuery> {
        let outlines = std::mem::take(&mut self.outlines);
        let all = outlines.into_iter().zip(links).zip(self.texts.iter().zip(&self.labels));
        let planned = all.filter_map(|((outline, links), (text, label))| {
            let outline = outline.filter(|_| !links.has_errors)?;
            self.planned_query(outline, links, text, label, diagnostics)
        });
        planned.collect()
    }
}
