//! A probe whose controller asks for windows that are over, and for packets.

use arena::Limits;
use engine::{
    CaptureSettings, Control, Destinations, Every, Gate, MeasurementConfig, Observer, Outputs,
    ResolvedDesign, Snap, Snapshot,
};
use model::Span;
use packet::Seed;
use port::{PacketSource, SyntheticSource, TimeBase};
use probe::{Probe, ReplayGate, TaskSetPlanner};
use protocol::{
    CaptureTask, Captured, ControllerLink, FromProbe, LookBackTask, LookedBack, ProbeLink, RetentionLimits,
    Task, TaskList, ToProbe, WindowResult, memory,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use task::query::{Comparison, Condition, GroupField, OutputColumn, Query};
use task::rows::PlanContext;

const WINDOW: u64 = 100_000_000;
/// Longer than any machine takes for a step.
const LONG: Duration = Duration::from_secs(60);

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, _: String) {}
}

fn query(name: &str, field: &str) -> Query {
    Query::new(name, [GroupField::from_field("src_addr")], [OutputColumn::sum(field)])
}

/// What the probe says in a run whose controller asks at the third window.
struct Said {
    results: Vec<WindowResult>,
    looked_back: Vec<LookedBack>,
    captured: Vec<Captured>,
    refused: Vec<String>,
    /// The window before which it was asked.
    asked_ns: u64,
}

/// Carries the run through, and asks.
fn control_run(link: &impl ControllerLink) -> Said {
    let mut said = Said {
        results: Vec::new(),
        looked_back: Vec::new(),
        captured: Vec::new(),
        refused: Vec::new(),
        asked_ns: 0,
    };
    let standing = Task { query: query("standing", "total_byte"), time: None, instances: Vec::new() };
    let mut list = TaskList {
        generation: 1,
        tasks: vec![standing],
        look_back: Some(RetentionLimits { windows: 3, flows: 10_000 }),
        ..TaskList::default()
    };
    link.send(0, ToProbe::Tasks(list.clone())).expect("a probe");
    let (mut first, mut reached) = (None, None);
    loop {
        let received = link.receive(LONG).expect("a probe").expect("a message");
        match received.message {
            FromProbe::Reached { at_ns } => (first, reached) = (first.or(Some(at_ns)), Some(at_ns)),
            FromProbe::Window(result) => said.results.push(*result),
            FromProbe::LookedBack(looked) => said.looked_back.push(*looked),
            FromProbe::Captured(captured) => said.captured.push(*captured),
            FromProbe::Refused { reason, .. } => said.refused.push(reason),
            FromProbe::Heartbeat(_) | FromProbe::History(_) => {}
            FromProbe::Ended { .. } => return said,
        }
        link.acknowledge();
        // Results are told by another thread: the run goes no further ahead of them than the window before.
        let told_ns = said.results.last().map(|result| result.window.end_ns).or(first);
        if let Some(at_ns) =
            reached.take_if(|at_ns| told_ns.is_some_and(|told_ns| *at_ns <= told_ns + WINDOW))
        {
            if said.results.len() >= 3 && said.asked_ns == 0 {
                said.asked_ns = at_ns;
                let window = said.results[2].window;
                let early = Span { start_ns: 0, end_ns: WINDOW };
                let queries = vec![query("standing", "total_byte"), query("losses", "ploss_byte")];
                let ask = |id, window| LookBackTask { id, window, queries: queries.clone() };
                list.look_backs = vec![ask(1, window), ask(2, early)];
                let port = Condition::compare("dst_port", Comparison::Equal, 443);
                list.captures = ["event-1", "../event"]
                    .map(|id| CaptureTask {
                        id: id.to_owned(),
                        query: "q1".to_owned(),
                        filter: Some(Condition::Not(Box::new(port.clone()))),
                        packets: 20,
                        time: Some(Span { start_ns: at_ns, end_ns: at_ns + 2 * WINDOW }),
                    })
                    .to_vec();
                list.look_back = Some(RetentionLimits { windows: 1 << 20, flows: 1 << 20 });
                list.generation += 1;
                link.send(0, ToProbe::Tasks(list.clone())).expect("a probe");
                // Once more: what was asked is not answered again.
                list.generation += 1;
                link.send(0, ToProbe::Tasks(list.clone())).expect("a probe");
            }
            link.send(0, ToProbe::Enter { until_ns: at_ns }).expect("a probe");
        }
    }
}

