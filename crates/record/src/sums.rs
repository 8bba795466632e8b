//! Checksums of a Parquet file: of each block of its bytes, and of its footer.
//!
//! They stand between the last column and the footer, where no reader of Parquet looks: the footer names the place of all that it describes, and
//! its own place is counted from the file's end. All numbers are little-endian.
//!
//! | bytes | |
//! | --- | --- |
//! | 4 each | CRC-32 (that of gzip) of each block of [`BLOCK`] bytes before, from the file's begin; the last block may be shorter |
//! | 8 | the number of bytes that the blocks have |
//! | 4 | CRC-32 of the footer, with its length and `PAR1` |
//! | 4 | CRC-32 of the 12 bytes before and of the checksums of blocks |
//! | 8 | [`MAGIC`] |

use crc32fast::Hasher;

/// Bytes that have one checksum.
pub(crate) const BLOCK: u64 = 16 << 10;
/// The bytes that end the checksums.
pub(crate) const MAGIC: [u8; 8] = *b"EdSums1\n";
/// The words behind the version in the name of a program that writes checksums.
pub(crate) const SUMMED: &str = " (checksums)";
/// Bytes behind the checksums of blocks.
const END: usize = 8 + 4 + 4 + 8;
/// The number of bytes that end a Parquet file: the length of its footer, and `PAR1`.
const TAIL: u64 = 8;

/// Sums bytes as they are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summing {
    blocks: Vec<u32>,
    /// The checksum of the block that is not full yet.
    open: Hasher,
    bytes: u64,
}

/// A place in the bytes to which summing can go back.
#[derive(Clone, Debug)]
pub(crate) struct SumCheckpoint {
    blocks: usize,
    open: Hasher,
    bytes: u64,
}

impl Summing {
    /// Adds bytes that were written.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK - self.bytes % BLOCK) as usize;
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.open.update(now);
            self.bytes += now.len() as u64;
            if self.bytes.is_multiple_of(BLOCK) {
                self.blocks.push(std::mem::take(&mut self.open).finalize());
            }
            bytes = rest;
        }
    }

    /// Returns a mark of the place that has been reached.
    pub(crate) fn mark(&self) -> SumCheckpoint {
        SumCheckpoint { blocks: self.blocks.len(), open: self.open.clone(), bytes: self.bytes }
    }

    /// Forgets what was added since the mark.
    pub(crate) fn go_back(&mut self, mark: &SumCheckpoint) {
        self.blocks.truncate(mark.blocks);
        (self.open, self.bytes) = (mark.open.clone(), mark.bytes);
    }

    /// Returns what is written before the footer, which is given with its length and `PAR1`.
    pub(crate) fn before(&self, footer: &[u8]) -> Vec<u8> {
        let is_open = !self.bytes.is_multiple_of(BLOCK);
        let last = is_open.then(|| self.open.clone().finalize());
        let blocks = self.blocks.iter().copied().chain(last);
        let mut text: Vec<u8> = blocks.flat_map(u32::to_le_bytes).collect();
        text.extend(self.bytes.to_le_bytes());
        text.extend(crc32fast::hash(footer).to_le_bytes());
        text.extend(crc32fast::hash(&text).to_le_bytes());
        text.extend(MAGIC);
        text
    }
}

/// The checksums of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChecksums {
    blocks: Vec<u32>,
    /// Bytes that the blocks have.
    bytes: u64,
}

impl FileChecksums {
    /// Reads the checksums of a file of `length` bytes; `read` gives the bytes of a range, which is in the file. `None` if it has none.
    ///
    /// # Errors
    /// The footer, or the checksums, are damaged; or what `read` says.
    pub(crate) fn read(
        length: u64,
        read: &dyn Fn(u64, usize) -> Result<Vec<u8>, String>,
    ) -> Result<Option<Self>, String> {
        let Some(tail) = length.checked_sub(TAIL) else { return Ok(None) };
        let footer_bytes = u64::from(number(&read(tail, 4)?));
        let footer = tail.checked_sub(footer_bytes);
        let Some(end) = footer.and_then(|footer| footer.checked_sub(END as u64)) else { return Ok(None) };
        let fixed = read(end, END)?;
        if fixed[END - MAGIC.len()..] != MAGIC {
            return Ok(None);
        }
        let bytes = u64::from(number(&fixed[..4])) | u64::from(number(&fixed[4..8])) << 32;
        let wrong = || "the checksums of its blocks are damaged".to_owned();
        let start = bytes.div_ceil(BLOCK).checked_mul(4).and_then(|blocks| end.checked_sub(blocks));
        // The blocks end where their checksums begin.
        let start = start.filter(|start| *start == bytes).ok_or_else(wrong)?;
        let mut text = read(start, (end - start) as usize)?;
        let blocks = text.chunks_exact(4).map(number).collect();
        text.extend(&fixed[..12]);
        if crc32fast::hash(&text) != number(&fixed[12..16]) {
            return Err(wrong());
        }
        let footer = read(end + END as u64, (footer_bytes + TAIL) as usize)?;
        if crc32fast::hash(&footer) != number(&fixed[8..12]) {
            return Err("the checksum of its footer is another one".to_owned());
        }
        Ok(Some(Self { blocks, bytes }))
    }

