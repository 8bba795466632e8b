//! Reads rows once for all questions.

use crate::facts::{
    RefusedRows, first_of, part_of, sampled_by_window, untold_by_window, untold_of_records, watched_of,
    without_place_by_window,
};
use crate::file_times::{FileTimes, Unwatched};
use crate::files::{FlowFiles, StoredTimes, span_of, span_of_rows, span_without_key};
use crate::node_spans::NodeSpans;
use crate::prune::may_pass;
use crate::question::{Period, Question, Refused, Setting};
use crate::shares::refuse_mixed;
use crate::totals::ColumnTotals;
use crate::unknown::{Unknown, known};
use crate::whole::{Cut, windows_at};
use flow::{FIELDS, Field, NULL, OpenFields, RowBatch, RowValue, Untold};
use model::{Answer, Missing, MissingReason, Span};
use packet::{KeySpec, KeyV4, KeyV6};
use record::read::{Contents, Part, ReadError, RowBlock, Wanted, WithoutKey};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use task::Generation;
use task::query::{Over, Query};
use task::rows::{RecordedNeeds, RecordedRows, RowQueries, Site, Unplaced};

/// The progress of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of rows that were read.
    pub rows: u64,
    /// Bytes of the files' parts that were read or need not be.
    pub done_bytes: u64,
    /// Bytes of all parts.
    pub total_bytes: u64,
}

/// The result of reading.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The number of rows that were read. Rows of two directions count twice.
    pub rows: u64,
    /// Rows that are of no flow: of the record `other`, or without an address.
    pub without_key: u64,
    /// Parts that need not be read: no row of theirs is asked for.
    pub skipped_parts: u64,
    /// The nodes of the rows.
    pub nodes: BTreeSet<String>,
    /// Queries that run on none of them.
    pub without_node: Vec<String>,
    /// Files that are damaged, or could not be opened: the first error of each.
    pub errors: Vec<ReadError>,
    /// The remarks on what files have that could not be read, though they are whole: a line each.
    pub passed_over: Vec<String>,
    /// True if reading was stopped before the end.
    pub stopped: bool,
    /// The time from the first packet to the last of what was read.
    pub span: Option<Span>,
}

/// Questions about one period, for one node.
struct Answered {
    queries: RowQueries,
    rows: RecordedRows,
}

/// Questions about one period.
struct Group<'a> {
    period: Option<Period>,
    questions: Vec<&'a Question>,
    /// The remarks on what all answers of the group lack.
    lacks: Vec<String>,
    /// The answers of each node, once it has rows.
    nodes: BTreeMap<Option<Arc<str>>, Answered>,
    /// The fields of keys that all questions of the group name: a row that leaves one open is in no group.
    named: OpenFields,
    /// The number of rows without packets that leave one open.
    keyless: u64,
    /// Times of nodes of which nothing is known.
    missing: Arc<Unwatched>,
}

