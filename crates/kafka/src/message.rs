//! The form of a message, and answers and events as messages.

use crate::form::{MessageKind, MessageValue, SCHEMA};
use model::{Answer, Event};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The longest JSON of a message, bytes, where it can be split: by default a broker takes a mebibyte at once.
const MOST_BYTES: usize = 512 << 10;
/// Bytes of a digest that are the identifier: no two contents that anybody can find have the same.
const ID_BYTES: usize = 20;

/// The kind of a message's content, which decides its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Answers of queries.
    Answers,
    /// Events.
    Events,
    /// Window rows.
    Rows,
}

impl Topic {
    /// The topics of all messages.
    pub const ALL: [Self; 3] = [Self::Answers, Self::Events, Self::Rows];

    /// The last part of the topic's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Events => "events",
            Self::Rows => "rows",
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The topic that the message goes to.
    pub topic: Topic,
    /// A digest of what it says: the same whenever the same is sent.
    pub id: String,
    /// Messages of one key stay in their order.
    pub key: String,
    /// JSON.
    pub value: Vec<u8>,
}

impl Message {
    /// The memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.id.len() + self.key.len() + self.value.len()
    }
}

/// An answer as messages: one, or where it is long several, each with some of the rows.
///
/// # Errors
/// In words: it cannot be written as JSON.
pub fn encode_answer(answer: &Answer) -> Result<Vec<Message>, String> {
    let mut texts = Vec::new();
    split(answer, &mut texts).map_err(|error| format!("{}: {error}", answer.query))?;
    let key = format!("{}/{}", answer.query, answer.node.as_deref().unwrap_or("*"));
    let parts = texts.len();
    let texts = texts.iter().enumerate();
    let messages = texts.map(|(at, text)| message(Topic::Answers, &key, [at, parts], text));
    messages.collect::<serde_json::Result<_>>().map_err(|error| format!("{}: {error}", answer.query))
}

/// Rows of a window in the form of an answer, as one part of several: its number, and the number of parts.
///
/// # Errors
/// See [`encode_answer`].
pub(crate) fn encode_rows_part(rows: &Answer, part: usize, parts: usize) -> Result<Message, String> {
    let node = rows.node.as_deref().unwrap_or("*");
    let text = to_raw_value(rows).and_then(|text| message(Topic::Rows, node, [part, parts], &text));
    text.map_err(|error| format!("{}: {error}", rows.query))
}

/// An event as a message.
///
/// # Errors
/// See [`encode_answer`].
pub fn encode_event(event: &Event) -> Result<Message, String> {
    let node = event.node.as_deref().unwrap_or("*");
    let written = || {
        let text = to_raw_value(event)?;
        let id = id_of(Topic::Events, [0, 0], text.get());
        let form = MessageValue {
            schema: SCHEMA,
            kind: MessageKind::Event,
            id: &id,
            part: None,
            parts: None,
            answer: None,
            event: Some(&text),
        };
        let value = serde_json::to_vec(&form)?;
        Ok(Message { topic: Topic::Events, id, key: format!("{}/{node}", event.query), value })
    };
    written().map_err(|error: serde_json::Error| format!("{}: {error}", event.event))
}

/// The message with the JSON of an answer, or of rows in its form. `part`: its number among the parts, from 0.
fn message(
    topic: Topic,
    key: &str,
    [part, parts]: [usize; 2],
    text: &RawValue,
) -> serde_json::Result<Message> {
    let part = part + 1;
    let id = id_of(topic, [part, parts], text.get());
    let form = MessageValue {
        schema: SCHEMA,
        kind: if topic == Topic::Rows { MessageKind::Rows } else { MessageKind::Answer },
        id: &id,
        part: Some(part),
        parts: Some(parts),
        answer: Some(text),
        event: None,
    };
    let value = serde_json::to_vec(&form)?;
    Ok(Message { topic, id, key: key.to_owned(), value })
}

/// The JSON of the answer, halved until every piece is short enough or has a single row.
fn split(answer: &Answer, texts: &mut Vec<Box<RawValue>>) -> serde_json::Result<()> {
    let text = to_raw_value(answer)?;
    if text.get().len() <= MOST_BYTES || answer.rows.len() < 2 {
        texts.push(text);
        return Ok(());
    }
    for rows in answer.rows.chunks(answer.rows.len().div_ceil(2)) {
        let mut piece = Answer { rows: rows.to_vec(), ..without_rows(answer) };
        // What is said of all packets is said once.
        if !texts.is_empty() {
            piece.account = None;
        }
        split(&piece, texts)?;
    }
    Ok(())
}

