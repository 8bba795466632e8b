//! Cores and designs: from options to the engine's terms.

use crate::cli::RunOptions;
use crate::exit::Failure;
use engine::{Config, Cores, Design, Every, Plan};
use packet::{KeySpec, Tunnel};
use report::DesignReport;

/// The design for what is to be measured, as far as that is known before it is opened. What a design cannot do is refused
/// with the reason.
pub(crate) fn plan(options: &RunOptions, config: &Config) -> Result<Plan, Failure> {
    if options.queues.is_some() && options.port.is_empty() {
        return Err(Failure::usage(
            "--queues is for DPDK ports (--port); a software wire has --wire queues=N",
        ));
    }
    let queues = match options.wire {
        Some(wire) => wire.queues,
        // A port may turn out to have fewer.
        None => asked_queues(options, config),
    };
    settle(options, config, queues, &engine::allowed_cores())
}

/// Receive queues that a DPDK port is asked for: so many, or one for each receiver; one where nobody asked for a design and
/// something needs one receiver.
pub(crate) fn asked_queues(options: &RunOptions, config: &Config) -> usize {
    match (options.queues, options.design, &options.cores) {
        (Some(queues), ..) => usize::from(queues),
        _ if options.port.is_empty() => 1,
        (_, None, _) if needs_one_receiver(options, config).is_some() => 1,
        (_, Some(Design::Clusters { queues, .. }), _) => queues,
        (_, Some(Design::Rss) | None, Some(Cores::Count(count))) => *count,
        (_, Some(Design::Rss) | None, Some(Cores::List(list))) => list.len(),
        _ => 1,
    }
}

/// The design for a source of so many queues on these cores, the best first.
pub(crate) fn settle(
    options: &RunOptions,
    config: &Config,
    queues: usize,
    cores: &[usize],
) -> Result<Plan, Failure> {
    let plan = Plan::new(options.design, options.cores.as_ref(), queues, cores).map_err(Failure::usage)?;
    let plan = Plan { split: options.split, state: options.state, ..plan };
    plan.check(config).map_err(Failure::usage)?;
    let rings = engine::ring_bytes(&plan, config);
    if rings > config.limits.bytes_allowed() / 2 {
        return Err(Failure::usage(format!(
            "the rings between cores take {} MiB: lower --ring, or raise --memory to twice that",
            rings.div_ceil(1 << 20)
        )));
    }
    let merging = engine::merging_bytes(&plan);
    if merging > config.limits.bytes_allowed() / 2 {
        return Err(Failure::usage(format!(
            "--split {} --state {} begins with {} MiB for {} workers and merging: raise --memory to twice that",
            plan.split,
            plan.state,
            merging >> 20,
            plan.counting()
        )));
    }
    if options.wire.is_some_and(|wire| wire.rate.is_none()) && queues > plan.receivers {
        return Err(Failure::usage(format!(
            "--wire without a rate replays each of its {queues} queues by itself: take as many receivers (--design rss \
             --cores {queues}, --design {queues}x1), or queues={}",
            plan.receivers
        )));
    }
    match needs_one_receiver(options, config) {
        Some((what, why)) if plan.receivers > 1 => Err(Failure::usage(format!(
            "{what} {why}, but --design {} has {} receivers: take one, for instance by --design async",
            plan.design, plan.receivers
        ))),
        _ => Ok(plan),
    }
}

/// What needs all frames in their order, or a flow at one receiver whatever its key is, and why.
fn needs_one_receiver(options: &RunOptions, config: &Config) -> Option<(&'static str, &'static str)> {
    if matches!(options.every, Every::Packets(_)) {
        return Some(("--every", "in packets counts all frames in their order"));
    }
    if options.packets.is_some() {
        return Some(("--packets", "counts all frames in their order"));
    }
    if options.duration.is_some() && options.wire.is_some_and(|wire| wire.rate.is_none()) {
        return Some(("--duration", "of a replay begins with its first frame, which one receiver sees"));
    }
    if options.gap.is_some() {
        return Some(("--gap", "counts all frames between two of a flow"));
    }
    if config.tunnel == Tunnel::Inner {
        let why = "needs inner flows on one core, and queues are chosen by the outer header";
        return Some(("--tunnel inner", why));
    }
    if options.key != KeySpec::FIVE_TUPLE {
        return Some(("--key", "needs a flow on one core, and queues are chosen by the 5-tuple"));
    }
    None
}

/// What is to be said of several receivers of a port that does not bring both directions of a connection to one queue, or
/// refused.
#[cfg(feature = "dpdk")]
pub(crate) fn check_spread(config: &Config, plan: &Plan, spread: port::dpdk::Spread) -> Result<(), Failure> {
    let how = match spread {
        port::dpdk::Spread::Symmetric => return Ok(()),
        port::dpdk::Spread::OneWay => {
            "the port's hash brings both directions of a connection to different queues"
        }
        port::dpdk::Spread::Unknown => "the port does not say how it spreads frames over its queues",
    };
    if config.parts.are_paired() {
        return Err(Failure::usage(format!(
            "--loss and --biflow need both directions of a connection on one core, and {how}: take one receiver, for \
             instance by --design async"
        )));
    }
    if spread == port::dpdk::Spread::Unknown && !plan.merges() {
        crate::exit::say(&format!("{how}: a flow with packets on several has a record for each"));
    }
    Ok(())
}

/// True where all packets of a flow come to queues of one number, however many ports bring them. (But fragments come by their
/// addresses alone.)
#[cfg(feature = "dpdk")]
pub(crate) fn keeps_flows(spread: port::dpdk::Spread, ports: usize) -> bool {
    match spread {
        port::dpdk::Spread::Symmetric => true,
        // By a hash of its own.
        port::dpdk::Spread::OneWay => ports == 1,
        port::dpdk::Spread::Unknown => false,
    }
}

/// What the report says of it.
pub(crate) fn report(plan: &Plan) -> DesignReport {
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

#[cfg(all(test, feature = "dpdk"))]
mod tests {
    use super::keeps_flows;
    use port::dpdk::Spread;

    #[test]
    fn a_flow_stays_where_that_is_known() {
        for (spread, of_one, of_two) in
            [(Spread::Symmetric, true, true), (Spread::OneWay, true, false), (Spread::Unknown, false, false)]
        {
            assert_eq!((keeps_flows(spread, 1), keeps_flows(spread, 2)), (of_one, of_two), "{spread:?}");
        }
    }
}
