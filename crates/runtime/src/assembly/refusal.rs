//! The refusals of the engine, in the words of the command line.

use crate::exit::Failure;
use engine::admission::{self, Admission, EveryPacket, OneReceiver, Ordered, RunRefusal, SourceProperties};
use engine::{Design, MeasurementConfig, ResolvedDesign, StartError, StatePlacement};
use task::TaskSpec;

/// Admits a run, or prints all reasons why not.
pub(crate) fn admit(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    specs: &[TaskSpec],
    site: &SourceProperties,
) -> Result<Admission, Failure> {
    admission::admit(config, plan, specs, site).map_err(|refusals| failure(&refusals))
}

/// Wrong usage, with a line for each reason.
pub(crate) fn failure(refusals: &[RunRefusal]) -> Failure {
    Failure::usages(refusals.iter().map(words))
}

/// Returns why a run that was admitted cannot begin.
pub(crate) fn not_begun(error: &StartError) -> Failure {
    let StartError::Tables(memory) = error else { return Failure::fault(error) };
    Failure::fault(match memory.cause() {
        Some(_) => format!("{memory}; lower --memory or --max-flows"),
        None => {
            let mib = mib(memory.bytes());
            format!("--memory leaves no {mib} MiB for shared state: raise it, or lower --max-flows")
        }
    })
}

fn mib(bytes: usize) -> usize {
    bytes.div_ceil(1 << 20)
}

