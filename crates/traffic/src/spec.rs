//! The specification of a run, read from one line of text.

pub(crate) mod event;
pub(crate) mod path;

pub use event::EventSpec;

use event::Percent;
use notation::{SpecError, pairs, unknown_key};
use std::fmt;
use std::str::FromStr;

/// A frame size and its weight in the draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeShare {
    /// Length on the wire with the frame check sequence, bytes.
    pub size: u32,
    /// Weight among the sizes of the list.
    pub weight: u32,
}

/// The specification of the traffic to generate. It is made from text by [`str::parse`] and shown in full by `Display`, which parses to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficSpec {
    packets: u64,
    flows: u32,
    zipf: f64,
    sizes: Vec<SizeShare>,
    ipv6_ppm: u32,
    seed: u64,
    rate: Option<u64>,
    start_ns: u64,
    snap: u32,
    tcp: TcpStyle,
    events: Vec<EventSpec>,
}

/// The style of the background's TCP. In both styles each flow's sequence numbers follow its own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpStyle {
    /// Data only, as in connections that began before the run.
    Streams,
    /// Connections from SYN to FIN, in sequence on the same ports.
    Handshake {
        /// Mean number of data segments of a connection, both directions.
        segments: u32,
    },
}

impl TcpStyle {
    const DEFAULT_SEGMENTS: u32 = 16;
    /// The maximum of `segments`: twice this number still fits 16 bits.
    const MOST_SEGMENTS: u64 = 30_000;

    fn parse(text: &str) -> Result<Self, SpecError> {
        let (name, segments) = match text.split_once(':') {
            Some((name, segments)) => (name, Some(segments)),
            None => (text, None),
        };
        match (name, segments) {
            ("streams", None) => Ok(Self::Streams),
            ("handshake", None) => Ok(Self::Handshake { segments: Self::DEFAULT_SEGMENTS }),
            ("handshake", Some(number)) => match notation::count(number) {
                Ok(count @ 1..=Self::MOST_SEGMENTS) => Ok(Self::Handshake { segments: count as u32 }),
                _ => Err(SpecError::new(format!(
                    "tcp={text}: the segments of a connection are from 1 to {}",
                    Self::MOST_SEGMENTS
                ))),
            },
            _ => Err(SpecError::new(format!("tcp={text}: not streams, handshake or handshake:SEGMENTS"))),
        }
    }
}

impl fmt::Display for TcpStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Streams => f.write_str("streams"),
            Self::Handshake { segments } => write!(f, "handshake:{segments}"),
        }
    }
}

const KEYS: [&str; 11] =
    ["packets", "flows", "zipf", "size", "ipv6", "seed", "rate", "start", "snap", "tcp", "plant"];

const MOST_PACKETS: u64 = 1_000_000_000_000;
/// Four bytes per flow, eight more if they are not drawn uniformly, 24 more with the truth.
const MOST_FLOWS: u64 = 100_000_000;
const MOST_ZIPF: f64 = 10.0;
const MOST_SIZES: usize = 16;
const SIZES: std::ops::RangeInclusive<u64> = TrafficSpec::LEAST_SIZE as u64..=9216;
const MOST_WEIGHT: u64 = 1_000_000;
const MOST_RATE: u64 = 1_000_000_000;
const MOST_EVENTS: usize = 16;
/// The duration of a run when no rate is given, seconds, unless that takes a rate above [`MOST_RATE`].
const DEFAULT_SECONDS: u64 = 30;

impl Default for TrafficSpec {
    fn default() -> Self {
        Self {
            packets: 1_000_000,
            flows: 100_000,
            zipf: 1.0,
            sizes: vec![SizeShare { size: 64, weight: 1 }],
            ipv6_ppm: 0,
            seed: 1,
            rate: None,
            start_ns: 1_704_067_200_000_000_000, // 2024-01-01T00:00:00Z
            snap: 65_535,
            tcp: TcpStyle::Streams,
            events: Vec::new(),
        }
    }
}

impl TrafficSpec {
    /// Bytes of the frame check sequence: part of a size, but not of a frame's `wire_len`.
    pub const CHECK_SEQUENCE: u32 = 4;
    /// The least size of an Ethernet frame, check sequence included.
    pub const LEAST_SIZE: u32 = 64;

    /// Frames in the run, the planted ones included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Flows from which the background's packets are drawn; not all of them need to occur.
    pub fn flows(&self) -> u32 {
        self.flows
    }

    /// Zipf's exponent; 0 draws uniformly.
    pub fn zipf(&self) -> f64 {
        self.zipf
    }

    /// The sizes of the background's frames.
    pub fn sizes(&self) -> &[SizeShare] {
        &self.sizes
    }

    /// Share of IPv6 among the flows, parts per million.
    pub fn ipv6_ppm(&self) -> u32 {
        self.ipv6_ppm
    }