    /// The blocks that have a part of these bytes, as a range of bytes.
    pub(crate) fn around(&self, start: u64, length: usize) -> (u64, usize) {
        let from = start - start % BLOCK;
        let until = start.saturating_add(length as u64).next_multiple_of(BLOCK).min(self.bytes);
        (from, until.saturating_sub(from) as usize)
    }

    /// The number of bytes that have checksums from a place on.
    pub(crate) fn bytes_from(&self, start: u64) -> u64 {
        self.bytes.saturating_sub(start)
    }

    /// Returns true if bytes are among those that have checksums.
    pub(crate) fn has(&self, start: u64, length: usize) -> bool {
        start.checked_add(length as u64).is_some_and(|end| end <= self.bytes)
    }

    /// Checks whole blocks, the first of which begins at a place.
    ///
    /// # Errors
    /// Returns which bytes are damaged.
    pub(crate) fn check(&self, start: u64, bytes: &[u8]) -> Result<(), String> {
        let own = self.blocks.iter().skip((start / BLOCK) as usize);
        for ((at, block), sum) in bytes.chunks(BLOCK as usize).enumerate().zip(own) {
            if crc32fast::hash(block) != *sum {
                let from = start + at as u64 * BLOCK;
                let to = from + block.len() as u64;
                return Err(format!(
                    "bytes {from} to {to} have another checksum than when they were written"
                ));
            }
        }
        Ok(())
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of these data and this footer.
    fn file(data: &[u8], footer: &[u8]) -> Vec<u8> {
        let mut summing = Summing::default();
        data.chunks(1000).for_each(|part| summing.add(part));
        let mut footer = footer.to_vec();
        footer.extend((footer.len() as u32).to_le_bytes());
        footer.extend(b"PAR1");
        [data, &summing.before(&footer), &footer].concat()
    }

    fn read(file: &[u8]) -> Result<Option<FileChecksums>, String> {
        FileChecksums::read(file.len() as u64, &|start, length| {
            Ok(file[start as usize..start as usize + length].to_vec())
        })
    }

    #[test]
    fn every_bit_that_is_flipped_is_found() {
        for length in [0, 1, BLOCK as usize, 3 * BLOCK as usize + 77] {
            let data: Vec<u8> = (0..length).map(|at| (at * 7 + at / 256) as u8).collect();
            let whole = file(&data, b"a footer");
            let sums = read(&whole).expect("whole").expect("checksums");
            assert_eq!(sums.check(0, &data), Ok(()));
            for at in (0..whole.len()).filter(|at| at % 97 == 0 || at + 300 > whole.len()) {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << (at % 8);
                let is_found = match read(&flipped) {
                    Ok(Some(sums)) => sums.check(0, &flipped[..length]).is_err(),
                    // A reader of Parquet finds no footer, or the program says that it writes checksums.
                    Ok(None) => at >= length,
                    Err(_) => true,
                };
                assert!(is_found, "{length}: byte {at}");
            }
        }
    }

    #[test]
    fn going_back_forgets_what_was_added() {
        let mut summing = Summing::default();
        summing.add(&[1; 20_000]);
        let (mark, before) = (summing.mark(), summing.before(b"footer"));
        summing.add(&[2; 50_000]);
        assert_ne!(summing.before(b"footer"), before);
        summing.go_back(&mark);
        assert_eq!(summing.before(b"footer"), before);
    }

    #[test]
    fn a_file_of_another_program_has_none() {
        assert_eq!(read(b"PAR1 data footer\x06\0\0\0PAR1"), Ok(None));
        assert_eq!(read(b"PAR1"), Ok(None));
        assert_eq!(read(b"\xff\xff\xff\xffPAR1"), Ok(None));
    }
}
