//! The earlier windows of one query on one node.

use crate::figure::BoundedValue;
use crate::graph::GraphQuery;
use crate::key::EventKey;
use crate::known::DerivedValue;
use crate::past::cell::RetainedValue;
use crate::past::keys::{self, KeyDictionary};
use crate::past::{EarlierValue, LATE_NS};
use crate::rows::ConditionGroups;
use model::ColumnKind;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A window, as far as it is known.
pub(super) enum PastWindow<'a> {
    /// The window is not known.
    Unknown,
    /// The window had no packets.
    Empty,
    /// The groups of the window.
    Rows(ConditionGroups<'a>),
}

/// Windows in a row of which the same is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// The end of the last of them.
    pub(super) last_ns: u64,
    pub(super) content: WindowContent,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum WindowContent {
    Unknown,
    NotKept,
    Empty,
    /// The groups of one window.
    Rows(WindowGroups),
}

/// The groups of a window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WindowGroups {
    /// The numbers of their keys, in order.
    pub(super) keys: Vec<u32>,
    /// The cells of the columns that are kept, by key.
    pub(super) cells: Vec<RetainedValue>,
    /// The values that are known of any other group, by column.
    pub(super) unlisted: Vec<RetainedValue>,
}

/// The windows that are kept of a query on a node.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) every_ns: u64,
    /// The longest time between the end of a window and that of an earlier one that it reads, nanoseconds.
    horizon_ns: u64,
    /// The numbers of the columns that are kept, in order, and their kinds.
    pub(super) columns: Vec<(usize, ColumnKind)>,
    /// The value of a group in a window without packets, by column.
    absent: Vec<RetainedValue>,
    pub(super) keys: KeyDictionary,
    /// The stretches, by the end of their first window.
    pub(super) stretches: BTreeMap<u64, Stretch>,
    bytes: u64,
}

impl WindowGroups {
    fn bytes(&self) -> u64 {
        let cells = self.cells.iter().chain(&self.unlisted).map(RetainedValue::bytes).sum::<u64>();
        cells + (self.keys.len() * size_of::<u32>()) as u64
    }
}

