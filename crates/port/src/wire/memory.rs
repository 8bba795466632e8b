//! Memory for frames that are not moved.

use std::alloc::Layout;

/// A huge page of x86 and ARM; blocks are of this size, so that the kernel can back each by one.
const BLOCK_BYTES: usize = 2 << 20;
/// Frames begin at cache lines, as a card's do.
const LINE: usize = 64;

/// Frames in sequence, in blocks that never move.
#[derive(Debug, Default)]
pub(super) struct FrameMemory {
    blocks: Vec<Block>,
    /// Bytes that are taken of the last block.
    taken: usize,
}

#[derive(Debug)]
struct Block {
    start: *mut u8,
    layout: Layout,
}

impl FrameMemory {
    /// Returns how many more bytes a frame will need: none, or a block.
    pub(super) fn needs(&self, bytes: usize) -> usize {
        let room = self.blocks.last().map_or(0, |block| block.layout.size() - self.taken);
        if bytes <= room { 0 } else { Self::block_bytes(bytes) }
    }

    fn block_bytes(frame: usize) -> usize {
        frame.next_multiple_of(LINE).max(BLOCK_BYTES)
    }

    /// Copies a frame to its place, which is valid as long as `self`. Memory without a copied frame is not
    /// initialised.
    pub(super) fn push(&mut self, frame: &[u8]) -> *const u8 {
        let needed = self.needs(frame.len());
        if needed > 0 {
            self.blocks.push(Block::new(needed));
            self.taken = 0;
        }
        let Some(block) = self.blocks.last() else { return std::ptr::dangling() };
        // SAFETY: `taken + frame.len()` is within the block, and no other thread's bytes begin there.
        let place = unsafe { block.start.add(self.taken) };
        // SAFETY: as above; a block is our own memory, which contains no frame of the caller.
        unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), place, frame.len()) };
        self.taken = (self.taken + frame.len()).next_multiple_of(LINE).min(block.layout.size());
        place
    }
}

impl Block {
    fn new(bytes: usize) -> Self {
        let layout =
            Layout::from_size_align(bytes, BLOCK_BYTES).expect("a frame is shorter than the address space");
        // Not zeroed: that would touch it and allocate small pages before huge ones are requested. SAFETY:
        // the size is not 0.
        let start = unsafe { std::alloc::alloc(layout) };
        if start.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        // A hint: if it is refused, small pages are used. SAFETY: a range of our own, page-aligned.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
        Self { start, layout }
    }
}

/// Requests huge pages for what is read all the time, once it is complete.
pub(super) fn collapse<T>(values: &[T]) {
    /// Linux 6.1; the libc crate has it for some targets only.
    const MADV_COLLAPSE: libc::c_int = 25;
    let bytes = values.as_ptr_range();
    let start = (bytes.start as usize).next_multiple_of(BLOCK_BYTES);
    let end = bytes.end as usize / BLOCK_BYTES * BLOCK_BYTES;
    if start < end {
        // A hint, as above. SAFETY: whole pages of our own; their contents are preserved.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, MADV_COLLAPSE) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_as_they_were_pushed() {
        let mut memory = FrameMemory::default();
        let frames: Vec<Vec<u8>> = (0..5000usize)
            .map(|n| {
                vec![n as u8; [0, 1, 60, 64, 65, 1514, BLOCK_BYTES, BLOCK_BYTES + 1][n * 7 % (6 + n / 4997)]]
            })
            .collect();
        let mut reserved = 0;
        let places: Vec<_> = frames
            .iter()
            .map(|frame| {
                reserved += memory.needs(frame.len());
                memory.push(frame)
            })
            .collect();
        assert_eq!(reserved, memory.blocks.iter().map(|block| block.layout.size()).sum::<usize>());
        for (frame, place) in frames.iter().zip(places) {
            assert!(frame.is_empty() || (place as usize).is_multiple_of(LINE));
            // SAFETY: what `push` gave for as many bytes.
            assert_eq!(unsafe { std::slice::from_raw_parts(place, frame.len()) }, frame);
        }
    }
}