    /// The seed of all draws.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Packets per second of the time stamps.
    pub fn rate(&self) -> u64 {
        self.rate.unwrap_or((self.packets / DEFAULT_SECONDS).clamp(1, MOST_RATE))
    }

    /// Time of the first packet, nanoseconds since the epoch.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Captured bytes of a frame, at most.
    pub fn snap(&self) -> u32 {
        self.snap
    }

    /// The style of the background's TCP.
    pub fn tcp(&self) -> TcpStyle {
        self.tcp
    }

    /// The planted events.
    pub fn events(&self) -> &[EventSpec] {
        &self.events
    }

    fn set(&mut self, key: &str, text: &str) -> Result<(), SpecError> {
        let bad = |expected: &str| SpecError::new(format!("{key}={text}: not {expected}"));
        let whole = |least: u64, most: u64| match notation::count(text) {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            Ok(_) => Err(SpecError::new(format!("{key}={text}: must be from {least} to {most}"))),
            Err(error) => Err(bad(error.expected())),
        };
        match key {
            "packets" => self.packets = whole(0, MOST_PACKETS)?,
            "flows" => self.flows = whole(1, MOST_FLOWS)? as u32,
            "zipf" => {
                let expected = "an exponent from 0 to 10 such as 1.0, or uniform";
                let zipf = if text == "uniform" { Some(0.0) } else { text.parse::<f64>().ok() };
                let zipf = zipf.filter(|zipf| (0.0..=MOST_ZIPF).contains(zipf));
                self.zipf = zipf.ok_or_else(|| bad(expected))?;
            }
            "size" => self.sizes = sizes(text)?,
            "ipv6" => self.ipv6_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?,
            "seed" => self.seed = text.parse().map_err(|_| bad("a whole number below 2^64"))?,
            "rate" => self.rate = Some(whole(1, MOST_RATE)?),
            "start" => self.start_ns = notation::time_ns(text).map_err(|error| bad(error.expected()))?,
            "snap" => self.snap = whole(1, 65_535)? as u32,
            "tcp" => self.tcp = TcpStyle::parse(text)?,
            "plant" => {
                self.events = text.split('/').map(EventSpec::parse).collect::<Result<_, _>>()?;
                if self.events.len() > MOST_EVENTS {
                    return Err(SpecError::new(format!("plant: at most {MOST_EVENTS} events")));
                }
            }
            _ => return Err(unknown_key("unknown key", key, &KEYS)),
        }
        Ok(())
    }

    /// Checks what depends on several keys.
    fn check(&self) -> Result<(), SpecError> {
        let span_ns = u128::from(self.packets) * 1_000_000_000 / u128::from(self.rate());
        if u128::from(self.start_ns) + span_ns > i64::MAX as u128 {
            return Err(SpecError::new(
                "the run would end after the year 2262: choose an earlier start or a higher rate",
            ));
        }
        for event in &self.events {
            event.check_run(self.packets)?;
        }
        let planted: u64 = self.events.iter().map(|event| event.packets(self.packets)).sum();
        if planted > self.packets {
            return Err(SpecError::new("plant: the events have more than 100% of the packets together"));
        }
        Ok(())
    }
}

/// `64` or `64:7/594:4/1518:1`; an omitted weight is 1.
fn sizes(text: &str) -> Result<Vec<SizeShare>, SpecError> {
    let list: Vec<SizeShare> = text
        .split('/')
        .map(|item| {
            let bad = |expected: &str| SpecError::new(format!("size={text}: {item:?} is not {expected}"));
            let (size, weight) = item.split_once(':').unwrap_or((item, "1"));
            let size = notation::count(size).map_err(|error| bad(error.expected()))?;
            let weight = notation::count(weight).map_err(|error| bad(error.expected()))?;
            if !SIZES.contains(&size) {
                let (least, most) = SIZES.into_inner();
                return Err(bad(&format!("a size from {least} to {most} (with the 4 bytes of FCS)")));
            }
            if !(1..=MOST_WEIGHT).contains(&weight) {
                return Err(bad(&format!("size:weight with a weight from 1 to {MOST_WEIGHT}")));
            }
            Ok(SizeShare { size: size as u32, weight: weight as u32 })
        })
        .collect::<Result<_, _>>()?;
    if list.len() > MOST_SIZES {
        return Err(SpecError::new(format!("size={text}: at most {MOST_SIZES} sizes")));
    }
    Ok(list)
}

impl FromStr for TrafficSpec {
    type Err = SpecError;

