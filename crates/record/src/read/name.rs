//! The meaning of the name of a column.

use crate::{KEY_COLUMN, SHARE_COLUMN};
use flow::{Aggregation, Field, Part, RowValue, Statistic};
use std::fmt;

/// The contents of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnContent {
    /// The start of the window that a row is of.
    WindowStart,
    /// A field. `is_reverse`: of the other direction.
    Field {
        field: &'static Field,
        is_reverse: bool,
    },
    /// A statistic of the flow's packets.
    Statistic {
        statistic: Statistic,
        is_reverse: bool,
    },
    /// The family of the addresses of the row, 4 or 6: as 16 bytes those of IPv4 are also some of IPv6.
    IpVersion,
    /// A known column that is no part of a row: it follows from the others, or is of records alone.
    NoRowValue,
    Unknown,
}

impl ColumnContent {
    pub(crate) fn parse(name: &str) -> Self {
        let name = name.trim();
        let lower = name.to_ascii_lowercase();
        let (plain, is_reverse) = match lower.strip_prefix("reverse_") {
            Some(plain) => (plain, true),
            None => (lower.as_str(), false),
        };
        if let Some(field) =
            Field::named(plain.strip_suffix("_ns").filter(|name| is_time(name)).unwrap_or(plain))
        {
            // Why a record ended is in no row.
            let is_in_rows = field.row != RowValue::Absent
                || field.aggregation == Aggregation::Constant
                || field.part == Part::Sampling;
            return if is_in_rows { Self::Field { field, is_reverse } } else { Self::NoRowValue };
        }
        match (plain.parse(), plain) {
            (Ok(statistic), _) => Self::Statistic { statistic, is_reverse },
            (_, "window_start") => Self::WindowStart,
            (_, SHARE_COLUMN | KEY_COLUMN) => Self::NoRowValue,
            (_, "ip_version") if !is_reverse => Self::IpVersion,
            _ => Self::Unknown,
        }
    }

    /// Returns the name of the field that a column of this direction is; `None` of other columns.
    pub(crate) fn plain_field(&self) -> Option<&'static str> {
        match self {
            Self::Field { field, is_reverse: false } => Some(field.name),
            _ => None,
        }
    }
}

impl fmt::Display for ColumnContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { is_reverse: true, .. } | Self::Statistic { is_reverse: true, .. } => {
                f.write_str("reverse_")?;
            }
            _ => {}
        }
        match self {
            Self::WindowStart => f.write_str("window_start"),
            Self::Field { field, .. } => f.write_str(field.name),
            Self::Statistic { statistic, .. } => statistic.fmt(f),
            Self::IpVersion => f.write_str("ip_version"),
            Self::NoRowValue | Self::Unknown => Ok(()),
        }
    }
}

fn is_time(name: &str) -> bool {
    matches!(name, "stime" | "ltime")
}
