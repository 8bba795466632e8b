//! What tests of several crates stand on: captures, databases of addresses, counted memory, and a link of their own. Never part of a program.
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
pub mod mmdb;
pub mod process;
pub mod veth;
