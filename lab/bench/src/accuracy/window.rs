//! A window's packets in memory, in bursts as workers get them.

use engine::Split;
use packet::{BurstParser, Bursts, KeyBurst, PacketFields, PacketKey, Seed, Tunnel};
use port::{PacketSource, Poll};

/// Packets of a burst.
pub(super) const BURST: usize = 64;

/// The packets of a window, with their hashes by one seed.
#[derive(Default)]
pub(super) struct BurstWindow {
    pub(super) bursts: Vec<Bursts>,
    pub(super) packets: u64,
}

impl BurstWindow {
    /// Adds a packet.
    pub(super) fn push(&mut self, key: &PacketKey, fields: PacketFields, seed: &Seed) {
        if self.bursts.last().is_none_or(|last| last.len() == BURST) {
            // Most traffic is of one family: what the other needs grows by itself.
            let (v4, v6) = (KeyBurst::with_capacity(BURST), KeyBurst::with_capacity(1));
            self.bursts.push(Bursts { v4, v6 });
        }
        let Some(last) = self.bursts.last_mut() else { return };
        match key {
            PacketKey::V4(key) => last.v4.push(*key, fields, seed),
            PacketKey::V6(key) => last.v6.push(*key, fields, seed),
        }
        self.packets += 1;
    }

    /// Emits every packet; within a burst those of IPv4 come first.
    pub(super) fn each(&self, mut packet: impl FnMut(PacketKey, &PacketFields)) {
        for bursts in &self.bursts {
            bursts.v4.packets().iter().for_each(|one| packet(PacketKey::V4(one.key), &one.fields));
            bursts.v6.packets().iter().for_each(|one| packet(PacketKey::V6(one.key), &one.fields));
        }
    }

    /// Returns the same packets, hashed by another seed.
    pub(super) fn hashed(&self, seed: &Seed) -> Self {
        let mut window = Self::default();
        self.each(|key, fields| window.push(&key, *fields, seed));
        window
    }

    /// Returns the share of the window that each of this many workers gets, hashed by the same seed.
    pub(super) fn split(&self, split: Split, workers: usize, seed: &Seed) -> Vec<Self> {
        let mut windows: Vec<Self> = (0..workers).map(|_| Self::default()).collect();
        let mut turn = 0;
        for bursts in &self.bursts {
            let v4 = bursts.v4.packets().iter().map(|one| (PacketKey::V4(one.key), one.hash, one.fields));
            let v6 = bursts.v6.packets().iter().map(|one| (PacketKey::V6(one.key), one.hash, one.fields));
            let packets = bursts.len();
            for (at, (key, hash, fields)) in v4.chain(v6).enumerate() {
                let worker = match split {
                    Split::Hash => Split::by_hash(hash, workers),
                    Split::Position => Split::by_position(at, packets, turn, workers),
                };
                windows[worker].push(&key, fields, seed);
            }
            turn = (turn + packets.min(workers)) % workers;
        }
        windows
    }
}

/// Reads a source into windows of this many measured packets each, at most `most` of them. A last one that is not full is left out,
/// unless it is the only one.
///
/// # Errors
/// What is wrong with the source.
pub(super) fn read(
    source: &mut dyn PacketSource,
    seed: &Seed,
    packets: u64,
    most: usize,
) -> Result<Vec<BurstWindow>, String> {
    let mut parser = BurstParser::new(*seed, Tunnel::Outer, BURST);
    let mut windows: Vec<BurstWindow> = Vec::new();
    loop {
        match source.rx_burst().map_err(|error| error.to_string())? {
            Poll::Burst(burst) => burst.frames().for_each(|frame| parser.push::<true>(&frame, 0)),
            Poll::Idle => continue,
            Poll::Ended => break,
        }
        let v4 = parser.bursts.v4.packets().iter().map(|one| (PacketKey::V4(one.key), one.fields));
        let v6 = parser.bursts.v6.packets().iter().map(|one| (PacketKey::V6(one.key), one.fields));
        for (key, fields) in v4.chain(v6) {
            if windows.last().is_none_or(|last| last.packets == packets) {
                windows.push(BurstWindow::default());
            }
            if let Some(last) = windows.last_mut() {
                last.push(&key, fields, seed);
            }
        }
        parser.clear();
        if windows.len() > most {
            break;
        }
    }
    if windows.len() > 1 && windows.last().is_some_and(|last| last.packets < packets) {
        windows.pop();
    }
    windows.truncate(most);
    Ok(windows)
}
