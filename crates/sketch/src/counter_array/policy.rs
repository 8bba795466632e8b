//! The policies of counter arrays: what is added to the counters, and what is read from them.

use super::CounterArray;
use super::bounds;
use super::places::SignedPosition;
use crate::count_min::noise;
use crate::row_hash::MAX_ROWS;
use crate::{CounterCell, SignedCell};
use crate::{ErrorPromise, Estimate};
use std::fmt;
use std::marker::PhantomData;

/// Markov: a row of [`Turnstile`] is off by more than this many times its mean with a probability of 1/8.
const MARKOV: f64 = 8.0;

/// A way in which an array counts and answers. The five of this module are the only ones.
pub trait Policy: Copy + PartialEq + fmt::Debug + sealed::SealedPolicy + 'static {
    /// The type of the array's counters.
    type Cell: CounterCell;
    /// The policy's name in messages and benches.
    const KIND: &'static str;
    /// Rows unless their number is requested.
    const DEFAULT_DEPTH: usize;
    /// The fewest counters of a row.
    const LEAST_WIDTH: usize = 1;
    /// True if a row's hash has a sign.
    const HAS_SIGNS: bool = false;
    /// True if a packet adds to its counters and nothing else, so that many of them are split
    /// (`counters.rs`).
    const SPLITS: bool = false;
    /// True if the least row is the answer, and too large if anything; else it is the median, off either way.
    const TAKES_LEAST: bool = false;
    /// Counters of a row that may be nearer to what is expected of them by the weight of a flow whose own they are.
    const HIDDEN: f64 = if Self::TAKES_LEAST { 0.0 } else { 1.0 };

    /// Returns the amount that other flows are expected to add to a counter of an array with this total. The answer is less by it.
    fn expected_of(_total: f64, _width: f64) -> f64 {
        0.0
    }

    /// Returns a counter of an array with this total without the amount that other flows are expected to add ([`Self::expected_of`]).
    fn without_others(counter: f64, _total: f64, _width: f64) -> f64 {
        counter
    }

    /// The error that theory promises of the estimate of one flow in `depth` rows of `width` counters.
    fn promise(depth: usize, width: usize) -> ErrorPromise;

    /// Adds `weight` at the places of a packet. Returns the counters after it, without their signs. Without
    /// `MAY_END` no counter can reach its limit.
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [Self::Cell],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [Self::Cell; D];

    /// The counters of the key with this hash, without their signs; those beyond the depth are zero.
    fn counters(array: &CounterArray<Self>, hash: u64) -> [Self::Cell; MAX_ROWS] {
        array.cells_of(hash)
    }

    /// The estimate of a flow from such counters: an integer by which flows are compared.
    fn rank<const D: usize>(counters: [Self::Cell; D]) -> i64;

    /// The answer for the key with this hash.
    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate;
}

/// Counters are sums over the packets, so that arrays can be added: all but [`Conservative`].
pub trait Linear: Policy {}

/// Counters may fall, so that packets can be removed, and arrays be subtracted.
pub trait Signed: Linear
where
    Self::Cell: SignedCell,
{
    /// Subtracts `weight`. True if that leaves a counter below zero that no flow's true total can bring
    /// there.
    fn remove(array: &mut CounterArray<Self>, hash: u64, weight: u64) -> bool;
}

mod sealed {
    pub trait SealedPolicy {}
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident<$cell:ident>;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name<C = $cell>(PhantomData<fn() -> C>);

        impl<C: CounterCell> sealed::SealedPolicy for $name<C> {}
    )*};
}

