//! The cost of a checked query, and the place where each part of it runs.

mod drawing;

use crate::checked::{CheckedQuery, CheckedText, NotRun};
use crate::literal::duration_text;
use crate::options::CheckOptions;
use crate::sketch::Sketch;
use crate::sql::{Dialect, RowTable, SqlStep, joined, sql_steps};
use model::Class;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use task::query::{Expression, Grouping, MOST_GROUPS, Over};

/// The site that queries are explained for.
#[derive(Clone, Debug)]
pub struct ExplainContext {
    /// The length of the run's windows.
    pub base_window_ns: u64,
    /// The fields of the flow key.
    pub key: Vec<String>,
    /// The table of window rows, as it stands in `FROM` of the SQL.
    pub table: String,
    /// The time for which a window waits for late rows before it is closed, nanoseconds.
    pub grace_ns: u64,
    /// The engine whose SQL is shown.
    pub dialect: Dialect,
}

impl Default for ExplainContext {
    fn default() -> Self {
        Self {
            base_window_ns: 10_000_000_000,
            key: ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"].map(str::to_owned).to_vec(),
            table: "rows".to_owned(),
            grace_ns: 1_000_000_000,
            dialect: Dialect::default(),
        }
    }
}

impl ExplainContext {
    /// Takes the window length and the flow key that texts are checked for, and the usual values for the rest.
    pub fn from_options(checking: &CheckOptions) -> Self {
        let usual = Self::default();
        Self {
            base_window_ns: checking.base_window_ns.unwrap_or(usual.base_window_ns),
            key: checking.key.clone().unwrap_or_else(|| usual.key.clone()),
            ..usual
        }
    }
}

/// The queries of a text, explained.
///
/// Displayed as text for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The definitions that the queries read, as text that stands before theirs: each variable with the value that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<String>,
    /// The queries.
    pub queries: Vec<QueryExplanation>,
    /// A drawing of which query triggers which; empty where none does.
    pub graph: String,
}

/// A query, explained.
///
/// `edison explain --json` has it, too.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Explained"))]
pub struct QueryExplanation {
    /// The name of the query.
    pub query: String,
    /// The canonical text of the query.
    pub text: String,
    /// The way in which it is executed.
    #[cfg_attr(feature = "schema", schemars(with = "Class"))]
    pub class: &'static str,
    /// The reasons for this way.
    pub reasons: Vec<String>,
    /// The nodes that it runs on, in words.
    pub nodes: String,
    /// The steps that run on the probe, in order.
    pub probe: Vec<String>,
    /// The steps that run where the answers of probes are merged, in order.
    pub above: Vec<String>,
    /// The time that an answer covers.
    pub window: String,
    /// The most memory that it takes, bytes; an estimate.
    pub memory_bytes: u64,
    /// The exactness of each column.
    pub exactness: Vec<String>,
    /// The time from the end of the first window that fired to the answer, nanoseconds; `None` where nothing starts it.
    pub reaction_ns: Option<u64>,
    /// The way in which packets are counted, where they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
    /// The steps as SQL.
    pub sql: Vec<SqlStep>,
    /// The reason why there is no SQL, where a field is in no table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_sql: Option<String>,
    /// The parts that this version does not run.
    pub not_run: Vec<NotRun>,
}

impl QueryExplanation {
    /// Returns the SQL of the query as one statement under its text, or the reason why there is none.
    pub fn statement(&self) -> String {
        let comment = |text: &str| text.lines().map(|line| format!("-- {line}\n")).collect::<String>();
        let text = comment(&format!("{}: {}", self.query, self.text));
        match (&self.no_sql, &self.sketch, &self.sql[..]) {
            (Some(why), ..) => text + &comment(why),
            (None, Some(_), _) => text + &comment("none: packets are counted, not rows"),
            (None, None, steps) => format!("{text}{};\n", joined(steps)),
        }
    }
}

