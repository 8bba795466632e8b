//! `plant=`: the events of a specification.

use crate::{PathSpec, PlantedEventKind};
use notation::{SpecError, unknown_key};
use std::fmt;

const EVERYTHING_PPM: u32 = 1_000_000;

/// A planted event as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    kind: PlantedEventKind,
    share_ppm: u32,
    start_ppm: u32,
    end_ppm: u32,
    members: Option<u64>,
    /// A path's options instead of share, end and members.
    path: PathPlant,
}

/// The connections of a planted path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathPlant {
    connections: u32,
    segments: u32,
    loss_ppm: u32,
    reorder_ppm: u32,
}

/// Segments of all connections of a planted path: state is kept for each.
const MOST_SEGMENTS: u64 = 10_000_000;
/// The frames of a connection that neither carry nor acknowledge data.
const CONTROL_FRAMES: u64 = 6;

/// `value` × `ppm` / 10⁶, rounded down.
pub(crate) fn part(value: u64, ppm: u32) -> u64 {
    (u128::from(value) * u128::from(ppm) / u128::from(EVERYTHING_PPM)) as u64
}

impl EventSpec {
    /// The kind of event.
    pub fn kind(&self) -> PlantedEventKind {
        self.kind
    }

    /// The number of a run's packets that it has; for a path the maximum, which does not depend on the run.
    pub fn packets(&self, run: u64) -> u64 {
        if self.kind.is_path() {
            let PathPlant { connections, segments, .. } = self.path;
            return u64::from(connections) * (CONTROL_FRAMES + 3 * u64::from(segments));
        }
        part(run, self.share_ppm)
    }

    /// The path, one tap of which is planted, and the number of that tap.
    pub(crate) fn path(&self, seed: u64) -> (PathSpec, u32) {
        let PathPlant { connections, segments, loss_ppm, reorder_ppm } = self.path;
        let path = PathSpec { connections, segments, loss_ppm, reorder_ppm, seed, ..PathSpec::default() };
        let before = path.lossy - 1;
        let tap = if self.kind == PlantedEventKind::Retransmission { before } else { path.lossy };
        (path, tap)
    }

    /// Returns the beginning of the event, as a share of the run.
    pub(crate) fn start_ppm(&self) -> u32 {
        self.start_ppm
    }

    /// The first position in the run and the one after the last among which its packets are spread.
    pub(crate) fn window(&self, run: u64) -> (u64, u64) {
        (part(run, self.start_ppm), part(run, self.end_ppm))
    }

    /// Returns the number of flows of the event.
    pub(crate) fn members(&self, run: u64) -> u64 {
        let usual = self.kind.members().map_or(1, |(_, usual, _)| usual);
        self.members.unwrap_or(usual).min(self.packets(run))
    }

