//! Answers of tasks as people read them.

use super::{Align, KeyColumns, Right, Table};
use crate::report::{
    EstimatedFlow, QuantileRow, RunReport, SizeClass, TaskAnswer, TaskRows, WindowReport, size_classes,
};
use flow::Estimate;
use notation::grouped;

/// Rows of an answer that are shown; reports have all.
const MOST_ROWS: usize = 20;

/// The answers of a window.
pub fn task_answers(report: &WindowReport) -> String {
    let mut text = String::new();
    for answer in &report.tasks {
        text.push('\n');
        table(answer).render(&mut text);
        let more = answer.rows.len().saturating_sub(MOST_ROWS);
        if more > 0 {
            text.push_str(&format!("  … and {more} more\n"));
        }
    }
    text
}

/// One window of a replay, whose tables are those of the run.
pub fn window_tasks(report: &WindowReport) -> String {
    let packets = grouped(report.packets.received);
    format!(
        "window    {}: {packets} packets over {:.3} s\n{}",
        report.index,
        report.span.seconds(),
        task_answers(report)
    )
}

/// What counted each task of a run, and why.
pub(super) fn choices(report: &RunReport) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (_, answer) in &report.tasks {
        let line = format!("task      {}: {}", answer.note.task, answer.note.why);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn table(answer: &TaskAnswer) -> Table {
    let note = &answer.note;
    let mut heading = format!("{}  [{}; bounds: {}]", note.task, note.structure, answer.bounds());
    if answer.status != "ok" {
        heading.push_str(&format!("\n  {}", answer.status));
    }
    let (columns, rows) = match &answer.rows {
        &TaskRows::Flows { ref key, figure, is_hierarchy, ref flows } => {
            let key = KeyColumns::new(key);
            let mut columns: Vec<_> = key.headings().collect();
            columns.extend(is_hierarchy.then_some(("prefix", Right)));
            columns.extend(figures(heading_of(figure)));
            columns.extend(is_hierarchy.then_some(("own", Right)));
            let row = |flow: &EstimatedFlow| {
                let prefix = flow.prefix.map(|length| format!("/{length}"));
                let own = flow.own.map(|own| number(own.value));
                key.cells(Some(flow.key))
                    .into_iter()
                    .chain(prefix)
                    .chain(cells(&flow.estimate))
                    .chain(own)
                    .collect()
            };
            (columns, flows.iter().take(MOST_ROWS).map(row).collect())
        }
        TaskRows::Sizes(sizes) => {
            let row = |class: SizeClass| {
                let sizes = if class.least == class.most {
                    grouped(class.most)
                } else {
                    format!("{} to {}", grouped(class.least), grouped(class.most))
                };
                vec![sizes, number(class.flows)]
            };
            let columns = vec![("packets of a flow", Right), ("flows", Right)];
            (columns, size_classes(sizes).into_iter().take(MOST_ROWS).map(row).collect())
        }
        TaskRows::Entropy(bits) => {
            let cells = |bits: &Estimate| {
                let bounds = bits.bounds.map(|b| [format!("{:.4}", b.lower), format!("{:.4}", b.upper)]);
                let [lower, upper] = bounds.unwrap_or_default();
                vec![format!("{:.4}", bits.value), lower, upper]
            };
            (figures("bits").into(), bits.iter().map(cells).collect())
        }
        TaskRows::Quantiles { of, quantiles } => {
            let row = |row: &QuantileRow| {
                let bounds = row.bounds.map(|(lower, upper, _)| [lower.to_string(), upper.to_string()]);
                let [lower, upper] = bounds.unwrap_or_default();
                vec![format!("{} %", (row.share * 1e6).round() / 1e4), row.value.to_string(), lower, upper]
            };
            let [value, lower, upper] = figures(of);
            (vec![("share", Right), value, lower, upper], quantiles.iter().take(MOST_ROWS).map(row).collect())
        }
    };
    Table { heading, columns, rows }
}

fn heading_of(figure: &'static str) -> &'static str {
    match figure {
        "total_count" => "packets",
        "total_byte" => "bytes",
        other => other,
    }
}

fn figures(name: &'static str) -> [(&'static str, Align); 3] {
    [(name, Right), ("at least", Right), ("at most", Right)]
}

fn cells(estimate: &Estimate) -> [String; 3] {
    let bounds = estimate.bounds.map(|bounds| [number(bounds.lower), number(bounds.upper)]);
    let [lower, upper] = bounds.unwrap_or_default();
    [number(estimate.value), lower, upper]
}

/// Rounded; what is infinite is not known.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(value.abs().round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Point, TaskNote, Whole};
    use packet::KeySpec;

    fn text(rows: TaskRows, status: &str) -> String {
        let note = TaskNote {
            task: "some:task".to_owned(),
            structure: "a table".to_owned(),
            why: String::new(),
            memory_bytes: 1,
            total: Whole(7),
            lost: None,
        };
        let mut text = String::new();
        table(&TaskAnswer { name: "some", note, status: status.to_owned(), rows }).render(&mut text);
        text
    }

    #[test]
    fn rows_of_all_kinds_have_their_bounds_beside_them() {
        let estimate = Estimate::bounded(-1234.4, -2000.0, f64::INFINITY, 0.95);
        let flow = EstimatedFlow { key: packet::FlowKey::default(), prefix: None, estimate, own: None };
        let key = KeySpec::parse("protocol").expect("a key");
        let shown = text(
            TaskRows::Flows { key, figure: "change", is_hierarchy: false, flows: vec![flow] },
            "cut short",
        );
        assert!(
            shown.contains("some:task  [a table; bounds: each with a probability of 0.950, of what was seen]\n  cut short"),
            "{shown}"
        );
        assert!(
            shown.contains("change  at least  at most") && shown.contains("-1,234    -2,000        ?"),
            "{shown}"
        );
        let shown = text(TaskRows::Entropy(Some(Estimate::exact(1.5))), "ok");
        assert!(
            shown.contains("bounds: exact, of what was seen") && shown.contains("1.5000    1.5000   1.5000"),
            "{shown}"
        );
        let shown = text(TaskRows::Sizes(vec![(3, 1.6), (4, 1.0)]), "ok");
        assert!(shown.contains("3 to 4      3") && shown.contains("bounds: none"), "{shown}");
        let value = Point::Address("10.0.0.1".parse().expect("an address"));
        let row = QuantileRow { share: 0.5, value, bounds: Some((value, value, 1.0)) };
        let shown = text(TaskRows::Quantiles { of: "src_addr", quantiles: vec![row] }, "ok");
        assert!(shown.contains("50 %  10.0.0.1  10.0.0.1  10.0.0.1"), "{shown}");
        assert!(text(TaskRows::Entropy(None), "ok").contains("bits"));
    }
}
