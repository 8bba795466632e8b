//! The files, and what their rows have in common.

use crate::question::Setting;
use flow::{NULL, RowBatch, RowValue};
use packet::KeySpec;
use record::read::{Contents, FlowFile, Part, ReadError};
use report::Span;
use std::collections::BTreeSet;
use std::path::PathBuf;
use task::rows::Site;

/// Flow files that are open.
pub struct FlowFiles {
    pub(crate) files: Vec<FlowFile>,
    pub(crate) errors: Vec<ReadError>,
    key: KeySpec,
}

impl FlowFiles {
    /// Opens files. Those that cannot be read are in [`Self::errors`], and the others are answered.
    ///
    /// # Errors
    /// One line: there is no file that can be read, or their keys have prefixes of different lengths.
    pub fn open(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, String> {
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for path in paths {
            match FlowFile::open(&path) {
                Ok(file) => files.push(file),
                Err(error) => errors.push(error),
            }
        }
        Self::of(files, errors)
    }

    /// Files that were opened, and why others were not.
    pub(crate) fn of(files: Vec<FlowFile>, errors: Vec<ReadError>) -> Result<Self, String> {
        if files.is_empty() {
            let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
            return Err(if lines.is_empty() { "no flow file is given".to_owned() } else { lines.join("; ") });
        }
        let key = common_key(&files)?;
        Ok(Self { files, errors, key })
    }

    /// Files that could not be opened.
    pub fn errors(&self) -> &[ReadError] {
        &self.errors
    }

    /// The members that all files' keys have.
    pub fn key(&self) -> &KeySpec {
        &self.key
    }

    /// What each file contains.
    pub fn contents(&self) -> impl Iterator<Item = (&std::path::Path, &Contents)> {
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

    /// True if rows of all files have losses.
    pub fn track_losses(&self) -> bool {
        self.files.iter().all(|file| file.contents().tracks_loss)
    }

    /// The number of rows, where all files tell it.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().map(|file| file.contents().rows).sum()
    }

    /// The time from the first packet to the last, where all files tell it.
    pub fn span(&self) -> Option<Span> {
        let mut parts = self.files.iter().flat_map(|file| &file.contents().parts);
        parts.try_fold(None, |span: Option<Span>, part| {
            let of = span_of(part)?;
            Some(Some(span.map_or(of, |span| union(span, of))))
        })?
    }

    /// What the rows are like for a query.
    pub(crate) fn site(&self, setting: &Setting) -> Site {
        Site {
            // Rows have times of their own: any length is a multiple.
            window_ns: Some(1),
            tracks_loss: self.track_losses(),
            statistics: self.statistics(),
            geo: setting.geo.clone(),
            ..Site::new(self.key, setting.seed, setting.limits.clone())
        }
    }
}

/// The time of the packets of a part.
pub(crate) fn span_of(part: &Part) -> Option<Span> {
    let of = |name: &str| {
        part.ranges.iter().find_map(|(field, range)| match range {
            record::read::Range::Numbers(first, last) if *field == name => Some((*first, *last)),
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

pub(crate) fn union(one: Span, other: Span) -> Span {
    Span { start_ns: one.start_ns.min(other.start_ns), end_ns: one.end_ns.max(other.end_ns) }
}

fn common_key(files: &[FlowFile]) -> Result<KeySpec, String> {
    let mut key: Option<(KeySpec, &FlowFile)> = None;
    for file in files {
        let own = file.contents().key;
        let Some((common, first)) = key else {
            key = Some((own, file));
            continue;
        };
        let shared: Vec<&str> =
            common.columns().filter(|member| own.columns().any(|of| of == *member)).collect();
        if let Some(differing) =
            shared.iter().find(|member| common.prefix_lengths(member) != own.prefix_lengths(member))
        {
            return Err(format!(
                "{differing} has other prefixes in {} ({}) than in {} ({}): query them one by one",
                first.path().display(),
                common.parts().join(","),
                file.path().display(),
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
    Ok(key.map_or(KeySpec::FIVE_TUPLE, |(key, _)| key))
}
