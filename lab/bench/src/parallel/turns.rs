//! Variants over the wire in turn.

use super::rig::RunMeasurement;
use crate::compare::in_turn;

/// The results of each variant, in the order of the rounds.
type ByVariant<T> = Vec<Vec<T>>;

/// Measures the variants in turn for about `seconds` ([`in_turn`]). Returns the nanoseconds of each round, and what was measured, by variant.
///
/// # Errors
/// The last one of a variant that could not be measured.
pub(super) fn in_turns<V>(
    variants: &[V],
    seconds: f64,
    mut one: impl FnMut(&V) -> Result<RunMeasurement, String>,
) -> Result<(ByVariant<f64>, ByVariant<RunMeasurement>), String> {
    let mut results: ByVariant<RunMeasurement> = variants.iter().map(|_| Vec::new()).collect();
    let mut fault = None;
    let mut numbered: Vec<_> = variants.iter().enumerate().collect();
    let times = in_turn(&mut numbered, seconds, |(number, variant)| match one(variant) {
        Ok(measured) => {
            let time = measured.receiving_ns();
            results[*number].push(measured);
            time
        }
        Err(error) => {
            fault = Some(error);
            f64::NAN
        }
    });
    fault.map_or(Ok((times, results)), Err)
}
