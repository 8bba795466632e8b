//! Windows and whole runs.

use crate::answer::answer_on;
use crate::head;
use crate::layout;
use crate::paper::Paper;
use crate::time::when;
use model::Totals;
use model::{Answer, AnswerStatus, OutputCounts, RunReport, Story, UndecidedReport, Window};
use notation::how_long;
use notation::{grouped, scaled};

/// Rows of an answer that are shown. The rankings of every run have their own limit and are shown whole; JSON
/// has all.
const MOST_ROWS: usize = 20;

/// Rankings by flow.
pub const BY_FLOW: [&str; 2] = ["top_bytes", "top_packets"];

/// The whole run on a terminal: lines, and the answers about the whole run as tables.
pub fn run_report(report: &RunReport, paper: Paper) -> String {
    let totals = report.answer("totals").map(Totals::from_answer);
    let mut lines = vec![head::sources(&report.source)];
    if let Some(span) = report.span() {
        lines.push(format!("time      {}", when(span)));
        lines.extend(totals.iter().map(|totals| head::traffic_of_run(totals, span, &report.packets)));
    }
    lines.extend(report.sampling.iter().map(head::sampling));
    lines.extend(head::account(&report.packets, report.loss.as_ref()));
    let downs = report.link_down.filter(|&downs| downs != 0);
    lines.extend(downs.map(|downs| format!("link      went down {downs} time(s)")));
    lines.extend(head::exporters(&report.exporters));
    lines.extend(report.wire.iter().flat_map(head::wire));
    lines.extend(head::design(&report.design));
    lines.extend(report.steps.iter().flat_map(head::steps));
    lines.extend(report.answer("tcp_loss").into_iter().flat_map(head::tcp_loss));
    lines.extend(head::tasks(&report.answers));
    let flows = &report.flows;
    lines.push(format!(
        "records   {} flow records, {} open at the end",
        grouped(flows.seen),
        grouped(flows.active)
    ));
    lines.extend(head::table_full(flows.table_full));
    lines.extend(head::hash_table(flows));
    for OutputCounts { output, exported, dropped } in &flows.outputs {
        if *dropped != 0 {
            let all = grouped(exported.saturating_add(*dropped));
            lines.push(format!("          {output} lacks {} of {all} records", grouped(*dropped)));
        }
    }
    let speed = report.rates.processed_per_second.map(|rate| scaled(rate, "pps") + ", ");
    lines.push(format!(
        "took      {}, {}{} MiB of tables and queues",
        how_long((report.elapsed_seconds * 1e9) as u64),
        speed.unwrap_or_default(),
        report.memory_bytes.div_ceil(1 << 20)
    ));
    if report.windows.unreported != 0 {
        lines.push(format!("          {} window reports were not shown", grouped(report.windows.unreported)));
    }
    // By flow is what conversations show already, of both directions.
    let has_conversations = report.answer("conversations").is_some();
    let is_shown = |answer: &&Answer| !(has_conversations && BY_FLOW.contains(&answer.query.as_str()));
    let of_run = report.answers.iter().filter(|answer| answer.window.is_none()).filter(is_shown);
    paper.lines(lines) + &tables(of_run, totals.as_ref(), paper)
}

/// Returns the reports of the nodes of a run with several, one after the other, then the answers about the whole run that are of several nodes.
pub fn nodes_report(report: &RunReport, paper: Paper) -> String {
    let node = |(name, node): (&String, &RunReport)| {
        let name = paper.strong(&format!("node      {name}"));
        format!("{name}\n{}\n", run_report(node, paper))
    };
    let nodes: String = report.nodes.iter().map(node).collect();
    let is_of_all = |answer: &&Answer| answer.window.is_none() && answer.node.is_none();
    match &*tables(report.answers.iter().filter(is_of_all), None, paper) {
        "" => nodes,
        of_all => format!("{nodes}{}\n{of_all}\n", paper.strong(&format!("nodes     {}", report.node))),
    }
}

/// Stories, each with the identifier of its first event and its title, and a line for each step.
pub fn stories(stories: &[Story], paper: Paper) -> String {
    // What a step says further is below it: each step begins with two blanks.
    let line = |line: &str| format!("{}\n", paper.wrapped(&format!("  {line}"), 4));
    let story = |story: &Story| {
        let title = story.title.iter().map(|title| format!("  {title}")).collect::<String>();
        let head = paper.strong(&paper.wrapped(&format!("story     {}{title}", story.id), 4));
        format!("{head}\n{}\n", story.text.lines().map(line).collect::<String>())
    };
    stories.iter().map(story).collect()
}

