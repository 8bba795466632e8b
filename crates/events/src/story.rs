//! Stories: what happened, in sentences.

use crate::graph::Graph;
use crate::machine::{MachineStep, Report, Started};
use crate::{title, words};
use model::{Event, EventKind, Story};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Stories that are kept.
const MOST_STORIES: usize = 1_000;
/// Sentences of one story, and events.
const MOST_SENTENCES: usize = 200;

/// The stories that are kept.
#[derive(Clone, Debug, Default)]
pub struct StoryLog {
    kept: VecDeque<Story>,
    /// The story of an event or a run, by their identifiers.
    story_of: HashMap<String, String>,
    dropped: u64,
    /// The stories that were changed since they were asked for.
    changed: BTreeSet<String>,
}

impl StoryLog {
    /// Stories that were told before, the oldest first: they are continued.
    pub fn restore(stories: impl IntoIterator<Item = Story>) -> Self {
        let mut restored = Self::default();
        for story in stories {
            restored.begin(&story.id);
            let events = story.events.iter().map(|event| (event.clone(), story.id.clone()));
            restored.story_of.extend(events);
            if let Some(last) = restored.kept.back_mut() {
                *last = story;
            }
        }
        restored.changed.clear();
        restored
    }

    /// The stories that have changed since the last call, in the order of their identifiers.
    pub fn take_changed(&mut self) -> Vec<Story> {
        let changed = std::mem::take(&mut self.changed);
        changed
            .iter()
            .filter_map(|id| self.kept.iter().rev().find(|story| story.id == *id))
            .cloned()
            .collect()
    }

    /// Continues the stories with what happened in a step, and returns the sentences that are new, with the title of each firing before its own.
    pub fn take(&mut self, graph: &Graph, step: &MachineStep) -> Vec<String> {
        let mut said = Vec::new();
        // What is missing is an event.
        let reports = || step.reports.iter().filter(|report| !report.is_missing);
        // Runs that begin in this step are told of after what started them.
        let (known, new): (Vec<_>, Vec<_>) =
            reports().partition(|report| self.story_of.contains_key(&report.cause));
        known.into_iter().for_each(|report| said.push(self.report(graph, report)));
        let other = step.events.iter().filter(|event| event.kind != EventKind::Fired);
        let other: Vec<(&Event, String)> = other.map(|event| (event, words::sentence(event))).collect();
        said.extend(other.iter().map(|(_, sentence)| sentence.clone()));
        for started in &step.started {
            let sentences = self.start(graph, started, &step.events);
            said.extend(sentences);
            let own = new.iter().filter(|report| report.cause == started.run.cause);
            let own = own.filter(|_| started.events.first() == Some(&started.run.cause));
            own.for_each(|report| said.push(self.report(graph, report)));
        }
        for (event, sentence) in &other {
            if let Some(parent) = &event.parent {
                self.add(parent, sentence);
                self.tell(parent, event);
            }
        }
        said
    }

    /// Adds what a run found to its story, and returns the sentence.
    fn report(&mut self, graph: &Graph, report: &Report) -> String {
        let sentence = ran(graph, report);
        self.add(&report.cause, &sentence);
        sentence
    }

    /// Adds a sentence to the story of an event.
    pub fn tell_more(&mut self, event: &str, sentence: &str) {
        self.add(event, sentence);
    }

    /// The stories, the oldest first.
    pub fn stories(&self) -> impl Iterator<Item = &Story> {
        self.kept.iter()
    }

    /// Stories that are kept no more.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Firings of one query: a story begins, or the one of the run that they are part of continues.
    fn start(&mut self, graph: &Graph, started: &Started, events: &[Event]) -> Vec<String> {
        let fired: Vec<&Event> =
            started.events.iter().filter_map(|id| events.iter().find(|event| event.event == *id)).collect();
        let Some(first) = fired.first() else { return Vec::new() };
        let known =
            first.parent.as_ref().or(Some(&started.run.cause)).and_then(|of| self.story_of.get(of)).cloned();
        let story = known.unwrap_or_else(|| self.begin(&first.event));
        let title = title::of_firings(&fired);
        self.story_of.insert(started.run.cause.clone(), story.clone());
        let mut sentences: Vec<String> =
            fired.iter().take(words::MOST_KEYS).map(|event| fired_because(graph, event)).collect();
        let more = fired.len() - sentences.len();
        if more != 0 {
            sentences.push(format!("{} fired for {more} more keys in this window.", first.query));
        }
        for event in &fired {
            self.story_of.insert(event.event.clone(), story.clone());
            self.tell(&event.event, event);
        }
        sentences.iter().for_each(|sentence| self.add(&first.event, sentence));
        self.entitle(graph, first, title.clone());
        // Who reads sentences as they come has no story to see the title of.
        title.into_iter().chain(sentences).collect()
    }

