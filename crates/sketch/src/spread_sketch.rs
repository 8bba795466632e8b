//! SpreadSketch (Tang, Huang, Lee, INFOCOM 2020): distinct counters in a grid, each with the keys of the
//! greatest depth, so that keys with many different others are read off the sketch.

use super::confidence::CONFIDENCE;
use super::grid::{Grid, GridConfig, GridRows};
use super::hyper_log_log::{estimate, off};
use super::memory::{filled, prefetch};
use super::row_hash::{MAX_ROWS, RowHash, place};
use super::summary::BURST;
use super::{
    Configuration, Contact, ContactBurst, Estimate, HeavyKeys, Merge, SketchError, Spreaders, Summary,
    Unmergeable,
};
use packet::Key;

/// The longest run that a register holds; longer ones count as this.
const LONGEST: usize = 15;

/// Candidates of a cell, each of a quarter of its pairs.
const CANDIDATES: usize = 4;

/// The most registers of a cell.
const MOST_REGISTERS: usize = 4096;

/// The normal deviations beyond which a quarter of the probability left by [`CONFIDENCE`] lies.
const DEVIATIONS: f64 = 2.241_403;

/// The number of registers with each run.
type RegisterHistogram = [f64; LONGEST + 1];

/// Rows of cells, each with registers of HyperLogLog's kind and the keys of those of its pairs whose hashes are smallest. A pair's hash and
/// its place among the four are the same in all rows: a key with the share q of the pairs of its cells is in none of three rows with a
/// probability of (∏ₖ₌₁³ k(1 − q) / (q + k(1 − q)))⁴.
///
/// A pair goes to the same register in all rows, with the same run. So the minimum of each register over a
/// key's cells is no less than the key alone would have made it, and other keys add to it only where they do
/// in all rows: that is more accurate than the least of the rows' estimates, which the paper uses. The
/// average contribution of others is subtracted: the estimate is the number of pairs that, together with
/// others as in the cells, spreaders included, would have led to the observed registers.
///
/// Bounds, with 95 %: the registers' error (that of HyperLogLog) on both sides, and on the lower side the
/// most that others have in the emptiest of the key's cells (Markov's inequality in each row, with the mean
/// over the columns).
///
/// A cell has 4-bit registers, eight for each column, rounded to a power of two, from 64 to 4,096 (by
/// simulation the least error from 128 KiB to 1 MiB). They saturate at some 30,000 pairs each: from then on
/// there is no upper bound.
#[derive(Clone, Debug)]
pub struct SpreadSketch<K: Key> {
    config: GridConfig<Self>,
    rows: GridRows,
    /// Hashes of the register and of the run.
    hashes: [RowHash; 2],
    /// Two in a byte, cell by cell.
    registers: Box<[u8]>,
    /// The smallest hash at each candidate's place, with which its key was placed there; `NONE` where none
    /// did.
    depths: Box<[u32]>,
    keys: Box<[K]>,
}

const NONE: u32 = u32::MAX;

/// Registers of a cell if a row has this many columns.
fn registers(columns: usize) -> usize {
    (1 << (8 * columns).ilog2()).clamp(64, MOST_REGISTERS)
}

impl<K: Key> Grid for SpreadSketch<K> {
    const KIND: &'static str = "SpreadSketch";
    const DEFAULT_ROWS: usize = 3;
    const WIDTH: std::ops::RangeInclusive<usize> = 1..=1 << 24;

    fn bytes(rows: usize, columns: usize) -> usize {
        rows * columns * (registers(columns) / 2 + CANDIDATES * (size_of::<u32>() + size_of::<K>()))
    }
}

/// The marks that a pair makes in a cell.
#[derive(Clone, Copy, Default)]
struct CellMark {
    register: u32,
    /// The number of the cell's candidate that it may become.
    candidate: u32,
    depth: u32,
}

impl CellMark {
    fn run(self) -> u8 {
        // From 1 on: 0 is a register that no pair went to.
        (self.depth.leading_zeros() + 1).min(LONGEST as u32) as u8
    }
}

