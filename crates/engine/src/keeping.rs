//! Where workers keep flows, and what they pass on of them when a window closes.

use crate::collector::{Collector, RecordSink, WindowPart};
use crate::config::Config;
use crate::design::{Plan, State};
use crate::shared::Shared;
use crate::tally::Tally;
use packet::{KeyBurst, KeyV4, KeyV6};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use summary::{FlowSink, FlowTable, Limits, OutOfMemory, TableConfig};

/// Flow tables of one core, one for each address family.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) v4: FlowTable<KeyV4>,
    pub(crate) v6: FlowTable<KeyV6>,
}

impl Tables {
    pub(crate) fn new(config: &Config, limits: &Limits) -> Result<Self, OutOfMemory> {
        let Config { seed, key, parts, timeouts, .. } = *config;
        let table = TableConfig { seed, key, timeouts, parts };
        Ok(Self { v4: FlowTable::new(table, limits)?, v6: FlowTable::new(table, limits)? })
    }

    /// Flows in them.
    pub(crate) fn flows(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    #[inline]
    pub(crate) fn count(&mut self, v4: &KeyBurst<KeyV4>, v6: &KeyBurst<KeyV6>, sink: &mut impl FlowSink) {
        self.v4.update_burst(v4, sink);
        self.v6.update_burst(v6, sink);
    }

    pub(crate) fn advance(&mut self, now: u64) {
        self.v4.advance(now);
        self.v6.advance(now);
    }

    /// Leaves them empty, though nobody is told of what is in them.
    pub(crate) fn forget(&mut self) {
        self.v4.take_shares(|_| ());
        self.v6.take_shares(|_| ());
    }

    /// Adds all flows of `shares`, which are empty then.
    pub(crate) fn merge<R: RecordSink>(&mut self, shares: &mut Self, sink: &mut Collector<R>) {
        shares.v4.take_shares(|share| sink.merge(&mut self.v4, share));
        shares.v6.take_shares(|share| sink.merge(&mut self.v6, share));
    }
}

/// Where a worker keeps its flows.
#[derive(Debug)]
pub(crate) enum Keeping {
    /// In tables of its own, each flow for as long as it lives.
    Own(Box<Tables>),
    /// In tables of its own, for one window: a flow's packets come to other workers too, and are put together when the window
    /// closes. While its tables are being merged, it counts in others.
    Shares {
        /// What counts now.
        open: Box<Tables>,
        /// Where empty ones come back from merging.
        spare: Receiver<Box<Tables>>,
    },
    /// In tables that all workers update.
    Shared(Arc<Shared>),
    /// Not at all: packets are counted in something else.
    Tally(Box<dyn Tally>),
}

/// What a worker says of a window when it has sealed it.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Its number.
    pub(crate) window: u64,
    pub(crate) part: WindowPart,
    /// Its flows, where they are shares to be merged.
    pub(crate) shares: Option<Box<Tables>>,
}

/// Where all workers of a run keep their flows.
#[derive(Debug)]
pub(crate) struct Keepings {
    /// One for each worker.
    pub(crate) workers: Vec<Keeping>,
    /// Where workers get their tables back from; none where they keep them.
    pub(crate) spares: Vec<Sender<Box<Tables>>>,
    pub(crate) shared: Option<Arc<Shared>>,
}

impl Keepings {
    pub(crate) fn new(plan: &Plan, config: &Config, workers: usize) -> Result<Self, OutOfMemory> {
        let mut all = Self { workers: Vec::new(), spares: Vec::new(), shared: None };
        if plan.state == State::Shared {
            let shared = Arc::new(Shared::new(config)?);
            all.workers = (0..workers).map(|_| Keeping::Shared(Arc::clone(&shared))).collect();
            all.shared = Some(shared);
            return Ok(all);
        }
        // A flow is counted against the limit where it is merged.
        let of_shares = config.limits.without_flow_limit();
        for _ in 0..workers {
            all.workers.push(if plan.merges() {
                let tables = || Tables::new(config, &of_shares).map(Box::new);
                let (back, spare) = channel();
                let _ = back.send(tables()?);
                all.spares.push(back);
                Keeping::Shares { open: tables()?, spare }
            } else {
                Keeping::Own(Box::new(Tables::new(config, &config.limits)?))
            });
        }
        Ok(all)
    }

    /// Packets are counted in these, one for each worker.
    pub(crate) fn of_tallies(tallies: Vec<Box<dyn Tally>>) -> Self {
        let workers = tallies.into_iter().map(Keeping::Tally).collect();
        Self { workers, spares: Vec::new(), shared: None }
    }
}