#[test]
fn windows_that_are_over_and_packets_are_there_when_they_are_asked_for() {
    let folder = std::env::temp_dir().join(format!("edison-on-demand-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (controller, mut links) = memory::links(&["Node1".to_owned()]);
    let link: Arc<dyn ProbeLink> = Arc::new(links.remove(0));
    let limits = Limits::new(256 << 20, usize::MAX);
    let config = MeasurementConfig {
        every: Every::Time(WINDOW),
        limits: limits.clone(),
        seed: Seed::new(3),
        ..MeasurementConfig::default()
    };
    let site = PlanContext { window_ns: Some(WINDOW), ..PlanContext::new(config.key, config.seed, limits) };
    let site = PlanContext { node: "Node1".to_owned(), ..site };
    let planner = TaskSetPlanner::new(site, Vec::new()).with_recent_windows_bytes(64 << 20);
    let stop = Arc::new(AtomicBool::new(false));
    let gate = ReplayGate::new(WINDOW, Arc::clone(&link), Arc::clone(&stop));
    let first = planner.first().expect("nothing is refused");
    let control = Control::gated(first, Arc::clone(&gate) as Arc<dyn Gate>);
    let settings = CaptureSettings {
        folder: Some(folder.clone()),
        node: "Node1".to_owned(),
        snap: Snap::Bytes(65_535),
        ..CaptureSettings::none()
    };
    control.captures().start(settings).expect("a thread");
    let probe = Probe::start(link, planner, control.clone(), Some(gate), None, None, None).expect("a thread");
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(move || control_run(&controller));
        probe.await_tasks();
        let destinations = Destinations {
            writers: Vec::new(),
            rows: Vec::new(),
            anonymizer: None,
            windows: probe.outlet(),
            node: "Node1".to_owned(),
        };
        let outputs = Outputs::start(destinations, &config, &control, TimeBase::Packets).expect("a thread");
        let source = SyntheticSource::open("packets=2k,flows=100,rate=1000", 64).expect("a source");
        let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
        let outcome =
            engine::run(&mut sources, None, &config, &ResolvedDesign::single(), &stop, outputs, &mut Silent)
                .expect("memory");
        assert!(outcome.records.finish().faults.is_empty());
        probe.end(Vec::new());
        said.join().expect("no panic")
    });

    let [looked, early] = &said.looked_back[..] else { panic!("{:?}", said.looked_back) };
    assert_eq!((looked.id, early.id), (1, 2));
    let of = |answers: &[model::Answer]| {
        answers.iter().find(|answer| answer.query == "standing").expect("an answer").clone()
    };
    assert_eq!(of(&looked.answers), of(&said.results[2].answers));
    assert!(looked.missing.as_deref().is_some_and(|missing| missing.starts_with("losses: ")), "{looked:?}");
    assert!(early.answers.is_empty());
    assert!(early.missing.as_deref().is_some_and(|missing| missing.contains("; not_kept: ")), "{early:?}");
    assert!(said.refused.iter().all(|reason| reason.contains("look-back: a ring of ")), "{:?}", said.refused);
    assert_eq!(said.refused.len(), 2);

    let [refused, captured] = &said.captured[..] else { panic!("{:?}", said.captured) };
    assert_eq!(refused.id, "../event");
    assert!(refused.refused.as_deref().is_some_and(|reason| reason.starts_with("bad_name")), "{refused:?}");
    assert_eq!((&*captured.id, &*captured.query, captured.packets), ("event-1", "q1", 20));
    let file = folder.join("event-1.Node1.pcapng");
    assert_eq!(captured.file.as_deref(), file.to_str());
    let content = std::fs::read(&file).expect("a file");
    assert_eq!(captured.content.as_deref(), Some(&content[..]));
    std::fs::remove_dir_all(&folder).expect("it is there");
}
