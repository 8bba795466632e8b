//! The plan of a query that has no errors by itself: its memory, what refuses it, its class, and the parts that are not run.

use super::{CheckSession, computed};
use crate::ast::{QueryText, Spanned};
use crate::checked::{
    CheckedColumn, CheckedQuery, EdgeKind, FieldBinding, FiringClauses, NotRun, ReadParts, SaidPart,
    TriggerClause,
};
use crate::checker::{Links, Outline, QueryNeeds, outline, sources};
use crate::diagnostic::Diagnostics;
use crate::earlier::{self, EarlierReference};
use crate::executor;
use crate::memory;
use crate::sketch::{self, Sketch, sketch};
use crate::whole_flows::replace_by_whole_flows;
use flow::Statistic;
use model::Class;
use packet::Pins;
use std::collections::BTreeMap;
use std::ops::Range;
use task::query::Query;
use task::rows::advice_of_all_flows;
use task::sketched::{NotSketched, QueryClause};

impl CheckSession<'_> {
    /// Plans a query that has no errors by itself. Returns nothing, and reports why, if its plan is refused.
    pub(super) fn planned_query(
        &self,
        outline: Outline,
        links: Links,
        text: &QueryText,
        label: &str,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<CheckedQuery> {
        let flows = self.options.flows.unwrap_or(memory::DEFAULT_FLOWS);
        let earlier: Vec<EarlierReference> =
            outline.used.earlier.iter().map(|(earlier, _)| earlier.clone()).collect();
        // What nodes answer.
        let of_rows_plan = match (&earlier[..], sources(text)) {
            ([], _) | (_, [_, ..]) => outline.plan.clone(),
            (earlier, []) => earlier::base(&outline.plan, earlier),
        };
        let is_counted = sketch::is_asked(text) && outline.history.is_none();
        let sketch = match is_counted {
            true => Some(self.sketched(text, &outline, &links, &of_rows_plan, diagnostics)?),
            false => None,
        };
        let past_bytes = self.past_bytes(&outline, &earlier, flows, diagnostics);
        let of_rows = || memory::estimate(&of_rows_plan, flows);
        let memory_bytes = sketch.as_ref().map_or_else(of_rows, |sketch| sketch.memory_bytes);
        self.limit_memory(text, memory_bytes, sketch.is_some(), diagnostics)?;
        let is_of_rows = sketch.is_none() && sources(text).is_empty() && outline.bindings.is_empty();
        if is_of_rows && outline.used.not_run.is_empty() {
            self.ask_executor(text, label, &of_rows_plan, diagnostics)?;
        }
        if sketch.is_none() {
            self.require_kept_window(text, label, &links, &of_rows_plan, diagnostics)?;
        }
        let across = self.find_unmergeable_parts(text, &outline, &of_rows_plan, sketch.is_some());
        let pins_flows = pins_flows(&outline.plan, &links.bindings);
        let of_pinned = self.of_pinned_alone(&outline.used.of_packets);
        let (class, class_reasons) = class(text, &outline.used, pins_flows, &of_pinned);
        let mut not_run = outline.used.not_run;
        not_run.extend(unpinned(&of_pinned, pins_flows));
        not_run.extend(links.not_run);
        not_run.extend(other_not_run(text, is_counted));
        not_run.extend(across);
        not_run.extend(self.sources_not_run(text));
        not_run.extend(computed::earlier_not_run(&outline.bindings, &outline.used.earlier));
        not_run.sort_by_key(|found| found.span.start);
        let columns = outline.columns.list.into_iter();
        let columns = columns.map(|(name, typed)| CheckedColumn { name, kind: typed.kind }).collect();
        Some(CheckedQuery {
            label: label.to_owned(),
            text: text.to_string(),
            definitions: self.variables.definitions_in(&text.to_string()),
            text_span: text.span.0.clone(),
            columns,
            nodes: outline.nodes,
            class,
            class_reasons,
            parts: ReadParts { loss: outline.used.parts.loss, headers: outline.used.parts.headers },
            statistics: outline.used.of_packets.into_keys().collect(),
            pins_flows,
            needs_geo: outline.used.of_geo.into_iter().collect(),
            plan: Query { counting: sketch.as_ref().map(|sketch| sketch.counting), ..outline.plan },
            across: text.across.as_ref().map(|across| across.value),
            history: outline.history,
            earlier,
            past_bytes,
            derived_from: sources(text).iter().map(|name| name.value.clone()).collect(),
            trigger: links.trigger,
            bindings: links.bindings,
            firing: firing_clauses(text, links.say),
            is_metric: text.export.is_some(),
            memory_bytes,
            sketch,
            not_run,
        })
    }
}

