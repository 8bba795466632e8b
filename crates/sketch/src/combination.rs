//! Linear combinations of structures whose counters are sums: differences between windows, means of windows, forecasts.

use super::memory::filled;
use super::{SketchError, Summary, Unmergeable};

/// A structure whose counters are sums over the packets, so that those of several streams can be added and scaled.
pub trait SummedCounters: Summary {
    /// All counters, in one order.
    fn counters(&self) -> impl Iterator<Item = f64>;

    /// The number of counters of such a structure.
    fn number_of_counters(configuration: &Self::Configuration) -> usize;

    /// The total: what was added, less what was removed.
    fn sum(&self) -> f64;

    /// The weight that was added and removed together: no less than the number of flows.
    fn weight(&self) -> f64;

    /// True once a counter is at its limit, or the total.
    fn is_saturated(&self) -> bool;
}

/// A linear combination of structures of one configuration: Σ fᵢ · Sᵢ. Its counters are numbers with a sign and a fraction.
#[derive(Clone, Debug)]
pub struct Combination<S: Summary> {
    configuration: S::Configuration,
    pub(crate) cells: Box<[f64]>,
    /// The combination of the totals of the structures.
    pub(crate) total: f64,
    /// The weight that was counted in all structures together: no less than the number of flows.
    pub(crate) counted: f64,
    /// True if a counter of one of them was at its limit, so that nothing is known of what it lacks.
    pub(crate) is_saturated: bool,
}

impl<S: SummedCounters> Combination<S> {
    /// The combination of nothing: all counters are zero.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn zero(configuration: &S::Configuration) -> Result<Self, SketchError> {
        Ok(Self {
            configuration: configuration.clone(),
            cells: filled(S::number_of_counters(configuration), 0.0)?,
            total: 0.0,
            counted: 0.0,
            is_saturated: false,
        })
    }

    /// Memory of the combination of structures of this configuration, bytes.
    pub fn bytes_of(configuration: &S::Configuration) -> usize {
        S::number_of_counters(configuration) * size_of::<f64>()
    }

    /// The configuration of the structures.
    pub fn configuration(&self) -> &S::Configuration {
        &self.configuration
    }

    /// The combination of the totals that were counted.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Adds `factor` times a structure.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn add(&mut self, factor: f64, of: &S) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, of.configuration())?;
        self.cells.iter_mut().zip(of.counters()).for_each(|(cell, counter)| *cell += factor * counter);
        self.total += factor * of.sum();
        self.counted += of.weight();
        self.is_saturated |= of.is_saturated();
        Ok(())
    }

    /// Adds `factor` times another combination of the same structures, or to a combination of nothing.
    ///
    /// # Errors
    /// If the configurations differ, with both; nothing is changed then.
    pub fn add_combination(&mut self, factor: f64, of: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.configuration, &of.configuration)?;
        self.cells.iter_mut().zip(&of.cells).for_each(|(cell, counter)| *cell += factor * counter);
        self.total += factor * of.total;
        self.counted = self.counted.max(of.counted);
        self.is_saturated |= of.is_saturated;
        Ok(())
    }

    /// Multiplies all by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.cells.iter_mut().for_each(|cell| *cell *= factor);
        self.total *= factor;
    }
}
