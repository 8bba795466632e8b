//! Values of earlier windows in a query, and the query whose answers they are of.

use serde::Serialize;
use task::query::{Expression, Grouping, MOST_GROUPS, OutputColumn, Query};

/// The most windows that one mean is over.
pub(crate) const MOST_WINDOWS: u64 = 100_000;

/// A value of earlier windows. The plan has a field of its name in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EarlierReference {
    /// The name of the field, which is the value as it is written.
    pub field: String,
    /// The expression that is read in the earlier windows.
    #[serde(skip)]
    pub of: Expression,
    /// The windows that are read.
    pub windows: EarlierWindows,
}

/// The choice of the earlier windows that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlierWindows {
    /// `prev(x)`: the window before.
    Previous,
    /// `x offset D`: the window that ended so long before.
    Offset(u64),
    /// `avg_over(x, D)`: the windows of so long before this one begins.
    MeanOver(u64),
}

impl EarlierWindows {
    /// Returns the time from the end of the oldest window that is read to that of the window itself, nanoseconds.
    pub fn reach_ns(self, every_ns: u64, over_ns: u64) -> u64 {
        match self {
            Self::Previous => every_ns,
            Self::Offset(ns) => ns,
            Self::MeanOver(ns) => over_ns.saturating_add(ns.saturating_sub(every_ns)),
        }
    }
}

/// The query that nodes answer for one that reads earlier windows: its groups and aggregates, without what is decided of these.
pub(crate) fn base(plan: &Query, earlier: &[EarlierReference]) -> Query {
    let of = |(number, earlier): (usize, &EarlierReference)| {
        OutputColumn::new(number.to_string(), earlier.of.clone())
    };
    let columns = plan.columns.iter().cloned().chain(earlier.iter().enumerate().map(of)).collect();
    let all = Query { columns, ..plan.clone() };
    let groups = match &plan.group {
        Grouping::By(groups) => &groups[..],
        Grouping::All | Grouping::Flows => &[],
    };
    let keys = groups.iter().map(|group| OutputColumn::field(&group.field));
    let aggregates = all.aggregates().into_iter().enumerate();
    let aggregates = aggregates
        .map(|(number, of)| OutputColumn::new(format!("value {number}"), Expression::Aggregate(of.clone())));
    Query {
        // No label has a blank.
        name: format!("{} of rows", plan.name),
        columns: keys.chain(aggregates).collect(),
        having: None,
        order: Vec::new(),
        limit: plan.limit.filter(|limit| *limit > MOST_GROUPS),
        ..plan.clone()
    }
}

/// Returns how long before the end of a window the oldest window ended that a value reads, nanoseconds.
pub(crate) fn reach_ns(
    of: &Expression,
    earlier: &[EarlierReference],
    (every_ns, over_ns): (u64, u64),
) -> u64 {
    match of {
        Expression::Field(name) => {
            let Some(found) = earlier.iter().find(|earlier| earlier.field == *name) else { return 0 };
            let own = found.windows.reach_ns(every_ns, over_ns);
            own.saturating_add(reach_ns(&found.of, earlier, (every_ns, over_ns)))
        }
        Expression::Arithmetic(left, _, right) => {
            let of = |side| reach_ns(side, earlier, (every_ns, over_ns));
            of(left).max(of(right))
        }
        _ => 0,
    }
}

/// The earlier windows that are kept for a query.
pub(crate) fn windows(earlier: &[EarlierReference], lengths: (u64, u64)) -> u64 {
    let reach = earlier.iter().map(|one| reach_ns(&Expression::field(&one.field), earlier, lengths)).max();
    reach.unwrap_or(0) / lengths.0.max(1)
}

/// The memory of the windows that a query keeps, bytes; an estimate.
pub(crate) fn memory(plan: &Query, earlier: &[EarlierReference], lengths: (u64, u64), flows: u64) -> u64 {
    let windows = windows(earlier, lengths);
    let groups = match plan.group {
        Grouping::All => 1,
        _ => flows.min(plan.limit.unwrap_or(0).max(MOST_GROUPS) as u64),
    };
    let columns = base(plan, earlier).aggregates().len().max(1) as u64;
    // A number of the key and a cell for each column.
    windows.saturating_mul(groups).saturating_mul(4 + 16 * columns)
}
