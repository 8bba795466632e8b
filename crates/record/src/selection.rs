//! The columns that a file gets, and their order (`--fields`).

use flow::{
    Aggregation, FIELDS, Field, FieldAccessor, FlowRecord, InformationElement, Metric, OpenFields, Part,
    RowValue, Share, Statistic, TrackedParts,
};
use packet::KeySpec;
use std::borrow::Cow;
use std::fmt;

/// The contents of a run's records.
#[derive(Clone, Debug, Default)]
pub struct RecordContents {
    /// The members of the records' keys (`--key`).
    pub key: KeySpec,
    /// The optional parts that records have (`--loss`, `--headers`).
    pub tracked: TrackedParts,
    /// The statistics of `--gap`, `--packet-size`, `--inter-arrival`: in the order of [`flow::More::statistics`].
    pub statistics: Vec<Statistic>,
    /// True if records have two directions (`--biflow`).
    pub biflow: bool,
    /// True if the records are those of routers.
    pub of_routers: bool,
}

impl RecordContents {
    fn has(&self, part: Part) -> bool {
        self.tracked.has(part) || part == Part::Sampling && self.of_routers
    }

    fn key_has(&self, name: &str) -> bool {
        self.key.columns().any(|member| member == name)
    }

    /// Returns true if the two directions of a record may have different values of the field.
    fn is_reversible(&self, field: &Field) -> bool {
        !matches!(field.aggregation, Aggregation::Key | Aggregation::Constant) && !self.key_has(field.name)
    }

    /// Every column that records of such a run can fill, in the order in which files have them.
    fn columns(&self) -> Vec<FileColumn> {
        let given = || FIELDS.iter().filter(|field| self.has(field.part));
        let is_known = |field: &&Field| field.aggregation != Aggregation::Key || self.key_has(field.name);
        let statistics = |is_reverse| {
            let all = self.statistics.iter().enumerate();
            all.map(move |(at, statistic)| FileColumn::from_statistic(at, statistic, is_reverse))
        };
        let with_prefix = |column: FileColumn| FileColumn {
            prefix_lengths: self.key.prefix_lengths(column.name()),
            ..column
        };
        let mut columns: Vec<_> =
            given().filter(is_known).map(|field| with_prefix(FileColumn::from_field(field, false))).collect();
        columns.extend(statistics(false));
        if self.biflow {
            let reversible = given().filter(|field| self.is_reversible(field));
            columns.extend(reversible.map(|field| FileColumn::from_field(field, true)));
            columns.extend(statistics(true));
        }
        columns
    }
}

/// The prefix of the other direction's columns (RFC 5103, section 5, uses the same word).
const REVERSE: &str = "reverse_";

/// A column of a file: a field or a statistic, of the record or of its other direction.
#[derive(Clone, Debug)]
pub struct FileColumn {
    name: Cow<'static, str>,
    value: FieldAccessor,
    is_reverse: bool,
    source: ColumnSource,
    /// The prefix lengths of an address, by family.
    prefix_lengths: Option<[u8; 2]>,
    /// The field of the column if records may leave it open, else the empty set.
    open: OpenFields,
}

#[derive(Clone, Copy, Debug)]
enum ColumnSource {
    Field(&'static Field),
    Statistic(Statistic),
}

impl FileColumn {
    fn from_field(field: &'static Field, is_reverse: bool) -> Self {
        let name =
            if is_reverse { format!("{REVERSE}{}", field.name).into() } else { Cow::Borrowed(field.name) };
        Self {
            name,
            value: field.value,
            is_reverse,
            source: ColumnSource::Field(field),
            prefix_lengths: None,
            open: OpenFields::default(),
        }
    }

    fn from_statistic(at: usize, statistic: &Statistic, is_reverse: bool) -> Self {
        let prefix = if is_reverse { REVERSE } else { "" };
        let name = format!("{prefix}{statistic}").into();
        Self {
            name,
            value: FieldAccessor::Float(at),
            is_reverse,
            source: ColumnSource::Statistic(*statistic),
            prefix_lengths: None,
            open: OpenFields::default(),
        }
    }

