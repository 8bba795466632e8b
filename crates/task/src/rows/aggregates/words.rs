//! Numbers in the words of a group's state.

use flow::NULL;

/// Returns the signed integer of two words, the lower one first.
pub(crate) fn signed(words: &[u64]) -> i128 {
    (u128::from(words[1]) << 64 | u128::from(words[0])).cast_signed()
}

/// Adds to an integer of two words. Some 2⁶⁴ values would be needed to exceed it.
#[inline(always)]
pub(crate) fn add_signed(words: &mut [u64], number: i128) {
    put_signed(words, signed(words).wrapping_add(number));
}

/// Sets an integer of two words.
#[inline(always)]
pub(crate) fn put_signed(words: &mut [u64], number: i128) {
    let number = number.cast_unsigned();
    (words[0], words[1]) = (number as u64, (number >> 64) as u64);
}

/// Returns the sum of two totals; [`NULL`] where one of them is not known. The totals of all rows that are read are less than that.
#[inline(always)]
pub(crate) fn total(one: u64, other: u64) -> u64 {
    if one == NULL || other == NULL { NULL } else { one + other }
}

/// Adds to a floating point number of one word.
#[inline(always)]
pub(crate) fn add_float(words: &mut [u64], number: f64) {
    words[0] = (f64::from_bits(words[0]) + number).to_bits();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_signed_integers_carry() {
        let mut words = [0; 2];
        for number in [i64::MAX, i64::MAX, i64::MAX, -5, i64::MIN] {
            add_signed(&mut words, number.into());
        }
        assert_eq!(signed(&words), 3 * i128::from(i64::MAX) - 5 + i128::from(i64::MIN));
    }
}
