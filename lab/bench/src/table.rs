//! `edison-lab bench table`: exact tables on the same keys.

use crate::compare::{in_turn, median, ns};
use crate::cuckoo::{BURST, Cuckoo, PACKET};
use crate::{BenchResult, Points};
use flowtable::Counts;
use hashbrown::HashMap;
use packet::{FlowKey, Key, KeySpec, KeyV4};
use serde_json::json;
use std::time::{Duration, Instant};
use traffic::{KeyStream, TrafficSpec};

const BENCH: &str = "table";
/// A table that counts packets per key.
trait ExactTable {
    fn name(&self) -> &'static str;
    /// An empty table for up to this many flows.
    fn renew(&mut self, flows: usize);
    fn count(&mut self, keys: &[KeyV4]);
    fn memory_bytes(&self) -> u64;
    /// Packets per key; the table may be empty afterwards.
    fn counts(&mut self) -> HashMap<FlowKey, u64>;
}

/// Runs it.
pub(crate) fn run(points: &Points, out: &mut dyn FnMut(BenchResult)) -> Result<(), String> {
    let flows = points.flows.map_or(vec![64_000, 1_000_000, 8_000_000], |flows| vec![flows]);
    let skews = points.zipf.map_or(vec![1.0, 0.0], |zipf| vec![zipf]);
    for &flows in &flows {
        for &zipf in &skews {
            let packets = points.packets.unwrap_or((2 * flows).max(4_000_000)).min(1 << 28);
            point(packets, flows, zipf, points.seconds, out)?;
        }
    }
    Ok(())
}

fn point(
    packets: u64,
    flows: u64,
    zipf: f64,
    seconds: f64,
    out: &mut dyn FnMut(BenchResult),
) -> Result<(), String> {
    let spec: TrafficSpec = format!("packets={packets},flows={flows},zipf={zipf},seed=1")
        .parse()
        .map_err(|error| format!("{error}"))?;
    let stream = KeyStream::ipv4(&spec);
    let truth: HashMap<FlowKey, u64> =
        stream.counts().map(|(key, count)| (key.flow_key(&KeySpec::FIVE_TUPLE), u64::from(count))).collect();
    let mut tables: Vec<Box<dyn ExactTable>> = vec![
        Box::new(Cuckoo::new()),
        Box::new(Hashbrown::default()),
        Box::new(rte::RteHash::new(flows as usize)?),
    ];

    // The first pass inserts, the second finds every key there.
    let mut builds: Vec<Vec<f64>> = vec![Vec::new(); tables.len()];
    let mut checked = vec![true; tables.len()];
    let mut memory = vec![0; tables.len()];
    let mut numbered: Vec<_> = tables.iter_mut().enumerate().collect();
    let times = in_turn(&mut numbered, seconds, |(number, table)| {
        table.renew(truth.len());
        let began = Instant::now();
        table.count(stream.keys());
        builds[*number].push(ns(began.elapsed()));
        let began = Instant::now();
        table.count(stream.keys());
        let time = ns(began.elapsed());
        memory[*number] = table.memory_bytes();
        let counts = table.counts();
        let same = |(key, count): (&FlowKey, &u64)| counts.get(key) == Some(&(2 * count));
        checked[*number] &= counts.len() == truth.len() && truth.iter().all(same);
        time
    });
    for (number, rounds_ns) in times.into_iter().enumerate() {
        let build = median(&builds[number]) / packets as f64;
        let mut more =
            vec![("distinct", json!(truth.len())), ("first_pass_ns", json!((build * 10.0).round() / 10.0))];
        if number == 0 {
            let pauses = growth_pauses(&stream);
            more.push(("burst_us_p99_9", json!(pauses.0)));
            more.push(("burst_us_max", json!(pauses.1)));
        }
        out(BenchResult {
            bench: BENCH,
            variant: tables[number].name().to_owned(),
            params: vec![("flows", json!(flows)), ("zipf", json!(zipf)), ("cores", json!(1))],
            packets,
            rounds_ns,
            memory_bytes: Some(memory[number]),
            checked: checked[number],
            more,
        });
    }
    Ok(())
}

/// Returns how long bursts take while the table grows from nothing, in microseconds: the 99.9th percentile and the longest. Interruptions by the
/// machine are included in the longest one.
fn growth_pauses(stream: &KeyStream<KeyV4>) -> (f64, f64) {
    let mut cuckoo = Cuckoo::new();
    cuckoo.renew();
    // A source takes longer to open: meanwhile the first memory is populated.
    std::thread::sleep(Duration::from_millis(20));
    let mut times: Vec<f64> = stream
        .keys()
        .chunks(BURST)
        .map(|keys| {
            let began = Instant::now();
            cuckoo.count(keys);
            ns(began.elapsed()) / 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    ((at(0.999) * 10.0).round() / 10.0, (at(1.0) * 10.0).round() / 10.0)
}

impl ExactTable for Cuckoo {
    fn name(&self) -> &'static str {
        "cuckoo"
    }

    fn renew(&mut self, _: usize) {
        self.renew();
    }

    fn count(&mut self, keys: &[KeyV4]) {
        self.count(keys);
    }

    fn memory_bytes(&self) -> u64 {
        self.memory_bytes()
    }

    fn counts(&mut self) -> HashMap<FlowKey, u64> {
        let mut counts = HashMap::new();
        self.end(|record| {
            if let Some(key) = record.key {
                *counts.entry(key).or_default() += record.total_count;
            }
        });
        counts
    }
}

/// hashbrown with its own default hash.
#[derive(Default)]
struct Hashbrown(HashMap<KeyV4, Counts>);

impl ExactTable for Hashbrown {
    fn name(&self) -> &'static str {
        "hashbrown"
    }

    fn renew(&mut self, _: usize) {
        self.0 = HashMap::new();
    }

    fn count(&mut self, keys: &[KeyV4]) {
        for &key in keys {
            let counts = self.0.entry(key).or_default();
            counts.packets += 1;
            counts.bytes += u64::from(PACKET.total_byte);
            counts.wire += u64::from(PACKET.wire_byte);
        }
    }

    fn memory_bytes(&self) -> u64 {
        self.0.allocation_size() as u64
    }

    fn counts(&mut self) -> HashMap<FlowKey, u64> {
        std::mem::take(&mut self.0)
            .into_iter()
            .map(|(key, counts)| (key.flow_key(&KeySpec::FIVE_TUPLE), counts.packets))
            .collect()
    }
}