/// Refusals of plans. Each returns nothing where it has reported an error.
impl CheckSession<'_> {
    /// Plans the structure that counts the packets of a query. `plan`: the plan that nodes answer.
    fn sketched(
        &self,
        text: &QueryText,
        outline: &Outline,
        links: &Links,
        plan: &Query,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<Sketch> {
        if let Some(refused) = not_of_packets(text, links) {
            sketch::refuse(text, &refused, diagnostics);
            return None;
        }
        sketch(text, (plan, &outline.used.of_packets), &self.variables, self.options, diagnostics)
    }

    /// Refuses a query that may take more memory than the run allows.
    fn limit_memory(
        &self,
        text: &QueryText,
        memory_bytes: u64,
        is_sketch: bool,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<()> {
        let Some(most) = self.options.memory_bytes.filter(|most| memory_bytes > *most) else {
            return Some(());
        };
        let span = text.limit.as_ref().map_or_else(|| text.span.0.clone(), |limit| limit.span.clone());
        let size = |bytes: u64| notation::scaled(bytes as f64, "B");
        let message =
            format!("the query may take {}, but --memory allows {}", size(memory_bytes), size(most));
        let help = match is_sketch {
            true => "give the structure less memory, or allow more error or more memory",
            false => "lower limit or the number in top, group by fewer values, or allow more memory",
        };
        diagnostics.error_with_help("memory", &span, message, help);
        None
    }

    /// Returns the statistics of packets that the run does not keep of all flows.
    fn of_pinned_alone(&self, of_packets: &BTreeMap<String, Range<usize>>) -> BTreeMap<String, Range<usize>> {
        let is_of_all = |field: &String| self.options.row_statistics.iter().any(|kept| is_same(kept, field));
        let of_pinned = of_packets.iter().filter(|(field, _)| !is_of_all(field));
        of_pinned.map(|(field, span)| (field.clone(), span.clone())).collect()
    }

    /// Refuses what the executor refuses of the plan, anywhere: not on the day that the query runs.
    fn ask_executor(
        &self,
        text: &QueryText,
        label: &str,
        plan: &Query,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<()> {
        let refusals = executor::columns(plan, self.options.key.as_deref()).err().unwrap_or_default();
        if refusals.is_empty() {
            return Some(());
        }
        let instead = self.rewrite_for_whole_flows(text, label);
        for refusal in refusals {
            match &instead {
                Some(instead) => {
                    let help = format!("of whole flows it is '{instead}'");
                    diagnostics.error_with_help("refused", &text.span.0, refusal, help);
                }
                None => diagnostics.error("refused", &text.span.0, refusal),
            }
        }
        None
    }

    /// Refuses a query that answers in the window that fired and reads values of packets, which nodes do not keep of that window.
    fn require_kept_window(
        &self,
        text: &QueryText,
        label: &str,
        links: &Links,
        plan: &Query,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Option<()> {
        if !looks_back(links.trigger.as_ref()) || !sources(text).is_empty() {
            return Some(());
        }
        let pinned = links.bindings.iter().map(|bound| &*bound.field);
        let (fields, _) = executor::by_packets_of_firing(plan, pinned, self.options.key.as_deref());
        let Some(field) = fields.into_iter().next() else { return Some(()) };
        let clause = if text.same_window.is_some() { "in same window" } else { "while" };
        let span = text.same_window.as_ref().map(|clause| &clause.span);
        let span = span.or(text.trigger.as_ref().map(|clause| &clause.span)).unwrap_or(&text.span.0);
        let message = executor::not_kept(label, &field);
        let help = executor::instead_of_kept(&field, clause);
        diagnostics.error_with_help("same_window", span, message, help);
        None
    }

    /// Returns the text of a query with what whole flows have in the place of what their packets have; `None` if that is the same, or refused too.
    fn rewrite_for_whole_flows(&self, text: &QueryText, label: &str) -> Option<String> {
        let mut query = text.clone();
        query.values_mut().for_each(|value| *value = replace_by_whole_flows(value));
        let mut diagnostics = Diagnostics::new("");
        let outline = outline(&mut self.checker(&mut diagnostics), &query, label)?;
        let is_planned = diagnostics.errors() == 0
            && query != *text
            && executor::columns(&outline.plan, self.options.key.as_deref()).is_ok();
        is_planned.then(|| query.to_advise()).flatten()
    }
}

impl CheckSession<'_> {
    /// Returns the parts of a query across nodes that cannot be merged. It returns nothing where the text of the query is not run anyway.
    fn find_unmergeable_parts(
        &self,
        text: &QueryText,
        outline: &Outline,
        plan: &Query,
        is_sketch: bool,
    ) -> Vec<NotRun> {
        let Some(across) = &text.across else { return Vec::new() };
        let of_packets = || {
            let why =
                "nodes send answers, and that of a structure has the heaviest groups of its own node alone";
            vec![why.to_owned()]
        };
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

fn firing_clauses(text: &QueryText, title: Option<Vec<SaidPart>>) -> FiringClauses {
    FiringClauses {
        capture_packets: text.capture.as_ref().map(|capture| capture.value),
        title,
        text_without_title: QueryText { say: None, ..text.clone() }.to_string(),
    }
}

fn names_of(sources: &[Spanned<String>]) -> String {
    sources.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns whether a query with this trigger answers in the window that fired. Nodes keep the rows of whole flows of that window.
fn looks_back(trigger: Option<&TriggerClause>) -> bool {
    trigger.is_some_and(|trigger| trigger.in_same_window || trigger.kind == EdgeKind::While)
}

/// Returns the reason why no structure answers a query that reads something else than all packets of its windows.
fn not_of_packets(text: &QueryText, links: &Links) -> Option<NotSketched> {
    let pinned = links.bindings.iter().find(|bound| bound.field != "node_id");
    let (part, reason) = if !sources(text).is_empty() {
        (QueryClause::Counting, "the query reads answers, and structures count packets".to_owned())
    } else if let Some(FieldBinding { field, parent, .. }) = pinned {
        let why = "structures count all packets, without a condition on them";
        (QueryClause::Filter, format!("{why}: a firing of {parent} pins no {field}"))
    } else if looks_back(links.trigger.as_ref()) {
        let why = "nodes keep the rows of the window that fired, and structures count packets";
        (QueryClause::Window, why.to_owned())
    } else {
        return None;
    };
    Some(NotSketched { part, reason })
}

/// Returns true if the filter leaves few flows, by constants or by the fields that a firing binds.
fn pins_flows(plan: &Query, bindings: &[FieldBinding]) -> bool {
    let of_ends = ["src_addr", "dst_addr", "addr", "src_port", "dst_port", "port"];
    let is_of_end = |bound: &FieldBinding| {
        of_ends.iter().any(|end| flow::resolve_alias(&bound.field).eq_ignore_ascii_case(end))
    };
    let pins = plan.filter.as_ref().and_then(task::pins_of);
    pins.is_some_and(|pins| pins.len() <= Pins::MOST) || bindings.iter().any(is_of_end)
}

/// Returns true if two names are of one statistic, as `size_p50` and `SIZE_P50.0` are.
fn is_same(one: &str, other: &str) -> bool {
    let parsed = |name: &str| name.parse::<Statistic>().ok();
    parsed(one).is_some_and(|one| parsed(other) == Some(one))
}

/// Statistics of the packets of pinned flows alone, in a query that pins none.
fn unpinned(of_pinned: &BTreeMap<String, Range<usize>>, pins_flows: bool) -> Vec<NotRun> {
    let not_run = |(field, span): (&String, &Range<usize>)| {
        let reason = format!(
            "{field} is told of pinned flows alone: pin at most {} keys or prefixes in 'where'{}",
            Pins::MOST,
            advice_of_all_flows(field)
        );
        NotRun { clause: field.clone(), reason, span: span.clone() }
    };
    if pins_flows { Vec::new() } else { of_pinned.iter().map(not_run).collect() }
}

/// Returns the class of execution of a query, and the reasons for it. `of_pinned`: the statistics of packets that the run does not keep of all flows.
fn class(
    text: &QueryText,
    used: &QueryNeeds,
    pins_flows: bool,
    of_pinned: &BTreeMap<String, Range<usize>>,
) -> (Class, Vec<String>) {
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
    let is_zoomed = used.parts.loss && pins_flows || !of_pinned.is_empty();
    if !of_pinned.is_empty() && pins_flows {
        let fields = of_pinned.keys().map(|field| format!("'{field}'")).collect::<Vec<_>>();
        reasons.push(format!("'where' pins the flows whose packets tell {}", fields.join(", ")));
    } else {
        reasons.extend(of_pinned.keys().map(|field| format!("'{field}' is computed from packets")));
    }
    let of_all: Vec<_> = used.of_packets.keys().filter(|field| !of_pinned.contains_key(*field)).collect();
    reasons
        .extend(of_all.iter().map(|field| format!("the run keeps '{field}' of all flows, in each window")));
    if used.parts.loss && pins_flows {
        reasons.push("'where' pins the flows whose losses are tracked".to_owned());
    } else if used.parts.loss {
        reasons.push("rows have losses where the run tracks them".to_owned());
    }
    if used.parts.headers {
        reasons.push("rows have these header fields where the run keeps them".to_owned());
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
fn other_not_run(text: &QueryText, is_counted: bool) -> Vec<NotRun> {
    fn found<T>(clause: &str, reason: &str, at: &Option<Spanned<T>>) -> Option<NotRun> {
        let span = at.as_ref()?.span.clone();
        Some(NotRun { clause: clause.to_owned(), reason: reason.to_owned(), span })
    }
    let other_sources = "files and stores have flows, and structures count packets";
    let (using, error) = match is_counted || !sketch::is_asked(text) {
        true => (&None, &None),
        false => (&text.using, &text.error),
    };
    let all = [found("using", other_sources, using), found("error", other_sources, error)];
    all.into_iter().flatten().collect()
}
