//! The queries that a controller answers: installed text by text, removed one by one, while others run.

use equery::{Chain, ChainSite, CheckedQuery, Diagnostic, NotRun, Severity, SourceText};
use events::EventSettings;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// The nodes and settings that queries are checked for.
#[derive(Clone, Debug)]
pub struct CheckContext {
    /// The names of all nodes.
    pub nodes: Vec<String>,
    /// The fields of the flow key, as `--key` has them (`src_addr/24`).
    pub key: Vec<String>,
    /// The length of windows of probes, nanoseconds.
    pub base_ns: u64,
    /// The length of windows of queries that do not say it, a multiple of that.
    pub window_ns: u64,
    /// Variables: name and value. They replace those of `let`.
    pub set: Vec<(String, String)>,
    /// The settings of events.
    pub settings: EventSettings,
}

/// A text that was installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledText {
    /// The name of its file.
    pub file: String,
    /// The text.
    pub text: String,
    /// True if the text comes from the controller's settings, not from a client.
    #[serde(default)]
    pub is_configured: bool,
    /// The queries of the text that were removed since.
    pub removed: BTreeSet<String>,
}

/// A query and where it comes from.
#[derive(Clone, Debug)]
pub struct StandingQuery {
    /// The name of its file.
    pub file: String,
    /// The query.
    pub query: CheckedQuery,
    /// True if the query comes from the controller's settings, not from a client.
    pub is_configured: bool,
    /// The number of its text.
    text: u64,
}

/// The result of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallationResult {
    /// The names of the queries.
    pub queries: Vec<String>,
    /// The warnings of what their author may not expect, a line each.
    pub warnings: Vec<String>,
}

/// The reasons why a text is not installed. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryInstallError {
    /// The reasons in one line.
    pub reason: String,
    /// The reasons, a line each.
    pub reasons: Vec<String>,
    /// The errors in the text itself.
    pub diagnostics: Vec<Diagnostic>,
}

impl fmt::Display for QueryInstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for QueryInstallError {}

impl QueryInstallError {
    fn because(reasons: Vec<String>) -> Self {
        Self { reason: reasons.join("; "), reasons, diagnostics: Vec::new() }
    }
}

/// Queries that are to be answered over recorded windows.
#[derive(Clone, Debug)]
pub struct PlannedDryRun {
    /// The queries.
    pub chain: Chain,
    /// The time before their own windows of which they read values of earlier ones, nanoseconds.
    pub reach_ns: u64,
    /// The warnings of what their author may not expect, a line each.
    pub warnings: Vec<String>,
}

/// Queries of a text without errors.
struct AcceptedText {
    queries: Vec<CheckedQuery>,
    warnings: Vec<String>,
}

/// The reason why a query is not removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRemoved {
    /// No query has this name. The nearest one, if any is near.
    Unknown(Option<String>),
    /// The query starts these, or they read it.
    Starts(Vec<String>),
}

/// The standing queries of a controller.
#[derive(Clone, Debug)]
pub struct StandingQueries {
    site: CheckContext,
    /// The texts by number, which no later one has again.
    texts: BTreeMap<u64, InstalledText>,
    next_text: u64,
    queries: Vec<StandingQuery>,
    chain: Chain,
}

impl StandingQueries {
    /// Creates a set without queries.
    pub fn new(site: CheckContext) -> Self {
        let graph = events::Graph { queries: Vec::new(), nodes: site.nodes.clone(), settings: site.settings };
        let chain = Chain::from_graph(graph);
        Self { site, texts: BTreeMap::new(), next_text: 0, queries: Vec::new(), chain }
    }

