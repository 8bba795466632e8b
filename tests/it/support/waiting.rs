//! Waiting for programs that run, and asking their API.

use serde_json::Value;
use std::time::{Duration, Instant};

/// Longer than anything that is waited for takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(240);

/// Waits until `look` returns something.
///
/// # Panics
/// If it does not within [`DEADLINE`].
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until_ok(what, || look().ok_or("nothing"))
}

/// Waits until `look` finds what it looks for; its error is what it found in its place.
///
/// # Panics
/// If it does not within [`DEADLINE`], with the last error.
#[track_caller]
pub(crate) fn until_ok<T, E: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        let error = match look() {
            Ok(found) => return found,
            Err(error) => error,
        };
        assert!(began.elapsed() < DEADLINE, "waited in vain for {what}; {error:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What the API on this port answers to GET; `None` without an answer, or where it is no JSON.
pub(crate) fn api_get(port: u16, path: &str) -> Option<Value> {
    let address = format!("http://127.0.0.1:{port}/api/v1{path}");
    let text = ureq::get(address).call().ok()?.into_body().read_to_string().ok()?;
    serde_json::from_str(&text).ok()
}
