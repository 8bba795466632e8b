//! The user's questions in Equery: `-q`, `-f`, `--by` and `--per`, as queries of windows and of the run.

use crate::enrich::EnrichOptions;
use crate::exit::{Failure, say};
use crate::machine;
use crate::origin::Origins;
use crate::questions::query_text::{self, NamedText};
use crate::questions::sketches::SketchedQueries;
use crate::spec::RunSpec;
use engine::Every;
use equery::{CheckOptions, CheckedQuery, CheckedText, QueryItems, SourceText};
use std::collections::BTreeMap;
use std::path::PathBuf;
use task::query::{Over, Query};

/// The user's queries.
#[derive(Clone, Debug, Default)]
pub struct QuerySet {
    /// True if the user asks something, though it may be of other nodes.
    has_texts: bool,
    /// The queries with windows of their own.
    pub(crate) windows: Vec<Query>,
    /// The queries that say nothing of time.
    pub(crate) timeless: Vec<Query>,
    /// The queries that count packets, each as a task.
    pub sketches: SketchedQueries,
    /// All queries, as they were checked.
    pub checked: Vec<CheckedQuery>,
    /// True if some queries start others, are answered across nodes, or are computed of other answers.
    pub(crate) needs_controller: bool,
    /// True if some queries read losses of all flows.
    pub(crate) needs_loss: bool,
    /// True if some queries read losses of flows that they pin.
    pub(crate) reads_tracked_losses: bool,
    /// The length of the run's windows that the queries need, where the user does not set it.
    pub(crate) every: Option<Every>,
    /// The length of the windows of queries that say nothing of time, where it is another one.
    pub(crate) default_every: Option<Every>,
    /// The options by which a further text would be checked.
    pub(crate) checking: CheckOptions,
    /// The places of the queries in the texts, by name.
    places: BTreeMap<String, String>,
}

impl QuerySet {
    /// Reads and checks what the options ask.
    pub(crate) fn from_options(
        options: &RunSpec,
        origins: &Origins,
        nodes: &[String],
    ) -> Result<Self, Failure> {
        let texts = texts(&Texts {
            query: &options.question.query,
            file: &options.question.file,
            by: options.question.by.as_deref(),
            sort: options.question.sort.as_deref(),
            has_interval: options.question.per.is_some(),
            top: options.question.top,
        })?;
        let window_ns = match options.question.every {
            Every::Time(length) => Some(length),
            Every::Packets(_) => None,
        };
        let is_set = origins.has("every");
        let checking = CheckOptions {
            set: options.question.set.clone(),
            known_nodes: Some(nodes.to_vec()),
            base_window_ns: window_ns.filter(|_| is_set),
            window_packets: query_text::window_packets(&options.question.every),
            key: Some(options.question.key.parts()),
            memory_bytes: Some(options.limit.memory.unwrap_or_else(machine::half_of_memory)),
            row_statistics: row_statistics(options),
            ..CheckOptions::default()
        };
        let mut asked = Self::from_texts(&texts, checking, nodes, &options.question.enrich)?;
        asked.set_interval(options, is_set)?;
        Ok(asked)
    }

    /// Checks texts, each of which may refer to the queries of those before it.
    pub fn from_texts(
        texts: &[NamedText],
        mut checking: CheckOptions,
        nodes: &[String],
        enrich: &EnrichOptions,
    ) -> Result<Self, Failure> {
        let mut asked = Self { has_texts: !texts.is_empty(), ..Self::default() };
        for text in texts {
            let checked = equery::check(&text.source(), &checking);
            query_text::show(text, &checked);
            query_text::outcome(std::slice::from_ref(text), std::slice::from_ref(&checked))?;
            asked.take(&text.source(), &checked, nodes, enrich)?;
            checking.continuous.extend(checked.queries.iter().map(QueryItems::from_query));
        }
        asked.checking = checking;
        Ok(asked)
    }