// Long: one match, a case for each refusal, which is a line of text.
/// Returns a line that says what is not possible, why, and the options that would allow it.
fn words(refusal: &RunRefusal) -> String {
    match refusal {
        RunRefusal::TooFewCores { asked, allowed } => {
            format!("--cores {asked}: there are {allowed}; --design NxM may have more threads than that")
        }
        RunRefusal::NoSuchCore { .. } => format!("--cores: {refusal}"),
        RunRefusal::DesignNeedsCores { design, least, given } => {
            format!("--design {design} needs {least} cores at least, --cores gives {given}")
        }
        RunRefusal::DesignHasCores { design, cores, given } => {
            format!("--design {design} has {cores} core(s), --cores gives {given}")
        }
        RunRefusal::TooFewQueues { design, receivers, queues } => format!(
            "--design {design} has {receivers} receivers, but the source has {queues} queue(s): take at most as many, or --design \
             async"
        ),
        RunRefusal::ReplaysApart { queues, receivers } => format!(
            "--wire without a rate replays each of its {queues} queues by itself: take as many receivers (--design rss --cores \
             {queues}, --design {queues}x1), or queues={receivers}"
        ),
        RunRefusal::NeedsOrder { what, state, .. } => {
            let (way, why, instead) = match state {
                StatePlacement::Separate => ("--split position", "spreads them over cores", "--split hash"),
                StatePlacement::Shared => {
                    ("--state shared", "keeps what has no order only", "--state separate")
                }
            };
            let part = match what {
                Ordered::Loss => "--loss",
                Ordered::Biflow => "--biflow",
                Ordered::Statistic(metric) => metric.option(),
                Ordered::HashTable => "--table",
                Ordered::Timeouts => {
                    return format!(
                        "timeouts end records by the order of a flow's packets, but {way} {why}: switch them off (--idle-timeout \
                         off --active-timeout off), or take {instead}"
                    );
                }
            };
            format!(
                "{part} needs a flow's packets on one core and in their order, but {way} {why}: take {instead}"
            )
        }
        RunRefusal::SamplingNeedsWorkers { design } => {
            let why = match design {
                Design::Sync => "has the core that receives wait for the others",
                _ => "counts on the core that receives",
            };
            format!(
                "a sample (--tee, --adapt) is handed over to another core, but --design {design} {why}: take async, pipeline or NxM, or leave out \
                 --design"
            )
        }
        RunRefusal::NeedsEveryPacket { what } => {
            let (option, why) = match what {
                EveryPacket::Loss => {
                    ("--loss", "finds losses in the sequence numbers of all packets of a connection")
                }
                EveryPacket::Biflow => {
                    ("--biflow", "tells the directions of a connection apart by its first packet")
                }
                EveryPacket::Statistic(metric) => {
                    (metric.option(), "is of two packets of a flow in sequence")
                }
            };
            format!("{option} {why}, and a sample (--tee, --adapt) lacks some: leave out one of them")
        }
        RunRefusal::NeedsOneReceiver { what, design, receivers } => {
            let of_key;
            let (option, why) = match what {
                OneReceiver::WindowsOfPackets => ("--every", "in packets counts all frames in their order"),
                OneReceiver::PacketLimit => ("--packets", "counts all frames in their order"),
                OneReceiver::DurationOfReplay => {
                    ("--duration", "of a replay begins with its first frame, which one receiver sees")
                }
                OneReceiver::Gap => ("--gap", "counts all frames between two of a flow"),
                OneReceiver::InnerTunnel => (
                    "--tunnel inner",
                    "needs inner flows on one core, and queues are chosen by the outer header",
                ),
                OneReceiver::Key(field) => {
                    of_key = format!(
                        "needs a flow on one core, and queues are chosen by {field}, which it lacks or has a part of (--rss, else the \
                         5-tuple)"
                    );
                    ("--key", of_key.as_str())
                }
            };
            format!(
                "{option} {why}, but --design {design} has {receivers} receivers: take one, for instance by --design async"
            )
        }
        RunRefusal::LossNeedsConnections => {
            "--loss follows TCP connections: leave out --key, whose flows are none".to_owned()
        }
        RunRefusal::KeyNotSymmetric { reason } => format!("--biflow joins two directions: {reason}"),
        RunRefusal::DirectionsApart { directions } => format!(
            "--loss and --biflow need both directions of a connection on one core, and {directions}: take one receiver, for \
             instance by --design async"
        ),
        RunRefusal::FallsSilent { merging } => {
            let what = match merging {
                Some((split, state)) => format!("--split {split} --state {state}"),
                None => "--task and queries with 'using' or 'error'".to_owned(),
            };
            format!(
                "{what}: receivers wait for one another at each window's end, but a replay by a port that has ended stays silent: \
                 take one receiver, for instance by --design async, or read the files themselves"
            )
        }
        RunRefusal::Task { reason } => format!("--task {reason}"),
        RunRefusal::Query { reason } => reason.clone(),
        RunRefusal::TooLittleMemory { allowed, least } => {
            format!("--memory {allowed}: the least is {} MiB", least >> 20)
        }
        RunRefusal::RingsTooLarge { bytes } => format!(
            "the rings between cores take {} MiB: lower --ring, or raise --memory to twice that",
            mib(*bytes)
        ),
        RunRefusal::MergingTooLarge { bytes, split, state, workers } => format!(
            "--split {split} --state {state} begins with {} MiB for {workers} workers and merging: raise --memory to twice that",
            mib(*bytes)
        ),
        RunRefusal::TasksTooLarge { bytes, workers } => format!(
            "the structures of tasks and queries take {} MiB for {workers} worker(s), two windows each, and tables need half of --memory: \
             raise it to {} MiB, or give them less (memory=)",
            mib(*bytes),
            2 * mib(*bytes)
        ),
        RunRefusal::MemoryExceeded { allowed, tasks, frames, between_cores, outputs, enough } => format!(
            "--memory {} MiB: tasks take {} MiB, frames on the wire {} MiB, rings and merging between cores {} MiB and outputs {} \
             MiB: raise it to {} MiB, or give tasks less (memory=)",
            allowed >> 20,
            mib(*tasks),
            mib(*frames),
            mib(*between_cores),
            mib(*outputs),
            mib(*enough)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::admission::Directions;
    use engine::{Design, Split};
    use flow::Metric;

    #[test]
    fn refusals_say_what_is_possible() {
        let order = |what, state| RunRefusal::NeedsOrder { what, split: Split::Position, state };
        let timeouts = &["--idle-timeout off --active-timeout off", "--state separate"][..];
        let one = |what| RunRefusal::NeedsOneReceiver { what, design: Design::Rss, receivers: 2 };
        let queues = |receivers, queues| RunRefusal::TooFewQueues { design: Design::Rss, receivers, queues };
        let needs = |design| RunRefusal::DesignNeedsCores { design, least: 2, given: 1 };
        let has = |design, cores, given| RunRefusal::DesignHasCores { design, cores, given };
        let (split, state, workers) = (Split::Position, StatePlacement::Separate, 3);
        for (refusal, said) in [
            (RunRefusal::TooFewCores { asked: 5, allowed: 4 }, &["--cores 5", "there are 4", "NxM"][..]),
            (
                RunRefusal::NoSuchCore { core: 2, allowed: vec![0, 1, 4, 5] },
                &["--cores: ", "no core 2", "0,1,4,5"],
            ),
            (queues(3, 2), &["3 receivers", "2 queue", "at most", "async"]),
            (needs(Design::Async), &["--design async needs 2 cores", "--cores gives 1"]),
            (has(Design::Pipeline, 2, 3), &["--design pipeline has 2 core", "--cores gives 3"]),
            (RunRefusal::ReplaysApart { queues: 2, receivers: 1 }, &["2 queues", "--cores 2", "queues=1"]),
            (
                order(Ordered::Loss, StatePlacement::Separate),
                &["--loss needs", "--split position", "--split hash"],
            ),
            (order(Ordered::Biflow, StatePlacement::Shared), &["--biflow needs", "--state separate"]),
            (order(Ordered::Statistic(Metric::Gap), StatePlacement::Shared), &["--gap needs"]),
            (order(Ordered::Statistic(Metric::Size), StatePlacement::Shared), &["--packet-size needs"]),
            (
                order(Ordered::Statistic(Metric::InterArrival), StatePlacement::Shared),
                &["--inter-arrival needs"],
            ),
            (order(Ordered::Timeouts, StatePlacement::Shared), timeouts),
            (one(OneReceiver::WindowsOfPackets), &["--every in packets", "2 receivers", "--design async"]),
            (one(OneReceiver::PacketLimit), &["--packets counts"]),
            (one(OneReceiver::DurationOfReplay), &["--duration of a replay"]),
            (one(OneReceiver::Gap), &["--gap counts"]),
            (one(OneReceiver::InnerTunnel), &["--tunnel inner needs"]),
            (one(OneReceiver::Key("dst_addr")), &["--key needs", "chosen by dst_addr, which it lacks"]),
            (RunRefusal::LossNeedsConnections, &["--loss", "--key"]),
            (RunRefusal::KeyNotSymmetric { reason: "both ports" }, &["--biflow", "both ports"]),
            (
                RunRefusal::DirectionsApart { directions: Directions::Apart },
                &["--biflow", "--loss", "--design async"],
            ),
            (
                RunRefusal::FallsSilent { merging: Some((split, state)) },
                &["--split position --state separate:"],
            ),
            (RunRefusal::FallsSilent { merging: None }, &["--task and queries", "--design async"]),
            (RunRefusal::Task { reason: "entropy: no".to_owned() }, &["--task entropy: no"]),
            (RunRefusal::Query { reason: "q1: no".to_owned() }, &["q1: no"]),
            (RunRefusal::TooLittleMemory { allowed: 7, least: 48 << 20 }, &["--memory 7:", "48 MiB"]),
            (RunRefusal::RingsTooLarge { bytes: (1 << 20) + 1 }, &["2 MiB", "--ring", "--memory"]),
            (
                RunRefusal::MergingTooLarge { bytes: 1 << 20, split, state, workers },
                &["--split position --state separate", "1 MiB for 3 workers", "--memory"],
            ),
            (
                RunRefusal::TasksTooLarge { bytes: 1 << 20, workers },
                &["the structures of tasks", "1 MiB for 3", "raise it to 2 MiB"],
            ),
        ] {
            let line = words(&refusal);
            assert!(said.iter().all(|word| line.contains(word)), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }
}
