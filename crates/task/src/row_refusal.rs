//! Reasons why a query over rows cannot be answered at a site.

use flow::{Statistic, StatisticKind};
use packet::{Pins, PinsError};
use std::fmt;

/// The reason why a query over rows cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No field has this name.
    Unknown {
        /// The text that was written.
        field: String,
    },
    /// The field is of records, not of window rows.
    NotInRows {
        /// The field.
        field: String,
    },
    /// The flow keys of the site do not have the field, or have it with a shorter prefix.
    NotInKey {
        /// The field.
        field: String,
    },
    /// The site does not track losses.
    NeedsLoss {
        /// The field.
        field: String,
    },
    /// The site does not keep header fields beyond the plain ones.
    NeedsHeaders {
        /// The field.
        field: String,
    },
    /// The site does not track losses, and cannot track those of pinned flows.
    NoZoom {
        /// The field.
        field: String,
        /// The reason why the site cannot track them.
        why: String,
    },
    /// The field is a statistic of packets, which the site does not have.
    NotFollowed {
        /// The field.
        field: String,
        /// The reason why the site does not have it.
        why: String,
    },
    /// The field is a statistic of the packets of pinned flows, and the query pins none.
    NeedsPinsOfPackets {
        /// The field.
        field: String,
    },
    /// The field is a statistic of packets, which rows of past windows do not have.
    NotKept {
        /// The field.
        field: String,
    },
    /// The field is a statistic of the packets of one window, and the query is over several.
    OfOneWindow {
        /// The field.
        field: String,
    },
    /// The query reads more statistics of packets than rows have.
    TooManyStatistics {
        /// The possible number.
        most: usize,
    },
    /// The site tracks the losses of pinned flows alone, and the query pins none.
    NeedsPins {
        /// The field.
        field: String,
    },
    /// Too many flows are pinned.
    Pins {
        /// The limit that is exceeded.
        error: PinsError,
    },
    /// The site has no databases of autonomous systems and countries.
    NeedsGeo {
        /// The field.
        field: String,
    },
    /// The field cannot be used like this: compared with a value of another type, ordered, or added up.
    WrongType {
        /// The field.
        field: String,
    },
    /// Two fields of a grouping exclude each other.
    Conflict {
        /// The first field.
        field: String,
        /// The field that excludes it.
        other: String,
    },
    /// The query reads more fields than a group can have beyond the key, or a sum can have.
    TooManyFields {
        /// The possible number.
        most: usize,
    },
    /// The query computes nothing.
    NoItems,
    /// A field is neither grouped by nor inside an aggregate.
    NotGrouped {
        /// The field.
        field: String,
    },
    /// Something stands where it cannot be.
    Misplaced {
        /// The part that is misplaced.
        what: String,
    },
    /// Windows of another length need windows of time, and a multiple of their length.
    NoSuchWindow {
        /// The length, nanoseconds.
        ns: u64,
    },
    /// Packets of a flow may differ in the field, and only rows of whole flows are there.
    OfPackets {
        /// The field.
        field: String,
        /// The name for what a whole flow has of it.
        of_flow: String,
    },
    /// The field is measured of whole flows, and the query is by a field in which their packets may differ.
    NotByPackets {
        /// The field.
        field: String,
        /// The field in which packets may differ.
        by: String,
    },
    /// A part of the filter reads a field in which packets of a flow may differ, and another one that the packets have together.
    Inseparable {
        /// The field in which packets may differ.
        field: String,
        /// The field that the packets have together.
        other: String,
    },
    /// An aggregate reads a field in which packets of a flow may differ, and the query another one that whole flows have.
    Apart {
        /// The field in which packets may differ.
        field: String,
        /// The field that whole flows have.
        other: String,
    },
    /// An aggregate in which values weigh by their number is of a field in which packets of a flow may differ.
    Unweighed {
        /// The aggregate's function.
        function: &'static str,
        /// The field.
        field: String,
        /// The name for what a whole flow has of it.
        of_flow: String,
    },
    /// Packets are to be counted in a structure, which this site or the structure does not do.
    NotCounted {
        /// The reason.
        why: String,
    },
    /// Two columns have one name.
    SameName {
        /// The name.
        name: String,
    },
}

