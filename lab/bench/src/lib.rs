//! The project's own measurements. Each checks the answer that it times, and compares within one run: variants take
//! turns for several rounds, and the median counts.
//!
//! ```
//! use bench::{BENCHES, Points};
//!
//! let table = BENCHES.iter().find(|bench| bench.name == "table").expect("a bench of flow tables");
//! let points = Points { packets: Some(20_000), flows: Some(1_000), zipf: Some(1.0), seconds: 0.1, ..Points::default() };
//! let mut lines = Vec::new();
//! (table.run)(&points, &mut |line| lines.push(line)).unwrap();
//! assert!(!lines.is_empty() && lines.iter().all(|line| line.json()["checked"] == true));
//! ```

mod accuracy;
mod callgrind;
mod capture;
mod compare;
mod cuckoo;
mod distributed;
mod echo;
mod events;
mod fair_queue;
pub mod figures;
mod flow_record;
mod huge;
mod iblt;
mod line;
mod model;
mod monitor;
mod murmur3;
mod network;
mod parallel;
mod port_steps;
mod preset;
mod program;
mod query;
mod record_list;
mod records;
mod sketch;
mod status;
mod store;
mod table;
mod text;
mod tuple;
mod zoom;

pub use capture::measure_file;
pub use echo::{EchoLoop, EchoRun};
pub use fair_queue::{FairQueue, FairQueueRun, FlowThroughput, Queueing};
pub use flow_record::{HashTableKind, RecordPart, measure_record};
pub use line::BenchResult;
pub use parallel::{Effort, SketchKind, TallyKind, WirePoint, measure_wire, wu_designs};
pub use text::TextTable;

use engine::Preset;

/// The points that a bench is restricted to; `None` is the bench's own list of points.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Packets.
    pub packets: Option<u64>,
    /// Flows that they are drawn from.
    pub flows: Option<u64>,
    /// Zipf exponent; 0 is uniform.
    pub zipf: Option<f64>,
    /// About how long each comparison may take, seconds ([`Bench::seconds`]).
    pub seconds: f64,
    /// Simulated probes, for the bench of a deployment.
    pub probes: Option<u64>,
    /// A paper's settings, for the benches of parallel designs.
    pub preset: Option<&'static Preset>,
    /// A capture file, for benches that can measure one.
    pub capture: Option<String>,
}

/// A bench: its name, what it measures, and how it is run. It emits lines as they are ready.
#[derive(Debug)]
pub struct Bench {
    /// The name for `edison-lab bench NAME`.
    pub name: &'static str,
    /// The subject that it measures, in one line.
    pub about: &'static str,
    /// True if it accepts a paper's settings.
    pub takes_preset: bool,
    /// True if it can measure a given capture.
    pub takes_capture: bool,
    /// The usual length of its comparisons, seconds.
    pub seconds: f64,
    /// Makes Markdown tables of all its lines; `None` if it has none.
    pub tables: Option<fn(&[BenchResult]) -> String>,
    /// Runs it. The error is one line.
    pub run: BenchProgram,
}

/// A bench's program: it emits lines as they are ready.
pub type BenchProgram = fn(&Points, &mut dyn FnMut(BenchResult)) -> Result<(), String>;

/// The usual length of a comparison, seconds.
pub const SECONDS: f64 = 10.0;

/// The benches.
pub const BENCHES: &[Bench] = &[
    Bench {
        name: "accuracy",
        about: "measurement tasks: how right each structure is, by memory, skew and design; what tasks cost",
        takes_preset: false,
        takes_capture: true,
        seconds: SECONDS,
        tables: Some(accuracy::markdown),
        run: accuracy::run,
    },
    Bench {
        name: "table",
        about: "exact flow tables: the cuckoo table against DPDK's rte_hash and hashbrown, keys streamed",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: table::run,
    },
    Bench {
        name: "capture",
        about: "capture file to records against nfpcapd and softflowd, by processor time",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: capture::run,
    },
    Bench {
        name: "distributed",
        about: "a controller and 1,000 probes over RabbitMQ and TLS; a broker that restarts; lapin alone; answers merged",
        takes_preset: false,
        takes_capture: false,
        seconds: 900.0,
        tables: None,
        run: distributed::run,
    },
    Bench {
        name: "record",
        about: "flow records: what each optional part costs; FloWatcher's tables; hash functions and identifying a flow",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: flow_record::run,
    },
    Bench {
        name: "designs",
        about: "parallel designs over a software wire at a set rate: what each loses and costs",
        takes_preset: true,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: parallel::designs,
    },
    Bench {
        name: "rate",
        about: "the highest rate at which one core loses at most one packet in 100,000",
        takes_preset: true,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: parallel::rate,
    },
    Bench {
        name: "adapt",
        about: "a load that changes in steps of rate and skew: loss and accuracy of fixed settings and of a run that tunes itself",
        takes_preset: false,
        takes_capture: false,
        seconds: 48.0,
        tables: None,
        run: parallel::adapt,
    },
    Bench {
        name: "scale",
        about: "what a second core gives, what handing over costs, and what a window's turn costs",
        takes_preset: true,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: parallel::scale,
    },
    Bench {
        name: "tee",
        about: "what the packet path spends where another core measures 10, 15 or 20% of the packets, and how near the answers are",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: parallel::tee,
    },
    Bench {
        name: "sketch",
        about: "sketches: speed against plain scalar versions; accuracy at the same memory on a Zipf stream",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: sketch::run,
    },
    Bench {
        name: "iblt",
        about: "the invertible Bloom lookup table at loads at which it gives all flows and at which it cannot, against a hash map",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: iblt::run,
    },
    Bench {
        name: "model",
        about: "what a packet takes by table size and skew: predicted (Alipourfard's Equation 1) beside measured",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: model::run,
    },
    Bench {
        name: "cores",
        about: "what 1 to 64 cores count, predicted from the costs of one and two; what 100, 200 and 400 Gbit/s need",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: model::cores,
    },
    Bench {
        name: "query",
        about: "queries over the rows of a window, against DuckDB; what they cost the measuring core",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: query::run,
    },
    Bench {
        name: "store",
        about: "questions to a store: a filtered sum over window rows, the largest networks of a week of rollups",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: store::run,
    },
    Bench {
        name: "events",
        about: "the event machine with many keys, windows without packets, what a controller costs the measuring core",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: events::run,
    },
    Bench {
        name: "zoom",
        about: "what tracking the losses of 64 pinned flows costs the measuring core, compared with tracking none and all",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: zoom::run,
    },
    Bench {
        name: "records",
        about: "record writers: CSV, JSON lines, Parquet",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: records::run,
    },
    Bench {
        name: "port",
        about: "DPDK port to updated record, step by step, from mbufs in memory",
        takes_preset: false,
        takes_capture: false,
        seconds: SECONDS,
        tables: None,
        run: port_steps::run,
    },
];
