//! The address space of one arena, and which steps of it have memory.
//!
//! Two threads work on it. The arena's owner takes steps into use and pays for steps ahead out of the limits,
//! by atomic operations alone; the populating thread opens those (makes them writable) and touches their
//! pages. If it is late, the owner opens its step itself, and takes the page faults.

use super::populate::{self, Populate};
use crate::Limits;
use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a step of growth, which is the size of a huge page. A fuzzer makes thousands of tables a second: it uses small steps on small
/// pages, and none ahead.
pub(super) const STEP: usize = if cfg!(fuzzing) { 64 << 10 } else { 2 << 20 };
/// The most steps ahead.
const MOST_AHEAD: u32 = if cfg!(fuzzing) { 0 } else { 8 };

/// Steps in use, and steps charged to the limits: those in use and those ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RegionSteps {
    used: u32,
    paid: u32,
}

impl RegionSteps {
    const ONE_USED: u64 = 1;
    const ONE_PAID: u64 = 1 << 32;

    fn from_word(word: u64) -> Self {
        Self { used: word as u32, paid: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.paid) << 32 | u64::from(self.used)
    }
}

/// The address space of an arena. Mappings change only under the lock of `layout`, which the populating
/// thread holds while it works on a step.
#[derive(Debug)]
pub(super) struct Region {
    /// [`RegionSteps`] in one word, so that a step ahead is either taken into use or taken back, never both.
    steps: AtomicU64,
    /// Steps from the start that may be written. Changed under the lock.
    open: AtomicU32,
    /// Steps from the start that need no populating any more. Changed under the lock.
    populated: AtomicU32,
    /// Memory node of the owner.
    node: AtomicU32,
    /// False once the kernel was found to lack `MADV_POPULATE_WRITE` (before Linux 5.14).
    can_populate: AtomicBool,
    /// [`populate::asked`] when the owner was refused a step that no other arena could spare.
    refused_at: AtomicUsize,
    /// Steps in the reservation.
    most: u32,
    layout: Mutex<RegionMapping>,
    limits: Limits,
}

#[derive(Debug)]
struct RegionMapping {
    /// Start and length of the reservation; `None` when it is unmapped.
    reservation: Option<(*mut libc::c_void, usize)>,
    /// The start of the first step.
    base: NonNull<u8>,
    /// False once the pool of reserved huge pages was found empty.
    try_pool: bool,
}

// SAFETY: addresses of a mapping that belongs to the process; nothing in it is bound to a thread.
unsafe impl Send for RegionMapping {}

