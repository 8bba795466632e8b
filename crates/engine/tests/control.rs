//! Task sets that are installed and removed while packets flow.

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use engine::{Config, Control, Destinations, Every, Outputs, WindowId};
use port::PacketSource;
use report::{Status, Value, Window};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use support::{BURST, Watch, config, generated, on_queues, plan};
use task::rows::{GroupField, Item, Over, RowQuery, Site};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;
/// Packets, and windows of 20 ms in which they come.
const PACKETS: u64 = 30_000;

fn query(name: &str, field: &str) -> RowQuery {
    RowQuery {
        name: name.to_owned(),
        filter: None,
        group: vec![GroupField::of(field)],
        items: vec![Item::sum("total_count"), Item::sum("total_byte")],
        order: Vec::new(),
        limit: Some(3),
        over: Over::Window,
    }
}

/// Sets by generation: none, one and two queries in turn.
fn set(generation: u64, config: &Config) -> Arc<TaskSet> {
    let site = Site { key: config.key, tracks_loss: false, seed: config.seed, limits: config.limits.clone() };
    let queries = [query("by_source", "src_addr"), query("by_port", "dst_port")];
    let queries = &queries[..generation as usize % 3];
    Arc::new(TaskSet::plan(Generation::new(generation), queries, None, &site).expect("good queries"))
}

/// Runs with a new set after every window, and gives the windows and from which window on each set answers.
fn run(design: &str, sources: &mut [Box<dyn PacketSource>]) -> (Vec<Window>, Vec<WindowId>) {
    let mut config = Config { every: Every::Time(20 * MS), ..config() };
    let control = Control::new(set(0, &config));
    config.control = Some(control.clone());
    let kept: Arc<Mutex<(Vec<Window>, Vec<WindowId>)>> = Arc::default();
    let windows = {
        let (kept, config, control) = (Arc::clone(&kept), config.clone(), control.clone());
        Box::new(move |window: Window| {
            let mut kept = kept.lock().expect("no panic");
            let generation = kept.1.len() as u64 + 1;
            kept.1.push(control.install(set(generation, &config)));
            kept.0.push(window);
            true
        })
    };
    let destinations =
        Destinations { writers: Vec::new(), rows: None, anonymizer: None, windows, node: "here".to_owned() };
    let plan = plan(design);
    let time_base = sources[0].time_base();
    let outputs = Outputs::start(destinations, &config, &control, time_base).expect("a thread");
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let outcome = engine::run(sources, None, &config, &plan, &stop, outputs, &mut watch).expect("memory");
    // The outputs' thread may still be answering: only its end says that it is done.
    let result = outcome.records.finish();
    assert!(result.faults.is_empty() && result.unreported == 0, "{result:?}");
    std::mem::take(&mut *kept.lock().expect("no panic"))
}

#[test]
fn every_window_has_the_answers_of_its_set_and_their_sums() {
    let spec = format!("packets={PACKETS},flows=500,rate=10000,ipv6=20%");
    for design in ["rss", "async/3", "rss/2"] {
        let mut sources = match design {
            "rss/2" => on_queues(&spec, 2, BURST),
            _ => generated(&spec, BURST),
        };
        let (windows, firsts) = run(design, &mut sources);
        assert!(firsts.len() >= 100, "{design}: {} sets", firsts.len());
        assert!(firsts.is_sorted(), "{design}");
        let mut packets = 0;
        for window in &windows {
            assert!(matches!(window.status, Status::Complete | Status::Cut), "{design}: {window:?}");
            let id = WindowId::new(window.span.start_ns / (20 * MS));
            // The last set that begins at this window or before; the run began with set 0.
            let generation = firsts.iter().filter(|first| **first <= id).count();
            let names: Vec<_> = window.answers.iter().map(|answer| answer.query.as_str()).collect();
            let all = ["totals", "by_source", "by_port"];
            assert_eq!(names, all[..1 + generation % 3], "{design}: window {id} of set {generation}");
            let totals = &window.answers[0].rows[0];
            packets += totals[0].as_unsigned().expect("packets");
            for answer in &window.answers[1..] {
                for (item, total) in [("total_count", &totals[0]), ("total_byte", &totals[1])] {
                    let at = answer.column(item).expect("an item");
                    let shown: u64 = answer.rows.iter().filter_map(|row| row[at].as_unsigned()).sum();
                    let rest = answer.rest.totals.iter().find(|(name, _)| name == item).expect("a total").1;
                    assert_eq!(&Value::Unsigned(shown + rest), total, "{design}: {item} of window {id}");
                }
            }
        }
        assert_eq!(packets, PACKETS, "{design}");
    }
}
