//! Cores and designs: from options to the engine's terms.

use crate::cli::RunOptions;
use crate::exit::Failure;
use engine::{Config, Cores, Design, Every, Plan};
use packet::{KeySpec, Tunnel};
use port::wire::WireSpec;
use record::report::DesignReport;

/// The value of `--wire`.
pub(crate) fn wire(text: &str) -> Result<WireSpec, String> {
    text.parse::<WireSpec>().map_err(|error| error.to_string())
}

/// The value of `--cores`.
pub(crate) fn cores(text: &str) -> Result<Cores, String> {
    text.parse()
}

/// The value of `--design`.
pub(crate) fn design(text: &str) -> Result<Design, String> {
    text.parse()
}

/// The design for what is to be measured. What a design cannot do is refused with the reason.
pub(crate) fn plan(options: &RunOptions, config: &Config) -> Result<Plan, Failure> {
    let queues = options.wire.map_or(1, |wire| wire.queues);
    let allowed = engine::allowed_cores();
    let plan = Plan::new(options.design, options.cores.as_ref(), queues, &allowed).map_err(Failure::usage)?;
    let rings = engine::ring_bytes(&plan, config);
    if rings > config.limits.bytes_allowed() / 2 {
        return Err(Failure::usage(format!(
            "the rings between cores take {} MiB: lower --ring, or raise --memory to twice that",
            rings.div_ceil(1 << 20)
        )));
    }
    if options.wire.is_some_and(|wire| wire.rate.is_none()) && queues > plan.receivers {
        return Err(Failure::usage(format!(
            "--wire without a rate replays each of its {queues} queues by itself: take as many receivers (--design rss \
             --cores {queues}, --design {queues}x1), or queues={}",
            plan.receivers
        )));
    }
    if plan.receivers > 1 {
        check_order(options, config, &plan)?;
    }
    Ok(plan)
}

/// Refuses what needs all frames in their order, or a flow at one receiver whatever its key is.
fn check_order(options: &RunOptions, config: &Config, plan: &Plan) -> Result<(), Failure> {
    let refused = |what: &str, why: &str| {
        Err(Failure::usage(format!(
            "{what} {why}, but --design {} has {} receivers: take one, for instance by --design async",
            plan.design, plan.receivers
        )))
    };
    if matches!(options.every, Every::Packets(_)) {
        return refused("--every", "in packets counts all frames in their order");
    }
    if options.packets.is_some() {
        return refused("--packets", "counts all frames in their order");
    }
    if options.duration.is_some() && options.wire.is_some_and(|wire| wire.rate.is_none()) {
        return refused("--duration", "of a replay begins with its first frame, which one receiver sees");
    }
    if options.gap.is_some() {
        return refused("--gap", "counts all frames between two of a flow");
    }
    if config.tunnel == Tunnel::Inner {
        return refused(
            "--tunnel inner",
            "needs inner flows on one core, and queues are chosen by the outer header",
        );
    }
    if options.key != KeySpec::FIVE_TUPLE {
        return refused("--key", "needs a flow on one core, and queues are chosen by the 5-tuple");
    }
    Ok(())
}

/// What the report says of it.
pub(crate) fn report(plan: &Plan) -> DesignReport {
    DesignReport {
        name: plan.design.to_string(),
        receivers: plan.receivers,
        workers: plan.workers,
        cores: plan.cores.clone(),
        oversubscribed: plan.oversubscribed,
        why: plan.why.clone(),
    }
}
