//! Options of captured packets.

use super::OUTPUT;
use crate::quantity;
use clap::Args;
use engine::Snap;
use std::path::PathBuf;

/// Packets that queries capture.
#[derive(Clone, Debug, Args)]
pub struct CaptureOptions {
    /// Folder of the packets that queries capture, as pcapng; without one captures are refused
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "DIR", env = "EDISON_CAPTURES", hide_env = true)]
    pub(crate) captures: Option<PathBuf>,
    /// The most bytes of all captures of the run together
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "SIZE", env = "EDISON_CAPTURE_BYTES", hide_env = true, default_value = "64MiB", value_parser = notation::bytes)]
    pub(crate) capture_bytes: u64,
    /// How much of each captured packet is kept: a number of bytes (1514), or its headers up to the transport header
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "BYTES|headers", env = "EDISON_CAPTURE_SNAP", hide_env = true, default_value = "headers", value_parser = quantity::snap)]
    pub(crate) capture_snap: Snap,
    /// The most packets of a capture in a second
    #[arg(help_heading = OUTPUT, hide_short_help = true, long, value_name = "N", env = "EDISON_CAPTURE_RATE", hide_env = true, default_value = "10k", value_parser = quantity::capture_rate)]
    pub(crate) capture_rate: u32,
}

/// The default captures nothing.
impl Default for CaptureOptions {
    fn default() -> Self {
        Self { captures: None, capture_bytes: 0, capture_snap: Snap::Headers, capture_rate: 0 }
    }
}