/// The share of other keys in a key's cells.
struct CollisionShare {
    /// The share of cells whose registers have no longer run than each.
    up_to: RegisterHistogram,
    /// The most that other keys have in the emptiest cell, with all but an eightieth of the probability.
    most: f64,
}

/// Combines two bytes, nibble by nibble.
fn each(a: u8, b: u8, which: impl Fn(u8, u8) -> u8) -> u8 {
    which(a & 15, b & 15) | which(a & 0xf0, b & 0xf0)
}

fn counts(registers: &[u8]) -> RegisterHistogram {
    let mut counts = [0_u32; LONGEST + 1];
    for two in registers {
        counts[usize::from(two & 15)] += 1;
        counts[usize::from(two >> 4)] += 1;
    }
    counts.map(f64::from)
}

impl<K: Key> SpreadSketch<K> {
    #[inline(always)]
    fn mark(&self, pair: u64) -> CellMark {
        let [register, run] = self.hashes.map(|hash| hash.word(pair));
        let registers = registers(self.config.width) as u32;
        CellMark {
            register: place(register, registers) as u32,
            candidate: register % CANDIDATES as u32,
            depth: run,
        }
    }

    fn cell(&self, cell: usize) -> &[u8] {
        let bytes = registers(self.config.width) / 2;
        &self.registers[cell * bytes..][..bytes]
    }

    /// The minimum or maximum of several cells, register by register.
    fn fold(
        &self,
        cells: impl Iterator<Item = usize>,
        which: impl Fn(u8, u8) -> u8 + Copy,
    ) -> RegisterHistogram {
        let mut folded = [0; MOST_REGISTERS / 2];
        let folded = &mut folded[..registers(self.config.width) / 2];
        for (i, cell) in cells.enumerate() {
            if i == 0 {
                folded.copy_from_slice(self.cell(cell));
            } else {
                folded.iter_mut().zip(self.cell(cell)).for_each(|(a, b)| *a = each(*a, *b, which));
            }
        }
        counts(folded)
    }

    fn others(&self) -> CollisionShare {
        let GridConfig { rows, width, .. } = self.config;
        // Columns are drawn by a hash, so that any are a sample. Those with a spreader are in it as often as a key meets them.
        let some = (0..rows * width).step_by((rows * width).div_ceil(100));
        let pairs: Vec<f64> = some.map(|cell| estimate(&counts(self.cell(cell)))).collect();
        let up_to = std::array::from_fn(|run| {
            let share = (-(run as f64)).exp2() / registers(width) as f64;
            pairs.iter().map(|pairs| (-pairs * share).exp()).sum::<f64>() / pairs.len() as f64
        });
        let all = estimate(&self.fold(0..width, u8::max)) * off(registers(width), DEVIATIONS);
        CollisionShare { up_to, most: all / width as f64 * 80_f64.powf(1.0 / rows as f64) }
    }

    /// The expected registers in the minimum of a key's cells, if it has `own` pairs for each register.
    fn expected(&self, own: f64, others: &CollisionShare) -> RegisterHistogram {
        let size = registers(self.config.width) as f64;
        let mut below = 0.0;
        std::array::from_fn(|run| {
            let share = (-(run as f64)).exp2();
            let others = 1.0 - (1.0 - others.up_to[run]).powi(self.config.rows as i32);
            // Up to this run.
            let up_to = if run == LONGEST { 1.0 } else { (-own * share).exp() * others };
            let count = (up_to - below) * size;
            below = up_to;
            count
        })
    }

    /// The minimum of each register over a key's cells.
    fn least(&self, key: &K) -> RegisterHistogram {
        self.fold(self.rows.places(key.hash(&self.config.seed)), u8::min)
    }

