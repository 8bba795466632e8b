//! The JSON of responses and of messages of streams, which `openapi.json` describes.

use crate::capture::capture_view;
use crate::role::Role;
use archive::{Acknowledgement, Silence, SilencedStory, StoredCapture, StoryEntry, events_of};
use equery::{Diagnostic, Explanation, QueryItems};
use model::view::{CaptureView, EventView, NodeView, QueryView};
use model::{Answer, DryRunNode, DryRunOutcome, Event, Integer, Nullable, Span, Story, Time};
use serde::Serialize;
use serde_json::Value as Json;
use std::ops::Not;

/// An error.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Error<'a> {
    /// The error in one line, which says what to do.
    pub(crate) error: &'a str,
}

/// An error of a text.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Invalid<'a> {
    /// The error in one line, which says what to do.
    pub(crate) error: &'a str,
    /// The diagnostics of the text; empty where it has no errors and is refused for another reason.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Diagnostic>"))]
    pub(crate) diagnostics: &'a [Json],
}

/// A list of nodes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Nodes<'a> {
    /// The nodes.
    pub(crate) nodes: Vec<&'a NodeView>,
    /// The number of all nodes that pass.
    pub(crate) total: usize,
    /// The name behind which the list goes on (`after`); `None` where nothing follows.
    pub(crate) next: Option<&'a str>,
}

/// A list of the queries.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Queries<'a> {
    /// The queries, each after those that start it.
    pub(crate) queries: &'a [QueryView],
}

/// A list of answers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Answers {
    /// The answers, the oldest first; those of whole runs last.
    pub(crate) answers: Vec<Answer>,
    /// True if there are fewer than were asked for, because together they are too large: ask for less, or with `until`.
    #[serde(skip_serializing_if = "<&bool>::not")]
    #[cfg_attr(feature = "schema", schemars(extend("const" = true)))]
    pub(crate) cut: bool,
}

/// A list of events.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Events {
    /// The events, the oldest first.
    pub(crate) events: Vec<EventView>,
}

/// A list of captures.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Captures {
    /// The captures.
    pub(crate) captures: Vec<CaptureView>,
}

/// A list of stories.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Stories {
    /// The stories, the newest first.
    pub(crate) stories: Vec<ListedStory>,
}

/// A story in a list of stories.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StoryEntry"))]
pub(crate) struct ListedStory {
    /// The event that it began with.
    id: String,
    /// The story in a sentence that names no query: the title of the firing that it began with, or of the last one of its chain whose query says
    /// something; `None` of stories that a version without titles has stored.
    title: Option<String>,
    /// The chain in words, a line for each step.
    text: String,
    /// The time at which it began; `None` if that is not known.
    #[serde(with = "Nullable::<Time>")]
    at: Option<u64>,
    /// The query of the event that it began with; `None` if that is not known.
    query: Option<String>,
    /// The node of the event that it began with; `None` for answers across nodes, and if that is not known.
    node: Option<String>,
    /// The number of its events.
    #[serde(with = "Integer")]
    events_total: u64,
    /// The acknowledgement; `None` as long as it is not acknowledged yet.
    acknowledged: Option<Acknowledgement>,
    /// The silence of the story, or of one that began as it did; `None` where it was never silent.
    silence: Option<Silence>,
}

impl From<StoryEntry> for ListedStory {
    fn from(entry: StoryEntry) -> Self {
        let StoryEntry { story, at_ns, query, node, acknowledgement, silence } = entry;
        let events_total = events_of(&story);
        Self {
            id: story.id,
            title: story.title,
            text: story.text,
            at: at_ns,
            query,
            node,
            events_total,
            acknowledged: acknowledgement,
            silence,
        }
    }
}

/// A story with the identifiers of its events.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StoryNames<'a> {
    /// The event that it began with.
    id: &'a str,
    /// The story in a sentence that names no query: the title of the firing that it began with, or of the last one of its chain whose query says
    /// something; `None` of stories that a version without titles has stored.
    title: Option<&'a str>,
    /// The chain in words, a line for each step.
    text: &'a str,
    /// The identifiers of its events, in order.
    events: &'a [String],
    /// The number of later events, which are not in `events`.
    #[serde(with = "Integer")]
    events_unlisted: u64,
    /// The acknowledgement; `None` as long as it is not acknowledged yet.
    acknowledged: Option<Acknowledgement>,
    /// The silence of the story, or of one that began as it did; `None` where it was never silent.
    silence: Option<Silence>,
}

impl<'a> StoryNames<'a> {
    pub(crate) fn new(
        story: &'a Story,
        acknowledged: Option<Acknowledgement>,
        silence: Option<Silence>,
    ) -> Self {
        let Story { id, title, text, events, events_unlisted } = story;
        let title = title.as_deref();
        Self { id, title, text, events, events_unlisted: *events_unlisted, acknowledged, silence }
    }
}

/// A story with its events and their captures.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Story"))]
pub(crate) struct WholeStory<'a> {
    /// The event that it began with.
    id: &'a str,
    /// The story in a sentence that names no query: the title of the firing that it began with, or of the last one of its chain whose query says
    /// something; `None` of stories that a version without titles has stored.
    title: Option<&'a str>,
    /// The chain in words, a line for each step.
    text: &'a str,
    /// The events that are kept, in order.
    events: &'a [Event],
    /// The number of events that are not listed: later ones of a long story, and those that are kept no more.
    #[serde(with = "Integer")]
    events_unlisted: u64,
    /// The packets that its events asked for.
    captures: Vec<CaptureView>,
    /// The acknowledgement; `None` as long as it is not acknowledged yet.
    acknowledged: Option<Acknowledgement>,
    /// The silence of the story, or of one that began as it did; `None` where it was never silent.
    silence: Option<Silence>,
}

