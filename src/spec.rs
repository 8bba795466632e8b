//! What is to be run, whatever it was asked by: a command line, the environment or a file.

use crate::alert_options::AlertOptions;
use crate::bound::Bound;
use crate::enrich::EnrichOptions;
use crate::kafka_options::KafkaOptions;
use crate::router_options::RouterOptions;
use engine::{Cores, Design, Every, Snap, Split, State};
use flow::Share;
use packet::{KeySpec, Tunnel};
use port::wire::WireSpec;
use record::{Collector, Rotation};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use store::Keep;
use summary::StatisticSpec;

/// A run: what is measured, what is asked of it, and where the answers go.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// Capture files (`-` is standard input; NAME=SOURCE is a node), then a filter as tcpdump takes it.
    pub(crate) words: Vec<String>,
    /// Capture files beside these.
    pub(crate) read: Vec<String>,
    /// Kernel interfaces.
    pub(crate) interface: Vec<String>,
    /// DPDK ports, each a PCI address or the arguments of a virtual device.
    pub(crate) port: Vec<String>,
    /// The traffic that is generated, `packets=10M,flows=1M`.
    pub(crate) synthetic: Option<String>,
    /// The wire on which the frames of the source arrive.
    pub(crate) wire: Option<WireSpec>,
    /// Only frames that are addressed to this machine are taken.
    pub(crate) no_promiscuous: bool,
    /// Arguments for DPDK's EAL.
    pub(crate) eal: Option<String>,
    /// The length of a window.
    pub(crate) every: Every,
    /// Lines in a ranking.
    pub(crate) top: usize,
    /// The definition of flows.
    pub(crate) key: KeySpec,
    /// TCP losses, retransmissions and round-trip times are tracked.
    pub(crate) loss: bool,
    /// Questions of each window, as `--task` has them.
    pub(crate) task: Vec<String>,
    /// Texts of queries.
    pub(crate) query: Vec<String>,
    /// Files of queries; `-` is standard input.
    pub(crate) file: Vec<PathBuf>,
    /// The fields of a ranking, which is short for a query.
    pub(crate) by: Option<String>,
    /// The item that the ranking is ordered by.
    pub(crate) sort: Option<String>,
    /// The interval that has a row of figures.
    pub(crate) per: Option<Duration>,
    /// Variables of queries.
    pub(crate) set: Vec<(String, String)>,
    /// What is added to answers.
    pub(crate) enrich: EnrichOptions,
    /// The header of a tunnelled packet that is measured.
    pub(crate) tunnel: Tunnel,
    /// The file of flow records.
    pub(crate) flows: Option<PathBuf>,
    /// The file of the report.
    pub(crate) report: Option<PathBuf>,
    /// The address of the page and the API.
    pub(crate) web: Option<SocketAddr>,
    /// Answers are lines of JSON.
    pub(crate) json: bool,
    /// The fields of flow records, in their order.
    pub(crate) fields: Option<String>,
    /// The file of window rows.
    pub(crate) rows: Option<PathBuf>,
    /// The folder that keeps window rows and flow records.
    pub(crate) store: Option<PathBuf>,
    /// How long the store keeps what.
    pub(crate) store_keep: Option<Keep>,
    /// When a new file of flow records begins.
    pub(crate) rotate: Option<Rotation>,
    /// The IPFIX collector that gets flow records.
    pub(crate) export: Option<Collector>,
    /// What is sent to Kafka.
    pub(crate) kafka: KafkaOptions,
    /// Which Alertmanagers are told.
    pub(crate) alerts: AlertOptions,
    /// The file of the key by which addresses are replaced.
    pub(crate) anonymize: Option<PathBuf>,
    /// The folder of the packets that queries capture.
    pub(crate) captures: Option<PathBuf>,
    /// The most bytes of all captures together.
    pub(crate) capture_bytes: u64,
    /// How much of each captured packet is kept.
    pub(crate) capture_snap: Snap,
    /// The most packets of a capture in a second.
    pub(crate) capture_rate: u32,
    /// The name of the observation point; the host's if it is not given.
    pub(crate) node: Option<String>,
    /// The number of received packets after which the run ends.
    pub(crate) packets: Option<u64>,
    /// The time of the stream after which the run ends.
    pub(crate) duration: Option<Duration>,
    /// The cores to measure on.
    pub(crate) cores: Option<Cores>,
    /// The most memory for tables and queues, bytes.
    pub(crate) memory: Option<u64>,
    /// The time without a packet after which the run ends.
    pub(crate) idle_exit: Option<Duration>,
    /// The most flows at a time.
    pub(crate) max_flows: Option<u64>,
    /// The time without a packet after which a record ends, nanoseconds.
    pub(crate) idle_timeout: u64,
    /// The age at which a new record begins, nanoseconds.
    pub(crate) active_timeout: u64,
    /// Both directions of a flow are in one record (RFC 5103).
    pub(crate) biflow: bool,
    /// Statistics of the interleaving gap.
    pub(crate) gap: Option<StatisticSpec>,
    /// Statistics of packet sizes.
    pub(crate) packet_size: Option<StatisticSpec>,
    /// Statistics of the time between two packets of a flow.
    pub(crate) inter_arrival: Option<StatisticSpec>,
    /// How cores share the work.
    pub(crate) design: Option<Design>,
    /// The share of the packets that is measured.
    pub(crate) tee: Option<Share>,
    /// The loss below which the run keeps itself.
    pub(crate) adapt: Option<Bound>,
    /// How a receiver shares a burst out among its workers.
    pub(crate) split: Split,
    /// Where flows are kept.
    pub(crate) state: State,
    /// Receive queues of each DPDK port.
    pub(crate) queues: Option<u16>,
    /// The most frames taken at once.
    pub(crate) burst: u16,
    /// Receive descriptors of each queue, and packets between a receiver and each worker.
    pub(crate) ring: Option<u16>,
    /// Mbufs of the pool that each receive queue has.
    pub(crate) mempool: u64,
    /// The seed of the tables' hash; random if it is not given.
    pub(crate) seed: Option<u64>,
    /// Routers that send flow records, in the place of sources of frames.
    pub(crate) routers: Option<RouterOptions>,
    /// The length of the windows of queries that do not say it, where the run's are shorter: the queries tell.
    pub(crate) usual_every: Option<Every>,
    /// Lines of JSON have the answers of windows that nothing asks for by a length of its own. Otherwise a capture is answered as a whole.
    pub(crate) json_windows: bool,
}

impl Spec {
    /// Returns whether a source goes on without end.
    pub(crate) fn is_live(&self) -> bool {
        !self.interface.is_empty() || !self.port.is_empty() || self.routers.is_some()
    }
}
