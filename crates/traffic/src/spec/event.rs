//! `plant=`: the events of a specification.

use super::{SpecError, unknown_key, value};
use crate::EventKind;
use std::fmt;

const EVERYTHING_PPM: u32 = 1_000_000;

/// One planted event as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    kind: EventKind,
    share_ppm: u32,
    start_ppm: u32,
    end_ppm: u32,
    members: Option<u64>,
}

/// `value` × `ppm` / 10⁶, rounded down.
fn part(value: u64, ppm: u32) -> u64 {
    (u128::from(value) * u128::from(ppm) / u128::from(EVERYTHING_PPM)) as u64
}

impl EventSpec {
    /// What kind of event.
    pub fn kind(&self) -> EventKind {
        self.kind
    }

    /// How many of a run's packets it has.
    pub fn packets(&self, run: u64) -> u64 {
        part(run, self.share_ppm)
    }

    /// The first position in the run and the one after the last among which its packets are spread.
    pub(crate) fn window(&self, run: u64) -> (u64, u64) {
        (part(run, self.start_ppm), part(run, self.end_ppm))
    }

    /// How many flows it has.
    pub(crate) fn members(&self, run: u64) -> u64 {
        let usual = self.kind.members().map_or(1, |(_, usual, _)| usual);
        self.members.unwrap_or(usual).min(self.packets(run))
    }

    /// Reads `kind:key=value:…`.
    pub(super) fn parse(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let names = EventKind::ALL.map(EventKind::name);
        let Some(kind) = EventKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Err(unknown_key("plant: unknown event", name, &names));
        };
        let (share_ppm, start_ppm, end_ppm) = match kind {
            EventKind::Flood => (40_000, 400_000, 600_000),
            EventKind::Scan => (10_000, 100_000, 900_000),
            EventKind::Portscan => (10_000, 200_000, 800_000),
            EventKind::Elephant => (50_000, 250_000, 750_000),
        };
        let mut event = Self { kind, share_ppm, start_ppm, end_ppm, members: None };
        for pair in parts {
            event.set(pair)?;
        }
        event.check()?;
        Ok(event)
    }

    fn set(&mut self, pair: &str) -> Result<(), SpecError> {
        let name = self.kind.name();
        let (key, text) = pair.split_once('=').unwrap_or((pair, ""));
        let bad = |expected| SpecError(format!("plant: {name}:{key}={text}: not {expected}"));
        match (key, self.kind.members()) {
            ("share", _) => self.share_ppm = value::share_ppm(text).map_err(bad)?,
            ("start", _) => self.start_ppm = value::share_ppm(text).map_err(bad)?,
            ("end", _) => self.end_ppm = value::share_ppm(text).map_err(bad)?,
            (_, Some((members, _, most))) if key == members => {
                let count = value::count(text).map_err(bad)?;
                if count == 0 || count > most {
                    return Err(SpecError(format!("plant: {name}:{key}={text}: {key} are from 1 to {most}")));
                }
                self.members = Some(count);
            }
            (_, members) => {
                let known: Vec<_> =
                    ["share", "start", "end"].into_iter().chain(members.map(|(key, ..)| key)).collect();
                return Err(unknown_key(&format!("plant: {name}: unknown key"), key, &known));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SpecError> {
        let name = self.kind.name();
        if self.start_ppm >= self.end_ppm {
            return Err(SpecError(format!("plant: {name}: its start must come before its end")));
        }
        if self.share_ppm == 0 {
            return Err(SpecError(format!(
                "plant: {name}: a share of 0 plants nothing; leave the event out"
            )));
        }
        if self.share_ppm > self.end_ppm - self.start_ppm {
            return Err(SpecError(format!(
                "plant: {name}: {} of all packets do not fit between {} and {} of the run",
                Percent(self.share_ppm),
                Percent(self.start_ppm),
                Percent(self.end_ppm),
            )));
        }
        Ok(())
    }

    /// What can only be checked against the number of packets.
    pub(super) fn check_run(&self, run: u64) -> Result<(), SpecError> {
        let (name, packets) = (self.kind.name(), self.packets(run));
        if packets == 0 {
            let share = Percent(self.share_ppm);
            return Err(SpecError(format!(
                "plant: {name}: {share} of {run} packets is none; ask for more packets or a larger share"
            )));
        }
        if let Some(members) = self.members
            && members > packets
        {
            return Err(SpecError(format!(
                "plant: {name}: {members} flows need as many packets, its share is {packets}"
            )));
        }
        Ok(())
    }
}

impl fmt::Display for EventSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:share={}:start={}:end={}",
            self.kind.name(),
            Percent(self.share_ppm),
            Percent(self.start_ppm),
            Percent(self.end_ppm)
        )?;
        match (self.kind.members(), self.members) {
            (Some((key, ..)), Some(members)) => write!(f, ":{key}={members}"),
            _ => Ok(()),
        }
    }
}

/// Parts per million, shown as per cent.
pub(super) struct Percent(pub(super) u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000, self.0 % 10_000);
        if rest == 0 {
            return write!(f, "{whole}%");
        }
        let rest = format!("{rest:04}");
        write!(f, "{whole}.{}%", rest.trim_end_matches('0'))
    }
}
