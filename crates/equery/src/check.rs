//! The way from a text to checked queries.

mod computed;

use crate::ast::{QueryText, Spanned};
use crate::canonical::{name_fields, name_items};
use crate::checked::{
    Bound, Checked, CheckedQuery, Column, EdgeKind, EventEdge, EventGraph, NotRun, Trigger,
};
use crate::checker::{Checker, Links, Outline, Used, derived, finish, outline, sources};
use crate::diagnostic::Diagnostics;
use crate::earlier::{self, Earlier};
use crate::graph::{cycles, ordered};
use crate::habits::without_table;
use crate::kind::Kind;
use crate::memory;
use crate::options::Options;
use crate::parents::{Parent, Parents};
use crate::sketch::{self, sketch};
use crate::source::Source;
use crate::variables::{Variables, constants};
use crate::whole_flows::of_flows;
use crate::{executor, lexer, parser};
use model::{Class, is_own_query};
use packet::Pins;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use task::query::Query;

/// The largest text that is read.
const LARGEST: usize = 1 << 20;
/// The longest chain of queries that trigger each other.
const LONGEST_CHAIN: usize = 16;

/// Checks a text and plans its queries. All its errors are reported, up to fifty; it never panics.
pub fn check(source: &Source<'_>, options: &Options) -> Checked {
    let mut diagnostics = Diagnostics::new(source.text);
    if source.text.len() > LARGEST {
        let message = format!("the text has {} bytes: at most {LARGEST} (1 MiB) are read", source.text.len());
        diagnostics.error_with_help("too_large", &(0..0), message, "split it into several files");
        return Checked { diagnostics: diagnostics.finish(), ..Checked::default() };
    }
    let tokens = lexer::tokens(source.text, &mut diagnostics);
    let constants = constants(&tokens, &options.set);
    let mut file = parser::parse(&tokens, &constants, &mut diagnostics);
    file.queries.iter_mut().for_each(name_fields);
    let variables = Variables::new(&file.definitions, &options.set, &mut diagnostics);
    let labels = labels(&file.queries, &mut diagnostics);
    let is_query = |name: &str| {
        let mut known = options.standing.iter().map(|standing| &standing.name).chain(&labels);
        known.any(|known| known == name)
    };
    file.queries.iter_mut().for_each(|query| without_table(query, is_query));
    let mut session = Session {
        texts: file.queries,
        labels,
        variables,
        options,
        parents: standing(options),
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
    Checked { queries, definitions, diagnostics: diagnostics.finish(), graph, places }
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

fn standing(options: &Options) -> Parents {
    let parent = |standing: &crate::Standing| {
        let names = standing.columns.iter().chain(&standing.keys);
        let field = |name: &str| name.split('/').next().unwrap_or(name).to_owned();
        let kind = |name: &str| crate::fields::find(&field(name)).map_or(Kind::Unknown, |field| field.kind);
        let names = names.map(|name| (name.clone(), kind(name)));
        let items = names.chain(standing.keys.iter().map(|key| (field(key), kind(key))));
        Parent::new(items, standing.keys.clone(), standing.over)
    };
    options.standing.iter().map(|standing| (standing.name.clone(), parent(standing))).collect()
}

/// The queries of a text while they are checked.
struct Session<'a> {
    texts: Vec<QueryText>,
    labels: Vec<String>,
    variables: Variables,
    options: &'a Options,
    parents: Parents,
    outlines: Vec<Option<Outline>>,
}

impl Session<'_> {
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
            used: Used::default(),
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
        for (text, outline) in self.texts.iter().zip(&self.outlines) {
            links.push(finish(&mut self.checker(diagnostics), text, outline.as_ref()));
        }
        links
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

    fn planned_query(
        &self,
        outline: Outline,
        links: Links,
        text: &QueryText,
        label: &str,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<CheckedQuery> {
        let is_of_traffic = sources(text).is_empty()
            && outline.bindings.is_empty()
            && outline.history.is_none()
            && outline.used.earlier.is_empty()
            && links.trigger.is_none();
        let sketch = match sketch::is_asked(text) && is_of_traffic {
            true => {
                let asked = (&outline.plan, &outline.used.of_packets);
                Some(sketch(text, asked, &self.variables, self.options, diagnostics)?)
            }
            false => None,
        };
        let flows = self.options.flows.unwrap_or(memory::USUAL_FLOWS);
        let earlier: Vec<Earlier> = outline.used.earlier.iter().map(|(earlier, _)| earlier.clone()).collect();
        // What nodes answer.
        let of_rows_plan = match (&earlier[..], sources(text)) {
            ([], _) | (_, [_, ..]) => outline.plan.clone(),
            (earlier, []) => earlier::base(&outline.plan, earlier),
        };
        let past_bytes = self.past_bytes(&outline, &earlier, flows, diagnostics);
        let of_rows = || memory::estimate(&of_rows_plan, flows);
        let memory_bytes = sketch.as_ref().map_or_else(of_rows, |sketch| sketch.memory_bytes);
        if let Some(most) = self.options.memory_bytes.filter(|most| memory_bytes > *most) {
            let span = text.limit.as_ref().map_or_else(|| text.span.0.clone(), |limit| limit.span.clone());
            let size = |bytes: u64| notation::scaled(bytes as f64, "B");
            let message =
                format!("the query may take {}, but --memory allows {}", size(memory_bytes), size(most));
            let help = match &sketch {
                Some(_) => "give the structure less memory, or allow more error or more memory",
                None => "lower limit or the number in top, group by fewer values, or allow more memory",
            };
            diagnostics.error_with_help("memory", &span, message, help);
            return None;
        }
        // What the executor refuses of it, anywhere: not on the day that it runs.
        let is_of_rows = sketch.is_none() && sources(text).is_empty() && outline.bindings.is_empty();
        if is_of_rows && outline.used.not_run.is_empty() {
            let columns = executor::columns(&of_rows_plan, self.options.key.as_deref());
            let refusals = columns.err().unwrap_or_default();
            let instead = match refusals.is_empty() {
                true => None,
                false => self.of_whole_flows(text, label),
            };
            for refusal in &refusals {
                match &instead {
                    Some(instead) => {
                        let help = format!("of whole flows it is '{instead}'");
                        diagnostics.error_with_help("refused", &text.span.0, refusal.clone(), help);
                    }
                    None => diagnostics.error("refused", &text.span.0, refusal.clone()),
                }
            }
            if !refusals.is_empty() {
                return None;
            }
        }
        if let Some(field) = looks_back(links.trigger.as_ref())
            .then(|| {
                let pinned = links.bindings.iter().map(|bound| &*bound.field);
                executor::by_packets_of_firing(&of_rows_plan, pinned, self.options.key.as_deref())
            })
            .and_then(|(fields, _)| fields.into_iter().next())
            .filter(|_| sources(text).is_empty())
        {
            let clause = if text.same_window.is_some() { "in same window" } else { "while" };
            let span = text.same_window.as_ref().map(|clause| &clause.span);
            let span = span.or(text.trigger.as_ref().map(|clause| &clause.span)).unwrap_or(&text.span.0);
            let message = executor::not_kept(label, &field);
            let help = executor::instead_of_kept(&field, clause);
            diagnostics.error_with_help("same_window", span, message, help);
            return None;
        }
        let across = self.across_not_run(text, &outline, &of_rows_plan, sketch.is_some());
        let pins_flows = pins_flows(&outline.plan, &links.bindings);
        let (class, class_reasons) = class(text, &outline.used, pins_flows);
        let mut not_run = outline.used.not_run;
        not_run.extend(unpinned(&outline.used.of_packets, pins_flows));
        not_run.extend(links.not_run);
        not_run.extend(other_not_run(text, is_of_traffic));
        not_run.extend(across);
        not_run.extend(self.parents_not_run(text, links.trigger.as_ref()));
        not_run.extend(self.sources_not_run(text));
        not_run.extend(computed::earlier_not_run(&outline.bindings, &outline.used.earlier));
        not_run.sort_by_key(|found| found.span.start);
        let columns =
            outline.columns.list.into_iter().map(|(name, typed)| Column { name, kind: typed.kind }).collect();
        Some(CheckedQuery {
            label: label.to_owned(),
            text: text.to_string(),
            definitions: self.variables.definitions_in(&text.to_string()),
            text_span: text.span.0.clone(),
            columns,
            nodes: outline.nodes,
            class,
            class_reasons,
            needs_loss: outline.used.needs_loss,
            statistics: outline.used.of_packets.into_keys().collect(),
            pins_flows,
            needs_geo: outline.used.of_geo.into_iter().collect(),
            plan: outline.plan,
            across: text.across.as_ref().map(|across| across.value),
            history: outline.history,
            earlier,
            past_bytes,
            derived_from: sources(text).iter().map(|name| name.value.clone()).collect(),
            trigger: links.trigger,
            bindings: links.bindings,
            capture_packets: text.capture.as_ref().map(|capture| capture.value),
            is_metric: text.export.is_some(),
            memory_bytes,
            sketch,
            not_run,
        })
    }
}

impl Session<'_> {
    /// Returns the text of a query with what whole flows have in the place of what their packets have; `None` if that is the same, or refused too.
    fn of_whole_flows(&self, text: &QueryText, label: &str) -> Option<String> {
        let mut query = text.clone();
        query.values_mut().for_each(|value| *value = of_flows(value));
        let mut diagnostics = Diagnostics::new("");
        let outline = outline(&mut self.checker(&mut diagnostics), &query, label)?;
        let is_planned = diagnostics.errors() == 0
            && query != *text
            && executor::columns(&outline.plan, self.options.key.as_deref()).is_ok();
        is_planned.then(|| query.to_advise()).flatten()
    }

    /// Parents whose answers this version does not judge.
    fn parents_not_run(&self, text: &QueryText, trigger: Option<&Trigger>) -> Vec<NotRun> {
        let (Some(clause), Some(trigger)) = (&text.trigger, trigger) else { return Vec::new() };
        let of = |name: &String| {
            let parent = &self.texts[self.labels.iter().position(|label| label == name)?];
            sketch::is_asked(parent).then_some(())?;
            let reason = format!(
                "{name} is counted in a structure, which lists the heaviest groups alone: what other groups have is not known, so that no condition judges them"
            );
            Some(NotRun { clause: "when".to_owned(), reason, span: clause.span.clone() })
        };
        trigger.parents.iter().filter_map(of).collect()
    }
}

