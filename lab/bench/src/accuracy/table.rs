//! The lines as Markdown tables (`results/`).

use super::metrics::AccuracyMetric;
use crate::BenchResult;
use crate::line::to_digits;
use serde_json::Value;

/// The entry where nothing was measured.
const NOTHING: &str = "–";
/// The main measure of a task: the first that it has.
const MAIN: [AccuracyMetric; 4] =
    [AccuracyMetric::RelativeError, AccuracyMetric::Wmre, AccuracyMetric::RankError, AccuracyMetric::F1];

/// Writes the tables of a run's lines.
pub(crate) fn markdown(lines: &[BenchResult]) -> String {
    let of_part = |part: &str| lines.iter().filter(|line| text(line, "part") == part).collect::<Vec<_>>();
    let mut page = String::new();
    promises(&mut page, &of_part("promise"));
    cost(&mut page, &of_part("cost"));
    speed(&mut page, &of_part("speed"));
    let memory = of_part("memory");
    for (task, lines) in by(&memory, &["task"]) {
        page.push_str(&format!("### By memory: {task}\n\n{}\n", stream_of(&lines)));
        page.push_str(&every_measure(&lines, "memory"));
    }
    let mut designs = of_part("design");
    let size = designs.first().map(|line| text(line, "memory"));
    designs.splice(0..0, memory.into_iter().filter(|line| Some(text(line, "memory")) == size));
    if size.is_some() {
        for (task, lines) in by(&designs, &["task"]) {
            page.push_str(&format!(
                "### By design: {task}, {}\n\n{}\n",
                text(lines[0], "memory"),
                stream_of(&lines)
            ));
            page.push_str(&pivot(&lines, "design"));
        }
    }
    for (title, lines) in by(&of_part("addresses"), &["task", "memory"]) {
        page.push_str(&format!("### By addresses: {title}\n\n{} packets, Zipf(1).\n\n", lines[0].packets));
        page.push_str(&pivot(&lines, "stream"));
    }
    tree(&mut page, &of_part("tree"));
    let skews = of_part("skew");
    for (title, lines) in by(&skews, &["task", "memory"]) {
        page.push_str(&format!(
            "### By skew: {title}\n\nFlows of {}, {} packets.\n\n",
            text(lines[0], "stream"),
            lines[0].packets
        ));
        page.push_str(&pivot(&lines, "zipf"));
    }
    page
}

fn member<'a>(line: &'a BenchResult, name: &str) -> Option<&'a Value> {
    line.params.iter().chain(&line.more).find(|(of, _)| *of == name).map(|(_, value)| value)
}

/// A parameter or another member, in readable form.
fn text(line: &BenchResult, name: &str) -> String {
    match member(line, name) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => NOTHING.to_owned(),
    }
}

/// Lines with the same of each of these, in the order of the first one of each.
fn by<'a>(lines: &[&'a BenchResult], names: &[&str]) -> Vec<(String, Vec<&'a BenchResult>)> {
    let mut groups: Vec<(String, Vec<&BenchResult>)> = Vec::new();
    for line in lines {
        let title = names.iter().map(|name| text(line, name)).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(of, _)| *of == title) {
            Some((_, group)) => group.push(line),
            None => groups.push((title, vec![line])),
        }
    }
    groups
}

/// Writes what the lines are about, in a sentence.
fn stream_of(lines: &[&BenchResult]) -> String {
    let seeds = lines.iter().filter_map(|line| member(line, "seeds")?.as_u64()).max().unwrap_or(0);
    let skew = match member(lines[0], "zipf") {
        Some(Value::Null) | None => String::new(),
        Some(zipf) => format!(", Zipf({zipf})"),
    };
    format!(
        "Windows of {} packets, {}{skew}; median of {seeds} seeds, least to most in brackets.\n",
        lines[0].packets,
        text(lines[0], "stream")
    )
}

fn table(headings: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", " --- |".repeat(headings.len()));
    row(headings) + &rule + &rows.iter().map(|cells| row(cells)).collect::<String>() + "\n"
}