impl FlowFiles {
    /// Answers questions. Answers go to `give` when they are complete: windows by time where files tell the times of their parts.
    /// `progress` is called again and again, and ends reading by returning false.
    ///
    /// # Errors
    /// Returns the queries that the rows cannot answer, or the files that lack columns which they read. Nothing was read then.
    pub fn answer(
        &mut self,
        questions: &[Question],
        setting: &Setting,
        progress: &mut dyn FnMut(Progress) -> bool,
        give: &mut dyn FnMut(Answer),
    ) -> Result<Outcome, Refused> {
        let lacking = self.nodes_without_wire_bytes();
        let told = self.without_wire_bytes(questions, &lacking, setting);
        let (mut questions, unknown): (Vec<Question>, Vec<_>) = told.into_iter().unzip();
        let common_key = self.of_common_key();
        let of_flows: BTreeSet<String> = match &common_key {
            Some(_) => self.questions_of_flows(&questions, setting),
            None => BTreeSet::new(),
        };
        let cuts: Vec<Option<Cut>> = questions.iter_mut().map(|question| self.cut(question)).collect();
        // Of a store its manifest tells it.
        let times = match self.covers {
            Some(_) => FileTimes::default(),
            None => FileTimes::of(self.contents(), &self.missing, &questions),
        };
        let mut give = |mut answer: Answer| {
            times.describe(&mut answer);
            let of_query =
                questions.iter().zip(&unknown).filter(|(question, _)| question.query.name == answer.query);
            let mut unknown = of_query.filter_map(|(_, unknown)| unknown.as_ref());
            // Nodes that tell bytes on the wire were asked the whole query.
            let is_asked_less = lacking.is_empty() || is_among(&lacking, answer.node.as_deref());
            let is_of = |unknown: &Unknown| is_asked_less && unknown.is_of(&answer);
            if let Some((unknown, files)) = unknown.find(|(unknown, _)| is_of(unknown)) {
                unknown.restore(&mut answer);
                answer.remark(&format!("{}: {files} have no bytes on the wire", unknown.words()));
            }
            let of_query =
                questions.iter().zip(&cuts).find(|(question, _)| question.query.name == answer.query);
            if let Some((question, Some(cut))) = of_query {
                cut.describe(&mut answer, &question.query.over);
            }
            if of_flows.contains(&answer.query) {
                common_key.iter().for_each(|remark| answer.remark(remark));
            }
            give(answer);
        };
        let give: &mut dyn FnMut(Answer) = &mut give;
        let mut groups: Vec<Group<'_>> = Vec::new();
        // Rows that a measurement wrote tell all of their keys.
        let may_be_open = self.contents().any(|(_, contents)| contents.windows.is_none());
        for question in &questions {
            let named =
                if may_be_open { named_members(&question.query, self.key()) } else { OpenFields::default() };
            let is_of = |group: &&mut Group<'_>| (group.period, group.named) == (question.period, named);
            match groups.iter_mut().find(is_of) {
                Some(group) => group.questions.push(question),
                None => groups.push(Group {
                    period: question.period,
                    questions: vec![question],
                    lacks: Vec::new(),
                    nodes: BTreeMap::new(),
                    named,
                    keyless: 0,
                    missing: Arc::clone(&self.missing),
                }),
            }
        }
        refuse_mixed(self.contents().map(|(_, contents)| contents).zip(&self.clips), &questions)?;
        let site = self.site(setting);
        let mut needs = needs(&groups, &site)?;
        if !needs.columns.contains(&RowValue::Time) && self.reads_times(&groups) {
            needs.columns.push(RowValue::Time);
        }
        self.refuse_lacking_columns(&needs, &lacking)?;
        let counts_by_time = needs.columns.contains(&RowValue::Time);
        let known = self.spans();
        let mut wanted = Wanted {
            open_fields: may_be_open,
            samples: may_be_open,
            keeps_open: may_be_open,
            needs_time: counts_by_time,
            ..wanted(needs, &site, known.is_none())
        };
        if may_be_open {
            self.want_keys(&mut wanted);
        }
        let places = self.places();
        let mut progressed =
            Progress { total_bytes: places.iter().map(|place| place.bytes).sum(), ..Progress::default() };
        let mut work = Work {
            site,
            groups,
            outcome: Outcome { errors: self.errors.clone(), ..Outcome::default() },
            are_spans_known: known.is_some(),
            spans: known.unwrap_or_else(|| self.told_spans()),
            counts_by_time,
            windows_lack: Vec::new(),
            times: Arc::clone(&self.times),
            refused: RefusedRows::default(),
            totals: ColumnTotals::new(&wanted),
            scratch: Scratch::default(),
        };
        for node in &self.nodes {
            work.know(&Some(Arc::from(node.as_str())));
        }
        for ((path, contents), clip) in self.contents().zip(&self.clips) {
            let node = contents.node.as_deref().map(Arc::from);
            // It is answered without rows, too.
            if self.covers.is_none() && watched_of(contents).is_some() {
                work.know(&node);
            }
            work.refused.add(contents, *clip, &node);
            work.take_without_place(&path.display().to_string(), contents, *clip, &node);
        }
        for place in places {
            let file = &mut self.files[place.file];
            let part = &file.contents().parts[place.part];
            let clip = self.clips[place.file];
            let (done, rows_of_part) = (progressed.done_bytes, part.rows);
            progressed.done_bytes += place.bytes;
            if !work.asks_for(part, clip, file.contents().node.as_deref()) {
                work.outcome.skipped_parts += 1;
                work.pass_over(part, file.contents().node.as_deref());
                continue;
            }
            // Parts are in the order of their first times.
            place.first.iter().for_each(|first| work.answer_until(*first, give));
            let bounds = Bounds { clip, times: part.times };
            let is_measured = file.contents().is_measured;
            let mut read = 0;
            let mut refused = None;
            let result = file.read_part(place.part, &wanted, &mut |block| {
                read += (block.v4.len() + block.v6.len()) as u64;
                if let Err(reason) = work.take(block, bounds, &wanted, is_measured) {
                    refused = Some(reason);
                    return false;
                }
                let share = rows_of_part.map_or(0.0, |rows| (read as f64 / rows.max(1) as f64).min(1.0));
                work.outcome.stopped = !progress(Progress {
                    rows: work.outcome.rows,
                    done_bytes: done + (place.bytes as f64 * share) as u64,
                    ..progressed
                });
                !work.outcome.stopped
            });
            let passed_over = file.passed_over().map(|what| format!("{}: {what}", file.path().display()));
            work.outcome.passed_over.extend(passed_over);
            let refused = refused.map(|reason| ReadError::damaged(file.path(), reason));
            let error = result.err().or(refused);
            // One line for each file; its other parts are read.
            let is_known =
                |error: &ReadError| work.outcome.errors.iter().any(|known| known.path() == error.path());
            let error = error.filter(|error| !is_known(error));
            self.errors.extend(error.clone());
            work.outcome.errors.extend(error);
            if work.outcome.stopped {
                break;
            }
        }
        Ok(work.finish(give))
    }

