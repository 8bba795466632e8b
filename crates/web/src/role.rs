//! The roles of the bearers of tokens.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The role of the bearer of a token. Each role may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A bearer that may read: the state, answers, events, stories, the list of captures, the stream, and what the stores of nodes remember.
    View,
    /// A bearer that may measure: add and cancel queries, and fetch captured packets.
    Run,
    /// A bearer that may do whatever else changes a deployment. Nothing does over HTTP yet.
    Admin,
}

impl Role {
    /// The list of all roles.
    pub const ALL: [Self; 3] = [Self::View, Self::Run, Self::Admin];

    /// Returns the role's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let role = Self::ALL.into_iter().find(|role| role.name() == text);
        role.ok_or_else(|| format!("{text:?} is no role: view, run or admin"))
    }
}
