//! Helpers for the tests of several crates: captures, databases of addresses, counted memory, a link of virtual interfaces, and the number of
//! random cases. They are never part of a program.
//!
//! ```
//! let folder = std::env::temp_dir().join(format!("captures-{}", std::process::id()));
//! std::fs::create_dir_all(folder.join("inner")).unwrap();
//! for name in ["b.pcap", "inner/a.pcapng.gz", "notes.txt"] {
//!     std::fs::write(folder.join(name), "").unwrap();
//! }
//! let names: Vec<_> = testbed::captures::find(&folder).into_iter().map(|capture| capture.name).collect();
//! assert_eq!(names, ["b.pcap", "inner/a.pcapng.gz"]);
//! std::fs::remove_dir_all(folder).unwrap();
//! ```

pub mod allocation;
pub mod captures;
pub mod device;
pub mod mmdb;
pub mod process;
mod random;
pub mod veth;

pub use random::Random;

/// Returns the number of random cases that a test takes: `usual`, times the whole number `EDISON_CASES` where that is set.
///
/// `usual` is what shows the kinds of a case in seconds; more of them are for the night. A test that counts what it met
/// must find enough in `usual` cases.
///
/// # Panics
/// If `EDISON_CASES` is no number from 1 on.
///
/// ```
/// assert!(testbed::cases(200) >= 200);
/// ```
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let times = std::env::var("EDISON_CASES").map_or(1, |times| match times.parse() {
        Ok(times) if times > 0 => times,
        _ => panic!("EDISON_CASES is a number from 1 on, not {times:?}"),
    });
    usual.saturating_mul(times)
}
