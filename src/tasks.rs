//! The list of all tasks.

use runtime::exit::{self, Failure};
use std::process::ExitCode;
use task::{TaskKind, catalog};

/// Prints the table of tasks and structures (Alipourfard et al., table 1).
pub(crate) fn print() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for kind in TaskKind::ALL {
        let (about, keys) = described(kind);
        text.push_str(&format!("{kind}: {about}\n  {keys}\n"));
        let entries = catalog::ENTRIES.iter().filter(|entry| entry.kind == kind);
        let rows = entries.map(|entry| {
            let names: Vec<_> = entry.built.iter().map(|structure| structure.name()).collect();
            vec![entry.family.name().to_owned(), names.join(", ")]
        });
        text.push_str(&terminal::text_table(&["by", "structures"], rows.collect()));
        let missing =
            catalog::ENTRIES.iter().filter(|entry| entry.kind == kind).filter_map(|entry| entry.missing);
        missing.for_each(|missing| text.push_str(&format!("  not built: {missing}\n")));
        text.push('\n');
    }
    text.push_str(
        "All tasks take structure=NAME (else the planner chooses), memory=SIZE or error=SHARE, and packets=N, what a window \
         is expected\nto have. Structures of rows of counters take depth=ROWS, and width=COUNTERS in place of memory=. Fields of a key are joined by +. Example: --task heavy-hitters:key=src_addr+dst_port,share=0.2%,\
         memory=128KiB\n",
    );
    exit::print(&text)
}

/// Returns what a task answers, and its options.
fn described(kind: TaskKind) -> (&'static str, &'static str) {
    match kind {
        TaskKind::HeavyHitters => (
            "flows with much of the traffic; with prefixes, also prefixes that have much without those below them",
            "key=FIELDS by=packets|bytes share=0.2%|count=N top=N prefixes=8/16/24/32",
        ),
        TaskKind::SuperSpreaders => {
            ("sources with many destinations, or the reverse", "key=src_addr of=dst_addr count=1000 top=N")
        }
        TaskKind::FlowSizes => ("how many flows have how many packets", "key=FIELDS bins=powers|exact"),
        TaskKind::Change => (
            "flows that have much more or less than in the last window, than the average of some, or than a forecast",
            "key=FIELDS by=packets|bytes share=0.5%|count=N top=N against=last|average windows=4 or\n  against=ewma|holt-winters alpha=0.3 beta=0.1",
        ),
        TaskKind::Entropy => {
            ("how evenly traffic is spread over flows, in bits", "key=FIELDS by=packets|bytes")
        }
        TaskKind::Quantiles => (
            "values that part the packets into shares",
            "key=src_addr|dst_addr|src_port|dst_port|size at=1%/25%/50%/75%/99%",
        ),
        TaskKind::Inner => (
            "the sum over all keys of their packets in one stream times those in another: the size of a join",
            "key=FIELDS a=FIELD=VALUE+… b=FIELD=VALUE+… by=packets|bytes",
        ),
        TaskKind::Distinct => ("how many distinct values there are", "of=FIELDS"),
    }
}
