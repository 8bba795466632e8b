//! Losses of pinned flows alone: they are those of a run that tracks all, in the windows whose set pins them and in no other.

use crate::support::{BURST, Watch, config, generated, on_queues, plan};
use engine::{ClosedWindow, Control, Every, MeasurementConfig, RecordSink, WindowId};
use flow::{FlowRecord, LossCounts, WindowRow};
use flowtable::{MeasuredParts, Timeouts};
use packet::{FlowKey, Key, KeySpec};
use port::PacketSource;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use task::query::{Comparison, Condition, GroupField, OutputColumn, Query};
use task::rows::{PlanContext, ZoomOffer};
use task::{Generation, TaskSet};

const MS: u64 = 1_000_000;
const WINDOW_NS: u64 = 100 * MS;
/// 2024-01-01, when generated traffic begins; it has 20 windows.
const FIRST: u64 = 1_704_067_200_000 / 100;
/// Connections that lose on either side of the tap, on the ports 443 of two servers, and others; and SYNs without an answer.
const SPEC: &str = "packets=60k,flows=300,rate=30000,ipv6=20%,plant=loss:connections=8:start=5%/retransmission:connections=4:start=10%/reorder:connections=4:start=20%/portscan:ports=300";

/// Packets, and losses where they were tracked, by window and key.
type Rows = BTreeMap<(u64, String), (u64, Option<LossCounts>)>;

/// Keeps rows.
#[derive(Clone, Debug, Default)]
struct Kept {
    rows: Arc<Mutex<Rows>>,
    window: WindowId,
    unfollowed: u64,
}

/// A key as text, whose order means nothing.
fn name(key: &FlowKey) -> String {
    format!("{key:?}")
}

impl RecordSink for Kept {
    fn record(&mut self, _: FlowRecord) {}
    fn takes_records(&self) -> bool {
        false
    }
    fn row<K: Key>(&mut self, row: WindowRow<K>, loss: Option<&LossCounts>) {
        let key = row.key.flow_key(&KeySpec::FIVE_TUPLE);
        let mut rows = self.rows.lock().expect("no panic");
        let window = self.window.number() - FIRST;
        let kept = rows.entry((window, name(&key))).or_default();
        kept.0 += row.packets;
        loss.into_iter().for_each(|loss| kept.1.get_or_insert_default().add(loss));
    }
    fn begin_rows(&mut self, window: WindowId) {
        self.window = window;
    }
    fn window(&mut self, window: ClosedWindow) -> bool {
        assert!(window.tcp_loss.is_none_or(|_| window.unfollowed == 0));
        self.unfollowed += window.unfollowed;
        true
    }
    fn sibling(&self) -> Self {
        Self { unfollowed: 0, ..self.clone() }
    }
    fn absorb(&mut self, _: Self) {}
}

/// Flows that a set may pin: of a server, which a prefix has; of a port on either side.
#[derive(Clone, Copy, Debug)]
enum Pinned {
    Server,
    Clients,
    Port,
}

impl Pinned {
    fn filter(self) -> Condition {
        let net = |address: [u8; 4], length| vec![(IpAddr::from(address), length)];
        match self {
            Self::Server => Condition::InPrefixes("dst_addr".to_owned(), net([192, 0, 2, 10], 32)),
            Self::Clients => Condition::InPrefixes("src_addr".to_owned(), net([10, 1, 0, 0], 16)),
            Self::Port => Condition::compare("port", Comparison::Equal, 443),
        }
    }

    /// Whether a flow, or its other direction, is pinned.
    fn has(self, key: &str) -> bool {
        match self {
            Self::Server => key.contains("192.0.2.10)") || key.contains("192.0.2.10,"),
            Self::Clients => key.contains("(10.1."),
            Self::Port => key.contains("Some(443)"),
        }
    }
}

/// A set that pins these flows, or asks of rows only.
fn set(generation: u64, pinned: Option<Pinned>, config: &MeasurementConfig) -> Arc<TaskSet> {
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let site = PlanContext { tracked_flows: ZoomOffer::Offered, window_ns: Some(WINDOW_NS), ..site };
    let filter = pinned.map(Pinned::filter);
    let item = OutputColumn::sum(if pinned.is_some() { "ploss_byte" } else { "total_byte" });
    let query = Query { filter, ..Query::new("q", [GroupField::from_field("src_addr")], [item]) };
    Arc::new(TaskSet::plan(Generation::new(generation), &[query], None, &site).expect("a set"))
}

fn timeouts() -> Timeouts {
    Timeouts { idle_ns: 60_000 * MS, active_ns: u64::MAX }
}

fn run(design: &str, config: &MeasurementConfig) -> (Rows, u64) {
    let mut sources: Vec<Box<dyn PacketSource>> = match design {
        "rss/2" | "2x1" => on_queues(SPEC, 2, BURST),
        _ => generated(SPEC, BURST),
    };
    let (stop, mut watch) = (AtomicBool::new(false), Watch::default());
    let outcome = engine::run(&mut sources, None, config, &plan(design), &stop, Kept::default(), &mut watch)
        .expect("memory");
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    let Kept { rows, unfollowed, .. } = outcome.records;
    (Arc::try_unwrap(rows).expect("all siblings are gone").into_inner().expect("no panic"), unfollowed)
}

