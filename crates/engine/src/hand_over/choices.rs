//! Which packets of a burst go to which worker.

use packet::KeyedPacket;

/// The places in a burst of each worker's packets, in ascending order.
///
/// They are lists, and not a worker for each packet: what is to be copied to a worker is copied in one loop that knows where to.
#[derive(Debug)]
pub(super) struct Choices {
    /// `room` places for each worker, one list after the other.
    places: Box<[u32]>,
    room: usize,
    /// Where each worker's list ends.
    ends: Box<[u32]>,
}

impl Choices {
    /// Lists for this many workers and packets of a burst.
    pub(super) fn new(workers: usize, burst: usize) -> Self {
        let room = burst.max(1);
        Self { places: vec![0; room * workers].into(), room, ends: vec![0; workers].into() }
    }

    /// Chooses a worker for each packet of a burst: `worker_of` its place and its hash.
    #[inline(always)]
    pub(super) fn choose<K>(&mut self, packets: &[KeyedPacket<K>], worker_of: impl Fn(usize, u64) -> usize) {
        if packets.len() > self.room {
            self.grow(packets.len());
        }
        // Borrowed once; otherwise their addresses are read again for each packet.
        let (places, ends) = (&mut self.places[..], &mut self.ends[..]);
        for (worker, end) in ends.iter_mut().enumerate() {
            *end = (worker * self.room) as u32;
        }
        for (at, packet) in packets.iter().enumerate() {
            let end = &mut ends[worker_of(at, packet.hash)];
            places[*end as usize] = at as u32;
            *end += 1;
        }
    }

    /// The places of this worker's packets.
    #[inline(always)]
    pub(super) fn of(&self, worker: usize) -> &[u32] {
        &self.places[worker * self.room..self.ends[worker] as usize]
    }

    /// A burst holds more packets than it was made for.
    #[cold]
    fn grow(&mut self, room: usize) {
        *self = Self::new(self.ends.len(), room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::KeyV4;

    #[test]
    fn each_packet_is_in_the_list_of_its_worker_in_order() {
        let mut choices = Choices::new(3, 4);
        for count in [4, 0, 9, 2] {
            let packets: Vec<_> =
                (0..count).map(|hash| KeyedPacket::<KeyV4> { hash, ..KeyedPacket::default() }).collect();
            choices.choose(&packets, |at, hash| {
                assert_eq!(at as u64, hash);
                (hash * hash % 3) as usize
            });
            for worker in 0..3 {
                let expected: Vec<_> =
                    (0..count as u32).filter(|at| (at * at % 3) as usize == worker).collect();
                assert_eq!(choices.of(worker), expected);
            }
        }
    }
}