    /// Returns the name of the column in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how the column is read from the record that [`FileColumn::record`] gives.
    pub fn value(&self) -> FieldAccessor {
        self.value
    }

    /// Returns true if the column is of the other direction.
    pub fn is_reverse(&self) -> bool {
        self.is_reverse
    }

    /// Returns the direction of `record` that the column is read from; `None` if there is no other direction, or the record leaves the field open.
    #[inline]
    pub fn record<'a>(&self, record: &'a FlowRecord) -> Option<&'a FlowRecord> {
        record.direction(self.is_reverse).filter(|record| !record.open.has_any(self.open))
    }

    /// Returns the field of the column if records may leave it open, else the empty set.
    pub(crate) fn open(&self) -> OpenFields {
        self.open
    }

    /// Returns true if a record may lack the value.
    pub fn nullable(&self) -> bool {
        self.is_reverse || self.value.nullable() || !self.open.is_empty()
    }

    /// The unit; empty where there is none.
    pub fn unit(&self) -> &'static str {
        match self.source {
            ColumnSource::Field(field) => field.unit,
            ColumnSource::Statistic(statistic) => statistic.metric.unit(),
        }
    }

    /// A description in one line.
    pub(crate) fn meaning(&self) -> Cow<'static, str> {
        match self.source {
            ColumnSource::Field(field) => Cow::Borrowed(field.meaning),
            ColumnSource::Statistic(statistic) => Cow::Owned(statistic.meaning()),
        }
    }

    /// The elements that carry the field in IPFIX; none for a statistic, whose numbers depend on the run.
    pub(crate) fn elements(&self) -> &'static [InformationElement] {
        match self.source {
            ColumnSource::Field(field) => field.elements,
            ColumnSource::Statistic(_) => &[],
        }
    }

    /// Returns true if the column is a member of a flow key.
    pub(crate) fn is_key(&self) -> bool {
        matches!(self.source, ColumnSource::Field(field) if field.aggregation == Aggregation::Key)
    }

    /// The prefix lengths of an address of the key, if it is not whole: of IPv4 and of IPv6.
    pub(crate) fn prefix_lengths(&self) -> Option<[u8; 2]> {
        self.prefix_lengths.filter(|lengths| *lengths != [32, 128])
    }

    /// Returns true if values add up, as counters do.
    pub(crate) fn is_sum(&self) -> bool {
        matches!(self.source, ColumnSource::Field(field) if field.aggregation == Aggregation::Sum)
    }

    /// Returns true if the column is a mean, which cannot be merged from means.
    pub(crate) fn is_mean(&self) -> bool {
        matches!(self.source, ColumnSource::Field(field) if field.aggregation == Aggregation::Mean)
    }

    /// Returns the number of the header field that the column has, if it is one.
    pub(crate) fn header(&self) -> Option<u8> {
        match self.source {
            ColumnSource::Field(Field { row: RowValue::Header(at), .. }) => Some(*at),
            _ => None,
        }
    }

    /// Returns true if the column is one of `--loss`.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self.source, ColumnSource::Field(field) if field.part == Part::Loss)
    }
}

/// A non-empty list of different columns, the keys of the records, and of which packets their values are.
#[derive(Clone, Debug)]
pub struct Selection {
    columns: Vec<FileColumn>,
    key: KeySpec,
    share: Share,
    /// True if the columns were listed, and are not all that the records can fill.
    is_listed: bool,
}

/// The name of the column that tells by which share packets were sampled.
pub(crate) const SHARE_COLUMN: &str = "sampling_share";
/// The name of the column that tells the members of the keys of flows, with blanks between them.
pub(crate) const KEY_COLUMN: &str = "flow_key";

impl Selection {
    /// The columns of a run without parts beyond the plain record, in the field table's order.
    pub fn all() -> Self {
        Self::new(&RecordContents::default())
    }

    /// Every column that the records of a run can fill: the plain ones, those of `--loss`, the statistics, then the
    /// same of the other direction.
    pub fn new(parts: &RecordContents) -> Self {
        Self { columns: parts.columns(), key: parts.key, share: Share::ALL, is_listed: false }
    }

