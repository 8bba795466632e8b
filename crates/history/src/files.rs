//! The files, and what their rows have in common.

use crate::facts::{are_of_records, describe_samples, told_sample, watched_of};
use crate::file_times::{UnwatchedTimes, unwatched};
use crate::node_spans::{NodeSpans, union};
use crate::question::{AnswerSetting, Period, Question, QuestionError};
use flow::{NULL, RowBatch, RowValue, TrackedParts};
use model::Span;
use packet::KeySpec;
use record::RecordedWindows;
use record::read::{Contents, FilePart, FlowFile, ReadError, WithoutKey};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use task::rows::{PacketFieldPolicy, PlanContext};

/// Flow files that are open.
pub struct FlowFiles {
    pub(crate) files: Vec<FlowFile>,
    /// The time of each file whose rows are read; `None` for all.
    pub(crate) clips: Vec<Option<Period>>,
    pub(crate) errors: Vec<ReadError>,
    key: KeySpec,
    /// The keys of flows differ from file to file.
    have_other_keys: bool,
    /// The times that all rows cover of which the files may be a part, where these are known.
    pub(crate) covers: Option<NodeSpans>,
    /// Nodes that are answered without rows too.
    pub(crate) nodes: Vec<String>,
    /// Times of nodes that were not watched.
    pub(crate) missing: Arc<UnwatchedTimes>,
    /// The node and the time of the windows of each file of a store; empty where the files are in none.
    pub(crate) times: Arc<StoredTimes>,
}

/// Nodes and times of files, by path.
pub(crate) type StoredTimes = BTreeMap<PathBuf, (String, Span)>;

