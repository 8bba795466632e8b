//! The thread that touches memory before the measuring threads do: one per process, for all arenas.
//!
//! Requests are made by an atomic counter, which it polls every few milliseconds while anything grows: waking
//! a thread costs the waker 5 to 20 microseconds, in which it could have measured several bursts. Without
//! requests it polls less and less often, and after half a second it sleeps until the next request, which
//! then does wake it. So does an arena that has reached a step before its pages were touched.

use crate::Limits;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

/// The initial polling interval.
const POLL: Duration = Duration::from_millis(1);
/// Polls without result after which the interval doubles, and how often it doubles before the thread sleeps
/// until woken: after half a second.
const LOOKS: u32 = 8;
const DOUBLINGS: u32 = 6;

/// The steps of an arena as the thread and other arenas see them.
pub(super) trait Populate: Send + Sync {
    /// Returns how long the arena's steps to prepare can wait, if there are any: the fewer steps the sooner.
    fn urgency(&self) -> Option<u32>;

    /// The memory node that the owner ran on when it last paid for steps ahead.
    fn node(&self) -> u32;

    /// Opens all steps that are paid for or, if they are open, populates one. Called by the populating thread.
    fn prepare(&self);

    /// Returns true if the arena and `limits` use one account, as far as can be determined. A mistake would only cost a step ahead.
    fn shares(&self, limits: &Limits) -> bool;

    /// Frees a step ahead. Its bytes remain charged to the limits and belong to the caller then; false if
    /// there is none.
    fn take_back(&self) -> bool;
}

/// Arenas that exist.
static REGIONS: Mutex<Vec<Arc<dyn Populate>>> = Mutex::new(Vec::new());
/// The number of requests so far.
static ASKED: AtomicUsize = AtomicUsize::new(0);
/// True while the thread sleeps until it is woken.
static IS_ASLEEP: AtomicBool = AtomicBool::new(false);
/// The thread; `None` if it could not be started. Arenas then grow without it.
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();

fn regions() -> MutexGuard<'static, Vec<Arc<dyn Populate>>> {
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers an arena, which may make requests from then on.
pub(super) fn add(region: Arc<dyn Populate>) {
    regions().push(region);
}

/// Removes an arena that is closed.
pub(super) fn remove<R: Populate>(region: &Arc<R>) {
    regions().retain(|other| !ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(region)));
}

/// Returns the number of requests so far: it stays the same as long as no steps ahead are taken.
pub(super) fn asked() -> usize {
    ASKED.load(SeqCst)
}

/// Requests that the thread looks for arenas with steps to prepare, at once if it `is_late` already. The
/// first request starts it.
pub(super) fn ask(is_late: bool) {
    ASKED.fetch_add(1, SeqCst);
    let thread = THREAD.get_or_init(|| {
        let handle = thread::Builder::new().name("populate".to_owned()).spawn(run).ok()?;
        Some(handle.thread().clone())
    });
    if (IS_ASLEEP.load(SeqCst) || is_late)
        && let Some(thread) = thread
    {
        thread.unpark();
    }
}

/// Frees a step ahead of any arena that takes from the same limits; its bytes belong to the caller then.
/// False if there is none.
pub(super) fn take_back(limits: &Limits) -> bool {
    regions().iter().filter(|region| region.shares(limits)).any(|region| region.take_back())
}

fn run() {
    run_anywhere();
    let mut node = None;
    let (mut seen, mut looks) = (0, 0);
    loop {
        let now = asked();
        if now != seen {
            (seen, looks) = (now, 0);
            while let Some(region) = most_urgent() {
                prefer_node(&mut node, region.node());
                region.prepare();
            }
        } else if looks < LOOKS * DOUBLINGS {
            thread::park_timeout(POLL * (1 << (looks / LOOKS)));
            looks += 1;
        } else {
            IS_ASLEEP.store(true, SeqCst);
            // Either this sees the request, or the requester sees that this sleeps.
            while asked() == seen {
                thread::park();
            }
            IS_ASLEEP.store(false, SeqCst);
        }
    }
}

fn most_urgent() -> Option<Arc<dyn Populate>> {
    let regions = regions();
    let urgent = regions.iter().filter_map(|region| Some((region.urgency()?, region)));
    urgent.min_by_key(|(urgency, _)| *urgency).map(|(_, region)| Arc::clone(region))
}

/// Adopts the CPU affinity of the process' main thread: the thread that started this one may be pinned to a
/// single CPU, for measuring.
fn run_anywhere() {
    // SAFETY: an all-zero bit set is a valid value.
    let mut cpus: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the set has the size that is passed. The first thread's number is the process'; 0 is this
    // thread. If one of them fails, the thread keeps its affinity.
    unsafe {
        if libc::sched_getaffinity(libc::getpid(), size, &mut cpus) == 0 {
            libc::sched_setaffinity(0, size, &cpus);
        }
    }
}

/// The memory node that this thread runs on.
pub(super) fn node_of_this_thread() -> u32 {
    let mut node = 0u32;
    // SAFETY: the places are valid or null, as the call allows. If it fails, `node` is the first.
    unsafe {
        libc::syscall(libc::SYS_getcpu, std::ptr::null_mut::<u32>(), &mut node, std::ptr::null_mut::<u8>())
    };
    node
}

/// Makes this thread allocate pages from `wanted`, the node of the thread that will use them: a page lies
/// where it is first touched from. Without effect on machines with one node, and on those that forbid it.
fn prefer_node(current: &mut Option<u32>, wanted: u32) {
    const BITS: u32 = libc::c_ulong::BITS;
    let mut nodes: [libc::c_ulong; 16] = [0; 16];
    let Some(word) = nodes.get_mut((wanted / BITS) as usize).filter(|_| *current != Some(wanted)) else {
        return;
    };
    *word = 1 << (wanted % BITS);
    // SAFETY: as many bits as are announced.
    unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_PREFERRED, nodes.as_ptr(), 16 * BITS) };
    *current = Some(wanted);
}