    /// Reads `kind:key=value:…`.
    pub(super) fn parse(text: &str) -> Result<Self, SpecError> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let names = PlantedEventKind::ALL.map(PlantedEventKind::name);
        let Some(kind) = PlantedEventKind::ALL.into_iter().find(|kind| kind.name() == name) else {
            return Err(unknown_key("plant: unknown event", name, &names));
        };
        let (share_ppm, start_ppm, end_ppm) = match kind {
            PlantedEventKind::Flood => (40_000, 400_000, 600_000),
            PlantedEventKind::Scan => (10_000, 100_000, 900_000),
            PlantedEventKind::Portscan => (10_000, 200_000, 800_000),
            PlantedEventKind::Elephant => (50_000, 250_000, 750_000),
            PlantedEventKind::Loss | PlantedEventKind::Retransmission | PlantedEventKind::Reorder => {
                (0, 250_000, EVERYTHING_PPM)
            }
        };
        let (loss_ppm, reorder_ppm) =
            if kind == PlantedEventKind::Reorder { (0, 10_000) } else { (10_000, 0) };
        let path = PathPlant { connections: 10, segments: 500, loss_ppm, reorder_ppm };
        let mut event = Self { kind, share_ppm, start_ppm, end_ppm, members: None, path };
        for pair in parts {
            event.set(pair)?;
        }
        event.check()?;
        Ok(event)
    }

    fn set(&mut self, pair: &str) -> Result<(), SpecError> {
        let name = self.kind.name();
        let (key, text) = pair.split_once('=').unwrap_or((pair, ""));
        let bad = |expected| SpecError::new(format!("plant: {name}:{key}={text}: not {expected}"));
        if self.kind.is_path() {
            return self.set_path(key, text);
        }
        match (key, self.kind.members()) {
            ("share", _) => {
                self.share_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?
            }
            ("start", _) => {
                self.start_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?
            }
            ("end", _) => self.end_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?,
            (_, Some((members, _, most))) if key == members => {
                let count = notation::count(text).map_err(|error| bad(error.expected()))?;
                if count == 0 || count > most {
                    return Err(SpecError::new(format!(
                        "plant: {name}:{key}={text}: {key} are from 1 to {most}"
                    )));
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

    fn set_path(&mut self, key: &str, text: &str) -> Result<(), SpecError> {
        let name = self.kind.name();
        let bad = |expected| SpecError::new(format!("plant: {name}:{key}={text}: not {expected}"));
        let whole = |most: u64| match notation::count(text).map_err(|error| bad(error.expected()))? {
            count if (1..=most).contains(&count) => Ok(count as u32),
            _ => Err(SpecError::new(format!("plant: {name}:{key}={text}: {key} are from 1 to {most}"))),
        };
        match key {
            "start" => self.start_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?,
            "connections" => self.path.connections = whole(10_000)?,
            "segments" => self.path.segments = whole(1_000_000)?,
            "loss" => {
                self.path.loss_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?
            }
            "reorder" => {
                self.path.reorder_ppm = notation::share_ppm(text).map_err(|error| bad(error.expected()))?
            }
            _ => {
                let known = ["start", "connections", "segments", "loss", "reorder"];
                return Err(unknown_key(&format!("plant: {name}: unknown key"), key, &known));
            }
        }
        Ok(())
    }

    fn check_path(&self) -> Result<(), SpecError> {
        let name = self.kind.name();
        let PathPlant { connections, segments, .. } = self.path;
        self.path(0).0.check_shares().map_err(|error| SpecError::new(format!("plant: {name}: {error}")))?;
        if u64::from(connections) * u64::from(segments) > MOST_SEGMENTS {
            return Err(SpecError::new(format!(
                "plant: {name}: {connections} connections of {segments} segments are too many: at most {MOST_SEGMENTS} in all"
            )));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), SpecError> {
        let name = self.kind.name();
        if self.kind.is_path() {
            return self.check_path();
        }
        if self.start_ppm >= self.end_ppm {
            return Err(SpecError::new(format!("plant: {name}: its start must come before its end")));
        }
        if self.share_ppm == 0 {
            return Err(SpecError::new(format!(
                "plant: {name}: a share of 0 plants nothing; leave the event out"
            )));
        }
        if self.share_ppm > self.end_ppm - self.start_ppm {
            return Err(SpecError::new(format!(
                "plant: {name}: {} of all packets do not fit between {} and {} of the run",
                Percent(self.share_ppm),
                Percent(self.start_ppm),
                Percent(self.end_ppm),
            )));
        }
        Ok(())
    }

    /// Checks what can only be checked against the number of packets.
    pub(super) fn check_run(&self, run: u64) -> Result<(), SpecError> {
        let (name, packets) = (self.kind.name(), self.packets(run));
        if self.kind.is_path() {
            return match packets <= run {
                true => Ok(()),
                false => Err(SpecError::new(format!(
                    "plant: {name}: {} connections of {} segments may have {packets} packets, and the run has {run}",
                    self.path.connections, self.path.segments
                ))),
            };
        }
        if packets == 0 {
            let share = Percent(self.share_ppm);
            return Err(SpecError::new(format!(
                "plant: {name}: {share} of {run} packets is none; ask for more packets or a larger share"
            )));
        }
        if let Some(members) = self.members
            && members > packets
        {
            return Err(SpecError::new(format!(
                "plant: {name}: {members} flows need as many packets, its share is {packets}"
            )));
        }
        Ok(())
    }
}

impl fmt::Display for EventSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind.is_path() {
            let PathPlant { connections, segments, loss_ppm, reorder_ppm } = self.path;
            return write!(
                f,
                "{}:start={}:connections={connections}:segments={segments}:loss={}:reorder={}",
                self.kind.name(),
                Percent(self.start_ppm),
                Percent(loss_ppm),
                Percent(reorder_ppm)
            );
        }
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
