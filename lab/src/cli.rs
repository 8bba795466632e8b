//! The command line.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  edison-lab bench --list                             what can be measured
  edison-lab bench table --flows 1M                   one measurement, at one point
  edison-lab study --list                             the papers' tables and figures, with commands
  edison-lab study --out study --quick                all of them, in less than ten minutes
  edison-lab pack --out edison-lab.tar.xz             an archive that runs on another machine

Measurements that run edison itself take the program in the folder of edison-lab, or the one that
EDISON names.
Exit codes: 0 well; 1 something could not be measured, or an answer was wrong; 2 wrong usage; 3 a
study that was ended early.";

/// Edison's own measurements, and the tables and figures of the papers that it implements.
#[derive(Debug, Parser)]
#[command(name = "edison-lab", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct LabCli {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run one of the project's own measurements
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchOptions),
    /// Measure the papers' tables and figures here, and draw them beside the papers' values
    #[command(after_help = STUDY_EXAMPLES)]
    Study(StudyOptions),
    /// Write this program with its libraries as one archive, for a study on another machine
    #[command(after_help = PACK_EXAMPLES)]
    Pack {
        /// The archive; its ending says how it is compressed: .tar.xz, .tar.gz, .tar
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Write the manual pages, made from these helps, to a folder
    Man {
        /// The folder, as /usr/share/man/man1
        folder: PathBuf,
    },
}

const BENCH_EXAMPLES: &str = "\
Examples:
  edison-lab bench --list
  edison-lab bench table --flows 1M --json
  edison-lab bench model --zipf 1                what a packet takes by table size, and a prediction
  edison-lab bench designs --preset wu           as Wu et al. measured, on the cores that there are
  edison-lab bench capture
  edison-lab bench accuracy trace.pcap           how right structures are about this traffic
  edison-lab bench accuracy --markdown           all of it as Markdown tables, on made traffic";

/// Options of `edison-lab bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    /// Which one
    #[arg(required_unless_present_any = ["list", "file"])]
    pub(crate) name: Option<String>,
    /// For accuracy: the capture to measure (pcap, pcapng, also gzip or zstd) [default: generated traffic]
    #[arg(value_name = "CAPTURE")]
    pub(crate) capture: Option<String>,
    /// List them
    #[arg(long)]
    pub(crate) list: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// For accuracy: Markdown tables, when all is measured
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Only with this many packets
    #[arg(long, value_name = "N", value_parser = notation::count)]
    pub(crate) packets: Option<u64>,
    /// Only with this many flows
    #[arg(long, value_name = "N", value_parser = notation::count)]
    pub(crate) flows: Option<u64>,
    /// Only with this skew; 0 is uniform
    #[arg(long, value_name = "S")]
    pub(crate) zipf: Option<f64>,
    /// For designs, rate and scale: the settings of a paper (wu, ares, flowatcher; --list shows them and where they stand)
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// For capture: measure this file once, in this process, and print what was counted
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// For distributed: number of simulated probes (default: 1000)
    #[arg(long, value_name = "N", value_parser = notation::count)]
    pub(crate) probes: Option<u64>,
    /// About how long each comparison may take (default: 10; distributed: 900)
    #[arg(long, value_name = "S")]
    pub(crate) seconds: Option<f64>,
}

const PACK_EXAMPLES: &str = "\
Examples:
  edison-lab pack --out edison-lab.tar.xz             here
  tar -xf edison-lab.tar.xz && edison-lab/study.sh --quick    there, which writes results.tar.gz
  edison-lab study --out study --beside results       here, with what that has

The other machine needs Linux on the same kind of processor, a shell and tar; none of its libraries is
used. tar and strip (Debian's binutils) make the archive.";

const STUDY_EXAMPLES: &str = "\
Examples:
  edison-lab study --list                             papers and figures, each with its command
  edison-lab study --out study --quick                all of them, in less than ten minutes
  edison-lab study alipourfard figure-1 --out study   one of them
  edison-lab study --out study --anew                 again, what the folder has too
  edison-lab study --out study --beside study-16      with the results of another machine

The folder gets index.html, figures.json, and a CSV and an SVG file for each figure. What was
measured is kept in it: a study that was ended goes on with the same command. It exits with 3 if it
was ended early, and with 1 if something could not be measured.";

/// Options of `edison-lab study`.
#[derive(Debug, Args)]
pub(crate) struct StudyOptions {
    /// Only of this paper
    pub(crate) paper: Option<String>,
    /// Only this table or figure of it
    pub(crate) figure: Option<String>,
    /// The folder for the page and what was measured; it is made
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub(crate) out: Option<PathBuf>,
    /// Fewer points and shorter rounds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure again what the folder has
    #[arg(long)]
    pub(crate) anew: bool,
    /// Show the results of another machine next to these: the folder of its study
    #[arg(long, value_name = "DIR", conflicts_with = "list")]
    pub(crate) beside: Option<PathBuf>,
    /// List papers and figures, each with its command
    #[arg(long)]
    pub(crate) list: bool,
    /// Print figures.json, or the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
