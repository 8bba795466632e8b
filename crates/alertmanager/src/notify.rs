//! The trait of those who take alerts, and the reasons why alerts may not be taken.

use crate::AlertmanagerProblem;

/// The reason why alerts were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyError {
    /// The fault may pass. The text says it of the Alertmanager.
    Wait(AlertmanagerProblem, String),
    /// The alerts themselves, or some of them, are refused.
    Alerts(String),
}

/// A receiver of alerts.
pub trait Notify: Send {
    /// Returns the address of the receiver.
    fn place(&self) -> String;

    /// Hands over a JSON list of alerts.
    ///
    /// # Errors
    /// Why they, or some of them, were not taken.
    fn post(&mut self, body: &str) -> Result<(), NotifyError>;
}
