//! `--web`: the page and the API of a run, while it measures and after it.

use super::page_store::PageStore;
use super::{Sink, SinkContext, captured};
use crate::exit::no_thread;
use crate::exit::{Failure, say};
use crate::machine::now_ns;
use archive::{Archive, ArchiveChanges, ArchiveRetention};
use controller::{Controller, ControllerOutput, Health, views};
use equery::{Chain, CheckedQuery};
use events::MachineState;
use model::{RunReport, Story, Window};
use protocol::WindowResult;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use task::rows::PlanContext;
use web::view::{AlertmanagerView, Mode, NodeState, Note, Status};
use web::{Checking, Hub, Server};

/// The bounds of what is kept of a run, in memory.
const KEEP: ArchiveRetention =
    ArchiveRetention { answers: 100_000, events: 100_000, captures: 1_000, capture_bytes: 64 << 20 };
/// Messages that wait for the page.
const WAITING: usize = 1_024;
/// The time after which new messages are stored.
const EVERY: Duration = Duration::from_millis(100);
/// The time after which a run that has ended looks again whether it is told to end.
const STOP_LOOK: Duration = Duration::from_millis(50);
/// The time after which the page gets the state of the controller again.
const REFRESH: Duration = Duration::from_millis(100);

/// The page of a run.
pub(crate) struct Page {
    hub: Hub,
    server: Server,
    messages: SyncSender<PageMessage>,
    thread: JoinHandle<()>,
    store: Option<PageStore>,
}

/// Shows what a run tells.
struct PageSink {
    feed: PageFeed,
    /// The page; `None` once the report is shown.
    page: Mutex<Option<Page>>,
    /// The instant at which the page got the state of the controller last.
    refreshed: Mutex<Option<Instant>>,
    stop: Arc<AtomicBool>,
}

/// The state of a controller.
#[derive(Debug, Default)]
struct ControllerSnapshot {
    /// Stories that have changed.
    stories: Vec<Story>,
    queries: Option<(Chain, MachineState)>,
    /// The nodes, in their order; none where windows are counted here.
    health: Vec<Health>,
    /// The alerts for each Alertmanager, by what became of them.
    alerts: Vec<AlertmanagerView>,
}

impl ControllerSnapshot {
    /// Returns what is new since the last call.
    fn from_controller(controller: &mut Controller, alerts: Vec<AlertmanagerView>) -> Self {
        Self {
            stories: controller.changed_stories(),
            queries: Some((controller.chain().clone(), controller.events().clone())),
            health: controller.health().cloned().collect(),
            alerts,
        }
    }

    /// Returns the queries of a run without a controller.
    fn from_queries(chain: Chain) -> Self {
        Self { queries: Some((chain, MachineState::default())), ..Self::default() }
    }
}

/// A message to the page.
enum PageMessage {
    Shown(Box<ControllerOutput>),
    Window(Box<WindowResult>),
    Changed(Box<ControllerSnapshot>),
    Ended(Box<RunReport>),
}

/// The destination of what is new.
struct PageFeed {
    messages: SyncSender<PageMessage>,
    /// True if the source may wait for the page; a live source never does.
    may_wait: bool,
    /// The number of results that the page lacks, because they came faster than they could be stored.
    missed: Arc<AtomicU64>,
}