    /// Returns the same columns for records that may leave fields open, as those of routers do: their values may be null.
    #[must_use]
    pub fn with_open_fields(mut self) -> Self {
        // A record without an end has its begin there, and without a time it would count at none.
        let may_be_open = |column: &&mut FileColumn| !column.is_reverse && column.name != "ltime";
        for column in self.columns.iter_mut().filter(may_be_open) {
            column.open = OpenFields::from_field(&column.name);
        }
        self
    }

    /// Returns the columns among them that records tell.
    #[must_use]
    pub fn limit_to(mut self, is_told: impl Fn(&str) -> bool) -> Self {
        self.columns.retain(|column| is_told(&column.name));
        self
    }

    /// Returns the same columns for records whose packets were sampled with this share.
    pub fn with_share(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// The column that text formats have behind the others where packets were sampled, with its value in all records: the share.
    pub(crate) fn share_column(&self) -> Option<(&'static str, String)> {
        (self.share != Share::ALL).then(|| (SHARE_COLUMN, self.share.probability().to_string()))
    }

    /// The column that text formats have behind the others where a field that any record has is a member of the key, or the prefix of an address is and no
    /// list of columns was given, with its value in all records.
    pub(crate) fn key_column(&self) -> Option<(&'static str, String)> {
        let parts = self.key_parts();
        let is_other =
            |part: &str| ["vlan", "ip_tos"].contains(&part) || part.contains('/') && !self.is_listed;
        parts.split(',').any(is_other).then(|| (KEY_COLUMN, parts.replace(',', " ")))
    }

    /// Returns the share by which the packets were sampled.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Reads `a,b,c`; blanks around the names and their case are ignored.
    pub fn parse(list: &str, parts: &RecordContents) -> Result<Self, SelectionError> {
        let offered = parts.columns();
        let mut columns: Vec<FileColumn> = Vec::new();
        for name in list.split(',').map(str::trim) {
            if name.is_empty() {
                return Err(SelectionError::Empty);
            }
            let meant = meant_by(name);
            let column = offered
                .iter()
                .find(|column| column.name.eq_ignore_ascii_case(&meant))
                .ok_or_else(|| refusal(name, &offered))?;
            if columns.iter().any(|chosen| chosen.name == column.name) {
                return Err(SelectionError::Twice(column.name.to_string()));
            }
            columns.push(column.clone());
        }
        Ok(Self { columns, key: parts.key, share: Share::ALL, is_listed: true })
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[FileColumn] {
        &self.columns
    }

    /// Returns the members of the flow key among the columns, as [`KeySpec::parse`] reads them. `vlan` and `ip_tos` are fields of any record, and
    /// may be members.
    pub(crate) fn key_parts(&self) -> String {
        let is_there = |name: &str| self.columns.iter().any(|column| column.name == name);
        let members = self.key.columns().zip(self.key.parts()).filter(|(name, _)| is_there(name));
        members.map(|(_, part)| part).collect::<Vec<_>>().join(",")
    }
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

/// The column that a name means: usual names are understood in either direction.
fn meant_by(name: &str) -> Cow<'_, str> {
    let is_reverse = name.get(..REVERSE.len()).is_some_and(|start| start.eq_ignore_ascii_case(REVERSE));
    match name.get(REVERSE.len()..) {
        Some(rest) if is_reverse => format!("{REVERSE}{}", flow::resolve_alias(rest)).into(),
        _ => flow::resolve_alias(name).into(),
    }
}

/// Returns the reason why there is no column `name` in a run that offers these.
fn refusal(name: &str, offered: &[FileColumn]) -> SelectionError {
    let lower = name.to_ascii_lowercase();
    let (plain, is_reverse) = match lower.strip_prefix(REVERSE) {
        Some(rest) => (rest, true),
        None => (lower.as_str(), false),
    };
    let unasked = |needs| SelectionError::NotAsked { name: name.to_owned(), needs };
    if let Some(field) = Field::named(plain) {
        let is_plain_offered = offered.iter().any(|column| column.name == field.name);
        return match (field.aggregation, is_reverse) {
            (Aggregation::Key, false) => SelectionError::NotInKey(name.to_owned()),
            (Aggregation::Key | Aggregation::Constant, true) => {
                SelectionError::SameInBoth { name: name.to_owned(), plain: field.name }
            }
            (_, true) if is_plain_offered && offered.iter().any(|column| column.is_reverse) => {
                SelectionError::SameInBoth { name: name.to_owned(), plain: field.name }
            }
            (_, true) if is_plain_offered => unasked(RequiredPart::Biflow),
            _ => unasked(RequiredPart::Part(field.part)),
        };
    }
    let is_offered = |plain: &str| offered.iter().any(|column| column.name == plain);
    let metrics = [Metric::Gap, Metric::Size, Metric::InterArrival];
    let of_metric = |metric: &&Metric| {
        let kind = plain.strip_prefix(metric.name()).and_then(|rest| rest.strip_prefix('_'));
        kind.is_some_and(|kind| {
            let is_percentile = kind.strip_prefix('p').is_some_and(|p| p.parse::<f64>().is_ok());
            matches!(kind, "mean" | "stddev") || is_percentile
        })
    };
    if let Some(metric) = metrics.iter().find(of_metric) {
        return unasked(if is_reverse && is_offered(plain) {
            RequiredPart::Biflow
        } else {
            RequiredPart::Metric(*metric)
        });
    }
    let names = offered.iter().map(FileColumn::name).chain(FIELDS.iter().map(|field| field.name));
    SelectionError::Unknown {
        name: name.to_owned(),
        nearest: notation::nearest(name, names).map(str::to_owned),
    }
}

/// The part of a run that fills a field that the plain record does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredPart {
    /// A part of the record.
    Part(Part),
    /// The statistics of this metric.
    Metric(Metric),
    /// The other direction.
    Biflow,
}

impl fmt::Display for RequiredPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(Part::Plain) => f.write_str("nothing"),
            Self::Part(Part::Loss) => f.write_str("the TCP losses of flows"),
            Self::Part(Part::Headers) => f.write_str("header fields beyond the plain ones"),
            Self::Part(Part::Sampling) => f.write_str("records of routers"),
            Self::Metric(metric) => write!(f, "statistics of `{}`", metric.name()),
            Self::Biflow => f.write_str("both directions in one record"),
        }
    }
}