    /// Creates a set of these queries, which are those of a run.
    ///
    /// # Errors
    /// A line for each that cannot stand with the others.
    pub fn from_queries(site: CheckContext, queries: Vec<CheckedQuery>) -> Result<Self, Vec<String>> {
        let mut own = Self::new(site);
        let standing = queries.into_iter();
        let file = String::new();
        own.queries = standing
            .map(|query| StandingQuery { file: file.clone(), query, is_configured: true, text: 0 })
            .collect();
        own.chain = own.planned(checked_of(&own.queries))?;
        Ok(own)
    }

    /// Returns the site that the queries are checked for.
    pub fn site(&self) -> &CheckContext {
        &self.site
    }

    /// The queries, in the order in which they were installed.
    pub fn queries(&self) -> &[StandingQuery] {
        &self.queries
    }

    /// Returns the queries as a chain, parents first.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The texts, from which they can be installed again.
    pub fn texts(&self) -> impl Iterator<Item = &InstalledText> {
        self.texts.values()
    }

    /// Installs all queries of a text, or none. A text that is installed already is installed once.
    ///
    /// # Errors
    /// If the text has errors, something in it is not run here, or a name is taken.
    pub fn install(&mut self, text: InstalledText) -> Result<InstallationResult, QueryInstallError> {
        let AcceptedText { queries, warnings } = self.checked(&text)?;
        let names = queries.iter().map(|query| query.label.clone()).collect();
        let (queries, chain) = self.with(queries, &text).map_err(QueryInstallError::because)?;
        self.chain = chain;
        self.queries = queries;
        self.texts.insert(self.next_text, text);
        self.next_text += 1;
        Ok(InstallationResult { queries: names, warnings })
    }

    /// Installs all queries of a text, or none: each in the place of the standing one of its name, if there is one. All others must stand with
    /// the new ones.
    ///
    /// # Errors
    /// Returns the errors of [`StandingQueries::install`], and one if another text has queries that could not stand any more.
    pub fn replace(&mut self, text: InstalledText) -> Result<InstallationResult, QueryInstallError> {
        let AcceptedText { queries, .. } = self.checked(&text)?;
        let names: BTreeSet<&str> = queries.iter().map(|query| query.label.as_str()).collect();
        if !self.queries.iter().any(|known| names.contains(known.query.label.as_str())) {
            // The others need not be planned anew.
            return self.install(text);
        }
        let mut texts = Vec::new();
        for (number, own) in &self.texts {
            let of_text = self.queries.iter().filter(|known| known.text == *number);
            let labels = of_text.map(|known| known.query.label.as_str());
            let (gone, left): (Vec<&str>, Vec<&str>) = labels.partition(|label| names.contains(label));
            if !left.is_empty() {
                let mut own = own.clone();
                own.removed.extend(gone.into_iter().map(str::to_owned));
                texts.push(own);
            }
        }
        texts.push(text.clone());
        let mut fresh = Self::new(self.site.clone());
        let mut installed = InstallationResult::default();
        for (own, result) in fresh.install_all(texts) {
            let done = result.map_err(|refused| match own == text {
                true => refused,
                false => QueryInstallError::because(vec![format!(
                    "{} would not stand any more: {}",
                    own.file, refused.reason
                )]),
            })?;
            if own == text {
                installed = done;
            }
        }
        *self = fresh;
        Ok(installed)
    }

    /// Installs texts, each as soon as those that it refers to are there. Returns each with what became of it.
    pub fn install_all(
        &mut self,
        texts: Vec<InstalledText>,
    ) -> Vec<(InstalledText, Result<InstallationResult, QueryInstallError>)> {
        let mut results = Vec::new();
        let mut waiting = texts;
        loop {
            let before = waiting.len();
            let mut refused = Vec::new();
            for text in std::mem::take(&mut waiting) {
                match self.install(text.clone()) {
                    Ok(installed) => results.push((text, Ok(installed))),
                    Err(reason) => refused.push((text, reason)),
                }
            }
            if refused.len() == before {
                results.extend(refused.into_iter().map(|(text, reason)| (text, Err(reason))));
                return results;
            }
            waiting = refused.into_iter().map(|(text, _)| text).collect();
        }
    }

