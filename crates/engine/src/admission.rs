//! The check whether a run is possible as requested. It is made in one place, before anything is measured, so that all programs refuse
//! alike. All reasons are reported at once.

use crate::config::{Every, MeasurementConfig};
use crate::design::{Design, StatePlacement};
use crate::memory::{merging_bytes, ring_bytes};
use crate::plan::ResolvedDesign;
pub use crate::refusal::{Directions, EveryPacket, OneReceiver, Ordered, RunRefusal};
pub use crate::tracked_flows::{NoZoom, check_tracked_flows, no_gaps};
use arena::Lease;
use flow::Metric;
use packet::{KeySpec, Tunnel};
use task::{RunProperties, TaskSpec, Tasks};

/// The least memory of a run, bytes: three arenas for each address family begin with 2 MiB; outputs have
/// queues of 21 MiB, an exporter one of 8 MiB.
pub const LEAST_MEMORY: usize = 48 << 20;

/// The properties of the sources of a run. The default is one source without special properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceProperties {
    /// Queues that each replay independently, without a common clock; 0 if there is a clock, or no queue.
    pub replaying_queues: usize,
    /// The key that decides at which receiver a packet arrives, if there are several: packets in which its fields agree arrive at one.
    pub spread_by: KeySpec,
    /// True if packets of one flow may reach several receivers.
    pub scatters_flows: bool,
    /// The receivers at which the two directions of a connection arrive if there are several receivers.
    pub directions: Directions,
    /// True if a replay that has ended stays silent instead of ending.
    pub falls_silent: bool,
    /// Bytes of the frames that sources keep in memory.
    pub frame_bytes: usize,
}

/// The initial resources of an admitted run.
#[derive(Debug)]
pub struct Admission {
    /// The tasks of the run; `None` without tasks.
    pub tasks: Option<Tasks>,
    /// The memory of tasks and frames, to be held as long as the run lasts.
    pub memory: Lease,
}

/// Admits a run of this plan that begins with these tasks, or refuses it.
///
/// # Errors
/// Returns all reasons, those of one kind together. Where one part alone takes too much memory, the sum is no
/// separate reason.
pub fn admit(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    specs: &[TaskSpec],
    site: &SourceProperties,
) -> Result<Admission, Vec<RunRefusal>> {
    let mut refusals = check_config(config);
    refusals.extend(check_sampling(config, plan));
    refusals.extend(check_order(config, plan));
    refusals.extend(check_receivers(config, plan, site));
    let tasks = tasks(config, plan, specs, site).unwrap_or_else(|of_tasks| {
        refusals.extend(of_tasks);
        None
    });
    let parts = MemoryDemand::new(config, plan, tasks.as_ref(), site);
    refusals.extend(parts.too_large(config, plan));
    let sum = if refusals.iter().any(|refusal| refusal.enough_memory().is_some()) {
        None
    } else {
        match parts.lease(config) {
            // The lease of a refused run is released at once.
            Ok(memory) if refusals.is_empty() => return Ok(Admission { tasks, memory }),
            Ok(_) => None,
            Err(refusal) => Some(refusal),
        }
    };
    refusals.extend(sum);
    Err(refusals)
}

/// Reasons that no plan changes.
pub fn check_config(config: &MeasurementConfig) -> Vec<RunRefusal> {
    let mut refusals = Vec::new();
    let allowed = config.limits.bytes_allowed();
    if allowed < LEAST_MEMORY {
        refusals.push(RunRefusal::TooLittleMemory { allowed, least: LEAST_MEMORY });
    }
    if config.parts.loss && !config.key.is_five_tuple() {
        refusals.push(RunRefusal::LossNeedsConnections);
    }
    if config.parts.biflow
        && let Some(reason) = config.key.why_not_symmetric()
    {
        refusals.push(RunRefusal::KeyNotSymmetric { reason });
    }
    refusals
}

