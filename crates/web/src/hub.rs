//! All that is shown.

use crate::checking::Checking;
use crate::event_counts::{EventCounts, expect_events};
use crate::feed::{BacklogLimits, StreamBacklog, StreamForm, Subscription};
use crate::message::{event_view, message};
use crate::refusals::Refusals;
use crate::responses::{Queries, StoryNames};
use crate::view::{QueryView, Status};
use archive::{
    Acknowledgement, Archive, ArchiveChanges, ArchiveError, Silence, SilencedStory, StoredEvent, events_of,
};
use axum::body::Bytes;
use model::{Answer, Event};
use overview::Overview;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Rows of an answer that streams are told, and that a query has as its latest. The archive has all.
pub(crate) const MOST_ROWS: usize = 1000;

/// An answer with its first rows; the others are in its rest.
pub(crate) fn listed(answer: &Answer, most: usize) -> Cow<'_, Answer> {
    if answer.rows.len() <= most {
        return Cow::Borrowed(answer);
    }
    let mut listed = answer.clone();
    listed.list(most);
    Cow::Owned(listed)
}

/// All that is shown: an archive, and the state of the moment. Clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub(Arc<HubState>);

#[derive(Debug)]
struct HubState {
    archive: Mutex<Archive>,
    status: Mutex<Status>,
    queries: Mutex<Vec<QueryView>>,
    checking: Mutex<Arc<Checking>>,
    /// The traffic of the last hours; nothing where it is not kept.
    overview: OnceLock<Overview>,
    /// The counts of events of queries that are there.
    event_counts: Mutex<EventCounts>,
    feed: Arc<StreamBacklog>,
    /// Counts how often silences were changed by users.
    silenced: AtomicU64,
    refusals: Refusals,
    /// Takes a line for each file that is handed out, and now and then one for what is refused.
    log: OnceLock<fn(&str)>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A silence, and the names of the newest events of its story.
pub type SilencedEvents = (SilencedStory, Vec<String>);

impl Hub {
    /// A hub that shows this archive, of a run that starts now.
    pub fn new(archive: Archive) -> Self {
        Self::with_limits(archive, BacklogLimits::default())
    }

    pub(crate) fn with_limits(archive: Archive, limits: BacklogLimits) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let status = Status { version, started_ns: now_ns(), ..Status::default() };
        Self(Arc::new(HubState {
            archive: Mutex::new(archive),
            status: Mutex::new(status),
            queries: Mutex::default(),
            checking: Mutex::default(),
            overview: OnceLock::new(),
            event_counts: Mutex::default(),
            feed: StreamBacklog::new(limits),
            silenced: AtomicU64::new(1),
            refusals: Refusals::default(),
            log: OnceLock::new(),
        }))
    }

    /// Gives this function a line for each capture that a client fetches, and now and then one for what is refused to clients. The
    /// first function stays.
    pub fn log_to(&self, log: fn(&str)) {
        self.0.log.get_or_init(|| log);
    }

    pub(crate) fn log(&self, line: &str) {
        if let Some(log) = self.0.log.get() {
            log(line);
        }
    }

    /// Counts what is refused to a client, and logs some of it.
    pub(crate) fn refuse(&self, name: &'static str, what: impl FnOnce() -> String) {
        if let Some(begin) = self.0.refusals.count(name, Instant::now()) {
            self.log(&format!("{begin}: {}", what()));
        }
    }

