//! The rules of `docs/loss.md` for one stream, number by number: every sequence number has its own state, nothing
//! is a range and nothing wraps. For streams that begin with their SYN and lie within all windows.

use tcp::LossCounts;

/// The reordering window: shorter round trips than 12 ms do not widen it.
const WINDOW_NS: u64 = 3_000_000;

const MAX_HOLES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Open,
    AckedYoung,
    AckedOld,
    AckedUnseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not sent as far as is known, or decided.
    Settled,
    Missing {
        hole: u32,
        kind: Kind,
        time: u64,
    },
}

/// Offsets count from the first byte after the SYN.
#[derive(Debug)]
pub(crate) struct Model {
    numbers: Vec<State>,
    next: usize,
    acked: usize,
    /// Highest end of a segment that was seen, where an acknowledgement went beyond it.
    skipped: bool,
    largest: u32,
    holes: u32,
    pub(crate) counts: LossCounts,
}

impl Model {
    pub(crate) fn new(numbers: usize) -> Self {
        Self {
            numbers: vec![State::Settled; numbers],
            next: 0,
            acked: 0,
            skipped: false,
            largest: 0,
            holes: 0,
            counts: LossCounts::default(),
        }
    }

    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// The holes in a row: where each begins and how long it is.
    fn runs(&self) -> Vec<(usize, usize, u32, Kind)> {
        let mut runs: Vec<(usize, usize, u32, Kind)> = Vec::new();
        for (at, state) in self.numbers.iter().enumerate() {
            let State::Missing { hole, kind, .. } = *state else { continue };
            match runs.last_mut() {
                Some((start, length, last, _)) if *start + *length == at && *last == hole => *length += 1,
                _ => runs.push((at, 1, hole, kind)),
            }
        }
        runs
    }

    fn decide(&mut self, start: usize, length: usize, kind: Kind) {
        self.numbers[start..start + length].fill(State::Settled);
        if kind == Kind::Open {
            self.counts.ploss_byte += length as u64;
            let segment = if self.largest == 0 { 536 } else { self.largest };
            self.counts.ploss_count += (length as u32).div_ceil(segment);
        } else {
            self.counts.unseen_byte += length as u64;
        }
    }

    fn push_out(&mut self) {
        let runs = self.runs();
        if runs.len() > MAX_HOLES {
            let (start, length, _, kind) = runs[0];
            self.decide(start, length, kind);
        }
    }

    fn settle(&mut self, now: u64) {
        for (start, length, _, kind) in self.runs() {
            let State::Missing { time, .. } = self.numbers[start] else { continue };
            if kind != Kind::Open && now - time > WINDOW_NS {
                self.decide(start, length, kind);
            }
        }
    }

    fn miss(&mut self, until: usize, kind: Kind, time: u64) {
        self.holes += 1;
        self.numbers[self.next..until].fill(State::Missing { hole: self.holes, kind, time });
        self.next = until;
        self.push_out();
    }

    /// The sender's segment of `length` bytes from `start` on.
    pub(crate) fn data(&mut self, now: u64, start: usize, length: usize) {
        self.settle(now);
        let end = start + length;
        if start > self.next {
            self.counts.hole_count += 1;
            self.skipped = false;
            self.largest = self.largest.max(length as u32);
            self.miss(start, Kind::Open, now);
            self.next = end;
            return;
        }
        if start == self.next {
            self.counts.hole_count += u32::from(self.skipped);
            self.skipped = false;
            self.largest = self.largest.max(length as u32);
            self.next = end;
            return;
        }
        let (mut reordered, mut late, mut skips, mut new, mut again) = (false, 0, false, 0, 0);
        let gaps: Vec<_> = self.runs();
        for at in start..end.min(self.next) {
            let State::Missing { kind, time, .. } = self.numbers[at] else {
                again += 1;
                continue;
            };
            new += 1;
            match kind {
                Kind::Open if now - time > WINDOW_NS => late += 1,
                Kind::AckedOld => late += 1,
                Kind::Open | Kind::AckedYoung => reordered = true,
                Kind::AckedUnseen => {
                    let (gap, ..) = gaps.iter().rfind(|(gap, ..)| *gap <= at).expect("it lies in one");
                    skips |= *gap < start;
                }
            }
            self.numbers[at] = State::Settled;
        }
        self.push_out();
        if length == 0 || new == 0 && length == 1 && end == self.next {
            return;
        }
        self.counts.hole_count += u32::from(skips);
        self.counts.reorder_count += u32::from(reordered);
        self.counts.ploss_count += u32::from(late != 0);
        self.counts.ploss_byte += late;
        self.counts.retrans_count += u32::from(again != 0);
        self.counts.retrans_byte += again;
        self.largest = self.largest.max(length as u32);
        self.skipped &= end < self.next;
        self.next = self.next.max(end);
    }

    /// The receiver's acknowledgement of all before `until`.
    pub(crate) fn ack(&mut self, now: u64, until: usize) {
        self.settle(now);
        if until <= self.acked {
            return;
        }
        self.acked = until;
        for (start, length, _, kind) in self.runs() {
            let State::Missing { time, .. } = self.numbers[start] else { continue };
            let covered = until.saturating_sub(start).min(length);
            if kind == Kind::Open && covered != 0 {
                let kind = if now - time <= WINDOW_NS { Kind::AckedYoung } else { Kind::AckedOld };
                self.holes += 1;
                self.numbers[start..start + covered].fill(State::Missing {
                    hole: self.holes,
                    kind,
                    time: now,
                });
            }
        }
        self.push_out();
        if until > self.next {
            self.miss(until, Kind::AckedUnseen, now);
            self.skipped = true;
        }
    }

    pub(crate) fn finish(&mut self) {
        for (start, length, _, kind) in self.runs() {
            self.decide(start, length, kind);
        }
    }
}