/// Explains the queries of a text that have no errors.
pub fn explain(checked: &CheckedText, site: &ExplainContext) -> Explanation {
    let reactions = reactions(checked, site);
    let of = |query: &CheckedQuery| one(query, site, reactions.get(query.label.as_str()).copied());
    let graph = if checked.has_errors() { String::new() } else { drawing::draw(&checked.graph) };
    let definitions = checked.definitions.clone();
    Explanation { definitions, queries: checked.queries.iter().map(of).collect(), graph }
}

fn one(query: &CheckedQuery, site: &ExplainContext, reaction_ns: Option<u64>) -> QueryExplanation {
    let table = RowTable {
        name: &site.table,
        key: &site.key,
        base_window_ns: Some(site.base_window_ns),
        dialect: site.dialect,
    };
    let (by_packets, not_of_flows) = query.by_packets(&site.key);
    // A derived query reads answers, a sketch packets, not rows.
    let no_sql = match (&query.needs_geo[..], query.across) {
        _ if !query.derived_from.is_empty() => {
            Some("none: the controller computes it of the answers of other queries".to_owned())
        }
        _ if !query.earlier.is_empty() => {
            Some("none: the table of rows does not have what was answered in earlier windows".to_owned())
        }
        ([], None) => not_of_flows.map(|why| format!("none: {why}")),
        ([], Some(_)) => Some("none: the answers of the nodes are merged".to_owned()),
        (fields, _) => Some(format!("none: the table of rows does not have {}", fields.join(", "))),
    };
    let has_sql = query.sketch.is_none() && no_sql.is_none();
    let sql = if has_sql { sql_steps(&query.plan, &table) } else { Vec::new() };
    QueryExplanation {
        query: query.label.clone(),
        text: query.text.clone(),
        class: query.class.name(),
        reasons: query.class_reasons.clone(),
        nodes: query.nodes.to_string(),
        probe: probe(query, &by_packets),
        above: above(query, site),
        window: window(query, site),
        memory_bytes: query.memory_bytes,
        exactness: exactness(query),
        reaction_ns,
        sketch: query.sketch.clone(),
        sql,
        no_sql,
        not_run: query.not_run.clone(),
    }
}

/// Returns the steps of the probe.
fn probe(query: &CheckedQuery, by_packets: &[String]) -> Vec<String> {
    if !query.derived_from.is_empty() {
        return vec![
            "none: the controller computes it, as soon as the answers that it reads are there".to_owned(),
        ];
    }
    if let Some(sketch) = &query.sketch {
        return vec![
            format!("count each packet in {}, on each core by itself", sketch.structure),
            "merge the structures of all cores when a window ends".to_owned(),
        ];
    }
    let plan = query.measured();
    let mut steps = Vec::new();
    if !by_packets.is_empty() {
        steps.push(format!(
            "count packets by flow and {}, in a table of their own: its rows are these",
            by_packets.join(", ")
        ));
    }
    match (query.parts.loss, query.class) {
        (true, Class::Zoom) => steps.push("track losses of the TCP flows that 'where' pins".to_owned()),
        (true, _) => steps.push("track losses of TCP flows (--loss)".to_owned()),
        (false, _) => {}
    }
    if query.parts.headers {
        steps.push("keep header fields of all flows (--headers)".to_owned());
    }
    // Without a run's options, those of all flows are not known.
    if query.class == Class::Zoom && !query.statistics.is_empty() {
        let statistics = query.statistics.join(", ");
        steps.push(format!(
            "keep {statistics} of the packets of the flows that 'where' pins, for each window"
        ));
    }
    if !query.needs_geo.is_empty() {
        steps.push(format!("look up {} in databases (--geo)", query.needs_geo.join(", ")));
    }
    if plan.over != Over::Window {
        steps.push("merge the rows of each flow over the query's window".to_owned());
    }
    if let Some(filter) = &plan.filter {
        steps.push(format!("keep rows where {}", crate::sql::condition_text(filter)));
    }
    let is_aggregated =
        |field: &&str| plan.aggregates().into_iter().any(|of| of.meaning().reads_each_packet(field));
    let aggregated: Vec<&str> = by_packets.iter().map(String::as_str).filter(is_aggregated).collect();
    if !aggregated.is_empty() {
        let fields = aggregated.join(", ");
        steps.push(format!("take rows of a flow in a group as one, but in aggregates of {fields}"));
    }
    steps.push(match &plan.group {
        Grouping::All => "group all rows together".to_owned(),
        Grouping::Flows => "take each flow as a group".to_owned(),
        Grouping::By(groups) => {
            let groups: Vec<_> = groups.iter().map(crate::checker::group_text).collect();
            format!("group by {}", groups.join(", "))
        }
    });
    let partials: Vec<_> = plan.aggregates().into_iter().map(|of| of.meaning().partial()).collect();
    if !partials.is_empty() {
        steps.push(format!("for each group keep {}", partials.join("; ")));
    }
    if query.across.is_some() && plan.group != Grouping::All {
        let most = plan.limit.unwrap_or(MOST_GROUPS).max(MOST_GROUPS);
        steps.push(format!("answer {} groups at the most", notation::grouped(most as u64)));
    }
    steps
}

