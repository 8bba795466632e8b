//! The report as tables for a terminal.

use crate::report::{BurstSearch, FigureSummary, Rfc2544Report, SizeFigures};
use crate::search::FigureLimit;
use crate::settings::Test;
use crate::trial::TrialOutcome;
use notation::{computed_time_text, grouped, grouped_decimal, how_long, scaled, time_text, trimmed};
use std::fmt::Write;
use terminal::figure_table;

/// The text of a table of all sizes.
type TableText = fn(&[SizeFigures]) -> String;

/// Returns the report as text: a table for each test, and remarks on what they leave open.
pub fn report_text(report: &Rfc2544Report) -> String {
    let settings = &report.settings;
    let mut text = format!(
        "RFC 2544: {} to {}, {} on the link, trials of {}, {} lost frames tolerated\n",
        report.tx,
        report.rx,
        scaled(settings.link_bits_per_second as f64, "bps"),
        how_long(settings.trial_ns),
        share(f64::from(settings.tolerance_ppm) / 1e6),
    );
    let tables: [(Test, TableText); 4] = [
        (Test::Throughput, throughput_table),
        (Test::Latency, latency_table),
        (Test::FrameLoss, loss_table),
        (Test::BackToBack, burst_table),
    ];
    for (_, table) in tables.into_iter().filter(|&(test, _)| settings.has(test)) {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", table(&report.sizes));
    }
    let remarks = remarks(report);
    if !remarks.is_empty() {
        text.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(text, "{remark}");
    }
    text
}

fn throughput_table(sizes: &[SizeFigures]) -> String {
    let rows = sizes.iter().filter_map(|size| {
        let found = size.throughput.as_ref()?;
        Some(vec![
            size.frame_size.to_string(),
            grouped(size.maximum),
            bounded(grouped(found.frames_per_second), found.limit),
            share(found.share),
            scaled(found.bits_per_second as f64, "bps"),
            limit_name(found.limit).into(),
            reached(&found.trials),
        ])
    });
    let columns =
        ["size", "maximum/s", "throughput/s", "share", "on the link", "limited by", "rates reached"];
    figure_table("Throughput (section 26.1), frames", &columns, rows.collect())
}

fn latency_table(sizes: &[SizeFigures]) -> String {
    let rows = sizes.iter().filter_map(|size| {
        let found = size.latency.as_ref()?;
        let tagged = |of: fn(&FigureSummary) -> f64| {
            found.tagged.as_ref().map_or("none".into(), |figure| computed_time_text(of(figure)))
        };
        let of_all = |ns: Option<u64>| ns.map_or("none".into(), time_text);
        Some(vec![
            size.frame_size.to_string(),
            grouped(found.rate),
            reached(&found.trials),
            tagged(|figure| figure.mean),
            tagged(|figure| figure.min as f64),
            tagged(|figure| figure.max as f64),
            found.tagged.map_or(0, |figure| figure.repetitions).to_string(),
            of_all(found.least_ns),
            of_all(found.greatest_ns),
        ])
    });
    let columns = [
        "size",
        "rate/s",
        "rate reached",
        "latency",
        "least",
        "most",
        "trials",
        "least of all",
        "most of all",
    ];
    figure_table("Latency at the throughput (section 26.2)", &columns, rows.collect())
}

fn loss_table(sizes: &[SizeFigures]) -> String {
    let steps = sizes.iter().flat_map(|size| size.frame_loss.iter().flat_map(|found| &found.steps));
    let rows = steps.map(|step| {
        let trial = &step.trial;
        let loss = match (step.loss_of_device, step.loss) {
            (Some(least), Some(most)) if least < most => format!("{} to {}", share(least), share(most)),
            (_, Some(loss)) => share(loss),
            _ => "none sent".into(),
        };
        vec![
            trial.frame_size.to_string(),
            share(step.share),
            grouped(trial.rate),
            grouped(trial.offered_rate),
            yes(trial.rate_reached),
            grouped(trial.sent),
            grouped(trial.received),
            loss,
        ]
    });
    let columns = ["size", "rate", "frames/s", "offered/s", "reached", "sent", "received", "loss"];
    figure_table("Frame loss rate (section 26.3)", &columns, rows.collect())
}