    /// Returns the questions, without what they read of bytes on the wire where files of other programs do not have them: that is not known, and the rest is
    /// answered. Nodes that are not `lacking` are asked the whole question where the others are known.
    fn without_wire_bytes(
        &self,
        questions: &[Question],
        lacking: &BTreeSet<String>,
        setting: &Setting,
    ) -> Vec<(Question, Option<(Unknown, String)>)> {
        let files = self.of_no_wire_bytes();
        let site = self.site(setting);
        let reads_none = |query: &Query| !reads_wire_bytes(query, &site);
        let nodes: BTreeSet<Option<&str>> =
            self.contents().map(|(_, contents)| contents.node.as_deref()).collect();
        let mut told = Vec::new();
        for question in questions {
            let is_whole = files.is_empty() || reads_none(&question.query);
            let Some((query, unknown)) = known(&question.query, &reads_none, &site).filter(|_| !is_whole)
            else {
                told.push((question.clone(), None));
                continue;
            };
            let unknown = Some((unknown, first_of(&files, ", ")));
            let less = Question { query, ..question.clone() };
            let asked = nodes.iter().copied().filter(|node| (question.runs_on)(*node));
            let (without, with): (Vec<_>, Vec<_>) = asked.partition(|node| is_among(lacking, *node));
            if !lacking.is_empty() && without.is_empty() {
                told.push((question.clone(), None));
            } else if with.is_empty() || lacking.is_empty() {
                told.push((less, unknown));
            } else {
                let on = |question: Question, is_lacking: bool| {
                    let (of_all, lacking) = (Rc::clone(&question.runs_on), lacking.clone());
                    let runs_on =
                        move |node: Option<&str>| is_among(&lacking, node) == is_lacking && of_all(node);
                    Question { runs_on: Rc::new(runs_on), ..question }
                };
                told.push((on(question.clone(), false), None));
                told.push((on(less, true), unknown));
            }
        }
        told
    }

    /// Returns the nodes of which a file has no bytes on the wire, if each such file is of one node, and others are of other nodes.
    fn nodes_without_wire_bytes(&self) -> BTreeSet<String> {
        let lacking =
            self.contents().map(|(_, contents)| contents).filter(|contents| lacks_wire_bytes(contents));
        let nodes: Option<BTreeSet<String>> = lacking.map(|contents| contents.node.clone()).collect();
        let is_other = |nodes: &BTreeSet<String>| {
            let mut others = self.contents().filter(|(_, contents)| !contents.is_blank());
            others.any(|(_, contents)| contents.node.as_ref().is_none_or(|node| !nodes.contains(node)))
        };
        nodes.filter(|nodes| !nodes.is_empty() && is_other(nodes)).unwrap_or_default()
    }

    /// Returns which windows the period of a question cuts, which is the one that is told then. Of a store its manifest tells it.
    fn cut(&self, question: &mut Question) -> Option<Cut> {
        if !self.nodes.is_empty() {
            return None;
        }
        let cut = Cut::of(question.period?, &|time_ns| {
            let runs_on = |contents: &Contents| (question.runs_on)(contents.node.as_deref());
            let files = self.contents().map(|(_, contents)| contents).filter(|contents| runs_on(contents));
            files.flat_map(|contents| windows_at(time_ns, contents)).collect()
        })?;
        question.period = Some(cut.told);
        Some(cut)
    }

    /// The files of other programs that do not have bytes on the wire.
    fn of_no_wire_bytes(&self) -> Vec<String> {
        let lacking = self.contents().filter(|(_, contents)| lacks_wire_bytes(contents));
        lacking.map(|(path, _)| path.display().to_string()).collect()
    }

    /// Refuses a question to another engine, which does not know that files without bytes on the wire leave them unknown.
    pub(crate) fn refuse_without_wire_bytes(
        &self,
        question: &Question,
        setting: &Setting,
    ) -> Result<(), Refused> {
        let files = self.of_no_wire_bytes();
        if files.is_empty() || !reads_wire_bytes(&question.query, &self.site(setting)) {
            return Ok(());
        }
        let name = &question.query.name;
        let files = first_of(&files, ", ");
        Err(Refused::Files(vec![format!(
            "{name}: another engine cannot tell wire_byte: {files} have no bytes on the wire; ask without --engine, or without wire_byte"
        )]))
    }

    /// The names of questions whose answers depend on which packets are one flow.
    fn questions_of_flows(&self, questions: &[Question], setting: &Setting) -> BTreeSet<String> {
        let site = self.site(setting);
        let counts_flows = |query: &Query| {
            let plan = RowQueries::plan(Generation::default(), std::slice::from_ref(query), &site);
            plan.is_ok_and(|plan| plan.count_flows())
        };
        let of_flows = questions.iter().map(|question| &question.query).filter(|query| counts_flows(query));
        of_flows.map(|query| query.name.clone()).collect()
    }

