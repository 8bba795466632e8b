//! What a controller and its probes say to each other, and how it gets there.
//!
//! A controller sends each node the whole list of what it is to answer, and when a replay may go on; a probe sends the answers of each
//! window. Messages ([`ToProbe`], [`FromProbe`]) are data that can be written and read; a transport ([`ProbeLink`], [`ControllerLink`]) carries them: in one process, over channels of
//! memory.
//!
//! ```
//! use protocol::{ControllerLink, FromProbe, ProbeLink, memory};
//! use std::time::Duration;
//!
//! let (controller, mut probes) = memory::links(&["Node1".to_owned()]);
//! let probe = probes.remove(0);
//! probe.send(FromProbe::Reached { at_ns: 5 })?;
//! let received = controller.receive(Duration::from_secs(1))?;
//! assert_eq!(received, Some((0, FromProbe::Reached { at_ns: 5 })));
//! # Ok::<(), protocol::Disconnected>(())
//! ```
#![forbid(unsafe_code)]

pub mod memory;
mod message;
mod transport;

pub use message::{FromProbe, Task, TaskList, ToProbe, WindowResult};
pub use transport::{ControllerLink, Disconnected, ProbeLink};
