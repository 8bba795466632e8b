//! The array of 2^32 entries that FloWatcher calls the most naive table (section III.B): an entry for every RSS hash there is.

use super::counted::EntryCounts;
use super::flows::{HashedPackets, StreamFlow};
use super::table::{BenchFlowTable, Entries, Knows};
use hashbrown::HashSet;
use std::ptr::NonNull;

/// Bits of an RSS hash, each of which has an entry.
const HASH_BITS: u32 = 32;
const PAGE: usize = 4096;
const ENTRY: usize = size_of::<EntryCounts>();
/// The bytes of all entries: 64 GiB of addresses.
const BYTES: usize = ENTRY << HASH_BITS;
/// Bytes of which is asked at a time which pages are there.
const PIECE: usize = 1 << 30;
/// The share of the memory that is available which the pages of the array may take.
const SHARE: usize = 2;

/// An array in which the RSS hash of a packet is the place of its flow. The paper's would take all its memory at once; this one takes
/// addresses for all entries, and memory only for pages of 4 KiB in which a flow has an entry, which is a page for nearly each flow.
#[derive(Debug)]
pub(super) struct DirectArray(NonNull<EntryCounts>);

impl DirectArray {
    /// An empty array with room for these flows.
    ///
    /// # Errors
    /// One line: the system gives no such addresses, or the pages of these flows do not fit into memory.
    pub(super) fn new(flows: &[StreamFlow]) -> Result<Self, String> {
        let available =
            available_bytes().ok_or("/proc/meminfo does not tell how much memory is available")?;
        check_room(flows.len(), needed_bytes(flows), available)?;
        Self::map()
    }

    /// Takes the addresses.
    fn map() -> Result<Self, String> {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0) };
        let error = std::io::Error::last_os_error();
        let entries = NonNull::new(start.cast()).filter(|_| start != libc::MAP_FAILED).ok_or_else(|| {
            format!("{} GiB of addresses: {error} (limits: ulimit -v, vm.overcommit_memory)", BYTES >> 30)
        })?;
        let array = Self(entries);
        // A large page for each flow would take 512 times as much.
        // SAFETY: all of the mapping; the advice changes nothing of what is in it.
        unsafe { libc::madvise(array.0.as_ptr().cast(), BYTES, libc::MADV_NOHUGEPAGE) };
        Ok(array)
    }

    /// The pages that are there, each with the hash of its first entry.
    fn pages(&self) -> Result<Vec<(u32, &[EntryCounts])>, String> {
        let mut is_there = vec![0_u8; PIECE / PAGE];
        let mut pages = Vec::new();
        for piece in 0..BYTES / PIECE {
            // SAFETY: a piece of the mapping, which pieces divide, and a byte for each of its pages.
            let result = unsafe {
                let start = self.0.as_ptr().cast::<u8>().add(piece * PIECE);
                libc::mincore(start.cast(), PIECE, is_there.as_mut_ptr())
            };
            if result != 0 {
                return Err(std::io::Error::last_os_error().to_string());
            }
            for (page, _) in is_there.iter().enumerate().filter(|(_, there)| *there & 1 == 1) {
                let first = (piece * PIECE + page * PAGE) / ENTRY;
                // SAFETY: a page of the mapping, whose entries are zero or were counted; `&self` keeps them unchanged.
                let entries = unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(first), PAGE / ENTRY) };
                pages.push((first as u32, entries));
            }
        }
        Ok(pages)
    }
}

/// Refuses flows whose pages take more of the memory that is available than they may.
fn check_room(flows: usize, needed: usize, available: usize) -> Result<(), String> {
    if needed > available / SHARE {
        return Err(format!(
            "the pages of {flows} flows take {} MiB, of {} MiB that are available half may be taken: take fewer flows",
            needed >> 20,
            available >> 20
        ));
    }
    Ok(())
}

