//! The sources of a node's windows: a measurement, or rows that one recorded.

use super::measurement::Measurement;
use super::recorded::RecordedNode;
use super::reporting::NodeOutcome;
use crate::exit::Failure;
use engine::{Control, Observer, WindowOutlet};
use port::TimeBase;
use std::sync::atomic::AtomicBool;
use task::rows::PlanContext;

/// A node, ready to give its windows.
pub(super) enum WindowSource {
    Measured(Box<Measurement>),
    Recorded(Box<RecordedNode>),
}

impl WindowSource {
    pub(super) fn node(&self) -> &str {
        match self {
            Self::Measured(measurement) => &measurement.node,
            Self::Recorded(node) => node.name(),
        }
    }

    pub(super) fn time_base(&self) -> TimeBase {
        match self {
            Self::Measured(measurement) => measurement.time_base,
            Self::Recorded(_) => TimeBase::Packets,
        }
    }

    /// Returns what its rows are like.
    pub(super) fn site(&self) -> PlanContext {
        match self {
            Self::Measured(measurement) => measurement.site(),
            Self::Recorded(node) => node.site(),
        }
    }

    /// Returns the names of its sources.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Measured(measurement) => measurement.names().to_vec(),
            Self::Recorded(node) => node.names(),
        }
    }

    /// Returns the measurement, where it is one.
    pub(super) fn measured(&self) -> Option<&Measurement> {
        match self {
            Self::Measured(measurement) => Some(measurement),
            Self::Recorded(_) => None,
        }
    }

    /// Returns the same, to be changed.
    pub(super) fn measured_mut(&mut self) -> Option<&mut Measurement> {
        match self {
            Self::Measured(measurement) => Some(measurement),
            Self::Recorded(_) => None,
        }
    }

    /// Gives all windows, until the sources end or `stop` is set. Answers go to `windows`. `is_unread`: the reader of what is asked has left.
    pub(super) fn measure(
        self,
        control: &Control,
        windows: WindowOutlet,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
        is_unread: impl Fn() -> bool,
    ) -> Result<NodeOutcome, Failure> {
        match self {
            Self::Measured(measurement) => {
                let measured = measurement.measure(control, windows, stop, observer)?;
                Ok(NodeOutcome::from_measured(measured, is_unread()))
            }
            Self::Recorded(node) => node.replay(control, windows, stop, observer),
        }
    }
}
