//! `--preset`: a paper's design, scaled down to the cores and the queues that there are.

use crate::spec::RunSpec;
use engine::{Cores, Design, Preset, ResolvedDesign, Room};

/// The design and the cores of the preset that the options name, as far as there is room, and what they request apart from it; `None` without a
/// preset.
pub(super) fn scaled(options: &RunSpec, room: &Room) -> Option<(Option<Design>, Option<Cores>)> {
    let machine = &options.machine;
    let given = machine.cores.as_ref().map(count);
    let (design, cores) = named(options)?.scaled(machine.design, given, room);
    Some((design, machine.cores.clone().or(cores.map(Cores::Count))))
}

/// The preset that the options name.
pub(super) fn named(options: &RunSpec) -> Option<&'static Preset> {
    options.machine.preset.as_deref().and_then(|name| Preset::find(name).ok())
}

fn count(cores: &Cores) -> usize {
    match cores {
        Cores::Count(count) => *count,
        Cores::List(list) => list.len(),
    }
}

/// The reason for a design that a preset chose. `room`: the cores that the process may use, and the queues of the source.
pub(super) fn why(
    preset: &Preset,
    options: &RunSpec,
    plan: &ResolvedDesign,
    (allowed, queues): (usize, usize),
) -> String {
    let name = preset.name;
    if !is_scaled(preset, options, plan) {
        return format!("--preset {name}");
    }
    let (best, wanted, paper_queues) = preset.best;
    let cores = options.machine.cores.as_ref().map_or(allowed, count);
    let wanted = wanted.map_or_else(String::new, |wanted| format!(" on {wanted} cores"));
    let core = if cores == 1 { "core" } else { "cores" };
    let queue = if queues == 1 { "queue" } else { "queues" };
    format!(
        "--preset {name} is {best}{wanted} with {paper_queues} queues; here are {cores} {core} and {queues} {queue}"
    )
}

/// True if the plan is not the preset's own, and no option says so.
fn is_scaled(preset: &Preset, options: &RunSpec, plan: &ResolvedDesign) -> bool {
    let (best, wanted, _) = preset.best;
    let fewer_cores = wanted.is_some_and(|wanted| plan.cores.len() != wanted) || plan.oversubscribed;
    options.machine.design.is_none()
        && (plan.design.to_string() != best || options.machine.cores.is_none() && fewer_cores)
}

/// The remark that a preset is scaled down; `None` where it is not.
pub(crate) fn remark(options: &RunSpec, plan: &ResolvedDesign) -> Option<String> {
    let preset = named(options).filter(|preset| is_scaled(preset, options, plan))?;
    let (_, _, queues) = preset.best;
    let threads = plan.threads();
    let thread = if threads == 1 { "thread" } else { "threads" };
    let source = &options.source;
    let is_replay = source.port.is_empty() && source.interface.is_empty();
    let more = match is_replay && source.wire.is_none() && queues > 1 {
        true => format!(" (with --wire queues={queues} it has the paper's queues)"),
        false => String::new(),
    };
    Some(format!("{}: {} with {threads} {thread}{more}", plan.why, plan.design))
}
