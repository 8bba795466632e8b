//! Structures whose rows the user gives (`depth=`, `width=`).

use super::{Choice, PlannerInput, percent};
use crate::{Structure, TaskKind, Weight};
use notation::grouped;
use packet::{KeyV4, KeyV6, MaskedKey, Seed};
use sketch::{
    ByteKey, CocoSketch, Conservative, CountMin, CountSketch, CounterArray, ErrorPromise, KAry, KeyBytes,
    MvSketch, ReversibleSets, ReversibleSketch, RowConfiguration, SimpleHashTable, SketchError, SpreadSketch,
    Summary, Tracked, Turnstile,
};

/// Rows of a structure, with what follows from them.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRows {
    pub(super) depth: usize,
    pub(super) width: usize,
    bytes: usize,
    promise: Option<ErrorPromise>,
}

/// The rows that a structure has in this memory, unless the user gives them. `None` for a structure that has none.
///
/// # Errors
/// If it cannot have such rows.
pub(super) fn rows<K: ByteKey + MaskedKey>(
    structure: Structure,
    bytes: usize,
    question: &PlannerInput<'_>,
) -> Option<Result<PlannedRows, SketchError>> {
    let are_bytes = question.spec.weight == Weight::Bytes;
    if question.spec.kind == TaskKind::Inner {
        return rows_of_products(structure, bytes, question);
    }
    let of = match structure {
        Structure::CountMin if are_bytes => rows_of::<Tracked<K, CountMin<u64>>>,
        Structure::CountMin => rows_of::<Tracked<K, CountMin>>,
        Structure::Conservative => rows_of::<Tracked<K, Conservative>>,
        Structure::CountSketch => rows_of::<Tracked<K, CountSketch>>,
        Structure::KAry if are_bytes => rows_of::<Tracked<K, KAry<i64>>>,
        Structure::KAry => rows_of::<Tracked<K, KAry>>,
        Structure::Turnstile if are_bytes => rows_of::<Tracked<K, Turnstile<i64>>>,
        Structure::Turnstile => rows_of::<Tracked<K, Turnstile>>,
        Structure::Reversible if KeyBytes::new::<K>(&question.key).is_ok() => rows_of::<ReversibleSketch>,
        Structure::Reversible => rows_of::<ReversibleSets<K>>,
        Structure::SimpleHashTable => rows_of::<SimpleHashTable<K>>,
        Structure::MvSketch => rows_of::<MvSketch<K>>,
        Structure::CocoSketch => rows_of::<CocoSketch<K>>,
        Structure::SpreadSketch => rows_of::<SpreadSketch<K>>,
        _ => return None,
    };
    // What is promised of totals is no bound of a difference that is read by the median.
    let is_of_totals = structure == Structure::Reversible;
    let promised = |rows: PlannedRows| match question.spec.kind {
        TaskKind::Change if is_of_totals => PlannedRows { promise: None, ..rows },
        _ => rows,
    };
    Some(of(bytes, question).map(promised))
}

/// The rows of an array whose products with another are asked for: without candidates, and with no bound for a flow.
fn rows_of_products(
    structure: Structure,
    bytes: usize,
    question: &PlannerInput<'_>,
) -> Option<Result<PlannedRows, SketchError>> {
    let are_bytes = question.spec.weight == Weight::Bytes;
    let of = match structure {
        Structure::CountMin if are_bytes => rows_of::<CounterArray<CountMin<u64>>>,
        Structure::CountMin => rows_of::<CounterArray<CountMin>>,
        Structure::CountSketch => rows_of::<CounterArray<CountSketch>>,
        Structure::KAry if are_bytes => rows_of::<CounterArray<KAry<i64>>>,
        Structure::KAry => rows_of::<CounterArray<KAry>>,
        _ => return None,
    };
    Some(of(bytes, question).map(|rows| PlannedRows { promise: None, ..rows }))
}

fn rows_of<S: Summary>(bytes: usize, question: &PlannerInput<'_>) -> Result<PlannedRows, SketchError>
where
    S::Configuration: RowConfiguration,
{
    let config = S::Configuration::sized(question.spec.rows, bytes, Seed::new(0))?;
    let (depth, width, promise) = (config.depth(), config.width(), config.promise());
    Ok(PlannedRows { depth, width, bytes: sketch::Configuration::bytes(&config), promise })
}

/// Refuses rows that the structure cannot have, however large it is.
pub(super) fn check(structure: Structure, question: &PlannerInput<'_>) -> Result<(), String> {
    match rows::<KeyV4>(structure, super::MOST_BYTES, question) {
        Some(Err(error)) => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// The structure of the width that the user gives.
pub(super) fn by_width(question: &PlannerInput<'_>, structure: Structure) -> Result<Choice, String> {
    let without_rows = || format!("{} has no rows", structure.name());
    let v4 = rows::<KeyV4>(structure, 0, question).ok_or_else(without_rows)?;
    let v6 = rows::<KeyV6>(structure, 0, question).ok_or_else(without_rows)?;
    let [v4, v6] = [v4, v6].map(|rows| rows.map_err(|error| error.to_string()));
    let (v4, v6) = (v4?, v6?);
    let why = format!("{}, as asked: {}", structure.name(), v4.text(question));
    Ok(Choice { structure, bytes: v4.bytes, bytes_v6: v6.bytes, one_in: 1, one_in_v6: 1, why })
}

impl PlannedRows {
    /// The rows, and the error that follows from them.
    pub(super) fn text(&self, question: &PlannerInput<'_>) -> String {
        let rows = if self.depth == 1 { "row" } else { "rows" };
        let sizes = format!("{} {rows} of {} counters", self.depth, grouped(self.width as u64));
        let Some(ErrorPromise { share, confidence, formula, is_one_sided }) = self.promise else {
            return format!("{sizes}; how far an estimate is off depends on what is counted");
        };
        let unit = if question.spec.weight == Weight::Bytes { "bytes" } else { "packets" };
        let of = if question.spec.kind == TaskKind::Change { " of the windows compared" } else { "" };
        let how = if is_one_sided { "too large" } else { "off" };
        let most = if is_one_sided { "that is" } else { "that is no more than" };
        format!(
            "{sizes}; a flow's estimate is {how} by at most {formula}, {most} {} of all {unit}{of}, with a probability of {confidence:.3}",
            percent(share)
        )
    }
}
