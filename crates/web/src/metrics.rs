//! `/metrics`: the state of the moment and the answers of `export as metric`, as Prometheus reads them. `docs/metrics.md` has all names.

mod exported;
mod state;
mod text;

use crate::Hub;
use crate::event_counts::EventCounts;
pub(crate) use text::CONTENT_TYPE;
use text::{MetricType, Text};

/// Returns the metrics of a hub.
pub(crate) fn render(hub: &Hub) -> String {
    let mut text = Text::default();
    state::write(&mut text, &hub.status());
    write_events(&mut text, &hub.event_counts());
    hub.with_queries(|queries| exported::write(&mut text, queries));
    text.end()
}

fn write_events(text: &mut Text, counts: &EventCounts) {
    let help = "Events since the start, by the query whose state changed and by kind.";
    let mut family = text.family("edison_events_total", MetricType::Counter, help);
    for ((query, kind), count) in counts {
        family.count(&[("query", query), ("kind", kind)], *count);
    }
}
