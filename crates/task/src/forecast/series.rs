//! Flows with their numbers, as the structure of a task has them, that are added and scaled.

use super::{FlowNumbers, TableRoom};
use crate::state::FlowCounter;
use sketch::{
    ByteKey, Combination, CounterArray, Estimate, KAry, Linear, Policy, ReversibleSketch, SketchError,
    Summary, Tracked, Turnstile, Unmergeable,
};
use std::collections::HashMap;

/// Numbers of flows.
#[derive(Debug)]
pub(crate) enum Series<K: ByteKey> {
    /// Each flow's, exactly.
    Table(FlowNumbers<K>),
    KAry(ListedArray<K, KAry>),
    KAryBytes(ListedArray<K, KAry<i64>>),
    Turnstile(ListedArray<K, Turnstile>),
    TurnstileBytes(ListedArray<K, Turnstile<i64>>),
    Reversible(Combination<ReversibleSketch>),
}

/// Counters, and the flows that may have much of them.
#[derive(Debug)]
pub(crate) struct ListedArray<K, P: Policy> {
    pub(crate) counters: Combination<CounterArray<P>>,
    /// Flows by their hashes.
    flows: HashMap<u64, K>,
    /// Flows that are listed.
    most: usize,
    /// The most that a flow may have, either way, that is not listed.
    pub(crate) lacking: f64,
}

impl<K: ByteKey, P: Linear> ListedArray<K, P> {
    fn zero(like: &Tracked<K, P>) -> Result<Self, SketchError> {
        let config = like.configuration();
        let counters = Combination::zero(config.array())?;
        Ok(Self { counters, flows: HashMap::new(), most: 2 * config.candidates(), lacking: 0.0 })
    }

    /// Flows with their hashes.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.flows.iter().map(|(hash, key)| (*key, *hash))
    }

    fn add(&mut self, factor: f64, other: &Self) -> Result<(), Unmergeable> {
        self.counters.add_combination(factor, &other.counters)?;
        self.lacking += factor.abs() * other.lacking;
        self.flows.extend(&other.flows);
        self.shorten();
        Ok(())
    }

    fn add_window(&mut self, factor: f64, window: &Tracked<K, P>) -> Result<(), Unmergeable> {
        self.counters.add(factor, window.array())?;
        self.lacking += factor.abs() * window.most_lacking() as f64;
        self.flows.extend(window.candidates().map(|(key, hash)| (hash, key)));
        self.shorten();
        Ok(())
    }

    fn scale(&mut self, factor: f64) {
        self.counters.scale(factor);
        self.lacking *= factor.abs();
    }

    /// Keeps the flows with the largest numbers, where there are many.
    fn shorten(&mut self) {
        if self.flows.len() <= 2 * self.most {
            return;
        }
        let mut ranked: Vec<((K, u64), Estimate)> =
            self.counters.estimates_of_listed(self.flows().map(|flow| (flow, flow.1)));
        let size = |(_, estimate): &((K, u64), Estimate)| estimate.value.abs();
        ranked.sort_unstable_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.0.cmp(&b.0)));
        self.lacking = self.lacking.max(size(&ranked[self.most]));
        ranked.truncate(self.most);
        self.flows = ranked.into_iter().map(|((key, hash), _)| (hash, key)).collect();
    }
}

impl<K: ByteKey> Series<K> {
    /// Zero for each flow, for structures like this one; `None` for a structure that has no such sums.
    pub(crate) fn zero(like: &FlowCounter<K>, room: TableRoom) -> Result<Option<Self>, SketchError> {
        Ok(Some(match like {
            FlowCounter::Exact(_) | FlowCounter::FlowSample(_) => Self::Table(FlowNumbers::new(room)),
            FlowCounter::KAry(sketch) => Self::KAry(ListedArray::zero(sketch)?),
            FlowCounter::KAryBytes(sketch) => Self::KAryBytes(ListedArray::zero(sketch)?),
            FlowCounter::Turnstile(sketch) => Self::Turnstile(ListedArray::zero(sketch)?),
            FlowCounter::TurnstileBytes(sketch) => Self::TurnstileBytes(ListedArray::zero(sketch)?),
            FlowCounter::Reversible(sketch) => Self::Reversible(Combination::zero(sketch.configuration())?),
            _ => return Ok(None),
        }))
    }

    /// Multiplies all by `factor`.
    pub(crate) fn scale(&mut self, factor: f64) {
        match self {
            Self::Table(numbers) => numbers.scale(factor),
            Self::KAry(listed) => listed.scale(factor),
            Self::KAryBytes(listed) => listed.scale(factor),
            Self::Turnstile(listed) => listed.scale(factor),
            Self::TurnstileBytes(listed) => listed.scale(factor),
            Self::Reversible(counters) => counters.scale(factor),
        }
    }

    /// Adds `factor` times another of the same kind.
    pub(crate) fn add(&mut self, factor: f64, other: &Self) -> Result<(), Unmergeable> {
        match (self, other) {
            (Self::Table(ours), Self::Table(theirs)) => ours.add_all(factor, theirs),
            (Self::KAry(ours), Self::KAry(theirs)) => ours.add(factor, theirs)?,
            (Self::KAryBytes(ours), Self::KAryBytes(theirs)) => ours.add(factor, theirs)?,
            (Self::Turnstile(ours), Self::Turnstile(theirs)) => ours.add(factor, theirs)?,
            (Self::TurnstileBytes(ours), Self::TurnstileBytes(theirs)) => ours.add(factor, theirs)?,
            (Self::Reversible(ours), Self::Reversible(theirs)) => ours.add_combination(factor, theirs)?,
            (ours, theirs) => return Err(Unmergeable::new(ours.kind(), theirs.kind())),
        }
        Ok(())
    }

    /// Adds `factor` times what was counted in a window; nothing of one without packets.
    pub(crate) fn add_window(
        &mut self,
        factor: f64,
        window: Option<&FlowCounter<K>>,
    ) -> Result<(), Unmergeable> {
        let Some(window) = window else { return Ok(()) };
        match (self, window) {
            (Self::Table(numbers), FlowCounter::Exact(table)) => {
                table.iter().for_each(|(key, weight)| numbers.add(key, factor * weight as f64));
                if table.is_short() {
                    numbers.mark_short();
                }
            }
            (Self::Table(numbers), FlowCounter::FlowSample(sample)) => {
                sample.iter().for_each(|(key, weight)| numbers.add(key, factor * weight as f64));
                if sample.not_kept() > 0 {
                    numbers.mark_short();
                }
            }
            (Self::KAry(listed), FlowCounter::KAry(sketch)) => listed.add_window(factor, sketch)?,
            (Self::KAryBytes(listed), FlowCounter::KAryBytes(sketch)) => listed.add_window(factor, sketch)?,
            (Self::Turnstile(listed), FlowCounter::Turnstile(sketch)) => listed.add_window(factor, sketch)?,
            (Self::TurnstileBytes(listed), FlowCounter::TurnstileBytes(sketch)) => {
                listed.add_window(factor, sketch)?;
            }
            (Self::Reversible(counters), FlowCounter::Reversible(sketch)) => {
                counters.add(factor, sketch.sketch())?;
            }
            (ours, window) => return Err(Unmergeable::new(ours.kind(), window.text())),
        }
        Ok(())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "a table of numbers",
            Self::KAry(_) | Self::KAryBytes(_) => "counters of a k-ary sketch",
            Self::Turnstile(_) | Self::TurnstileBytes(_) => "counters of a turnstile Count-Min",
            Self::Reversible(_) => "counters of a Reversible sketch",
        }
    }
}
