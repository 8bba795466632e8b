//! The progress of all who count the same windows: when a window is complete.

use flow::WindowId;
use std::ops::{Index, IndexMut};

/// The progress of one of them: it reports windows in the order of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermark {
    /// The last window that it has reported completely.
    last: Option<WindowId>,
    has_ended: bool,
    has_failed: bool,
}

impl Watermark {
    /// Notes that this window is reported completely, and so all earlier ones.
    pub fn complete(&mut self, window: WindowId) {
        self.last = self.last.max(Some(window));
    }

    /// Notes that this window is about to be entered: all earlier ones are reported completely.
    pub fn enter(&mut self, window: WindowId) {
        self.last = self.last.max(window.previous());
    }

    /// Notes that nothing more is reported.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Notes that nothing more is reported, and that what was not reported is lost. Returns false if it had ended or failed before.
    pub fn fail(&mut self) -> bool {
        let is_news = !self.has_ended;
        self.has_failed |= is_news;
        self.has_ended = true;
        is_news
    }

    /// True if it reports nothing more.
    pub fn has_ended(self) -> bool {
        self.has_ended
    }

    /// True if it ended before it had reported everything.
    pub fn has_failed(self) -> bool {
        self.has_failed
    }

    /// True if it reports nothing more of this window.
    pub fn is_past(self, window: WindowId) -> bool {
        self.has_ended || self.last >= Some(window)
    }

    /// True if it failed before it had reported this window completely.
    pub fn lacks(self, window: WindowId) -> bool {
        self.has_failed && self.last < Some(window)
    }
}

/// The watermarks of all of them.
#[derive(Clone, Debug, Default)]
pub struct Watermarks {
    each: Vec<Watermark>,
}

impl Watermarks {
    /// Watermarks of `count` members that have reported nothing yet.
    pub fn new(count: usize) -> Self {
        Self { each: vec![Watermark::default(); count] }
    }

    /// Adds one more, the last.
    pub fn add(&mut self) {
        self.each.push(Watermark::default());
    }

    /// The number of watermarks.
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// True if none of them reports anything more of this window or of earlier ones.
    pub fn are_past(&self, window: WindowId) -> bool {
        self.each.iter().all(|watermark| watermark.is_past(window))
    }

    /// True if one of them has failed.
    pub fn has_failure(&self) -> bool {
        self.each.iter().any(|watermark| watermark.has_failed)
    }
}

impl Index<usize> for Watermarks {
    type Output = Watermark;
    fn index(&self, at: usize) -> &Watermark {
        &self.each[at]
    }
}

impl IndexMut<usize> for Watermarks {
    fn index_mut(&mut self, at: usize) -> &mut Watermark {
        &mut self.each[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(number: u64) -> WindowId {
        WindowId::new(number)
    }

    #[test]
    fn a_window_is_complete_when_all_are_past_it() {
        let mut all = Watermarks::new(2);
        all.add();
        assert_eq!((all.len(), all.is_empty()), (3, false));
        all[0].complete(window(5));
        all[1].complete(window(7));
        assert!(!all.are_past(window(0)), "the third has said nothing");
        all[2].enter(window(6));
        assert!(all.are_past(window(5)) && !all.are_past(window(6)));
        all[0].end();
        all[2].complete(window(6));
        assert!(all.are_past(window(6)) && !all.are_past(window(7)));
        all[1].end();
        all[2].end();
        assert!(all.are_past(WindowId::MAX));
        assert!(Watermarks::default().are_past(window(3)), "there is none to wait for");
    }

    #[test]
    fn watermarks_do_not_go_back() {
        let mut one = Watermark::default();
        one.enter(window(0));
        assert!(!one.is_past(window(0)));
        one.complete(window(4));
        one.enter(window(2));
        one.complete(window(3));
        assert!(one.is_past(window(4)) && !one.is_past(window(5)));
    }

    #[test]
    fn what_a_failure_loses() {
        let mut all = Watermarks::new(2);
        all[0].complete(window(5));
        assert!(!all.has_failure() && !all[0].lacks(window(6)));
        assert!(all[0].fail() && !all[0].fail(), "it fails once");
        assert!(all.has_failure() && all[0].has_ended() && all[0].has_failed());
        assert!(all[0].is_past(window(6)) && all[0].lacks(window(6)) && !all[0].lacks(window(5)));
        all[1].end();
        assert!(!all[1].fail() && !all[1].has_failed() && !all[1].lacks(window(0)), "it had ended well");
    }
}
