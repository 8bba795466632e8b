//! DPDK ports: EAL, the source that polls ports, a port fed from memory, mbufs for the software wire, and a
//! list of what can be opened on this machine.

mod arguments;
mod device;
mod eal;
mod hugepages;
mod kernel_socket;
mod lcore;
mod list;
mod pool;
mod port;
mod probed;
mod queue;
mod ring;
mod sink;
mod source;
mod spread;
mod tally;
mod wire;

pub use eal::{Eal, EalConfig};
pub use hugepages::Hugepages;
pub use list::{DpdkPorts, NetworkDevice};
pub use port::PortOptions;
pub use probed::ProbedPorts;
pub use ring::RingPort;
pub use sink::DpdkSink;
pub use source::DpdkSource;
pub use spread::Spread;

use crate::{SourceError, SourceSetting};

impl SourceError {
    /// Returns the same error, with this setting as the cause of [`SourceError::Open`].
    #[must_use]
    fn blame(self, setting: SourceSetting) -> Self {
        match self {
            Self::Open(reason) => Self::Refused(setting, reason),
            other => other,
        }
    }
}