policies! {
    /// Count-Min (Cormode, Muthukrishnan, "An improved data stream summary: the Count-Min sketch and its
    /// applications", J. Algorithms 55, 2005). Every row overestimates, never underestimates: the least is
    /// the answer. It is at most e·N/w too large with a probability of 1 − e^(−d) (Theorem 1), N being the
    /// total weight.
    CountMin<u32>;

    /// Count-Min with conservative update (Estan, Varghese, "New directions in traffic measurement and accounting", SIGCOMM
    /// 2002): a counter grows only as far as the new estimate. Its answer lies between the truth and Count-Min's, so that the bound
    /// is Count-Min's. Counters are no longer sums: no merging, no removal.
    ///
    /// Makwana's improved estimate of the cash-register model, which his report names and does not define.
    Conservative<u32>;

    /// Count Sketch (Charikar, Chen, Farach-Colton, "Finding frequent items in data streams", ICALP 2002). Each row adds or
    /// subtracts by a random sign, so that other flows cancel out: its error has a mean of 0 and a variance of at most F₂/w, F₂ being the sum
    /// of squared totals. By Chebyshev a row is off by more than 3·√(F₂/w) with a probability of 1/9, and the
    /// median only where half of the rows are.
    CountSketch<i32>;

    /// k-ary sketch (Krishnamurthy, Sen, Zhang, Chen, "Sketch-based change detection", IMC 2003): the median of (c − N/w) / (1 − 1/w),
    /// whose rows have a mean error of 0 and a variance of at most F₂/(w − 1); bound as for [`CountSketch`].
    ///
    /// Makwana's improved estimate of the turnstile model, which his report names and does not define: the median of rows
    /// from which the expected noise was taken.
    KAry<i32>;

    /// Count-Min where flows' totals may be negative (same paper as [`CountMin`], section 4.1): the median. A
    /// row is off by more than 8·‖a‖₁/w with a probability of 1/8 by Markov, and the median only where half
    /// of the rows are. ‖a‖₁ is at most all weight that was added and removed.
    Turnstile<i32>;
}

#[inline(always)]
fn add_to_all<C: CounterCell, const D: usize, const MAY_END: bool>(
    cells: &mut [C],
    places: &[SignedPosition; D],
    weight: u64,
) -> [C; D] {
    std::array::from_fn(|row| {
        let cell = &mut cells[places[row].unsigned()];
        *cell = if MAY_END { cell.plus(weight) } else { cell.plus_within(weight) };
        *cell
    })
}

