//! The turns of windows: leaving the open window with its report, and entering the next one.

use super::sampled::Sampler;
use super::{Downstream, Receiver};
use crate::window::WindowHeader;
use crate::work::ThreadLoad;
use model::WindowEnd;
use port::TimeBase;

impl Receiver<'_> {
    /// Handles a frame of a replay that is the first one, or lies past the open window or the run's end.
    /// Returns false if it is not to be measured.
    #[cold]
    pub(super) fn turn_by_frame(&mut self, time_ns: u64, down: &mut impl Downstream) -> bool {
        if self.clock.ends_run(time_ns) {
            return false;
        }
        if let Some(open) = self.windows.open {
            let next = self.windows.after_open(time_ns);
            self.turn(open.ended_by(time_ns), Some(next.start_ns), down);
            if self.windows.stops {
                self.windows.has_stopped = true;
                return false;
            }
        }
        self.clock.reach(time_ns);
        self.clock.begin_burst();
        self.open_window(down);
        true
    }

    /// Counts frames of the open window, and turns it if it takes no more.
    pub(super) fn count_down(&mut self, frames: u64, down: &mut impl Downstream) {
        if self.windows.count_down(frames) {
            self.turn(WindowEnd::Full, None, down);
            self.windows.has_stopped = self.windows.stops;
        }
    }

    /// Enters the window that stream time is in.
    pub(super) fn open_window(&mut self, down: &mut impl Downstream) {
        let open = self.windows.at(self.clock.now);
        self.coordination.await_window(open.number);
        self.tap.enter(open.start_ns);
        if let Some(set) = self.coordination.other_set(open.number) {
            self.parser.set_pins(set.pins().cloned());
            down.enter(open.number);
        }
        if let Some(workers) = self.coordination.workers(open.number) {
            down.use_workers(workers, self.clock.now);
        }
        // Behind a gate, which may have set another share.
        self.sampler.iter_mut().for_each(|sampler| sampler.enter(open.number));
        self.clock.enter(open.end_ns);
        self.windows.open = Some(open);
    }

    /// Turns away from the open window. A live source's next window opens at once. `next_ns`: the begin of the next one of a replay.
    pub(super) fn turn(&mut self, ended_by: WindowEnd, next_ns: Option<u64>, down: &mut impl Downstream) {
        self.pass_on(|parser, now| down.count_last(parser, now));
        self.clock.reach_latest();
        let Some(open) = self.windows.open.take() else { return };
        self.frames.refused = down.refused();
        let counts = self.frame_counts();
        let loss = self.frames.losses();
        down.turn(open.number, self.clock.now);
        self.coordination.leave_window(open.number, || down.settle());
        let (packets, lost) = self.frames.close(counts, loss);
        let mut handed_over = down.take_handed_over();
        if handed_over.is_empty() {
            // All parsed packets were passed to the tables on the same core.
            handed_over.push(packets.received - packets.not_measured.total());
        }
        let span = open.span(self.clock.now);
        let header = WindowHeader {
            handed_over,
            number: open.number,
            span,
            watched: self.clock.watched(span, ended_by),
            ended_by,
            next_ns,
            work: ThreadLoad { workers_busy: down.take_busy(), ..std::mem::take(&mut self.windows.work) },
            share: self.sampler.as_ref().map(Sampler::share),
            longest_byte: self.sampler.as_ref().map_or(0, Sampler::longest_byte),
            packets,
            lacks: self.frames.lacks.take(),
            loss: lost,
        };
        self.windows.report(header);
        match self.clock.time_base {
            TimeBase::Packets => self.clock.look_at_next(),
            // Nothing comes behind the end, and others may be past this window.
            TimeBase::Clock if ended_by == WindowEnd::RunEnd => {}
            TimeBase::Clock => self.open_window(down),
        }
    }
}
