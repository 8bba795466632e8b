//! An outbox and its file against all that can happen to them: what a controller takes is what was pushed, each once, and what is missing is
//! counted.

use super::*;
use crate::amqp::marks::{DeliveryOffsets, SequenceDecision};
use crate::amqp::spool_file::SpoolFile;
use crate::amqp::spool_log::Log;
use crate::envelope::decode;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::PathBuf;
use tempfile::TempDir;

#[derive(Clone, Debug)]
enum Step {
    /// A window is pushed.
    Push,
    /// All messages that may be sent are sent. The connection breaks before the last ones, of this number, arrive.
    Send { lost: usize },
    /// The broker confirms at most this number of messages.
    Confirm(usize),
    /// What is not confirmed is sent again.
    Rewind,
    /// The file is told what is new.
    Write,
    /// The file is written anew.
    Shrink,
    /// The disk fails. It works again when the file is written anew.
    Fail,
    /// The probe is killed during a write, of which this many bytes are in the file, and starts again.
    Kill(prop::sample::Index),
}

fn step(with_faults: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => Just(Step::Push),
        6 => prop_oneof![3 => Just(0), 1 => 1..4_usize].prop_map(|lost| Step::Send { lost }),
        6 => (1..8_usize).prop_map(Step::Confirm),
        1 => Just(Step::Rewind),
        8 => Just(Step::Write),
        1 => Just(Step::Shrink),
        (if with_faults { 1 } else { 0 }) => Just(Step::Fail),
        2 => any::<prop::sample::Index>().prop_map(Step::Kill),
    ]
}

struct World {
    _scratch: TempDir,
    path: PathBuf,
    most_bytes: usize,
    boots: u64,
    pushed: u64,
    outbox: ProbeOutbox,
    log: Log,
    /// Whether those on their way arrived.
    arrived: VecDeque<bool>,
    // The controller's.
    marks: DeliveryOffsets,
    taken: Vec<u64>,
    lost: u64,
    last_lost: u64,
    /// Windows that were pushed when the file had been told all.
    saved: u64,
    /// Windows that are lost and not counted, because the probe was killed before the file was told of them.
    uncounted: u64,
}

