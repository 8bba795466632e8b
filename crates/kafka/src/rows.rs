//! Window rows of a store's file as messages.
//!
//! A window of many rows is several messages. Which rows are in which depends on their keys alone, and within a message they are in the order
//! of keys: whether a segment or the file that took its place is read, the messages are the same, and so are their identifiers.

use crate::message::{Message, encode_rows_part};
use crate::partition;
use flow::{
    Aggregation, BatchRows, FIELDS, Field, FlowKey, FlowRecord, LossCounts, Part, RowValue, WindowRow,
    row_columns,
};
use model::{Answer, AnswerStatus, Class, Column, Sampling, Span, Value};
use packet::{Key, KeySpec};
use record::read::{Contents, FlowFile, ReadError, ReadProjection};
use record::{WindowFacts, record_of_row};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

/// Rows of a message, about: keys share them out.
const ROWS: u64 = 1_000;

/// A share of the messages of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowMessageRange {
    /// The begin of the window.
    pub(crate) start_ns: u64,
    /// The number of messages that the window has.
    pub(crate) parts: usize,
    /// The numbers of the messages that are wanted.
    pub(crate) wanted: Range<usize>,
}

/// The number of messages that a window takes, by its number of rows.
pub(crate) fn parts_of(rows: u64) -> usize {
    usize::try_from(rows.div_ceil(ROWS)).unwrap_or(usize::MAX)
}

/// The windows of a file that begin after a time, and the rows of each.
pub(crate) fn windows(file: &mut FlowFile, after_ns: Option<u64>) -> Result<BTreeMap<u64, u64>, ReadError> {
    let wanted = ReadProjection { columns: vec![RowValue::Time], ..ReadProjection::default() };
    let mut windows = BTreeMap::new();
    let first = after_ns.map_or(0, |after| after.saturating_add(1));
    for part in parts_within(file.contents(), first..=u64::MAX) {
        file.read_part(part, &wanted, &mut |block| {
            for time in
                [block.v4.column(RowValue::Time), block.v6.column(RowValue::Time)].into_iter().flatten()
            {
                if *time >= first && *time != flow::NULL {
                    *windows.entry(*time).or_default() += 1;
                }
            }
            true
        })?;
    }
    Ok(windows)
}

/// The parts of a file that may have rows of a time.
fn parts_within(contents: &Contents, times: std::ops::RangeInclusive<u64>) -> Vec<usize> {
    let has = |part: &record::read::FilePart| {
        part.times.is_none_or(|[first, last]| first <= *times.end() && last >= *times.start())
    };
    contents.parts.iter().enumerate().filter(|(_, part)| has(part)).map(|(number, _)| number).collect()
}

/// The messages of these shares, in their order.
pub(crate) fn messages(
    file: &mut FlowFile,
    node: &str,
    shares: &[WindowMessageRange],
) -> Result<Vec<Message>, String> {
    let contents = file.contents();
    let (key, tracked) = (contents.key, contents.tracked);
    let form = RowColumns::new(contents);
    let length_ns = contents.window_ns.unwrap_or(0);
    let facts = |start_ns: u64| {
        let known = contents.windows.as_ref().and_then(|windows| windows.since(start_ns));
        known.filter(|(start, _)| *start == start_ns).map(|(_, facts)| facts.clone()).unwrap_or_default()
    };
    let facts: Vec<WindowFacts> = shares.iter().map(|share| facts(share.start_ns)).collect();
    let buckets = Buckets::read(file, shares, &key, tracked).map_err(|error| error.to_string())?;
    let mut messages = Vec::new();
    for ((share, facts), mut rows) in shares.iter().zip(facts).zip(buckets.0) {
        let span = Span { start_ns: share.start_ns, end_ns: share.start_ns.saturating_add(length_ns) };
        for (part, rows) in share.wanted.clone().zip(&mut rows) {
            rows.sort_by_key(|record| record.key);
            let rows = rows.iter().map(|record| form.row(record)).collect();
            let mut answer = Answer::new("rows", Some(span), form.columns.clone(), rows);
            answer.node = Some(node.to_owned());
            describe(&mut answer, &facts);
            messages.push(encode_rows_part(&answer, part, share.parts)?);
        }
    }
    Ok(messages)
}

/// Says what the window lacks, and of which sample its rows are.
fn describe(answer: &mut Answer, facts: &WindowFacts) {
    if let Some([start_ns, end_ns]) = facts.watched {
        answer.status = AnswerStatus::Cut;
        answer.watched = Some(Span { start_ns, end_ns });
    }
    if facts.refused_rows != 0 {
        answer.mark_partial(&format!("{} rows could not be handed over", facts.refused_rows));
    }
    if facts.incomplete {
        answer.mark_partial("what it was imported from may lack rows");
    }
    if facts.without_place[0] != 0 {
        answer.mark_partial(&format!("{} packets found no place in the table", facts.without_place[0]));
    }
    answer.mark_untold(&facts.untold);
    if let Some(sample) = facts.sample.filter(|sample| !sample.is_all()) {
        answer.class = Class::Sample;
        answer.sampling = sample.sampled().as_ref().map(Sampling::from);
        answer.estimates(&format!("of sampled packets alone, not scaled: {sample}"));
    }
}