/// Returns the reasons why the packets cannot be sampled.
pub fn check_sampling(config: &MeasurementConfig, plan: &ResolvedDesign) -> Vec<RunRefusal> {
    if config.sampling.is_none() {
        return Vec::new();
    }
    let design = plan.design;
    let is_alone = plan.workers == 0 || design == Design::Sync;
    let parts = &config.parts;
    let whole = [(parts.loss, EveryPacket::Loss), (parts.biflow, EveryPacket::Biflow)];
    let asked = whole.into_iter().filter(|(given, _)| *given).map(|(_, what)| what);
    let of_order = parts.metrics().filter(|metric| matches!(metric, Metric::Gap | Metric::InterArrival));
    let asked = asked.chain(of_order.map(EveryPacket::Statistic));
    let alone = is_alone.then_some(RunRefusal::SamplingNeedsWorkers { design });
    alone.into_iter().chain(asked.map(|what| RunRefusal::NeedsEveryPacket { what })).collect()
}

/// Returns a refusal for each request that needs a flow's packets on one core and in their order, if the plan makes several cores count them.
pub fn check_order(config: &MeasurementConfig, plan: &ResolvedDesign) -> Vec<RunRefusal> {
    if !plan.merges() {
        return Vec::new();
    }
    let parts = &config.parts;
    let has_timeouts = config.timeouts.idle_ns != u64::MAX || config.timeouts.active_ns != u64::MAX;
    let whole = [
        (parts.loss, Ordered::Loss),
        (parts.biflow, Ordered::Biflow),
        // Nothing ends in such a table before the run does.
        (has_timeouts && config.table.is_none(), Ordered::Timeouts),
        (config.table.is_some(), Ordered::HashTable),
    ];
    let statistics = parts.metrics().map(Ordered::Statistic);
    let asked = whole.into_iter().filter(|(given, _)| *given).map(|(_, what)| what);
    let refusal = |what| RunRefusal::NeedsOrder { what, split: plan.split, state: plan.state };
    asked.chain(statistics).map(refusal).collect()
}

/// Returns the requests that need all frames at one receiver.
pub fn one_receiver(config: &MeasurementConfig, site: &SourceProperties) -> Vec<OneReceiver> {
    let has_gaps = config.parts.metrics().any(|metric| metric == Metric::Gap);
    let asked = [
        (matches!(config.every, Every::Packets(_)), OneReceiver::WindowsOfPackets),
        (config.packets.is_some(), OneReceiver::PacketLimit),
        (config.duration.is_some() && site.replaying_queues > 0, OneReceiver::DurationOfReplay),
        (has_gaps, OneReceiver::Gap),
        (config.tunnel == Tunnel::Inner, OneReceiver::InnerTunnel),
    ];
    let asked = asked.into_iter().filter(|(given, _)| *given).map(|(_, what)| what);
    asked.chain(lacking_field(&config.key, &site.spread_by).map(OneReceiver::Key)).collect()
}

/// Returns what a key lacks, or has a part of, so that packets with this key arrive at several receivers, where they are spread by these fields;
/// `None` if they arrive at one. (But fragments are spread by their addresses alone.)
fn lacking_field(key: &KeySpec, spread_by: &KeySpec) -> Option<&'static str> {
    // Without addresses the two families have the same keys, and their hashes differ.
    key.lacks(spread_by).or_else(|| (!key.has_addresses()).then_some("the IP version"))
}

/// Returns the requests that are impossible with several receivers.
fn check_receivers(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    site: &SourceProperties,
) -> Vec<RunRefusal> {
    let ResolvedDesign { design, receivers, .. } = *plan;
    let mut refusals = Vec::new();
    if site.replaying_queues > receivers {
        refusals.push(RunRefusal::ReplaysApart { queues: site.replaying_queues, receivers });
    }
    if receivers == 1 {
        return refusals;
    }
    let needed = one_receiver(config, site).into_iter();
    refusals.extend(needed.map(|what| RunRefusal::NeedsOneReceiver { what, design, receivers }));
    if config.parts.are_paired() && site.directions != Directions::Together {
        refusals.push(RunRefusal::DirectionsApart { directions: site.directions });
    }
    if plan.merges() && site.falls_silent {
        refusals.push(RunRefusal::FallsSilent { merging: Some((plan.split, plan.state)) });
    }
    refusals
}