    /// Adds what tells of each row whether it is of a flow, and which fields it leaves open, whatever else is wanted.
    fn want_keys(&self, wanted: &mut Wanted) {
        // A packet of UDP has no TCP flags, and leaves none open.
        wanted.members.push("protocol");
        if !self.contents().all(|(_, contents)| contents.have_all_keys()) {
            let all = self.contents().flat_map(|(_, contents)| contents.key.columns());
            // Rows of other keys have these two as fields.
            let is_of_keys = |member: &&str| {
                !["vlan", "ip_tos"].contains(member) || self.key().columns().any(|of| of == *member)
            };
            wanted.members.extend(all.filter(is_of_keys));
            wanted.columns.push(RowValue::Packets);
        }
        if wanted.columns.contains(&RowValue::First) {
            // It counts in the place of a begin that a row does not tell.
            wanted.columns.push(RowValue::Last);
        }
        wanted.members.sort_unstable();
        wanted.members.dedup();
        wanted.columns.sort_unstable();
        wanted.columns.dedup();
    }

    /// Returns true if some rows of a part are read and others are not, by their times.
    fn reads_times(&self, groups: &[Group<'_>]) -> bool {
        let mut parts = self.files.iter().zip(&self.clips).flat_map(|(file, clip)| {
            file.contents().parts.iter().map(move |part| Bounds { clip: *clip, times: part.times })
        });
        let is_cut =
            |bounds: Bounds, group: &Group<'_>| matches!(bounds.share(group.period), Share::Within(_));
        parts.any(|bounds| groups.iter().any(|group| is_cut(bounds, group)))
    }

    /// Returns the places of all parts, by their first times; those without times first, as their rows may be of any.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for (file, open) in self.files.iter().enumerate() {
            let parts = open.contents().parts.iter().enumerate();
            places.extend(parts.map(|(number, part)| Place {
                first: part.times.map(|[first, _]| first),
                file,
                part: number,
                bytes: part.bytes,
            }));
        }
        places.sort();
        places
    }

    /// Refuses to read files without columns that queries read. Nodes that are `lacking` bytes on the wire are not asked for these.
    fn refuse_lacking_columns(
        &self,
        needs: &RecordedNeeds,
        lacking: &BTreeSet<String>,
    ) -> Result<(), Refused> {
        let statistics = self.statistics();
        let mut without = needs.clone();
        without.columns.retain(|column| *column != RowValue::WireBytes);
        let lines = self.contents().filter_map(|(path, contents)| {
            let is_lacking = is_among(lacking, contents.node.as_deref());
            lacking_columns(path, contents, if is_lacking { &without } else { needs }, &statistics)
        });
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() { Ok(()) } else { Err(Refused::Files(lines)) }
    }
}

/// Returns whether a file has flows, and no bytes on the wire of them.
fn lacks_wire_bytes(contents: &Contents) -> bool {
    !contents.is_blank() && !contents.fields.contains("wire_byte")
}

/// Returns whether a node is known and one of these.
fn is_among(nodes: &BTreeSet<String>, node: Option<&str>) -> bool {
    node.is_some_and(|node| nodes.contains(node))
}

/// Returns whether a query reads bytes on the wire, and true for a query that cannot be planned.
fn reads_wire_bytes(query: &Query, site: &Site) -> bool {
    columns_of(query, site).is_none_or(|columns| columns.contains(&RowValue::WireBytes))
}

/// Returns the columns that a query reads of recorded rows; `None` for a query that cannot be planned.
fn columns_of(query: &Query, site: &Site) -> Option<Vec<RowValue>> {
    let plan = RowQueries::plan(Generation::default(), std::slice::from_ref(query), site);
    plan.ok().map(|plan| plan.needs_of_recorded().columns)
}

/// A line about the columns that a file lacks and queries read, if there are any.
pub(crate) fn lacking_columns(
    path: &Path,
    contents: &Contents,
    needs: &RecordedNeeds,
    statistics: &[String],
) -> Option<String> {
    if contents.is_blank() {
        return None;
    }
    let columns = needs.columns.iter().filter_map(|column| lacking(*column, contents, statistics));
    let columns: Vec<String> = columns.collect();
    let unread: Vec<_> = contents.unread.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    let hint = match unread.is_empty() {
        true => String::new(),
        false => format!("; columns that are not read: {}", unread.join(", ")),
    };
    let columns = (!columns.is_empty()).then(|| columns.join(", "))?;
    Some(format!("{}: no column {columns}, which the queries read{hint}", path.display()))
}

/// A part of a file, in the order of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    first: Option<u64>,
    file: usize,
    part: usize,
    bytes: u64,
}

