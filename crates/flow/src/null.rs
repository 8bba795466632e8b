//! Missing values in columns of numbers.

/// The marker of a missing value in a column of numbers: no field holds it.
pub const NULL: u64 = u64::MAX;

/// A floating point number in a column: its bits. No number has those of [`NULL`], which are of a NaN that no arithmetic makes.
pub fn float_bits(value: Option<f64>) -> u64 {
    value.filter(|value| !value.is_nan()).map_or(NULL, f64::to_bits)
}