    /// Returns the reasons why a text without errors cannot be installed, or not in the places of queries of its names; empty if it can.
    pub fn refusals(&self, text: InstalledText, replaces: bool) -> Vec<String> {
        let mut copy = self.clone();
        let result = if replaces { copy.replace(text) } else { copy.install(text) };
        result.err().map(|refused| refused.reasons).unwrap_or_default()
    }

    /// The queries of a text that were not removed, without errors.
    fn checked(&self, text: &InstalledText) -> Result<AcceptedText, QueryInstallError> {
        let whole = equery::check(&SourceText { name: &text.file, text: &text.text }, &self.options());
        let left = without(&text.text, &whole.places, &text.removed);
        let source = SourceText { name: &text.file, text: &left };
        // What is left may refer to a query of another text that has taken the place of a removed one.
        let checked = if left == text.text { whole } else { equery::check(&source, &self.options()) };
        let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
        let lines = |found: &mut dyn Iterator<Item = &Diagnostic>| -> Vec<String> {
            found.map(|found| equery::one_line(&source, found)).collect()
        };
        let errors = lines(&mut checked.diagnostics.iter().filter(is_error));
        if !errors.is_empty() {
            return Err(QueryInstallError {
                diagnostics: checked.diagnostics,
                ..QueryInstallError::because(errors)
            });
        }
        let warnings = lines(&mut checked.diagnostics.iter().filter(|found| !is_error(found)));
        let queries = checked.queries.into_iter().filter(|query| !text.removed.contains(&query.label));
        Ok(AcceptedText { queries: queries.collect(), warnings })
    }

    /// Removes a query and returns it.
    ///
    /// # Errors
    /// If there is none of this name, or others depend on it.
    pub fn remove(&mut self, name: &str) -> Result<StandingQuery, NotRemoved> {
        let Some(at) = self.queries.iter().position(|known| known.query.label == name) else {
            let names = self.queries.iter().map(|known| known.query.label.as_str());
            return Err(NotRemoved::Unknown(notation::nearest(name, names).map(str::to_owned)));
        };
        let is_started = |known: &&StandingQuery| {
            let mut parents = parents(&known.query);
            parents.any(|parent| parent == name)
        };
        let started: Vec<String> =
            self.queries.iter().filter(is_started).map(|known| known.query.label.clone()).collect();
        if !started.is_empty() {
            return Err(NotRemoved::Starts(started));
        }
        let removed = self.queries.remove(at);
        if self.queries.iter().any(|known| known.text == removed.text) {
            if let Some(text) = self.texts.get_mut(&removed.text) {
                text.removed.insert(name.to_owned());
            }
        } else {
            self.texts.remove(&removed.text);
        }
        if let Ok(chain) = self.planned(checked_of(&self.queries)) {
            self.chain = chain;
        }
        Ok(removed)
    }

    /// Returns these queries and those of a text, or all reasons why they cannot stand together.
    fn with(
        &self,
        new: Vec<CheckedQuery>,
        text: &InstalledText,
    ) -> Result<(Vec<StandingQuery>, Chain), Vec<String>> {
        let source = SourceText { name: &text.file, text: &text.text };
        let refused: Vec<String> = new.iter().flat_map(|query| self.refused(&source, query)).collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        if new.is_empty() && text.removed.is_empty() {
            return Err(vec![no_query(&text.file)]);
        }
        let new = new.into_iter().map(|query| StandingQuery {
            file: text.file.clone(),
            query,
            is_configured: text.is_configured,
            text: self.next_text,
        });
        let queries: Vec<StandingQuery> = self.queries.iter().cloned().chain(new).collect();
        let chain = self.planned(checked_of(&queries))?;
        Ok((queries, chain))
    }