fn base() -> MeasurementConfig {
    MeasurementConfig { every: Every::Time(WINDOW_NS), timeouts: timeouts(), ..config() }
}

/// All rows with the losses of all flows.
fn tracked(design: &str) -> Rows {
    let config =
        MeasurementConfig { parts: MeasuredParts { loss: true, ..MeasuredParts::default() }, ..base() };
    run(design, &config).0
}

/// A run that pins these flows from its beginning on.
fn zoomed(design: &str, pinned: Pinned) -> Rows {
    let config = base();
    let control = Some(Control::new(set(0, Some(pinned), &config)));
    let (rows, unfollowed) = run(design, &MeasurementConfig { control, ..config });
    assert_eq!(unfollowed, 0);
    rows
}

/// A run in which the windows of a range have pins, by sets that are installed ahead, when the first window is entered.
fn zoomed_in(windows: Range<u64>, design: &str, pinned: Pinned) -> Rows {
    let config = base();
    let sets = vec![
        (WindowId::new(FIRST + windows.start), set(1, Some(pinned), &config)),
        (WindowId::new(FIRST + windows.end), set(2, None, &config)),
    ];
    let installs = Arc::new(Installs::default());
    let control = Control::gated(set(0, None, &config), Arc::clone(&installs) as Arc<dyn engine::Gate>);
    *installs.0.lock().expect("no panic") = Some((control.clone(), sets));
    let (rows, unfollowed) = run(design, &MeasurementConfig { control: Some(control), ..config });
    assert_eq!(unfollowed, 0);
    rows
}

/// Sets that answer from their windows on.
type Sets = Vec<(WindowId, Arc<TaskSet>)>;

/// Installs sets once the run has begun.
#[derive(Debug, Default)]
struct Installs(Mutex<Option<(Control, Sets)>>);

impl engine::Gate for Installs {
    fn enter(&self, _: WindowId) {
        if let Some((control, sets)) = self.0.lock().expect("no panic").take() {
            control.install_all(sets).expect("later ones");
        }
    }
}

#[test]
fn pinned_from_the_beginning_they_are_those_of_a_run_that_tracks_all() {
    let full = tracked("rss");
    let has_losses = |rows: &Rows| {
        let all = rows.values().filter_map(|row| row.1);
        all.fold((0, 0, 0), |sum, loss| {
            (sum.0 + loss.ploss_byte, sum.1 + loss.retrans_byte, sum.2 + loss.reorder_count)
        })
    };
    let (lost, repeated, reordered) = has_losses(&full);
    assert!(lost > 0 && repeated > 0 && reordered > 0);
    for design in ["rss", "async/2", "sync/2", "pipeline/2", "cooperative", "rss/2", "2x1"] {
        for pinned in [Pinned::Server, Pinned::Clients, Pinned::Port] {
            let rows = zoomed(design, pinned);
            let mut compared = 0;
            for (at, (packets, loss)) in &rows {
                let expected = full.get(at).unwrap_or_else(|| panic!("{design} {pinned:?}: {at:?}"));
                assert_eq!(*packets, expected.0, "{design} {pinned:?}: {at:?}");
                let is_tcp = at.1.contains("protocol: Some(6)");
                if pinned.has(&at.1) && is_tcp {
                    assert_eq!(*loss, expected.1, "{design} {pinned:?}: {at:?}");
                    compared += 1;
                } else {
                    assert!(loss.is_none(), "{design} {pinned:?}: {at:?}");
                }
            }
            // Nothing that was found is missing.
            let is_found = |at: &(u64, String), row: &(u64, Option<LossCounts>)| {
                pinned.has(&at.1) && row.1.is_some_and(|loss| !loss.is_empty())
            };
            let found = full.iter().filter(|(at, row)| is_found(at, row));
            assert!(
                found.clone().count() > 10 && found.clone().all(|(at, _)| rows.contains_key(at)),
                "{design}"
            );
            assert!(compared > 10, "{design} {pinned:?}: {compared}");
        }
    }
}

#[test]
fn windows_whose_set_pins_nothing_have_no_losses() {
    for (design, windows) in [("rss", 3..7), ("async/2", 6..9), ("cooperative", 1..2)] {
        let rows = zoomed_in(windows.clone(), design, Pinned::Clients);
        let (mut inside, mut outside) = (0, 0);
        for ((window, key), (packets, loss)) in &rows {
            let is_tcp = key.contains("protocol: Some(6)");
            let is_zoomed = windows.contains(window) && is_tcp && Pinned::Clients.has(key);
            // What is found at the end of a window of a direction without packets is of a pinned one too.
            assert_eq!(loss.is_some(), is_zoomed, "{design}: {window} {key} {packets}");
            *(if is_zoomed { &mut inside } else { &mut outside }) += 1;
        }
        assert!(inside > 10 && outside > 100, "{design}: {inside} {outside}");
        // All that is tracked lies in these windows: more losses than none, fewer than in all.
        let of = |rows: &Rows| rows.values().filter_map(|row| row.1).map(|loss| loss.rtt_count).sum::<u32>();
        assert!((1..of(&tracked("rss"))).contains(&of(&rows)), "{design}");
    }
}
