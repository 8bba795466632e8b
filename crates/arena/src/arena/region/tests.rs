//! One region, worked on by hand or by racing threads. The kernel (`mincore`) reports which pages have
//! memory.

use super::*;
use std::thread;

/// Pages of a step that have memory.
fn resident(base: NonNull<u8>, step: u32) -> usize {
    let mut pages = vec![0u8; STEP / 4096];
    let at = base.as_ptr().wrapping_add(step as usize * STEP).cast();
    // SAFETY: a place for one byte per page.
    let result = unsafe { libc::mincore(at, STEP, pages.as_mut_ptr()) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    pages.iter().filter(|&&page| page & 1 != 0).count()
}

const ALL: usize = STEP / 4096;

fn at(base: NonNull<u8>, byte: usize) -> *mut u64 {
    base.as_ptr().wrapping_add(byte).cast()
}

fn prepare_all(region: &Region) {
    for _ in 0..100 {
        match region.urgency() {
            Some(_) => region.prepare(),
            None => return,
        }
    }
    panic!("there is always something left to prepare: {region:?}");
}

#[test]
fn steps_ahead_get_memory_before_they_are_used() {
    let limits = Limits::new(1 << 30, 0);
    let (region, base) = Region::reserve(64 * STEP, &limits).expect("address space");
    assert_eq!((region.bytes(), region.urgency()), (0, None));
    region.pay_ahead();
    assert_eq!((region.bytes(), region.urgency()), (STEP, Some(0)));
    prepare_all(&region);
    assert_eq!((resident(base, 0), resident(base, 1)), (ALL, 0));
    for used in 1..=64u32 {
        assert!(region.advance());
        assert_eq!(resident(base, used - 1), ALL, "step {used}");
        region.pay_ahead();
        // One step, and one more for each eight in use.
        assert_eq!(region.bytes(), (used + (1 + used / 8).min(8)).min(66).min(region.most) as usize * STEP);
        prepare_all(&region);
    }
    assert_eq!(limits.bytes_used(), region.bytes());
    region.close();
    assert_eq!((limits.bytes_used(), region.bytes(), region.urgency()), (0, 0, None));
}

/// The owner is never stopped by a thread that does nothing.
#[test]
fn it_grows_without_the_thread() {
    let limits = Limits::new(10 * STEP, 0);
    let (region, base) = Region::reserve(64 * STEP, &limits).expect("address space");
    for step in 0..10 {
        assert!(region.advance());
        region.pay_ahead();
        // SAFETY: a step in use.
        unsafe { at(base, step * STEP).write(step as u64) };
    }
    assert_eq!(limits.bytes_used(), 10 * STEP);
    assert!(!region.advance());
    // SAFETY: steps in use.
    assert!((0..10).all(|step| unsafe { at(base, step * STEP).read() } == step as u64));
    region.close();
    assert_eq!(limits.bytes_used(), 0);
}

/// If no step can be mapped any more, the account shows it, and the thread has nothing to do.
#[test]
fn it_may_end_before_the_reservation() {
    for can_populate in [true, false] {
        let limits = Limits::new(1 << 30, 0);
        let (region, _) = Region::reserve(64 * STEP, &limits).expect("address space");
        region.can_populate.store(can_populate, Relaxed);
        let mut layout = region.layout();
        let sixth = layout.at(5);
        layout.give_up_from(sixth);
        drop(layout);
        for _ in 0..5 {
            assert!(region.advance());
            region.pay_ahead();
            prepare_all(&region);
        }
        assert_eq!(region.steps(), RegionSteps { used: 5, paid: 6 });
        for _ in 0..3 {
            assert!(!region.advance());
            assert_eq!(limits.bytes_used(), region.bytes());
            assert_eq!(region.steps(), RegionSteps { used: 5, paid: 5 });
            prepare_all(&region);
        }
        region.close();
        assert_eq!(limits.bytes_used(), 0);
    }
}

/// Before Linux 5.14 the thread writes to each page itself, and the step is not to be used before.
#[test]
fn a_kernel_that_cannot_populate_will_do() {
    let limits = Limits::new(1 << 30, 0);
    let (region, base) = Region::reserve(64 * STEP, &limits).expect("address space");
    region.can_populate.store(false, Relaxed);
    for used in 1..=20 {
        assert!(region.advance());
        region.pay_ahead();
        prepare_all(&region);
        let RegionSteps { paid, .. } = region.steps();
        assert_eq!((region.open.load(SeqCst), region.populated.load(SeqCst)), (paid, paid));
        assert!((used..paid).all(|step| resident(base, step) == ALL));
    }
    region.close();
}

#[test]
fn a_step_ahead_can_be_taken_back_until_it_is_used() {
    let limits = Limits::new(1 << 30, 0);
    let (region, base) = Region::reserve(64 * STEP, &limits).expect("address space");
    assert!(!region.take_back());
    for _ in 0..16 {
        assert!(region.advance());
    }
    region.pay_ahead();
    assert_eq!(region.steps(), RegionSteps { used: 16, paid: 19 });
    prepare_all(&region);
    for paid in [18, 17, 16] {
        assert_eq!(resident(base, paid), ALL);
        assert!(region.take_back());
        assert_eq!((region.steps(), resident(base, paid)), (RegionSteps { used: 16, paid }, 0));
        // Whose the bytes are is the caller's affair.
        limits.give_back_bytes(STEP);
    }
    assert!(!region.take_back());
    assert_eq!((limits.bytes_used(), region.urgency()), (16 * STEP, None));
    // What was taken back can be had again, by the thread or without it.
    assert!(region.advance());
    region.pay_ahead();
    prepare_all(&region);
    assert_eq!((resident(base, 16), resident(base, 17)), (0, ALL));
    // SAFETY: a step in use.
    unsafe { at(base, 17 * STEP - 8).write(1) };
    region.close();
    assert_eq!(limits.bytes_used(), 0);
}

/// Lets the other threads end, also where an assertion fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// An owner that writes each step when it comes to it, while one thread prepares and another takes back what it
/// can: no step in use loses what was written, and no byte of the account is lost.
#[test]
fn owner_thread_and_taker_race() {
    const STEPS: usize = 40;
    for round in 0..8 {
        // One step more than the owner needs: the one that the taker has in hand.
        let limits = Limits::new((STEPS + 1) * STEP, 0);
        let (region, base) = Region::reserve(STEPS * STEP, &limits).expect("address space");
        region.can_populate.store(round % 2 == 0, Relaxed);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = End(&done);
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    match region.urgency() {
                        Some(_) => region.prepare(),
                        None => thread::yield_now(),
                    }
                }
            });
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    if region.take_back() {
                        limits.give_back_bytes(STEP);
                    }
                    thread::yield_now();
                }
            });
            for step in 0..STEPS {
                assert!(region.advance(), "{region:?}");
                let first = at(base, step * STEP);
                for word in (0..STEP / 8).step_by(64) {
                    // SAFETY: within a step in use, which no other thread reads or writes.
                    unsafe {
                        assert_eq!(first.add(word).read(), 0, "step {step} is not new");
                        first.add(word).write((step * STEP + word) as u64);
                    }
                }
                region.pay_ahead();
            }
        });
        for step in 0..STEPS {
            for word in (0..STEP / 8).step_by(64) {
                // SAFETY: within a step in use.
                let value = unsafe { at(base, step * STEP).add(word).read() };
                assert_eq!(value, (step * STEP + word) as u64, "step {step}");
            }
        }
        assert_eq!(limits.bytes_used(), region.bytes());
        assert_eq!(region.steps().used as usize, STEPS);
        region.close();
        assert_eq!(limits.bytes_used(), 0);
    }
}