/// Returns the steps that follow when the partial aggregates of all nodes are there.
fn above(query: &CheckedQuery, site: &ExplainContext) -> Vec<String> {
    let plan = &query.plan;
    let mut steps = Vec::new();
    match query.derived_from.as_slice() {
        [] => {}
        names => steps.push(format!("join the answers of {} by their keys", names.join(", "))),
    }
    match query.across {
        Some(crate::Across::Sum) => {
            steps.push("merge the groups of all nodes (sum): counts and sums add".to_owned());
        }
        Some(crate::Across::Max) => {
            steps.push("merge the groups of all nodes (max): of each the largest count and sum".to_owned());
        }
        None => {}
    }
    if !query.earlier.is_empty() {
        // Those that are read by others are part of their text.
        let is_part = |field: &str| query.earlier.iter().any(|other| other.of == Expression::field(field));
        let read = query.earlier.iter().map(|earlier| earlier.field.as_str());
        let read: Vec<&str> = read.filter(|field| !is_part(field)).collect();
        let (every_ns, over_ns) = match plan.over {
            Over::Windows { every_ns, over_ns } => (every_ns, over_ns),
            Over::Window | Over::Run => (site.base_window_ns, site.base_window_ns),
        };
        let windows = crate::earlier::windows(&query.earlier, (every_ns, over_ns));
        steps.push(format!("read earlier windows: {}", read.join(", ")));
        steps.push(format!(
            "keep the groups of {}, {} at most, an estimate",
            notation::counted(windows, "earlier window"),
            notation::scaled(query.past_bytes as f64, "B")
        ));
    }
    if let Some(having) = &plan.having {
        steps.push(format!("keep groups where {}", crate::sql::group_condition_text(plan, having)));
    }
    if plan.group != Grouping::All {
        let order =
            if plan.order.is_empty() { "largest first".to_owned() } else { crate::sql::order_text(plan) };
        steps.push(format!("order: {order}"));
        let most = query.sketch.as_ref().map_or(MOST_GROUPS, |sketch| sketch.task.top);
        steps.push(format!("limit: {} groups", plan.limit.unwrap_or(most)));
    }
    steps
}

fn window(query: &CheckedQuery, site: &ExplainContext) -> String {
    match query.plan.over {
        Over::Window => format!("each window of the run ({})", duration_text(site.base_window_ns)),
        Over::Run => "the whole run".to_owned(),
        Over::Windows { every_ns, over_ns } if every_ns == over_ns => duration_text(every_ns),
        Over::Windows { every_ns, over_ns } => {
            format!("{}, answered every {}", duration_text(over_ns), duration_text(every_ns))
        }
    }
}

/// Returns the exactness of the columns.
fn exactness(query: &CheckedQuery) -> Vec<String> {
    if query.class == Class::Sketch {
        return vec!["estimates, with bounds".to_owned()];
    }
    let mut found: Vec<String> = Vec::new();
    if !query.derived_from.is_empty() {
        return vec!["as exact as the answers that it reads".to_owned()];
    }
    for text in query.plan.aggregates().into_iter().filter_map(|of| of.meaning().exactness()) {
        if !found.iter().any(|known| known == text) {
            found.push(text.to_owned());
        }
    }
    found.push("all else: exact".to_owned());
    found
}

