//! Dry runs that clients ask for: from text to what would have happened.

use crate::questions::history_asked::DEFAULT_MEMORY;
use controller::{
    DryRunController, DryRunSetting, DryRunStep, HistoryRequest, HistoryResult, InstalledText, PlannedDryRun,
    QueryInstallError, StandingQueries,
};
use model::DryRunOutcome;
use std::time::Instant;
use web::{DryRunAsked, RequestRefusal};

/// A question to the nodes has this part of the time that is left, and this much of it at the least, milliseconds.
const PARTS: u64 = 4;
const LEAST_MS: u64 = 1_000;

/// The dry run that a client asks for.
pub struct RequestedDryRun {
    run: DryRunController,
    warnings: Vec<String>,
    memory_bytes: u64,
    until: Option<Instant>,
}

impl RequestedDryRun {
    /// Checks what a client asks beside these standing queries.
    pub fn new(standing: &StandingQueries, asked: DryRunAsked) -> Result<Self, RequestRefusal> {
        // A time beyond what the clock can name does not end.
        let until = Instant::now().checked_add(asked.time);
        let DryRunAsked { file, text, period, memory_bytes, .. } = asked;
        let text = InstalledText { file, text, ..InstalledText::default() };
        let planned = standing.plan_dry_run(&text).map_err(refusal)?;
        let PlannedDryRun { chain, reach_ns, warnings } = planned;
        let site = standing.site();
        let setting = DryRunSetting { key: site.key.clone(), window_ns: site.base_ns, period, reach_ns };
        let run = DryRunController::new(chain, &setting).map_err(invalid)?;
        Ok(Self { run, warnings, memory_bytes: memory_bytes.unwrap_or(DEFAULT_MEMORY), until })
    }

    /// Carries the dry run out. `ask` asks the stores of the nodes.
    pub fn run(
        mut self,
        ask: &mut dyn FnMut(HistoryRequest) -> Result<HistoryResult, RequestRefusal>,
    ) -> Result<DryRunOutcome, RequestRefusal> {
        while let DryRunStep::Ask(queries) = self.run.go_on().map_err(invalid)? {
            let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
            let time_ms = left.map_or(u64::MAX, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            // A node that is slow or silent takes no more than its part: the dry run goes on with the others.
            let time_ms = (time_ms / PARTS).max(LEAST_MS).min(time_ms);
            if time_ms == 0 {
                return Err(RequestRefusal::Conflict(
                    "the dry run took all of its time: ask for a shorter period, fewer groups, or more time"
                        .to_owned(),
                ));
            }
            self.run.take(ask(HistoryRequest { queries, memory_bytes: self.memory_bytes, time_ms })?);
        }
        let mut outcome = self.run.end();
        outcome.warnings.splice(0..0, self.warnings);
        Ok(outcome)
    }
}

fn invalid(error: String) -> RequestRefusal {
    RequestRefusal::Invalid { error, diagnostics: Vec::new() }
}

fn refusal(refused: QueryInstallError) -> RequestRefusal {
    let json = |found| serde_json::to_value(found).unwrap_or_default();
    RequestRefusal::Invalid {
        error: refused.reason,
        diagnostics: refused.diagnostics.iter().map(json).collect(),
    }
}
