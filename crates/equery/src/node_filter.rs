//! The choice of the nodes that a query runs on.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A condition on the name of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeFilter {
    /// Every node, present and future.
    #[default]
    Every,
    /// The nodes of these names.
    In(Vec<String>),
    /// The nodes whose names match an SQL pattern: `%` is any text, `_` any character, letters of either case are equal.
    Like(String),
    /// The others.
    Not(Box<NodeFilter>),
    /// The nodes that all of these filters select.
    All(Vec<NodeFilter>),
    /// The nodes that any of these filters selects.
    Any(Vec<NodeFilter>),
}

impl NodeFilter {
    /// Returns true if the query runs on the node of this name.
    ///
    /// ```
    /// use equery::NodeFilter;
    ///
    /// let filter = NodeFilter::Like("edge-%".to_owned());
    /// assert!(filter.matches("edge-1"));
    /// assert!(!filter.matches("core"));
    /// ```
    pub fn matches(&self, node: &str) -> bool {
        match self {
            Self::Every => true,
            Self::In(names) => names.iter().any(|name| name == node),
            Self::Like(pattern) => notation::is_like(node, pattern),
            Self::Not(of) => !of.matches(node),
            Self::All(of) => of.iter().all(|filter| filter.matches(node)),
            Self::Any(of) => of.iter().any(|filter| filter.matches(node)),
        }
    }
}

impl fmt::Display for NodeFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |f: &mut fmt::Formatter<'_>, of: &[Self], word: &str| {
            of.iter().enumerate().try_for_each(|(at, filter)| {
                f.write_str(if at == 0 { "" } else { word })?;
                match filter {
                    Self::All(_) | Self::Any(_) => write!(f, "({filter})"),
                    filter => filter.fmt(f),
                }
            })
        };
        match self {
            Self::Every => f.write_str("every node"),
            Self::In(names) => f.write_str(&names.join(", ")),
            Self::Like(pattern) => write!(f, "like '{pattern}'"),
            Self::Not(of) => write!(f, "not ({of})"),
            Self::All(of) => joined(f, of, " and "),
            Self::Any(of) => joined(f, of, " or "),
        }
    }
}