impl Page {
    /// Serves the page where the options ask for it.
    pub(super) fn start(context: &SinkContext<'_>) -> Result<Option<Box<dyn Sink>>, Failure> {
        let SinkContext { options, asked, is_replay, stop, .. } = *context;
        let Some(listen) = options.output.web else { return Ok(None) };
        let hub = Hub::new(Archive::in_memory(KEEP).map_err(Failure::fault)?);
        hub.log_to(say);
        hub.set_checking(Checking::new(asked.checking.clone()));
        if let Some(overview) = context.overview {
            hub.set_overview(overview.clone());
        }
        let (sites, sources): (Vec<PlanContext>, Vec<Vec<String>>) = context.nodes.iter().cloned().unzip();
        let store = options.output.store.as_deref();
        let store =
            store.map(|folder| PageStore::start(folder, options, asked, &sites)).transpose()?.flatten();
        let requests = store.as_ref().map(PageStore::requests);
        let server = web::serve(hub.clone(), listen, requests)
            .map_err(|error| Failure::usage(error).with_option("--web"))?;
        say(&format!("the page and the API are at {}", server.url()));
        let (messages, received) = sync_channel(WAITING);
        let missed = Arc::default();
        let nodes = sites.into_iter().zip(sources).map(|(site, sources)| PageNode {
            site: options.output.sites.site_of(&site.node),
            name: site.node,
            sources,
            health: Health::default(),
        });
        let nodes = nodes.collect();
        let mut presenter = Presenter::new(hub.clone(), nodes, asked.checked.clone(), Arc::clone(&missed));
        presenter.status.history = store.is_some();
        presenter.show();
        let work = move || presenter.present(&received);
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(work).map_err(no_thread)?;
        let feed = PageFeed { messages: messages.clone(), may_wait: is_replay, missed };
        // What the executor refuses is said elsewhere.
        if let Some(chain) = context.chain.clone() {
            feed.changed(ControllerSnapshot::from_queries(chain));
        }
        let page = Mutex::new(Some(Self { hub, server, messages, thread, store }));
        Ok(Some(Box::new(PageSink { feed, page, refreshed: Mutex::default(), stop: Arc::clone(stop) })))
    }

    /// Shows the answers of the whole run, and serves until `stop` is set.
    fn end(self, report: &RunReport, stop: &AtomicBool) {
        let Self { hub, server, messages, thread, store } = self;
        // Where the thread has failed, it has said so.
        let _ = messages.send(PageMessage::Ended(Box::new(report.clone())));
        drop(messages);
        let _ = thread.join();
        if !stop.load(Relaxed) {
            say(&format!("the page stays at {} until Ctrl-C", server.url()));
        }
        while !stop.load(Relaxed) {
            std::thread::sleep(STOP_LOOK);
        }
        drop((server, hub));
        if let Some(store) = store {
            store.end();
        }
    }
}

impl PageFeed {
    fn send(&self, message: PageMessage) {
        if self.may_wait {
            // Where the thread has failed, it has said so.
            let _ = self.messages.send(message);
        } else if let Err(TrySendError::Full(_)) = self.messages.try_send(message) {
            self.missed.fetch_add(1, Relaxed);
        }
    }

    /// Shows the state of a controller.
    fn changed(&self, news: ControllerSnapshot) {
        self.send(PageMessage::Changed(Box::new(news)));
    }
}

impl Sink for PageSink {
    fn hub(&self) -> Option<Hub> {
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        page.as_ref().map(|page| page.hub.clone())
    }

    fn window(&self, window: &Window) {
        let answers = window.answers.iter().chain(&window.longer).cloned().collect();
        let result = WindowResult { empty: window.empty, ..WindowResult::new(window.span, answers) };
        self.feed.send(PageMessage::Window(Box::new(result)));
    }

    fn take_output(&self, output: &ControllerOutput) {
        self.feed.send(PageMessage::Shown(Box::new(output.clone())));
    }

    fn state(&self, controller: &mut Controller, alerts: &[AlertmanagerView]) {
        let mut refreshed = self.refreshed.lock().unwrap_or_else(PoisonError::into_inner);
        if refreshed.is_none_or(|refreshed| refreshed.elapsed() >= REFRESH) || controller.has_ended() {
            *refreshed = Some(Instant::now());
            self.feed.changed(ControllerSnapshot::from_controller(controller, alerts.to_vec()));
        }
    }

    /// Shows the answers over the whole run, and serves until the run is told to end.
    fn report(&self, report: &RunReport) -> Result<(), Failure> {
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(page) = page {
            page.end(report, &self.stop);
        }
        Ok(())
    }
}

/// A node of the run.
struct PageNode {
    name: String,
    sources: Vec<String>,
    /// The site of the node; `None` where nothing says it.
    site: Option<web::view::Site>,
    health: Health,
}

/// The thread that stores and shows what is new.
struct Presenter {
    hub: Hub,
    queries: Vec<CheckedQuery>,
    nodes: Vec<PageNode>,
    changes: ArchiveChanges,
    status: Status,
    missed: Arc<AtomicU64>,
    /// The queries and the state of events, where they have changed.
    state: Option<(Chain, MachineState)>,
    shown: Instant,
}

