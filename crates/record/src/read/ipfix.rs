//! IPFIX files (RFC 5655): messages in sequence. What messages mean is in a [`IpfixSession`], which does not know where they come from.

mod element;
mod field_plan;
mod meaning;
mod plan;
mod session;
mod template;
mod totals;
mod values;

use super::assemble::Assembler;
use super::gather::{Gatherer, Untimed, untimed_words};
use super::name::ColumnContent;
use super::schema::{SAMPLING_RATE, Schema};
use super::source::{ByteReader, size};
use super::{BlockSink, Contents, FilePart, FormatReader, ReadError, ReadProjection};
use crate::ipfix::HEADER;
pub use element::NumericElement;
pub use field_plan::FieldPlan;
pub use template::{Element, ExportProtocol, Octets, Template, TemplateRecord};
pub use totals::{COUNTERS, RunningTotals};
pub use values::{ExportTimes, RecordOf, RecordValues, SamplingStatement as Sampling};

use flow::Aggregation;
use meaning::ElementMapping;
use packet::KeySpec;
use plan::{TemplatePlan, places};
use session::{IpfixRecord, IpfixSession, SessionTemplate, VERSION};
use std::collections::HashMap;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The octets from the start whose templates tell what the file contains.
const SCANNED: u64 = 16 << 20;
/// The most columns that elements are.
const MOST_NAMES: usize = 1024;
/// Plans that are kept at a time.
const MOST_PLANS: usize = 4096;

/// An IPFIX file.
pub(crate) struct IpfixReader {
    path: PathBuf,
    bytes: ByteReader,
    contents: Contents,
    /// The session of the scan, with the names that it found.
    scanned: IpfixSession,
    /// True if no record has another direction.
    is_one_way: bool,
    /// True if some record may be of a sample that a collector scaled.
    has_rates: bool,
    /// Flags for sources and for destinations: true if some record of what was scanned has one.
    has_ends: [bool; 2],
    /// Sets that had no template before them, in what was read last, and flows whose totals were forgotten.
    without_template: u64,
    forgotten: u64,
    untimed: Untimed,
}

impl IpfixReader {
    pub(crate) fn open(path: &Path, mut bytes: ByteReader) -> Result<Self, ReadError> {
        let refused = |reason: &dyn std::fmt::Display| ReadError::not_flows(path, reason);
        let size = size(&mut bytes).map_err(|error| refused(&error))?;
        let mut messages = MessageReader::new(&mut bytes);
        let mut session = IpfixSession::default();
        let (mut is_whole, mut has_samples, mut has_ends) = (false, false, [false; 2]);
        while messages.at < SCANNED {
            match messages.next().and_then(|is_message| match is_message {
                true => session.read(&messages.octets, &mut |record| {
                    has_samples = has_samples || record.tells_of_samples();
                    let [source, destination] = record.known.has_ends;
                    has_ends = [has_ends[0] || source, has_ends[1] || destination];
                    Ok(true)
                }),
                false => Ok(false),
            }) {
                Ok(true) => {}
                Ok(false) => {
                    is_whole = true;
                    break;
                }
                // Damage behind the first message is found when its records are read.
                Err(_) if messages.number > 1 => break,
                Err(error) => return Err(refused(&format!("no IPFIX file: {error}"))),
            }
        }
        if messages.number == 0 {
            return Err(refused(&"no IPFIX file: it is empty"));
        }
        let (mut contents, has_reverse) = contents(&session, size, is_whole);
        contents.sampled = has_samples || session.is_sampled();
        contents.share = session.share().filter(|_| session.is_sampled() && !has_samples);
        let is_one_way = is_whole && !has_reverse;
        let has_rates = !is_whole || contents.fields.contains(SAMPLING_RATE);
        Ok(Self {
            path: path.to_owned(),
            bytes,
            contents,
            scanned: session,
            is_one_way,
            has_rates,
            has_ends,
            without_template: 0,
            forgotten: 0,
            untimed: None,
        })
    }
}

/// Returns what a file contains by its templates, and whether some have another direction.
fn contents(session: &IpfixSession, size: u64, is_whole: bool) -> (Contents, bool) {
    let mut names: Vec<String> = Vec::new();
    for element in session.elements() {
        let of_element = match ElementMapping::from_element(element, session) {
            ElementMapping::Nothing => Vec::new(),
            ElementMapping::Value(columns) => columns.iter().map(ToString::to_string).collect(),
            ElementMapping::Column(column) => vec![column.name.to_string()],
            ElementMapping::Unread(name) => vec![name],
        };
        for name in of_element {
            if !names.contains(&name) && names.len() < MOST_NAMES {
                names.push(name);
            }
        }
    }
    let key = told_key(session, &names);
    let (schema, mut contents) = Schema::from_names(names.iter().map(String::as_str), |_, _| Ok(()), key);
    for (domain, template) in session.unknown() {
        let reason = "the file has no template of this number before them".to_owned();
        contents.unread.push((format!("sets of template {template} of domain {domain}"), reason));
    }
    let mut domains = session.domains().values();
    if let (Some(domain), None, true) = (domains.next(), domains.next(), is_whole)
        && !contents.fields.contains("node_id")
    {
        contents.node = domain.name.as_deref().map(str::to_owned);
    }
    contents.parts = vec![FilePart { bytes: size, ..FilePart::default() }];
    (contents, schema.has_reverse())
}