/// The median of sorted values; of an even number the mean of the two in the middle.
pub(crate) fn median_of(sorted: &[f64]) -> f64 {
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// The median, and whether it comes from a counter at its limit.
fn median<C: CounterCell>(values: &mut [C]) -> (f64, bool) {
    values.sort_unstable();
    let (below, above) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    (median_of(&[below.to_f64(), above.to_f64()]), below.is_at_limit() || above.is_at_limit())
}

/// Returns the upper median, sufficient to compare flows. Sorted by exchanging neighbours, which is straight-line code for at most
/// eight.
#[inline(always)]
fn upper_median<C: CounterCell, const D: usize>(mut counters: [C; D]) -> i64 {
    for end in (1..D).rev() {
        for at in 0..end {
            let (a, b) = (counters[at], counters[at + 1]);
            (counters[at], counters[at + 1]) = (a.min(b), a.max(b));
        }
    }
    counters[D / 2].to_i64()
}

#[inline(always)]
fn least_of<C: CounterCell, const D: usize>(counters: [C; D]) -> i64 {
    counters.into_iter().min().unwrap_or_default().to_i64()
}

/// The least row, and Count-Min's bound around it.
fn least<P: Policy>(array: &CounterArray<P>, hash: u64) -> Estimate {
    let depth = array.configuration.depth;
    let least = array.cells_of(hash)[..depth].iter().copied().min().unwrap_or_default();
    let value = least.to_f64();
    if least.is_at_limit() {
        return Estimate::unbounded(value);
    }
    // A row at its limit is never the least one, and would not be if it could count on.
    let noise = noise(array.added, array.configuration.width);
    Estimate::bounded(value, (value - noise).max(0.0), value, 1.0 - (-(depth as f64)).exp())
}

/// The promise of the least of several rows: Cormode and Muthukrishnan 2005, theorem 1.
pub(crate) fn promise_of_least(depth: usize, width: usize) -> ErrorPromise {
    let confidence = 1.0 - (-(depth as f64)).exp();
    let share = std::f64::consts::E / width as f64;
    ErrorPromise { share, confidence, formula: "e·N/w", is_one_sided: true }
}

/// The promise of the median of several rows, by Chebyshev: each has this variance at most, as a share of F₂, which is N² at most.
fn promise_of_median(depth: usize, formula: &'static str, variance: f64) -> ErrorPromise {
    let (share, confidence) = bounds::promise_of_median(depth, variance);
    ErrorPromise { share, confidence, formula, is_one_sided: false }
}

impl<C: CounterCell> Policy for CountMin<C> {
    type Cell = C;
    const KIND: &'static str = "count_min";
    const DEFAULT_DEPTH: usize = 3;
    const SPLITS: bool = true;
    const TAKES_LEAST: bool = true;

    fn promise(depth: usize, width: usize) -> ErrorPromise {
        promise_of_least(depth, width)
    }

    #[inline(always)]
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [C],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [C; D] {
        add_to_all::<C, D, MAY_END>(cells, places, weight)
    }

    #[inline(always)]
    fn rank<const D: usize>(counters: [C; D]) -> i64 {
        least_of(counters)
    }

    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate {
        least(array, hash)
    }
}

impl<C: CounterCell> Linear for CountMin<C> {}

impl<C: CounterCell> Policy for Conservative<C> {
    type Cell = C;
    const KIND: &'static str = "conservative_update";
    const DEFAULT_DEPTH: usize = 3;
    const TAKES_LEAST: bool = true;

    fn promise(depth: usize, width: usize) -> ErrorPromise {
        promise_of_least(depth, width)
    }

    #[inline(always)]
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [C],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [C; D] {
        let least = places.iter().map(|place| cells[place.unsigned()]).min().unwrap_or_default();
        let raised = if MAY_END { least.plus(weight) } else { least.plus_within(weight) };
        std::array::from_fn(|row| {
            let cell = &mut cells[places[row].unsigned()];
            *cell = raised.max(*cell);
            *cell
        })
    }

    #[inline(always)]
    fn rank<const D: usize>(counters: [C; D]) -> i64 {
        least_of(counters)
    }

    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate {
        least(array, hash)
    }
}

impl<C: SignedCell> Policy for CountSketch<C> {
    type Cell = C;
    const KIND: &'static str = "count_sketch";
    const DEFAULT_DEPTH: usize = 5;
    const HAS_SIGNS: bool = true;

    fn counters(array: &CounterArray<Self>, hash: u64) -> [C; MAX_ROWS] {
        let mut counters = array.cells_of(hash);
        for (counter, place) in counters.iter_mut().zip(array.places_of(hash)) {
            *counter = if place.is_negative() { C::default().difference(*counter) } else { *counter };
        }
        counters
    }

    fn promise(depth: usize, width: usize) -> ErrorPromise {
        promise_of_median(depth, "3·√(F₂/w)", 1.0 / width as f64)
    }

    #[inline(always)]
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [C],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [C; D] {
        std::array::from_fn(|row| {
            let (cell, negative) = (&mut cells[places[row].index()], places[row].is_negative());
            *cell = match (negative, MAY_END) {
                (true, true) => cell.minus(weight),
                (false, true) => cell.plus(weight),
                (true, false) => cell.minus_within(weight),
                (false, false) => cell.plus_within(weight),
            };
            if negative { C::default().difference(*cell) } else { *cell }
        })
    }

    #[inline(always)]
    fn rank<const D: usize>(counters: [C; D]) -> i64 {
        upper_median(counters)
    }

    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate {
        let depth = array.configuration.depth;
        let (value, is_at_limit) = median(&mut Self::counters(array, hash)[..depth]);
        if is_at_limit {
            return Estimate::unbounded(value);
        }
        bounds::around_median(value, array.second_moment(), array.configuration.width as f64, depth)
    }
}

impl<C: SignedCell> Linear for CountSketch<C> {}

impl<C: SignedCell> Signed for CountSketch<C> {
    fn remove(array: &mut CounterArray<Self>, hash: u64, weight: u64) -> bool {
        let places = array.places_of(hash);
        let mut counters = array.counters.weighed();
        for place in &places[..array.configuration.depth] {
            let cell = counters.settled(place.index());
            *cell = if place.is_negative() { cell.plus(weight) } else { cell.minus(weight) };
        }
        false
    }
}

impl<C: SignedCell> Policy for KAry<C> {
    type Cell = C;
    const KIND: &'static str = "k_ary";
    const DEFAULT_DEPTH: usize = 5;
    /// One counter cannot distinguish a flow from the rest.
    const LEAST_WIDTH: usize = 2;
    const SPLITS: bool = true;

    fn expected_of(total: f64, width: f64) -> f64 {
        total / width
    }

    fn without_others(counter: f64, total: f64, width: f64) -> f64 {
        (counter - total / width) / (1.0 - 1.0 / width)
    }

    fn promise(depth: usize, width: usize) -> ErrorPromise {
        promise_of_median(depth, "3·√(F₂/(w − 1))", 1.0 / (width as f64 - 1.0))
    }

    #[inline(always)]
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [C],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [C; D] {
        add_to_all::<C, D, MAY_END>(cells, places, weight)
    }

    #[inline(always)]
    fn rank<const D: usize>(counters: [C; D]) -> i64 {
        upper_median(counters)
    }

    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate {
        let (depth, width) = (array.configuration.depth, array.configuration.width as f64);
        let (counter, is_at_limit) = median(&mut array.cells_of(hash)[..depth]);
        let value = Self::without_others(counter, array.total(), width);
        if is_at_limit {
            return Estimate::unbounded(value);
        }
        bounds::around_median(value, array.second_moment(), width - 1.0, depth)
    }
}

impl<C: SignedCell> Linear for KAry<C> {}

impl<C: SignedCell> Signed for KAry<C> {
    fn remove(array: &mut CounterArray<Self>, hash: u64, weight: u64) -> bool {
        remove_from_all(array, hash, weight)
    }
}

impl<C: SignedCell> Policy for Turnstile<C> {
    type Cell = C;
    const KIND: &'static str = "count_min_turnstile";
    const DEFAULT_DEPTH: usize = 5;
    const SPLITS: bool = true;

    fn promise(depth: usize, width: usize) -> ErrorPromise {
        let confidence = bounds::median_confidence(depth, 1.0 / MARKOV);
        let share = MARKOV / width as f64;
        ErrorPromise { share, confidence, formula: "8·N/w", is_one_sided: false }
    }

    #[inline(always)]
    fn add<const D: usize, const MAY_END: bool>(
        cells: &mut [C],
        places: &[SignedPosition; D],
        weight: u64,
    ) -> [C; D] {
        add_to_all::<C, D, MAY_END>(cells, places, weight)
    }

    #[inline(always)]
    fn rank<const D: usize>(counters: [C; D]) -> i64 {
        upper_median(counters)
    }

    fn estimate(array: &CounterArray<Self>, hash: u64) -> Estimate {
        let depth = array.configuration.depth;
        let (value, is_at_limit) = median(&mut array.cells_of(hash)[..depth]);
        if is_at_limit || array.added.max(array.removed) == u64::MAX {
            return Estimate::unbounded(value);
        }
        let all = array.added as f64 + array.removed as f64;
        let noise = MARKOV * all / array.configuration.width as f64;
        Estimate::bounded(value, value - noise, value + noise, bounds::median_confidence(depth, 1.0 / MARKOV))
    }
}

impl<C: SignedCell> Linear for Turnstile<C> {}

impl<C: SignedCell> Signed for Turnstile<C> {
    fn remove(array: &mut CounterArray<Self>, hash: u64, weight: u64) -> bool {
        remove_from_all(array, hash, weight)
    }
}

fn remove_from_all<P: Policy>(array: &mut CounterArray<P>, hash: u64, weight: u64) -> bool
where
    P::Cell: SignedCell,
{
    let places = array.places_of(hash);
    let mut counters = array.counters.weighed();
    let mut fell = false;
    for place in &places[..array.configuration.depth] {
        let cell = counters.settled(place.index());
        *cell = cell.minus(weight);
        fell |= *cell < P::Cell::default();
    }
    fell
}