    /// Reads `key=value,key=value,…`; omitted keys have their defaults.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::default();
        for (key, text) in pairs(text)? {
            spec.set(key, text)?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl fmt::Display for TrafficSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packets={},flows={},zipf={},size=", self.packets, self.flows, self.zipf)?;
        for (index, SizeShare { size, weight }) in self.sizes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "/" };
            write!(f, "{separator}{size}:{weight}")?;
        }
        let (seconds, ns) = (self.start_ns / 1_000_000_000, self.start_ns % 1_000_000_000);
        write!(f, ",ipv6={},seed={},rate={}", Percent(self.ipv6_ppm), self.seed, self.rate())?;
        write!(f, ",start={seconds}.{ns:09},snap={},tcp={}", self.snap, self.tcp)?;
        for (index, event) in self.events.iter().enumerate() {
            let separator = if index == 0 { ",plant=" } else { "/" };
            write!(f, "{separator}{event}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let error = text.parse::<TrafficSpec>().expect_err(text).to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn the_documented_spelling() {
        let spec: TrafficSpec = "packets=10M,flows=1M,zipf=1.0,size=64,seed=1".parse().unwrap();
        assert_eq!((spec.packets(), spec.flows(), spec.zipf(), spec.seed()), (10_000_000, 1_000_000, 1.0, 1));
        assert_eq!(spec.sizes(), [SizeShare { size: 64, weight: 1 }]);
        assert_eq!(spec.rate(), 333_333);
        let sizes = "size=64:7/594:4/1518".parse::<TrafficSpec>().unwrap().sizes().to_vec();
        assert_eq!(
            sizes.iter().map(|s| (s.size, s.weight)).collect::<Vec<_>>(),
            [(64, 7), (594, 4), (1518, 1)]
        );
        assert_eq!("zipf=uniform".parse::<TrafficSpec>().unwrap().zipf(), 0.0);
        assert_eq!("".parse::<TrafficSpec>(), Ok(TrafficSpec::default()));
    }

    #[test]
    fn display_parses_to_the_same() {
        for text in [
            "",
            "packets=1k,ipv6=12.5%,start=1.5,snap=96,zipf=0.99",
            "tcp=handshake,packets=5",
            "tcp=handshake:100",
            "packets=1T,zipf=uniform",
            "packets=0",
            "plant=loss/retransmission:start=10%:connections=3:segments=70/reorder:reorder=2.5%:loss=0.1%",
            "packets=2M,rate=100k,size=64:7/1518:1,plant=flood:sources=100/scan:share=2%/portscan/elephant",
        ] {
            let spec: TrafficSpec = text.parse().unwrap();
            let shown: TrafficSpec = spec.to_string().parse().unwrap();
            assert_eq!(shown.rate(), spec.rate());
            assert_eq!(shown.to_string(), spec.to_string());
            assert_eq!(shown, TrafficSpec { rate: shown.rate, ..spec });
        }
    }

    #[test]
    fn errors_say_what_is_possible() {
        assert!(error("flow=3").contains("did you mean \"flows\""));
        assert!(error("colour=red").contains("packets, flows, zipf, size"));
        assert!(error("packets").contains("whole number"));
        assert!(error("packets=ten").contains("whole number"));
        assert!(error("packets=1,packets=2").contains("twice"));
        assert!(error("flows=0").contains("from 1 to"));
        assert!(error("flows=5G").contains("from 1 to 100000000"));
        assert!(error("zipf=-1").contains("exponent"));
        assert!(error("zipf=NaN").contains("exponent"));
        assert!(error("size=20").contains("64 to 9216"));
        assert!(error("size=64/").contains("whole number"));
        assert!(error("size=64:0").contains("weight"));
        assert!(error("ipv6=130%").contains("share"));
        assert!(error("packets=1G,rate=1,start=9000000000").contains("2262"));
        assert!(error("tcp=yes").contains("not streams, handshake or handshake:SEGMENTS"));
        assert!(error("tcp=handshake:0").contains("from 1 to 30000"));
        assert!(error("packets=10,").contains("unknown key"));
        assert!(error("plant=fload").contains("did you mean \"flood\""));
        assert!(error("plant=flood:sourcs=3").contains("did you mean \"sources\""));
        assert!(error("plant=elephant:sources=3").contains("unknown key"));
        assert!(error("plant=lost").contains("did you mean \"loss\""));
        assert!(error("plant=loss:share=3%").contains("start, connections, segments, loss, reorder"));
        assert!(error("plant=loss:loss=30%").contains("at most 20%"));
        assert!(error("plant=loss:segments=0").contains("from 1 to 1000000"));
        assert!(error("plant=reorder:connections=10k:segments=10k").contains("too many"));
        assert!(error("packets=1k,plant=loss").contains("the run has 1000"));
        assert!(error("packets=16k,plant=loss/flood:share=50%:start=0:end=1").contains("100%"));
        assert!(error("plant=portscan:ports=70k").contains("65535"));
        assert!(error("plant=flood:start=70%:end=60%").contains("before"));
        assert!(error("plant=flood:share=50%:start=50%:end=60%").contains("do not fit"));
        assert!(error("packets=10,plant=scan").contains("none"));
        assert!(error("packets=1k,plant=flood:sources=1k").contains("as many packets"));
        assert!(error("plant=flood:share=60%:start=0:end=1/scan:share=60%:start=0:end=1").contains("100%"));
    }
}
