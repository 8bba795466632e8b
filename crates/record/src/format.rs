//! File formats, and the choice of a writer by a file's suffix.

use crate::ipfix::IpfixWriter;
use crate::target::{self, WriteTarget};
use crate::text::{TextDialect, TextWriter};
use crate::{RecordWriter, Selection};
use std::io::{self, Write};
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// JSON lines: one JSON object a line.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// IPFIX messages (RFC 5655).
    Ipfix,
}

impl Format {
    /// All that this build can write.
    pub const ALL: &[Self] = &[Self::Csv, Self::JsonLines, Self::Parquet, Self::Ipfix];

    /// The suffix that chooses it.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Csv => ".csv",
            Self::JsonLines => ".jsonl",
            Self::Parquet => ".parquet",
            Self::Ipfix => ".ipfix",
        }
    }

    /// The format of a file that is read, by its suffix.
    pub(crate) fn from_input_path(path: &Path) -> Result<Self, String> {
        let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
        let found = Self::ALL.iter().find(|format| name.ends_with(format.suffix()));
        let suffixes: Vec<_> = Self::ALL.iter().map(|format| format.suffix()).collect();
        found.copied().ok_or_else(|| format!("unknown suffix; the formats are {}", suffixes.join(", ")))
    }

    /// The format of a path that is written, by its suffix. Standard output (`-`), pipes and devices without one get CSV.
    pub fn from_output_path(path: &Path) -> io::Result<Self> {
        let name = path.as_os_str().to_string_lossy().to_ascii_lowercase();
        if let Some(format) = Self::ALL.iter().find(|format| name.ends_with(format.suffix())) {
            return Ok(*format);
        }
        if target::is_stdout(path) || target::is_special(path) {
            return Ok(Self::Csv);
        }
        let suffixes: Vec<_> = Self::ALL.iter().map(|format| format.suffix()).collect();
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{}: unknown suffix; the formats are {}", path.display(), suffixes.join(", ")),
        ))
    }

    /// A writer of this format to any sink. `node` is the observation point's name.
    pub fn writer(
        self,
        out: Box<dyn Write + Send>,
        node: &str,
        selection: &Selection,
    ) -> io::Result<Box<dyn RecordWriter>> {
        self.to_target(WriteTarget::stream(out), node, selection)
    }

    pub(crate) fn to_target(
        self,
        out: WriteTarget,
        node: &str,
        selection: &Selection,
    ) -> io::Result<Box<dyn RecordWriter>> {
        Ok(match self {
            Self::Csv => Box::new(TextWriter::new(out, &TextDialect::CSV, node, selection)),
            Self::JsonLines => Box::new(TextWriter::new(out, &TextDialect::JSON_LINES, node, selection)),
            Self::Parquet => Box::new(crate::parquet::ParquetWriter::new(out, node, selection)?),
            Self::Ipfix => Box::new(IpfixWriter::new(out, node, selection)),
        })
    }
}

/// Opens a writer for `path`, its format chosen by the suffix. `node` is the observation point's name.
///
/// A regular file is written as `PATH.part` and renamed when [`RecordWriter::finish`] has succeeded; `-`,
/// `/dev/stdout`, pipes and devices are written directly.
pub fn create(path: &Path, node: &str, selection: &Selection) -> io::Result<Box<dyn RecordWriter>> {
    let format = Format::from_output_path(path)?;
    format.to_target(WriteTarget::open(path)?, node, selection)
}

/// Refuses a path at which [`create`] could open no writer, and leaves what is there.
///
/// # Errors
/// Returns one line for an unknown suffix, or a file that cannot be made.
pub fn check(path: &Path) -> io::Result<()> {
    Format::from_output_path(path)?;
    target::check(path)
}

/// Opens a Parquet file of flow records in a store: its columns are like those of window rows, with addresses of 16 bytes beside
/// `ip_version` and times as plain nanoseconds, and it is on the disk before it gets its name.
///
/// # Errors
/// Returns one line for a file that cannot be made.
pub fn create_stored(path: &Path, node: &str, selection: &Selection) -> io::Result<Box<dyn RecordWriter>> {
    Ok(Box::new(crate::parquet::ParquetWriter::stored(path, node, selection)?))
}
