//! The last two hours of traffic in memory, step by step: what each group sent, and what of it is unusual.
//!
//! A [`Recorder`] takes the window rows of a node. Of each step, a minute of what is measured live, it keeps the sums and the leading groups by
//! source, destination, conversation, port and protocol: a bounded number, with what any other group had at most. [`Overview`] has the steps of
//! all nodes, and answers [`Overview::now`] and [`Overview::unusual`]. A [`TrafficReporter`] tells a controller of a node, whose
//! [`Overview::of_nodes`] joins them. The crate knows neither threads, clocks nor HTTP.
//!
//! ```
//! use arena::Limits;
//! use overview::{NodeSetting, Overview, OverviewSetting, WindowFacts};
//! use model::Span;
//! use packet::{KeySpec, KeyV4, Seed};
//! use flow::{Rows, WindowRow};
//!
//! let overview = Overview::new(OverviewSetting::live(10_000_000_000));
//! let limits = Limits::new(64 << 20, usize::MAX);
//! let setting = NodeSetting { key: KeySpec::FIVE_TUPLE, seed: Seed::new(1), limits, tracks_loss: false, without_rows: None };
//! let mut recorder = overview.recorder("eth0", setting);
//!
//! let mut rows = Rows::default();
//! let key = KeyV4::new([192, 0, 2, 1, 198, 51, 100, 7], [200, 0, 1, 187], 6);
//! rows.push(WindowRow { packets: 2, bytes: 3_000, ..WindowRow::without_packets(key, 0, 0) }, None);
//! recorder.rows(0, &rows);
//! let span = Span { start_ns: 0, end_ns: 10_000_000_000 };
//! recorder.window(&WindowFacts { bytes: 3_000, packets: 2, flows: 1, ..WindowFacts::new(span) });
//!
//! let now = overview.now(&overview::NowAsked::default()).expect("there is a node");
//! assert_eq!(now.figures.bytes.as_unsigned(), Some(3_000));
//! ```
#![forbid(unsafe_code)]

mod bounded;
mod entries;
mod error;
mod group_key;
mod group_sums;
mod history;
mod joined_ranking;
mod listed;
mod node;
mod now;
mod overview;
mod ranking;
mod reach;
mod recorder;
mod report;
mod report_check;
mod reporter;
mod setting;
mod shared;
mod snapshot;
mod step;
mod taking;
pub mod thresholds;
mod together;
mod traffic;
mod unusual;

pub use error::OverviewError;
pub use group_key::{GroupKey, KeyShape};
pub use now::NowAsked;
pub use overview::Overview;
pub use ranking::GROUPS;
pub use recorder::{AddressMap, NodeSetting, Recorder, WindowFacts};
pub use report::TrafficReport;
pub use reporter::TrafficReporter;
pub use setting::{MOST_STEPS, OverviewSetting, STEP_NS};
pub use taking::Taken;
