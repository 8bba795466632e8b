//! Σ a·b over all flows of two streams: the size of a join; with itself, the second moment.

use super::bounds::around_product;
use super::policy::{CountMin, CountSketch, KAry, Linear, Policy, median_of};
use super::{CounterArray, MAX_ROWS};
use crate::{CounterCell, SignedCell};
use crate::{Estimate, Unmergeable};

/// Products of rows estimate the streams' inner product.
pub trait InnerProduct: Linear {
    /// A row's product, minus the expected contribution of flows that share counters.
    fn row_product(product: f64, left: &CounterArray<Self>, right: &CounterArray<Self>) -> f64;

    /// The answer to [`CounterArray::inner_product`].
    fn inner_product(left: &CounterArray<Self>, right: &CounterArray<Self>) -> Estimate;
}

impl<P: InnerProduct> CounterArray<P> {
    /// The sum over all keys of their weight here times their weight there.
    ///
    /// Count-Min: at most e·N·N'/w too large with a probability of 1 − e^(−d) (Cormode, Muthukrishnan,
    /// Theorem 3). Count Sketch and k-ary: the median of rows, each of which is unbiased.
    ///
    /// # Errors
    /// If the configurations differ, with both.
    pub fn inner_product(&self, other: &Self) -> Result<Estimate, Unmergeable> {
        Unmergeable::check(&self.configuration, &other.configuration)?;
        Ok(P::inner_product(self, other))
    }

    /// The sum of squared totals, F₂; `None` if a counter is at its limit.
    pub(super) fn second_moment(&self) -> Option<f64> {
        *self.second_moment.get_or_init(|| median_product(self, self, P::row_product))
    }
}

impl<C: CounterCell> InnerProduct for CountMin<C> {
    fn row_product(product: f64, _: &CounterArray<Self>, _: &CounterArray<Self>) -> f64 {
        product
    }

    fn inner_product(left: &CounterArray<Self>, right: &CounterArray<Self>) -> Estimate {
        least_product(left, right)
    }
}

impl<C: SignedCell> InnerProduct for CountSketch<C> {
    fn row_product(product: f64, _: &CounterArray<Self>, _: &CounterArray<Self>) -> f64 {
        product
    }

    fn inner_product(left: &CounterArray<Self>, right: &CounterArray<Self>) -> Estimate {
        bounded_median_product(left, right, left.configuration.width as f64)
    }
}

impl<C: SignedCell> InnerProduct for KAry<C> {
    fn row_product(product: f64, left: &CounterArray<Self>, right: &CounterArray<Self>) -> f64 {
        let width = left.configuration.width as f64;
        (width * product - left.total() * right.total()) / (width - 1.0)
    }

    fn inner_product(left: &CounterArray<Self>, right: &CounterArray<Self>) -> Estimate {
        bounded_median_product(left, right, left.configuration.width as f64 - 1.0)
    }
}

/// The product of each row; `None` if a counter is at its limit.
fn row_products<P: Policy>(left: &CounterArray<P>, right: &CounterArray<P>) -> Option<[f64; MAX_ROWS]> {
    let mut products = [0.0; MAX_ROWS];
    for (row, product) in products.iter_mut().enumerate().take(left.configuration.depth) {
        for (a, b) in left.row(row).zip(right.row(row)) {
            if a.is_at_limit() || b.is_at_limit() {
                return None;
            }
            *product += a.to_f64() * b.to_f64();
        }
    }
    Some(products)
}

/// The least row's product, for counters that only overestimate.
fn least_product<P: Policy>(left: &CounterArray<P>, right: &CounterArray<P>) -> Estimate {
    let depth = left.configuration.depth;
    let Some(products) = row_products(left, right) else { return Estimate::unbounded(f64::INFINITY) };
    let value = products[..depth].iter().copied().fold(f64::INFINITY, f64::min);
    let noise =
        std::f64::consts::E * left.added as f64 * right.added as f64 / left.configuration.width as f64;
    Estimate::bounded(value, (value - noise).max(0.0), value, 1.0 - (-(depth as f64)).exp())
}

/// The median of the rows' products after `correct`; `None` if a counter is at its limit.
fn median_product<P: InnerProduct>(
    left: &CounterArray<P>,
    right: &CounterArray<P>,
    correct: fn(f64, &CounterArray<P>, &CounterArray<P>) -> f64,
) -> Option<f64> {
    let mut products = row_products(left, right)?;
    let products = &mut products[..left.configuration.depth];
    products.iter_mut().for_each(|product| *product = correct(*product, left, right));
    products.sort_by(f64::total_cmp);
    Some(median_of(products))
}

/// The median with its bound; `width` determines the variance.
fn bounded_median_product<P: InnerProduct>(
    left: &CounterArray<P>,
    right: &CounterArray<P>,
    width: f64,
) -> Estimate {
    let Some(value) = median_product(left, right, P::row_product) else {
        return Estimate::unbounded(f64::NAN);
    };
    let moments = [left.second_moment(), right.second_moment()];
    around_product(value, moments, width, left.configuration.depth)
}