impl FlowFiles {
    /// Opens files. Those that cannot be read are in [`Self::errors`], and the others are answered.
    ///
    /// # Errors
    /// Returns one line if there is no file that can be read, or their keys have prefixes of different lengths.
    pub fn open(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, String> {
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for path in paths {
            match FlowFile::open(&path) {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
        Self::from_files(files, errors)
    }

    /// Files that were opened, and why others were not.
    pub(crate) fn from_files(files: Vec<FlowFile>, errors: Vec<ReadError>) -> Result<Self, String> {
        if files.is_empty() {
            let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
            return Err(if lines.is_empty() { "no flow file is given".to_owned() } else { lines.join("; ") });
        }
        let clips = vec![None; files.len()];
        Self::from_part(files, clips, errors, None)
    }

    /// Files that are a part of others, or none.
    fn from_part(
        files: Vec<FlowFile>,
        clips: Vec<Option<Period>>,
        errors: Vec<ReadError>,
        covers: Option<NodeSpans>,
    ) -> Result<Self, String> {
        let told = files.iter().filter(|file| !file.contents().is_blank());
        let keys = told.clone().map(|file| (file.contents().key, file.path()));
        let key = common_keys(keys)?.unwrap_or(KeySpec::FIVE_TUPLE);
        let have_other_keys = told.map(FlowFile::contents).any(|contents| contents.key != key);
        // Of a store its manifest tells them.
        let missing = if covers.is_none() {
            unwatched(files.iter().map(FlowFile::contents))
        } else {
            UnwatchedTimes::new()
        };
        let (nodes, missing) = (Vec::new(), Arc::new(missing));
        let times = Arc::default();
        Ok(Self { files, clips, errors, key, have_other_keys, covers, nodes, missing, times })
    }

    /// Opens files of a store, of each the rows that count in a time. Without any, answers are those of no rows. `covers`: the times that all
    /// rows of the store cover. `nodes`: those that are answered, with rows or without.
    ///
    /// # Errors
    /// Returns one line if the keys of the files have prefixes of different lengths.
    pub fn open_stored(
        files: impl IntoIterator<Item = (PathBuf, Period)>,
        covers: NodeSpans,
        nodes: Vec<String>,
    ) -> Result<Self, String> {
        let (mut open, mut clips, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (path, period) in files {
            match FlowFile::open(&path) {
                Ok(file) => {
                    open.push(file);
                    clips.push(Some(period));
                }
                Err(error) => errors.push(error),
            }
        }
        Ok(Self { nodes, ..Self::from_part(open, clips, errors, Some(covers))? })
    }

    /// Sets files aside of which a byte has another checksum than when it was written, for readers that check none. `checked`: files that were checked
    /// before, which are not read again.
    pub(crate) fn leave_damaged(&mut self, checked: &mut BTreeSet<PathBuf>) {
        let Self { files, clips, errors, .. } = self;
        let all = std::mem::take(files).into_iter().zip(std::mem::take(clips));
        for (file, clip) in all {
            let is_known = checked.contains(file.path());
            match if is_known { Ok(()) } else { record::read::check_sums(file.path()) } {
                Err(error) => errors.push(error),
                Ok(()) => {
                    checked.insert(file.path().to_owned());
                    files.push(file);
                    clips.push(clip);
                }
            }
        }
    }

    /// Files that could not be opened, or are damaged.
    pub fn errors(&self) -> &[ReadError] {
        &self.errors
    }

    /// The members that all files' keys have.
    pub fn key(&self) -> &KeySpec {
        &self.key
    }

    /// Returns what answers that depend on which packets are one flow have to say where the keys of files differ; `None` where these do not.
    pub(crate) fn describe_key_differences(&self) -> Option<String> {
        let members = self.key.parts();
        self.have_other_keys.then(|| match members.is_empty() {
            true => {
                "the files are of keys without a field in common: all packets count as one flow".to_owned()
            }
            false => {
                let members = members.join(",");
                format!("the files are of different keys: packets of the same {members} count as one flow")
            }
        })
    }

    /// Returns what each file contains.
    pub fn contents(&self) -> impl Iterator<Item = (&Path, &Contents)> {
        self.files.iter().map(|file| (file.path(), file.contents()))
    }

    /// The length of windows, where rows of windows are among the rows: the greatest of all.
    pub fn window_ns(&self) -> Option<u64> {
        self.files.iter().filter_map(|file| file.contents().window_ns).max()
    }

    /// Statistics of packets that rows of any file have.
    pub fn statistics(&self) -> Vec<String> {
        let all = self.files.iter().flat_map(|file| &file.contents().statistics);
        all.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The nodes with windows of flow records that were imported.
    pub(crate) fn nodes_of_records(&self) -> BTreeSet<Option<Arc<str>>> {
        let imported = self.contents().map(|(_, contents)| contents);
        let imported = imported.filter(|contents| contents.windows.as_ref().is_some_and(are_of_records));
        imported.map(|contents| contents.node.as_deref().map(Arc::from)).collect()
    }

    /// Returns the remark that answers have where records are of samples and are not scaled; `None` where none are.
    pub fn sampled(&self) -> Option<String> {
        describe_samples(
            &self.contents().filter_map(|(path, contents)| told_sample(path, contents)).collect::<Vec<_>>(),
        )
    }

    /// Refuses a question to another engine, which does not know that rows of samples are scaled.
    pub(crate) fn refuse_samples(&self, question: &Question) -> Result<(), QuestionError> {
        let is_asked = |windows: &RecordedWindows, clip: Option<Period>| {
            windows.each().filter(|(.., facts)| facts.is_sampled()).any(|(first_ns, count, _)| {
                let last_ns = first_ns.saturating_add((count - 1).saturating_mul(windows.length_ns));
                let is_in = |period: &Period| first_ns < period.to_ns && last_ns >= period.from_ns;
                [clip, question.period].iter().flatten().all(is_in)
            })
        };
        let mut asked = self.contents().zip(&self.clips).filter_map(|((path, contents), clip)| {
            let runs = (question.runs_on)(contents.node.as_deref());
            (runs && is_asked(contents.windows.as_ref()?, *clip)).then(|| path.display().to_string())
        });
        let Some(first) = asked.next() else { return Ok(()) };
        Err(QuestionError::Queries(vec![(
            question.query.name.clone(),
            format!(
                "another engine does not scale samples: the rows of {first} are of one; ask without --engine"
            ),
        )]))
    }

    /// The optional parts that the rows of all files have.
    pub fn tracked_parts(&self) -> TrackedParts {
        let told = self.files.iter().filter(|file| !file.contents().is_blank());
        TrackedParts::common(told.map(|file| file.contents().tracked))
    }

    /// The number of rows, where all files tell it.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().map(|file| file.contents().rows).sum()
    }

    /// The time that was watched, where all files tell it.
    pub fn span(&self) -> Option<Span> {
        self.spans()?.all()
    }

    /// Returns the time that was watched of each node, where all files tell it. Of files that do not, it is the time of their rows.
    pub(crate) fn spans(&self) -> Option<NodeSpans> {
        if self.covers.is_some() {
            return self.covers.clone();
        }
        let mut spans = NodeSpans::default();
        for contents in self.files.iter().map(FlowFile::contents) {
            let node: Option<Arc<str>> = contents.node.as_deref().map(Arc::from);
            match watched_of(contents) {
                Some(span) => spans.add(node, span),
                None => {
                    for part in &contents.parts {
                        spans.add(node.clone(), span_of(part)?);
                    }
                }
            }
        }
        Some(spans)
    }

    /// Returns the time that was watched of each node, as far as files tell it.
    pub(crate) fn told_spans(&self) -> NodeSpans {
        let mut spans = NodeSpans::default();
        for (_, contents) in self.contents() {
            if let Some(span) = watched_of(contents) {
                spans.add(contents.node.as_deref().map(Arc::from), span);
            }
        }
        spans
    }

    /// Returns the properties of the rows, as queries are planned for them.
    pub(crate) fn site(&self, setting: &AnswerSetting) -> PlanContext {
        PlanContext {
            // Rows have times of their own: any length is a multiple.
            window_ns: Some(1),
            tracked: self.tracked_parts(),
            statistics: self.statistics(),
            geo: setting.geo.clone(),
            by_packets: PacketFieldPolicy::Named,
            ..PlanContext::new(self.key, setting.seed, setting.limits.clone())
        }
    }
}

/// The time of the packets of a part.
pub(crate) fn span_of(part: &FilePart) -> Option<Span> {
    let of = |name: &str| {
        part.ranges.iter().find_map(|(field, range)| match range {
            record::read::ValueRange::Numbers(first, last) if *field == name => Some((*first, *last)),
            _ => None,
        })
    };
    let ((start_ns, _), (_, last)) = (of("stime")?, of("ltime")?);
    Some(Span { start_ns, end_ns: last.saturating_add(1) })
}

/// The time of rows, as far as they have times.
pub(crate) fn span_of_rows<K: Copy>(rows: &RowBatch<K>) -> Option<Span> {
    let of = |column: RowValue| rows.column(column).iter().copied().filter(|time| *time != NULL);
    let first =
        [RowValue::First, RowValue::Last, RowValue::Time].into_iter().filter_map(|column| of(column).min());
    let last = [RowValue::Last, RowValue::Time].into_iter().filter_map(|column| of(column).max());
    Some(Span { start_ns: first.min()?, end_ns: last.max()?.saturating_add(1) })
}

/// Returns the time of a row that is of no flow, as far as it has times.
pub(crate) fn span_without_key(row: &WithoutKey) -> Option<Span> {
    let [first, last] = row.times;
    let last = last.max(row.time_ns)?;
    Some(Span { start_ns: first.unwrap_or(last).min(last), end_ns: last.saturating_add(1) })
}

/// The time of the packets of a file, if it can be read and tells it.
pub(crate) fn span_of_file(path: &Path) -> Option<Span> {
    let file = FlowFile::open(path).ok()?;
    let mut parts = file.contents().parts.iter();
    parts.try_fold(None, |span: Option<Span>, part| {
        let of = span_of(part)?;
        Some(Some(span.map_or(of, |span| union(span, of))))
    })?
}

/// The members that all keys have; `None` without keys.
///
/// # Errors
/// Returns one line if a member has prefixes of different lengths.
pub(crate) fn common_keys<'a>(
    keys: impl IntoIterator<Item = (KeySpec, &'a Path)>,
) -> Result<Option<KeySpec>, String> {
    let mut key: Option<(KeySpec, &Path)> = None;
    for (own, path) in keys {
        let Some((common, first)) = key else {
            key = Some((own, path));
            continue;
        };
        if common == own {
            continue;
        }
        let shared: Vec<&str> =
            common.columns().filter(|member| own.columns().any(|of| of == *member)).collect();
        if let Some(differing) =
            shared.iter().find(|member| common.prefix_lengths(member) != own.prefix_lengths(member))
        {
            return Err(format!(
                "{differing} has other prefixes in {} ({}) than in {} ({}): query them one by one",
                first.display(),
                common.parts().join(","),
                path.display(),
                own.parts().join(","),
            ));
        }
        let parts: Vec<_> = common
            .parts()
            .into_iter()
            .filter(|part| shared.contains(&part.split('/').next().unwrap_or(part)))
            .collect();
        // Without a member in common there is nothing to group by, and totals are left.
        key = Some((KeySpec::parse(&parts.join(",")).unwrap_or(KeySpec::NOTHING), first));
    }
    Ok(key.map(|(key, _)| key))
}