    /// Gives the story of a firing its title: of the firings that follow from others, those say more whose queries say something.
    fn entitle(&mut self, graph: &Graph, fired: &Event, title: Option<String>) {
        let query = graph.queries.iter().find(|query| query.name == fired.query);
        let is_said = query.and_then(|query| query.trigger.as_ref()).is_some_and(|it| it.title.is_said);
        let says_more = is_said && fired.parent.is_some();
        let Some(story) = self.story(&fired.event) else { return };
        if says_more || story.title.is_none() && story.events.first() == Some(&fired.event) {
            story.title = title.or(story.title.take());
        }
    }

    fn begin(&mut self, event: &str) -> String {
        self.kept.push_back(Story { id: event.to_owned(), ..Story::default() });
        if self.kept.len() > MOST_STORIES {
            let gone = self.kept.pop_front();
            self.dropped += 1;
            self.story_of.retain(|_, story| gone.as_ref().is_none_or(|gone| gone.id != *story));
            if let Some(gone) = gone {
                self.changed.remove(&gone.id);
            }
        }
        self.changed.insert(event.to_owned());
        event.to_owned()
    }

    fn story(&mut self, of: &str) -> Option<&mut Story> {
        let id = self.story_of.get(of)?;
        self.changed.insert(id.clone());
        self.kept.iter_mut().rev().find(|story| story.id == *id)
    }

    /// Adds a sentence to the story of an event or a run.
    fn add(&mut self, of: &str, sentence: &str) {
        let Some(story) = self.story(of) else { return };
        let lines = story.text.lines().count();
        if lines < MOST_SENTENCES {
            story.text.push_str(sentence);
            story.text.push('\n');
        } else if lines == MOST_SENTENCES {
            story.text.push_str("More happened: the events have it all.\n");
        }
    }

    /// Adds an event to the story of another one.
    fn tell(&mut self, of: &str, event: &Event) {
        let Some(story) = self.story(of) else { return };
        if story.events.len() < MOST_SENTENCES {
            story.events.push(event.event.clone());
        } else {
            story.events_unlisted += 1;
        }
    }
}

fn fired_because(graph: &Graph, event: &Event) -> String {
    let query = graph.queries.iter().find(|query| query.name == event.query);
    let Some(trigger) = query.and_then(|query| query.trigger.as_ref()) else { return words::sentence(event) };
    let names: Vec<&str> =
        trigger.sources.iter().map(|source| graph.queries[source.query].name.as_str()).collect();
    let reason = words::reason(trigger, &names, &event.values);
    let (key, at) = (words::key(&event.key), words::time(event.at_ns));
    let window = event.window.map(words::window).unwrap_or_default();
    let node = event.node.as_deref().unwrap_or("all nodes");
    let (of, bounds) = (names.join(" and "), words::bounds(event));
    format!("{} fired{key} at {at} because {of} on {node} had {reason} in {window}{bounds}.", event.query)
}

