//! The state of a receiver between its windows: the open one, and the reports on those that are over.

use crate::config::{Every, MeasurementConfig};
use crate::control::Control;
use crate::window::{OpenWindow, WindowHeader};
use crate::work::ThreadLoad;
use port::TimeBase;

/// The open window of one receiver, and those that it has turned away from.
#[derive(Debug)]
pub(super) struct WindowState {
    pub(super) open: Option<OpenWindow>,
    /// True if the receiver stops at the end of each window.
    pub(super) stops: bool,
    /// True if the receiver has stopped.
    pub(super) has_stopped: bool,
    every: Every,
    /// Windows turned away from.
    turned: u64,
    /// The reports on windows that wait to be taken.
    headers: Vec<WindowHeader>,
    /// The load in the open window, as far as the caller has told it.
    pub(super) work: ThreadLoad,
}

impl WindowState {
    /// The state before the first window.
    pub(super) fn new(config: &MeasurementConfig, time_base: TimeBase) -> Self {
        Self {
            open: None,
            stops: time_base == TimeBase::Packets && config.control.as_ref().is_some_and(Control::stops),
            has_stopped: false,
            every: config.every,
            turned: 0,
            headers: Vec::new(),
            work: ThreadLoad::default(),
        }
    }

    /// Windows turned away from.
    #[inline]
    pub(super) fn turned(&self) -> u64 {
        self.turned
    }

    /// The window after those turned away from that stream time `now` belongs to.
    pub(super) fn at(&self, now: u64) -> OpenWindow {
        OpenWindow::at(self.turned, now, self.every)
    }

    /// The window after the open one that stream time `now` belongs to.
    pub(super) fn after_open(&self, now: u64) -> OpenWindow {
        OpenWindow::at(self.turned + 1, now, self.every)
    }

    /// Counts frames of the open window. Returns true if it takes no more.
    #[inline(always)]
    pub(super) fn count_down(&mut self, frames: u64) -> bool {
        match &mut self.open {
            Some(open) if open.frames_left != u64::MAX => {
                open.frames_left -= frames;
                open.frames_left == 0
            }
            _ => false,
        }
    }

    /// Adds the report on the window that was turned away from just now.
    pub(super) fn report(&mut self, header: WindowHeader) {
        self.headers.push(header);
        self.turned += 1;
    }

    /// Windows turned away from since the last call.
    #[inline]
    pub(super) fn take_headers(&mut self) -> impl Iterator<Item = WindowHeader> + '_ {
        self.headers.drain(..)
    }
}
