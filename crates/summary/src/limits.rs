//! What all tables of a run may take together (`--memory`, `--max-flows`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
struct Account {
    limit: usize,
    used: AtomicUsize,
}

impl Account {
    fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    fn take(&self, amount: usize) -> bool {
        let fits = |used: usize| used.checked_add(amount).filter(|&sum| sum <= self.limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    fn give_back(&self, amount: usize) {
        self.used.fetch_sub(amount, Relaxed);
    }
}

/// Bytes and flows that may be in use at a time, shared by every table of a run. Cloning shares.
#[derive(Clone, Debug)]
pub struct Limits {
    bytes: Arc<Account>,
    flows: Arc<Account>,
}

impl Limits {
    /// At most `bytes` of memory and `flows` flow records.
    pub fn new(bytes: usize, flows: usize) -> Self {
        Self { bytes: Arc::new(Account::new(bytes)), flows: Arc::new(Account::new(flows)) }
    }

    /// The same memory, and as many flows as it holds.
    pub fn without_flow_limit(&self) -> Self {
        Self { bytes: Arc::clone(&self.bytes), flows: Arc::new(Account::new(usize::MAX)) }
    }

    /// Bytes that there are in all.
    pub fn bytes_allowed(&self) -> usize {
        self.bytes.limit
    }

    /// Bytes in use.
    pub fn bytes_used(&self) -> usize {
        self.bytes.used.load(Relaxed)
    }

    /// Flows in the tables now.
    pub fn flows_used(&self) -> usize {
        self.flows.used.load(Relaxed)
    }

    /// Takes `bytes` out of the account; false where they are not there.
    pub fn take_bytes(&self, bytes: usize) -> bool {
        self.bytes.take(bytes)
    }

    /// Gives back what [`Limits::take_bytes`] took.
    pub fn give_back_bytes(&self, bytes: usize) {
        self.bytes.give_back(bytes);
    }

    pub(crate) fn flow_limit(&self) -> usize {
        self.flows.limit
    }

    pub(crate) fn take_flow(&self) -> bool {
        self.flows.take(1)
    }

    pub(crate) fn give_back_flows(&self, flows: usize) {
        self.flows.give_back(flows);
    }
}