    /// True if the user asks nothing in Equery.
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_texts
    }

    fn take(
        &mut self,
        source: &SourceText<'_>,
        checked: &CheckedText,
        nodes: &[String],
        enrich: &EnrichOptions,
    ) -> Result<(), Failure> {
        let mut refused = Vec::new();
        for query in &checked.queries {
            refused.extend(enrich.check(query).err());
            let label = &query.label;
            if let Some(other) = self.places.get(label) {
                refused.push(equery::name_taken(&source.place(query.text_span.start), label, other));
            }
            refused.extend(
                query
                    .not_run
                    .iter()
                    .map(|not_run| format!("{label}: {} cannot be run: {}", not_run.clause, not_run.reason)),
            );
        }
        if !refused.is_empty() {
            return Err(Failure::usages(refused));
        }
        for query in &checked.queries {
            if !nodes.iter().any(|node| query.nodes.matches(node)) {
                let node = nodes.join(", ");
                say(&format!("{} runs on no node of this run: its name is {node} (--node)", query.label));
                continue;
            }
            self.places.insert(query.label.clone(), source.place(query.text_span.start));
            self.needs_loss |= query.parts.loss && !query.pins_flows;
            self.reads_tracked_losses |= query.parts.loss && query.pins_flows;
            let is_computed = !query.derived_from.is_empty() || !query.earlier.is_empty();
            self.needs_controller |= query.trigger.is_some() || query.across.is_some() || is_computed;
            self.checked.push(query.clone());
            if let Some(sketch) = &query.sketch {
                self.sketches.add(&query.plan, &sketch.task, &query.nodes);
                continue;
            }
            match query.plan.over {
                Over::Windows { .. } => self.windows.push(query.plan.clone()),
                Over::Window | Over::Run => self.timeless.push(query.plan.clone()),
            }
        }
        Ok(())
    }

    /// Gives all queries the interval of `--per`, and the run's windows a length of which all intervals are multiples.
    fn set_interval(&mut self, options: &RunSpec, every_is_set: bool) -> Result<(), Failure> {
        if let Some(per) = options.question.per {
            let per_ns = u64::try_from(per.as_nanos()).unwrap_or(u64::MAX);
            let over = Over::Windows { every_ns: per_ns, over_ns: per_ns };
            self.windows.extend(self.timeless.drain(..).map(|query| Query { over, ..query }));
            let plans = self.checked.iter_mut().map(|query| &mut query.plan);
            plans.filter(|plan| plan.over == Over::Window).for_each(|plan| plan.over = over);
            self.sketches.answer_each(per_ns);
        }
        if let Some(length) = self.sketches.window(options.question.every, every_is_set)? {
            return self.divide(length);
        }
        let Every::Time(usual) = options.question.every else { return Ok(()) };
        let lengths = self.windows.iter().filter_map(|query| match query.over {
            Over::Windows { every_ns, .. } => Some(every_ns),
            _ => None,
        });
        // Tasks are answered in each window of the run, which is the interval where nothing says otherwise.
        let per = options.question.per.map(|per| u64::try_from(per.as_nanos()).unwrap_or(u64::MAX));
        let first = per.filter(|_| !options.question.task.is_empty() && !every_is_set).unwrap_or(usual);
        let common = lengths.fold(first, greatest_divisor);
        if common == usual {
            return Ok(());
        }
        if every_is_set {
            let wrong = "--per and the windows of queries must be multiples of --every";
            return Err(Failure::usage(wrong));
        }
        // Queries that say nothing of time keep the usual windows.
        let over = Over::Windows { every_ns: usual, over_ns: usual };
        self.every = Some(Every::Time(common));
        self.default_every = Some(Every::Time(per.unwrap_or(usual)));
        self.timeless.iter_mut().for_each(|query| query.over = over);
        Ok(())
    }

    /// Gives the run's windows the length that sketches need, which the windows of all others must be multiples of.
    fn divide(&mut self, length: u64) -> Result<(), Failure> {
        let other = self.windows.iter().find(
            |query| matches!(query.over, Over::Windows { every_ns, .. } if !every_ns.is_multiple_of(length)),
        );
        if let Some(other) = other {
            let counted: Vec<&str> = self.sketches.names().collect();
            return Err(Failure::usage(format!(
                "{}: its windows are no multiple of {}, the windows of the run, in which {} counts packets ('using', 'error')",
                other.name,
                notation::time_text(length),
                counted.join(", ")
            )));
        }
        self.every = Some(Every::Time(length));
        Ok(())
    }

    /// Returns the queries that rows answer, where answers of windows and of the run are shown.
    pub(crate) fn queries(&self, of_windows: bool, of_run: bool) -> Vec<Query> {
        let timeless = || self.timeless.iter().cloned();
        let of_window = timeless().filter(|_| of_windows);
        // Statistics of packets are of single windows.
        let of_run = timeless().filter(|query| of_run && query.statistics().is_empty());
        let of_run = of_run.map(|query| Query { over: Over::Run, ..query });
        self.windows.iter().cloned().chain(of_window).chain(of_run).collect()
    }
}

