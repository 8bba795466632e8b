//! The messages.

use crate::capture::{CaptureTask, Captured};
use crate::heartbeat::Heartbeat;
use crate::history::{HistoryAnswer, HistoryTask};
use crate::list_id::ListId;
use crate::recent_windows::{LookBackTask, LookedBack, RetentionLimits};
use model::{Answer, Item, Span};
use overview::TrafficReport;
use serde::{Deserialize, Serialize};
use task::query::Query;

/// A message of a controller to a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToProbe {
    /// All that the probe is to answer, in the place of what it was told before.
    Tasks(TaskList),
    /// A replay may enter windows that begin up to this time, nanoseconds since the epoch.
    Enter {
        /// The time.
        until_ns: u64,
    },
}

/// All that a probe is to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskList {
    /// The time at which the controller that made the list started, nanoseconds since the epoch.
    #[serde(default)]
    pub epoch: u64,
    /// The number of the list; later lists of this controller have larger numbers.
    pub generation: u64,
    /// The fields of the flow key for which the tasks were planned, as `--key` has them. A probe whose flows are others refuses the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Vec<String>>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The limits of what is to be kept of windows that are over; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_back: Option<RetentionLimits>,
    /// Queries about windows that are over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look_backs: Vec<LookBackTask>,
    /// Packets that are to be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureTask>,
    /// Questions to the probe's store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryTask>,
}

impl TaskList {
    /// Returns the identifier of the list.
    pub fn id(&self) -> ListId {
        ListId { epoch: self.epoch, generation: self.generation }
    }

    /// Returns true if this list replaces the other one. Transports may deliver an old list after a newer one.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        self.id() > other.id()
    }
}

/// A query, and when it is to be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The query.
    pub query: Query,
    /// The stream time in which it is answered, the begins and ends of windows; `None` for ever.
    pub time: Option<Span>,
    /// The instances of the query, each with what is pinned and when: the query is answered for each of them by itself, and not otherwise. If
    /// there is none, it is answered as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// The values that a firing pinned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// The fields and their values.
    pub bound: Vec<Item>,
    /// The stream time in which the query is answered for them.
    pub time: Span,
}

impl Task {
    /// Returns each query that is answered, and when: the query itself, or that of each instance.
    pub fn queries(&self) -> impl Iterator<Item = (Query, Option<Span>)> + '_ {
        let whole = self.instances.is_empty().then(|| (self.query.clone(), self.time));
        let of = |instance: &Instance| (self.query.with_bound(instance.bound.clone()), Some(instance.time));
        whole.into_iter().chain(self.instances.iter().map(of))
    }
}

/// A message of a probe to its controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromProbe {
    /// A replay is about to enter the window that begins then. Windows before it that it did not enter had no packets.
    Reached {
        /// The begin of the window, nanoseconds since the epoch.
        at_ns: u64,
    },
    /// A window is answered.
    Window(Box<WindowResult>),
    /// The answers to queries about windows that are over.
    LookedBack(Box<LookedBack>),
    /// A capture has ended, or is refused.
    Captured(Box<Captured>),
    /// An answer of the probe's store.
    History(Box<HistoryAnswer>),
    /// The probe cannot carry out a list: what it had before it still answers.
    Refused {
        /// The list.
        list: ListId,
        /// The reason for the refusal.
        reason: String,
    },
    /// The state of the probe. It is worth nothing once the next one is there, so it is neither kept nor sent again.
    Heartbeat(Box<Heartbeat>),
    /// The probe has ended, and nothing follows.
    Ended {
        /// Answers of windows that the end cut.
        answers: Vec<Answer>,
        /// What it has not told of its traffic yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traffic: Option<Box<TrafficReport>>,
    },
}

