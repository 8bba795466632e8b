//! The limit up to which a stream can have advanced: sequence numbers beyond that are not trusted.

use super::stream::{HotStream, SCALE, SYN_SEEN, UNACKED};

/// A jump as large as one IP packet can be is always accepted.
pub(super) const SMALL: u32 = 1 << 16;

/// The bytes in a row up to which larger jumps are accepted.
pub(super) const TRUST: u32 = 1 << 24;

/// The bytes of larger jumps that are accepted for each byte that was seen in order: a tap that loses more sees no connection.
pub(super) const TRUST_PER_BYTE: u64 = 64;

/// A stream that skips this many times what it carries, hole after hole, and of which nothing is acknowledged or repaired, is none:
/// its sequence numbers make no sense.
pub(super) const SENSELESS_SHARE: u64 = 8;

/// Holes that it takes to say so.
pub(super) const SENSELESS_HOLES: usize = 4;

/// The least reach where nothing is known.
pub(super) const UNINFORMED: u32 = 1 << 20;

/// The largest window that the peer advertised, bytes; `None` if its scale is not known.
fn window(stream: &HotStream, peer: &HotStream) -> Option<u32> {
    if stream.setup & peer.setup & SYN_SEEN == 0 {
        return None;
    }
    // Scaling takes the option on both sides (RFC 7323, section 2.2).
    let is_scaled = stream.setup & SCALE != 0 && peer.setup & SCALE != 0;
    let shift = if is_scaled { (peer.setup & SCALE) - 1 } else { 0 };
    // The windows of SYNs are not kept: before the first other one this is the most that they can be.
    let window = if peer.window == 0 { u16::MAX } else { peer.window };
    Some(u32::from(window) << shift)
}

fn by_window(stream: &HotStream, peer: &HotStream) -> Option<u64> {
    let window = u64::from(window(stream, peer)?);
    Some(window + window / 4 + u64::from(SMALL))
}

fn by_flight(stream: &HotStream) -> u64 {
    u64::from(UNINFORMED).max(2 << stream.flight)
}

fn clamp(reach: u64) -> u32 {
    // More than half of the sequence space ahead counts as below.
    reach.min(1 << 30) as u32
}

/// Bytes beyond `next` that the stream can have sent unseen: as far as the peer's largest window beyond its
/// last acknowledgement, and some; where its scale is not known, 1 MiB or twice the largest flight.
pub(super) fn ahead(stream: &HotStream, peer: &HotStream) -> u32 {
    match by_window(stream, peer) {
        Some(window) if stream.state & UNACKED == 0 => {
            clamp(window.saturating_sub(u64::from(stream.next.wrapping_sub(stream.acked))))
        }
        _ => clamp(by_flight(stream)),
    }
}

/// Bytes before `next` from which old data can still come.
pub(super) fn behind(stream: &HotStream, peer: &HotStream) -> u32 {
    clamp(by_window(stream, peer).unwrap_or(0).max(by_flight(stream)).max(TRUST.into()))
}