/// The field of a column that a file lacks.
fn lacking(column: RowValue, contents: &Contents, statistics: &[String]) -> Option<String> {
    let has =
        |name: &str| contents.fields.contains(name) || contents.key.columns().any(|member| member == name);
    let name = match column {
        RowValue::Time if contents.has_windows => return None,
        RowValue::Time => "ltime",
        RowValue::Statistic(at) => {
            let name = statistics.get(usize::from(at))?;
            return (!contents.statistics.contains(name)).then(|| name.clone());
        }
        // Files have their mean alone.
        RowValue::RttSum | RowValue::RttCount => return Some("rtt_sum".to_owned()),
        column => FIELDS.iter().find(|field| field.row == column).map(|field: &Field| field.name)?,
    };
    (!has(name)).then(|| name.to_owned())
}

/// Returns what all questions need together.
fn needs(groups: &[Group<'_>], site: &Site) -> Result<RecordedNeeds, Refused> {
    let mut all = RecordedNeeds::default();
    let mut refused = Vec::new();
    for group in groups {
        let queries: Vec<Query> = group.questions.iter().map(|question| question.query.clone()).collect();
        match RowQueries::plan(Generation::default(), &queries, site) {
            Ok(queries) => {
                let needs = queries.needs_of_recorded();
                all.members.extend(needs.members);
                all.columns.extend(needs.columns);
                all.order.extend(needs.order);
            }
            Err(refusals) => {
                refused.extend(refusals.into_iter().map(|(query, refusal)| (query, refusal.to_string())));
            }
        }
    }
    if !refused.is_empty() {
        return Err(Refused::Queries(refused));
    }
    all.members.sort_unstable();
    all.members.dedup();
    all.columns.sort_unstable();
    all.columns.dedup();
    Ok(all)
}

/// Returns the members of keys that a question names: a row that leaves one open is in no group.
fn named_members(query: &Query, key: &KeySpec) -> OpenFields {
    let fields = query.fields();
    let named: Vec<&str> = key.columns().filter(|member| fields.contains(*member)).collect();
    OpenFields::all(&named)
}

/// The rest of a sentence on one row without packets that leaves open a member of its key, and on several.
const KEYLESS: [&str; 2] = [
    "does not tell a field of its key: it is in no group",
    "do not tell a field of their key: they are in no group",
];

/// Returns what is read: what is needed, and what rows without a key and the time that rows cover are told by.
fn wanted(needs: RecordedNeeds, site: &Site, reads_span: bool) -> Wanted {
    let RecordedNeeds { members, mut columns, order } = needs;
    columns.extend(order);
    if !members.is_empty() {
        columns.push(RowValue::Packets);
    }
    if reads_span {
        columns.extend([RowValue::First, RowValue::Last, RowValue::Time]);
    }
    columns.sort_unstable();
    columns.dedup();
    Wanted { members, columns, statistics: site.statistics.clone(), ..Wanted::default() }
}

/// The state of the work while questions are answered.
struct Work<'a> {
    site: Site,
    groups: Vec<Group<'a>>,
    outcome: Outcome,
    /// The times of the rows of each node, and whether these are known before all rows are read.
    spans: NodeSpans,
    are_spans_known: bool,
    /// True if the answers depend on the times of rows.
    counts_by_time: bool,
    /// The remarks on what all answers of windows lack.
    windows_lack: Vec<String>,
    times: Arc<StoredTimes>,
    refused: RefusedRows,
    totals: ColumnTotals,
    scratch: Scratch,
}

/// The bounds of what is read of a part.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The time whose rows are read of its file; `None` for all.
    clip: Option<Period>,
    /// The times that its rows count at, the first and the last, where they are known.
    times: Option<[u64; 2]>,
}

/// The share of a part's rows that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    All,
    None,
    /// The rows that count in a time.
    Within(Period),
}

impl Bounds {
    /// Returns the share of the part's rows that a period has.
    fn share(self, period: Option<Period>) -> Share {
        let both = match (period, self.clip) {
            (None, None) => return Share::All,
            (Some(one), Some(other)) => one.both(other),
            (Some(one), None) | (None, Some(one)) => one,
        };
        match self.times {
            Some(times) if times.iter().all(|time| both.contains(*time)) => Share::All,
            Some([first, last]) if first >= both.to_ns || last < both.from_ns => Share::None,
            _ => Share::Within(both),
        }
    }
}

/// Rows of one period.
#[derive(Default)]
struct Scratch {
    v4: RowBatch<KeyV4>,
    v6: RowBatch<KeyV6>,
    rows: Vec<u32>,
    /// Rows that leave open a field that a question names.
    keyless: Vec<WithoutKey>,
}

