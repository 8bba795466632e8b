//! The queries of a run, played over the store that it wrote, as a controller plays them over those of its probes.

use arena::Limits;
use controller::{
    CheckContext, DryRunController, DryRunSetting, DryRunStep, HistoryRequest, InstalledText, StandingQueries,
};
use model::{DryRunOutcome, Span};
use packet::{KeySpec, Seed};
use probe::{HistoryJob, StoreReading};
use std::path::Path;
use task::rows;

/// A day, nanoseconds: a multiple of all windows here.
const DAY: u64 = 86_400_000_000_000;
/// The usual length of windows.
const USUAL: u64 = 10_000_000_000;

/// What the queries of a run's command line would have done over its store.
pub(crate) fn outcome(store: &Path, arguments: &[&str], nodes: &[String]) -> DryRunOutcome {
    let options =
        |name: &'static str| arguments.windows(2).filter(move |pair| pair[0] == name).map(|pair| pair[1]);
    let key = options("--key").next().map_or(KeySpec::FIVE_TUPLE, |key| KeySpec::parse(key).expect("a key"));
    let stored = history::levels::OpenStore::open(store).expect("a store");
    let base_ns = stored.shelf().windows_ns().into_iter().find(|length| *length != 0).expect("windows");
    let every = options("--every").next().map(|every| notation::duration(every).expect("a duration"));
    let window_ns = every.map_or(USUAL, |every| every.as_nanos() as u64);
    let set = options("--set").map(|set| set.split_once('=').expect("NAME=VALUE"));
    let site = CheckContext {
        nodes: nodes.to_vec(),
        key: key.parts(),
        base_ns,
        window_ns,
        set: set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        settings: events::EventSettings::default(),
    };
    let mut standing = StandingQueries::new(site.clone());
    let files = options("-f").map(|path| std::fs::read_to_string(path).expect("a file"));
    let texts: Vec<String> = files.chain(options("-q").map(str::to_owned)).collect();
    for text in texts {
        let text = InstalledText { file: "test".to_owned(), text, ..InstalledText::default() };
        standing.install(text).expect("installed");
    }
    let stores: Vec<StoreReading> = nodes
        .iter()
        .map(|node| {
            let own = rows::PlanContext::new(key, Seed::new(1), Limits::new(1 << 30, usize::MAX));
            StoreReading::new(store.to_owned(), &rows::PlanContext { node: node.clone(), ..own })
        })
        .collect();
    let setting = DryRunSetting {
        key: site.key.clone(),
        window_ns: base_ns,
        period: Span { start_ns: 0, end_ns: u64::MAX - u64::MAX % DAY },
        reach_ns: 0,
    };
    let mut run = DryRunController::new(standing.chain().clone(), &setting).expect("a dry run");
    while let DryRunStep::Ask(queries) = run.go_on().expect("no failure") {
        let asked = HistoryRequest { queries, memory_bytes: 1 << 28, time_ms: 600_000 };
        run.take(asked.query_stores(nodes, &mut |node, task| {
            let job = HistoryJob { task, is_over: Default::default(), until: None };
            stores[node].answer(&job).expect("an answer")
        }));
    }
    run.end()
}

/// The time that a store has of a node.
pub(crate) fn span(store: &Path, node: &str) -> Option<Span> {
    history::levels::OpenStore::open_node(store, node).expect("a store").shelf().spans().all()
}
