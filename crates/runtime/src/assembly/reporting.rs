//! The results of a run: the report of what was measured, the exit code, and what is shown at the end.

use crate::assembly::measurement::MeasurementResult;
use crate::assembly::parallel;
use crate::assembly::steps;
use crate::exit::{self, FAULT, Failure, say_error};
use crate::sinks::screen;
use crate::sinks::standard_output::StandardOutput;
use crate::sinks::{Sink, Sinks};
use crate::spec::RunSpec;
use crate::verdict::ExitStatus;
use engine::OutputsResult;
use model::{Amount, Answer, FlowCounts, Rates, RunEvents, RunReport, Sampling, WindowCounts, WireReport};
use port::wire::WireCounters;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Shows the report, gives it to the sinks, and returns the exit code. `closing`: what stands in its place behind the stories, where nothing was
/// measured.
pub(super) fn finish(
    options: &RunSpec,
    mut report: RunReport,
    closing: Option<String>,
    sinks: &Sinks,
    verdict: &ExitStatus,
) -> Result<ExitCode, Failure> {
    let have_outputs_failed = !report.faults.is_empty();
    report.faults = verdict.lines.iter().cloned().chain(report.faults).collect();
    if StandardOutput::from_spec(options).has_tables && !options.output.json {
        let paper = top::paper();
        let stories = terminal::stories(&report.occurrences.stories, paper);
        let more = || format!("{stories}{}", terminal::undecided(&report.occurrences.undecided));
        exit::print(&match (closing, report.nodes.is_empty()) {
            (Some(closing), _) => stories + &closing,
            (None, true) => match &*more() {
                "" => terminal::run_report(&report, paper),
                more => format!("{}\n{more}", terminal::run_report(&report, paper)),
            },
            (None, false) => terminal::nodes_report(&report, paper) + &more(),
        })?;
    }
    for line in &report.faults {
        say_error(line);
    }
    sinks.report(&report)?;
    let code = if have_outputs_failed { FAULT } else { verdict.code };
    Ok(ExitCode::from(code))
}

/// Prints the answers over the whole run as lines of JSON.
pub(crate) fn print_whole(report: &RunReport, is_asked: bool) -> Result<(), Failure> {
    let lines = screen::whole(report, is_asked);
    let text = screen::json_lines(lines.iter()).map_err(|error| Failure::fault(error.to_string()))?;
    exit::print(&text).map(|_| ())
}

/// The report of one node, what the user should know of outputs, and how the sources ended.
pub(crate) struct NodeOutcome {
    pub(crate) report: RunReport,
    /// Answers of windows that the end of the run cut.
    pub(crate) longer: Vec<Answer>,
    pub(crate) warnings: Vec<String>,
    pub(crate) verdict: ExitStatus,
}

impl NodeOutcome {
    /// Reports on a node that was measured. `is_unread`: all that was asked for went to a reader that has left.
    pub(crate) fn from_measured(measured: MeasurementResult, is_unread: bool) -> Self {
        let MeasurementResult { outcome, node, names, plan, wire, are_captures, routers } = measured;
        let verdict = ExitStatus::from_outcome(&outcome, are_captures && !is_unread);
        let unread = outcome.unread(are_captures && !is_unread);
        let ended = outcome.ended;
        let finished = outcome.records.finish();
        let OutputsResult {
            exported,
            dropped,
            outputs,
            mut answers,
            mut longer,
            untold_of_totals,
            unreported,
            warnings,
            faults,
        } = finished;
        let unlisted = unlisted_packets(&ended.flows);
        let mut totals = engine::totals(None, &ended.totals, unlisted, ended.sampled.as_ref());
        totals.node = Some(node.clone());
        totals.mark_untold(&untold_of_totals);
        let exporters = routers.map_or_else(Vec::new, |(exporters, qualities)| {
            qualities.mark(std::slice::from_mut(&mut totals));
            qualities.mark(&mut answers);
            qualities.mark(&mut longer);
            exporters
        });
        mark_approximate(&mut totals, &mut answers, &ended.flows);
        if let Some(why) = unread {
            let all = answers.iter_mut().chain(&mut longer).chain([&mut totals]);
            all.for_each(|answer| answer.mark_partial(&why));
        }
        let received = ended.packets.received;
        totals.coverage = outcome.loss.as_ref().map(|loss| model::coverage(received, loss.total()));
        answers.iter_mut().for_each(|answer| answer.coverage = totals.coverage);
        let elapsed_seconds = outcome.elapsed.as_secs_f64();
        let steps = steps::report(&outcome.steps, received, outcome.loss.as_ref());
        // Of a sample: of all packets.
        let (packets, wire_bytes) = match &ended.sampled {
            None => {
                let wire_bytes = Some(ended.totals.wire_bytes).filter(|bytes| *bytes != flow::NULL);
                (ended.totals.packets, wire_bytes)
            }
            Some(sampled) => (
                sampled.packets(ended.totals.packets as f64).value as u64,
                Some(sampled.wire_bytes(ended.totals.wire_bytes as f64).value as u64),
            ),
        };
        let measured = Amount { packets, wire_bytes, span: ended.totals.span() };
        let report = RunReport {
            source: names,
            node,
            started_ns: ended.span.map(|span| span.start_ns),
            ended_ns: ended.span.map(|span| span.end_ns),
            windows: WindowCounts { unreported: outcome.unreported + unreported, ..ended.windows },
            rates: Rates::new(&measured, ended.packets.received, elapsed_seconds),
            packets: ended.packets,
            loss: outcome.loss,
            sampling: ended.sampled.as_ref().map(Sampling::from),
            flows: FlowCounts { exported, dropped, outputs, ..ended.flows },
            memory_bytes: ended.memory_bytes,
            answers: [totals].into_iter().chain(answers).collect(),
            occurrences: RunEvents::default(),
            nodes: BTreeMap::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: std::env::args().collect(),
            elapsed_seconds,
            link_down: outcome.link_downs,
            exporters,
            design: parallel::report(&plan),
            wire: wire.map(|wire| wire_report(wire.total())),
            steps,
            tuning: None,
            faults,
            answers_unlisted: 0,
        };
        Self { report, longer, warnings, verdict }
    }
}

/// Returns the number of packets each of which may be of a flow without a record: those without a place, and those in the records of other flows.
fn unlisted_packets(flows: &FlowCounts) -> u64 {
    flows.table_full + flows.hash_table.as_ref().map_or(0, |table| table.shared_packets)
}

/// Says in all answers how well a table tells flows apart that knows them by a hash. Where packets are in the records of other flows, no values of
/// flows have bounds.
fn mark_approximate(totals: &mut Answer, answers: &mut [Answer], flows: &FlowCounts) {
    let Some(table) = &flows.hash_table else { return };
    let how_good = table.describe(flows.table_full);
    totals.remark(&how_good);
    for answer in answers {
        match table.shared_packets {
            0 => answer.remark(&how_good),
            _ => answer.estimates(&how_good),
        }
    }
}

fn wire_report(counters: WireCounters) -> WireReport {
    WireReport {
        offered: counters.offered,
        delivered: counters.delivered,
        imissed: counters.imissed,
        offered_clock_stopped: counters.offered_clock_stopped,
        imissed_clock_stopped: counters.imissed_clock_stopped,
        gaps: counters.gaps,
        gap_ns: counters.gap_ns,
        longest_gap_ns: counters.longest_gap_ns,
        rx_nombuf: counters.rx_nombuf,
    }
}