/// A median, with its spread where it has one.
fn measure(line: &BenchResult, metric: AccuracyMetric) -> String {
    let [name, spread] = metric.names();
    let number = |value: &Value| value.as_f64().map(|value| short(value).to_string());
    let Some(middle) = member(line, name).and_then(number) else { return NOTHING.to_owned() };
    let spread: Vec<String> = member(line, spread)
        .and_then(Value::as_array)
        .map(|ends| ends.iter().filter_map(number).collect())
        .unwrap_or_default();
    match &spread[..] {
        [least, most] if least != most => format!("{middle} ({least} to {most})"),
        _ => middle,
    }
}

/// Three digits for large numbers, four decimal places for small ones.
fn short(value: f64) -> f64 {
    match value.abs() {
        size if size >= 100.0 => to_digits(value, 0),
        size if size >= 1.0 => to_digits(value, 2),
        _ => to_digits(value, 4),
    }
}

/// The measure that these lines are about.
fn main_of(lines: &[&BenchResult]) -> Option<AccuracyMetric> {
    let has = |metric: &AccuracyMetric| lines.iter().any(|line| member(line, metric.names()[0]).is_some());
    MAIN.into_iter().find(has)
}

fn mpps(line: &BenchResult) -> String {
    let mpps = line.mpps();
    if mpps.is_finite() { to_digits(mpps, 1).to_string() } else { NOTHING.to_owned() }
}

/// A line for each structure and all other differences between lines, with all measures.
fn every_measure(lines: &[&BenchResult], parameter: &str) -> String {
    let has = |metric: &AccuracyMetric| lines.iter().any(|line| member(line, metric.names()[0]).is_some());
    let metrics: Vec<AccuracyMetric> = AccuracyMetric::ALL.into_iter().filter(has).collect();
    let mut headings = vec!["structure".to_owned(), parameter.to_owned()];
    headings.extend(metrics.iter().map(|metric| metric.heading().to_owned()));
    headings.extend(["promised".to_owned(), "Mpps".to_owned()]);
    let answered = lines.iter().filter(|line| member(line, "refused").is_none());
    let mut answered: Vec<&BenchResult> = answered.copied().collect();
    answered.sort_by_key(|line| lines.iter().position(|first| first.variant == line.variant));
    let row = |line: &&BenchResult| {
        let mut cells = vec![variant(line), text(line, parameter)];
        cells.extend(metrics.iter().map(|metric| measure(line, *metric)));
        cells.extend([text(line, "promised_coverage"), mpps(line)]);
        cells
    };
    table(&headings, &answered.iter().map(row).collect::<Vec<_>>()) + &refusals(lines)
}

/// The structure; for the planner's choice, the chosen one.
fn variant(line: &BenchResult) -> String {
    match member(line, "chosen") {
        Some(Value::String(chosen)) => format!("{}: {chosen}", line.variant),
        _ => line.variant.clone(),
    }
}

/// Writes a table of one measure: structures by all other differences between the lines.
fn pivot(lines: &[&BenchResult], parameter: &str) -> String {
    let Some(metric) = main_of(lines) else { return format!("Nothing to measure.\n\n{}", refusals(lines)) };
    let columns: Vec<String> = by(lines, &[parameter]).into_iter().map(|(title, _)| title).collect();
    let mut headings = vec![metric.heading().to_owned()];
    headings.extend(columns.iter().cloned());
    let mut rows = Vec::new();
    for (structure, lines) in structures(lines) {
        let cell = |column: &String| {
            let line = lines.iter().find(|line| text(line, parameter) == *column);
            line.map_or(NOTHING.to_owned(), |line| match member(line, "refused") {
                Some(_) => "refused".to_owned(),
                None => measure(line, metric),
            })
        };
        let cells = std::iter::once(structure.clone()).chain(columns.iter().map(cell));
        rows.push(cells.collect());
    }
    table(&headings, &rows) + &refusals(lines)
}