    /// The pairs of a key whose cells have these registers.
    fn estimate_least(&self, mut counts: RegisterHistogram, others: &CollisionShare) -> Estimate {
        let size = registers(self.config.width);
        // If less than an eighth is below saturation, the estimate is unreliable.
        let is_full = counts[LONGEST] > 0.875 * size as f64;
        if counts[LONGEST] >= size as f64 {
            // As if one were, of which the estimate is finite.
            counts[LONGEST] -= 1.0;
            counts[LONGEST - 1] += 1.0;
        }
        let together = estimate(&counts);
        let (mut less, mut more) = (0.0, together);
        for _ in 0..40 {
            let middle = f64::midpoint(less, more);
            if estimate(&self.expected(middle / size as f64, others)) < together {
                less = middle;
            } else {
                more = middle;
            }
        }
        let off = off(size, DEVIATIONS);
        let (lower, upper) =
            if is_full { (0.0, f64::INFINITY) } else { (together / off - others.most, together * off) };
        Estimate::bounded(less, lower.clamp(0.0, less), upper, CONFIDENCE)
    }
}

impl<K: Key> Summary for SpreadSketch<K> {
    type Configuration = GridConfig<Self>;

    fn new(config: &GridConfig<Self>) -> Result<Self, SketchError> {
        config.check()?;
        let [register, run, ..] = RowHash::draw(&config.seed, 0x5d1);
        let candidates = config.cells() * CANDIDATES;
        Ok(Self {
            config: config.clone(),
            rows: GridRows::new(config, 0x5d),
            hashes: [register, run],
            registers: filled(config.cells() * registers(config.width) / 2, 0)?,
            depths: filled(candidates, NONE)?,
            keys: filled(candidates, K::default())?,
        })
    }

    fn configuration(&self) -> &GridConfig<Self> {
        &self.config
    }

    fn reset(&mut self) {
        self.registers.fill(0);
        self.depths.fill(NONE);
        self.keys.fill(K::default());
    }

    fn bytes(&self) -> usize {
        self.config.bytes()
    }
}

impl<K: Key> ContactBurst<K> for SpreadSketch<K> {
    fn contact_burst(&mut self, burst: &[Contact<K>]) {
        let bytes = registers(self.config.width) / 2;
        let mut marks = [(CellMark::default(), [0_u32; MAX_ROWS]); BURST];
        for burst in burst.chunks(BURST) {
            for ((mark, cells), contact) in marks.iter_mut().zip(burst) {
                *mark = self.mark(contact.pair);
                let hash = contact.key.hash(&self.config.seed);
                for (row, cell) in cells.iter_mut().enumerate().take(self.rows.len()) {
                    *cell = self.rows.place(row, hash) as u32;
                    prefetch(&self.registers, *cell as usize * bytes + mark.register as usize / 2);
                }
            }
            for ((mark, cells), contact) in marks.iter().zip(burst) {
                let (run, shift) = (mark.run(), mark.register % 2 * 4);
                for &cell in &cells[..self.rows.len()] {
                    let two = &mut self.registers[cell as usize * bytes + mark.register as usize / 2];
                    if run > *two >> shift & 15 {
                        *two = *two & !(15 << shift) | run << shift;
                    }
                    self.nominate(
                        cell as usize * CANDIDATES + mark.candidate as usize,
                        mark.depth,
                        contact.key,
                    );
                }
            }
        }
    }
}

impl<K: Key> SpreadSketch<K> {
    /// Offers a key as the candidate of a place. Of two equally deep keys the same one is kept in any order.
    #[inline(always)]
    fn nominate(&mut self, place: usize, depth: u32, key: K) {
        if depth <= self.depths[place] && (depth, key) < (self.depths[place], self.keys[place]) {
            (self.depths[place], self.keys[place]) = (depth, key);
        }
    }
}

/// Merging gives the sketch of one pass over both streams, candidates too.
impl<K: Key> Merge for SpreadSketch<K> {
    fn merge(&mut self, other: &Self) -> Result<(), Unmergeable> {
        Unmergeable::check(&self.config, &other.config)?;
        self.registers.iter_mut().zip(&other.registers).for_each(|(a, b)| *a = each(*a, *b, u8::max));
        for (place, (depth, key)) in other.depths.iter().zip(&other.keys).enumerate() {
            self.nominate(place, *depth, *key);
        }
        Ok(())
    }
}

