//! Structures of rows whose number and length a user chooses.

use super::{Configuration, SketchError};
use packet::Seed;

/// The number of rows and the number of counters in a row, as far as they are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSizes {
    /// Rows.
    pub depth: Option<usize>,
    /// Counters in a row.
    pub width: Option<usize>,
}

/// The error that theory promises of the estimate of one flow, before anything is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorPromise {
    /// The most by which the estimate is off, as a share of all that is counted.
    pub share: f64,
    /// The probability with which it is.
    pub confidence: f64,
    /// The bound as a formula of N, the total, and w, the width.
    pub formula: &'static str,
    /// True if an estimate is never too small.
    pub is_one_sided: bool,
}

/// The configuration of a structure that consists of rows of counters.
pub trait RowConfiguration: Configuration {
    /// Rows unless their number is given.
    const DEFAULT_DEPTH: usize;

    /// `depth` rows of `width` counters, with the other parameters at their defaults.
    ///
    /// # Errors
    /// If the structure cannot have these sizes.
    fn with_rows(depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError>;

    /// The largest of `depth` rows that takes no more than `bytes`, with the other parameters at their defaults.
    ///
    /// # Errors
    /// If the structure cannot have this depth, or the memory is below the least, with the least.
    fn with_depth(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError>;

    /// The rows.
    fn depth(&self) -> usize;

    /// Counters in a row.
    fn width(&self) -> usize;

    /// The error that theory promises; `None` where it depends on what is counted.
    fn promise(&self) -> Option<ErrorPromise>;

    /// The structure with the sizes that are given; without a width, the largest of no more than `bytes`.
    ///
    /// # Errors
    /// The errors of [`Self::with_rows`] and [`Self::with_depth`].
    fn sized(sizes: RowSizes, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let depth = sizes.depth.unwrap_or(Self::DEFAULT_DEPTH);
        match sizes.width {
            Some(width) => Self::with_rows(depth, width, seed),
            None if sizes.depth.is_none() => Self::with_bytes(bytes, seed),
            None => Self::with_depth(depth, bytes, seed),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::oracle::{self, OracleStream};
    use super::super::{
        Conservative, CountMin, CountSketch, Frequency, GridConfig, KAry, MvSketch, Policy, ReversibleSketch,
        SimpleHashTable, Tracked, TrackedConfig, Turnstile,
    };
    use super::*;
    use packet::KeyV4;

    fn sizes(depth: impl Into<Option<usize>>, width: impl Into<Option<usize>>) -> RowSizes {
        RowSizes { depth: depth.into(), width: width.into() }
    }

    fn sized<C: RowConfiguration>(given: RowSizes, bytes: usize) -> Result<C, SketchError> {
        C::sized(given, bytes, Seed::new(1))
    }

    /// Sizes that are given are those of the structure, and the others follow from the memory.
    fn sizes_are_those_given<C: RowConfiguration>(depth: usize, width: usize) {
        let both: C = sized(sizes(depth, width), 0).expect("sizes");
        assert_eq!((both.depth(), both.width()), (depth, width), "{both}");
        let only_width: C = sized(sizes(None, width), 0).expect("a width");
        assert_eq!((only_width.depth(), only_width.width()), (C::DEFAULT_DEPTH, width), "{only_width}");
        let only_depth: C = sized(sizes(depth, None), 1 << 20).expect("a depth");
        assert!(only_depth.depth() == depth && only_depth.bytes() <= 1 << 20, "{only_depth}");
        assert!(only_depth.bytes() > 1 << 15, "{only_depth}");
        let neither: C = sized(RowSizes::default(), 1 << 20).expect("memory");
        assert!(neither == C::with_bytes(1 << 20, Seed::new(1)).expect("memory"), "{neither}");
    }

    #[test]
    fn rows_are_as_many_and_as_long_as_is_said() {
        sizes_are_those_given::<TrackedConfig<KeyV4, CountMin>>(4, 1000);
        sizes_are_those_given::<TrackedConfig<KeyV4, Conservative>>(1, 7);
        sizes_are_those_given::<TrackedConfig<KeyV4, CountSketch>>(7, 1 << 20);
        sizes_are_those_given::<TrackedConfig<KeyV4, KAry>>(2, 2);
        sizes_are_those_given::<GridConfig<SimpleHashTable<KeyV4>>>(1, 12_345);
        sizes_are_those_given::<GridConfig<MvSketch<KeyV4>>>(3, 99);
        sizes_are_those_given::<GridConfig<ReversibleSketch>>(4, 4096);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_with_those_that_can() {
        type Makwana = TrackedConfig<KeyV4, CountMin>;
        let says = |error: SketchError, says: &str| {
            let error = error.to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        };
        says(sized::<Makwana>(sizes(9, 1024), 0).expect_err("nine rows"), "from 1 to 8");
        says(sized::<Makwana>(sizes(9, None), 1 << 20).expect_err("nine rows"), "from 1 to 8");
        says(sized::<Makwana>(sizes(3, 0), 0).expect_err("no counters"), "width of 0");
        says(sized::<Makwana>(sizes(8, None), 8).expect_err("8 bytes"), "8 bytes are too little");
        type Table = GridConfig<SimpleHashTable<KeyV4>>;
        says(sized::<Table>(sizes(2, 100), 0).expect_err("two rows"), "from 1 to 1");
        says(sized::<Table>(sizes(2, None), 1 << 20).expect_err("two rows"), "from 1 to 1");
        type Reversible = GridConfig<ReversibleSketch>;
        says(sized::<Reversible>(sizes(6, 1000), 0).expect_err("no power"), "256 or 4096");
    }

    /// Estimates of flows that are drawn without regard to what is counted are off by no more than is promised, as often as it is.
    fn promises_hold<P: Policy>(depth: usize, width: usize) {
        let mut tally = oracle::BoundTally::default();
        for number in 0..20 {
            let stream = OracleStream::zipf(20_000, 4_000, number);
            let config =
                TrackedConfig::<KeyV4, P>::with_rows(depth, width, Seed::new(number)).expect("sizes");
            let promise = config.promise().expect("a promise");
            let sketch: Tracked<KeyV4, P> = oracle::summary_of(&config, &stream.updates);
            for (key, truth) in stream.counts.iter().take(50) {
                let off = sketch.estimate(key).value - *truth as f64;
                assert!(off >= 0.0 || !promise.is_one_sided, "{off}");
                tally.count_bare(off.abs() <= promise.share * stream.total as f64, promise.confidence);
            }
        }
        tally.must_hold();
    }

    #[test]
    fn estimates_are_as_near_as_promised() {
        promises_hold::<CountMin>(3, 1024);
        promises_hold::<CountMin>(1, 50);
        promises_hold::<Conservative>(2, 100);
        promises_hold::<CountSketch>(5, 300);
        promises_hold::<KAry>(3, 300);
        promises_hold::<Turnstile>(4, 300);
    }

    /// By hand: e / 1,024 with 1 − e⁻³.
    #[test]
    fn the_promise_of_makwanas_sketch() {
        let config = TrackedConfig::<KeyV4, CountMin>::with_rows(3, 1024, Seed::new(1)).expect("sizes");
        let promise = config.promise().expect("a promise");
        assert!((promise.share - 0.002_654_6).abs() < 1e-6 && promise.is_one_sided, "{promise:?}");
        assert!((promise.confidence - 0.950_213).abs() < 1e-6, "{promise:?}");
    }
}