impl fmt::Display for Refusal {
    // Long: one line for each refusal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { field } => write!(f, "there is no field {field}"),
            Self::NotInRows { field } => write!(f, "{field} is not in window rows"),
            Self::NotInKey { field } => {
                write!(f, "the flow key does not have {field}, or not so long a prefix of it")
            }
            Self::NeedsLoss { field } => write!(f, "{field} needs TCP losses to be tracked"),
            Self::NeedsHeaders { field } => write!(f, "not all rows have {field}, which --headers keeps"),
            Self::NoZoom { field, why } => write!(
                f,
                "{field} needs TCP losses to be tracked (--loss); those of pinned flows alone are not: {why}"
            ),
            Self::NotFollowed { field, why } => {
                write!(
                    f,
                    "{field} needs the packets of pinned flows to be followed, which they are not: {why}"
                )
            }
            Self::NeedsPinsOfPackets { field } => write!(
                f,
                "{field} is told of pinned flows alone: pin at most {} keys or prefixes in where{}",
                Pins::MOST,
                advice_of_all_flows(field)
            ),
            Self::NotKept { field } => write!(f, "{field} is not kept of windows that are over"),
            Self::OfOneWindow { field } => write!(
                f,
                "{field} is of a flow's packets in one window of the run: windows of other lengths and the whole run have none"
            ),
            Self::TooManyStatistics { most } => {
                write!(f, "at most {most} statistics of packets are possible in all queries together")
            }
            Self::NeedsPins { field } => write!(
                f,
                "{field} needs losses of all flows: run with --loss, or pin at most {} keys or prefixes in where",
                Pins::MOST
            ),
            Self::Pins { error } => error.fmt(f),
            Self::NeedsGeo { field } => write!(f, "{field} needs a geographic database: give --geo FILE"),
            Self::WrongType { field } => {
                write!(f, "{field} cannot be used like this: its type is another one")
            }
            Self::Conflict { field, other } if field == other => {
                write!(f, "the query groups by {field} twice: name it once")
            }
            Self::Conflict { field, other } => write!(f, "a group cannot have both {field} and {other}"),
            Self::TooManyFields { most } => {
                write!(f, "at most {most} fields are possible here")
            }
            Self::NoItems => f.write_str("the query computes nothing"),
            Self::NotGrouped { field } => {
                write!(f, "{field} is neither grouped by nor inside an aggregate such as sum({field})")
            }
            Self::Misplaced { what } => write!(f, "{what} cannot be used here"),
            Self::NoSuchWindow { ns } => write!(
                f,
                "windows of {} s are no multiple of the run's windows, or these are counted in packets",
                *ns as f64 / 1e9
            ),
            Self::OfPackets { field, of_flow } => write!(
                f,
                "packets of one flow may differ in {field}, and only rows of whole flows are there: ask for {of_flow}{}",
                in_key(field)
            ),
            Self::NotByPackets { field, by } => {
                write!(
                    f,
                    "{field} is measured of whole flows: a query by {by}, in which their packets may differ, cannot have it; ask for it in another one"
                )
            }
            Self::Inseparable { field, other } => write!(
                f,
                "{field} is each packet's and {other} is what packets have together: they can stand in one query only in conditions that \
                 and joins, or with a group by {field}"
            ),
            Self::Apart { field, other } => write!(
                f,
                "the aggregate of {field} is of each packet, and {other} is what packets of a flow have together: ask a query for each, or \
                 group by {field}"
            ),
            Self::Unweighed { function, field, of_flow } => write!(
                f,
                "packets of one flow may differ in {field}, and {function} does not weigh them: ask for {function} of {of_flow}{}",
                in_key(field)
            ),
            Self::NotCounted { why } => f.write_str(why),
            Self::SameName { name } => write!(f, "two columns are named {name}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The advice to have a statistic of packets of all flows, to be added to that of pinning some; empty where no option gives it.
pub fn advice_of_all_flows(statistic: &str) -> String {
    let Ok(Statistic { metric, kind }) = statistic.parse() else { return String::new() };
    let name = match kind {
        StatisticKind::Mean => "mean".to_owned(),
        StatisticKind::StdDev => "stddev".to_owned(),
        // The least and the greatest sample are in no list of an option.
        StatisticKind::Percentile(percent) if percent <= 0.0 || percent >= 100.0 => return String::new(),
        StatisticKind::Percentile(percent) => format!("p{percent}"),
    };
    format!(", or give the run {} {name}", metric.option())
}

/// The advice to have a field in the key, if a key may have it.
fn in_key(field: &str) -> String {
    let may_have = packet::KeySpec::parse(field).is_ok();
    if may_have { format!(", or measure with {field} in --key") } else { String::new() }
}