    /// The queries of a text as a chain, with the standing ones that start them or that they read. One of the text takes the place of a
    /// standing one of its name. Nothing changes.
    ///
    /// # Errors
    /// If the text has errors, or something in it is not run here.
    pub fn plan_dry_run(&self, text: &InstalledText) -> Result<PlannedDryRun, QueryInstallError> {
        let AcceptedText { queries, warnings } = self.checked(text)?;
        let names: BTreeSet<&str> = queries.iter().map(|query| query.label.as_str()).collect();
        let others: Vec<&CheckedQuery> = self
            .queries
            .iter()
            .map(|known| &known.query)
            .filter(|query| !names.contains(&*query.label))
            .collect();
        let mut needed: Vec<&CheckedQuery> = Vec::new();
        let mut wanted: Vec<&str> = queries.iter().flat_map(parents).collect();
        while let Some(name) = wanted.pop() {
            let is_needed = needed.iter().any(|query| query.label == name);
            if let Some(query) = others.iter().find(|query| !is_needed && query.label == name) {
                needed.push(query);
                wanted.extend(parents(query));
            }
        }
        // In the order of the standing ones.
        let needed = others.iter().filter(|query| needed.iter().any(|known| known.label == query.label));
        let all: Vec<CheckedQuery> = needed.copied().chain(&queries).cloned().collect();
        let mut refused: Vec<String> = queries.iter().flat_map(not_possible).collect();
        refused.extend(all.iter().filter_map(not_in_rows));
        if queries.is_empty() {
            refused.push(no_query(&text.file));
        }
        let reach_ns =
            all.iter().map(|query| query.reach_ns(self.site.window_ns)).fold(0, u64::saturating_add);
        let chain = if refused.is_empty() { self.planned(all) } else { Err(refused) };
        let chain = chain.map_err(QueryInstallError::because)?;
        Ok(PlannedDryRun { chain, reach_ns, warnings })
    }

    /// Returns the options that a text is checked with.
    pub fn options(&self) -> equery::CheckOptions {
        equery::CheckOptions {
            set: self.site.set.clone(),
            known_nodes: Some(self.site.nodes.clone()),
            continuous: self
                .queries
                .iter()
                .map(|known| equery::QueryItems::from_query(&known.query))
                .collect(),
            base_window_ns: Some(self.site.base_ns),
            key: Some(self.site.key.clone()),
            ..equery::CheckOptions::default()
        }
    }

    /// Returns the reasons why a query cannot stand.
    fn refused(&self, source: &SourceText<'_>, query: &CheckedQuery) -> Vec<String> {
        let label = &query.label;
        let mut reasons = not_possible(query);
        if let Some(known) = self.queries.iter().find(|known| known.query.label == *label) {
            let (own, other) = (source.place(query.text_span.start), self.place(known));
            reasons.push(equery::name_taken(&own, label, &other));
        }
        reasons
    }

    /// Returns the place where a standing query was written, as `file:line:column`.
    fn place(&self, known: &StandingQuery) -> String {
        let text = self.texts.get(&known.text).map_or("", |text| text.text.as_str());
        SourceText { name: &known.file, text }.place(known.query.text_span.start)
    }

    fn planned(&self, queries: Vec<CheckedQuery>) -> Result<Chain, Vec<String>> {
        let site = ChainSite {
            nodes: &self.site.nodes,
            key: &self.site.key,
            window_ns: self.site.window_ns,
            base_ns: self.site.base_ns,
            settings: self.site.settings,
        };
        Chain::new(&queries, &site)
    }
}

fn checked_of(queries: &[StandingQuery]) -> Vec<CheckedQuery> {
    queries.iter().map(|known| known.query.clone()).collect()
}

/// A text with blanks in the places of those of its queries that were removed, as far as they have labels: the others keep theirs.
fn without(text: &str, places: &[(String, Range<usize>)], removed: &BTreeSet<String>) -> String {
    let mut left = text.to_owned();
    for (label, span) in places.iter().filter(|(label, _)| removed.contains(label)) {
        let own = text.get(span.clone()).unwrap_or_default();
        let is_labelled =
            own.strip_prefix(label.as_str()).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if is_labelled {
            let blank: String = own.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
            left.replace_range(span.clone(), &blank);
        }
    }
    left
}

