//! Structures that consist of rows of equal cells: their configuration, and the place of a key in them.

use super::row_hash::{MAX_ROWS, RowHash, place};
use super::summary::BURST;
use super::{Configuration, ErrorPromise, RowConfiguration, SketchError, Update};
use packet::Seed;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// A structure of rows × width cells.
pub trait Grid {
    /// The structure's usual name.
    const KIND: &'static str;
    /// Rows that it can have.
    const ROWS: RangeInclusive<usize> = 1..=MAX_ROWS;
    /// Rows if only the memory is given.
    const DEFAULT_ROWS: usize;
    /// The unit of a row's size: `width` (cells), `capacity`, …
    const UNIT: &'static str = "width";
    /// Cells that a row can have.
    const WIDTH: RangeInclusive<usize> = 1..=u32::MAX as usize;
    /// The width must be a power of this.
    const POWER_OF: usize = 1;

    /// Memory of a structure.
    fn bytes(rows: usize, width: usize) -> usize;

    /// The error that theory promises of the estimate of one flow; `None` where it depends on what is counted.
    fn promise(_rows: usize, _width: usize) -> Option<ErrorPromise> {
        None
    }
}

/// The largest width that a structure can have and that is no more than `width`.
fn power_below<T: Grid>(width: usize) -> usize {
    if T::POWER_OF > 1 { T::POWER_OF.pow(width.ilog(T::POWER_OF)) } else { width }
}

/// The largest of `widths` that fits, where the first one does and every one below one that fits.
pub(crate) fn widest(widths: RangeInclusive<usize>, fits: impl Fn(usize) -> bool) -> usize {
    let (mut fitting, most) = widths.into_inner();
    let mut too_wide = most + 1;
    while too_wide - fitting > 1 {
        let middle = fitting + (too_wide - fitting) / 2;
        if fits(middle) { fitting = middle } else { too_wide = middle }
    }
    fitting
}

/// Rows, width and seed of a structure `T`.
pub struct GridConfig<T> {
    /// Rows, each with its own hash function.
    pub rows: usize,
    /// Cells of a row.
    pub width: usize,
    /// The seed of the keys' hash and of all random draws.
    pub seed: Seed,
    of: PhantomData<fn() -> T>,
}

impl<T: Grid> GridConfig<T> {
    /// Creates a configuration, which is checked when the structure is made.
    pub fn new(rows: usize, width: usize, seed: Seed) -> Self {
        Self { rows, width, seed, of: PhantomData }
    }

    /// Creates the configuration with the usual number of rows.
    pub fn with_width(width: usize, seed: Seed) -> Self {
        Self::new(T::DEFAULT_ROWS, width, seed)
    }

    /// The largest of this many rows that takes no more than `bytes`.
    pub(crate) fn largest(rows: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        let takes = |width: usize| T::bytes(rows, width);
        let (least, most) = T::WIDTH.into_inner();
        Self::new(rows, least, seed).check()?;
        if takes(least) > bytes {
            return Err(SketchError::TooLittleMemory { kind: T::KIND, bytes, least: takes(least) });
        }
        let width = widest(least..=most, |width| takes(width) <= bytes);
        Ok(Self::new(rows, power_below::<T>(width), seed))
    }

    /// Refuses sizes that the structure cannot have.
    ///
    /// # Errors
    /// The first size that is out of its range.
    pub fn check(&self) -> Result<(), SketchError> {
        SketchError::check_size(T::KIND, "number of rows", self.rows, *T::ROWS.start(), *T::ROWS.end())?;
        SketchError::check_size(T::KIND, T::UNIT, self.width, *T::WIDTH.start(), *T::WIDTH.end())?;
        if power_below::<T>(self.width) != self.width {
            return Err(SketchError::NoPower {
                kind: T::KIND,
                what: T::UNIT,
                asked: self.width,
                base: T::POWER_OF,
            });
        }
        Ok(())
    }

    /// Returns the number of cells in all rows.
    pub fn cells(&self) -> usize {
        self.rows * self.width
    }
}

impl<T: Grid> Configuration for GridConfig<T> {
    fn with_bytes(bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::largest(T::DEFAULT_ROWS, bytes, seed)
    }

    fn bytes(&self) -> usize {
        T::bytes(self.rows, self.width)
    }

    fn seed(&self) -> &Seed {
        &self.seed
    }
}

impl<T: Grid> RowConfiguration for GridConfig<T> {
    const DEFAULT_DEPTH: usize = T::DEFAULT_ROWS;

    fn with_rows(depth: usize, width: usize, seed: Seed) -> Result<Self, SketchError> {
        let config = Self::new(depth, width, seed);
        config.check()?;
        Ok(config)
    }

    fn with_depth(depth: usize, bytes: usize, seed: Seed) -> Result<Self, SketchError> {
        Self::largest(depth, bytes, seed)
    }

    fn depth(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.width
    }

    fn promise(&self) -> Option<ErrorPromise> {
        T::promise(self.rows, self.width)
    }
}

impl<T: Grid> fmt::Display for GridConfig<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", T::KIND)?;
        if *T::ROWS.end() > 1 {
            write!(f, "rows {}, ", self.rows)?;
        }
        write!(f, "{} {})", T::UNIT, self.width)
    }
}

impl<T: Grid> fmt::Debug for GridConfig<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Derived, they would require the same of `T`.
impl<T> Clone for GridConfig<T> {
    fn clone(&self) -> Self {
        Self { rows: self.rows, width: self.width, seed: self.seed, of: PhantomData }
    }
}

impl<T> PartialEq for GridConfig<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.width == other.width && self.seed == other.seed
    }
}

/// The places of keys: one cell in each row, the rows one after the other.
#[derive(Clone, Debug)]
pub struct GridRows {
    hashes: [RowHash; MAX_ROWS],
    rows: usize,
    width: u32,
}

/// The places of a burst's keys, by row.
pub type CellIndices = [[u32; MAX_ROWS]; BURST];

impl GridRows {
    /// Makes the rows of a checked configuration. `purpose`: see [`RowHash::draw`].
    pub fn new<T>(config: &GridConfig<T>, purpose: u64) -> Self {
        let hashes = RowHash::draw(&config.seed, purpose);
        Self { hashes, rows: config.rows, width: config.width as u32 }
    }

    /// Returns the number of rows.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Returns the key's cell in `row`.
    #[inline(always)]
    pub(crate) fn place(&self, row: usize, hash: u64) -> usize {
        row * self.width as usize + place(self.hashes[row].word(hash), self.width)
    }

    /// Returns the key's cells.
    pub fn places(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows).map(move |row| self.place(row, hash))
    }

    /// Writes the cells of up to [`BURST`] updates to `places`, and calls `prefetch` with each.
    #[inline(always)]
    pub fn locate<K>(&self, burst: &[Update<K>], places: &mut CellIndices, prefetch: impl Fn(usize)) {
        for (update, places) in burst.iter().zip(places) {
            for (row, at) in places.iter_mut().enumerate().take(self.rows) {
                let place = self.place(row, update.hash);
                *at = place as u32;
                prefetch(place);
            }
        }
    }
}