fn structures<'a>(lines: &[&'a BenchResult]) -> Vec<(String, Vec<&'a BenchResult>)> {
    let mut groups: Vec<(String, Vec<&BenchResult>)> = Vec::new();
    for line in lines {
        match groups.iter_mut().find(|(of, _)| *of == line.variant) {
            Some((_, group)) => group.push(line),
            None => groups.push((line.variant.clone(), vec![line])),
        }
    }
    groups
}

/// Writes what was not possible, and why; each reason once.
fn refusals(lines: &[&BenchResult]) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for line in lines {
        if let Some(Value::String(why)) = member(line, "refused") {
            // Follows the requested value.
            let why = why.rsplit_once("structure=").map_or(why.as_str(), |(_, why)| why);
            let reason = if why.starts_with(&line.variant) {
                why.to_owned()
            } else {
                format!("{}: {why}", line.variant)
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    reasons.iter().map(|reason| format!("- refused: {reason}\n")).collect::<String>() + "\n"
}

fn promises(page: &mut String, lines: &[&BenchResult]) {
    if lines.is_empty() {
        return;
    }
    let headings = |first: &str| {
        [first, "memory", "measure", "asked", "median (least to most)", "holds"].map(str::to_owned).to_vec()
    };
    let row = |line: &&BenchResult, first: String| {
        let metric = AccuracyMetric::ALL.into_iter().find(|metric| metric.names()[0] == text(line, "of"));
        let asked = match metric {
            Some(AccuracyMetric::F1) => format!("at least {}", text(line, "asked")),
            _ => format!("at most {}", text(line, "asked")),
        };
        let holds = if text(line, "holds") == "true" { "yes" } else { "**no**" };
        vec![
            first,
            text(line, "memory"),
            metric.map_or(NOTHING, AccuracyMetric::heading).to_owned(),
            asked,
            metric.map_or(NOTHING.to_owned(), |metric| measure(line, metric)),
            holds.to_owned(),
        ]
    };
    let (planned, others): (Vec<&BenchResult>, Vec<&BenchResult>) =
        lines.iter().partition(|line| line.variant == "planner");
    page.push_str(&format!("### Promised\n\n{}\n", stream_of(lines)));
    let rows =
        planned.iter().map(|line| row(line, format!("{} ({})", text(line, "task"), text(line, "chosen"))));
    page.push_str(&table(&headings("task (the planner's choice)"), &rows.collect::<Vec<_>>()));
    page.push_str("In the same memory by each structure:\n\n");
    let answered = others.iter().filter(|line| member(line, "refused").is_none());
    let rows = answered.map(|line| row(line, format!("{}: {}", text(line, "task"), line.variant)));
    page.push_str(&table(&headings("task: structure"), &rows.collect::<Vec<_>>()));
    page.push_str(&refusals(lines));
}

/// Nanoseconds a packet, with the fastest and the slowest round.
fn ns(line: &BenchResult) -> String {
    let at = |index: usize| {
        line.rounds_ns.get(index).map_or(f64::NAN, |ns| to_digits(ns / line.packets as f64, 1))
    };
    let last = line.rounds_ns.len().saturating_sub(1);
    format!("{} ({} to {})", to_digits(line.ns_per_packet(), 1), at(0), at(last))
}

fn cost(page: &mut String, lines: &[&BenchResult]) {
    if lines.is_empty() {
        return;
    }
    page.push_str("### Six tasks at once\n\n");
    let headings =
        ["", "memory", "ns a packet", "times the plain record", "asked", "structures"].map(str::to_owned);
    let row = |line: &&BenchResult| {
        vec![
            line.variant.clone(),
            text(line, "memory"),
            ns(line),
            text(line, "times_plain"),
            text(line, "asked_times"),
            text(line, "chosen"),
        ]
    };
    page.push_str(&table(&headings, &lines.iter().map(row).collect::<Vec<_>>()));
}

fn tree(page: &mut String, lines: &[&BenchResult]) {
    if lines.is_empty() {
        return;
    }
    page.push_str("### Zooming tree: heavy sources and changes\n\n");
    let headings = [
        "leaves",
        "stride",
        "memory",
        "F1",
        "windows to settle",
        "windows to name the new source",
        "bits of its prefix when it came",
        "when it went",
        "Mpps",
    ]
    .map(str::to_owned);
    let row = |line: &&BenchResult| {
        let of = |name: &str| text(line, name).replace("null", NOTHING);
        vec![
            of("leaves"),
            of("stride"),
            of("memory"),
            measure(line, AccuracyMetric::F1),
            of("windows_to_settle"),
            of("windows_to_name"),
            of("bits_of_change_when_it_came"),
            of("bits_of_change_when_it_went"),
            mpps(line),
        ]
    };
    page.push_str(&table(&headings, &lines.iter().map(row).collect::<Vec<_>>()));
}

fn speed(page: &mut String, lines: &[&BenchResult]) {
    if lines.is_empty() {
        return;
    }
    page.push_str("### Hash table, Count-Min, heap\n\n");
    let headings = ["memory", "structure", "ns a packet", "times as fast as the next", "precision", "recall"]
        .map(str::to_owned);
    let row = |line: &&BenchResult| {
        vec![
            text(line, "memory"),
            line.variant.clone(),
            ns(line),
            text(line, "times_the_next"),
            measure(line, AccuracyMetric::Precision),
            measure(line, AccuracyMetric::Recall),
        ]
    };
    page.push_str(&table(&headings, &lines.iter().map(row).collect::<Vec<_>>()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(
        part: &str,
        variant: &str,
        memory: &str,
        design: &str,
        more: Vec<(&'static str, Value)>,
    ) -> BenchResult {
        BenchResult {
            bench: super::super::BENCH,
            variant: variant.to_owned(),
            params: vec![
                ("part", json!(part)),
                ("task", json!("entropy")),
                ("stream", json!("generated")),
                ("zipf", json!(1.0)),
                ("memory", json!(memory)),
                ("design", json!(design)),
            ],
            packets: 1_000,
            rounds_ns: vec![10_000.0, 20_000.0, 40_000.0],
            memory_bytes: None,
            checked: true,
            more,
        }
    }

    fn error(median: f64) -> Vec<(&'static str, Value)> {
        vec![
            ("seeds", json!(3)),
            ("relative_error", json!(median)),
            ("relative_error_spread", json!([median, median + 0.5])),
        ]
    }

    #[test]
    fn lines_become_tables() {
        let lines = [
            line("memory", "exact", "2 MiB", "one worker", error(0.0)),
            line("memory", "exact", "8 MiB", "one worker", error(0.25)),
            line(
                "memory",
                "planner",
                "2 MiB",
                "one worker",
                [error(0.0), vec![("chosen", json!("exact"))]].concat(),
            ),
            line("design", "exact", "2 MiB", "2 workers", error(0.125)),
            line("design", "planner", "2 MiB", "2 workers", vec![("refused", json!("it cannot"))]),
        ];
        let page = markdown(&lines);
        let expected = "\
### By memory: entropy

Windows of 1000 packets, generated, Zipf(1.0); median of 3 seeds, least to most in brackets.

| structure | memory | relative error | promised | Mpps |
| --- | --- | --- | --- | --- |
| exact | 2 MiB | 0 (0 to 0.5) | – | 50 |
| exact | 8 MiB | 0.25 (0.25 to 0.75) | – | 50 |
| planner: exact | 2 MiB | 0 (0 to 0.5) | – | 50 |

### By design: entropy, 2 MiB

Windows of 1000 packets, generated, Zipf(1.0); median of 3 seeds, least to most in brackets.

| relative error | one worker | 2 workers |
| --- | --- | --- |
| exact | 0 (0 to 0.5) | 0.125 (0.125 to 0.625) |
| planner | 0 (0 to 0.5) | refused |

- refused: planner: it cannot

";
        assert_eq!(page, expected);
        assert_eq!(markdown(&[]), "");
    }
}