impl Session<'_> {
    /// Returns the parts of a query across nodes that cannot be merged. It returns nothing where the text of the query is not run anyway.
    fn across_not_run(
        &self,
        text: &QueryText,
        outline: &Outline,
        plan: &Query,
        is_sketch: bool,
    ) -> Vec<NotRun> {
        let Some(across) = &text.across else { return Vec::new() };
        let of_packets = || vec!["structures of several nodes are not merged yet".to_owned()];
        let is_of_rows = sources(text).is_empty()
            && outline.bindings.is_empty()
            && outline.history.is_none()
            && outline.used.not_run.is_empty();
        let reasons = match (is_sketch, is_of_rows) {
            (true, _) => of_packets(),
            (false, false) => Vec::new(),
            (false, true) => {
                executor::merging(plan, across.value, self.options.key.as_deref()).err().unwrap_or_default()
            }
        };
        let not_run = |reason| {
            let clause = "across nodes".to_owned();
            NotRun { clause, reason, span: across.span.clone() }
        };
        reasons.into_iter().map(not_run).collect()
    }
}

fn names_of(sources: &[Spanned<String>]) -> String {
    sources.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns whether a query with this trigger answers in the window that fired. Nodes keep the rows of whole flows of that window.
fn looks_back(trigger: Option<&Trigger>) -> bool {
    trigger.is_some_and(|trigger| trigger.in_same_window || trigger.kind == EdgeKind::While)
}

/// Returns true if the filter leaves few flows, by constants or by the fields that a firing binds.
fn pins_flows(plan: &Query, bindings: &[Bound]) -> bool {
    let of_ends = ["src_addr", "dst_addr", "addr", "src_port", "dst_port", "port"];
    let is_of_end =
        |bound: &Bound| of_ends.iter().any(|end| flow::usual_name(&bound.field).eq_ignore_ascii_case(end));
    let pins = plan.filter.as_ref().and_then(task::pins_of);
    pins.is_some_and(|pins| pins.len() <= Pins::MOST) || bindings.iter().any(is_of_end)
}

/// Statistics of packets in a query that pins no flows.
fn unpinned(of_packets: &BTreeMap<String, Range<usize>>, pins_flows: bool) -> Vec<NotRun> {
    let not_run = |(field, span): (&String, &Range<usize>)| {
        let reason = format!(
            "{field} is told of pinned flows alone: pin at most {} keys or prefixes in 'where'",
            Pins::MOST
        );
        NotRun { clause: field.clone(), reason, span: span.clone() }
    };
    if pins_flows { Vec::new() } else { of_packets.iter().map(not_run).collect() }
}

/// Returns the class of execution of a query, and the reasons for it.
fn class(text: &QueryText, used: &Used, pins_flows: bool) -> (Class, Vec<String>) {
    let mut reasons = Vec::new();
    if let Some(using) = text.using.as_ref().filter(|_| sketch::is_asked(text)) {
        reasons
            .push(format!("'using {}' chooses a structure that counts packets", using.value.structure.value));
    }
    if let Some(error) = &text.error {
        reasons.push(format!("'error {}%' allows estimates", error.value));
    }
    if !reasons.is_empty() {
        return (Class::Sketch, reasons);
    }
    if !sources(text).is_empty() {
        return (
            Class::Row,
            vec![format!("the answers of {} are all that it reads", names_of(sources(text)))],
        );
    }
    let is_zoomed = used.needs_loss && pins_flows || !used.of_packets.is_empty();
    if !used.of_packets.is_empty() && pins_flows {
        let fields = used.of_packets.keys().map(|field| format!("'{field}'")).collect::<Vec<_>>();
        reasons.push(format!("'where' pins the flows whose packets tell {}", fields.join(", ")));
    } else {
        reasons.extend(used.of_packets.keys().map(|field| format!("'{field}' is computed from packets")));
    }
    if used.needs_loss && pins_flows {
        reasons.push("'where' pins the flows whose losses are tracked".to_owned());
    } else if used.needs_loss {
        reasons.push("rows have losses where the run tracks them".to_owned());
    }
    if !used.of_geo.is_empty() {
        let fields = used.of_geo.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        reasons.push(format!("the run needs --geo FILE for {fields}"));
    }
    if is_zoomed {
        return (Class::Zoom, reasons);
    }
    if !used.earlier.is_empty() {
        reasons.push("the controller keeps what was answered in earlier windows".to_owned());
    }
    reasons.push(match text.using {
        Some(_) => "'using exact' is what rows are".to_owned(),
        None => "every field is in the rows of windows".to_owned(),
    });
    (Class::Row, reasons)
}

/// Clauses that this version does not run, whatever else the query has.
fn other_not_run(text: &QueryText, is_of_traffic: bool) -> Vec<NotRun> {
    fn found<T>(clause: &str, reason: &str, at: &Option<Spanned<T>>) -> Option<NotRun> {
        let span = at.as_ref()?.span.clone();
        Some(NotRun { clause: clause.to_owned(), reason: reason.to_owned(), span })
    }
    let other_sources =
        "packets are counted for queries that nothing triggers and that read the traffic itself";
    let (using, error) = match is_of_traffic {
        true => (&None, &None),
        false => (&text.using, &text.error),
    };
    let all = [found("using", other_sources, using), found("error", other_sources, error)];
    all.into_iter().flatten().collect()
}
