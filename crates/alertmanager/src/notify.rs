//! Whom alerts are told, and why they may not be taken.

use crate::Problem;

/// Why alerts were not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This may pass, says the text about the Alertmanager.
    Wait(Problem, String),
    /// The alerts themselves, or some of them, are refused.
    Alerts(String),
}

/// Whom alerts are told.
pub trait Notify: Send {
    /// Where it is.
    fn place(&self) -> String;

    /// Hands over a JSON list of alerts.
    ///
    /// # Errors
    /// Why they, or some of them, were not taken.
    fn post(&mut self, body: &str) -> Result<(), Refusal>;
}