impl Track {
    pub(super) fn new(every_ns: u64) -> Self {
        Self {
            every_ns: every_ns.max(1),
            horizon_ns: 0,
            columns: Vec::new(),
            absent: Vec::new(),
            keys: KeyDictionary::default(),
            stretches: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Keeps a column for this long, before anything is recorded.
    pub(super) fn keep(&mut self, column: usize, horizon_ns: u64, query: &GraphQuery) {
        self.horizon_ns = self.horizon_ns.max(horizon_ns);
        if let Err(place) = self.columns.binary_search_by_key(&column, |(own, _)| *own) {
            let of = &query.columns[column];
            self.columns.insert(place, (column, of.column.kind));
            let absent = DerivedValue::absent(BoundedValue::absent(of.role), of.column.kind);
            self.absent.insert(place, RetainedValue::from_known(&absent));
        }
    }

    /// Takes what is known of the window that ends then. Returns whether there is room for it.
    pub(super) fn record(&mut self, end_ns: u64, record: PastWindow<'_>, room: u64) -> bool {
        self.pass(end_ns);
        let mut has_room = true;
        let content = match record {
            PastWindow::Unknown => WindowContent::Unknown,
            PastWindow::Empty => WindowContent::Empty,
            PastWindow::Rows(rows) if self.needs(&rows).saturating_add(self.bytes()) > room => {
                has_room = false;
                WindowContent::NotKept
            }
            PastWindow::Rows(rows) => WindowContent::Rows(self.groups(&rows)),
        };
        self.put(end_ns, content);
        self.forget();
        has_room
    }

    /// Windows up to this one were as the last one; of a window with groups nothing is like it.
    fn pass(&mut self, end_ns: u64) {
        let before_ns = end_ns.saturating_sub(self.every_ns);
        let Some(mut last) = self.stretches.last_entry() else { return };
        let last_ns = last.get().last_ns;
        if last_ns >= before_ns {
            return;
        }
        match last.get().content {
            WindowContent::Rows(_) => {
                let stretch = Stretch { last_ns: before_ns, content: WindowContent::Unknown };
                self.stretches.insert(last_ns + self.every_ns, stretch);
            }
            _ => last.get_mut().last_ns = before_ns,
        }
    }

    /// The most memory that the groups of an answer take.
    fn needs(&self, rows: &ConditionGroups<'_>) -> u64 {
        let cells = (1 + rows.rows().len() as u64) * (self.columns.len() * size_of::<RetainedValue>()) as u64;
        let keys = rows.rows().iter().map(|row| {
            let key = rows.key(row);
            4 + if self.keys.number(&key).is_none() { keys::bytes(&key) } else { 0 }
        });
        cells + keys.sum::<u64>()
    }

    fn groups(&mut self, rows: &ConditionGroups<'_>) -> WindowGroups {
        let mut groups: Vec<(u32, Vec<RetainedValue>)> = Vec::with_capacity(rows.rows().len());
        for row in rows.rows() {
            let known = rows.known(row, self.columns.iter().map(|(column, _)| *column));
            let cells = known.iter().map(RetainedValue::from_known).collect();
            groups.push((self.keys.take(&rows.key(row)), cells));
        }
        groups.sort_by_key(|(key, _)| *key);
        let unlisted = rows.known_absent(&EventKey::new(), self.columns.iter().map(|(column, _)| *column));
        let unlisted = unlisted.iter().map(RetainedValue::from_known).collect();
        let (keys, cells): (Vec<u32>, Vec<Vec<RetainedValue>>) = groups.into_iter().unzip();
        WindowGroups { keys, cells: cells.into_iter().flatten().collect(), unlisted }
    }

    /// Puts a window in the place of what was known of it.
    pub(super) fn put(&mut self, end_ns: u64, content: WindowContent) {
        let old = self.stretches.range(..=end_ns).next_back().map(|(first_ns, _)| *first_ns);
        let old = old.filter(|first_ns| self.stretches[first_ns].last_ns >= end_ns);
        if let Some(first_ns) = old
            && let Some(Stretch { last_ns, content }) = self.stretches.remove(&first_ns)
        {
            if first_ns < end_ns {
                let last_ns = end_ns - self.every_ns;
                self.stretches.insert(first_ns, Stretch { last_ns, content: content.clone() });
            }
            if end_ns < last_ns {
                let rest = Stretch { last_ns, content: content.clone() };
                self.stretches.insert(end_ns + self.every_ns, rest);
            }
            // One with groups is of one window.
            self.release(&content);
        }
        if let WindowContent::Rows(groups) = &content {
            self.bytes += groups.bytes();
        }
        let before = self.stretches.range_mut(..end_ns).next_back().map(|(_, stretch)| stretch);
        let is_like = |before: &&mut Stretch| {
            before.last_ns + self.every_ns == end_ns
                && !matches!(content, WindowContent::Rows(_))
                && before.content == content
        };
        match before.filter(is_like) {
            Some(before) => before.last_ns = end_ns,
            None => {
                self.stretches.insert(end_ns, Stretch { last_ns: end_ns, content });
            }
        }
    }

    fn release(&mut self, content: &WindowContent) {
        if let WindowContent::Rows(groups) = content {
            self.bytes -= groups.bytes();
            groups.keys.iter().for_each(|key| self.keys.release(*key));
        }
    }

    /// Drops windows that are no longer read.
    fn forget(&mut self) {
        let Some(newest) = self.stretches.last_key_value().map(|(_, stretch)| stretch.last_ns) else {
            return;
        };
        let since_ns = newest.saturating_sub(self.horizon_ns).saturating_sub(LATE_NS);
        while let Some(first) = self.stretches.first_entry() {
            if first.get().last_ns >= since_ns {
                break;
            }
            let Stretch { content, .. } = first.remove();
            self.release(&content);
        }
    }

    /// Returns what is known of a window. Those after the last one were passed: they are as the last one, unless that has groups.
    fn content(&self, end_ns: u64) -> Option<&WindowContent> {
        let (first_ns, stretch) = self.stretches.range(..=end_ns).next_back()?;
        let is_last = self.stretches.last_key_value().is_some_and(|(last_ns, _)| last_ns == first_ns);
        let is_passed = is_last && !matches!(stretch.content, WindowContent::Rows(_));
        (stretch.last_ns >= end_ns || is_passed).then_some(&stretch.content)
    }

    pub(super) fn value(&self, end_ns: u64, key: Option<u32>, column: usize) -> EarlierValue {
        let Ok(place) = self.columns.binary_search_by_key(&column, |(own, _)| *own) else {
            return EarlierValue::Unknown;
        };
        let cell = match self.content(end_ns) {
            None | Some(WindowContent::Unknown) => return EarlierValue::Unknown,
            Some(WindowContent::NotKept) => return EarlierValue::NotKept,
            Some(WindowContent::Empty) => &self.absent[place],
            Some(WindowContent::Rows(groups)) => {
                match key.and_then(|key| groups.keys.binary_search(&key).ok()) {
                    Some(row) => &groups.cells[row * self.columns.len() + place],
                    None => &groups.unlisted[place],
                }
            }
        };
        EarlierValue::Known(cell.known())
    }

    pub(super) fn key_number(&self, key: &EventKey) -> Option<u32> {
        self.keys.number(key)
    }

    pub(super) fn keys_within(&self, ends: RangeInclusive<u64>) -> impl Iterator<Item = &EventKey> {
        let groups = self.stretches.range(ends).filter_map(|(_, stretch)| match &stretch.content {
            WindowContent::Rows(groups) => Some(groups),
            _ => None,
        });
        groups.flat_map(|groups| &groups.keys).filter_map(|key| self.keys.key(*key))
    }

    /// The next window's end while the last ones that are read have groups.
    pub(super) fn next_change(&self, now_ns: u64) -> Option<u64> {
        let since_ns = now_ns.saturating_sub(self.horizon_ns);
        let has_groups = |(_, stretch): (&u64, &Stretch)| matches!(stretch.content, WindowContent::Rows(_));
        let is_read = self.stretches.range(since_ns..).any(has_groups);
        is_read.then(|| now_ns.saturating_add(1).checked_next_multiple_of(self.every_ns)).flatten()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes + self.keys.bytes()
    }
}
