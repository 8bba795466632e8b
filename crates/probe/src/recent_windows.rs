//! Windows that are over, as a list wants them kept and asked.

use engine::{Control, recent_windows_bytes};
use notation::{grouped, scaled};
use protocol::{ListId, LookBackTask, LookedBack, RetentionLimits, TaskList};
use std::collections::BTreeSet;
use task::Generation;
use task::query::Query;
use task::rows::{PlanContext, RowQueries};

/// The windows that a probe keeps, and the questions that it was asked about them.
#[derive(Debug, Default)]
pub(crate) struct LookBacks {
    kept: Option<RetentionLimits>,
    /// The numbers of the tasks that lists of one controller's start ask and that were answered.
    answered: BTreeSet<u64>,
    epoch: u64,
}

impl LookBacks {
    /// Keeps from now on what a list wants, in at most `most` bytes.
    ///
    /// # Errors
    /// Returns why it is not kept; what was kept before still is.
    pub(crate) fn keep(
        &mut self,
        wanted: Option<RetentionLimits>,
        most: usize,
        control: &Control,
        site: &PlanContext,
    ) -> Result<(), String> {
        if wanted == self.kept {
            return Ok(());
        }
        let (windows, bytes) = match wanted {
            None => (0, 0),
            Some(RetentionLimits { windows, flows }) => {
                (windows, recent_windows_bytes(windows, flows, site.tracked))
            }
        };
        let ring = || {
            let RetentionLimits { windows, flows } =
                wanted.unwrap_or(RetentionLimits { windows: 0, flows: 0 });
            let (flows, size) = (grouped(flows), scaled(bytes as f64, "B"));
            format!("look-back: a ring of {windows} windows of {flows} flows takes {size}")
        };
        let allowed = usize::try_from(bytes).ok().filter(|bytes| *bytes <= most);
        let bytes = allowed.ok_or_else(|| format!("{}, {} are allowed", ring(), scaled(most as f64, "B")))?;
        let windows = usize::try_from(windows).unwrap_or(usize::MAX);
        control.keep_windows(windows, bytes, &site.limits).map_err(|no_room| {
            format!("{}, {} are left of the memory", ring(), scaled(no_room.left as f64, "B"))
        })?;
        self.kept = wanted;
        Ok(())
    }

    /// The answers to what a list asks and was not answered.
    pub(crate) fn answer(
        &mut self,
        list: &TaskList,
        control: &Control,
        site: &PlanContext,
    ) -> Vec<LookedBack> {
        let ListId { epoch, .. } = list.id();
        if self.epoch != epoch {
            (self.epoch, self.answered) = (epoch, BTreeSet::new());
        }
        self.answered.retain(|id| list.look_backs.iter().any(|task| task.id == *id));
        let new = list.look_backs.iter().filter(|task| self.answered.insert(task.id));
        new.map(|task| answer_retrospective(task, control, site)).collect()
    }
}

fn answer_retrospective(task: &LookBackTask, control: &Control, site: &PlanContext) -> LookedBack {
    let LookBackTask { id, window, queries } = task;
    let looked = |answers, missing| LookedBack { id: *id, window: *window, answers, missing };
    let mut missing = Vec::new();
    let mut queries: Vec<Query> = queries.clone();
    let planned = loop {
        match RowQueries::plan(Generation::default(), &queries, site) {
            Ok(planned) => break planned,
            Err(refusals) => {
                let before = queries.len();
                queries.retain(|query| !refusals.iter().any(|(name, _)| *name == query.name));
                missing.extend(refusals.iter().map(|(name, refusal)| format!("{name}: {refusal}")));
                if queries.len() == before {
                    return looked(Vec::new(), Some(missing.join("; ")));
                }
            }
        }
    };
    match control.recent_windows().ask(*window, &planned) {
        Ok(answers) => looked(answers, (!missing.is_empty()).then(|| missing.join("; "))),
        Err(reason) => {
            missing.push(reason.to_string());
            looked(Vec::new(), Some(missing.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena::Limits;
    use engine::NotKept;
    use model::Span;
    use packet::{KeySpec, Seed};
    use std::sync::Arc;
    use task::TaskSet;
    use task::query::{GroupField, OutputColumn};

    fn site() -> PlanContext {
        let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(64 << 20, 1_000));
        PlanContext { window_ns: Some(1_000_000_000), ..site }
    }

    fn control(site: &PlanContext) -> Control {
        let set = TaskSet::plan(Generation::default(), &[], None, site).expect("no query");
        Control::new(Arc::new(set))
    }

    #[test]
    fn what_is_too_large_is_refused_with_its_size() {
        let (site, mut look_backs) = (site(), LookBacks::default());
        let control = control(&site);
        let wanted = |windows, flows| Some(RetentionLimits { windows, flows });
        let mut keep = |wanted| look_backs.keep(wanted, 32 << 20, &control, &site);
        let reason = keep(wanted(6, 1_000_000)).expect_err("too large");
        let said = "look-back: a ring of 6 windows of 1,000,000 flows takes 576.00 MB, 33.55 MB are allowed";
        assert_eq!(reason, said);
        assert!(keep(wanted(u64::MAX, u64::MAX)).is_err());
        assert_eq!(site.limits.bytes_used(), 0);
        assert_eq!(keep(wanted(6, 10_000)), Ok(()));
        assert_eq!(site.limits.bytes_used(), 6 * 10_000 * 96);
        // Twice what is left, and within what is allowed.
        let _lease = site.limits.lease(50 << 20).expect("room");
        let reason = keep(wanted(6, 50_000)).expect_err("no memory");
        assert!(reason.ends_with("are left of the memory"), "{reason}");
        assert_eq!(site.limits.bytes_used(), (50 << 20) + 6 * 10_000 * 96, "as before");
        assert_eq!(keep(None), Ok(()));
        assert_eq!(site.limits.bytes_used(), 50 << 20);
    }

    #[test]
    fn each_request_is_answered_once() {
        let (site, mut look_backs) = (site(), LookBacks::default());
        let control = control(&site);
        let window = Span { start_ns: 0, end_ns: 1_000_000_000 };
        let query =
            |field: &str| Query::new(field, [GroupField::from_field("dst_addr")], [OutputColumn::sum(field)]);
        let queries = vec![query("total_byte"), query("ploss_byte")];
        let task = |id| LookBackTask { id, window, queries: queries.clone() };
        let list = |epoch, ids: &[u64]| {
            let look_backs = ids.iter().map(|id| task(*id)).collect();
            TaskList { epoch, look_backs, ..TaskList::default() }
        };
        let mut ids = |epoch, asked: &[u64]| {
            let answered = look_backs.answer(&list(epoch, asked), &control, &site);
            answered.iter().map(|answer| answer.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(1, &[1, 2]), [1, 2]);
        assert_eq!(ids(1, &[1, 2, 3]), [3]);
        assert_eq!(ids(1, &[]), [0; 0]);
        assert_eq!(ids(2, &[3, 3]), [3], "another start of a controller");
        let answer = &look_backs.answer(&list(3, &[1]), &control, &site)[0];
        let missing = answer.missing.as_deref().expect("a reason");
        assert!(answer.answers.is_empty() && missing.starts_with("ploss_byte: "), "{missing}");
        assert!(missing.ends_with(&format!("; {}", NotKept::Off)), "{missing}");
    }
}
