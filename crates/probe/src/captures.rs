//! Packets that a list wants kept.

use engine::{CaptureOrder, Control, FinishedCapture};
use protocol::{CaptureTask, Captured};
use std::collections::{BTreeMap, BTreeSet};
use task::rows::{KeyFilter, PlanContext};

/// The captures of a probe.
#[derive(Debug, Default)]
pub(crate) struct ProbeCaptures {
    /// Names that the last list has, each of which is captured once.
    known: BTreeSet<String>,
    /// The queries of open ones, by name.
    open: BTreeMap<String, String>,
}

impl ProbeCaptures {
    /// Begins what a list wants and the one before did not, and ends what it no longer wants. Returns those that are refused.
    pub(crate) fn carry_out(
        &mut self,
        tasks: &[CaptureTask],
        control: &Control,
        site: &PlanContext,
    ) -> Vec<Captured> {
        let is_wanted = |id: &String| tasks.iter().any(|task| task.id == *id);
        self.known.retain(is_wanted);
        self.open.keys().filter(|id| !is_wanted(id)).for_each(|id| control.captures().cancel(id));
        let mut refused = Vec::new();
        for task in tasks {
            if !self.known.insert(task.id.clone()) {
                continue;
            }
            match order(task, control, site) {
                Ok(()) => drop(self.open.insert(task.id.clone(), task.query.clone())),
                Err(reason) => refused.push(Captured {
                    id: task.id.clone(),
                    query: task.query.clone(),
                    refused: Some(reason),
                    ..Captured::default()
                }),
            }
        }
        refused
    }

    /// Returns the reports on captures that have ended.
    pub(crate) fn captured(&mut self, finished: Vec<FinishedCapture>) -> Vec<Captured> {
        let captured = finished.into_iter().map(|finished| {
            let FinishedCapture { id, failed, file, packets, bytes, ended_by, dropped, is_cut, content } =
                finished;
            Captured {
                query: self.open.remove(&id).unwrap_or_default(),
                id,
                refused: failed,
                file: file.map(|file| file.display().to_string()),
                packets,
                bytes,
                ended_by: ended_by.to_owned(),
                dropped,
                is_cut,
                content,
            }
        });
        captured.collect()
    }
}

fn order(task: &CaptureTask, control: &Control, site: &PlanContext) -> Result<(), String> {
    let CaptureTask { id, query, filter, packets, time } = task;
    let filter = match filter {
        None => KeyFilter::all(),
        Some(filter) => KeyFilter::plan(filter, site).map_err(|refusal| format!("filter: {refusal}"))?,
    };
    let comment = format!("capture {packets} packets of {query}, event {id}, at {}", site.node);
    let order = CaptureOrder { id: id.clone(), comment, filter, packets: *packets, time: *time };
    control.captures().order(order).map_err(|refused| refused.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena::Limits;
    use engine::{CaptureSettings, NotCaptured};
    use packet::{KeySpec, Seed};
    use std::sync::Arc;
    use task::query::{Comparison, Condition};
    use task::{Generation, TaskSet};

    #[test]
    fn each_name_is_captured_once_as_long_as_it_is_wanted() {
        let folder = std::env::temp_dir().join(format!("edison-probe-captures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, 1));
        let control =
            Control::new(Arc::new(TaskSet::plan(Generation::default(), &[], None, &site).expect("no query")));
        let task = |id: &str| CaptureTask {
            id: id.to_owned(),
            query: format!("q{id}"),
            filter: Some(Condition::compare("dst_port", Comparison::Equal, 80)),
            packets: 1,
            time: None,
        };
        let by_row = CaptureTask {
            filter: Some(Condition::compare("total_byte", Comparison::Greater, 1)),
            ..task("row")
        };
        let mut captures = ProbeCaptures::default();
        let mut carry_out = |tasks: &[CaptureTask]| {
            let refused = captures.carry_out(tasks, &control, &site).into_iter();
            refused.map(|refused| (refused.id, refused.refused.expect("a reason"))).collect::<Vec<_>>()
        };
        assert_eq!(carry_out(&[task("1")]), [("1".to_owned(), NotCaptured::NoFolder.to_string())]);
        let settings = CaptureSettings { folder: Some(folder.clone()), ..CaptureSettings::none() };
        control.captures().start(settings).expect("a thread");
        // The first one was refused, and is not tried again.
        assert_eq!(carry_out(&[task("1"), task("2"), task("3")]), []);
        let refused = carry_out(&[task("3"), task("2"), by_row]);
        assert!(refused.len() == 1 && refused[0].1.starts_with("filter: "), "{refused:?}");
        assert_eq!(carry_out(&[task("3")]), []);
        let mut captured = captures.captured(control.captures().end());
        captured.sort_by(|one, other| one.id.cmp(&other.id));
        let ended: Vec<_> = captured.iter().map(|one| (&*one.id, &*one.query, &*one.ended_by)).collect();
        assert_eq!(ended, [("2", "q2", "cancelled"), ("3", "q3", "run_end")]);
        assert!(captured.iter().all(|one| one.file.is_some() && one.content.is_some()));
        assert!(captures.open.is_empty());
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
