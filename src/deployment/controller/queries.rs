//! The queries of a controller: those of its settings, and those that clients installed, which outlive it.

use super::Config;
use crate::exit::{Failure, say};
use crate::query_text;
use controller::{InstalledText, NotInstalled, NotRemoved, StandingQueries};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use web::{Checking, Hub, Installed, Refusal, Removed};

/// The name of what is kept, in the archive.
const STATE: &str = "queries";

/// The queries.
pub(super) struct Queries {
    standing: StandingQueries,
    /// Queries of the settings that clients removed.
    cancelled: BTreeSet<String>,
}

/// What outlives the controller.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    /// Texts that clients installed.
    texts: Vec<InstalledText>,
    cancelled: BTreeSet<String>,
}

impl Queries {
    /// The queries of the settings, and those that were installed before. What is installed no more, because the settings have changed, is
    /// said.
    pub(super) fn restore(config: &Config, hub: &Hub) -> Result<Self, Failure> {
        let kept = hub.archive().state(STATE).map_err(Failure::fault)?;
        let Kept { texts, cancelled } = match kept {
            None => Kept::default(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                Failure::fault(format!("{}: its queries are damaged: {error}", config.state.display()))
            })?,
        };
        let mut standing = StandingQueries::new(config.site.clone());
        for path in &config.queries {
            let read = query_text::read(path).map_err(Failure::usage)?;
            let removed = cancelled.clone();
            let text = InstalledText { file: read.name, text: read.text, is_configured: true, removed };
            let installed = standing.install(text).map_err(Failure::usage)?;
            installed.warnings.iter().for_each(|line| say(line));
        }
        if !cancelled.is_empty() {
            let names: Vec<&str> = cancelled.iter().map(String::as_str).collect();
            say(&format!("not installed, because they were cancelled: {}", names.join(", ")));
        }
        for text in texts {
            let file = text.file.clone();
            if let Err(refused) = standing.install(text) {
                say(&format!("{file}, which was added, is not installed any more: {refused}"));
            }
        }
        Ok(Self { standing, cancelled })
    }

    pub(super) fn standing(&self) -> &StandingQueries {
        &self.standing
    }

    /// What texts of clients are checked for. `grace_ns`: how long a window waits for what is late.
    pub(super) fn checking(&self, grace_ns: u64) -> Checking {
        // A copy: texts are checked on other threads.
        let standing = self.standing.clone();
        let options = standing.options();
        let refuse = move |file: &str, queries| standing.refusals(file, queries);
        Checking::new(options).with_grace(grace_ns).with_refusals(refuse)
    }

    /// What outlives the controller: name and text of a state of the archive.
    pub(super) fn state(&self) -> Result<(String, String), serde_json::Error> {
        let texts = self.standing.texts().filter(|text| !text.is_configured).cloned().collect();
        let kept = Kept { texts, cancelled: self.cancelled.clone() };
        Ok((STATE.to_owned(), serde_json::to_string(&kept)?))
    }

    pub(super) fn install(&mut self, file: String, text: String) -> Result<Installed, Refusal> {
        let text = InstalledText { file, text, ..InstalledText::default() };
        match self.standing.install(text) {
            Ok(installed) => {
                installed.queries.iter().for_each(|name| {
                    self.cancelled.remove(name);
                });
                Ok(Installed { queries: installed.queries, warnings: installed.warnings })
            }
            Err(NotInstalled { reason, diagnostics }) => {
                let json = |found| serde_json::to_value(found).unwrap_or_default();
                Err(Refusal::Invalid { error: reason, diagnostics: diagnostics.iter().map(json).collect() })
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<Removed, Refusal> {
        match self.standing.remove(name) {
            Ok(removed) => {
                if removed.is_configured {
                    self.cancelled.insert(name.to_owned());
                }
                Ok(Removed { removed: vec![name.to_owned()] })
            }
            Err(NotRemoved::Unknown(nearest)) => {
                let hint = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
                Err(Refusal::Unknown(format!("there is no query {name}{hint}")))
            }
            Err(NotRemoved::Starts(others)) => {
                let others = others.join(", ");
                Err(Refusal::Conflict(format!("{name} starts {others}: remove that first")))
            }
        }
    }
}