/// Conditions that some windows did not decide, a line each.
pub fn undecided(conditions: &[UndecidedReport]) -> String {
    let why = |reason: &str| match reason {
        "missing" => "missing".to_owned(),
        "coverage" => "with too much lost".to_owned(),
        "cut" => "cut, watched only in part".to_owned(),
        "partial" => "partial".to_owned(),
        "bounds" => "with bounds on both sides of it".to_owned(),
        other => other.to_owned(),
    };
    let line = |undecided: &UndecidedReport| {
        let UndecidedReport { query, condition, windows, reasons } = undecided;
        let reasons =
            reasons.nonzero().map(|(reason, windows)| format!("{} {}", grouped(windows), why(reason)));
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        format!("undecided {query}: {condition}: unknown in {} window(s): {reasons}\n", grouped(*windows))
    };
    conditions.iter().map(line).collect()
}

/// Returns one window for a terminal: lines, and all its answers as tables.
pub fn window_report(window: &Window, paper: Paper) -> String {
    if let Some(line) = empty(window) {
        return line;
    }
    let totals = window.answer("totals").map(Totals::from_answer);
    paper.lines(window_head(window))
        + &tables(window.answers.iter(), totals.as_ref(), paper)
        + &answers(&window.longer, paper)
}

/// Answers with the times of their windows, each time once.
pub fn answers<'a>(answers: impl IntoIterator<Item = &'a Answer>, paper: Paper) -> String {
    let mut last = None;
    let mut text = String::new();
    for one in answers {
        let window = one.window.map_or_else(String::new, when);
        match one.empty {
            Some(windows) => {
                let name = layout::name(one);
                let why = one.reason.iter().map(|reason| format!(" ({reason})")).collect::<String>();
                let what = if windows == 1 { "empty window" } else { "empty windows" };
                text.push_str(&format!("\n  {name}, {window}: {} {what}{why}\n", grouped(windows)));
            }
            None => {
                if last != Some(one.window) && one.window.is_some() {
                    text.push_str(&format!("\nwindow    {window}\n"));
                }
                last = Some(one.window);
                text.push_str(&answer_on(one, None, MOST_ROWS, paper));
            }
        }
    }
    text
}

/// Returns the lines at the head of a window's report.
pub(crate) fn window_head(window: &Window) -> Vec<String> {
    if let Some(line) = empty(window) {
        return vec![line.trim_end().to_owned()];
    }
    let totals = window.answer("totals").map(Totals::from_answer);
    let watched = window.watched.unwrap_or(window.span);
    let status = match window.status {
        AnswerStatus::Complete => "",
        AnswerStatus::Partial => ", partial",
        AnswerStatus::Cut => ", cut",
    };
    let mut lines = vec![format!("window    {}: {}{status}", window.index, when(window.span))];
    lines.extend(window.watched.map(|watched| format!("          watched {}", when(watched))));
    lines.extend(totals.iter().map(|totals| head::traffic_of_window(totals, watched)));
    let sampling = window.answer("totals").and_then(|totals| totals.sampling.as_ref());
    lines.extend(sampling.map(head::sampling));
    lines.extend(head::account(&window.packets, window.loss.as_ref()));
    lines.extend(head::table_full(window.table_full));
    lines.extend(window.answer("tcp_loss").into_iter().flat_map(head::tcp_loss));
    lines
}

/// Returns one window of a replay for a terminal: the answers that are not in the report at the end.
pub fn window_answers(window: &Window, paper: Paper) -> String {
    if let Some(line) = empty(window) {
        return line;
    }
    let totals = window.answer("totals").map(Totals::from_answer);
    let watched = window.watched.unwrap_or(window.span);
    let packets = grouped(window.packets.received);
    let own = window.answers.iter().filter(|answer| !layout::is_continuous(&answer.query));
    format!("window    {}: {packets} packets, {}\n", window.index, when(watched))
        + &tables(own, totals.as_ref(), paper)
        + &answers(&window.longer, paper)
}

/// A run of empty windows in one line.
fn empty(window: &Window) -> Option<String> {
    let count = grouped(window.empty?);
    Some(format!("window    {}: {count} empty, {}\n", window.index, when(window.span)))
}

/// The answers as tables; rankings without rows are omitted.
fn tables<'a>(answers: impl Iterator<Item = &'a Answer>, totals: Option<&Totals>, paper: Paper) -> String {
    let mut text = String::new();
    for one in answers.filter(|answer| !layout::is_head(&answer.query)) {
        let is_standing = layout::is_continuous(&one.query);
        if is_standing && one.rows.is_empty() {
            continue;
        }
        text.push('\n');
        text.push_str(&answer_on(one, totals, if is_standing { usize::MAX } else { MOST_ROWS }, paper));
    }
    text
}