fn burst_table(sizes: &[SizeFigures]) -> String {
    let rows = sizes.iter().filter_map(|size| {
        let found = size.back_to_back.as_ref()?;
        // A mean over lower bounds is one, even if only one of its figures is a bound.
        let limit = [FigureLimit::Tester, FigureLimit::Maximum, FigureLimit::Device]
            .into_iter()
            .find(|limit| found.bursts.iter().any(|burst| burst.limit == *limit))
            .unwrap_or(FigureLimit::Ended);
        let figure = |of: fn(&FigureSummary) -> f64| {
            found.frames.as_ref().map_or("none".into(), |figure| grouped_decimal(of(figure), 1))
        };
        Some(vec![
            size.frame_size.to_string(),
            found.frames.map_or("none".into(), |figure| bounded(grouped_decimal(figure.mean, 1), limit)),
            figure(|figure| figure.min as f64),
            figure(|figure| figure.max as f64),
            grouped(found.longest_tried),
            found.offered_rate.map_or("none".into(), |rate| grouped_decimal(rate, 0)),
            reached(found.bursts.iter().flat_map(|burst| &burst.trials)),
            limit_name(limit).into(),
            found.frames.map_or(0, |figure| figure.repetitions).to_string(),
        ])
    });
    let columns = [
        "size",
        "frames",
        "least",
        "most",
        "longest tried",
        "offered/s",
        "rates reached",
        "limited by",
        "repetitions",
    ];
    figure_table("Back-to-back frames (section 26.4)", &columns, rows.collect())
}

/// Returns remarks on the figures, a line for each.
fn remarks(report: &Rfc2544Report) -> Vec<String> {
    let trials = || report.sizes.iter().flat_map(SizeFigures::trials);
    let sum = |of: fn(&TrialOutcome) -> u64| trials().map(of).sum::<u64>();
    let mut remarks = Vec::new();
    let limits = report.sizes.iter().flat_map(|size| {
        let bursts = size.back_to_back.iter().flat_map(|found| &found.bursts).map(|burst| burst.limit);
        size.throughput.iter().map(|found| found.limit).chain(bursts)
    });
    if limits.clone().any(|limit| limit == FigureLimit::Tester) {
        remarks.push(
            "limited by the tester: its ports could not offer more, or may have lost the frames themselves; the device does at least what \
             the figure says"
                .into(),
        );
    }
    if limits.clone().any(|limit| limit == FigureLimit::Ended) {
        remarks.push("a search ended with the run: the device does at least what its figure says".into());
    }
    let is_zero = |size: &SizeFigures| {
        let has_no_burst = |burst: &BurstSearch| burst.frames == 0 && burst.limit != FigureLimit::Ended;
        size.throughput.as_ref().is_some_and(|found| found.frames_per_second == 0)
            || size.back_to_back.iter().flat_map(|found| &found.bursts).any(has_no_burst)
    };
    if report.sizes.iter().any(is_zero) {
        remarks.push(
            "a figure of 0: nothing that was tried passed; a finer --resolution tries less, --tolerance accepts some loss".into(),
        );
    }
    let counts: [(&str, u64); 7] = [
        ("perhaps lost by the sending port", sum(|trial| trial.lost_by_sender)),
        ("perhaps lost by the receiving port", sum(|trial| trial.lost_by_receiver)),
        ("received twice", sum(|trial| trial.duplicates)),
        ("received out of order", sum(|trial| trial.reordered)),
        ("received with another length", sum(|trial| trial.wrong_length)),
        ("received after the end of their trial", sum(|trial| trial.late)),
        ("foreign, not counted", sum(|trial| trial.foreign)),
    ];
    let present: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{} {name}", grouped(*count)))
        .collect();
    let (sent, received, lost) =
        (sum(|trial| trial.sent), sum(|trial| trial.received), sum(|trial| trial.lost));
    remarks.push(format!(
        "frames of all trials: {} sent, {} received, {} lost{}{}",
        grouped(sent),
        grouped(received),
        grouped(lost),
        if present.is_empty() { "" } else { "; " },
        present.join(", ")
    ));
    let longest = trials().map(|trial| trial.longest_delay_ns).max().unwrap_or(0);
    remarks.push(format!(
        "frames left up to {} after they were due; those that follow a late one come in a burst",
        time_text(longest)
    ));
    remarks
}

/// A figure, as a lower bound where it is one.
fn bounded(figure: String, limit: FigureLimit) -> String {
    match limit {
        FigureLimit::Device => figure,
        FigureLimit::Tester | FigureLimit::Maximum | FigureLimit::Ended => format!("≥ {figure}"),
    }
}

fn limit_name(limit: FigureLimit) -> &'static str {
    match limit {
        FigureLimit::Device => "device",
        FigureLimit::Tester => "tester",
        FigureLimit::Maximum => "maximum",
        FigureLimit::Ended => "early end",
    }
}

/// Returns of how many trials the rate was reached.
fn reached<'a>(trials: impl IntoIterator<Item = &'a TrialOutcome>) -> String {
    let (mut reached, mut all) = (0, 0);
    for trial in trials {
        reached += usize::from(trial.rate_reached);
        all += 1;
    }
    format!("{reached} of {all}")
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.into()
}

fn share(share: f64) -> String {
    format!("{} %", trimmed(share * 100.0, 3))
}