/// The properties of a run that matter to tasks that count packets.
///
/// # Errors
/// The reason why no packets can be counted in this run.
pub fn run_properties(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    site: &SourceProperties,
) -> Result<RunProperties, RunRefusal> {
    // If flows are merged, that is a reason against the run itself.
    if plan.receivers > 1 && site.falls_silent && !plan.merges() {
        return Err(RunRefusal::FallsSilent { merging: None });
    }
    Ok(RunProperties {
        key: config.key,
        is_paired: config.parts.are_paired(),
        packets: match config.every {
            Every::Packets(packets) => Some(packets),
            Every::Time(_) => None,
        },
        workers: plan.counting(),
        scatters: plan.merges() || site.scatters_flows,
        shares: plan.state == StatePlacement::Shared && plan.counting() > 1,
        seed: config.seed,
    })
}

/// Structures for the tasks of this run, if they can be counted: when it begins, or installed during the run
/// ([`crate::Control::install`]). Memory is not considered.
///
/// # Errors
/// Returns all reasons.
pub fn tasks(
    config: &MeasurementConfig,
    plan: &ResolvedDesign,
    specs: &[TaskSpec],
    site: &SourceProperties,
) -> Result<Option<Tasks>, Vec<RunRefusal>> {
    if specs.is_empty() {
        return Ok(None);
    }
    let setting = run_properties(config, plan, site).map_err(|refusal| vec![refusal])?;
    // One by one, so that each says what it lacks.
    let refusal = |spec: &TaskSpec| {
        let sampled = config.sampling.as_ref().and_then(|_| spec.why_not_sampled());
        let planned = || Tasks::plan_with_rows(std::slice::from_ref(spec), &setting).err();
        let reason = sampled.or_else(planned)?;
        Some(if spec.is_of_query() { RunRefusal::Query { reason } } else { RunRefusal::Task { reason } })
    };
    let refused: Vec<RunRefusal> = match config.sampling {
        Some(_) => specs.iter().filter_map(refusal).collect(),
        None => Vec::new(),
    };
    if !refused.is_empty() {
        return Err(refused);
    }
    let planned = Tasks::plan_with_rows(specs, &setting);
    planned.map(Some).map_err(|_| specs.iter().filter_map(refusal).collect())
}

/// The parts that take memory in addition to the tables of single cores. Each part may have half of the total.
struct MemoryDemand {
    tasks: usize,
    frames: usize,
    rings: usize,
    merging: usize,
}

impl MemoryDemand {
    fn new(
        config: &MeasurementConfig,
        plan: &ResolvedDesign,
        tasks: Option<&Tasks>,
        site: &SourceProperties,
    ) -> Self {
        Self {
            tasks: tasks.map_or(0, |tasks| tasks.bytes(plan.counting())),
            frames: site.frame_bytes,
            rings: ring_bytes(plan, config),
            merging: merging_bytes(plan),
        }
    }

    /// The parts that take more than their half. Frames are held to theirs where they are read.
    fn too_large(&self, config: &MeasurementConfig, plan: &ResolvedDesign) -> Vec<RunRefusal> {
        let half = config.limits.bytes_allowed() / 2;
        let (split, state, workers) = (plan.split, plan.state, plan.counting());
        let Self { tasks, rings, merging, .. } = *self;
        let parts = [
            (rings, RunRefusal::RingsTooLarge { bytes: rings }),
            (merging, RunRefusal::MergingTooLarge { bytes: merging, split, state, workers }),
            (tasks, RunRefusal::TasksTooLarge { bytes: tasks, workers }),
        ];
        parts.into_iter().filter(|(bytes, _)| *bytes > half).map(|(_, refusal)| refusal).collect()
    }

    /// Takes the memory of tasks and frames, if all parts fit into what is not yet taken. The memory between
    /// a run's cores is taken when the run begins.
    fn lease(&self, config: &MeasurementConfig) -> Result<Lease, RunRefusal> {
        let Self { tasks, frames, rings, merging } = *self;
        let (allowed, outputs) = (config.limits.bytes_allowed(), config.limits.bytes_used());
        let between_cores = rings.saturating_add(merging);
        let all = [tasks, frames, between_cores, outputs].into_iter().fold(0, usize::saturating_add);
        let lease = if all <= allowed { config.limits.lease(tasks + frames) } else { None };
        // The rest is for tables and queues, as in a run without these parts.
        let enough = all.saturating_add(LEAST_MEMORY);
        lease.ok_or(RunRefusal::MemoryExceeded { allowed, tasks, frames, between_cores, outputs, enough })
    }
}