/// Copies an answer without its rows, which may be many.
fn without_rows(answer: &Answer) -> Answer {
    Answer {
        query: answer.query.clone(),
        node: answer.node.clone(),
        bound: answer.bound.clone(),
        window: answer.window,
        status: answer.status,
        late: answer.late,
        revision: answer.revision,
        watched: answer.watched,
        empty: answer.empty,
        missing: answer.missing.clone(),
        coverage: answer.coverage,
        class: answer.class,
        levels: answer.levels.clone(),
        sampling: answer.sampling,
        rest: answer.rest.clone(),
        bounds: answer.bounds.clone(),
        columns: answer.columns.clone(),
        reason: answer.reason.clone(),
        task: answer.task.clone(),
        account: answer.account.clone(),
        rows: Vec::new(),
    }
}

/// A digest of what a message says and of its place among others. Not any quick hash: who is measured must not be able to have two
/// messages taken for one.
fn id_of(topic: Topic, place: [usize; 2], text: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(format!("{SCHEMA} {} {} {} ", topic.name(), place[0], place[1]));
    digest.update(text);
    let mut id = String::with_capacity(2 * ID_BYTES);
    for byte in &digest.finalize()[..ID_BYTES] {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Column, ColumnKind, Sampling, Span, Value};

    const SAMPLING: Sampling = Sampling { share: 0.5, least: 0.5, greatest: 0.5, lost: 3 };

    fn answer(rows: u64, text: usize) -> Answer {
        let columns =
            vec![Column::new("n", ColumnKind::Unsigned, ""), Column::new("text", ColumnKind::Text, "")];
        let rows = (0..rows).map(|n| vec![Value::Unsigned(n), Value::Text("x".repeat(text))]).collect();
        let mut answer = Answer::new("q", Some(Span { start_ns: 0, end_ns: 10 }), columns, rows);
        answer.node = Some("Node1".to_owned());
        answer.sampling = Some(SAMPLING);
        answer
    }

    /// The rows of messages, put together again.
    fn rows(messages: &[Message]) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let json: serde_json::Value = serde_json::from_slice(&message.value).expect("JSON");
            assert_eq!(json["part"], at + 1);
            assert_eq!(json["parts"], messages.len());
            assert_eq!(json["id"], message.id.as_str());
            let answer: Answer = serde_json::from_value(json["answer"].clone()).expect("an answer");
            assert_eq!(answer.sampling, Some(SAMPLING));
            rows.extend(answer.rows);
        }
        rows
    }

    #[test]
    fn long_answers_are_split_and_have_all_rows() {
        for (count, text, least, most) in
            [(0, 0, 1, 1), (1, 600 << 10, 1, 1), (3, 10, 1, 1), (5, 300 << 10, 5, 5), (4_000, 1_000, 8, 16)]
        {
            let answer = answer(count, text);
            let messages = encode_answer(&answer).expect("messages");
            assert!((least..=most).contains(&messages.len()), "{count} rows: {} messages", messages.len());
            assert!(messages.len() == 1 || messages.iter().all(|one| one.value.len() < MOST_BYTES + 1_000));
            assert_eq!(rows(&messages), answer.rows);
            assert!(messages.iter().all(|message| message.key == "q/Node1"));
        }
    }

    #[test]
    fn the_same_has_the_same_identifier_and_nothing_else_has() {
        let ids = |answer: &Answer| -> Vec<String> {
            encode_answer(answer).expect("messages").into_iter().map(|message| message.id).collect()
        };
        let one = answer(3, 1);
        assert_eq!(ids(&one), ids(&one.clone()));
        assert_eq!(ids(&one)[0].len(), 2 * ID_BYTES);
        for change in [
            |answer: &mut Answer| answer.node = None,
            |answer: &mut Answer| answer.revision = 1,
            |answer: &mut Answer| answer.window = None,
            |answer: &mut Answer| answer.rows[0][0] = Value::Unsigned(7),
        ] {
            let mut other = one.clone();
            change(&mut other);
            assert_ne!(ids(&one), ids(&other));
        }
        // Two parts with equal rows are two messages.
        let mut equal = answer(2, 400 << 10);
        equal.rows[1] = equal.rows[0].clone();
        let equal = ids(&equal);
        assert!(equal.len() == 2 && equal[0] != equal[1]);
        // Nor are rows an answer.
        assert_ne!(encode_rows_part(&one, 0, 1).expect("a message").id, ids(&one)[0]);
    }
}
