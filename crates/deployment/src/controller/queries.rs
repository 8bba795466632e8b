//! The queries of a controller: those of its settings, and those that clients installed, which outlive it.

use super::ControllerConfig;
use controller::{InstalledText, NotRemoved, QueryInstallError, StandingQueries};
use runtime::exit::{Failure, say};
use runtime::questions::query_text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use web::{Checking, Hub, Installed, Removed, RequestRefusal};

/// The name of what is kept, in the archive.
const STATE: &str = "queries";

/// The queries.
pub(super) struct ControllerQueries {
    continuous: StandingQueries,
    /// Queries of the settings that clients removed.
    cancelled: BTreeSet<String>,
}

/// The state of queries that outlives the controller.
#[derive(Default, Serialize, Deserialize)]
struct PersistedQueries {
    /// Texts that clients installed.
    texts: Vec<InstalledText>,
    cancelled: BTreeSet<String>,
}

impl ControllerQueries {
    /// The queries of the settings, and those that were installed before. What is installed no more, because the settings have changed, is
    /// said.
    pub(super) fn restore(config: &ControllerConfig, hub: &Hub) -> Result<Self, Failure> {
        let kept = hub.archive().state(STATE).map_err(Failure::fault)?;
        let PersistedQueries { texts, cancelled } = match kept {
            None => PersistedQueries::default(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                Failure::fault(format!("{}: its queries are damaged: {error}", config.state.display()))
            })?,
        };
        let mut standing = StandingQueries::new(config.site.clone());
        let mut all = Vec::new();
        for path in &config.queries {
            let read = query_text::read(path).map_err(Failure::usage)?;
            let removed = cancelled.clone();
            all.push(InstalledText { file: read.name, text: read.text, is_configured: true, removed });
        }
        // One of a client may have taken the place of a query that others of the settings refer to.
        all.extend(texts);
        for (text, installed) in standing.install_all(all) {
            match installed {
                Ok(installed) if text.is_configured => installed.warnings.iter().for_each(|line| say(line)),
                Ok(_) => {}
                Err(refused) if text.is_configured => return Err(Failure::usage(refused)),
                Err(refused) => {
                    say(&format!("{}, which was added, is not installed any more: {refused}", text.file));
                }
            }
        }
        if !cancelled.is_empty() {
            let names: Vec<&str> = cancelled.iter().map(String::as_str).collect();
            say(&format!("not installed, because they were cancelled: {}", names.join(", ")));
        }
        Ok(Self { continuous: standing, cancelled })
    }

    pub(super) fn continuous(&self) -> &StandingQueries {
        &self.continuous
    }

    /// Returns the checks of the texts of clients. `grace_ns` is the time that a window waits for what is late.
    pub(super) fn checking(&self, grace_ns: u64) -> Checking {
        // A copy: texts are checked on other threads.
        let standing = self.continuous.clone();
        let options = standing.options();
        let refuse = move |file: &str, text: &str, replaces| {
            let (file, text) = (file.to_owned(), text.to_owned());
            standing.refusals(InstalledText { file, text, ..InstalledText::default() }, replaces)
        };
        Checking::new(options).with_grace(grace_ns).with_refusals(refuse)
    }

    /// Returns the state that outlives the controller: name and text of a state of the archive.
    pub(super) fn state(&self) -> Result<(String, String), serde_json::Error> {
        let texts = self.continuous.texts().filter(|text| !text.is_configured).cloned().collect();
        let kept = PersistedQueries { texts, cancelled: self.cancelled.clone() };
        Ok((STATE.to_owned(), serde_json::to_string(&kept)?))
    }

    /// Installs the queries of a text; with `replaces` in the places of queries of the same names.
    pub(super) fn install(
        &mut self,
        file: String,
        text: String,
        replaces: bool,
    ) -> Result<Installed, RequestRefusal> {
        let text = InstalledText { file, text, ..InstalledText::default() };
        let configured = self.continuous.queries().iter().filter(|known| known.is_configured);
        let configured: Vec<String> = configured.map(|known| known.query.label.clone()).collect();
        let result = if replaces { self.continuous.replace(text) } else { self.continuous.install(text) };
        match result {
            Ok(installed) => {
                // Those of the settings whose places are taken.
                let taken = installed.queries.iter().filter(|name| configured.contains(*name));
                self.cancelled.extend(taken.cloned());
                Ok(Installed { queries: installed.queries, warnings: installed.warnings })
            }
            Err(QueryInstallError { reason, diagnostics, .. }) => {
                let json = |found| serde_json::to_value(found).unwrap_or_default();
                Err(RequestRefusal::Invalid {
                    error: reason,
                    diagnostics: diagnostics.iter().map(json).collect(),
                })
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<Removed, RequestRefusal> {
        match self.continuous.remove(name) {
            Ok(removed) => {
                if removed.is_configured {
                    self.cancelled.insert(name.to_owned());
                }
                Ok(Removed { removed: vec![name.to_owned()] })
            }
            Err(NotRemoved::Unknown(nearest)) => {
                let hint = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
                Err(RequestRefusal::Unknown(format!("there is no query {name}{hint}")))
            }
            Err(NotRemoved::Starts(others)) => {
                let others = others.join(", ");
                Err(RequestRefusal::Conflict(format!("{name} starts {others}: remove that first")))
            }
        }
    }
}