    /// The archive. Nothing is stored and nobody is answered from it until the guard is dropped.
    pub fn archive(&self) -> MutexGuard<'_, Archive> {
        locked(&self.0.archive)
    }

    /// Stores all of it, then tells all streams: answers, events, stories, each in their order.
    ///
    /// # Errors
    /// If it cannot be stored: then nothing of it is, and nobody is told.
    pub fn publish(&self, changes: &ArchiveChanges) -> Result<(), ArchiveError> {
        let mut archive = self.archive();
        archive.commit(changes)?;
        let listed: Vec<_> = changes.answers.iter().map(|answer| listed(answer, MOST_ROWS)).collect();
        self.remember_latest(&listed);
        self.count_events(&changes.events);
        if !self.0.feed.has_streams() {
            return Ok(());
        }
        // The archive stays locked, so that streams are told in the order in which it was stored.
        for answer in &listed {
            self.tell("answer", answer);
        }
        for event in &changes.events {
            // It is stored: that its story cannot be read is no reason to say otherwise.
            let story = archive.story_of(&event.event).unwrap_or_default();
            let silent = archive.silent_until(event, now_ns()).unwrap_or_default();
            self.tell("event", &event_view(StoredEvent { event: event.clone(), story }, silent));
        }
        for story in &changes.stories {
            // As with events.
            let acknowledged = archive.acknowledgement(&story.id).unwrap_or_default();
            let silence = archive.silence_of(&story.id).unwrap_or_default();
            self.tell("story", &StoryNames::new(story, acknowledged, silence));
        }
        Ok(())
    }

    /// Replaces the acknowledgement of the story that has this identifier or an event of this identifier, and tells all streams; `None`
    /// removes it. It never covers more events than the story has. Returns the story's identifier and what is stored; `None` if there is
    /// no such story.
    pub(crate) fn acknowledge(
        &self,
        id: &str,
        acknowledgement: Option<Acknowledgement>,
    ) -> Result<Option<(String, Option<Acknowledgement>)>, ArchiveError> {
        let mut archive = self.archive();
        let Some(story) = archive.story(id)? else { return Ok(None) };
        let acknowledged = acknowledgement.map(|acknowledgement| Acknowledgement {
            events: acknowledgement.events.min(events_of(&story)),
            ..acknowledgement
        });
        archive.acknowledge(&story.id, acknowledged.as_ref())?;
        let silence = archive.silence_of(&story.id)?;
        // The archive stays locked: a later firing of this story is told after this.
        self.tell("story", &StoryNames::new(&story, acknowledged.clone(), silence));
        Ok(Some((story.id, acknowledged)))
    }

    /// Silences the story that has this identifier or an event of this identifier, or ends its silence (`None`), and tells all streams. Returns
    /// the story's identifier and what is stored; `None` if there is no such story.
    pub(crate) fn silence(
        &self,
        id: &str,
        silence: Option<Silence>,
    ) -> Result<Option<(String, Option<Silence>)>, ArchiveError> {
        let mut archive = self.archive();
        let Some(story) = archive.story(id)? else { return Ok(None) };
        // That of another story, in which this one began, is ended with it.
        let other = match silence {
            Some(_) => None,
            None => archive.silenced_by(&story.id)?.map(|own| own.story).filter(|own| *own != story.id),
        };
        let own = archive.silence(other.as_ref().unwrap_or(&story.id), silence, now_ns())?;
        self.0.silenced.fetch_add(1, Relaxed);
        let other = other.map(|other| archive.story(&other)).transpose()?.flatten();
        // The archive stays locked, as above.
        for changed in [&story].into_iter().chain(&other) {
            let acknowledged = archive.acknowledgement(&changed.id)?;
            self.tell("story", &StoryNames::new(changed, acknowledged, own.clone()));
        }
        Ok(Some((story.id, own)))
    }

    /// Returns the silences that hold, each with the newest events of its story, and a number of this state; `None` where that number is
    /// `known`. A silence ends by itself at its time.
    ///
    /// # Errors
    /// If the archive cannot be read.
    pub fn silences(&self, known: u64) -> Result<Option<(u64, Vec<SilencedEvents>)>, ArchiveError> {
        let state = self.0.silenced.load(Relaxed);
        if state == known {
            return Ok(None);
        }
        let archive = self.archive();
        let now_ns = now_ns();
        let held = archive.silences().iter().filter(|own| own.silence.holds(now_ns));
        let held: Result<Vec<_>, ArchiveError> =
            held.map(|own| Ok((own.clone(), archive.event_names(&own.story)?))).collect();
        Ok(Some((state, held?)))
    }

    /// Replaces the status. Streams are told where it changed in more than its time, `now_ns`, which is filled in when it is served. So
    /// is `refused_requests`. Those that ask for changes are told of the nodes that changed alone.
    pub fn set_status(&self, status: Status) {
        let mut own = locked(&self.0.status);
        let refused_requests = self.0.refusals.counters();
        let status = Status { now_ns: own.now_ns, refused_requests, ..status };
        if *own == status {
            return;
        }
        let before = std::mem::replace(&mut *own, status);
        let whole = self.has_streams_of(StreamForm::Whole);
        let changes = self.has_streams_of(StreamForm::Changes);
        self.0.feed.tell_formed([
            whole.then(|| self.whole_status(&own)).flatten(),
            changes.then(|| status_changes(&before, &mut own).or_else(|| self.whole_status(&own))).flatten(),
        ]);
    }

    fn has_streams_of(&self, form: StreamForm) -> bool {
        self.0.feed.has_streams_of(form)
    }

    fn whole_status(&self, status: &Status) -> Option<Bytes> {
        message("status", &Status { now_ns: now_ns(), ..status.clone() }).ok()
    }

    /// Replaces the queries. Streams are told where they changed in more than their latest answers, which streams are told as they
    /// are published. Where a query comes without latest answers, it has those that were published under its name with its columns.
    pub fn set_queries(&self, mut queries: Vec<QueryView>) {
        let known: Vec<String> = locked(&self.0.queries).iter().map(|query| query.name.clone()).collect();
        for query in
            queries.iter_mut().filter(|query| query.latest.is_empty() && !known.contains(&query.name))
        {
            // What cannot be read is not shown; the next answer is.
            query.latest = self.archive().newest(&query.name).unwrap_or_default();
            for answer in &mut query.latest {
                answer.list(MOST_ROWS);
            }
        }
        let mut counts = locked(&self.0.event_counts);
        counts.retain(|(name, _), _| queries.iter().any(|query| query.name == *name));
        for query in queries.iter().filter(|query| query.trigger.is_some()) {
            expect_events(&mut counts, &query.name);
        }
        drop(counts);
        let mut own = locked(&self.0.queries);
        for query in &mut queries {
            if query.latest.is_empty()
                && let Some(before) = own.iter_mut().find(|before| before.name == query.name)
            {
                query.latest = std::mem::take(&mut before.latest);
            }
            query.latest.retain(|answer| answer.columns == query.columns);
        }
        let is_same = own.len() == queries.len() && own.iter().zip(&queries).all(|(own, new)| own.is_as(new));
        *own = queries;
        if !is_same {
            self.tell("queries", &Queries { queries: &own });
        }
    }

    fn count_events(&self, events: &[Event]) {
        let mut counts = locked(&self.0.event_counts);
        for event in events {
            let count = counts.entry((event.query.clone(), event.kind.name())).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Events since the start, of queries that are there.
    pub(crate) fn event_counts(&self) -> EventCounts {
        locked(&self.0.event_counts).clone()
    }

    /// Calls `read` with the queries, which are locked for as long as it runs.
    pub(crate) fn with_queries<T>(&self, read: impl FnOnce(&[QueryView]) -> T) -> T {
        read(&locked(&self.0.queries))
    }

    fn remember_latest(&self, answers: &[Cow<'_, Answer>]) {
        let mut queries = locked(&self.0.queries);
        for answer in answers {
            if let Some(query) = queries.iter_mut().find(|query| query.name == answer.query) {
                query.remember(answer);
            }
        }
    }

    fn tell(&self, name: &str, data: &impl Serialize) {
        if self.0.feed.has_streams()
            && let Ok(message) = message(name, data)
        {
            self.0.feed.tell(message);
        }
    }

    /// Replaces what texts of clients are checked for.
    pub fn set_checking(&self, checking: Checking) {
        *locked(&self.0.checking) = Arc::new(checking);
    }

    /// Shows the traffic of the last hours, and what of it is unusual. The first overview stays.
    pub fn set_overview(&self, overview: Overview) {
        self.0.overview.get_or_init(|| overview);
    }

    pub(crate) fn overview(&self) -> Option<Overview> {
        self.0.overview.get().cloned()
    }

    pub(crate) fn checking(&self) -> Arc<Checking> {
        Arc::clone(&locked(&self.0.checking))
    }

    /// The status, now.
    pub(crate) fn status(&self) -> Status {
        let refused_requests = self.0.refusals.counters();
        Status { now_ns: now_ns(), refused_requests, ..locked(&self.0.status).clone() }
    }

    /// The queries as JSON.
    pub(crate) fn queries(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Queries { queries: &locked(&self.0.queries) })
    }

    /// A new stream: what it is told first, and its place; `None` if there are too many.
    pub(crate) fn subscribe(&self, form: StreamForm) -> serde_json::Result<Option<(Bytes, Subscription)>> {
        // The place first: what changes in between is told again, not missed.
        let Some(subscription) = self.0.feed.subscribe(form) else { return Ok(None) };
        let status = message("status", &self.status())?;
        let queries = message("queries", &Queries { queries: &locked(&self.0.queries) })?;
        Ok(Some((Bytes::from([status, queries].concat()), subscription)))
    }
}

/// Returns the message about a status that has of the nodes those alone that changed; `None` where the nodes are others.
fn status_changes(before: &Status, status: &mut Status) -> Option<Bytes> {
    let pairs = || before.nodes.iter().zip(&status.nodes);
    if before.nodes.len() != status.nodes.len() || pairs().any(|(before, node)| before.name != node.name) {
        return None;
    }
    let nodes = pairs().filter(|(before, node)| before != node).map(|(_, node)| node.clone()).collect();
    // The others, which may be many, are not copied.
    let all = std::mem::take(&mut status.nodes);
    let told = message("changes", &Status { now_ns: now_ns(), nodes, ..status.clone() }).ok();
    status.nodes = all;
    told
}
