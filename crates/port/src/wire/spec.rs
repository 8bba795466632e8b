//! `--wire`: the specification of a software wire.

use notation::{QuantityError, Rate, SpecError, count, duration, pairs, unknown_key};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use traffic::{ArrivalProcess, RateSteps, Schedule};

/// The length of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayLength {
    /// The trace once.
    Once,
    /// A number of packets.
    Packets(u64),
    /// A time in nanoseconds: all packets that arrive in it; with a rate only.
    Nanoseconds(u64),
}

/// The specification of a wire. Made from text by [`str::parse`]; shown in full by `Display`, which parses to
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireSpec {
    /// The rate of arrivals; `None` is a replay that waits for its readers.
    pub rate: Option<Rate>,
    /// The rates that take turns where there are several; `rate` is the first one then.
    pub steps: Option<RateSteps>,
    /// The spread of arrivals over time.
    pub arrivals: ArrivalProcess,
    /// Receive queues, 1 to 128.
    pub queues: usize,
    /// Descriptors of each queue's ring, a power of two from 64 to 65536.
    pub ring: usize,
    /// The length of the replay.
    pub length: ReplayLength,
    /// Mbufs for each queue where frames are handed out in mbufs.
    pub mbufs: Option<u32>,
    /// Pools of mbufs, which the queues share; `None`: one for each queue.
    pub pools: Option<u16>,
    /// The seed from which random arrivals are drawn.
    pub seed: u64,
}

const KEYS: [&str; 10] =
    ["rate", "phase", "queues", "ring", "arrivals", "packets", "seconds", "mbufs", "pools", "seed"];

impl WireSpec {
    /// The size of the redirection table, so that each queue can have a share.
    pub const MOST_QUEUES: usize = 128;
    /// Descriptors of a ring.
    pub const RINGS: std::ops::RangeInclusive<usize> = 64..=65_536;
    const MOST_PACKETS: u64 = 1_000_000_000_000;
    const MOST_SECONDS: u64 = Schedule::MOST_NS / 1_000_000_000;
    const MBUFS: std::ops::RangeInclusive<u64> = 128..=1 << 24;

    fn set(&mut self, key: &str, text: &str) -> Result<(), SpecError> {
        let refused = |expected: String| SpecError::new(format!("{key}={text}: {expected}"));
        let whole = |least: u64, most: u64| match count(text) {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            Ok(_) => Err(refused(format!("must be from {least} to {most}"))),
            Err(error) => Err(refused(format!("not {}", error.expected()))),
        };
        match key {
            // Several rates are read with their time.
            "rate" => {
                for part in text.split('/') {
                    let rate = part
                        .parse()
                        .map_err(|error: QuantityError| refused(format!("not {}", error.expected())))?;
                    Schedule::check(rate).map_err(|error| refused(error.to_string()))?;
                    self.rate.get_or_insert(rate);
                }
            }
            "phase" => {}
            "arrivals" => self.arrivals = text.parse()?,
            "queues" => self.queues = whole(1, Self::MOST_QUEUES as u64)? as usize,
            "ring" => {
                let (least, most) = Self::RINGS.into_inner();
                self.ring = match count(text).map(|count| count as usize) {
                    Ok(count) if Self::RINGS.contains(&count) && count.is_power_of_two() => count,
                    Ok(count) => {
                        let nearest = count.clamp(least, most).next_power_of_two();
                        return Err(refused(format!(
                            "a ring has a power of two of descriptors, from {least} to {most}; the next one is {nearest}"
                        )));
                    }
                    Err(error) => return Err(refused(format!("not {}", error.expected()))),
                };
            }
            "packets" => self.length = ReplayLength::Packets(whole(1, Self::MOST_PACKETS)?),
            "seconds" => {
                self.length = ReplayLength::Nanoseconds(whole(1, Self::MOST_SECONDS)? * 1_000_000_000)
            }
            "mbufs" => {
                let (least, most) = Self::MBUFS.into_inner();
                self.mbufs = Some(whole(least, most)? as u32);
            }
            "pools" => self.pools = Some(whole(1, Self::MOST_QUEUES as u64)? as u16),
            "seed" => {
                self.seed = text.parse().map_err(|_| refused("not a whole number below 2^64".into()))?;
            }
            _ => return Err(unknown_key("unknown key", key, &KEYS)),
        }
        Ok(())
    }