impl Group<'_> {
    /// The state of a node, which is made with its first rows.
    fn node(&mut self, node: &Option<Arc<str>>, site: &Site) -> Option<&mut Answered> {
        if !self.nodes.contains_key(node) {
            let name = node.as_deref();
            let of_node = self.questions.iter().filter(|question| (question.runs_on)(name));
            let queries: Vec<Query> = of_node.map(|question| question.query.clone()).collect();
            let site = Site { node: name.unwrap_or_default().to_owned(), ..site.clone() };
            // The same queries were planned before anything was read.
            let queries = RowQueries::plan(Generation::default(), &queries, &site).ok()?;
            let mut rows = queries.recorded();
            rows.miss(self.missing.get(node).cloned().unwrap_or_default());
            self.nodes.insert(node.clone(), Answered { queries, rows });
        }
        self.nodes.get_mut(node)
    }

    /// Returns true if rows of a part, of this node if it is known, may be asked for.
    fn asks_for(&self, part: &Part, clip: Option<Period>, node: Option<&str>) -> bool {
        let overlaps = |period: Option<Period>| match (period, part.times) {
            (Some(period), Some([first, last])) => first < period.to_ns && last >= period.from_ns,
            _ => true,
        };
        let is_in_period = overlaps(self.period) && overlaps(clip);
        let may_pass = |question: &&Question| {
            // Rows that do not pass show which windows and nodes there are.
            let is_of_all = node.is_none() || question.query.over != Over::Run;
            is_of_all || question.query.filter.as_ref().is_none_or(|filter| may_pass(filter, part))
        };
        is_in_period && self.questions.iter().any(may_pass)
    }
}