/// Returns the names of the statistics of packets that a run keeps of all flows where its queries read them.
fn row_statistics(options: &RunSpec) -> Vec<String> {
    let asked = options.record.statistics().into_iter();
    let columns = asked
        .filter_map(|(metric, spec)| Some((metric, spec?)))
        .flat_map(|(metric, spec)| spec.columns(metric).map(|column| column.to_string()).collect::<Vec<_>>());
    columns.collect()
}

/// The questions that options ask in Equery, or in its short forms.
pub struct Texts<'a> {
    /// The texts of `-q`.
    pub query: &'a [String],
    /// The files of `-f`.
    pub file: &'a [PathBuf],
    /// The fields of `--by`.
    pub by: Option<&'a str>,
    /// The item of `--sort`.
    pub sort: Option<&'a str>,
    /// True if `--per` is given.
    pub has_interval: bool,
    /// The number of lines of `--top`.
    pub top: usize,
}

/// The texts with their names.
pub fn texts(options: &Texts<'_>) -> Result<Vec<NamedText>, Failure> {
    let named = |name: &str, text| NamedText { name: name.to_owned(), text };
    let mut texts = Vec::new();
    if !options.query.is_empty() {
        texts.push(named("--query", joined(options.query)));
    }
    for path in options.file {
        let read = query_text::read(&path.display().to_string());
        texts.push(read.map_err(|error| Failure::usage(format!("--file {error}")))?);
    }
    if let Some(fields) = options.by {
        if options.top == 0 {
            return Err(Failure::usage("--top 0 leaves no line of the ranking of --by: give it at least 1"));
        }
        texts.push(named("--by", ranking(fields, options.sort, options.top)));
    } else if options.sort.is_some() {
        return Err(Failure::usage("--sort orders the groups of --by: give --by FIELDS too"));
    }
    if options.has_interval && texts.is_empty() {
        texts.push(named("--per", format!("per: select {SUMS};")));
    }
    Ok(texts)
}

/// The texts of several options as one, so that their queries have different names.
pub fn joined(texts: &[String]) -> String {
    let ended = texts.iter().map(|text| match text.trim_end().ends_with([';', ':']) {
        true => text.clone(),
        false => format!("{text} ;"),
    });
    ended.collect::<Vec<_>>().join("\n")
}

/// The counts and sums of each group.
const SUMS: &str = "count(*) as flows, sum(total_count) as total_count, sum(total_byte) as total_byte, \
                    sum(wire_byte) as wire_byte";

/// The query that `--by FIELDS --sort ITEM` is short for.
fn ranking(fields: &str, sort: Option<&str>, top: usize) -> String {
    let sort = sort.unwrap_or("total_byte");
    let field = flow::resolve_alias(sort);
    let is_counted = |name: &str| SUMS.split(" as ").skip(1).any(|part| part.split(',').next() == Some(name));
    let is_counter =
        flow::Field::named(field).is_some_and(|field| field.aggregation == flow::Aggregation::Sum);
    let (column, order) = match field.to_ascii_lowercase() {
        name if is_counted(&name) => (String::new(), name),
        name if is_counter => (format!("sum({name}) as {name}, "), name),
        _ => (format!("{sort}, "), sort.to_owned()),
    };
    format!("by: select {fields}, {column}{SUMS} groupby {fields} order by {order} desc limit {top};")
}

/// The greatest length that divides both.
pub fn greatest_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        other => greatest_divisor(other, one % other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_is_a_query_without_errors() {
        for (fields, sort) in [
            ("src_addr", None),
            ("src_addr/24/64, dst_port", Some("packets")),
            ("dst_addr", Some("count(src_addr)")),
            ("addr", Some("ploss_byte")),
            ("protocol, port", Some("flows")),
            ("conversation", Some("max(duration)")),
        ] {
            let text = ranking(fields, sort, 5);
            let checked = equery::check(&SourceText { name: "--by", text: &text }, &CheckOptions::default());
            assert!(!checked.has_errors(), "{text}: {:?}", checked.diagnostics);
        }
    }

    #[test]
    fn windows_are_divided_by_all_lengths() {
        assert_eq!([10, 4, 60].into_iter().fold(10, greatest_divisor), 2);
        assert_eq!(greatest_divisor(10, 60), 10);
    }
}