impl<'a> WholeStory<'a> {
    /// Creates the response for a story, with those of its events that are still kept (the others are not listed), and their captures.
    pub(crate) fn new(
        story: &'a Story,
        events: &'a [Event],
        captures: Vec<StoredCapture>,
        acknowledged: Option<Acknowledgement>,
        silence: Option<Silence>,
    ) -> Self {
        let captures = captures.into_iter().map(capture_view).collect();
        let gone = story.events.len().saturating_sub(events.len()) as u64;
        let Story { id, title, text, events_unlisted, .. } = story;
        let title = title.as_deref();
        let events_unlisted = events_unlisted.saturating_add(gone);
        Self { id, title, text, events, events_unlisted, captures, acknowledged, silence }
    }
}

/// An acknowledgement that was set or withdrawn.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Acknowledged {
    /// The identifier of the story.
    pub(crate) story: String,
    /// The acknowledgement; `None` as long as it is not acknowledged yet.
    pub(crate) acknowledged: Option<Acknowledgement>,
}

/// A silence that was set or ended.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Silenced {
    /// The identifier of the story.
    pub(crate) story: String,
    /// The silence; `None` if the story was never silent.
    pub(crate) silence: Option<Silence>,
}

/// A list of silences.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Silences {
    /// The silences that hold, that which ends first before the others; then those that have ended, the last one first.
    pub(crate) silences: Vec<ListedSilence>,
}

/// A silence in a list of silences.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ListedSilence {
    /// The identifier of the story.
    pub(crate) story: String,
    /// The story in a sentence; `None` if it is not kept.
    pub(crate) title: Option<String>,
    /// The query of the event that the story began with; `None` if that is not known.
    pub(crate) query: Option<String>,
    /// The node of the event that the story began with; `None` for answers across nodes, and if that is not known.
    pub(crate) node: Option<String>,
    /// True until it ends.
    pub(crate) holds: bool,
    #[serde(flatten)]
    pub(crate) silence: Silence,
}

impl ListedSilence {
    pub(crate) fn new(silenced: SilencedStory, story: Option<Story>, now_ns: u64) -> Self {
        let SilencedStory { story: id, cause, silence } = silenced;
        let title =
            story.and_then(|story| story.title.or_else(|| story.text.lines().next().map(str::to_owned)));
        let (query, node) = cause.map_or((None, None), |cause| (Some(cause.query), cause.node));
        Self { story: id, title, query, node, holds: silence.holds(now_ns), silence }
    }
}

/// The events that queries would have caused in a recorded time.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct DryRun<'a> {
    /// The time whose events are told.
    period: Span,
    /// The time from the begin of the first window that was judged to the end of the last one; `None` if no node had packets.
    judged: Option<Span>,
    /// The number of conditions that became true, including those of events that are not listed.
    #[serde(with = "Integer")]
    fired: u64,
    /// The events of the period, in order, 10,000 at most.
    events: &'a [Event],
    /// The number of later events, which are not listed.
    #[serde(with = "Integer")]
    more_events: u64,
    /// The stories of these events.
    stories: Vec<StoryNames<'a>>,
    /// The nodes.
    nodes: &'a [DryRunNode],
    /// Warnings, a line each.
    warnings: &'a [String],
}

impl<'a> DryRun<'a> {
    pub(crate) fn new(period: Span, played: &'a DryRunOutcome) -> Self {
        let DryRunOutcome { judged, fired, events, more_events, stories, nodes, warnings } = played;
        let stories = stories.iter().map(|story| StoryNames::new(story, None, None)).collect();
        let (judged, fired, more_events) = (*judged, *fired, *more_events);
        Self { period, judged, fired, events, more_events, stories, nodes, warnings }
    }
}

/// A text, checked.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Checked<'a> {
    /// The name of the text.
    pub(crate) file: &'a str,
    /// The diagnostics, in the order of the text.
    pub(crate) diagnostics: &'a [Diagnostic],
    /// The queries that have no errors.
    pub(crate) queries: Vec<QueryItems>,
    /// The reasons why a text without errors is not installed here, a line each; empty in a run, where none is.
    pub(crate) refused: Vec<String>,
    /// The explanation; `None` where the text has errors.
    pub(crate) explanation: Option<Explanation>,
    /// The number of queries beyond the first hundred, which are not explained.
    pub(crate) unexplained: usize,
}

/// The words of Equery, and the names that are known here.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Language"))]
pub(crate) struct LanguageView<'a> {
    #[serde(flatten)]
    pub(crate) language: equery::Language,
    /// The names of all nodes.
    pub(crate) nodes: &'a [String],
    /// The queries that a text may refer to.
    pub(crate) queries: &'a [QueryItems],
    /// The names that are defined for all texts.
    pub(crate) variables: Vec<&'a str>,
}

/// The identity of who asks.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Session<'a> {
    /// The name of the token; `None` where the API asks for no token.
    pub(crate) name: Option<&'a str>,
    /// The role of the token; `None` without a session.
    pub(crate) role: Option<Role>,
}

/// Messages that a stream missed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Lagged {
    /// The number of messages that came faster than they were read.
    #[serde(with = "Integer")]
    pub(crate) missed: u64,
}