    /// Reads rates that take turns, and how long each is in force.
    fn set_steps(&mut self, given: &[(&str, &str)]) -> Result<(), SpecError> {
        let of = |key: &str| given.iter().find(|(given, _)| *given == key).map(|(_, text)| *text);
        let (rates, phase) = match (of("rate").filter(|text| text.contains('/')), of("phase")) {
            (None, None) => return Ok(()),
            (Some(rates), None) => {
                return Err(SpecError::new(format!(
                    "rate={rates}: several rates need the time that each is in force, as phase=2s"
                )));
            }
            (None, Some(phase)) => {
                return Err(SpecError::new(format!(
                    "phase={phase} is the time of each of several rates: give these, as rate=5Mpps/20Mpps"
                )));
            }
            (Some(rates), Some(phase)) => (rates, phase),
        };
        let time = duration(phase)
            .map_err(|error| SpecError::new(format!("phase={phase}: not {}", error.expected())))?;
        let packets = rates.split('/').map(|rate| match rate.parse() {
            Ok(Rate::Packets(rate)) => Ok(rate),
            _ => Err(SpecError::new(format!(
                "rate={rates}: rates that take turns are in packets, as 5Mpps/20Mpps"
            ))),
        });
        let packets = packets.collect::<Result<Vec<_>, _>>()?;
        if self.arrivals != ArrivalProcess::Constant {
            return Err(SpecError::new(format!("rate={rates}: with several rates arrivals are constant")));
        }
        let phase_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let steps = RateSteps::new(&packets, phase_ns).ok_or_else(|| {
            let (most, (least, longest)) = (RateSteps::MOST, RateSteps::PHASES_NS.into_inner());
            let [least, longest] = [least, longest].map(Duration::from_nanos);
            SpecError::new(format!(
                "rate={rates},phase={phase}: from 2 to {most} rates take turns, each for {least:?} to {longest:?} and with a packet at least"
            ))
        })?;
        self.steps = Some(steps);
        Ok(())
    }

    /// Checks what depends on several keys.
    fn check(&self, given: &[(&str, &str)]) -> Result<(), SpecError> {
        let given = |key: &str| given.iter().any(|(given, _)| *given == key);
        if given("packets") && given("seconds") {
            return Err(SpecError::new("packets and seconds both say how long: give one"));
        }
        if self.rate.is_none()
            && let Some(key) = ["arrivals", "seconds", "ring", "seed"].into_iter().find(|key| given(key))
        {
            return Err(SpecError::new(format!(
                "{key} needs a rate such as rate=25Mpps: without one the trace is replayed as fast as it is taken"
            )));
        }
        match self.pools {
            Some(_) if self.mbufs.is_none() => {
                Err(SpecError::new("pools says how queues share pools of mbufs: give mbufs=16k too"))
            }
            Some(pools) if usize::from(pools) > self.queues => Err(SpecError::new(format!(
                "pools={pools}: {} queue(s) have as many pools at most",
                self.queues
            ))),
            _ => Ok(()),
        }
    }
}

impl Default for WireSpec {
    fn default() -> Self {
        Self {
            rate: None,
            steps: None,
            arrivals: ArrivalProcess::Constant,
            queues: 1,
            ring: 4096,
            length: ReplayLength::Once,
            mbufs: None,
            pools: None,
            seed: 1,
        }
    }
}

impl FromStr for WireSpec {
    type Err = SpecError;

    /// Reads `key=value,key=value,…`; omitted keys have their defaults.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        let pairs = pairs(text)?;
        for (key, text) in &pairs {
            spec.set(key, text)?;
        }
        spec.check(&pairs)?;
        spec.set_steps(&pairs)?;
        Ok(spec)
    }
}

