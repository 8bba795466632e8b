//! Options of what packets alone tell.

use super::QUESTION;
use clap::Args;
use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use packet::Tunnel;

/// What only packets tell.
#[derive(Clone, Debug, Default, Args)]
pub struct PacketOptions {
    /// Track TCP losses, retransmissions and round-trip times
    #[arg(help_heading = QUESTION, long, env = "EDISON_LOSS", hide_env = true, value_parser = BoolishValueParser::new())]
    pub(crate) loss: bool,
    /// Which header of a tunnelled packet is measured
    #[arg(help_heading = QUESTION, hide_short_help = true, long, value_name = "WHICH", env = "EDISON_TUNNEL", hide_env = true, default_value = "outer")]
    pub(crate) tunnel: TunnelChoice,
}

/// Values of `--tunnel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TunnelChoice {
    /// The outermost
    #[default]
    Outer,
    /// The deepest of the first four
    Inner,
}

impl TunnelChoice {
    /// Returns which header that is.
    pub(crate) fn to_tunnel(self) -> Tunnel {
        match self {
            Self::Outer => Tunnel::Outer,
            Self::Inner => Tunnel::Inner,
        }
    }
}