impl Region {
    /// Reserves address space for `bytes`. Also returns the start of its first step: on a multiple of a step.
    pub(super) fn reserve(bytes: usize, limits: &Limits) -> io::Result<(Self, NonNull<u8>)> {
        let size = bytes.saturating_add(2 * STEP);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping without access; nothing is read or written through it.
        let start = unsafe { libc::mmap(null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = start.cast::<u8>().wrapping_add(start.cast::<u8>().align_offset(STEP));
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        let room = size - (base.as_ptr() as usize - start as usize);
        if !cfg!(fuzzing) {
            // SAFETY: advice on a part of that mapping; if the kernel refuses it, pages are small.
            unsafe { libc::madvise(base.as_ptr().cast(), room, libc::MADV_HUGEPAGE) };
        }
        let region = Self {
            steps: AtomicU64::new(0),
            open: AtomicU32::new(0),
            populated: AtomicU32::new(0),
            node: AtomicU32::new(0),
            can_populate: AtomicBool::new(true),
            refused_at: AtomicUsize::new(usize::MAX),
            most: u32::try_from(room / STEP).unwrap_or(u32::MAX),
            layout: Mutex::new(RegionMapping {
                reservation: Some((start, size)),
                base,
                try_pool: !cfg!(fuzzing),
            }),
            limits: limits.clone(),
        };
        Ok((region, base))
    }

    fn steps(&self) -> RegionSteps {
        RegionSteps::from_word(self.steps.load(SeqCst))
    }

    /// Bytes charged to the limits.
    pub(super) fn bytes(&self) -> usize {
        self.steps().paid as usize * STEP
    }

    fn layout(&self) -> MutexGuard<'_, RegionMapping> {
        self.layout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next step into use; false if the limits or the machine do not allow it. Called by the owner.
    pub(super) fn advance(&self) -> bool {
        loop {
            let steps = self.steps();
            if steps.used == self.most {
                return false;
            }
            if steps.used < steps.paid {
                let next = RegionSteps { used: steps.used + 1, ..steps };
                // Fails if a step was taken back meanwhile.
                if self.steps.compare_exchange(steps.word(), next.word(), SeqCst, SeqCst).is_ok() {
                    break;
                }
            } else if self.take_bytes() {
                self.steps.fetch_add(RegionSteps::ONE_USED + RegionSteps::ONE_PAID, SeqCst);
                break;
            } else {
                return false;
            }
        }
        let used = self.steps().used;
        if self.open.load(SeqCst) >= used || self.open_for_owner(used) {
            return true;
        }
        self.steps.fetch_sub(RegionSteps::ONE_USED + RegionSteps::ONE_PAID, SeqCst);
        self.limits.give_back_bytes(STEP);
        false
    }

    /// Charges the bytes of a step to the limits, or from an arena that has a step ahead.
    fn take_bytes(&self) -> bool {
        if self.limits.take_bytes(STEP) {
            return true;
        }
        // A full table reaches this with every new flow. After a search without result there is nothing to be
        // found before steps ahead are requested again.
        let asked = populate::asked();
        if self.refused_at.swap(asked, Relaxed) == asked {
            return false;
        }
        let found = populate::take_back(&self.limits);
        if found {
            self.refused_at.store(usize::MAX, Relaxed);
        }
        found
    }

    /// Pays for steps ahead as far as the limits allow it, and requests that they are populated. Called by the owner.
    pub(super) fn pay_ahead(&self) {
        let steps = self.steps();
        let wanted = (steps.used + (1 + steps.used / 8).min(MOST_AHEAD)).min(self.most);
        let paid = (steps.paid..wanted).take_while(|_| self.limits.take_bytes(STEP)).count();
        if paid != 0 {
            self.steps.fetch_add(RegionSteps::ONE_PAID * paid as u64, SeqCst);
            self.node.store(populate::node_of_this_thread(), Relaxed);
            populate::ask(self.populated.load(SeqCst) < steps.used);
        }
    }

    /// Opens the next step and touches its pages before the owner may: for a kernel that cannot populate.
    /// False if none is left.
    fn open_touched(&self, layout: &mut RegionMapping, paid: u32) -> bool {
        let step = self.open.load(SeqCst);
        if step >= paid || !layout.open(step) {
            return false;
        }
        for page in (0..STEP).step_by(4096) {
            // SAFETY: within the step that was just made writable, where no other thread reads or writes yet:
            // the owner relies on `open`, which is raised below.
            unsafe { layout.at(step).cast::<u8>().add(page).write_volatile(0) };
        }
        self.open.store(step + 1, SeqCst);
        self.populated.store(step + 1, SeqCst);
        true
    }

    /// Opens steps for the owner, if the populating thread is late, or if there is none.
    #[cold]
    fn open_for_owner(&self, wanted: u32) -> bool {
        self.open_to(&mut self.layout(), wanted)
    }

    /// Opens steps until `wanted` are open; false if that fails.
    fn open_to(&self, layout: &mut RegionMapping, wanted: u32) -> bool {
        (self.open.load(SeqCst)..wanted).all(|step| {
            let opened = layout.open(step);
            self.open.fetch_add(opened.into(), SeqCst);
            opened
        })
    }

    /// Unmaps everything and credits what was charged; waits for a step that is being populated.
    pub(super) fn close(&self) {
        if let Some((start, length)) = self.layout().reservation.take() {
            // SAFETY: the whole reservation is this region's own. Its owner is done with it, and any other
            // thread that works on it holds the lock and checks first whether there is a reservation.
            unsafe { libc::munmap(start, length) };
            self.limits
                .give_back_bytes(RegionSteps::from_word(self.steps.swap(0, SeqCst)).paid as usize * STEP);
        }
    }
}

impl Populate for Region {
    fn urgency(&self) -> Option<u32> {
        let RegionSteps { used, paid } = self.steps();
        let populated = self.populated.load(SeqCst);
        let is_open = self.open.load(SeqCst) >= paid || !self.can_populate.load(Relaxed);
        // Opening is first: it is quick, and a step that is not open certainly stops its owner.
        (populated < paid).then(|| if is_open { 1 + populated.saturating_sub(used) } else { 0 })
    }

    fn node(&self) -> u32 {
        self.node.load(Relaxed)
    }

    fn prepare(&self) {
        let mut layout = self.layout();
        if layout.reservation.is_none() {
            return;
        }
        let RegionSteps { used, paid } = self.steps();
        let is_done = if !self.can_populate.load(Relaxed) {
            !self.open_touched(&mut layout, paid)
        } else if self.open.load(SeqCst) < paid {
            !self.open_to(&mut layout, paid)
        } else {
            // Steps in use belong to the owner, which touches them at once.
            let step = self.populated.load(SeqCst).max(used);
            if step < paid {
                self.can_populate.store(layout.populate(step), Relaxed);
                self.populated.store(step + 1, SeqCst);
            }
            step + 1 >= paid
        };
        // Also if a step could not be opened: its owner may try again when it reaches the step.
        if is_done {
            self.populated.fetch_max(paid, SeqCst);
        }
    }

    fn shares(&self, limits: &Limits) -> bool {
        self.limits.bytes_allowed() == limits.bytes_allowed()
    }

    fn take_back(&self) -> bool {
        let mut layout = self.layout();
        loop {
            let RegionSteps { used, paid } = self.steps();
            if layout.reservation.is_none() || used == paid {
                return false;
            }
            let last = paid - 1;
            // Closed first, then checked for use: from here on its owner would wait for the lock.
            let open = self.open.fetch_min(last, SeqCst);
            if self.steps().used > last {
                self.open.store(open, SeqCst);
                continue;
            }
            if open > last && !layout.close(last) {
                return false;
            }
            self.populated.fetch_min(last, SeqCst);
            // The owner may have advanced meanwhile, even to this step; if so it finds the step as before it
            // was opened.
            let less = |word| {
                let now = RegionSteps::from_word(word);
                (now.used <= last && now.paid == paid).then(|| RegionSteps { paid: last, ..now }.word())
            };
            if self.steps.fetch_update(SeqCst, SeqCst, less).is_ok() {
                return true;
            }
        }
    }
}

impl RegionMapping {
    /// Returns the address at which a step begins.
    fn at(&self, step: u32) -> *mut libc::c_void {
        self.base.as_ptr().wrapping_add(step as usize * STEP).cast()
    }

    /// Makes a further step writable; false if that fails.
    fn open(&mut self, step: u32) -> bool {
        let Some((start, length)) = self.reservation else { return false };
        let at = self.at(step);
        if at as usize + STEP > start as usize + length {
            return false;
        }
        // A mapping in a fixed place that fails leaves a hole there, which other threads' mappings may fall
        // into. So the pool is tried at another address first.
        self.try_pool = self.try_pool && is_in_pool();
        if self.try_pool {
            // The pool is reserved when mapped, so that a later touch cannot fail.
            if map(at, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_FIXED | libc::MAP_HUGETLB) {
                return true;
            }
            // Another process was faster. Whatever is mapped in the hole now does not belong to this arena.
            self.try_pool = false;
            if !self.reserve_again(at, libc::MAP_FIXED_NOREPLACE) {
                return false;
            }
        }
        // SAFETY: a step of the reservation, to which no reference exists.
        unsafe { libc::mprotect(at, STEP, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    }

    /// Frees the memory of an open step that is not in use, and returns it to the state before it was opened;
    /// false if that fails.
    fn close(&mut self, step: u32) -> bool {
        self.reserve_again(self.at(step), libc::MAP_FIXED)
    }

    /// Maps one step of the reservation again. If that fails, the owner of the addresses is unknown: the
    /// reservation ends there.
    fn reserve_again(&mut self, at: *mut libc::c_void, place: i32) -> bool {
        if !map(at, libc::PROT_NONE, place) {
            self.give_up_from(at);
            return false;
        }
        // SAFETY: advice on the step that was just mapped.
        unsafe { libc::madvise(at, STEP, libc::MADV_HUGEPAGE) };
        true
    }

    /// Makes the kernel touch the pages of an open step, whether or not its owner writes there meanwhile.
    /// False if the kernel cannot do that; any other failure appears when the step is used, as it would have
    /// without this.
    fn populate(&self, step: u32) -> bool {
        // SAFETY: an open step of the reservation, which stays while `self` is locked. No value changes.
        let failed = unsafe { libc::madvise(self.at(step), STEP, libc::MADV_POPULATE_WRITE) } != 0;
        !(failed && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL))
    }

    /// Ends the reservation at `at`, a step that could not be mapped: the arena no longer grows.
    fn give_up_from(&mut self, at: *mut libc::c_void) {
        let Some((start, length)) = &mut self.reservation else { return };
        let kept = at as usize - *start as usize;
        // SAFETY: the memory after the step belongs to this arena and was never handed out.
        unsafe { libc::munmap(at.wrapping_byte_add(STEP), *length - kept - STEP) };
        *length = kept;
    }
}

/// Maps one step of memory; false if that fails.
fn map(at: *mut libc::c_void, access: i32, flags: i32) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: in a place that the caller owns after all that is in use, so that nothing is replaced.
    let mapped = unsafe { libc::mmap(at, STEP, access, flags, -1, 0) };
    if mapped != libc::MAP_FAILED && mapped != at {
        // Kernels before 4.17 take MAP_FIXED_NOREPLACE as a hint. SAFETY: mapped just now, and no reference
        // to it exists.
        unsafe { libc::munmap(mapped, STEP) };
    }
    mapped == at
}

/// Returns true if the pool of reserved huge pages has one.
fn is_in_pool() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    // SAFETY: a new mapping in a place that the kernel chooses.
    let probe = unsafe { libc::mmap(null_mut(), STEP, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if probe == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: mapped just now, and never used.
    unsafe { libc::munmap(probe, STEP) };
    true
}

#[cfg(test)]
mod tests;
