//! The event machine: which queries are started by the answers of others.
//!
//! A [`Graph`] has queries and, of each that others trigger, the condition on its parent's answers. A [`Machine`] is given the answers
//! of windows, in the order in which these end, and says which events they are and which queries run when ([`MachineStep`]). It is a pure function of
//! closed windows: it reads no clock, starts nothing and knows no query text, so that a live run, a replay and a dry run agree. Its
//! state can be saved ([`SavedMachine`]) and continued by a machine of other queries. A [`Timeline`] has late windows judged in their order.
//! [`StoryLog`] puts what happened into sentences.
//!
//! ```text
//! answers of a window ─▶ figures of each key ─▶ condition: true, false, unknown ─▶ Idle → Pending → Active → Recovering ─▶ events, runs
//! ```
//!
//! The meaning of each rule is that of `docs/equery.md`, section "Events".
#![forbid(unsafe_code)]

mod condition;
mod derived;
mod evaluation;
mod figure;
mod graph;
mod id;
mod interval;
mod judged;
mod key;
mod known;
mod machine;
mod past;
mod rows;
mod run;
mod saved;
mod seen;
mod state;
mod story;
mod timeline;
mod title;
mod title_form;
mod truth;
mod undecided;
mod words;

pub use condition::{GroupFigures, Operand, TriggerCondition};
pub use derived::{Derivation, DerivationSource, DerivedResult, Formula, ValueOrder};
pub use figure::{BoundedValue, Certainty, ColumnRole};
pub use graph::{
    ALL_NODES, AnswerColumn, Binding, EvaluationPoint, EventSettings, Graph, GraphQuery, QueryTrigger,
    TriggerKind, TriggerSource,
};
pub use id::identifier_of_setting;
pub use interval::Interval;
pub use key::{EventKey, Member, items};
pub use machine::{Machine, MachineStep, Report, Started};
pub use past::{AnswerHistory, PastPart, SavedWindows};
pub use run::QueryRun;
pub use saved::SavedMachine;
pub use seen::{Find, ObservedWindow, QueryWindow};
pub use state::{EdgeState, KeyPhase, KeyProgress, MachineState};
pub use story::StoryLog;
pub use timeline::Timeline;
pub use title_form::{TitleForm, TitlePart};
pub use truth::TruthValue;
pub use undecided::{Undecided, Why};
pub use words::sentence;
