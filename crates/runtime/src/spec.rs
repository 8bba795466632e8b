//! The options of a run, whatever it was asked by: a command line, the environment or a file. An option stands in one place, its group, with
//! its name, its help and its meaning.

mod alerts;
mod broker;
mod capture;
mod dry_run;
mod kafka;
mod limit;
mod link;
mod machine;
mod output;
mod packets;
mod question;
mod record;
mod routers;
mod site;
mod source;

pub use alerts::AlertOptions;
pub use broker::BrokerOptions;
pub use capture::CaptureOptions;
pub use dry_run::{DryRunOptions, RecordedOptions};
pub use kafka::{ClusterOptions, KafkaOptions};
pub use limit::LimitOptions;
pub use link::LinkOptions;
pub use machine::MachineOptions;
pub use output::OutputOptions;
pub use packets::PacketOptions;
pub use question::QuestionOptions;
pub use record::RecordOptions;
pub use routers::{Listener, RouterOptions};
pub use site::SiteOptions;
pub use source::SourceOptions;

use clap::Args;
use engine::Every;

/// The heading of options of sources.
pub const SOURCE: &str = "Source";
/// The heading of options of questions.
pub const QUESTION: &str = "Question";
/// The heading of options of outputs.
pub const OUTPUT: &str = "Output";
/// The heading of options of limits.
pub const LIMITS: &str = "Limits";
/// The heading of options of flow records.
pub const RECORDS: &str = "Flow records";
/// The heading of options of deployments.
pub const DEPLOYMENT: &str = "Deployment";
/// The heading of options of cores, tables and settings.
pub const MACHINE: &str = "Cores, tables and settings";

/// A run: what is measured, what is asked of it, and where the answers go.
#[derive(Clone, Debug, Args)]
pub struct RunSpec {
    /// What is measured.
    #[command(flatten)]
    pub source: SourceOptions,
    /// What is received of routers.
    #[command(flatten)]
    pub routers: RouterOptions,
    /// What is asked.
    #[command(flatten)]
    pub question: QuestionOptions,
    /// What only packets tell.
    #[command(flatten)]
    pub packets: PacketOptions,
    /// Where answers and records go.
    #[command(flatten)]
    pub output: OutputOptions,
    /// Which packets are kept.
    #[command(flatten)]
    pub capture: CaptureOptions,
    /// When the run ends, and what it may take.
    #[command(flatten)]
    pub limit: LimitOptions,
    /// What flow records are.
    #[command(flatten)]
    pub record: RecordOptions,
    /// Cores, tables and settings.
    #[command(flatten)]
    pub machine: MachineOptions,
    /// How the controller of a deployment is reached, whose node this is.
    #[arg(skip)]
    pub link: Option<LinkOptions>,
    /// Recorded rows, in the place of sources that are measured.
    #[arg(skip)]
    pub recorded: Option<RecordedOptions>,
    /// The length of the windows of queries that do not say it, where the run's are shorter: the queries tell.
    #[arg(skip)]
    pub default_every: Option<Every>,
    /// The statistics of packets that queries of windows read: the queries tell.
    #[arg(skip)]
    pub read_statistics: Vec<flow::Statistic>,
    /// Lines of JSON (`--json`, `--answers`) have the answers of windows that nothing asks for by a length of its own. Otherwise a capture is answered as a whole.
    #[arg(skip)]
    pub json_windows: bool,
}

impl RunSpec {
    /// Returns whether a source goes on without end.
    pub(crate) fn is_live(&self) -> bool {
        let SourceOptions { interface, port, .. } = &self.source;
        !interface.is_empty() || !port.is_empty() || self.routers.listener.is_some()
    }
}
