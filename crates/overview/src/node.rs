//! A node: its steps, and what of them is unusual.

use crate::entries::Entries;
use crate::group_key::KeyShape;
use crate::history::History;
use crate::report::UnusualReport;
use crate::thresholds::PAST_NS;
use model::view::unusual::UnusualEntry;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) shape: KeyShape,
    pub(crate) tracks_loss: bool,
    pub(crate) history: History,
    pub(crate) entries: Entries,
    /// What the node tells of itself; `None` where it is recorded here.
    pub(crate) told: Option<Told>,
}

/// What a node tells its controller, besides its steps.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) unusual: Option<UnusualReport>,
    /// The end of the window with which it was told last.
    pub(crate) at_ns: u64,
}

impl Node {
    /// Creates a node without steps.
    pub(crate) fn new(name: &str, shape: KeyShape, tracks_loss: bool) -> Self {
        let (history, entries) = (History::default(), Entries::default());
        Self { name: name.to_owned(), shape, tracks_loss, history, entries, told: None }
    }

    /// Creates a node that tells of itself.
    pub(crate) fn told(name: &str) -> Self {
        Self { told: Some(Told::default()), ..Self::new(name, KeyShape::default(), false) }
    }

    /// Returns what is unusual on the node, and how much more it tells of. `end_ns`: the end of the newest step of any node; `step_ns`: the length of
    /// steps.
    pub(crate) fn unusual(&self, end_ns: u64, step_ns: u64) -> (Vec<UnusualEntry>, u64) {
        let Some(told) = &self.told else {
            return (self.entries.views(&self.name, &self.shape).collect(), 0);
        };
        let Some(unusual) = &told.unusual else { return Default::default() };
        // Of a node that tells nothing more it is not known whether it lasts.
        let is_silent = told.at_ns.saturating_add(2 * step_ns) < end_ns;
        let views = unusual.entries.iter().map(|entry| {
            let view = entry.clone().view(&self.name);
            let until_ns = view.until_ns.or(is_silent.then_some(told.at_ns));
            UnusualEntry { until_ns, ..view }
        });
        let is_kept = |entry: &UnusualEntry| {
            entry.until_ns.is_none_or(|until_ns| until_ns.saturating_add(PAST_NS) > end_ns)
        };
        (views.filter(is_kept).collect(), unusual.unlisted)
    }
}
