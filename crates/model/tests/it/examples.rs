//! The examples of `docs/report.md`: each has its schema, and is read and written unchanged.

use crate::schema::{of_line, of_report};
use model::{Answer, Event, RunReport};
use serde_json::Value as Json;

const PAGE: &str = include_str!("../../../../docs/report.md");

#[test]
fn the_examples_of_the_page() {
    let blocks = PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().expect("a block"));
    let mut kinds = [0; 3];
    for block in blocks {
        let json: Json = serde_json::from_str(block).expect("JSON");
        let (kind, refusal, written) = if json.get("event").is_some() {
            let event: Event = serde_json::from_str(block).expect("an event");
            (0, of_line(&json), serde_json::to_string(&event))
        } else if json.get("query").is_some() {
            let answer: Answer = serde_json::from_str(block).expect("an answer");
            (1, of_line(&json), serde_json::to_string(&answer))
        } else {
            let report: RunReport = serde_json::from_str(block).expect("a report");
            (2, of_report(&json), serde_json::to_string(&report))
        };
        assert_eq!(refusal, None);
        let without_space = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(without_space(&written.expect("JSON")), without_space(block));
        kinds[kind] += 1;
    }
    assert_eq!(kinds, [1, 3, 1]);
}