impl Presenter {
    fn new(hub: Hub, nodes: Vec<PageNode>, queries: Vec<CheckedQuery>, missed: Arc<AtomicU64>) -> Self {
        let status = Status {
            mode: Mode::Run,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_ns: now_ns(),
            sources: nodes.iter().flat_map(|node| node.sources.clone()).collect(),
            ..Status::default()
        };
        Self {
            hub,
            queries,
            nodes,
            changes: ArchiveChanges::default(),
            status,
            missed,
            state: None,
            shown: Instant::now(),
        }
    }

    fn present(&mut self, messages: &Receiver<PageMessage>) {
        loop {
            match messages.recv_timeout(EVERY) {
                Ok(message) => {
                    if self.take(message) {
                        return self.show();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.show(),
            }
            if self.shown.elapsed() >= EVERY {
                self.show();
            }
        }
    }

    /// Takes a message. Returns whether it is the last one.
    fn take(&mut self, message: PageMessage) -> bool {
        match message {
            PageMessage::Shown(output) => match *output {
                ControllerOutput::Answer(answer) => self.changes.answers.push(*answer),
                ControllerOutput::Event(event) => self.changes.events.push(*event),
                ControllerOutput::Captured(captured) => {
                    self.changes.captures.push(captured::ended(*captured))
                }
                ControllerOutput::Sentence(_)
                | ControllerOutput::Warning(_)
                | ControllerOutput::History(_) => {}
            },
            PageMessage::Window(result) => {
                self.nodes.iter_mut().for_each(|node| node.health.count(&result));
                self.changes.answers.extend(result.answers);
            }
            PageMessage::Changed(news) => {
                self.changes.stories.extend(news.stories);
                self.state = news.queries.or(self.state.take());
                self.status.alertmanagers = news.alerts;
                for (node, health) in self.nodes.iter_mut().zip(news.health) {
                    node.health = health;
                }
            }
            PageMessage::Ended(report) => {
                self.end(*report);
                return true;
            }
        }
        false
    }

    /// Takes the report at the end of the run: what it says is exact, whatever windows the page lacks.
    fn end(&mut self, report: RunReport) {
        self.status.ended = true;
        self.status.span =
            report.started_ns.zip(report.ended_ns).map(|(start_ns, end_ns)| model::Span { start_ns, end_ns });
        for PageNode { name, health, .. } in &mut self.nodes {
            // A run of one node has its report at the top.
            let own = report.nodes.get(name).unwrap_or(&report);
            health.packets = own.packets.clone();
            health.loss.clone_from(&own.loss);
        }
        let of_nodes = report.nodes.into_values().flat_map(|own| own.answers);
        self.changes.answers.extend(report.answers.into_iter().chain(of_nodes));
    }

    fn show(&mut self) {
        self.shown = Instant::now();
        if let Some((chain, state)) = self.state.take() {
            let texts = self.queries.iter().map(|query| (query, None));
            self.hub.set_queries(views::queries(&chain, &state, texts));
        }
        if let Err(error) = self.hub.publish(&std::mem::take(&mut self.changes)) {
            say(&format!("--web: {error}"));
        }
        let state = if self.status.ended { NodeState::Ended } else { NodeState::Up };
        let windows = &mut self.status.windows;
        (windows.complete, windows.partial) = (0, 0);
        let nodes = self.nodes.iter().map(|PageNode { name, sources, site, health }| {
            windows.complete += health.windows.complete;
            windows.partial += health.windows.partial;
            let node = views::node(name, health, &views::HealthCriteria::default());
            web::view::NodeView { state, site: site.clone(), sources: sources.clone(), ..node }
        });
        self.status.nodes = nodes.collect();
        let missed = self.missed.load(Relaxed);
        if missed != 0 {
            let text = format!("{missed} results came faster than the page takes them: it lacks these");
            self.status.notes = vec![Note { at_ns: now_ns(), text }];
        }
        self.hub.set_status(self.status.clone());
    }
}
