//! The view of one thing alone: an answer, a query, a story, an event or a node.

use crate::chains;
use crate::model::ViewModel;
use crate::nodes;
use crate::now;
use crate::row::{Tone, ViewLine, ViewTarget};
use model::view::{NodeView, QueryView};
use model::{Event, Item, format_time};
use notation::how_long;
use terminal::moment;

/// Rows of an answer that are shown; JSON has all.
const MOST_ROWS: usize = 1_000;

/// Returns the lines of a thing; one that says so where it is not there any more. Long texts go on in further lines.
pub(crate) fn rows(model: &ViewModel, target: &ViewTarget, columns: usize) -> Vec<ViewLine> {
    let found = match target {
        ViewTarget::Answer(..) => answer(model, target, columns),
        ViewTarget::Query(name) => model.queries.iter().find(|query| query.name == *name).map(query),
        ViewTarget::Story(id) => story(model, id),
        ViewTarget::Event(id) => {
            model.events().find(|told| told.event.event == *id).map(|told| event(&told.event, &told.text))
        }
        ViewTarget::Node(name) => {
            let found = model.status.nodes.iter().find(|node| node.name == *name);
            found.map(|found| node(model, found))
        }
    };
    let rows = found.unwrap_or_else(|| vec![ViewLine::plain("It is not there any more.")]);
    rows.into_iter().flat_map(|row| wrapped(row, columns)).collect()
}

/// Breaks a line into lines of at most `columns` characters. Lines of tables are not broken.
fn wrapped(row: ViewLine, columns: usize) -> Vec<ViewLine> {
    let is_table = row.text.starts_with("  ");
    if columns < 4 || is_table || row.text.chars().count() <= columns {
        return vec![row];
    }
    notation::wrapped(&row.text, columns).into_iter().map(|line| ViewLine::new(row.tone, line)).collect()
}

fn lines(text: &str) -> impl Iterator<Item = ViewLine> + '_ {
    text.lines().map(ViewLine::plain)
}

fn answer(model: &ViewModel, target: &ViewTarget, columns: usize) -> Option<Vec<ViewLine>> {
    let answer = model.answers().find(|answer| now::target(answer) == *target)?;
    let paper = terminal::Paper::terminal(columns, false);
    let text = terminal::answer_on(answer, model.totals_of(answer).as_ref(), MOST_ROWS, paper);
    let mut rows: Vec<ViewLine> = lines(&text).collect();
    if let Some(heading) = rows.first_mut() {
        heading.tone = Tone::Strong;
        heading.text.push_str(&now::suffix(model, answer));
    }
    Some(rows)
}

fn query(query: &QueryView) -> Vec<ViewLine> {
    let mut rows =
        vec![ViewLine::new(Tone::Strong, format!("{}, {}", query.name, chains::state(query.state)))];
    rows.extend(lines(&query.text));
    let mut say = |name: &str, text: String| rows.push(ViewLine::plain(format!("{name:<10}{text}")));
    say("nodes", query.nodes.join(", "));
    if let Some(every) = query.every_ns {
        say("window", format!("every {}", how_long(every)));
    }
    if let Some(trigger) = &query.trigger {
        say("parent", trigger.parent.clone());
        say("when", trigger.condition.clone());
        if trigger.for_ns != 0 {
            say("for", how_long(trigger.for_ns));
        }
        say("runs", if trigger.run_ns == 0 { "one window".to_owned() } else { how_long(trigger.run_ns) });
        if trigger.cooldown_ns != 0 {
            say("quiet", format!("{} after it fired", how_long(trigger.cooldown_ns)));
        }
        if let Some(until) = &trigger.until {
            say("until", until.clone());
        }
        for edge in &trigger.edges {
            let place = edge.node.as_deref().unwrap_or("all nodes together");
            let since = edge.since_ns.map(|since| format!(", since {}", moment(since))).unwrap_or_default();
            let until = edge.until_ns.map(|until| format!(", until {}", moment(until))).unwrap_or_default();
            let phase = chains::phase(edge.phase);
            say("phase", format!("{phase} for {} key(s) on {place}{since}{until}", edge.keys));
        }
    }
    for run in &query.runs {
        say("run", format!("{} to {}, by the event {}", moment(run.start_ns), moment(run.end_ns), run.cause));
    }
    for answer in &query.latest {
        rows.push(ViewLine::default());
        rows.extend(lines(&terminal::answers([answer], terminal::Paper::PLAIN)));
    }
    rows
}

fn story(model: &ViewModel, id: &str) -> Option<Vec<ViewLine>> {
    let story = model.stories().find(|story| story.id == id)?;
    let seen = if story.is_acknowledged { ", seen" } else { "" };
    let silent = if story.is_silent { ", silent" } else { "" };
    let title = format!("Story {}, {} event(s){seen}{silent}", story.id, story.events);
    let mut rows = vec![ViewLine::new(Tone::Strong, title)];
    rows.extend(story.title.iter().flat_map(|title| lines(title)));
    rows.extend(lines(&story.text));
    Some(rows)
}

fn event(event: &Event, text: &str) -> Vec<ViewLine> {
    let mut rows = vec![ViewLine::new(Tone::Strong, format!("Event {}, {}", event.event, event.kind.name()))];
    rows.extend(lines(text));
    let mut say = |name: &str, text: String| rows.push(ViewLine::plain(format!("{name:<10}{text}")));
    say("query", event.query.clone());
    say("node", event.node.clone().unwrap_or_else(|| "all nodes together".to_owned()));
    say("at", moment(event.at_ns));
    if let Some(window) = event.window {
        say("window", terminal::when(window));
    }
    event.key.iter().for_each(|item| say("key", named(item)));
    event.values.iter().for_each(|item| say("value", named(item)));
    event.threshold.iter().for_each(|threshold| say("threshold", threshold.to_string()));
    let coverage = event.coverage.map(|coverage| format!("{:.2} %", coverage * 100.0));
    say("coverage", coverage.unwrap_or_else(|| "unknown".to_owned()));
    if event.late {
        say("late", "its window came after its time".to_owned());
    }
    event.parent.iter().for_each(|parent| say("parent", format!("the event {parent}")));
    rows
}

/// An item as `name value`.
fn named(item: &Item) -> String {
    format!("{} {}", item.column.name, terminal::item_text(item))
}

fn node(model: &ViewModel, node: &NodeView) -> Vec<ViewLine> {
    let mut rows = Vec::new();
    for (name, text) in nodes::named(model, node) {
        let tone = if rows.is_empty() { Tone::Strong } else { Tone::Plain };
        rows.push(ViewLine::new(tone, format!("{name:<14}{text}")));
    }
    let mut say = |name: &str, text: String| rows.push(ViewLine::plain(format!("{name:<14}{text}")));
    if let Some(site) = node.site.as_ref().and_then(terminal::site) {
        say("site", site);
    }
    say("sources", node.sources.join(", "));
    if let Some(seen) = node.seen_ns {
        say("heard of", format_time(seen));
    }
    if let Some(window) = node.window {
        say("last window", terminal::when(window));
    }
    if node.packets.remarks.total() != 0 {
        let remarks = node.packets.remarks.nonzero().map(|(name, count)| format!("{count} {name}"));
        say("remarks", remarks.collect::<Vec<_>>().join(", "));
    }
    for gap in &node.gaps {
        say("gap", format!("{} to {}: {}", moment(gap.start_ns), moment(gap.end_ns), gap.reason));
    }
    rows
}