/// The reason why a list of fields was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionError {
    /// A missing name: an empty list, or an extra comma.
    Empty,
    /// A name that no field has.
    Unknown {
        /// The name as it was written.
        name: String,
        /// The nearest field name, if one is near.
        nearest: Option<String>,
    },
    /// A field that is in the list more than once.
    Twice(String),
    /// A field for which the run is not configured.
    NotAsked {
        /// The name as it was written.
        name: String,
        /// The part of a run that fills the field.
        needs: RequiredPart,
    },
    /// A member that the run's flow key does not have.
    NotInKey(String),
    /// A column of the other direction whose value is the same in both directions.
    SameInBoth {
        /// The name as it was written.
        name: String,
        /// The field that has the value.
        plain: &'static str,
    },
}

impl fmt::Display for SelectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("a field name is missing; write them as `src_addr,dst_addr,total_byte`")
            }
            Self::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "unknown field `{name}`: did you mean `{nearest}`? `edison fields` lists all")
            }
            Self::Unknown { name, nearest: None } => {
                write!(f, "unknown field `{name}`: `edison fields` lists all")
            }
            Self::Twice(name) => write!(f, "field `{name}` is named twice"),
            Self::NotAsked { name, needs } => write!(f, "field `{name}` needs {needs}"),
            Self::NotInKey(name) => write!(f, "field `{name}` is no part of this run's flow key"),
            Self::SameInBoth { name, plain } => {
                write!(f, "there is no field `{name}`: `{plain}` holds for both directions")
            }
        }
    }
}

impl std::error::Error for SelectionError {}
