//! The lengths of windows, and the queries that they are for.

use crate::exit::Failure;
use crate::machine;
use crate::questions::asked::{QuerySet, greatest_divisor};
use crate::questions::query_text::NamedText;
use crate::spec::{RecordedOptions, RunSpec};
use equery::{CheckOptions, CheckedQuery, QueryItems};
use history::replay::Recording;
use notation::how_long;
use task::query::Over;

/// The length of windows where neither the user nor the files say it.
const DEFAULT_NS: u64 = 10_000_000_000;

/// The lengths of windows.
pub(super) struct WindowLengths {
    /// The length of the rows' windows.
    pub(super) base_ns: u64,
    /// The length of the windows of queries that do not say it.
    pub(super) default_ns: u64,
}

impl WindowLengths {
    /// Rows have windows of their own. Those of flow records are as long as those of a run that measures for the queries.
    pub(super) fn from_recording(
        source: &RecordedOptions,
        set: &[(String, String)],
        texts: &[NamedText],
        recording: &Recording,
    ) -> Result<Self, Failure> {
        let given = source.every_ns();
        if given == Some(0) {
            return Err(Failure::usage("--every 0s: a window takes some time, as 10s"));
        }
        let has_windows = recording.files().contents().find(|(_, contents)| contents.has_windows);
        match (recording.window_ns().map_err(Failure::usage)?, has_windows) {
            (Some(base_ns), _) => {
                let usual_ns = given.or(recording.default_ns()).unwrap_or(base_ns);
                if !usual_ns.is_multiple_of(base_ns) {
                    return Err(Failure::usage(format!(
                        "--every {}: the windows of the rows are {} long, of which it must be a multiple",
                        how_long(usual_ns),
                        how_long(base_ns)
                    )));
                }
                Ok(Self { base_ns, default_ns: usual_ns })
            }
            (None, Some((path, _))) => match given {
                Some(base_ns) => Ok(Self { base_ns, default_ns: base_ns }),
                None => Err(Failure::usage(format!(
                    "{} does not tell how long its windows are: give --every TIME",
                    path.display()
                ))),
            },
            (None, None) => {
                let usual_ns = given.unwrap_or(DEFAULT_NS);
                let lengths = lengths(set, texts);
                Ok(Self {
                    base_ns: lengths.into_iter().fold(usual_ns, greatest_divisor),
                    default_ns: usual_ns,
                })
            }
        }
    }

    fn checking(&self, options: &RunSpec) -> CheckOptions {
        CheckOptions {
            set: options.question.set.clone(),
            base_window_ns: Some(self.base_ns),
            key: Some(options.question.key.parts()),
            memory_bytes: Some(options.limit.memory.unwrap_or_else(machine::half_of_memory)),
            ..CheckOptions::default()
        }
    }

    /// Says the errors of texts that do not depend on nodes. The key of the options is that of the rows.
    pub(super) fn refuse_errors(&self, options: &RunSpec, texts: &[NamedText]) -> Result<(), Failure> {
        match checked(texts, self.checking(options)) {
            Some(_) => Ok(()),
            None => {
                QuerySet::from_texts(texts, self.checking(options), &[], &options.question.enrich).map(|_| ())
            }
        }
    }

    /// Returns what the texts ask.
    pub(super) fn asked(
        &self,
        options: &RunSpec,
        texts: &[NamedText],
        nodes: &[String],
    ) -> Result<QuerySet, Failure> {
        let checking = CheckOptions { known_nodes: Some(nodes.to_vec()), ..self.checking(options) };
        QuerySet::from_texts(texts, checking, nodes, &options.question.enrich)
    }
}

/// The queries of texts; `None` if they have errors, of which nothing is said.
fn checked(texts: &[NamedText], mut checking: CheckOptions) -> Option<Vec<CheckedQuery>> {
    let mut queries = Vec::new();
    for text in texts {
        let checked = equery::check(&text.source(), &checking);
        if checked.has_errors() {
            return None;
        }
        checking.continuous.extend(checked.queries.iter().map(QueryItems::from_query));
        queries.extend(checked.queries);
    }
    Some(queries)
}

/// The lengths of the windows of queries that say them.
fn lengths(set: &[(String, String)], texts: &[NamedText]) -> Vec<u64> {
    let checking = CheckOptions { set: set.to_vec(), ..CheckOptions::default() };
    let lengths = checked(texts, checking).into_iter().flatten().filter_map(|query| match query.plan.over {
        Over::Windows { every_ns, .. } => Some(every_ns),
        Over::Window | Over::Run => None,
    });
    lengths.collect()
}

/// Returns how far before their own windows queries read values of earlier ones, nanoseconds. Each may read those of another.
pub(super) fn reach_ns(source: &RecordedOptions, set: &[(String, String)], texts: &[NamedText]) -> u64 {
    let checking = CheckOptions { set: set.to_vec(), ..CheckOptions::default() };
    let usual_ns = source.every_ns().unwrap_or(DEFAULT_NS);
    let queries = checked(texts, checking).into_iter().flatten();
    queries.map(|query| query.reach_ns(usual_ns)).fold(0, u64::saturating_add)
}
