//! The event machine: which queries are started by the answers of others.
//!
//! A [`Graph`] has queries and, of each that others trigger, the condition on its parent's answers. A [`Machine`] is given the answers
//! of windows, in the order in which these end, and says which events they are and which queries run when ([`Step`]). It is a pure function of
//! closed windows: it reads no clock, starts nothing and knows no query text, so that a live run, a replay and a dry run agree. Its
//! state can be saved ([`Saved`]) and continued by a machine of other queries. A [`Timeline`] has late windows judged in their order.
//! [`Stories`] puts what happened into sentences.
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
mod truth;
mod undecided;
mod words;

pub use condition::{Condition, GroupFigures, Operand};
pub use derived::{Derivation, Formula, Order, Outcome, Source};
pub use figure::{Certainty, Figure, Role};
pub use graph::{
    ALL_NODES, Binding, Column, Graph, Place, Query, Settings, Trigger, TriggerKind, TriggerSource,
};
pub use id::identifier_of_setting;
pub use interval::Interval;
pub use key::{Key, Member, items};
pub use machine::{Machine, Report, Started, Step};
pub use past::{Past, PastPart, SavedWindows};
pub use run::Run;
pub use saved::Saved;
pub use seen::{Asked, Find, Seen};
pub use state::{Edge, Phase, Progress, State};
pub use story::Stories;
pub use timeline::Timeline;
pub use truth::Truth;
pub use undecided::{Undecided, Why};
pub use words::sentence;