/// Returns how long each triggered query takes to answer, by label, nanoseconds.
fn reactions<'a>(checked: &'a CheckedText, site: &ExplainContext) -> HashMap<&'a str, u64> {
    let numbers: HashMap<&str, usize> =
        checked.queries.iter().enumerate().map(|(at, query)| (query.label.as_str(), at)).collect();
    let parents = |query: &CheckedQuery| -> Vec<usize> {
        let parents = query.trigger.iter().flat_map(|trigger| &trigger.parents);
        parents.filter_map(|name| numbers.get(name.as_str()).copied()).collect()
    };
    let dependencies: Vec<_> = checked.queries.iter().map(parents).collect();
    let mut waits = vec![0_u64; checked.queries.len()];
    for at in crate::graph::ordered(&dependencies) {
        let query = &checked.queries[at];
        let before = dependencies[at].iter().map(|parent| waits[*parent]).max().unwrap_or(0);
        let own = match &query.trigger {
            Some(trigger) if !trigger.in_same_window => step_ns(&query.plan.over, site),
            _ => 0,
        };
        waits[at] = before.saturating_add(own);
    }
    let triggered = checked.queries.iter().zip(&waits).filter(|(query, _)| query.trigger.is_some());
    triggered.map(|(query, wait)| (query.label.as_str(), wait.saturating_add(site.grace_ns))).collect()
}

/// Returns the time from the end of the window that fires to the end of the one that is measured, nanoseconds.
fn step_ns(over: &Over, site: &ExplainContext) -> u64 {
    let every = match over {
        Over::Windows { every_ns, .. } => *every_ns,
        Over::Window | Over::Run => site.base_window_ns,
    };
    let wait = site.grace_ns.saturating_add(1_000_000_000);
    every.saturating_mul(1 + wait.div_ceil(every.max(1)))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definitions.iter().try_for_each(|definition| writeln!(f, "{definition}"))?;
        for (at, query) in self.queries.iter().enumerate() {
            write!(f, "{}{query}", if at == 0 { "" } else { "\n" })?;
        }
        if !self.graph.is_empty() {
            write!(f, "\nEvents\n{}", self.graph)?;
        }
        Ok(())
    }
}

impl fmt::Display for QueryExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        writeln!(f, "  class    {}: {}", self.class, self.reasons.join("; "))?;
        writeln!(f, "  nodes    {}", self.nodes)?;
        writeln!(f, "  window   {}", self.window)?;
        let steps = |f: &mut fmt::Formatter<'_>, name: &str, steps: &[String]| {
            steps
                .iter()
                .enumerate()
                .try_for_each(|(at, step)| writeln!(f, "  {:<8} {step}", if at == 0 { name } else { "" }))
        };
        steps(f, "probe", &self.probe)?;
        steps(f, "above", &self.above)?;
        writeln!(f, "  memory   {} at most, an estimate", notation::scaled(self.memory_bytes as f64, "B"))?;
        steps(f, "error", &self.exactness)?;
        if let Some(Sketch { task, why, .. }) = &self.sketch {
            writeln!(f, "  sketch   {task}\n           {why}")?;
        }
        if let Some(ns) = self.reaction_ns {
            writeln!(f, "  reaction {} from the end of the first window that fired", duration_text(ns))?;
        }
        for NotRun { clause, reason, .. } in &self.not_run {
            writeln!(f, "  not run  {clause}: {reason}")?;
        }
        for SqlStep { step, name, sql } in &self.sql {
            let name = name.as_ref().map(|name| format!(" → {name}")).unwrap_or_default();
            writeln!(f, "  sql      {step}{name}")?;
            sql.lines().try_for_each(|line| writeln!(f, "             {line}"))?;
        }
        if let Some(why) = &self.no_sql {
            writeln!(f, "  sql      {why}")?;
        }
        Ok(())
    }
}
