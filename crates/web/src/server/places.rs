//! The numbers of connections, in all and of each client.

use super::ServerLimits;
use crate::peer::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections that there are.
#[derive(Debug, Default)]
pub(super) struct ConnectionLimiter(Mutex<ConnectionCounts>);

#[derive(Debug, Default)]
struct ConnectionCounts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// The place of a connection; it makes room when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    places: Arc<ConnectionLimiter>,
    network: IpAddr,
}

impl ConnectionLimiter {
    fn taken(&self) -> MutexGuard<'_, ConnectionCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a client of this address, if there is one.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr, limits: &ServerLimits) -> Option<ConnectionPermit> {
        let network = network(address);
        let most = if network.is_loopback() { limits.connections } else { limits.connections_of_address };
        let mut taken = self.taken();
        if taken.all >= limits.connections || taken.by_address.get(&network).is_some_and(|own| *own >= most) {
            return None;
        }
        taken.all += 1;
        *taken.by_address.entry(network).or_default() += 1;
        drop(taken);
        Some(ConnectionPermit { places: Arc::clone(self), network })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(own) = taken.by_address.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                taken.by_address.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_places_and_they_are_given_back() {
        let (places, limits) = (
            Arc::default(),
            ServerLimits { connections: 4, connections_of_address: 2, ..ServerLimits::default() },
        );
        let take =
            |address: &str| ConnectionLimiter::take(&places, address.parse().expect("an address"), &limits);
        let mut held = vec![take("192.0.2.1"), take("192.0.2.1")];
        assert!(held.iter().all(Option::is_some) && take("192.0.2.1").is_none());
        held.extend([take("127.0.0.1"), take("127.0.0.1")]);
        assert!(held.iter().all(Option::is_some) && take("192.0.2.2").is_none());
        held.clear();
        assert!(places.taken().all == 0 && places.taken().by_address.is_empty());
        held.extend((0..4).map(|_| take("::1")));
        assert!(held.iter().all(Option::is_some), "loopback may have all");
    }
}
