//! Messages between a controller and its probes, and the transports that carry them.
//!
//! A controller sends each node the whole list of what it is to answer, and when a replay may go on; a probe sends the answers of each
//! window. Messages ([`ToProbe`], [`FromProbe`]) are data that can be written and read; a transport ([`ProbeLink`], [`ControllerLink`])
//! carries them: in one process over channels of memory ([`memory`]), between machines over a broker (`amqp`, behind the feature of that
//! name), where a message is bytes in an envelope ([`envelope`]).
//!
//! ```
//! use protocol::{ControllerLink, FromProbe, ProbeLink, memory};
//! use std::time::Duration;
//!
//! let (controller, mut probes) = memory::links(&["Node1".to_owned()]);
//! let probe = probes.remove(0);
//! probe.send(FromProbe::Reached { at_ns: 5 })?;
//! let received = controller.receive(Duration::from_secs(1))?.expect("a message");
//! assert_eq!((received.node, received.message), (0, FromProbe::Reached { at_ns: 5 }));
//! controller.acknowledge();
//! # Ok::<(), protocol::Disconnected>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "amqp")]
pub mod amqp;
mod capture;
pub mod envelope;
mod heartbeat;
mod history;
mod link_state;
mod list_id;
pub mod memory;
mod message;
mod message_id;
mod recent_windows;
mod refusal;
pub mod spool_format;
mod transport;

pub use capture::{CaptureTask, Captured};
pub use envelope::Envelope;
pub use heartbeat::{Heartbeat, RefusedList};
pub use history::{HistoryAnswer, HistoryLimits, HistoryQuestion, HistoryTask};
pub use link_state::{LinkState, LinkStateReporter};
pub use list_id::ListId;
pub use message::{FromProbe, Instance, Task, TaskList, ToProbe, WindowResult};
pub use message_id::{Boot, MessageId, NotAnId};
pub use recent_windows::{LookBackTask, LookedBack, RetentionLimits};
pub use refusal::MessageRefusal;
pub use transport::{ControllerLink, Disconnected, ProbeLink, ReceivedMessage};
