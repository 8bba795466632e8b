//! The state of a controller or a run, as the HTTP interface and `edison top` show it.

mod capture;
mod event;
mod node;
pub mod now;
mod query;
mod site;
mod status;
pub mod unusual;

pub use capture::CaptureView;
pub use event::EventView;
pub use node::{Clock, Gap, KernelClock, Load, MissingWindows, NodeState, NodeView, Spool, Store, TaskState};
pub use query::{Edge, KeyState, MOST_KEYS, Phase, QueryState, QueryView, Run, Threshold, Trigger};
pub use site::{Coordinates, LONGEST_SITE, Site, check_site_name};
pub use status::{
    AlertmanagerView, Broker, BrokerState, Delivered, FAULTS, Fault, Mode, Note, Status, WindowTotals,
};
