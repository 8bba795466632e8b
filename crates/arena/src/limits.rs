//! The memory limits that all tables of a run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
struct UsageQuota {
    limit: usize,
    used: AtomicUsize,
}

impl UsageQuota {
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
    bytes: Arc<UsageQuota>,
    flows: Arc<UsageQuota>,
}

impl Limits {
    /// Creates limits of at most `bytes` of memory and `flows` flow records.
    pub fn new(bytes: usize, flows: usize) -> Self {
        Self { bytes: Arc::new(UsageQuota::new(bytes)), flows: Arc::new(UsageQuota::new(flows)) }
    }

    /// Returns limits of the same memory, and of as many flows as fit into it.
    pub fn without_flow_limit(&self) -> Self {
        Self { bytes: Arc::clone(&self.bytes), flows: Arc::new(UsageQuota::new(usize::MAX)) }
    }

    /// Bytes allowed in total.
    pub fn bytes_allowed(&self) -> usize {
        self.bytes.limit
    }

    /// Bytes in use.
    pub fn bytes_used(&self) -> usize {
        self.bytes.used.load(Relaxed)
    }

    /// Flows allowed in all tables together.
    pub fn flows_allowed(&self) -> usize {
        self.flows.limit
    }

    /// Flows in the tables now.
    pub fn flows_used(&self) -> usize {
        self.flows.used.load(Relaxed)
    }

    /// Charges `bytes` to the account until the lease is dropped; `None` if they are not available.
    pub fn lease(&self, bytes: usize) -> Option<Lease> {
        let mut lease = self.empty_lease();
        lease.grow(bytes).then_some(lease)
    }

    /// A lease of nothing, to be grown.
    pub fn empty_lease(&self) -> Lease {
        Lease { account: Arc::clone(&self.bytes), bytes: 0 }
    }

    /// Takes bytes from the account for an arena. They may pass to another one without returning to the account.
    pub fn take_bytes(&self, bytes: usize) -> bool {
        self.bytes.take(bytes)
    }

    /// Credits what [`Limits::take_bytes`] charged.
    pub fn give_back_bytes(&self, bytes: usize) {
        self.bytes.give_back(bytes);
    }

    /// Flow records allowed at a time.
    pub fn flow_limit(&self) -> usize {
        self.flows.limit
    }

    /// Flow records that may begin before one ends.
    pub fn flows_left(&self) -> usize {
        self.flows.limit.saturating_sub(self.flows_used())
    }

    /// Takes a flow from the account; false if none is left.
    pub fn take_flow(&self) -> bool {
        self.flows.take(1)
    }

    /// Credits flows that [`Limits::take_flow`] took.
    pub fn give_back_flows(&self, flows: usize) {
        self.flows.give_back(flows);
    }
}

/// Bytes charged to the account of [`Limits`], which are credited when it is dropped.
#[derive(Debug)]
#[must_use = "what is leased goes back when the lease is dropped"]
pub struct Lease {
    account: Arc<UsageQuota>,
    bytes: usize,
}

impl Lease {
    /// Charges `bytes` more; false if they are not available.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let has_grown = self.account.take(bytes);
        self.bytes += if has_grown { bytes } else { 0 };
        has_grown
    }

    /// Credits what it holds beyond `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.account.give_back(more);
        self.bytes -= more;
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_holds_its_bytes_until_it_is_dropped() {
        let limits = Limits::new(100, 0);
        let mut lease = limits.lease(60).expect("room");
        assert!(limits.lease(41).is_none());
        assert!(!lease.grow(41) && lease.grow(30), "what does not fit is not taken");
        let mut other = limits.clone().empty_lease();
        assert!(other.grow(10) && !other.grow(1));
        assert_eq!((lease.bytes(), other.bytes(), limits.bytes_used()), (90, 10, 100));
        drop(lease);
        assert_eq!(limits.bytes_used(), 10);
        assert!(!other.grow(usize::MAX), "no overflow");
        other.shrink_to(4);
        assert_eq!((other.bytes(), limits.bytes_used()), (4, 4));
        other.shrink_to(5);
        assert_eq!((other.bytes(), limits.bytes_used()), (4, 4), "it never grows");
        drop(other);
        assert_eq!(limits.bytes_used(), 0);
    }
}
