//! The specification of a path.

use notation::{SpecError, pairs, unknown_key};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The specification of a simulated path. It is made from text by [`str::parse`] and shown by `Display`, which parses to itself: in full, but
/// for an `over` that is the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSpec {
    /// Connections, started evenly over [`PathSpec::over`].
    pub connections: u32,
    /// The time over which the connections are started, from 1 ms to 1 h.
    pub over: Duration,
    /// Segments of payload that each client sends.
    pub segments: u32,
    /// Hops between client and server.
    pub hops: u32,
    /// The hop that loses and delays packets, from 1 on; 0 where none does.
    pub lossy: u32,
    /// Share of data segments that it loses, parts per million.
    pub loss_ppm: u32,
    /// Share of data segments that it delays until others have overtaken them, parts per million.
    pub reorder_ppm: u32,
    /// Round-trip time from client to server in microseconds.
    pub rtt_us: u32,
    /// The seed of all draws.
    pub seed: u64,
}

const KEYS: [&str; 9] =
    ["connections", "over", "segments", "hops", "lossy", "loss", "reorder", "rtt", "seed"];

const DEFAULT_OVER: Duration = Duration::from_secs(1);
const OVER: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

impl Default for PathSpec {
    fn default() -> Self {
        Self {
            connections: 20,
            over: DEFAULT_OVER,
            segments: 1000,
            hops: 3,
            lossy: 2,
            loss_ppm: 10_000,
            reorder_ppm: 0,
            rtt_us: 20_000,
            seed: 1,
        }
    }
}

impl PathSpec {
    fn set(&mut self, key: &str, text: &str) -> Result<(), SpecError> {
        let bad = |expected: &str| SpecError::new(format!("{key}={text}: not {expected}"));
        let whole = |least: u64, most: u64| match notation::count(text) {
            Ok(count) if (least..=most).contains(&count) => Ok(count as u32),
            Ok(_) => Err(SpecError::new(format!("{key}={text}: must be from {least} to {most}"))),
            Err(error) => Err(bad(error.expected())),
        };
        match key {
            "connections" => self.connections = whole(1, 10_000)?,
            "over" => {
                let over = notation::duration(text).ok().filter(|over| OVER.contains(over));
                self.over = over.ok_or_else(|| bad("a duration from 1ms to 1h, such as 500ms or 30s"))?;
            }
            "segments" => self.segments = whole(1, 1_000_000)?,
            "hops" => self.hops = whole(1, 16)?,
            "lossy" if text == "none" => self.lossy = 0,
            "lossy" => {
                let expected = "the number of a hop, from 1 to 16, or 0 or none";
                self.lossy = whole(0, 16).map_err(|_| bad(expected))?;
            }
            "loss" => self.loss_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?,
            "reorder" => {
                self.reorder_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?
            }
            // Below 16 ms a quarter of it is less than the 3 ms within which a segment counts as reordered.
            "rtt" => self.rtt_us = whole(16_000, 1_000_000)?,
            "seed" => self.seed = text.parse().map_err(|_| bad("a whole number below 2^64"))?,
            _ => return Err(unknown_key("unknown key", key, &KEYS)),
        }
        Ok(())
    }
}

impl PathSpec {
    pub(crate) fn check_shares(&self) -> Result<(), SpecError> {
        if self.loss_ppm > 200_000 {
            return Err(SpecError::new("loss: at most 20%: more stalls every connection"));
        }
        if self.reorder_ppm > 200_000 {
            return Err(SpecError::new("reorder: at most 20%"));
        }
        Ok(())
    }
}

impl FromStr for PathSpec {
    type Err = SpecError;

    /// Reads `key=value,key=value,…`; omitted keys have their defaults.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        for (key, text) in pairs(text)? {
            spec.set(key, text)?;
        }
        if spec.lossy > spec.hops {
            return Err(SpecError::new(format!("lossy={}: there are only {} hops", spec.lossy, spec.hops)));
        }
        spec.check_shares()?;
        Ok(spec)
    }
}

impl fmt::Display for PathSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, over, segments, hops, lossy, loss_ppm, reorder_ppm, rtt_us, seed } = self;
        let [loss, reorder] = [loss_ppm, reorder_ppm].map(|ppm| f64::from(*ppm) / 1e6);
        write!(
            f,
            "connections={connections},segments={segments},hops={hops},lossy={lossy},loss={loss},reorder={reorder},rtt={rtt_us},seed={seed}"
        )?;
        // Truths that were written before this key existed stay the same.
        if *over == DEFAULT_OVER { Ok(()) } else { write!(f, ",over={}s", over.as_secs_f64()) }
    }
}
