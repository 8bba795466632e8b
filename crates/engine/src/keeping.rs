//! Places where workers keep flows, and what they pass on of them when a window closes.

use crate::collector::WindowSums;
use crate::config::MeasurementConfig;
use crate::design::StatePlacement;
use crate::ids::WindowId;
use crate::plan::ResolvedDesign;
use crate::shared::SharedTableSets;
use crate::tables::FlowTables;
use crate::tally::Tally;
use arena::OutOfMemory;
use flowtable::by_hash::FlowsByHash;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use task::rows::Overflow;

/// The place where a worker keeps its flows.
#[derive(Debug)]
pub(crate) enum Keeping {
    /// The worker's own tables, which keep each flow for as long as it lives.
    Own(Box<FlowTables>),
    /// The worker's own tables, for one window: a flow's packets reach other workers too, and are combined when the window closes. While its
    /// tables are being merged, the worker counts in others.
    Shares {
        /// The tables that are counted in now.
        open: Box<FlowTables>,
        /// The channel by which emptied ones return from merging.
        spare: Receiver<Box<FlowTables>>,
    },
    /// The tables that all workers update.
    Shared(Arc<SharedTableSets>),
    /// The worker's own table that knows flows by a hash, from the first packet to the last.
    ByHash(Box<FlowsByHash>),
    /// A structure without flows, in which packets are counted.
    Tally(Box<dyn Tally>),
}

/// The report of a worker on a window that it has sealed.
#[derive(Debug)]
pub(crate) struct SealedWindow {
    pub(crate) window: WindowId,
    pub(crate) sums: WindowSums,
    /// The groups of packets without a place, as far as they are known.
    pub(crate) overflow: Option<Overflow>,
    /// The flows of the window, if they are shares to be merged.
    pub(crate) shares: Option<Box<FlowTables>>,
}

/// The places where all workers of a run keep their flows.
#[derive(Debug)]
pub(crate) struct Keepings {
    /// The place of each worker.
    pub(crate) workers: Vec<Keeping>,
    /// Channels by which workers get their tables back; empty if they keep them.
    pub(crate) spares: Vec<Sender<Box<FlowTables>>>,
    pub(crate) shared: Option<Arc<SharedTableSets>>,
}

impl Keepings {
    pub(crate) fn new(
        plan: &ResolvedDesign,
        config: &MeasurementConfig,
        workers: usize,
    ) -> Result<Self, OutOfMemory> {
        let mut all = Self { workers: Vec::new(), spares: Vec::new(), shared: None };
        if plan.state == StatePlacement::Shared {
            let shared = Arc::new(SharedTableSets::new(config)?);
            all.workers = (0..workers).map(|_| Keeping::Shared(Arc::clone(&shared))).collect();
            all.shared = Some(shared);
            return Ok(all);
        }
        // A flow counts towards the limit where it is merged.
        let of_shares = config.limits.without_flow_limit();
        for _ in 0..workers {
            all.workers.push(if plan.merges() {
                let tables = || FlowTables::new(config, &of_shares).map(Box::new);
                let (back, spare) = channel();
                let _ = back.send(tables()?);
                all.spares.push(back);
                Keeping::Shares { open: tables()?, spare }
            } else if let Some(kind) = config.table {
                Keeping::ByHash(Box::new(FlowsByHash::new(kind, config.key, &config.limits)?))
            } else {
                Keeping::Own(Box::new(FlowTables::new(config, &config.limits)?))
            });
        }
        Ok(all)
    }

    /// Packets are counted in these, one for each worker.
    pub(crate) fn from_tallies(tallies: Vec<Box<dyn Tally>>) -> Self {
        let workers = tallies.into_iter().map(Keeping::Tally).collect();
        Self { workers, spares: Vec::new(), shared: None }
    }
}
