//! Panics of a decoder as errors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// True if a panic of this thread is an error that is reported otherwise.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what decodes bytes of a stranger's file: its panics are errors, and print nothing.
///
/// The hook that prints panics is the process's. It is wrapped once; other threads, and this one outside of `work`, have the hook that was
/// there before.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static WRAPPED: Once = Once::new();
    WRAPPED.call_once(|| {
        let hook = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                hook(panic);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(false);
    result.unwrap_or_else(|_| Err("it breaks the rules of its format".to_owned()))
}