/// The key that a sender tells of its flows; `None` where it is none, or lacks a member of keys that records have.
fn told_key(session: &IpfixSession, names: &[String]) -> Option<KeySpec> {
    let mut members: Vec<&str> = Vec::new();
    for element in session.key() {
        let ElementMapping::Value(of) = ElementMapping::from_element(*element, session) else { continue };
        members.extend(of.iter().filter_map(ColumnContent::plain_field));
    }
    members.sort_unstable();
    members.dedup();
    let is_told = |name: &String| match ColumnContent::parse(name) {
        ColumnContent::Field { field, is_reverse: false } if field.aggregation == Aggregation::Key => {
            members.contains(&field.name)
        }
        _ => true,
    };
    let are_told = !members.is_empty() && names.iter().all(is_told);
    are_told.then(|| KeySpec::parse(&members.join(",")).ok()).flatten()
}

impl FormatReader for IpfixReader {
    fn contents(&self) -> &Contents {
        &self.contents
    }

    fn read_part(
        &mut self,
        _part: usize,
        wanted: &ReadProjection,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), ReadError> {
        let Self { path, bytes, scanned, is_one_way, has_rates, has_ends, .. } = self;
        let Self { without_template, forgotten, untimed, .. } = self;
        bytes.rewind().map_err(|error| ReadError::damaged(path, error))?;
        let places = places(wanted, !*is_one_way, *has_rates);
        let mut plans = Plans::default();
        let mut gatherer = Gatherer::new(Assembler::new(*has_ends), wanted, sink);
        let mut session = scanned.again();
        let mut messages = MessageReader::new(bytes);
        let mut totals = RunningTotals::default();
        let mut read = || {
            while messages.next()? {
                let number = messages.number;
                let continues = session.read(&messages.octets, &mut |record| {
                    let plan = plans.get_or_make(record, || TemplatePlan::new(record, wanted, &places));
                    gatherer.add_line(number, |rows| plan.fill(record, &places, &mut totals, rows))
                })?;
                if !continues {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let read = read();
        *without_template = session.without_template();
        *forgotten = totals.forgotten();
        *untimed = gatherer.untimed();
        let (number, start) = (messages.number, messages.start);
        gatherer
            .finish(read)
            .map_err(|error| ReadError::damaged(path, format!("message {number}, at octet {start}: {error}")))
    }

    fn passed_over(&self) -> Option<String> {
        let [sets, flows] = [self.without_template, self.forgotten];
        let sets = (sets != 0)
            .then(|| format!("{sets} sets have no template before them: their records are not read"));
        let flows = (flows != 0).then(|| {
            format!("the totals of {flows} flows found no room: what came of them later may count twice")
        });
        let untimed = untimed_words(self.untimed, "message");
        let parts: Vec<String> = [sets, flows, untimed].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Plans by their templates.
#[derive(Default)]
struct Plans {
    /// The plans, each with its template, so that no other one gets its address.
    plans: HashMap<*const SessionTemplate, (Arc<SessionTemplate>, TemplatePlan)>,
    changes: u32,
}

impl Plans {
    /// Returns the plan of the template of a record, which `make` makes if it is new.
    fn get_or_make(
        &mut self,
        record: &IpfixRecord<'_>,
        make: impl FnOnce() -> TemplatePlan,
    ) -> &TemplatePlan {
        let changes = record.session.changes();
        if self.changes != changes || self.plans.len() >= MOST_PLANS {
            self.plans.clear();
            self.changes = changes;
        }
        let known = record.known;
        &self.plans.entry(Arc::as_ptr(known)).or_insert_with(|| (known.clone(), make())).1
    }
}

/// The messages of a file.
struct MessageReader<'a> {
    bytes: &'a mut ByteReader,
    octets: Vec<u8>,
    /// The number of messages that have been begun, and the place where the last of them starts.
    number: u64,
    start: u64,
    /// The place where the last message ends.
    at: u64,
}

impl<'a> MessageReader<'a> {
    fn new(bytes: &'a mut ByteReader) -> Self {
        Self { bytes, octets: Vec::new(), number: 0, start: 0, at: 0 }
    }

    /// Reads the next message; false at the end.
    fn next(&mut self) -> Result<bool, String> {
        self.octets.clear();
        self.start = self.at;
        self.take(HEADER)?;
        if self.octets.is_empty() {
            return Ok(false);
        }
        self.number += 1;
        let header = self.octets.get(..HEADER).ok_or("the file ends in its header")?;
        let [version, length] = [0, 2].map(|at| u16::from_be_bytes([header[at], header[at + 1]]));
        if version != VERSION {
            return Err(format!("its version is {version}, not {VERSION}"));
        }
        let length = usize::from(length);
        let rest = length.checked_sub(HEADER).ok_or_else(|| format!("its length is {length} octets"))?;
        self.take(rest)?;
        if self.octets.len() < length {
            return Err(format!("the file ends after {} of its {length} octets", self.octets.len()));
        }
        Ok(true)
    }

    fn take(&mut self, length: usize) -> Result<(), String> {
        let read = self.bytes.by_ref().take(length as u64).read_to_end(&mut self.octets);
        self.at += read.map_err(|error| error.to_string())? as u64;
        Ok(())
    }
}