impl fmt::Display for WireSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queues={}", self.queues)?;
        if let Some(rate) = self.rate {
            match &self.steps {
                None => write!(f, ",rate={rate}")?,
                Some(steps) => {
                    let rates = steps.rates().iter().map(|&rate| Rate::Packets(rate).to_string());
                    let rates = rates.collect::<Vec<_>>().join("/");
                    match steps.phase_ns() {
                        ns if ns % 1_000_000 == 0 => write!(f, ",rate={rates},phase={}ms", ns / 1_000_000)?,
                        ns => write!(f, ",rate={rates},phase={ns}ns")?,
                    }
                }
            }
            write!(f, ",ring={},arrivals={},seed={}", self.ring, self.arrivals, self.seed)?;
        }
        match self.length {
            ReplayLength::Once => {}
            ReplayLength::Packets(packets) => write!(f, ",packets={packets}")?,
            ReplayLength::Nanoseconds(ns) => write!(f, ",seconds={}", ns / 1_000_000_000)?,
        }
        if let Some(mbufs) = self.mbufs {
            write!(f, ",mbufs={mbufs}")?;
        }
        match self.pools {
            Some(pools) => write!(f, ",pools={pools}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_spelling() {
        let spec: WireSpec =
            "rate=25Mpps,queues=2,ring=4096,arrivals=bursts:32,seconds=3,mbufs=16k,seed=7".parse().unwrap();
        assert_eq!(
            spec,
            WireSpec {
                rate: Some(Rate::Packets(25_000_000)),
                steps: None,
                arrivals: ArrivalProcess::Bursts(32),
                queues: 2,
                ring: 4096,
                length: ReplayLength::Nanoseconds(3_000_000_000),
                mbufs: Some(16_000),
                pools: None,
                seed: 7,
            }
        );
        assert_eq!("".parse::<WireSpec>(), Ok(WireSpec::default()));
        assert_eq!("rate=100Gbps".parse::<WireSpec>().unwrap().rate, Some(Rate::Bits(100_000_000_000)));
    }

    #[test]
    fn display_parses_to_the_same() {
        for text in [
            "",
            "queues=4,mbufs=8191",
            "queues=4,mbufs=8191,pools=1",
            "queues=2,packets=10M",
            "rate=25Mpps,queues=2,ring=4096,arrivals=bursts:32,seconds=3,seed=7",
            "rate=40Gbps,arrivals=poisson,packets=10M",
            "rate=5Mpps/20Mpps/1kpps,phase=2s,seconds=12",
            "rate=5Mpps/20Mpps,phase=1500ms",
        ] {
            let spec: WireSpec = text.parse().unwrap();
            assert_eq!(spec.to_string().parse(), Ok(spec), "{spec}");
        }
    }

    #[test]
    fn errors_say_what_is_possible() {
        let error = |text: &str| {
            let error = text.parse::<WireSpec>().expect_err(text).to_string();
            assert!(!error.contains('\n'), "{error}");
            error
        };
        assert!(error("rat=25Mpps").contains("did you mean \"rate\""));
        assert!(error("colour=red").contains("rate, phase, queues, ring"));
        assert!(error("rate=25").contains("25Mpps"));
        assert!(error("rate=25Mpps,ring=1000").contains("the next one is 1024"));
        assert!(error("rate=25Mpps,ring=32").contains("the next one is 64"));
        assert!(error("rate=25Mpps,ring=128k").contains("the next one is 65536"));
        assert!(error("ring=2048").contains("needs a rate"));
        assert!(error("queues=0").contains("from 1 to 128"));
        assert!(error("queues=129").contains("from 1 to 128"));
        assert!(error("queues=two").contains("whole number"));
        assert!(error("arrivals=poisson").contains("needs a rate"));
        assert!(error("seconds=5").contains("needs a rate"));
        assert!(error("rate=1Mpps,packets=5,seconds=2").contains("give one"));
        assert!(error("rate=1Mpps,rate=2Mpps").contains("twice"));
        assert!(error("rate=1Mpps,packets=0").contains("from 1"));
        assert!(error("rate=1Mpps,seconds=1M").contains("from 1 to 864000"));
        assert!(error("rate=1Mpps/2Mpps").contains("phase=2s"));
        assert!(error("rate=1Mpps,phase=2s").contains("rate=5Mpps/20Mpps"));
        assert!(error("rate=1Mpps/2Gbps,phase=2s").contains("in packets"));
        assert!(error("rate=1Mpps/2,phase=2s").contains("25Mpps"));
        assert!(error("rate=1Mpps/2Mpps,phase=2").contains("phase=2"));
        assert!(error("rate=1Mpps/1pps,phase=2ms").contains("a packet at least"));
        assert!(error("rate=1Mpps/2Mpps,phase=2us").contains("from 2 to 16 rates"));
        assert!(error("rate=1Mpps/2Mpps,phase=2s,arrivals=poisson").contains("constant"));
        assert!(error("mbufs=5").contains("from 128"));
        assert!(error("queues=2,pools=1").contains("give mbufs"));
        assert!(error("mbufs=4k,queues=2,pools=3").contains("2 queue(s)"));
        assert!(error("mbufs=4k,pools=0").contains("from 1"));
        assert!(error("rate=1Mpps,seed=x").contains("2^64"));
    }
}
