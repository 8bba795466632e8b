//! Tasks: from options to what a run counts, and the list of what there is.

use crate::exit::{self, Failure};
use crate::machine;
use engine::{Config, Every, Plan};
use report::terminal;
use std::process::ExitCode;
use summary::Lease;
use task::{Kind, Setting, TaskSpec, Tasks, catalog};

/// The values of `--task`.
pub(crate) fn specs(texts: &[String]) -> Result<Vec<TaskSpec>, Failure> {
    let spec =
        |text: &String| text.parse().map_err(|error| Failure::usage(format!("--task {text}: {error}")));
    texts.iter().map(spec).collect()
}

/// Structures for the tasks that were asked for, in a run by this plan; none where none were. `keeps_flows`: all packets of a flow
/// come to one receiver.
pub(crate) fn plan(
    specs: &[TaskSpec],
    config: &Config,
    plan: &Plan,
    keeps_flows: bool,
) -> Result<Option<Tasks>, Failure> {
    if specs.is_empty() {
        return Ok(None);
    }
    let setting = Setting {
        key: config.key,
        is_paired: config.parts.are_paired(),
        packets: match config.every {
            Every::Packets(packets) => Some(packets),
            Every::Time(_) => None,
        },
        workers: plan.counting(),
        scatters: plan.merges() || !keeps_flows,
        seed: config.seed,
    };
    let tasks = Tasks::plan(specs, &setting).map_err(|error| Failure::usage(format!("--task {error}")))?;
    let bytes = tasks.bytes(plan.counting());
    let allowed = config.limits.bytes_allowed() / 2;
    if bytes > allowed {
        return Err(Failure::usage(format!(
            "--task: the structures take {} MiB for {} worker(s), two windows each, and tables need half of --memory: raise it \
             to {} MiB, or give tasks less (memory=)",
            bytes.div_ceil(1 << 20),
            plan.counting(),
            2 * bytes.div_ceil(1 << 20)
        )));
    }
    Ok(Some(tasks))
}

/// Counts what tasks take, and the frames on a wire, into the run's memory. Each of them may have half of it by itself, as what
/// lies between cores may, which a run takes when it begins. The lease lasts as long as the run.
pub(crate) fn take_memory(config: &Config, plan: &Plan, frames: usize) -> Result<Lease, Failure> {
    let tasks = config.tasks.as_ref().map_or(0, |tasks| tasks.bytes(plan.counting()));
    let outputs = config.limits.bytes_used();
    let between = engine::ring_bytes(plan, config).saturating_add(engine::merging_bytes(plan));
    let all = [tasks, frames, between, outputs].into_iter().fold(0, usize::saturating_add);
    let lease = if all <= config.limits.bytes_allowed() { config.limits.lease(tasks + frames) } else { None };
    if let Some(lease) = lease {
        return Ok(lease);
    }
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    Err(Failure::usage(format!(
        "--memory {} MiB: tasks take {} MiB, frames on the wire {} MiB, rings and merging between cores {} MiB and outputs {} \
         MiB: raise it to {} MiB, or give tasks less (memory=)",
        config.limits.bytes_allowed() >> 20,
        mib(tasks),
        mib(frames),
        mib(between),
        mib(outputs),
        // What is left is for tables and queues, as in a run without all this.
        mib(all.saturating_add(machine::LEAST_MEMORY))
    )))
}

/// Prints the table of tasks and structures (Alipourfard et al., table 1).
pub(crate) fn print() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for kind in Kind::ALL {
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
         is expected\nto have. Fields of a key are joined by +. Example: --task heavy-hitters:key=src_addr+dst_port,share=0.2%,\
         memory=128KiB\n",
    );
    exit::print(&text)
}

/// What a task answers, and what can be said of it.
fn described(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::HeavyHitters => (
            "flows with much of the traffic; with prefixes, also prefixes that have much without those below them",
            "key=FIELDS by=packets|bytes share=0.2%|count=N top=N prefixes=8/16/24/32",
        ),
        Kind::SuperSpreaders => {
            ("sources with many destinations, or the reverse", "key=src_addr of=dst_addr count=1000 top=N")
        }
        Kind::FlowSizes => ("how many flows have how many packets", "key=FIELDS"),
        Kind::Change => (
            "flows that have much more or less than in the last window, or than the average of some",
            "key=FIELDS by=packets|bytes share=0.5%|count=N top=N against=last|average windows=4",
        ),
        Kind::Entropy => ("how evenly traffic is spread over flows, in bits", "key=FIELDS by=packets|bytes"),
        Kind::Quantiles => (
            "values that part the packets into shares",
            "key=src_addr|dst_addr|src_port|dst_port|size at=1%/25%/50%/75%/99%",
        ),
    }
}
