//! The limit of wrong tokens that are looked at: strangers must not keep the processor busy, and cannot guess.

use crate::peer::network;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of wrong tokens that an address may show at once, and the time after which it may show another one.
const OF_ADDRESS: AttemptRate = AttemptRate { burst: 10, each: Duration::from_secs(5) };
/// The wrong tokens of all addresses together that are checked: half a minute of one core at most, then a twentieth of it.
const OF_ALL: AttemptRate = AttemptRate { burst: 100, each: Duration::from_millis(500) };
/// Addresses that are remembered. The one that may try again first makes room.
const MOST_ADDRESSES: usize = 4_096;

#[derive(Clone, Copy, Debug)]
struct AttemptRate {
    burst: u32,
    each: Duration,
}

/// The time at which all that was taken is given back: with each attempt later by one interval.
#[derive(Clone, Copy, Debug)]
struct AttemptBucket {
    until: Instant,
}

impl AttemptBucket {
    /// Takes one, or says when there is one again.
    fn take(&mut self, rate: AttemptRate, now: Instant) -> Result<(), Duration> {
        let until = self.until.max(now) + rate.each;
        match (until - now).checked_sub(rate.each * rate.burst) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                self.until = until;
                Ok(())
            }
        }
    }

    fn give_back(&mut self, rate: AttemptRate) {
        self.until = self.until.checked_sub(rate.each).unwrap_or(self.until);
    }
}

/// Wrong tokens lately.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<Lately>);

#[derive(Debug, Default)]
struct Lately {
    of_addresses: HashMap<IpAddr, AttemptBucket>,
    of_all: Option<AttemptBucket>,
}

impl Attempts {
    fn lately(&self) -> MutexGuard<'_, Lately> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an attempt that costs nothing to refuse. Otherwise the error is the time until there may be one again.
    pub(super) fn take_of_address(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.lately().get_or_insert(address, now).take(OF_ADDRESS, now)
    }

    /// Takes an attempt that is checked.
    pub(super) fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut lately = self.lately();
        lately.get_or_insert(address, now).take(OF_ADDRESS, now)?;
        let taken = lately.of_all.get_or_insert(AttemptBucket { until: now }).take(OF_ALL, now);
        taken.inspect_err(|_| lately.give_back(address))
    }

    /// Gives an attempt back: its token was right.
    pub(super) fn give_back(&self, address: IpAddr) {
        let mut lately = self.lately();
        lately.give_back(address);
        if let Some(taken) = &mut lately.of_all {
            taken.give_back(OF_ALL);
        }
    }
}

impl Lately {
    fn get_or_insert(&mut self, address: IpAddr, now: Instant) -> &mut AttemptBucket {
        let place = network(address);
        if self.of_addresses.len() >= MOST_ADDRESSES && !self.of_addresses.contains_key(&place) {
            self.of_addresses.retain(|_, taken| taken.until > now);
            let first =
                self.of_addresses.iter().min_by_key(|(_, taken)| taken.until).map(|(place, _)| *place);
            if let Some(first) = first.filter(|_| self.of_addresses.len() >= MOST_ADDRESSES) {
                self.of_addresses.remove(&first);
            }
        }
        self.of_addresses.entry(place).or_insert(AttemptBucket { until: now })
    }

    fn give_back(&mut self, address: IpAddr) {
        if let Some(taken) = self.of_addresses.get_mut(&network(address)) {
            taken.give_back(OF_ADDRESS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from_bits(number).into()
    }

    #[test]
    fn an_address_has_a_burst_and_then_one_in_each_interval() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let take = |after: u64| attempts.take_of_address(address(1), start + Duration::from_secs(after));
        assert!((0..10).all(|_| take(0).is_ok()));
        assert_eq!(take(0), Err(Duration::from_secs(5)));
        assert_eq!(take(4), Err(Duration::from_secs(1)));
        assert_eq!(take(5), Ok(()));
        assert_eq!(take(5), Err(Duration::from_secs(5)));
        // A right one costs nothing.
        attempts.give_back(address(1));
        assert_eq!(take(5), Ok(()));
        assert_eq!(attempts.take_of_address(address(2), start), Ok(()));
        // Long after it is a burst again, no more.
        assert_eq!((0..20).filter(|_| take(1_000_000).is_ok()).count(), 10);
    }

    #[test]
    fn all_addresses_together_are_bounded_and_so_is_what_is_remembered() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let passed = (0..1_000).filter(|number| attempts.take(address(*number), start).is_ok()).count();
        assert_eq!(passed, 100);
        assert_eq!(attempts.take(address(5_000), start + Duration::from_millis(500)), Ok(()));
        (0..10_000).for_each(|number| {
            let _ = attempts.take_of_address(address(number), start);
        });
        assert_eq!(attempts.lately().of_addresses.len(), MOST_ADDRESSES);
    }
}