mod rte {
    use super::{ExactTable, FlowKey, HashMap, Key, KeySpec, KeyV4, PACKET};
    use dpdk_sys::{
        RTE_HASH_EXTRA_FLAGS_EXT_TABLE, RTE_HASH_LOOKUP_BULK_MAX, rte_hash, rte_hash_add_key, rte_hash_free,
        rte_hash_lookup_bulk, shim_hash_create,
    };
    use flowtable::Counts;
    use port::dpdk::{Eal, EalConfig};
    use std::ffi::{CString, c_void};
    use std::sync::{Arc, Mutex, PoisonError};

    /// Keys that are looked up together: the maximum.
    const BURST: usize = RTE_HASH_LOOKUP_BULK_MAX;

    /// EAL can be started once per process.
    static EAL: Mutex<Option<Arc<Eal>>> = Mutex::new(None);

    fn eal(memory_bytes: u64) -> Result<Arc<Eal>, String> {
        let mut eal = EAL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(eal) = &*eal {
            return Ok(Arc::clone(eal));
        }
        let config = EalConfig { memory_bytes, ..EalConfig::default() };
        let started = Eal::init(&config).map_err(|error| error.to_string())?;
        Ok(Arc::clone(eal.insert(started)))
    }

    /// DPDK's table, which cannot grow: it is made for all flows at once. Bulk lookup of 64 keys, then one insert per
    /// key that is missing; counters in an array by the key's position.
    pub(super) struct RteHash {
        table: *mut rte_hash,
        counters: Vec<Counts>,
        keys: Vec<KeyV4>,
        made: u32,
        _eal: Arc<Eal>,
    }

    impl RteHash {
        /// Memory for one entry: key, slot, bucket and extension.
        const ENTRY_BYTES: u64 = 100;
        /// The largest bench; memory must be known when EAL starts.
        const MOST: u64 = 9_000_000;

        pub(super) fn new(flows: usize) -> Result<Self, String> {
            let eal = eal(Self::ENTRY_BYTES * Self::MOST.max(flows as u64 * 9 / 8))?;
            Ok(Self {
                table: std::ptr::null_mut(),
                counters: Vec::new(),
                keys: Vec::new(),
                made: 0,
                _eal: eal,
            })
        }
    }

    impl ExactTable for RteHash {
        fn name(&self) -> &'static str {
            "rte_hash"
        }

        fn renew(&mut self, flows: usize) {
            self.made += 1;
            let name = CString::new(format!("bench{}", self.made)).expect("no NUL in it");
            let entries = u32::try_from(flows + flows / 16 + 64).expect("fewer flows than 2^32");
            // SAFETY: `table` is null or was made here and is not used any more; EAL runs as long as `self`.
            unsafe {
                rte_hash_free(self.table);
                self.table = shim_hash_create(
                    name.as_ptr(),
                    entries,
                    size_of::<KeyV4>() as u32,
                    7,
                    -1,
                    RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
                );
            }
            assert!(
                !self.table.is_null(),
                "rte_hash_create for {entries} keys failed: too little memory for EAL"
            );
            self.counters = vec![Counts::default(); entries as usize + 64];
            self.keys = vec![KeyV4::default(); entries as usize + 64];
        }

        fn count(&mut self, keys: &[KeyV4]) {
            let mut pointers = [std::ptr::null::<c_void>(); BURST];
            let mut positions = [0i32; BURST];
            for keys in keys.chunks(BURST) {
                for (pointer, key) in pointers.iter_mut().zip(keys) {
                    *pointer = std::ptr::from_ref(key).cast();
                }
                // SAFETY: as many pointers to 16-byte keys, and places, as `keys` has.
                unsafe {
                    rte_hash_lookup_bulk(
                        self.table,
                        pointers.as_ptr(),
                        keys.len() as u32,
                        positions.as_mut_ptr(),
                    )
                };
                for ((&position, key), pointer) in positions.iter().zip(keys).zip(pointers) {
                    let mut position = position;
                    if position < 0 {
                        // SAFETY: one 16-byte key.
                        position = unsafe { rte_hash_add_key(self.table, pointer) };
                        self.keys[position as usize] = *key;
                    }
                    let counts = &mut self.counters[position as usize];
                    counts.packets += 1;
                    counts.bytes += u64::from(PACKET.total_byte);
                    counts.wire += u64::from(PACKET.wire_byte);
                }
            }
        }

        fn memory_bytes(&self) -> u64 {
            self.counters.len() as u64 * (Self::ENTRY_BYTES + size_of::<Counts>() as u64)
        }

        fn counts(&mut self) -> HashMap<FlowKey, u64> {
            let counted = self.keys.iter().zip(&self.counters).filter(|(_, counts)| counts.packets != 0);
            counted.map(|(key, counts)| (key.flow_key(&KeySpec::FIVE_TUPLE), counts.packets)).collect()
        }
    }

    impl Drop for RteHash {
        fn drop(&mut self) {
            // SAFETY: null or made by `renew`, and not used after.
            unsafe { rte_hash_free(self.table) };
        }
    }
}