impl<K: Key> Spreaders<K> for SpreadSketch<K> {
    /// Reads a third of the sketch, for the contribution of others: tens of microseconds in 1 MiB.
    fn contacts(&self, key: &K) -> Estimate {
        self.estimate_least(self.least(key), &self.others())
    }

    fn spreaders(&self, threshold: u64) -> HeavyKeys<K> {
        let threshold = threshold as f64;
        let candidates = self.depths.iter().zip(&self.keys).filter(|(depth, _)| **depth != NONE);
        let mut keys: Vec<K> = candidates.map(|(_, key)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        let others = self.others();
        let all = keys.into_iter().map(|key| (key, self.least(&key)));
        // Only the contribution of others is subtracted.
        let may_be = all.filter(|(_, counts)| estimate(counts) >= threshold);
        let spreaders = may_be.map(|(key, counts)| (key, self.estimate_least(counts, &others)));
        HeavyKeys::new(spreaders.filter(|(_, contacts)| contacts.value >= threshold).collect(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::contact_oracle::{self, ContactStream};
    use super::super::oracle::{self, BoundTally};
    use super::*;
    use packet::{KeyV4, KeyV6, Seed};

    type Sketch = SpreadSketch<KeyV4>;

    fn config(rows: usize, columns: usize, number: u64) -> GridConfig<Sketch> {
        GridConfig::new(rows, columns, Seed::new(number))
    }

    #[test]
    fn bounds_hold_and_spreaders_are_found() {
        let sizes = [5_000, 300, 1_000, 80];
        for (rows, columns) in [(1, 60), (3, 40), (4, 7)] {
            let mut promise = BoundTally::default();
            let (mut found, mut lower) = (0, 0.0);
            for number in 0..25 {
                let stream = ContactStream::zipf(6_000, 2_000, &sizes, number);
                let sketch: Sketch =
                    contact_oracle::contacts_of(&config(rows, columns, number), &stream.contacts);
                for (i, size) in (0..).zip(sizes) {
                    promise.count(sketch.contacts(&ContactStream::spreader(i)), size.into());
                }
                promise.count(sketch.contacts(&ContactStream::spreader(99)), 0.0);
                let busy = stream.counts.iter().max_by_key(|(key, count)| (**count < 300, **count, **key));
                let (busy, count) = busy.expect("sources");
                promise.count(sketch.contacts(busy), *count as f64);
                lower += sketch.contacts(&ContactStream::spreader(0)).bounds.expect("bounds").lower / 25.0;
                let list = sketch.spreaders(500).keys;
                found += list.iter().filter(|(key, _)| *key == ContactStream::spreader(0)).count();
                assert!(list.iter().all(|(key, estimate)| *estimate == sketch.contacts(key)));
            }
            promise.must_hold();
            assert_eq!(found, 25);
            // With the widest grid the lower bound is not trivial.
            assert!(columns < 40 || rows < 3 || lower > 2_000.0, "{lower}");
        }
    }

    /// The contribution of others is subtracted: the mean is that of HyperLogLog, whose bias is a hundredth
    /// of its error.
    #[test]
    fn estimates_are_nearly_unbiased() {
        let (sizes, seeds) = ([4_000, 1_000, 500], 60);
        let mut means = [0.0; 3];
        for number in 0..seeds {
            let stream = ContactStream::zipf(20_000, 20_000, &sizes, number);
            let sketch: Sketch = contact_oracle::contacts_of(&config(3, 20, number), &stream.contacts);
            for (i, mean) in (0..).zip(&mut means) {
                *mean += sketch.contacts(&ContactStream::spreader(i)).value / seeds as f64;
            }
        }
        for (mean, size) in means.iter().zip(sizes) {
            // 128 registers, and a noise of some 900 pairs a cell.
            let size = f64::from(size);
            let off = size * 1.04 / (128.0 * seeds as f64).sqrt();
            assert!((mean - size).abs() < 5.0 * off + 0.02 * size + 10.0, "{mean} for {size}");
        }
    }

    /// If most cells hold a spreader too, the contribution of others in all of a key's cells is subtracted,
    /// not that of the typical cell. With twice as many spreaders the estimates vary more, as it is chance
    /// whether all of a key's cells have another one.
    #[test]
    fn many_spreaders_are_not_taken_off_each_other() {
        for (spreaders, off, low) in [(100_u16, 0.05, 0.02), (200, 0.15, 0.15)] {
            let stream = ContactStream::zipf(20_000, 20_000, &vec![2_000; spreaders.into()], 1);
            let config = GridConfig::<Sketch>::with_bytes(128 << 10, Seed::new(1)).expect("enough memory");
            let sketch: Sketch = contact_oracle::contacts_of(&config, &stream.contacts);
            let values: Vec<f64> =
                (0..spreaders).map(|i| sketch.contacts(&ContactStream::spreader(i)).value).collect();
            let mean = values.iter().sum::<f64>() / f64::from(spreaders);
            let below = values.iter().filter(|value| **value < 1_500.0).count() as f64 / f64::from(spreaders);
            assert!((mean / 2_000.0 - 1.0).abs() < off && below < low, "{spreaders}: {mean}, {below}");
        }
    }

    /// The figures of the docs, by one seed of each.
    #[test]
    fn in_a_mebibyte_the_mean_error_is_as_documented() {
        fn of<S: ContactBurst<KeyV4> + Spreaders<KeyV4>>(stream: &ContactStream, sizes: &[u32]) -> f64 {
            let config = S::Configuration::with_bytes(1 << 20, Seed::new(1)).expect("enough memory");
            let summary: S = contact_oracle::contacts_of(&config, &stream.contacts);
            let list = summary.spreaders(1_000).keys;
            assert!(list[..sizes.len()].iter().all(|(key, _)| stream.counts[key] >= 1_900));
            let off = |(i, size): (u16, &u32)| {
                (summary.contacts(&ContactStream::spreader(i)).value / f64::from(*size) - 1.0).abs()
            };
            (0..).zip(sizes).map(off).sum::<f64>() / sizes.len() as f64
        }
        // From 2,000 to 50,000, in no order.
        let sizes: Vec<u32> =
            (0..20).map(|i| (2000.0 * 25_f64.powf(f64::from(i * 7 % 20) / 19.0)) as u32).collect();
        let stream = ContactStream::zipf(1_000_000, 300_000, &sizes, 1);
        let (sketch, sample) =
            (of::<Sketch>(&stream, &sizes), of::<super::super::ContactSample<KeyV4>>(&stream, &sizes));
        assert!(sketch < 0.025 && sample < 0.06, "{sketch} {sample}");
    }

    #[test]
    fn merges_resets_and_sizes() {
        let mut stream = ContactStream::zipf(9_000, 3_000, &[700, 300], 1);
        contact_oracle::contacts_merge_and_reset(&config(3, 40, 1), &stream, |sketch: &Sketch| {
            (sketch.depths.clone(), sketch.keys.clone(), sketch.registers.clone())
        });
        // In another order too.
        let of = |stream: &ContactStream| {
            let sketch: Sketch = contact_oracle::contacts_of(&config(3, 40, 1), &stream.contacts);
            contact_oracle::all_contacts(&sketch, stream)
        };
        let answers = of(&stream);
        stream.contacts.reverse();
        assert_eq!(of(&stream), answers);
        // Also where two are as deep.
        let contact = |i| Contact { key: ContactStream::spreader(i), pair: 1 };
        let keys = |contacts: [u16; 2]| {
            contact_oracle::contacts_of::<Sketch, _>(&config(3, 1, 1), &contacts.map(contact)).keys
        };
        assert_eq!(keys([1, 2]), keys([2, 1]));
        oracle::do_not_merge::<Sketch>(&config(3, 40, 1), &config(3, 41, 1));
        oracle::do_not_merge::<Sketch>(&config(3, 40, 1), &config(2, 40, 1));
        oracle::do_not_merge::<Sketch>(&config(3, 40, 1), &config(3, 40, 2));
        oracle::check_sizes::<Sketch>();
        oracle::check_sizes::<SpreadSketch<KeyV6>>();
        for (rows, columns) in [(0, 5), (9, 5), (3, 0), (3, 1 << 25)] {
            assert!(Sketch::new(&config(rows, columns, 1)).is_err());
        }
    }

    #[test]
    fn keys_of_ipv6_are_found() {
        let config = GridConfig::<SpreadSketch<KeyV6>>::with_width(40, Seed::new(1));
        let key = |source: u8, other: u16| {
            let mut bytes = [0; 40];
            bytes[0] = source;
            bytes[16..18].copy_from_slice(&other.to_be_bytes());
            KeyV6::from_bytes(bytes)
        };
        let contacts: Vec<_> = (0..30_000_u16)
            .map(|i| {
                // Every third packet is of source 1, the others of 200 sources.
                let source = if i % 3 == 0 { 1 } else { 10 + (i % 200) as u8 };
                Contact::new(key(source, 0), key(source, i), &config.seed)
            })
            .collect();
        let sketch: SpreadSketch<KeyV6> = contact_oracle::contacts_of(&config, &contacts);
        let list = sketch.spreaders(3_000).keys;
        assert_eq!(list.iter().map(|(found, _)| *found).collect::<Vec<_>>(), [key(1, 0)]);
        assert!(list[0].1.bounds.expect("bounds").contain(10_000.0), "{list:?}");
    }

    #[test]
    fn full_registers_leave_no_upper_bound() {
        let mut sketch = Sketch::new(&config(2, 3, 1)).expect("a structure");
        let key = ContactStream::spreader(1);
        assert_eq!(sketch.contacts(&key), Estimate::bounded(0.0, 0.0, 0.0, CONFIDENCE));
        for registers in [[0xff; 3], [0xff, 0xff, 0xf1]] {
            for (byte, two) in sketch.registers.iter_mut().zip(registers.iter().cycle()) {
                *byte = *two;
            }
            let estimate = sketch.contacts(&key);
            let bounds = estimate.bounds.expect("bounds");
            assert!(estimate.value.is_finite() && estimate.value >= 0.0, "{estimate:?}");
            let is_full = registers[2] == 0xff;
            assert_eq!(bounds.upper.is_infinite(), is_full, "{estimate:?}");
        }
        // Runs beyond the longest count as that.
        let contact = |pair| Contact { key, pair };
        let mut sketch = Sketch::new(&config(1, 1, 1)).expect("a structure");
        let deep = (0..).find(|pair| sketch.mark(*pair).depth < 1 << 12).expect("a hash");
        sketch.contact_burst(&[contact(deep)]);
        assert_eq!(counts(sketch.cell(0))[LONGEST], 1.0);
    }

    /// Peers chosen with knowledge of another seed fill few registers for that seed only.
    #[test]
    fn a_stream_made_against_one_seed_does_not_hurt_another() {
        let (known, secret) = (Seed::new(1), Seed::new(2));
        let of = |seed| GridConfig::<Sketch>::with_width(100, seed);
        let sketch = Sketch::new(&of(known)).expect("a structure");
        let source = KeyV4::new([198, 18, 0, 1, 0, 0, 0, 0], [0; 4], 0);
        let both = |other: u32| {
            let [a, b, c, d] = other.to_be_bytes();
            KeyV4::new([198, 18, 0, 1, a, b, c, d], [0; 4], 0)
        };
        // Of one source those destinations that all go to few registers by the known seed.
        let hides = |other: &u32| sketch.mark(both(*other).hash(&known)).register < 20;
        let chosen: Vec<u32> = (0..).filter(hides).take(3_000).collect();
        let contacts = |seed: Seed| -> Estimate {
            let contacts: Vec<_> =
                chosen.iter().map(|other| Contact::new(source, both(*other), &seed)).collect();
            contact_oracle::contacts_of::<Sketch, _>(&of(seed), &contacts).contacts(&source)
        };
        assert!(contacts(known).value < 300.0);
        let estimate = contacts(secret);
        assert!(estimate.bounds.expect("bounds").contain(3_000.0), "{estimate:?}");
    }
}
