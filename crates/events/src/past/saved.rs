//! Earlier windows in a form that outlives their graph.

use crate::derived::Derivation;
use crate::graph::{ALL_NODES, Graph};
use crate::key::EventKey;
use crate::past::AnswerHistory;
use crate::past::cell::RetainedValue;
use crate::past::track::{Stretch, Track, WindowContent, WindowGroups};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Windows in a row of a query on a node of which the same is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedWindows {
    /// The identity of the query: a digest of its text and those of the queries that it reads.
    query: String,
    /// The node's name; `None` for all nodes together.
    node: Option<String>,
    every_ns: u64,
    first_ns: u64,
    last_ns: u64,
    content: SavedContent,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedContent {
    Unknown,
    NotKept,
    Empty,
    Rows {
        /// The numbers of the query's columns that are kept.
        columns: Vec<usize>,
        rows: Vec<(EventKey, Vec<RetainedValue>)>,
        unlisted: Vec<RetainedValue>,
    },
}

/// A part of what is kept: windows in a row of which the same is known.
#[derive(Clone, Debug)]
pub struct PastPart<'a> {
    query: String,
    node: Option<&'a str>,
    track: &'a Track,
    first_ns: u64,
    stretch: &'a Stretch,
}

impl PastPart<'_> {
    /// A name that no others have: what it stands for never changes.
    pub fn name(&self) -> String {
        let Self { query, node, track, first_ns, stretch } = self;
        let kind = match stretch.content {
            WindowContent::Unknown => "unknown",
            WindowContent::NotKept => "not_kept",
            WindowContent::Empty => "empty",
            WindowContent::Rows(_) => "rows",
        };
        let columns: Vec<String> = track.columns.iter().map(|(column, _)| column.to_string()).collect();
        let (columns, node) = (columns.join(","), node.unwrap_or("*"));
        format!("{query}/{}/{first_ns}/{}/{kind}/{columns}/{node}", track.every_ns, stretch.last_ns)
    }

    /// Returns the part as data.
    pub fn windows(&self) -> SavedWindows {
        SavedWindows {
            query: self.query.clone(),
            node: self.node.map(str::to_owned),
            every_ns: self.track.every_ns,
            first_ns: self.first_ns,
            last_ns: self.stretch.last_ns,
            content: self.track.saved(&self.stretch.content),
        }
    }
}

impl AnswerHistory {
    /// All that is kept, in parts: the answer of a window is one that no longer changes.
    pub fn parts<'a>(
        &'a self,
        graph: &'a Graph,
        derivations: &[Option<Derivation>],
    ) -> impl Iterator<Item = PastPart<'a>> {
        let identities = identities(graph, derivations);
        self.tracks.iter().flat_map(move |((query, node), track)| {
            let (query, node) = (identities[*query].clone(), graph.node_name(*node));
            let part = move |(first_ns, stretch): (&u64, &'a Stretch)| PastPart {
                query: query.clone(),
                node,
                track,
                first_ns: *first_ns,
                stretch,
            };
            track.stretches.iter().map(part)
        })
    }

    /// Takes what was saved of the queries and nodes that it has as well.
    pub fn restore(
        &mut self,
        graph: &Graph,
        derivations: &[Option<Derivation>],
        saved: impl IntoIterator<Item = SavedWindows>,
    ) {
        let identities = identities(graph, derivations);
        let mut used = self.bytes();
        for windows in saved {
            let node = match &windows.node {
                Some(name) => graph.nodes.iter().position(|own| own == name),
                None => Some(ALL_NODES),
            };
            let place =
                |(query, at): &(usize, usize)| identities[*query] == windows.query && Some(*at) == node;
            let track = self.tracks.iter_mut().find(|(at, _)| place(at)).map(|(_, track)| track);
            let Some(track) = track.filter(|track| track.every_ns == windows.every_ns) else { continue };
            let before = track.bytes();
            let has_room =
                track.restore(windows, self.most_bytes.saturating_sub(used.saturating_sub(before)));
            self.not_kept += u64::from(!has_room);
            used = used.saturating_sub(before).saturating_add(track.bytes());
        }
    }
}

impl Track {
    fn saved(&self, content: &WindowContent) -> SavedContent {
        match content {
            WindowContent::Unknown => SavedContent::Unknown,
            WindowContent::NotKept => SavedContent::NotKept,
            WindowContent::Empty => SavedContent::Empty,
            WindowContent::Rows(groups) => {
                let cells = groups.cells.chunks(self.columns.len());
                let rows = groups.keys.iter().zip(cells);
                let rows =
                    rows.filter_map(|(key, cells)| Some((self.keys.key(*key)?.clone(), cells.to_vec())));
                SavedContent::Rows {
                    columns: self.columns.iter().map(|(column, _)| *column).collect(),
                    rows: rows.collect(),
                    unlisted: groups.unlisted.clone(),
                }
            }
        }
    }

    /// Puts saved windows into their places. Returns whether there is room for them.
    fn restore(&mut self, windows: SavedWindows, room: u64) -> bool {
        let SavedWindows { first_ns, last_ns, content, .. } = windows;
        // What does not fit was not saved by this program.
        if first_ns > last_ns || self.stretches.range(first_ns..=last_ns).next().is_some() {
            return true;
        }
        let SavedContent::Rows { columns, rows, unlisted } = content else {
            let content = match content {
                SavedContent::NotKept => WindowContent::NotKept,
                SavedContent::Empty => WindowContent::Empty,
                _ => WindowContent::Unknown,
            };
            self.stretches.insert(first_ns, Stretch { last_ns, content });
            return true;
        };
        let own: Option<Vec<usize>> =
            self.columns.iter().map(|(column, _)| columns.iter().position(|saved| saved == column)).collect();
        let is_whole = unlisted.len() == columns.len()
            && rows.iter().all(|(_, cells)| cells.len() == columns.len())
            && first_ns == last_ns;
        let Some(own) = own.filter(|_| is_whole) else {
            self.put(first_ns, WindowContent::Unknown);
            return true;
        };
        let pick = |cells: &[RetainedValue]| own.iter().map(|at| cells[*at].clone()).collect::<Vec<_>>();
        let mut groups: Vec<(u32, Vec<RetainedValue>)> =
            rows.iter().map(|(key, cells)| (self.keys.take(key), pick(cells))).collect();
        groups.sort_by_key(|(key, _)| *key);
        let (keys, cells): (Vec<u32>, Vec<Vec<RetainedValue>>) = groups.into_iter().unzip();
        let groups =
            WindowGroups { keys, cells: cells.into_iter().flatten().collect(), unlisted: pick(&unlisted) };
        self.put(first_ns, WindowContent::Rows(groups));
        let has_room = self.bytes() <= room;
        if !has_room {
            self.put(first_ns, WindowContent::NotKept);
        }
        has_room
    }
}

/// Returns the identities that tell queries from others, by number.
fn identities(graph: &Graph, derivations: &[Option<Derivation>]) -> Vec<String> {
    let mut identities: Vec<String> = Vec::new();
    for (query, derivation) in graph.queries.iter().zip(derivations) {
        let mut digest = Sha256::new();
        digest.update(&query.name);
        digest.update([0]);
        digest.update(&query.text);
        for source in derivation.iter().flat_map(|derivation| &derivation.sources) {
            digest.update([0]);
            digest.update(&identities[source.query]);
        }
        identities.push(digest.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect());
    }
    identities
}
