//! `edison collect`: receives flow records of routers.

use super::ProbeOptions;
use clap::Args;
use runtime::exit::Failure;
use runtime::origin::Origins;
use runtime::spec::{
    CaptureOptions, LimitOptions, Listener, MACHINE, MachineOptions, OutputOptions, PacketOptions,
    QuestionOptions, RecordOptions, RouterOptions, RunSpec, SourceOptions,
};
use std::path::PathBuf;

pub(super) const COLLECT_EXAMPLES: &str = "\
Examples:
  edison collect ipfix://:4739                          all routers that send here, until Ctrl-C
  edison collect netflow://:2055 --from 192.0.2.0/24    routers of a network alone
  edison collect sflow://                               switches that send sFlow, at port 6343
  edison collect ipfix://:4739 --sampling 1000          1:1000 where a router does not tell its rate
  edison collect ipfix://:4739 --every 1min --wait 10s --store /var/lib/edison/store
  edison collect ipfix://:4739 -q 'select src_addr, sum(total_byte) groupby src_addr' --json
  edison collect --config node.toml                     as a node of a deployment: the file has
                                                        collect = \"ipfix://:4739\"

NetFlow v5, NetFlow v9, IPFIX and sFlow v5 are received whichever the scheme, over UDP. A record
counts in the window of its last packet while that is open, else in the one of the clock.
docs/routers.md has all.
Exit codes: 0 well, 1 a fault while running, 2 wrong usage, 3 an output that lost everything.";

/// Options of `edison collect`.
#[derive(Clone, Debug, Args)]
pub(crate) struct CollectOptions {
    /// Where to listen: ipfix://HOST:PORT, netflow://HOST:PORT or sflow://HOST:PORT; without HOST at all addresses
    #[arg(value_name = "URL", required_unless_present = "config")]
    pub(crate) url: Option<Listener>,
    #[command(flatten)]
    pub(crate) routers: RouterOptions,
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
            .map(|name| {
                format!("--{name} cannot be given beside --config, whose file has the options of a node")
            });
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::usages(lines)) }
    }

    /// Returns what is to be run.
    ///
    /// # Errors
    /// It is not said where to listen.
    pub(crate) fn into_spec(self) -> Result<RunSpec, Failure> {
        let Self { url, routers, question, output, limit, .. } = self;
        if url.is_none() {
            return Err(Failure::usage("nothing to receive: name where to listen, as ipfix://:4739"));
        }
        Ok(RunSpec {
            routers: RouterOptions { listener: url, ..routers },
            question,
            output,
            limit,
            // What is of packets is as in a run that does not ask for it.
            source: SourceOptions::default(),
            packets: PacketOptions::default(),
            capture: CaptureOptions::default(),
            record: RecordOptions::default(),
            machine: MachineOptions { burst: 1, ..MachineOptions::default() },
            link: None,
            recorded: None,
            default_every: None,
            read_statistics: Vec::new(),
            json_windows: false,
        })
    }

    /// Makes a node of a deployment receive what these options say, where they say it, and else what its file does.
    ///
    /// # Errors
    /// Neither says where to listen.
    pub(crate) fn apply_to_node(self, node: ProbeOptions) -> Result<RunSpec, Failure> {
        let config = node.spec.machine.config.clone();
        let mut spec = node.into_spec();
        let RouterOptions { listener, from, sampling, wait } = spec.routers;
        let listener = self.url.or(listener);
        if listener.is_none() {
            let file = config.map(|path| path.display().to_string()).unwrap_or_default();
            return Err(Failure::usage(format!(
                "{file}: 'collect' is missing: where routers send to, as \"ipfix://:4739\""
            )));
        }
        spec.routers = RouterOptions {
            listener,
            from: if self.routers.from.is_empty() { from } else { self.routers.from },
            sampling: self.routers.sampling.or(sampling),
            wait: self.routers.wait.or(wait),
        };
        Ok(spec)
    }
}
