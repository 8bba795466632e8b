//! `edison collect`: receives flow records of routers.

use super::MACHINE;
use super::SOURCE;
use super::capture::CaptureOptions;
use super::limit::LimitOptions;
use super::machine::MachineOptions;
use super::output::OutputOptions;
use super::packets::PacketOptions;
use super::question::QuestionOptions;
use super::record::RecordOptions;
use super::run::RunOptions;
use super::source::SourceOptions;
use crate::exit::Failure;
use crate::origin::Origins;
use crate::quantity;
use crate::router_options::{Listener, RouterOptions};
use crate::spec::Spec;
use clap::Args;
use router::Network;
use router::Rate;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const COLLECT_EXAMPLES: &str = "\
Examples:
  edison collect ipfix://:4739                             all routers that send to this port, until Ctrl-C
  edison collect netflow://:2055 --from 192.0.2.0/24       routers of a network alone
  edison collect ipfix://:4739 --sampling 1000             routers that do not tell their sampling rate have 1:1000
  edison collect ipfix://:4739 --every 1min --wait 10s --store /var/lib/edison/store
  edison collect ipfix://:4739 -q 'select src_addr, sum(total_byte) groupby src_addr limit 10' --json
  edison collect --config node.toml                        as a node of a deployment, whose file has collect = \"ipfix://:4739\"

All three versions are received at either scheme, over UDP. A record counts in the window of its last packet while that is open, else
in the one of the clock. docs/routers.md has all.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 an output that lost everything.";

/// Options of `edison collect`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CollectOptions {
    /// Where to listen: ipfix://HOST:PORT or netflow://HOST:PORT; without HOST at all addresses
    #[arg(value_name = "URL", required_unless_present = "config")]
    pub(crate) url: Option<Listener>,
    /// Only routers of these networks or addresses: 192.0.2.0/24,2001:db8::1 [default: all]
    #[arg(help_heading = SOURCE, long, value_name = "PREFIX,…", value_delimiter = ',')]
    pub(crate) from: Vec<Network>,
    /// Routers that do not tell their sampling rate count one packet of N
    #[arg(help_heading = SOURCE, long, value_name = "N", value_parser = quantity::sampling)]
    pub(crate) sampling: Option<Rate>,
    /// Keep a window open for so long after its end, for records that come late
    #[arg(help_heading = SOURCE, long, value_name = "TIME", value_parser = notation::duration)]
    pub(crate) wait: Option<Duration>,
    #[command(flatten)]
    pub(crate) question: QuestionOptions,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(flatten)]
    pub(crate) limit: LimitOptions,
    /// Be a node of a deployment: the settings of edison probe, a TOML file, with the keys collect, from, sampling and wait
    #[arg(help_heading = MACHINE, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl CollectOptions {
    /// Refuses options beside `--config`, whose file has them, but for those of routers.
    pub(crate) fn check_alone(&self, origins: &Origins) -> Result<(), Failure> {
        let lines = origins
            .given()
            .filter(|name| !["config", "from", "sampling", "wait"].contains(name))
            .map(|name| format!("--{name} cannot be given beside --config: give '{name}' in its file"));
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
    }

    /// Returns what is to be run.
    ///
    /// # Errors
    /// It is not said where to listen.
    pub(crate) fn spec(&self) -> Result<Spec, Failure> {
        let Some(listener) = self.url.clone() else {
            return Err(Failure::usage("nothing to receive: name where to listen, as ipfix://:4739"));
        };
        let wait_ns = u64::try_from(self.wait.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX);
        let routers = RouterOptions { listener, from: self.from.clone(), sampling: self.sampling, wait_ns };
        let Self { question, output, limit, .. } = self.clone();
        // What is of packets is as in a run that does not ask for it.
        let run = RunOptions {
            source: SourceOptions::default(),
            question,
            packets: PacketOptions::default(),
            output,
            capture: CaptureOptions::default(),
            limit,
            record: RecordOptions::default(),
            machine: MachineOptions { burst: 1, ..MachineOptions::default() },
            help: None,
        };
        Ok(Spec { routers: Some(routers), ..run.spec() })
    }
}
