//! Options of Alertmanagers in a build without the client of the API, which are none.

use clap::Args;

/// No options.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AlertOptions {}

impl AlertOptions {
    pub(crate) fn is_asked(&self) -> bool {
        false
    }
}