impl World {
    fn new(most_bytes: usize) -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let path = scratch.path().join("spool");
        let (outbox, log) = open(&path, 0, most_bytes);
        Self {
            _scratch: scratch,
            path,
            most_bytes,
            boots: 0,
            pushed: 0,
            outbox,
            log,
            arrived: VecDeque::new(),
            marks: DeliveryOffsets::default(),
            taken: Vec::new(),
            lost: 0,
            last_lost: 0,
            saved: 0,
            uncounted: 0,
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Push => {
                send(&mut self.outbox, window(self.pushed));
                self.pushed += 1;
            }
            Step::Send { lost } => {
                let sent: Vec<_> = std::iter::from_fn(|| next(&mut self.outbox)).collect();
                let arrive = sent.len().saturating_sub(lost);
                // Nothing arrives behind what did not.
                let is_whole = self.arrived.iter().all(|arrived| *arrived);
                for (at, envelope) in sent.into_iter().enumerate() {
                    let arrives = is_whole && at < arrive;
                    self.arrived.push_back(arrives);
                    if arrives {
                        self.receive(envelope);
                    }
                }
            }
            Step::Confirm(count) => {
                for _ in 0..count {
                    match self.arrived.front() {
                        Some(true) => {
                            self.arrived.pop_front();
                            self.outbox.confirm();
                        }
                        _ => break,
                    }
                }
            }
            Step::Rewind => {
                self.outbox.rewind();
                self.arrived.clear();
            }
            Step::Write => {
                while self.outbox.is_file_working() && self.outbox.is_unwritten() {
                    let batch = self.outbox.take_batch();
                    let mut bytes = Vec::new();
                    batch.write(&mut bytes);
                    self.log.append(&bytes).expect("it is written");
                    self.outbox.has_written(&batch);
                    self.saved = self.pushed;
                }
            }
            Step::Shrink => {
                let (messages, totals) = self.outbox.take_all();
                self.log.rewrite(&messages, totals).expect("it is written");
                self.outbox.has_rewritten();
                self.saved = self.pushed;
            }
            Step::Fail => self.outbox.has_failed("the disk is full".to_owned(), 0),
            Step::Kill(cut) => self.kill(cut),
        }
    }

    fn receive(&mut self, envelope: Envelope<FromProbe>) {
        match self.marks.take(&envelope.id, envelope.after) {
            SequenceDecision::Next => {}
            SequenceDecision::Doubled => return,
            SequenceDecision::Early => panic!("{} waits for {}, which is there", envelope.id, envelope.after),
        }
        let FromProbe::Window(result) = envelope.body else { panic!("another message") };
        self.taken.push(result.window.start_ns);
        // As the controller's health counts.
        self.lost += envelope.lost.checked_sub(self.last_lost).expect("it never falls");
        self.last_lost = envelope.lost;
    }

    fn kill(&mut self, cut: prop::sample::Index) {
        if self.outbox.is_file_working() && self.outbox.is_unwritten() {
            let batch = self.outbox.take_batch();
            let mut bytes = Vec::new();
            batch.write(&mut bytes);
            let from = self.log.length();
            self.log.append(&bytes).expect("it is written");
            let file = OpenOptions::new().write(true).open(&self.path).expect("a file");
            file.set_len(from + cut.index(bytes.len() + 1) as u64).expect("it is cut");
        }
        self.boots += 1;
        // The lock is free again.
        self.log = Log::new(self.path.clone(), String::new());
        (self.outbox, self.log) = open(&self.path, self.boots, self.most_bytes);
        self.arrived.clear();
        let after: BTreeSet<u64> = numbers(&self.outbox).collect();
        let missing =
            (0..self.pushed).filter(|number| !after.contains(number) && !self.taken.contains(number));
        let uncounted = missing.count() as u64 - self.outbox.spool().dropped;
        assert!(uncounted - self.uncounted <= self.pushed - self.saved, "what the file was told is lost");
        (self.uncounted, self.saved) = (uncounted, self.pushed);
    }

    /// Everything works from now on.
    fn end(&mut self) {
        if !self.outbox.is_file_working() {
            self.take(Step::Shrink);
        }
        self.take(Step::Rewind);
        self.deliver();
        // What was dropped last is told with the next result.
        self.take(Step::Push);
        self.deliver();
        let taken: BTreeSet<u64> = self.taken.iter().copied().collect();
        assert_eq!(taken.len(), self.taken.len(), "none is doubled: {:?}", self.taken);
        assert!(self.taken.is_sorted(), "the oldest come first: {:?}", self.taken);
        let missing = (0..self.pushed).filter(|number| !taken.contains(number));
        assert_eq!(missing.count() as u64, self.lost + self.uncounted, "what is missing is counted");
        assert_eq!(self.outbox.spool().dropped, self.lost);
    }
}

impl World {
    fn deliver(&mut self) {
        while !self.outbox.is_empty() {
            self.take(Step::Send { lost: 0 });
            self.take(Step::Write);
            self.take(Step::Confirm(100));
        }
    }
}

fn open(path: &std::path::Path, boot: u64, most_bytes: usize) -> (ProbeOutbox, Log) {
    let SpoolFile { log, messages, totals, fault, .. } =
        SpoolFile::open(path, "Node1", most_bytes).expect("a spool");
    assert_eq!(fault, None);
    let mut outbox = ProbeOutbox::new("Node1".to_owned(), Boot(boot), most_bytes);
    outbox.go_on(messages, totals, fault);
    (outbox, log)
}

/// The windows of an outbox.
fn numbers(outbox: &ProbeOutbox) -> impl Iterator<Item = u64> {
    outbox.items.iter().map(|item| {
        let id = MessageId { node: "Node1".to_owned(), boot: item.which.boot, sequence: 1 };
        let head = EnvelopeHead { version: envelope::VERSION, id: &id, after: 0, lost: 0 };
        let bytes = envelope::seal(&head, &item.body).expect("bytes");
        let read = decode::<FromProbe>(&bytes, Properties::EXPECTED).expect("a message");
        let FromProbe::Window(result) = read.body else { panic!("another message") };
        result.window.start_ns
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(100), ..ProptestConfig::default() })]

    /// Also where the disk fails, as long as there is room.
    #[test]
    fn nothing_is_lost_or_doubled(steps in prop::collection::vec(step(true), 0..120)) {
        let mut world = World::new(1 << 20);
        steps.into_iter().for_each(|step| world.take(step));
        world.end();
    }

    #[test]
    fn what_is_dropped_is_counted(steps in prop::collection::vec(step(false), 0..120), room in 1..12_usize) {
        let size = PackedBody::new(&window(0)).expect("bytes").len();
        let mut world = World::new(room * (size + 4));
        steps.into_iter().for_each(|step| world.take(step));
        world.end();
    }
}