fn ran(graph: &Graph, report: &Report) -> String {
    let query = &graph.queries[report.query];
    let node = graph.node_name(report.node).unwrap_or("all nodes");
    let window = words::window(report.window);
    let pinned = query.pinned_by(&report.instance);
    let (name, key) = (&query.name, words::key(&pinned));
    match report.is_first {
        true => format!("Therefore {name} ran{key} on {node} in {window}: {}.", report.text),
        false => format!("{name} ran{key} on {node} in {window} too: {}.", report.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::QueryRun;

    fn run() -> QueryRun {
        QueryRun {
            query: 0,
            start_ns: 0,
            end_ns: 1,
            cause: "0".to_owned(),
            instance: Vec::new(),
            node: None,
            root: "0".to_owned(),
            begun_ns: 0,
            looks_back: false,
            missing: Vec::new(),
        }
    }

    fn event(number: u64) -> Event {
        Event {
            event: number.to_string(),
            kind: if number == 0 { EventKind::Fired } else { EventKind::Resolved },
            query: "q".to_owned(),
            fired_by: None,
            key: Vec::new(),
            node: None,
            at_ns: number,
            window: None,
            values: Vec::new(),
            threshold: None,
            late: false,
            coverage: None,
            bounds: None,
            parent: (number != 0).then(|| "0".to_owned()),
            title: None,
        }
    }

    #[test]
    fn restored_stories_are_continued() {
        let graph =
            Graph { queries: Vec::new(), nodes: Vec::new(), settings: crate::EventSettings::default() };
        let run = run();
        let started = vec![Started { run, events: vec!["0".to_owned()] }];
        let mut stories = StoryLog::default();
        stories.take(&graph, &MachineStep { events: vec![event(0)], started, ..MachineStep::default() });
        assert_eq!(stories.take_changed().len(), 1);
        assert_eq!(stories.take_changed(), []);
        let mut restored = StoryLog::restore(stories.stories().cloned());
        assert_eq!(restored.take_changed(), []);
        let next = MachineStep { events: vec![event(1)], ..MachineStep::default() };
        stories.take(&graph, &next);
        restored.take(&graph, &next);
        assert!(stories.stories().eq(restored.stories()));
        assert_eq!(restored.take_changed(), stories.take_changed());
        let story = restored.stories().next().expect("a story");
        assert_eq!(story.events, ["0", "1"]);
    }

    #[test]
    fn a_story_has_the_title_of_its_first_firing_or_of_a_later_one_that_says_more() {
        let query = |name: &str, says: bool| {
            let mut query = crate::GraphQuery { nodes: vec![0], ..crate::GraphQuery::new(name, 1) };
            let mut trigger = crate::QueryTrigger::new(0, &query, crate::TriggerCondition::And(Vec::new()));
            trigger.title.is_said = says;
            query.trigger = Some(trigger);
            query
        };
        let graph = Graph {
            queries: vec![query("q", true), query("plain", false)],
            nodes: vec!["Node1".to_owned()],
            settings: crate::EventSettings::default(),
        };
        let fired = |number: u64, query: &str, title: &str, parent: Option<&str>| Event {
            kind: EventKind::Fired,
            query: query.to_owned(),
            title: Some(title.to_owned()),
            parent: parent.map(str::to_owned),
            ..event(number)
        };
        let mut stories = StoryLog::default();
        let mut take = |events: Vec<Event>, cause: &str| {
            let run = QueryRun { cause: cause.to_owned(), ..run() };
            let started = Started { run, events: events.iter().map(|event| event.event.clone()).collect() };
            let step = MachineStep { events, started: vec![started], ..MachineStep::default() };
            let said = stories.take(&graph, &step);
            (said[0].clone(), stories.stories().next().and_then(|story| story.title.clone()))
        };
        let title = |text: &str| (text.to_owned(), Some("A, and 1 more".to_owned()));
        let both = vec![fired(0, "q", "A", None), fired(1, "q", "B", None)];
        assert_eq!(take(both, "0"), title("A, and 1 more"));
        // Another key of the same run, and a firing that follows and says nothing of its own.
        assert_eq!(take(vec![fired(2, "q", "C", None)], "0"), title("C"));
        assert_eq!(take(vec![fired(3, "plain", "D", Some("0"))], "3"), title("D"));
        assert_eq!(take(vec![fired(4, "q", "E", Some("0"))], "4"), ("E".to_owned(), Some("E".to_owned())));
    }

    #[test]
    fn a_long_story_counts_what_is_left_out() {
        let graph =
            Graph { queries: Vec::new(), nodes: Vec::new(), settings: crate::EventSettings::default() };
        let run = run();
        let started = vec![Started { run, events: vec!["0".to_owned()] }];
        let mut stories = StoryLog::default();
        stories.take(&graph, &MachineStep { events: vec![event(0)], started, ..MachineStep::default() });
        let later = (1..=250).map(event).collect();
        let said = stories.take(&graph, &MachineStep { events: later, ..MachineStep::default() });
        assert_eq!(said.len(), 250);
        let story = stories.stories().next().expect("a story");
        let lines: Vec<&str> = story.text.lines().collect();
        assert_eq!((lines.len(), story.events.len(), story.events_unlisted), (201, 200, 51));
        assert!(lines[0].starts_with("q fired at "), "{}", lines[0]);
        assert_eq!(lines[1], said[0]);
        assert_eq!(lines[200], "More happened: the events have it all.");
        assert_eq!(story.events[..3], ["0", "1", "2"]);
    }
}