/// Bytes of the pages in which these flows have entries, and of the tables by which the processor finds them.
fn needed_bytes(flows: &[StreamFlow]) -> usize {
    let different = |bits: u32| flows.iter().map(|flow| flow.hash >> bits).collect::<HashSet<u32>>().len();
    let entries_of_page = (PAGE / ENTRY).ilog2();
    // A page of the tables has 512 pages.
    (different(entries_of_page) + different(entries_of_page + 9)) * PAGE
}

/// Memory that can be taken without swapping, as the kernel estimates it.
fn available_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

impl Drop for DirectArray {
    fn drop(&mut self) {
        // SAFETY: the mapping is this array's own, and there is no reference into it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

impl BenchFlowTable for DirectArray {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn knows(&self) -> Knows {
        Knows::Hashes
    }

    fn renew(&mut self) {
        // SAFETY: all of the mapping, which is zero again afterwards; there is no reference into it.
        unsafe { libc::madvise(self.0.as_ptr().cast(), BYTES, libc::MADV_DONTNEED) };
    }

    fn count(&mut self, packets: HashedPackets<'_>) {
        for &hash in packets.hashes {
            // SAFETY: there is an entry for each of all hashes, and zero is one; `&mut self` has them all.
            unsafe { self.0.add(hash as usize).as_mut() }.add();
        }
    }

    /// Returns the pages that are there, not the addresses.
    fn memory_bytes(&self) -> u64 {
        self.pages().map_or(0, |pages| (pages.len() * PAGE) as u64)
    }

    fn entries(&mut self) -> Entries {
        let pages = self.pages().unwrap_or_default();
        let of_page = |(first, entries): &(u32, &[EntryCounts])| {
            let first = *first;
            let entries = (first..=u32::MAX).zip(entries.to_vec());
            entries.filter(|(_, counted)| counted.packets != 0)
        };
        Entries::ByHash(pages.iter().flat_map(of_page).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::KeyV4;

    fn flows(hashes: &[u32]) -> Vec<StreamFlow> {
        let flow = |hash: &u32| StreamFlow { key: KeyV4::default(), hash: *hash, packets: 1, sampled: 0 };
        hashes.iter().map(flow).collect()
    }

    #[test]
    fn a_flow_takes_a_page_and_what_finds_it() {
        // Two in a page; one in the next, found by the same page of the tables; the last in another.
        assert_eq!(needed_bytes(&flows(&[0, 255])), 2 * PAGE);
        assert_eq!(needed_bytes(&flows(&[0, 255, 256])), 3 * PAGE);
        assert_eq!(needed_bytes(&flows(&[0, 255, 256, u32::MAX])), 5 * PAGE);
        let mut table = DirectArray::new(&[]).expect("addresses");
        assert_eq!((table.memory_bytes(), table.entries()), (0, Entries::ByHash(vec![])));
        let hashes = [u32::MAX, 0, 255, 256, u32::MAX];
        table.count(HashedPackets { keys: &[KeyV4::default(); 5], hashes: &hashes });
        assert_eq!(table.memory_bytes(), 3 * PAGE as u64);
        let entries = [(0, 1), (255, 1), (256, 1), (u32::MAX, 2)];
        let entries = entries.map(|(hash, packets)| (hash, EntryCounts::from_packets(packets)));
        assert_eq!(table.entries(), Entries::ByHash(entries.to_vec()));
        table.renew();
        assert_eq!(table.entries(), Entries::ByHash(vec![]));
    }

    #[test]
    fn flows_whose_pages_do_not_fit_are_refused() {
        assert!(available_bytes().expect("Linux") > PAGE);
        assert_eq!(check_room(7, 3 << 20, 6 << 20), Ok(()));
        let error = check_room(7, 3 << 20, (6 << 20) - 1).expect_err("too many");
        assert!(error.contains("of 7 flows take 3 MiB") && error.contains("take fewer"), "{error}");
    }
}
