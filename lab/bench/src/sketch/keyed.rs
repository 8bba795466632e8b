//! Structures that keep keys: what they are compared with, and which of them are checked for accuracy.

use super::BYTES;
use super::comparison::{ContenderCheck, SpeedComparison};
use super::contender::{Contender, Edison};
use super::plain_hash_table::{CheckedEntry, PlainHashTable, PublishedEntry, TableEntry};
use super::plain_heap::PlainHeap;
use super::reversible::{PlainReversible, Reversible};
use super::stream::SketchStream;
use crate::tuple::Tuple;
use packet::{KeyV4, Seed};
use serde_json::json;
use sketch::{
    CocoSketch, Configuration, Frequency, Grid, GridConfig, HeavyHitters, MvSketch, PacketSample,
    SampleAndHold, SimpleHashTable, SpaceSavingHeap, SpaceSavingSummary, Summary, UpdateBurst,
};
use std::collections::HashMap;
use structures::CheckedHashTable;

/// Speed.
pub(super) fn comparisons() -> impl Iterator<Item = Result<SpeedComparison, String>> {
    let tables = [1 << 12, 1 << 20].into_iter().flat_map(|width| {
        // Small ones lie in the cache, where the plain version waits for nothing.
        let asked_times = (width == 1 << 20).then_some(4.0);
        [
            table::<PublishedEntry, SimpleHashTable<KeyV4>>("simple_hash_table", width, asked_times),
            table::<CheckedEntry, CheckedHashTable<KeyV4>>("checked_hash_table", width, None),
        ]
    });
    let reversible = [(6, 1 << 12), (4, 1 << 16)].into_iter().map(|(rows, width)| reversible(rows, width));
    tables.chain([space_saving_orders()]).chain(reversible)
}

/// The total is correct, and no flow is underestimated.
fn never_less(contender: &dyn Contender, stream: &SketchStream) -> bool {
    stream
        .flows
        .iter()
        .all(|(key, count)| contender.estimate(key).is_some_and(|value| value >= f64::from(*count)))
}

/// A hash table of this many entries, compared with a plain one with the same content.
fn table<E: TableEntry, S>(
    name: &'static str,
    width: usize,
    asked_times: Option<f64>,
) -> Result<SpeedComparison, String>
where
    S: Grid
        + Summary<Configuration = GridConfig<S>>
        + UpdateBurst<KeyV4>
        + Frequency<KeyV4>
        + HeavyHitters<KeyV4>
        + 'static,
{
    let config = GridConfig::with_width(width, Seed::new(7));
    Ok(SpeedComparison {
        params: vec![("width", json!(width))],
        contenders: vec![
            Box::new(PlainHashTable::<E, false>::new(width)),
            Box::new(PlainHashTable::<E, true>::new(width)),
            Box::new(Edison::<S>::listing(name, &config)?),
        ],
        check: Box::new(never_less),
        asked_times,
    })
}

fn space_saving_orders() -> Result<SpeedComparison, String> {
    const CAPACITY: usize = 1000;
    let heap = Edison::<SpaceSavingHeap<KeyV4>>::listing(
        "space_saving_heap",
        &GridConfig::with_width(CAPACITY, Seed::new(7)),
    )?;
    let summary = Edison::<SpaceSavingSummary<KeyV4>>::listing(
        "space_saving_stream_summary",
        &GridConfig::with_width(CAPACITY, Seed::new(7)),
    )?;
    Ok(SpeedComparison {
        params: vec![("capacity", json!(CAPACITY))],
        contenders: vec![Box::new(PlainHeap::new(CAPACITY)), Box::new(heap), Box::new(summary)],
        check: Box::new(|contender, stream| {
            let limit = stream.packets() as f64 / CAPACITY as f64;
            never_less(contender, stream)
                && stream.flows.iter().all(|(key, count)| {
                    contender.estimate(key).is_some_and(|value| value <= f64::from(*count) + limit)
                })
        }),
        asked_times: Some(1.5),
    })
}

fn reversible(rows: usize, width: usize) -> Result<SpeedComparison, String> {
    Ok(SpeedComparison {
        params: vec![("rows", json!(rows)), ("width", json!(width))],
        contenders: vec![
            Box::new(PlainReversible::<false>::new(rows, width)),
            Box::new(PlainReversible::<true>::new(rows, width)),
            Box::new(Reversible::new(rows, width)?),
        ],
        check: heavy_addresses_come_back(),
        asked_times: Some(3.0),
    })
}

/// Source addresses are never underestimated, and if they can be listed, no heavy one is missing.
fn heavy_addresses_come_back() -> ContenderCheck {
    Box::new(|contender, stream| {
        let mut addresses = HashMap::<[u8; 4], (KeyV4, u64)>::new();
        for (key, count) in &stream.flows {
            let [a, b, c, d, ..] = *Tuple::from_v4(key).addresses();
            addresses.entry([a, b, c, d]).or_insert((*key, 0)).1 += u64::from(*count);
        }
        let threshold = stream.packets() / 500;
        let listed = contender.listed(threshold);
        addresses.iter().all(|(address, (key, count))| {
            let is_listed =
                |list: &Vec<KeyV4>| list.iter().any(|key| Tuple::from_v4(key).addresses()[..4] == *address);
            contender.estimate(key).is_some_and(|value| value >= *count as f64)
                && (*count < threshold || listed.as_ref().is_none_or(is_listed))
        })
    })
}

/// Makes a contender with keys of 13 bytes that names its flows and uses [`BYTES`].
fn listing<S>(name: &'static str, seed: Seed) -> Result<Box<dyn Contender>, String>
where
    S: UpdateBurst<Tuple> + Frequency<Tuple> + HeavyHitters<Tuple> + 'static,
{
    let config = <S as Summary>::Configuration::with_bytes(BYTES, seed).map_err(|error| error.to_string())?;
    Ok(Box::new(Edison::<S, Tuple>::listing(name, &config)?))
}

macro_rules! listed {
    ($($name:ident: $structure:ident),* $(,)?) => {
        $(
            /// Makes the contender at [`BYTES`].
            pub(super) fn $name(seed: Seed) -> Result<Box<dyn Contender>, String> {
                listing::<$structure<Tuple>>(stringify!($name), seed)
            }
        )*
    };
}

listed!(
    simple_hash_table: SimpleHashTable,
    checked_hash_table: CheckedHashTable,
    mv_sketch: MvSketch,
    space_saving: SpaceSavingSummary,
    coco_sketch: CocoSketch,
    packet_sample: PacketSample,
    sample_and_hold: SampleAndHold,
);
