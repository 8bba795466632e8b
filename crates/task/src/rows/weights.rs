//! Figures of the weights of a group's values: their entropy, and the heaviest of them.

use super::aggregates::{Collected, PlannedAggregate};
use super::keyed::{OF_V6, flow_key};
use super::member::{column_value, conversation, key_value};
use super::plan::QueryPlan;
use super::program::{RowProgram, Type};
use super::scalar::Scalar;
use super::update::Collections;
use super::values::{ValueOf, ValueSet, ValueWords};
use crate::query::GroupField;
use model::{Heaviest, Value};
use packet::{KeySpec, KeyV6, MaskedKey};
use std::cmp::Reverse;
use std::collections::HashMap;

/// The entropies of all groups, of each aggregate that has weights.
#[derive(Debug)]
pub(crate) struct Entropies(Vec<HashMap<u64, WeightSums>>);

/// The weights of a group's values.
#[derive(Clone, Copy, Debug, Default)]
struct WeightSums {
    weight: u64,
    /// Σ (w / weight) log₂ (weight / w), of values with a place.
    entropy: f64,
}

impl Entropies {
    pub(crate) fn new(plan: &QueryPlan, collections: &Collections) -> Self {
        let of = |PlannedAggregate { kind, .. }: &PlannedAggregate| match kind.state().collected() {
            Collected::Weights(set, _) => sums(&collections.sets[set]),
            _ => HashMap::new(),
        };
        Self(plan.aggregates.iter().map(of).collect())
    }

    /// The entropy of a group by an aggregate. Values for which there was no memory, of this weight, may all be one or all be
    /// different.
    pub(crate) fn estimate(&self, aggregate: usize, group: u64, beyond: u64) -> Scalar {
        let sums = self.0.get(aggregate).and_then(|groups| groups.get(&group)).copied().unwrap_or_default();
        match (sums.weight, beyond) {
            (0, 0) => Scalar::Null,
            (_, 0) => Scalar::float(rounded(sums.entropy)),
            (weight, beyond) => {
                let (weight, beyond) = (weight as f64, beyond as f64);
                let all = weight + beyond;
                // Σ (w / all) log₂ (all / w) = weight / all × (entropy + log₂ (all / weight)).
                let placed =
                    if weight == 0.0 { 0.0 } else { weight / all * (sums.entropy + (all / weight).log2()) };
                let lower = placed + beyond / all * (all / beyond).log2();
                let upper = placed + beyond / all * all.log2();
                Scalar::Between { value: f64::midpoint(lower, upper), lower, upper }
            }
        }
    }
}

/// An entropy without its last bits, which depend on the order in which it was summed.
fn rounded(entropy: f64) -> f64 {
    (entropy * 1e9).round().abs() / 1e9
}

fn sums(set: &ValueSet) -> HashMap<u64, WeightSums> {
    let mut sums: HashMap<u64, WeightSums> = HashMap::new();
    set.each_weight(|group, _, weight| sums.entry(group).or_default().weight += weight);
    set.each_weight(|group, _, weight| {
        if let Some(sums) = sums.get_mut(&group).filter(|_| weight != 0) {
            let (weight, all) = (weight as f64, sums.weight as f64);
            sums.entropy += weight / all * (all / weight).log2();
        }
    });
    sums
}

/// A column of heaviest values: their aggregate, their number and their field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopColumn<'a> {
    pub(crate) aggregate: usize,
    pub(crate) most: usize,
    pub(crate) of: &'a GroupField,
}

impl TopColumn<'_> {
    /// The heaviest values of some groups, by their numbers, with the weight of each group's values for which there was no memory.
    pub(crate) fn heaviest(
        &self,
        plan: &QueryPlan,
        program: &RowProgram,
        collections: &Collections,
        groups: &[(u64, u64)],
    ) -> HashMap<u64, Value> {
        let collected = plan.aggregates[self.aggregate].kind.state().collected();
        let Collected::Weights(set, of) = collected else { return HashMap::new() };
        let mut found: HashMap<u64, HeaviestValues> =
            groups.iter().map(|(number, _)| (*number, HeaviestValues::default())).collect();
        collections.sets[set].each_weight(|group, value, weight| {
            if let Some(kept) = found.get_mut(&group).filter(|_| weight != 0) {
                kept.add(value, weight, self.most);
            }
        });
        let value = |(words, is_v6): &FamilyWords| match of {
            ValueOf::Key(spec) => {
                let key = flow_key(if *is_v6 { OF_V6 } else { 0 }, words, &spec);
                key_value(&key, &super::grouping::own_name(&self.of.field), self.of, &plan.key)
            }
            ValueOf::Conversation => {
                let key = flow_key(if *is_v6 { OF_V6 } else { 0 }, words, &KeySpec::FIVE_TUPLE);
                conversation(&key).map_or(Value::Null, Value::Conversation)
            }
            ValueOf::Node(node) => {
                let names = match program.type_of(node) {
                    Type::Name(names) => Some(names),
                    _ => None,
                };
                column_value(&self.of.field, names, words[0])
            }
        };
        let beyond: HashMap<u64, u64> = groups.iter().copied().collect();
        let heaviest = |(group, mut kept): (u64, HeaviestValues)| {
            kept.shrink(self.most);
            kept.first.sort_unstable_by_key(rank);
            let weight = kept.first.iter().map(|(weight, _)| weight).sum::<u64>();
            let beyond = beyond.get(&group).copied().unwrap_or(0);
            let heaviest = Heaviest {
                values: kept.first.iter().map(|(weight, words)| (value(words), *weight)).collect(),
                rest_values: kept.values - kept.first.len() as u64,
                rest_weight: kept.weight - weight + beyond,
            };
            (group, Value::Heaviest(Box::new(heaviest)))
        };
        found.into_iter().map(heaviest).collect()
    }
}

/// Words of a value, at the most.
const VALUE_WORDS: usize = KeyV6::WORDS;

/// A value's words and whether it is of IPv6.
type FamilyWords = ([u64; VALUE_WORDS], bool);

/// The heaviest values of a group so far.
#[derive(Debug, Default)]
struct HeaviestValues {
    first: Vec<(u64, FamilyWords)>,
    values: u64,
    weight: u64,
}

/// Values beyond the requested number that are kept before some are discarded.
const SLACK: usize = 256;

/// The heaviest are first, and of equal ones the least.
fn rank((weight, (words, is_v6)): &(u64, FamilyWords)) -> (Reverse<u64>, bool, [u64; VALUE_WORDS]) {
    (Reverse(*weight), *is_v6, words.map(u64::to_be))
}

impl HeaviestValues {
    fn add(&mut self, value: ValueWords<'_>, weight: u64, most: usize) {
        let mut words = [0; VALUE_WORDS];
        words.iter_mut().zip(value.words).for_each(|(word, own)| *word = *own);
        self.values += 1;
        self.weight += weight;
        self.first.push((weight, (words, value.is_v6)));
        if self.first.len() >= most.saturating_mul(2).saturating_add(SLACK) {
            self.shrink(most);
        }
    }

    fn shrink(&mut self, most: usize) {
        if self.first.len() > most {
            if most > 0 {
                self.first.select_nth_unstable_by_key(most, rank);
            }
            self.first.truncate(most);
        }
    }
}