/// The queries that start a query or that it reads.
fn parents(query: &CheckedQuery) -> impl Iterator<Item = &str> {
    let triggers = query.trigger.iter().flat_map(|trigger| &trigger.parents);
    triggers.chain(&query.derived_from).map(String::as_str)
}

fn no_query(file: &str) -> String {
    format!("{file}: there is no query in it")
}

/// Returns the reasons why a query cannot be run under a controller.
fn not_possible(query: &CheckedQuery) -> Vec<String> {
    let reason =
        |not_run: &NotRun| format!("{}: {} cannot be run: {}", query.label, not_run.clause, not_run.reason);
    query.not_run.iter().map(reason).collect()
}

/// Returns the reason why a query cannot be answered over recorded windows.
fn not_in_rows(query: &CheckedQuery) -> Option<String> {
    let why =
        "'using' and 'error' count packets, of which rows do not tell: leave these out, rows answer exactly";
    query.sketch.as_ref().map(|_| format!("{}: {why}", query.label))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> CheckContext {
        CheckContext {
            nodes: vec!["Node1".to_owned(), "Node2".to_owned()],
            key: ["src_addr", "dst_addr", "src_port", "dst_port", "protocol"].map(str::to_owned).into(),
            base_ns: 1_000_000_000,
            window_ns: 1_000_000_000,
            set: Vec::new(),
            settings: EventSettings::default(),
        }
    }

    fn text(file: &str, text: &str) -> InstalledText {
        InstalledText {
            file: file.to_owned(),
            text: text.to_owned(),
            is_configured: false,
            removed: BTreeSet::new(),
        }
    }

    const ONE: &str = "one: select sum(total_byte) as b where node_id = Node1;";
    const TWO: &str = "two: select sum(total_byte) as b where node_id = Node2 when one.b > 5;";

    fn names(queries: &StandingQueries) -> Vec<&str> {
        queries.chain().graph.queries.iter().map(|query| query.name.as_str()).collect()
    }

    #[test]
    fn queries_come_and_go() {
        let mut queries = StandingQueries::new(site());
        // A query of another text is known; one that is not there is not.
        assert!(queries.install(text("two.eq", TWO)).is_err());
        assert_eq!(queries.install(text("one.eq", ONE)).expect("installed").queries, ["one"]);
        assert_eq!(queries.install(text("two.eq", TWO)).expect("installed").queries, ["two"]);
        assert_eq!(names(&queries), ["one", "two"]);
        assert_eq!(queries.remove("one").err(), Some(NotRemoved::Starts(vec!["two".to_owned()])));
        assert_eq!(queries.remove("tvo").err(), Some(NotRemoved::Unknown(Some("two".to_owned()))));
        assert_eq!(queries.remove("two").expect("removed").file, "two.eq");
        assert_eq!((names(&queries), queries.texts().count()), (vec!["one"], 1));
        assert!(queries.remove("one").is_ok());
        assert_eq!((names(&queries).len(), queries.texts().count()), (0, 0));
    }

    #[test]
    fn what_is_left_of_a_text_is_installed_again() {
        let mut queries = StandingQueries::new(site());
        queries.install(text("both.eq", &format!("{ONE}\n{TWO}"))).expect("installed");
        queries.remove("two").expect("removed");
        let mut again = StandingQueries::new(site());
        for text in queries.texts() {
            again.install(text.clone()).expect("installed");
        }
        assert_eq!(names(&again), ["one"]);
    }

    #[test]
    fn a_query_takes_the_place_of_one_of_its_name() {
        let mut queries = StandingQueries::new(site());
        queries
            .install(text("both.eq", &format!("let Most = 5;\n{ONE}\n{}", TWO.replace('5', "Most"))))
            .expect("installed");
        let of = |queries: &StandingQueries, name: &str| {
            let known = queries.queries().iter().find(|known| known.query.label == name).expect("it stands");
            (known.file.clone(), known.query.text.clone())
        };
        let two = of(&queries, "two");
        // The one that starts another: that one stays as it is.
        let other = ONE.replace("total_byte", "total_count");
        assert_eq!(queries.replace(text("new.eq", &other)).expect("installed").queries, ["one"]);
        assert!(of(&queries, "one").1.contains("total_count"));
        assert_eq!((of(&queries, "two"), names(&queries)), (two, vec!["one", "two"]));
        // What is left of the texts gives the same again, in any order.
        let texts: Vec<_> = queries.texts().cloned().collect();
        for texts in [texts.clone(), texts.into_iter().rev().collect()] {
            let mut again = StandingQueries::new(site());
            assert!(again.install_all(texts).iter().all(|(_, result)| result.is_ok()));
            assert_eq!((of(&again, "one"), of(&again, "two")), (of(&queries, "one"), of(&queries, "two")));
        }
        // What is left of a text does not hang on what was removed of it, though that has an error now.
        let mut left = StandingQueries::new(site());
        left.install(text("x.eq", "x: select count(*) as n;")).expect("installed");
        left.install(text("y.eq", "b: select count(*) when x.n > 5;\nc: select count(*);"))
            .expect("installed");
        left.remove("b").expect("removed");
        left.remove("x").expect("removed");
        left.replace(text("z.eq", "z: select count(*);")).expect("installed");
        assert_eq!(names(&left), ["c", "z"]);
        // Another one reads a column that would be gone, and nothing changes.
        let before = queries.texts().count();
        let refused = queries.replace(text("wrong.eq", "one: select count(*) as n where node_id = Node1;"));
        let refused = refused.expect_err("two reads b");
        assert!(
            refused.reason.contains("both.eq would not stand any more") && refused.reason.contains("'b'"),
            "{refused}"
        );
        assert_eq!((names(&queries), queries.texts().count()), (vec!["one", "two"], before));
        // Both at once, and one that is new.
        let all = format!(
            "{}\n{}\nmore: select count(*);",
            ONE.replace(" b ", " c "),
            TWO.replace("one.b", "one.c")
        );
        assert_eq!(queries.replace(text("all.eq", &all)).expect("installed").queries, ["one", "two", "more"]);
        assert_eq!(queries.texts().count(), 1);
        assert_eq!(queries.refusals(text("a.eq", ONE), false).len(), 1);
        assert_eq!(queries.refusals(text("a.eq", &all), true), [""; 0]);
    }

    #[test]
    fn a_text_is_refused_whole_and_changes_nothing() {
        let mut queries = StandingQueries::new(site());
        queries.install(text("one.eq", ONE)).expect("installed");
        for (wrong, part) in [
            ("a: select sum(total_byte);\nb: select sum(nothing);", "nothing"),
            ("\n one: select count(*);", "wrong.eq:2:2: the name one is taken by the query at one.eq:1:1"),
            ("totals: select count(*);", "wrong.eq:1:1: error: the name 'totals' is taken by Edison"),
            ("a: select count(*) where node_id = Node3;", "Node3"),
            ("a: select count(*) every 1500ms;", "every"),
            ("a: select src_addr, count(*) groupby src_addr using space_saving;", "using"),
            ("-- nothing", "no query"),
        ] {
            let refused = queries.install(text("wrong.eq", wrong)).expect_err("it is wrong");
            assert!(refused.reason.contains(part), "{wrong}: {}", refused.reason);
            assert!(!refused.reason.contains('\n'), "{}", refused.reason);
            assert_eq!((names(&queries), queries.texts().count()), (vec!["one"], 1));
        }
    }
}