impl Work<'_> {
    fn asks_for(&self, part: &Part, clip: Option<Period>, node: Option<&str>) -> bool {
        self.groups.iter().any(|group| group.asks_for(part, clip, node))
    }

    /// Makes a node known, which is answered whether it has rows or not.
    fn know(&mut self, node: &Option<Arc<str>>) {
        self.groups.iter_mut().for_each(|group| {
            let _ = group.node(node, &self.site);
        });
    }

    /// Remembers what a part that is not read shows: its node, and its time.
    fn pass_over(&mut self, part: &Part, node: Option<&str>) {
        if let Some(node) = node {
            self.know(&Some(Arc::from(node)));
        }
        if let Some(span) = span_of(part).filter(|_| !self.are_spans_known) {
            self.spans.add(node.map(Arc::from), span);
        }
    }

    /// Takes packets of a file that are in no row: those of each window, where it tells them, or of times that are not known: answers about
    /// a part of the time lack them.
    fn take_without_place(
        &mut self,
        file: &str,
        contents: &Contents,
        clip: Option<Period>,
        node: &Option<Arc<str>>,
    ) {
        let timed = without_place_by_window(contents);
        if let Some(all) = contents.without_place.filter(|all| timed.is_none() && all.packets != 0) {
            let WithoutKey { packets, bytes, wire_bytes, .. } = all;
            let lacking = format!(
                "{file}: {} no place in the table, at times that are not known",
                notation::counted_as(packets, "packet", ["had"; 2])
            );
            for group in &mut self.groups {
                let is_cut = group.period.is_some() || clip.is_some();
                group.lacks.extend(is_cut.then(|| lacking.clone()));
                if let Some(Answered { rows, .. }) = group.node(node, &self.site) {
                    rows.add_outside_windows(&Unplaced { packets, bytes, wire_bytes, keyless: 0 });
                }
            }
            self.windows_lack.push(lacking);
        }
        let timed = timed.into_iter().flatten();
        timed.for_each(|(time_ns, unplaced)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_outside(time_ns, &unplaced));
        });
        untold_by_window(contents).for_each(|(time_ns, untold)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_untold(time_ns, &untold));
        });
        sampled_by_window(contents).for_each(|(time_ns, sampled)| {
            self.each_with(time_ns, clip, node, |rows| rows.add_sampled(time_ns, &sampled));
        });
        let Some(untold) = untold_of_records(contents) else { return };
        for group in &mut self.groups {
            if let Some(Answered { rows, .. }) = group.node(node, &self.site) {
                rows.add_untold_of_any_time(&untold);
            }
        }
    }

    /// Calls `take` with the rows of a node in each period that has this time.
    fn each_with(
        &mut self,
        time_ns: u64,
        clip: Option<Period>,
        node: &Option<Arc<str>>,
        take: impl Fn(&mut RecordedRows),
    ) {
        for group in &mut self.groups {
            let is_in = |period: Option<Period>| period.is_none_or(|period| period.contains(time_ns));
            if is_in(group.period)
                && is_in(clip)
                && let Some(Answered { rows, .. }) = group.node(node, &self.site)
            {
                take(rows);
            }
        }
    }

    /// Takes a block of rows; refuses one whose numbers cannot be added up. `is_measured`: those without a key are of the record `other`.
    fn take(
        &mut self,
        block: &RowBlock,
        bounds: Bounds,
        wanted: &Wanted,
        is_measured: bool,
    ) -> Result<(), String> {
        let times = [block.v4.column(RowValue::Time), block.v6.column(RowValue::Time)];
        let has_none = times.iter().any(|times| times.contains(&NULL))
            || block.without_key.iter().any(|row| row.time_ns.is_none());
        if self.counts_by_time && has_none {
            return Err("a row has no time at which it counts".to_owned());
        }
        self.totals.add(block, wanted)?;
        let Self { site, groups, outcome, scratch, .. } = self;
        outcome.rows += (block.v4.len() + block.v6.len() + block.without_key.len()) as u64;
        outcome.without_key += block.without_key.len() as u64;
        if !self.are_spans_known {
            let of_block = [span_of_rows(&block.v4), span_of_rows(&block.v6)];
            let of_others = block.without_key.iter().filter_map(span_without_key);
            let all = of_block.into_iter().flatten().chain(of_others);
            all.for_each(|span| self.spans.add(block.node.clone(), span));
        }
        for group in groups {
            let share = bounds.share(group.period);
            let named = group.named;
            let Some(Answered { queries, rows }) = group.node(&block.node, site) else { continue };
            let Scratch { v4, v6, rows: numbers, keyless } = scratch;
            keyless.clear();
            let period = match share {
                Share::None => continue,
                Share::All => None,
                Share::Within(period) => Some(period),
            };
            if period.is_none() && !block.open.iter().flatten().any(|open| open.has_any(named)) {
                rows.add(queries, &block.v4, &block.v6);
            } else {
                pick(period, &block.v4, |at| block.open_v4(at).has_any(named), v4, numbers, keyless);
                pick(period, &block.v6, |at| block.open_v6(at).has_any(named), v6, numbers, keyless);
                rows.add(queries, v4, v6);
            }
            add_untold(rows, period, named, block.v4.column(RowValue::Time), &block.open[0]);
            add_untold(rows, period, named, block.v6.column(RowValue::Time), &block.open[1]);
            let without_key = block.without_key.iter().map(|row| (row, is_measured));
            for (row, is_other) in without_key.chain(keyless.iter().map(|row| (row, false))) {
                // Where it matters, all have times.
                let time_ns = row.time_ns.unwrap_or(0);
                if period.is_none_or(|period| period.contains(time_ns)) {
                    let WithoutKey { packets, bytes, wire_bytes, .. } = *row;
                    let keyless = if is_other { 0 } else { packets };
                    rows.add_outside(time_ns, &Unplaced { packets, bytes, wire_bytes, keyless });
                }
            }
            let all = block.without_key.iter().chain(keyless.iter());
            group.keyless += all.filter(|row| row.packets == 0).count() as u64;
        }
        Ok(())
    }

    /// Gives the answers of windows that end by this time. All rows that are not read yet are later.
    fn answer_until(&mut self, until_ns: u64, give: &mut dyn FnMut(Answer)) {
        if !self.are_spans_known {
            return;
        }
        for group in &mut self.groups {
            for (node, Answered { rows, .. }) in &mut group.nodes {
                let Some(span) = self.spans.of(node) else { continue };
                let watched = watched(span, group.period);
                let answers = rows.answers_until(until_ns, watched);
                for mut answer in answers {
                    if group.period.is_none() {
                        lack(&mut answer, &self.windows_lack);
                    }
                    lack(&mut answer, &group.lacks);
                    lack_keyless(&mut answer, group.keyless);
                    self.refused.describe(&mut answer, node, group.period);
                    describe_ends(&self.refused, &mut answer, node, &group.questions, Some(span));
                    give(complete(answer, node, &self.outcome, &self.times));
                }
            }
        }
    }

    /// Gives all answers that are left.
    fn finish(mut self, give: &mut dyn FnMut(Answer)) -> Outcome {
        self.outcome.span = self.spans.all();
        for group in &mut self.groups {
            if group.nodes.is_empty() {
                // Without rows there is the answer of none.
                let _ = group.node(&None, &self.site);
            }
            self.outcome.nodes.extend(group.nodes.keys().flatten().map(|node| node.to_string()));
            let runs =
                |question: &&Question| group.nodes.keys().any(|node| (question.runs_on)(node.as_deref()));
            let idle = group.questions.iter().filter(|question| !runs(question));
            self.outcome.without_node.extend(idle.map(|question| question.query.name.clone()));
            for (node, Answered { queries, rows }) in std::mem::take(&mut group.nodes) {
                let span = self.spans.of(&node);
                let answers = rows.finish(&queries, span.map(|span| watched(span, group.period)));
                let is_of_windows = |answer: &Answer| {
                    let of_windows =
                        group.questions.iter().filter(|question| question.query.over != Over::Run);
                    of_windows.map(|question| &question.query.name).any(|name| *name == answer.query)
                };
                for mut answer in answers {
                    if group.period.is_none() && is_of_windows(&answer) {
                        lack(&mut answer, &self.windows_lack);
                    }
                    lack(&mut answer, &group.lacks);
                    lack_keyless(&mut answer, group.keyless);
                    self.refused.describe(&mut answer, &node, group.period);
                    describe_ends(&self.refused, &mut answer, &node, &group.questions, span);
                    give(complete(answer, &node, &self.outcome, &self.times));
                }
            }
        }
        self.outcome
    }
}

