//! The receiver's side.

use super::entry::{FrameMetadata, HEAD, TAG};
use super::order::OpenCapture;
use super::tap_end::{TapEnd, TapState};
use super::{MOST_OPEN, SharedCaptures};
use arena::Limits;
use packet::{Frame, Packets, Tunnel};
use rtrb::{Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// Bytes of frames on their way from one receiver: those of some milliseconds at ten gigabits a second.
const RING_BYTES: usize = 1 << 20;
/// The interval at which a replay looks for room.
const ROOM_LOOK: Duration = Duration::from_millis(1);

/// Looks at the packets of one receiver, if anything is captured.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    open: Option<OpenTap>,
}

#[derive(Debug)]
struct OpenTap {
    shared: Arc<SharedCaptures>,
    /// The version of the orders.
    seen: u64,
    orders: Vec<Arc<OpenCapture>>,
    ring: Producer<u8>,
    state: Arc<TapState>,
    tunnel: Tunnel,
    /// A replay waits for room; what a live source's packets find none for is counted.
    waits: bool,
}

impl Tap {
    /// A tap and the other end of its ring; `None` without memory.
    pub(super) fn new(
        shared: &Arc<SharedCaptures>,
        limits: &Limits,
        tunnel: Tunnel,
        waits: bool,
    ) -> Option<(Self, TapEnd)> {
        let lease = limits.lease(RING_BYTES)?;
        let (ring, frames) = RingBuffer::new(RING_BYTES);
        let state: Arc<TapState> = Arc::default();
        let end = TapEnd::new(frames, Arc::clone(&state), lease);
        let open = OpenTap {
            shared: Arc::clone(shared),
            seen: 0,
            orders: Vec::with_capacity(MOST_OPEN),
            ring,
            state,
            tunnel,
            waits,
        };
        Some((Self { open: Some(open) }, end))
    }

    /// Returns true if packets are to be looked at. Called once a burst.
    #[inline]
    pub(crate) fn is_active(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        if open.shared.version.load(SeqCst) != open.seen {
            open.refresh();
        }
        !open.orders.is_empty()
    }

    /// The receiver enters a window that begins then.
    pub(crate) fn enter(&self, start_ns: u64) {
        if let Some(open) = &self.open {
            open.state.time_ns.store(start_ns, SeqCst);
        }
    }

    /// Looks at a frame and the packet that was made of it, if one was.
    #[cold]
    pub(crate) fn look(&mut self, frame: &Frame<'_>, packets: Packets<'_>) {
        let Some(open) = &mut self.open else { return };
        let now = open.state.time_ns.load(Relaxed);
        for order in &open.orders {
            if order.wants(frame.time_ns, now, packets) {
                take(order, frame, open.tunnel, open.waits, &mut open.ring);
            }
        }
    }
}

impl OpenTap {
    #[cold]
    fn refresh(&mut self) {
        let state = self.shared.state();
        self.seen = self.shared.version.load(SeqCst);
        self.orders.clear();
        self.orders.extend(state.open.iter().cloned());
    }
}

/// Marks the tap as over: nothing more comes from it.
impl Drop for OpenTap {
    fn drop(&mut self) {
        self.state.is_over.store(true, SeqCst);
    }
}

/// Hands a frame over, as far as the order allows.
fn take(order: &OpenCapture, frame: &Frame<'_>, tunnel: Tunnel, waits: bool, ring: &mut Producer<u8>) {
    let captured = order.captured(frame, tunnel);
    if !order.is_within_rate(frame.time_ns) {
        return;
    }
    let length = HEAD + captured;
    while waits && length <= RING_BYTES && ring.slots() < length && !ring.is_abandoned() {
        std::thread::sleep(ROOM_LOOK);
    }
    let Ok(mut room) = ring.write_chunk(length) else { return order.has_no_room() };
    // Room does not become less: the frame is there once it is granted.
    if !order.grant(captured + frame.stripped_vlan.map_or(0, |_| TAG.len() + 2)) {
        return;
    }
    let head = FrameMetadata::new(order.number, frame, captured).bytes();
    let (first, second) = room.as_mut_slices();
    let bytes = head.iter().chain(&frame.data[..captured]);
    first.iter_mut().chain(second).zip(bytes).for_each(|(place, byte)| *place = *byte);
    room.commit_all();
    order.settle();
}

#[cfg(test)]
mod tests {
    use super::super::order::{CaptureOrder, Snap};
    use super::*;
    use packet::{BurstParser, LinkType, Seed};
    use task::rows::KeyFilter;

    #[test]
    fn what_finds_no_room_is_counted_and_the_rest_is_whole() {
        let order = CaptureOrder {
            id: "e".to_owned(),
            comment: String::new(),
            filter: KeyFilter::all(),
            packets: u64::MAX,
            time: None,
        };
        let order = Arc::new(OpenCapture::new(order, Snap::Bytes(5_000), u32::MAX, u64::MAX));
        let shared: Arc<SharedCaptures> = Arc::default();
        shared.state().open.push(Arc::clone(&order));
        shared.changed();
        let limits = Limits::new(RING_BYTES, 1);
        let (mut tap, mut end) = Tap::new(&shared, &limits, Tunnel::Outer, false).expect("memory");
        assert!(Tap::new(&shared, &limits, Tunnel::Outer, false).is_none(), "no memory for another one");
        assert!(tap.is_active());
        let mut parser = BurstParser::new(Seed::new(1), Tunnel::Outer, 1);
        // Frames of several lengths, so that one lies across the end of the ring; of 6000 bytes 5000 are kept.
        let frame = |number: usize| {
            let mut data = vec![number as u8; [60, 1514, 6000][number % 3]];
            data[..38].copy_from_slice(&[
                2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0,
                1, 10, 0, 0, 2, 0, 1, 0, 2,
            ]);
            data
        };
        let (mut given, mut read) = (0, Vec::new());
        for _ in 0..3 {
            for number in given..given + 1000 {
                let data = frame(number);
                let (wire_len, time_ns) = (data.len() as u32, number as u64);
                let frame =
                    Frame { data: &data, wire_len, time_ns, link: LinkType::Ethernet, stripped_vlan: None };
                parser.clear();
                parser.push::<true>(&frame, 1);
                tap.look(&frame, parser.bursts.packets());
            }
            given += 1000;
            end.each(end.bytes(), &mut Vec::new(), |head, data| read.push((head, data.to_vec())));
        }
        for (head, data) in &read {
            let whole = frame(head.time_ns as usize);
            assert_eq!((head.order, head.wire_len), (order.number, whole.len() as u32));
            assert!(*data == whole[..whole.len().min(5000)], "frame {}", head.time_ns);
        }
        assert!(read.len() > 900 && read.is_sorted_by_key(|(head, _)| head.time_ns), "{}", read.len());
        let dropped = order.dropped();
        assert_eq!(
            (dropped.get("capture_room"), dropped.get("capture_rate")),
            ((given - read.len()) as u64, 0)
        );
        assert!(order.ended().is_none() && !end.is_over());
        drop(tap);
        assert!(end.is_over());
    }
}
