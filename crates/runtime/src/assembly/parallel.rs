//! Cores and designs: from options to the engine's terms.

use crate::assembly::{preset, refusal};
use crate::exit::Failure;
use crate::spec::RunSpec;
use engine::admission::{self, Directions, SourceProperties};
use engine::{Cores, Design, MeasurementConfig, ResolvedDesign, Room};
use model::DesignReport;
use port::PacketSource;

/// The sources of open ports, one for each receiver, the plan as the ports' capabilities resolve it, and what is known of the ports.
pub(crate) type OpenPorts = (Vec<Box<dyn PacketSource>>, ResolvedDesign, SourceProperties);

/// The design for what is to be measured, as far as that is known before it is opened.
pub(crate) fn plan(options: &RunSpec, config: &MeasurementConfig) -> Result<ResolvedDesign, Failure> {
    let queues = match options.source.wire {
        Some(wire) => wire.queues,
        // A port may have fewer.
        None => asked_queues(options, config),
    };
    settle(options, config, queues, &engine::allowed_cores())
}

/// Receive queues requested of a DPDK port: those of `--queues`, or one for each receiver; one if no design
/// was requested and something needs one receiver.
pub(crate) fn asked_queues(options: &RunSpec, config: &MeasurementConfig) -> usize {
    if let Some(queues) = port_queues(options) {
        return queues;
    }
    let is_open = options.machine.design.is_none() && options.machine.tee.is_none();
    if options.source.port.is_empty()
        || is_open && !admission::one_receiver(config, &site(options)).is_empty()
    {
        return 1;
    }
    // As many as a preset wants: the port says how many it has.
    match chosen(options, usize::MAX, engine::allowed_cores().len()) {
        (Some(Design::Clusters { queues, .. }), _) => queues,
        (Some(Design::Rss) | None, Some(Cores::Count(count))) => count,
        (Some(Design::Rss) | None, Some(Cores::List(list))) => list.len(),
        _ => 1,
    }
}

/// The design and the cores that are requested of a source with `queues` queues: a preset's where only that says it, and for a sample a core that
/// measures what another one receives.
fn chosen(options: &RunSpec, queues: usize, allowed: usize) -> (Option<Design>, Option<Cores>) {
    let room = Room { cores: allowed, queues, replaying_queues: site(options).replaying_queues };
    preset::scaled(options, &room).unwrap_or_else(|| (design(options), options.machine.cores.clone()))
}

/// The best design for a source with `queues` queues on these cores. If there is none, the error also names
/// reasons that no design would change.
pub(crate) fn settle(
    options: &RunSpec,
    config: &MeasurementConfig,
    queues: usize,
    cores: &[usize],
) -> Result<ResolvedDesign, Failure> {
    let (design, asked) = chosen(options, queues, cores.len());
    let plan = ResolvedDesign::new(design, asked.as_ref(), queues, cores).map_err(|refusal| {
        let mut refusals = admission::check_config(config);
        refusals.push(refusal);
        refusal::failure(&refusals)
    })?;
    let why = match (preset::named(options), options.machine.design, options.machine.tee) {
        (Some(named), None, _) => preset::why(named, options, &plan, (cores.len(), queues)),
        (None, None, Some(_)) => "a sample is measured on another core than the one that receives".to_owned(),
        _ => plan.why,
    };
    Ok(ResolvedDesign { split: options.machine.split, state: options.machine.state, why, ..plan })
}

/// The queues of `--queues`, where there is a port that they are of.
fn port_queues(options: &RunSpec) -> Option<usize> {
    options.machine.queues.filter(|_| !options.source.port.is_empty()).map(usize::from)
}

/// The design that was requested; without one a sample needs a core that measures what another one receives.
fn design(options: &RunSpec) -> Option<Design> {
    let queues = options.source.wire.map_or_else(|| port_queues(options).unwrap_or(1), |wire| wire.queues);
    let of_sample = match queues {
        0 | 1 => Design::Async,
        queues => Design::Clusters { queues, workers: 1 },
    };
    options.machine.design.or_else(|| options.machine.tee.map(|_| of_sample))
}

/// Returns what is known of sources before they are open.
pub(crate) fn site(options: &RunSpec) -> SourceProperties {
    let replaying = options.source.wire.filter(|wire| wire.rate.is_none());
    let hash = options.machine.rss_spec().unwrap_or_default();
    SourceProperties {
        replaying_queues: replaying.map_or(0, |wire| wire.queues),
        directions: if hash.is_symmetric() { Directions::Together } else { Directions::Apart },
        spread_by: hash.fields.deciding_key(),
        ..SourceProperties::default()
    }
}

/// Returns the part of the report about the parallel design.
pub(crate) fn report(plan: &ResolvedDesign) -> DesignReport {
    DesignReport {
        name: plan.design.to_string(),
        receivers: plan.receivers,
        workers: plan.workers,
        split: plan.split.to_string(),
        state: plan.state.to_string(),
        cores: plan.cores.clone(),
        oversubscribed: plan.oversubscribed,
        why: plan.why.clone(),
    }
}
