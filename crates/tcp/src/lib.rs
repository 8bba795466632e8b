//! TCP losses of a connection as a tap in the middle of the path can detect them: a state machine that takes segments and produces counts.
//! It has no tables and no clock; `docs/loss.md` defines the counts.
//!
//! Each connection has a hot and a cold part per direction. [`track`] needs the hot parts only; the few
//! segments that it returns are passed to [`track_rare`], which takes the cold parts too and adds to the
//! counts.

mod cold;
mod connection;
mod holes;
mod rare;
mod reach;
mod segment;
mod serial;
mod stream;

pub use cold::ColdStream;
pub use connection::TcpConnection;
pub use flow::LossCounts;
pub use rare::{finish, track_rare};
pub use segment::{Segment, flag};
pub use stream::{HotStream, SegmentOutcome, track};