/// Rows by share and message.
struct Buckets(Vec<Vec<Vec<FlowRecord>>>);

impl Buckets {
    fn read(
        file: &mut FlowFile,
        shares: &[WindowMessageRange],
        key: &KeySpec,
        tracked: flow::TrackedParts,
    ) -> Result<Self, ReadError> {
        let mut buckets = Self(shares.iter().map(|share| vec![Vec::new(); share.wanted.len()]).collect());
        let starts = shares.iter().map(|share| share.start_ns);
        let (Some(first), Some(last)) = (starts.clone().min(), starts.max()) else { return Ok(buckets) };
        let wanted = ReadProjection {
            members: key.columns().collect(),
            columns: row_columns(tracked),
            statistics: Vec::new(),
            ..Default::default()
        };
        for part in parts_within(file.contents(), first..=last) {
            file.read_part(part, &wanted, &mut |block| {
                buckets.take(&BatchRows::new(&block.v4, tracked), shares, key, tracked);
                buckets.take(&BatchRows::new(&block.v6, tracked), shares, key, tracked);
                true
            })?;
        }
        Ok(buckets)
    }

    fn take<K: Key>(
        &mut self,
        rows: &BatchRows<'_, K>,
        shares: &[WindowMessageRange],
        key: &KeySpec,
        tracked: flow::TrackedParts,
    ) {
        for at in 0..rows.len() {
            let time = rows.time(at);
            let Some(number) = shares.iter().position(|share| share.start_ns == time) else { continue };
            let (row, loss): (WindowRow<K>, Option<LossCounts>) = rows.row(at);
            let share = &shares[number];
            let part = match share.parts {
                0 | 1 => 0,
                parts => partition(&bytes_of(&row.key.flow_key(key)), parts),
            };
            if share.wanted.contains(&part) {
                let loss = loss.filter(|_| rows.has_losses(at));
                let record = record_of_row(&row, key, tracked, loss.as_ref());
                self.0[number][part - share.wanted.start].push(record);
            }
        }
    }
}

/// A key as bytes, the same in every version.
fn bytes_of(key: &FlowKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(48);
    for address in [key.src_addr, key.dst_addr].into_iter().flatten() {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    for number in [key.src_port, key.dst_port, key.vlan].into_iter().flatten() {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend([key.protocol, key.ip_tos].into_iter().flatten());
    bytes
}

/// The columns of a row.
struct RowColumns {
    fields: Vec<&'static Field>,
    columns: Vec<Column>,
}

impl RowColumns {
    fn new(contents: &Contents) -> Self {
        let members: Vec<&str> = contents.key.columns().collect();
        let is_there = |field: &&Field| match field.value {
            // The mean of round trips cannot be had from rows.
            _ if field.aggregation == Aggregation::Mean => false,
            flow::FieldAccessor::Node | flow::FieldAccessor::EndReason(_) | flow::FieldAccessor::Float(_) => {
                false
            }
            _ if members.contains(&field.name) => true,
            _ if matches!(field.part, Part::Loss | Part::Headers) => contents.tracked.has(field.part),
            _ => contents.fields.contains(field.name),
        };
        let mut fields: Vec<&'static Field> = FIELDS.iter().filter(is_there).collect();
        let place =
            |field: &&Field| members.iter().position(|member| *member == field.name).unwrap_or(members.len());
        fields.sort_by_key(place);
        let columns = fields.iter().map(|field| Column::from_field(field)).collect();
        Self { fields, columns }
    }

    fn row(&self, record: &FlowRecord) -> Vec<Value> {
        self.fields.iter().map(|field| value(field, record)).collect()
    }
}

fn value(field: &Field, record: &FlowRecord) -> Value {
    match field.value {
        flow::FieldAccessor::Unsigned(_, get) => Value::Unsigned(get(record)),
        flow::FieldAccessor::Optional(_, get) => get(record).into(),
        flow::FieldAccessor::Time(get) => Value::Time(get(record)),
        flow::FieldAccessor::Address(get) => get(record).into(),
        flow::FieldAccessor::Mac(get) => match get(record) {
            [0, 0, 0, 0, 0, 0] => Value::Null,
            octets => Value::Text(octets.map(|octet| format!("{octet:02x}")).join(":")),
        },
        flow::FieldAccessor::EndReason(_) | flow::FieldAccessor::Float(_) | flow::FieldAccessor::Node => {
            Value::Null
        }
    }
}
