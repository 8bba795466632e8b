//! The packets of a stream whose round trips are timed.

use crate::segment::Segment;
use crate::serial::is_before;
use crate::stream::{BY_TIMESTAMP, HOLES, HotStream, SCALE, SYN_SEEN};

impl HotStream {
    pub(super) fn note_in_order(&mut self, segment: &Segment) {
        if self.state & (HOLES | BY_TIMESTAMP) != 0 {
            self.note_sent_behind(segment);
        } else {
            self.note_sent(segment);
        }
    }

    pub(super) fn note_syn(&mut self, segment: &Segment) {
        self.setup = self.setup & !SCALE | SYN_SEEN | segment.window_scale().map_or(0, |shift| shift + 1);
    }

    /// Karn's rule: what was retransmitted cannot be timed, and neither can what waits after it, except by
    /// the timestamp of the new copy, if it is newer than all earlier ones (RFC 7323, section 4.1).
    pub(super) fn note_sent_again(&mut self, segment: &Segment, end: u32, is_new_copy: bool) {
        let newer =
            segment.timestamps().map(|(tsval, _)| tsval).filter(|tsval| is_before(self.tsval, *tsval));
        if self.state & BY_TIMESTAMP == 0 {
            let timed = &self.timed_end[..usize::from(self.timed)];
            self.timed = timed.iter().take_while(|end| !is_before(segment.seq, **end)).count() as u8;
            if is_new_copy && let Some(tsval) = newer {
                self.state |= BY_TIMESTAMP;
                self.begin_again(segment, end, tsval);
            }
        } else if !is_before(segment.seq, self.timed_end[0]) {
            // It lies after the copy that is timed.
        } else if self.timed_end[0] != end {
            self.forget_timed();
        } else if let Some(tsval) = newer {
            self.begin_again(segment, end, tsval);
        } else if segment.timestamps().is_none_or(|(tsval, _)| tsval != self.tsval) {
            self.forget_timed();
        }
    }

    fn begin_again(&mut self, segment: &Segment, end: u32, tsval: u32) {
        self.tsval = tsval;
        self.timed = 1;
        self.begin(0, end, segment.time_ns);
    }
}
