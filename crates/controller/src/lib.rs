//! The controller: it knows which queries run where, merges what nodes answer into one order of windows, drives the event machine,
//! and tells nodes what to measure next.
//!
//! [`Controller`] is a state machine of its own: it takes messages of nodes and returns messages to them and what is to be shown, so
//! that the same controller serves any transport. [`drive()`] connects it with one. It knows neither packets nor engines.
//!
//! Questions about history ([`Controller::ask_history`]) go to the stores of nodes, in their lists; what these answer is merged as that of windows is.
//! A [`DryRunController`] plays queries over such answers.
//!
//! A window is **settled** when all nodes have passed it. Settling goes window by window, over all nodes, so that answers, events and
//! stories have the same order in every run; a run of windows without a packet is passed in a few steps, however long it is.
#![forbid(unsafe_code)]

mod awaited;
mod captures;
mod capturing;
mod clock;
mod clock_offset;
mod continuous;
mod controller;
mod deriving;
mod drive;
mod dry_run;
mod empty_run;
mod ended;
mod health;
mod history;
mod history_answers;
mod inquiry;
mod late;
mod lines;
mod listed;
mod merged;
mod node;
mod received;
mod recent_windows;
mod saved;
mod settling;
mod tasks;
mod traffic;
pub mod views;

pub use clock::return_ns;
pub use continuous::{
    CheckContext, InstallationResult, InstalledText, NotRemoved, PlannedDryRun, QueryInstallError,
    StandingQueries, StandingQuery,
};
pub use controller::{Actions, Controller, ControllerContext, ControllerOutput};
pub use drive::{OutputSink, drive};
pub use dry_run::{DryRunController, DryRunSetting, DryRunStep};
pub use health::{Health, HealthGap, Lacks, MissingTally};
pub use inquiry::{HistoryQuery, HistoryRequest, HistoryResult, NotAsked};
pub use saved::SavedController;
