//! Any commits against lists and maps in memory: what is found, in which order, what replaces what, and what is kept.

use archive::{
    AnswerFilter, Archive, ArchiveChanges, ArchiveRetention, CaptureFileState, CaptureFilter, EndedCapture,
    EventFilter, ProbeOffset, StoredCapture,
};
use model::{Answer, Capture, Column, ColumnKind, Event, EventKind, Item, Span, Story, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

const QUERIES: [&str; 3] = ["q1", "q2", "o'brien\0\"ü"];
const NODES: [&str; 2] = ["Node1", "node 2; DROP TABLE answers"];
/// With those that SQLite's integers do not hold.
const TIMES: [u64; 6] = [0, 10, 20, i64::MAX as u64, (1 << 63) + 5, u64::MAX];
const KINDS: [EventKind; 3] = [EventKind::Fired, EventKind::Resolved, EventKind::NoData];
const EVENTS: [&str; 6] = ["e0", "e1", "e2", "e3", "e4", "e5"];

#[derive(Clone, Debug)]
enum Step {
    Commit(ArchiveChanges),
    Reopen(ArchiveRetention),
}

/// Everything in the order in which it was stored first.
#[derive(Default)]
struct Model {
    answers: Vec<Answer>,
    events: Vec<(Event, Option<String>)>,
    stories: Vec<Story>,
    /// With whether the file was dropped.
    captures: Vec<(EndedCapture, bool)>,
    states: BTreeMap<String, String>,
    marks: BTreeMap<(String, String), u64>,
}

impl Model {
    fn commit(&mut self, changes: &ArchiveChanges, keep: ArchiveRetention) {
        for answer in &changes.answers {
            let same = |own: &&mut Answer| {
                (&own.query, &own.node, &own.bound, own.window, own.revision)
                    == (&answer.query, &answer.node, &answer.bound, answer.window, answer.revision)
            };
            match self.answers.iter_mut().find(same) {
                Some(own) => own.clone_from(answer),
                None => self.answers.push(answer.clone()),
            }
        }
        for event in &changes.events {
            match self.events.iter_mut().find(|(own, _)| own.event == event.event) {
                Some((own, _)) => own.clone_from(event),
                None => self.events.push((event.clone(), None)),
            }
        }
        for story in &changes.stories {
            match self.stories.iter_mut().find(|own| own.id == story.id) {
                Some(own) => own.clone_from(story),
                None => self.stories.push(story.clone()),
            }
            for (event, of) in &mut self.events {
                if story.events.contains(&event.event) {
                    *of = Some(story.id.clone());
                }
            }
        }
        for event in &changes.events {
            let story_of = |id: &str, events: &[(Event, Option<String>)]| {
                events.iter().find(|(own, _)| own.event == id).and_then(|(_, story)| story.clone())
            };
            let Some(parent) = &event.parent else { continue };
            if story_of(&event.event, &self.events).is_none() {
                let story = story_of(parent, &self.events);
                let own = self.events.iter_mut().find(|(own, _)| own.event == event.event);
                own.expect("it was stored").1 = story;
            }
        }
        for ended in &changes.captures {
            let of = |capture: &Capture| (capture.event.clone(), capture.node.clone());
            match self.captures.iter_mut().find(|(own, _)| of(&own.capture) == of(&ended.capture)) {
                Some(own) => *own = (ended.clone(), false),
                None => self.captures.push((ended.clone(), false)),
            }
        }
        self.states.extend(changes.states.iter().cloned());
        for ProbeOffset { node, boot, sequence } in &changes.marks {
            let own = self.marks.entry((node.clone(), boot.clone())).or_default();
            *own = (*own).max(*sequence);
        }
        self.trim(keep);
    }

    fn trim(&mut self, keep: ArchiveRetention) {
        let surplus = |held: usize, keep: u64| held.saturating_sub(keep as usize);
        self.answers.drain(..surplus(self.answers.len(), keep.answers));
        self.events.drain(..surplus(self.events.len(), keep.events));
        self.captures.drain(..surplus(self.captures.len(), keep.captures));
        for first in 0..self.captures.len() {
            let length =
                |(ended, _): &(EndedCapture, bool)| ended.content.as_ref().map_or(0, Vec::len) as u64;
            if self.captures.iter().map(length).sum::<u64>() > keep.capture_bytes {
                let (ended, is_dropped) = &mut self.captures[first];
                *is_dropped |= ended.content.take().is_some();
            }
        }
        for gone in self.stories.drain(..surplus(self.stories.len(), keep.events)) {
            self.events
                .iter_mut()
                .filter(|(_, of)| of.as_ref() == Some(&gone.id))
                .for_each(|(_, of)| *of = None);
        }
    }

    fn answers(&self, filter: &AnswerFilter) -> Vec<Answer> {
        let passes = |answer: &&Answer| {
            let window = answer.window;
            filter.query.as_ref().is_none_or(|query| *query == answer.query)
                && filter.node.as_ref().is_none_or(|node| Some(node) == answer.node.as_ref())
                && filter.since_ns.is_none_or(|since| window.is_some_and(|window| window.end_ns > since))
                && filter.until_ns.is_none_or(|until| window.is_some_and(|window| window.start_ns < until))
        };
        let mut found: Vec<Answer> = self.answers.iter().filter(passes).cloned().collect();
        // Stable: equal ends stay in the order in which they were stored.
        found.sort_by_key(|answer| (answer.window.is_none(), answer.window.map(|window| window.end_ns)));
        last(found, filter.limit)
    }

    fn events(&self, filter: &EventFilter) -> Vec<(Event, Option<String>)> {
        let passes = |(event, _): &&(Event, Option<String>)| {
            filter.query.as_ref().is_none_or(|query| *query == event.query)
                && filter.node.as_ref().is_none_or(|node| Some(node) == event.node.as_ref())
                && filter.kind.is_none_or(|kind| kind == event.kind)
                && filter.since_ns.is_none_or(|since| event.at_ns >= since)
                && filter.until_ns.is_none_or(|until| event.at_ns < until)
        };
        let mut found: Vec<_> = self.events.iter().filter(passes).cloned().collect();
        found.sort_by_key(|(event, _)| event.at_ns);
        last(found, filter.limit)
    }

    fn captures(&self, filter: &CaptureFilter) -> Vec<StoredCapture> {
        let found = self.captures.iter().map(|(ended, is_dropped)| {
            let event = self.events.iter().find(|(event, _)| event.event == ended.capture.event);
            let content = match (&ended.content, is_dropped) {
                (Some(_), _) => CaptureFileState::Kept,
                (None, true) => CaptureFileState::Dropped,
                (None, false) if ended.capture.file.is_some() => CaptureFileState::TooLarge,
                (None, false) => CaptureFileState::None,
            };
            StoredCapture {
                capture: ended.capture.clone(),
                at_ns: event.map(|(event, _)| event.at_ns),
                story: event.and_then(|(_, story)| story.clone()),
                content,
            }
        });
        let passes = |stored: &StoredCapture| {
            filter.event.as_ref().is_none_or(|event| *event == stored.capture.event)
                && filter.story.as_ref().is_none_or(|story| Some(story) == stored.story.as_ref())
        };
        last(found.filter(passes).collect(), filter.limit)
    }

    fn story(&self, id: &str) -> Option<&Story> {
        let of_event = || self.events.iter().find(|(event, _)| event.event == id)?.1.as_deref();
        let find = |id: &str| self.stories.iter().find(|story| story.id == id);
        find(id).or_else(|| find(of_event()?))
    }
}

fn last<T>(mut found: Vec<T>, limit: u64) -> Vec<T> {
    let surplus = found.len().saturating_sub(limit as usize);
    found.drain(..surplus);
    found
}

fn query() -> impl Strategy<Value = String> {
    select(&QUERIES[..]).prop_map(str::to_owned)
}

fn node() -> impl Strategy<Value = Option<String>> {
    option::of(select(&NODES[..]).prop_map(str::to_owned))
}

fn time() -> impl Strategy<Value = u64> {
    select(&TIMES[..])
}

fn window() -> impl Strategy<Value = Option<Span>> {
    option::of((time(), time()).prop_map(|(a, b)| Span { start_ns: a.min(b), end_ns: a.max(b) }))
}

/// What a firing pinned.
fn bound() -> impl Strategy<Value = Vec<Item>> {
    let item = |name: &str, value: &str| Item {
        column: Column::new(name, ColumnKind::Text, ""),
        value: value.into(),
    };
    let bounds =
        vec![vec![], vec![item("a", "1")], vec![item("a", "2")], vec![item("a", "1"), item("b", "'\"\0")]];
    select(bounds)
}

prop_compose! {
    fn capture()(
        event in select(&EVENTS[..]),
        node in select(&NODES[..]),
        packets in any::<u64>(),
        file in option::of(".*"),
        content in option::of(vec(any::<u8>(), 0..20)),
        dropped in select(&[0, u64::MAX][..]),
    ) -> EndedCapture {
        let content = content.filter(|_| file.is_some());
        let capture = Capture {
            event: event.to_owned(),
            node: node.to_owned(),
            packets,
            bytes: packets,
            file,
            dropped: [("capture_rate", dropped)].into_iter().collect(),
            ..Capture::default()
        };
        EndedCapture { capture, content }
    }
}

prop_compose! {
    fn answer()(
        query in query(),
        node in node(),
        bound in bound(),
        window in window(),
        revision in select(&[0, 1, u64::MAX][..]),
        values in vec((any::<u64>(), ".*"), 0..3),
        coverage in option::of(0.0..=1.0),
    ) -> Answer {
        let columns = vec![
            Column::new("total_byte", ColumnKind::Unsigned, "bytes"),
            Column::new("text", ColumnKind::Text, ""),
        ];
        let rows = values.into_iter().map(|(bytes, text)| vec![bytes.into(), text.into()]).collect();
        Answer { node, bound, revision, coverage, ..Answer::new(query, window, columns, rows) }
    }
}

prop_compose! {
    fn event()(
        id in select(&EVENTS[..]),
        kind in select(&KINDS[..]),
        query in query(),
        node in node(),
        at_ns in time(),
        value in any::<u64>(),
        parent in option::of(select(&EVENTS[..])),
        title in option::of(".*"),
    ) -> Event {
        let column = Column::new("count", ColumnKind::Unsigned, "");
        Event {
            event: id.to_owned(),
            kind,
            query,
            fired_by: None,
            key: Vec::new(),
            node,
            at_ns,
            window: None,
            values: vec![Item { column, value: Value::Unsigned(value) }],
            threshold: Some(0.1),
            late: false,
            coverage: None,
            bounds: None,
            parent: parent.map(str::to_owned),
            title,
        }
    }
}

prop_compose! {
    fn story()(
        id in select(&EVENTS[..]),
        title in option::of(".*"),
        text in ".*",
        events in proptest::sample::subsequence(EVENTS.to_vec(), 0..4),
        events_unlisted in select(&[0, 1, u64::MAX][..]),
    ) -> Story {
        let events = events.into_iter().map(str::to_owned).collect();
        Story { id: id.to_owned(), title, text, events, events_unlisted }
    }
}

prop_compose! {
    fn mark()(node in select(&NODES[..]), boot in select(&["a", "b"][..]), sequence in time()) -> ProbeOffset {
        ProbeOffset { node: node.to_owned(), boot: boot.to_owned(), sequence }
    }
}

prop_compose! {
    fn changes()(
        answers in vec(answer(), 0..6),
        events in vec(event(), 0..4),
        stories in vec(story(), 0..2),
        captures in vec(capture(), 0..4),
        states in vec((select(&["epoch", "machine"][..]).prop_map(str::to_owned), ".*"), 0..2),
        marks in vec(mark(), 0..3),
    ) -> ArchiveChanges {
        ArchiveChanges { answers, events, stories, captures, states, dropped_states: Vec::new(), marks }
    }
}

fn keep() -> impl Strategy<Value = ArchiveRetention> {
    let few = || select(&[0, 1, 3, 7, u64::MAX][..]);
    let bytes = select(&[0, 10, 30, u64::MAX][..]);
    (few(), few(), few(), bytes).prop_map(|(answers, events, captures, capture_bytes)| ArchiveRetention {
        answers,
        events,
        captures,
        capture_bytes,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![5 => changes().prop_map(Step::Commit), 1 => keep().prop_map(Step::Reopen)]
}

prop_compose! {
    fn answer_filter()(
        query in option::of(query()),
        node in node(),
        since_ns in option::of(time()),
        until_ns in option::of(time()),
        limit in select(&[0, 1, 3, u64::MAX][..]),
    ) -> AnswerFilter {
        AnswerFilter { query, node, since_ns, until_ns, limit }
    }
}

prop_compose! {
    fn event_filter()(
        query in option::of(query()),
        node in node(),
        kind in option::of(select(&KINDS[..])),
        since_ns in option::of(time()),
        until_ns in option::of(time()),
        limit in select(&[0, 1, 3, u64::MAX][..]),
    ) -> EventFilter {
        EventFilter { query, node, kind, since_ns, until_ns, limit }
    }
}

fn check(archive: &Archive, model: &Model, answers: &AnswerFilter, events: &EventFilter) {
    let all = AnswerFilter { limit: u64::MAX, ..AnswerFilter::default() };
    for filter in [answers, &all] {
        let found = archive.answers(filter).expect("a listing");
        assert!(!found.is_cut);
        assert_eq!(found.items, model.answers(filter), "{filter:?}");
    }
    let all = EventFilter { limit: u64::MAX, ..EventFilter::default() };
    for filter in [events, &all] {
        let found = archive.events(filter).expect("a listing").items;
        let found: Vec<_> = found.into_iter().map(|stored| (stored.event, stored.story)).collect();
        assert_eq!(found, model.events(filter), "{filter:?}");
    }
    for id in EVENTS {
        let story = archive.story(id).expect("it can be read");
        assert_eq!(story.as_ref(), model.story(id), "{id}");
        let Some(story) = story else { continue };
        let events = archive.story_events(&story).expect("they can be read");
        let find = |id: &String| model.events.iter().find(|(event, _)| event.event == *id);
        let expected: Vec<Event> =
            story.events.iter().filter_map(find).map(|(event, _)| event.clone()).collect();
        assert_eq!(events, expected);
    }
    for query in QUERIES {
        let filter = AnswerFilter { query: Some(query.to_owned()), ..all_answers() };
        let answers = model.answers(&filter);
        // In their order; those of a whole run are last.
        let ends: BTreeMap<_, _> = answers.iter().map(|answer| (&answer.node, end(answer))).collect();
        let mut newest: BTreeMap<(Option<String>, String), Answer> = BTreeMap::new();
        for answer in answers.iter().filter(|answer| ends[&answer.node] == end(answer)) {
            newest.insert((answer.node.clone(), text(&answer.bound)), answer.clone());
        }
        let newest: Vec<Answer> = newest.into_values().collect();
        let mut found = archive.newest(query).expect("they can be read");
        assert!(found.is_sorted_by_key(|answer| answer.node.clone()));
        // Those of one node come in any order that stays.
        found.sort_by_key(|answer| (answer.node.clone(), text(&answer.bound)));
        assert_eq!(found, newest);
    }
    let mut ids: Vec<String> =
        archive.stories(u64::MAX).expect("a listing").into_iter().map(|entry| entry.story.id).collect();
    let oldest_first = archive.stories_oldest_first(u64::MAX).expect("a listing");
    assert!(oldest_first.iter().map(|story| &story.id).rev().eq(&ids));
    ids.sort();
    let mut expected: Vec<String> = model.stories.iter().map(|story| story.id.clone()).collect();
    expected.sort();
    assert_eq!(ids, expected);
    for name in ["epoch", "machine", "none"] {
        assert_eq!(archive.state(name).expect("it can be read"), model.states.get(name).cloned());
    }
    let marks: BTreeMap<_, _> = archive.marks().expect("they can be read").into_iter().map(pair).collect();
    assert_eq!(marks, model.marks);
    check_captures(archive, model);
    assert_eq!(archive.damaged(), 0);
}

fn text(bound: &[Item]) -> String {
    let items = bound.iter().map(|item| format!("{} {:?}", item.column.name, item.value));
    items.collect::<Vec<_>>().join(" ")
}

fn end(answer: &Answer) -> Option<u64> {
    answer.window.map(|window| window.end_ns)
}

fn check_captures(archive: &Archive, model: &Model) {
    let names = EVENTS.map(|event| Some(event.to_owned()));
    let filters = names.iter().flat_map(|name| {
        let of_event = CaptureFilter { event: name.clone(), limit: 1, ..CaptureFilter::default() };
        [of_event, CaptureFilter { story: name.clone(), ..CaptureFilter::default() }]
    });
    for filter in filters.chain([CaptureFilter::default()]) {
        assert_eq!(archive.captures(&filter).expect("a listing"), model.captures(&filter), "{filter:?}");
    }
    for (event, node) in EVENTS.iter().flat_map(|event| NODES.map(|node| (*event, node))) {
        let found = archive.capture(event, node).expect("it can be read");
        let is_it = |(ended, _): &&(EndedCapture, bool)| {
            (&*ended.capture.event, &*ended.capture.node) == (event, node)
        };
        let expected = model.captures.iter().find(is_it).map(|(ended, _)| ended);
        let content = expected.map(|ended| ended.content.clone().unwrap_or_default());
        assert_eq!(found.as_ref().map(|(_, content)| content.clone()), content);
        assert_eq!(found.map(|(stored, _)| stored.capture), expected.map(|ended| ended.capture.clone()));
    }
}

fn all_answers() -> AnswerFilter {
    AnswerFilter { limit: u64::MAX, ..AnswerFilter::default() }
}

fn pair(mark: ProbeOffset) -> ((String, String), u64) {
    ((mark.node, mark.boot), mark.sequence)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testbed::cases(64)))]
    #[test]
    fn any_commits_are_as_in_memory(
        first in keep(),
        steps in vec((step(), answer_filter(), event_filter()), 1..8),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("archive.db");
        let mut archive = Archive::open(&path, first).expect("an archive");
        let (mut model, mut keep) = (Model::default(), first);
        for (step, answers, events) in steps {
            match step {
                Step::Commit(changes) => {
                    archive.commit(&changes).expect("it is written");
                    model.commit(&changes, keep);
                }
                Step::Reopen(less) => {
                    drop(archive);
                    archive = Archive::open(&path, less).expect("an archive");
                    keep = less;
                    model.trim(keep);
                }
            }
            check(&archive, &model, &answers, &events);
        }
    }
}

#[test]
fn state_is_found_by_its_prefix_until_it_is_dropped() {
    let mut archive = Archive::in_memory(ArchiveRetention::default()).expect("memory");
    let state = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let states = vec![state("a/2", "two"), state("a/1", "one"), state("a%", "other"), state("b", "b")];
    archive.commit(&ArchiveChanges { states, ..ArchiveChanges::default() }).expect("stored");
    assert_eq!(archive.states("a/").expect("read"), [state("a/1", "one"), state("a/2", "two")]);
    let dropped_states = vec!["a/1".to_owned(), "nothing".to_owned()];
    let states = vec![state("a/3", "three")];
    archive.commit(&ArchiveChanges { states, dropped_states, ..ArchiveChanges::default() }).expect("stored");
    assert_eq!(archive.states("a/").expect("read"), [state("a/2", "two"), state("a/3", "three")]);
    assert_eq!(archive.states("c").expect("read"), []);
}