/// The answers of one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowResult {
    /// The window.
    pub window: Span,
    /// The answers; those of other windows are of longer ones that end with it.
    pub answers: Vec<Answer>,
    /// The number of windows, where the result is of a run of windows without packets. `window` spans them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<u64>,
    /// Results that the probe has dropped unsent since it started, all of them of windows before this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// What is new of the traffic of the last hours; `None` where nothing is, and of a probe that does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Box<TrafficReport>>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl WindowResult {
    /// The result of a window with packets, before which none was dropped.
    pub fn new(window: Span, answers: Vec<Answer>) -> Self {
        Self { window, answers, empty: None, lost: 0, traffic: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heartbeat::RefusedList;
    use crate::history::{HistoryLimits, HistoryQuestion};
    use model::view::{Coordinates, KernelClock, Load, Site, Spool, Store};
    use model::{Column, ColumnKind, Counters, Value};
    use serde::de::DeserializeOwned;
    use std::fmt::Debug;
    use task::query::{Comparison, Condition, GroupField, OutputColumn};

    fn is_read_back<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) {
        let text = serde_json::to_string(message).expect("JSON");
        assert_eq!(&serde_json::from_str::<M>(&text).expect("a message"), message, "{text}");
    }

    #[test]
    fn messages_are_what_was_written() {
        let window = Span { start_ns: 1_000_000_000, end_ns: 2_000_000_000 };
        let query = Query::new("q1", [GroupField::from_field("src_addr")], [OutputColumn::sum("total_byte")]);
        let list = TaskList {
            epoch: u64::MAX,
            generation: 3,
            key: Some(vec!["src_addr".to_owned()]),
            tasks: vec![Task { query: query.clone(), time: Some(window), instances: Vec::new() }],
            look_back: Some(RetentionLimits { windows: 6, flows: 1_000_000 }),
            look_backs: vec![LookBackTask { id: u64::MAX, window, queries: vec![query.clone()] }],
            history: vec![HistoryTask {
                epoch: u64::MAX,
                id: u64::MAX,
                questions: [None, Some(window), Some(Span { start_ns: 0, end_ns: u64::MAX })]
                    .map(|period| HistoryQuestion { query: query.clone(), period })
                    .into(),
                limits: HistoryLimits { memory_bytes: u64::MAX, time_ms: 1, answer_bytes: 0 },
            }],
            captures: vec![
                CaptureTask {
                    id: "e1".to_owned(),
                    query: "q1".to_owned(),
                    filter: Some(Condition::compare("dst_port", Comparison::Equal, 443)),
                    packets: 100,
                    time: Some(window),
                },
                CaptureTask {
                    id: "e2".to_owned(),
                    query: "q2".to_owned(),
                    filter: None,
                    packets: 1,
                    time: None,
                },
            ],
        };
        let captured = Captured {
            id: "e1".to_owned(),
            query: "q1".to_owned(),
            refused: None,
            file: Some("e1.Node1.pcapng".to_owned()),
            packets: 3,
            bytes: 256,
            ended_by: "time".to_owned(),
            dropped: Counters(vec![("capture_room".to_owned(), 1)]),
            is_cut: true,
            content: Some((0..=255).collect()),
        };
        let refused =
            Captured { id: "e2".to_owned(), refused: Some("no folder".to_owned()), ..Captured::default() };
        let column = Column::new("total_byte", ColumnKind::Unsigned, "bytes");
        let answer = Answer::new("q1", Some(window), vec![column], vec![vec![Value::Unsigned(u64::MAX)]]);
        let result = WindowResult::new(window, vec![answer.clone()]);
        let id = list.id();
        [ToProbe::Tasks(list), ToProbe::Enter { until_ns: 9 }].iter().for_each(is_read_back);
        let heartbeat = Heartbeat {
            list: Some(id),
            refused: Some(RefusedList { list: id, reason: "no memory".to_owned() }),
            version: "0.1.0".to_owned(),
            sources: vec!["eth0".to_owned()],
            site: Some(Site {
                name: Some("Chicago".to_owned()),
                at: Some(Coordinates { latitude: 41.88, longitude: -87.63 }),
            }),
            spool: Spool { messages: 1, bytes: 2, dropped: 3, ..Spool::default() },
            clock: Some(KernelClock { synchronised: Some(true), max_error_ns: Some(4) }),
            started_ns: 1_795_534_800_000_000_001,
            load: Some(Load { busy: Some(0.25), flows: 7, most_flows: Some(7) }),
            store: Some(Store { files: 1, bytes: 2, lost: u64::MAX, ..Store::default() }),
            now_ns: u64::MAX,
            lapsed: 3,
        };
        let messages = [
            FromProbe::Reached { at_ns: 7 },
            FromProbe::Window(Box::new(result.clone())),
            FromProbe::Window(Box::new(WindowResult { empty: Some(8), lost: 9, ..result })),
            FromProbe::LookedBack(Box::new(LookedBack {
                id: 7,
                window,
                answers: vec![answer.clone()],
                missing: None,
            })),
            FromProbe::LookedBack(Box::new(LookedBack {
                id: 8,
                window,
                answers: Vec::new(),
                missing: Some("not_kept".to_owned()),
            })),
            FromProbe::Captured(Box::new(captured)),
            FromProbe::Captured(Box::new(refused)),
            FromProbe::History(Box::new(HistoryAnswer {
                epoch: 1,
                id: 2,
                answers: vec![answer.clone()],
                missing: None,
            })),
            FromProbe::History(Box::new(HistoryAnswer {
                missing: Some("no_store".to_owned()),
                ..HistoryAnswer::default()
            })),
            FromProbe::Refused { list: id, reason: "no memory".to_owned() },
            FromProbe::Heartbeat(Box::new(heartbeat)),
            FromProbe::Heartbeat(Box::default()),
            FromProbe::Ended { answers: vec![answer], traffic: None },
        ];
        messages.iter().for_each(is_read_back);
    }

    #[test]
    fn a_message_without_what_is_new_is_read() {
        let text = r#"{"window":{"window":{"start":"2026-11-24T15:40:00.000000000Z","end":"2026-11-24T15:40:10.000000000Z"},"answers":[]}}"#;
        let FromProbe::Window(result) = serde_json::from_str(text).expect("a message") else {
            panic!("another message")
        };
        assert_eq!((result.empty, result.lost, result.traffic), (None, 0, None));
        let list: TaskList = serde_json::from_str(r#"{"generation":1,"tasks":[]}"#).expect("a list");
        assert_eq!(list, TaskList { generation: 1, ..TaskList::default() });
        // What is not there is not said.
        assert_eq!(serde_json::to_string(&list).expect("JSON"), r#"{"epoch":0,"generation":1,"tasks":[]}"#);
        let wrong = r#"{"captured":{"id":"e","query":"q","content":"no base 64"}}"#;
        assert!(serde_json::from_str::<FromProbe>(wrong).is_err());
    }

    #[test]
    fn a_list_of_a_later_controller_is_newer() {
        let list = |epoch, generation| TaskList { epoch, generation, ..TaskList::default() };
        assert!(list(2, 1).is_newer_than(&list(1, 9)));
        assert!(list(1, 2).is_newer_than(&list(1, 1)));
        assert!(!list(1, 1).is_newer_than(&list(1, 1)));
        assert!(!list(1, 9).is_newer_than(&list(2, 1)));
    }
}