/// The part of the time that rows cover which a period has.
pub(crate) fn watched(span: Span, period: Option<Period>) -> Span {
    match period {
        None => span,
        Some(Period { from_ns, to_ns }) => {
            let start_ns = span.start_ns.clamp(from_ns, to_ns);
            Span { start_ns, end_ns: span.end_ns.clamp(start_ns, to_ns) }
        }
    }
}

/// Says in an answer about a part of the time of imported records that these count where they end.
fn describe_ends(
    facts: &RefusedRows,
    answer: &mut Answer,
    node: &Option<Arc<str>>,
    questions: &[&Question],
    span: Option<Span>,
) {
    let asked = questions.iter().find(|question| question.query.name == answer.query);
    if let Some(question) = asked {
        facts.describe_ends(answer, node, part_of(&question.query.over, question.period, span));
    }
}

/// Makes an answer partial where rows without packets leave open a member of their key. Those that have packets are told by these.
fn lack_keyless(answer: &mut Answer, rows: u64) {
    if rows != 0 {
        answer.lacks(&notation::counted_as(rows, "row", KEYLESS));
    }
}

fn lack(answer: &mut Answer, reasons: &[String]) {
    reasons.iter().for_each(|reason| answer.lacks(reason));
}

/// An answer with its node, and with what keeps it from being complete. Of damaged files whose times are known it has all of the node in `missing`, whether
/// they are of its time or not.
fn complete(mut answer: Answer, node: &Option<Arc<str>>, outcome: &Outcome, times: &StoredTimes) -> Answer {
    answer.node = node.as_deref().map(str::to_owned);
    let mut errors: Vec<String> = Vec::new();
    for error in &outcome.errors {
        let Some((of, span)) = times.get(error.path()) else {
            errors.push(error.to_string());
            continue;
        };
        if node.as_deref() != Some(of) {
            continue;
        }
        let is_of = |window: Span| window.start_ns < span.end_ns && span.start_ns < window.end_ns;
        // Of windows without rows, those of its time are told apart later.
        if answer.empty.is_none() && answer.window.is_none_or(is_of) {
            errors.push(error.to_string());
        }
        answer.missing.push(Missing { span: *span, reason: MissingReason::Damaged });
    }
    if !errors.is_empty() {
        answer.lacks(&first_of(&errors, "; "));
    }
    lack(&mut answer, &outcome.passed_over);
    if outcome.stopped {
        answer.lacks("reading was stopped before the end");
    }
    answer
}

/// Takes the fields that rows of a period leave open. Rows that leave open what the questions name are in no group, and told as such.
fn add_untold(
    rows: &mut RecordedRows,
    period: Option<Period>,
    named: OpenFields,
    times: &[u64],
    open: &[OpenFields],
) {
    let mut last: Option<(u64, Untold)> = None;
    for (at, open) in open.iter().enumerate().filter(|(_, open)| !open.is_empty() && !open.has_any(named)) {
        // Where it matters, all have times.
        let time_ns = times.get(at).copied().unwrap_or(0);
        if !period.is_none_or(|period| period.contains(time_ns)) {
            continue;
        }
        // Rows of one time are added together, and all rows where no windows are asked for.
        let time_ns = if rows.has_windows() { time_ns } else { 0 };
        match &mut last {
            Some((known_ns, untold)) if *known_ns == time_ns => untold.add_row(*open),
            _ => {
                let mut untold = Untold::default();
                untold.add_row(*open);
                if let Some((known_ns, known)) = last.replace((time_ns, untold)) {
                    rows.add_untold(known_ns, &known);
                }
            }
        }
    }
    if let Some((time_ns, untold)) = last {
        rows.add_untold(time_ns, &untold);
    }
}

/// Picks the rows of a period that have a key; `lacks_key` says of a row whether it has none. Appends the others to `keyless`.
fn pick<K: Copy>(
    period: Option<Period>,
    rows: &RowBatch<K>,
    lacks_key: impl Fn(usize) -> bool,
    picked: &mut RowBatch<K>,
    numbers: &mut Vec<u32>,
    keyless: &mut Vec<WithoutKey>,
) {
    numbers.clear();
    let times = rows.column(RowValue::Time);
    for at in 0..rows.len() {
        let of = |column: RowValue| rows.column(column).get(at).copied();
        let is_in = |period: Period| times.get(at).is_some_and(|time_ns| period.contains(*time_ns));
        if !period.is_none_or(is_in) {
            continue;
        }
        if lacks_key(at) {
            keyless.push(WithoutKey::of(of));
        } else {
            numbers.push(at as u32);
        }
    }
    picked.fill_from(rows, numbers);
}
