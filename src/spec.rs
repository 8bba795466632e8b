//! What is to be run, whatever it was asked by: a command line, the environment or a file. An option stands in one place, its group, with its
//! name, its help and its meaning.

mod alerts;
mod broker;
mod capture;
mod kafka;
mod limit;
mod link;
mod machine;
mod output;
mod packets;
mod question;
mod record;
mod routers;
mod source;

pub(crate) use alerts::AlertOptions;
pub(crate) use broker::BrokerOptions;
pub(crate) use capture::CaptureOptions;
pub(crate) use kafka::{ClusterOptions, KafkaOptions};
pub(crate) use limit::LimitOptions;
pub(crate) use link::LinkOptions;
pub(crate) use machine::MachineOptions;
pub(crate) use output::OutputOptions;
pub(crate) use packets::PacketOptions;
pub(crate) use question::QuestionOptions;
pub(crate) use record::RecordOptions;
pub(crate) use routers::{Listener, RouterOptions};
pub(crate) use source::SourceOptions;

use clap::Args;
use engine::Every;

/// Headings of options. The first four are those of `-h`.
pub(crate) const SOURCE: &str = "Source";
pub(crate) const QUESTION: &str = "Question";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const LIMITS: &str = "Limits";
pub(crate) const RECORDS: &str = "Flow records";
pub(crate) const DEPLOYMENT: &str = "Deployment";
pub(crate) const MACHINE: &str = "Cores, tables and settings";

/// A run: what is measured, what is asked of it, and where the answers go.
#[derive(Clone, Debug, Args)]
pub(crate) struct Spec {
    #[command(flatten)]
    pub(crate) source: SourceOptions,
    #[command(flatten)]
    pub(crate) routers: RouterOptions,
    #[command(flatten)]
    pub(crate) question: QuestionOptions,
    #[command(flatten)]
    pub(crate) packets: PacketOptions,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(flatten)]
    pub(crate) capture: CaptureOptions,
    #[command(flatten)]
    pub(crate) limit: LimitOptions,
    #[command(flatten)]
    pub(crate) record: RecordOptions,
    #[command(flatten)]
    pub(crate) machine: MachineOptions,
    /// How the controller of a deployment is reached, whose node this is.
    #[arg(skip)]
    pub(crate) link: Option<LinkOptions>,
    /// The length of the windows of queries that do not say it, where the run's are shorter: the queries tell.
    #[arg(skip)]
    pub(crate) usual_every: Option<Every>,
    /// Lines of JSON have the answers of windows that nothing asks for by a length of its own. Otherwise a capture is answered as a whole.
    #[arg(skip)]
    pub(crate) json_windows: bool,
}

impl Spec {
    /// Returns whether a source goes on without end.
    pub(crate) fn is_live(&self) -> bool {
        let SourceOptions { interface, port, .. } = &self.source;
        !interface.is_empty() || !port.is_empty() || self.routers.listener.is_some()
    }
}
