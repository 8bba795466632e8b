//! An alert, as Alertmanager has it: labels that say which one it is, and annotations that say what of it.

use crate::bounded::bounded;
use model::{Event, Value};
use notation::{encoded, label_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Characters of a label's value, and of an annotation's.
const LONGEST_LABEL: usize = 1_024;
const LONGEST_ANNOTATION: usize = 4_096;
/// Labels that mean something else.
const TAKEN: [&str; 2] = ["alertname", "node"];

/// The labels and the page that alerts have in addition to what events say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// Labels of every alert, as `severity`. Those of events go before them.
    pub labels: BTreeMap<String, String>,
    /// The address of the web page: alerts link to the events of their query.
    pub page: Option<String>,
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// The labels that identify the alert. Names are letters, digits and `_`; values are any text.
    pub labels: BTreeMap<String, String>,
    /// The annotations that describe the alert.
    pub annotations: BTreeMap<String, String>,
    /// The address of the events of its query.
    pub link: Option<String>,
    /// The time when the alert began, nanoseconds since the epoch.
    pub starts_ns: u64,
}

impl Alert {
    /// The alert of a firing. `sentence`: the event with its figures in a sentence. The summary is the event's title.
    ///
    /// Its labels are `alertname` (the query), `node` (none of answers across nodes) and the members of the key under their names. Members
    /// whose names are no labels, or mean something else, begin with `key_`.
    pub fn from_event(event: &Event, sentence: &str, extra: &Extra) -> Self {
        let mut labels = BTreeMap::new();
        labels.insert("alertname".to_owned(), bounded(&event.query, LONGEST_LABEL));
        labels.extend(event.node.as_ref().map(|node| ("node".to_owned(), bounded(node, LONGEST_LABEL))));
        for item in &event.key {
            let mut name = label_name(&item.column.name);
            if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || TAKEN.contains(&name.as_str())
            {
                name = format!("key_{name}");
            }
            while labels.contains_key(&name) {
                name.push('_');
            }
            labels.insert(name, bounded(&text(&item.value), LONGEST_LABEL));
        }
        for (name, value) in &extra.labels {
            labels.entry(name.clone()).or_insert_with(|| bounded(value, LONGEST_LABEL));
        }
        // To Alertmanager a label without a value is none.
        labels.retain(|_, value| !value.is_empty());
        let mut annotations = BTreeMap::new();
        let mut note =
            |name: String, value: &str| annotations.insert(name, bounded(value, LONGEST_ANNOTATION));
        note("summary".to_owned(), event.title.as_deref().unwrap_or(sentence));
        note("description".to_owned(), sentence);
        note("event".to_owned(), &event.event);
        for item in &event.values {
            note(format!("value_{}", label_name(&item.column.name)), &text(&item.value));
        }
        if let Some(threshold) = event.threshold {
            note("threshold".to_owned(), &threshold.to_string());
        }
        if let Some(coverage) = event.coverage {
            note("coverage".to_owned(), &coverage.to_string());
        }
        let page = extra.page.as_ref().map(|page| page.trim_end_matches('/'));
        let link = page.map(|page| format!("{page}/events?query={}", encoded(&event.query)));
        Self { labels, annotations, link, starts_ns: event.at_ns }
    }

    /// Returns the alert in the JSON of the API. `ends_ns` is the time when it ended, or until when it is to fire if nothing more is heard of
    /// it. An alert that has begun after that time began then: clocks differ.
    pub(crate) fn json(&self, ends_ns: u64) -> serde_json::Value {
        let mut json = serde_json::json!({
            "labels": self.labels,
            "annotations": self.annotations,
            "startsAt": model::format_time(self.starts_ns.min(ends_ns)),
            "endsAt": model::format_time(ends_ns),
        });
        if let (Some(link), Some(object)) = (&self.link, json.as_object_mut()) {
            object.insert("generatorURL".to_owned(), link.as_str().into());
        }
        json
    }
}

/// A value as JSON has it; of a text what it says, of null nothing; of an estimate the value.
fn text(value: &Value) -> String {
    if let Value::Estimate { value, .. } = value {
        return value.to_string();
    }
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Null) | Err(_) => String::new(),
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind, EventKind, Item};

    /// A firing of `who` on `node` for these members.
    fn event(key: &[(&str, &str)]) -> Event {
        let item = |(name, value): &(&str, &str)| Item {
            column: Column::new(*name, ColumnKind::Text, ""),
            value: Value::Text((*value).into()),
        };
        Event {
            event: "0123456789abcdef".to_owned(),
            kind: EventKind::Fired,
            query: "who".to_owned(),
            fired_by: Some("q1".to_owned()),
            key: key.iter().map(item).collect(),
            node: Some("Node\"1\nü".to_owned()),
            at_ns: 1_000_000_000,
            window: None,
            values: vec![Item {
                column: Column::new("count(src_addr)", ColumnKind::Unsigned, ""),
                value: Value::Unsigned(7),
            }],
            threshold: Some(5.0),
            late: false,
            coverage: None,
            bounds: None,
            parent: None,
            title: None,
        }
    }

    #[test]
    fn labels_say_which_alert_it_is_whatever_their_values() {
        let hostile = "a\"b\\c\nd} 1\n# TYPE x\tü{{ template }}";
        let event = event(&[
            ("dst_addr", hostile),
            ("node", "own"),
            ("24", "x"),
            ("a.b", "1"),
            ("a-b", "2"),
            ("none", ""),
        ]);
        let extra = Extra {
            labels: [("severity".to_owned(), "page".to_owned()), ("dst_addr".to_owned(), "no".to_owned())]
                .into(),
            page: Some("https://edison.example.org/".to_owned()),
        };
        let alert = Alert::from_event(&event, "who fired.", &extra);
        let labels: Vec<(&str, &str)> =
            alert.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let expected = [
            ("a_b", "1"),
            ("a_b_", "2"),
            ("alertname", "who"),
            ("dst_addr", hostile),
            ("key_24", "x"),
            ("key_node", "own"),
            ("node", "Node\"1\nü"),
            ("severity", "page"),
        ];
        assert_eq!(labels, expected);
        assert_eq!(alert.annotations["value_count_src_addr_"], "7");
        assert_eq!(alert.annotations["threshold"], "5");
        assert_eq!(alert.link.as_deref(), Some("https://edison.example.org/events?query=who"));
        let json = alert.json(61_000_000_000);
        assert_eq!(json["startsAt"], "1970-01-01T00:00:01.000000000Z");
        assert_eq!(json["endsAt"], "1970-01-01T00:01:01.000000000Z");
        // This machine's clock shows an earlier time than the node's clock.
        assert_eq!(alert.json(5)["startsAt"], "1970-01-01T00:00:00.000000005Z");
    }

    #[test]
    fn texts_are_bounded() {
        let long = "x".repeat(70_000);
        let alert = Alert::from_event(&event(&[("k", &long)]), &long, &Extra::default());
        assert_eq!(alert.labels["k"].chars().count(), LONGEST_LABEL);
        assert_eq!(alert.annotations["summary"].chars().count(), LONGEST_ANNOTATION);
        assert_eq!(alert.link, None);
    }
}
