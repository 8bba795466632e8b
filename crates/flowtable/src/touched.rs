//! The slots of a flow table that have packets in the open window, listed where windows are short: a turn then visits these instead of
//! the whole table. Windows of 1 ms over 94,000 flows spent 57 % of a replay's instructions on flows without a packet.

/// The most slots of a window that are listed, as they are sealed without a packet in between.
const MOST: usize = 4096;
/// A listed flow costs the slow path of its first packet in the window, some ten times what the sweep costs for it.
const ENTRIES_PER_LISTED: usize = 16;
/// Fewer entries than these are not worth a list.
const LEAST_ENTRIES: usize = 1024;
/// The whole table is visited once in this number of turns, as entries have the window's number modulo 32, and as often within the shorter
/// timeout.
pub(crate) const TURNS_PER_PASS: u64 = 16;

/// The slots that were touched in the open window, and in the one before it until that is sealed. Two lists of 16 KiB are allocated at the
/// first turn that lists, apart from the memory that tables account for.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Slots that have entered the open window are listed.
    pub(crate) is_listing: bool,
    /// Slots of the open window, some of them twice.
    open: Vec<u32>,
    /// Slots of the window before it, which are all that it has.
    closing: Option<Vec<u32>>,
    spare: Vec<u32>,
    /// Turns since the last one that asked for a whole pass.
    turns: u64,
    /// Stream time of that one.
    pub(crate) whole_at: u64,
    /// Rows that were sealed since the last turn.
    pub(crate) rows: usize,
}

impl Touched {
    /// A slot has entered the open window.
    #[inline]
    pub(crate) fn note(&mut self, slot: usize) {
        // One more than the most says that it is not the whole list.
        if self.is_listing && self.open.len() <= MOST {
            self.open.push(slot as u32);
        }
    }

    /// The window turns in a table with this number of entries. True if the flows that are listed are all that the closing window has, and are
    /// to be sealed by [`Self::take_closing`]; else, and always where a pass `is_due`, the whole table is to be visited.
    pub(crate) fn turn(&mut self, entries: usize, may_list: bool, is_due: bool) -> bool {
        let touched = if self.is_listing { self.open.len() } else { self.rows };
        self.rows = 0;
        let is_whole = self.is_listing && touched <= MOST;
        self.is_listing =
            may_list && touched <= MOST / 4 && entries >= LEAST_ENTRIES.max(ENTRIES_PER_LISTED * touched);
        self.turns += 1;
        debug_assert!(self.closing.is_none(), "the window before was sealed");
        if self.is_listing && is_whole && !is_due && self.turns < TURNS_PER_PASS {
            self.closing = Some(std::mem::replace(&mut self.open, std::mem::take(&mut self.spare)));
        } else {
            self.turns = 0;
        }
        self.open.clear();
        if self.is_listing {
            self.open.reserve_exact(MOST + 1);
        }
        self.closing.is_some()
    }

    /// The slots of the closing window that are to be sealed, if these are all.
    pub(crate) fn take_closing(&mut self) -> Option<Vec<u32>> {
        self.closing.take()
    }

    /// Takes back the slots, which were sealed: the memory is used again.
    pub(crate) fn give_back(&mut self, mut closing: Vec<u32>) {
        closing.clear();
        self.spare = closing;
    }

    /// The table has no entries any more.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
        self.closing = None;
    }
}
