//! Long times of equal windows, walked through window by window or jumped over.

use super::graphs::SECOND;
use super::windows::History;
use events::{Find, Machine, MachineStep, QueryRun, Report, Started};
use model::Event;

/// What a machine tells of a whole history.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// The number of steps that it takes.
    pub(crate) steps: u64,
    events: Vec<Event>,
    started: Vec<Started>,
    reports: Vec<Report>,
    runs: Vec<QueryRun>,
}

impl Whole {
    fn add(&mut self, step: MachineStep) {
        self.steps += 1;
        self.events.extend(step.events);
        self.started.extend(step.started);
        self.reports.extend(step.reports);
    }

    /// # Errors
    /// If one that jumps tells something else.
    pub(crate) fn compare(&self, jump: &Self) -> Result<(), String> {
        fn same<T: PartialEq + std::fmt::Debug>(what: &str, walk: &[T], jump: &[T]) -> Result<(), String> {
            let equal = walk.iter().zip(jump).take_while(|(a, b)| a == b).count();
            let (walked, jumped) = (walk.get(equal), jump.get(equal));
            if walked.is_none() && jumped.is_none() {
                return Ok(());
            }
            Err(format!("{what} differ at {equal}\n walk: {walked:#?}\n jump: {jumped:#?}"))
        }
        same("events", &self.events, &jump.events)?;
        same("what starts", &self.started, &jump.started)?;
        same("reports", &self.reports, &jump.reports)?;
        same("runs", &self.runs, &jump.runs)
    }
}

fn take(machine: &mut Machine, history: &History, end_ns: u64) -> MachineStep {
    let windows = history.windows(end_ns);
    let find: &Find<'_> = &|asked| windows.find(asked);
    machine.step(end_ns, find)
}

/// Takes each window.
pub(crate) fn walk(history: &History) -> Whole {
    let mut machine = Machine::new(history.graph.clone());
    let mut whole = Whole::default();
    for end_ns in history.ends() {
        whole.add(take(&mut machine, history, end_ns));
    }
    whole.runs = machine.runs().to_vec();
    whole
}

/// Jumps within quiet times to where the machine says that something changes.
///
/// # Errors
/// If that is in the past.
pub(crate) fn jump(history: &History) -> Result<Whole, String> {
    let mut machine = Machine::new(history.graph.clone());
    let mut whole = Whole::default();
    let mut ends = history.ends().peekable();
    while let Some(end_ns) = ends.next() {
        let step = take(&mut machine, history, end_ns);
        let is_in = |span: &model::Span| end_ns > span.start_ns && end_ns <= span.end_ns;
        let quiet = history.quiet.iter().map(|quiet| quiet.span).find(is_in);
        if let (Some(quiet), true) = (quiet, step.is_quiet) {
            let next = machine.next_change(quiet.start_ns).unwrap_or(u64::MAX);
            if next <= end_ns || !(next == u64::MAX || next.is_multiple_of(SECOND)) {
                return Err(format!("at {end_ns} something changes next at {next}"));
            }
            while ends.next_if(|end_ns| *end_ns < next && *end_ns <= quiet.end_ns).is_some() {}
        }
        whole.add(step);
    }
    whole.runs = machine.runs().to_vec();
    Ok(whole)
}
