//! Measures generated traffic and prints each window's totals and its largest flow: `cargo run -p engine --example count`.

use engine::{Control, Destinations, Every, MeasurementConfig, Observer, Outputs, ResolvedDesign, Snapshot};
use model::Window;
use packet::KeySpec;
use port::{PacketSource, SyntheticSource};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use task::query::{Expression, GroupField, Order, OutputColumn, Query};
use task::rows::PlanContext;
use task::{Generation, TaskSet};

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: Snapshot) {}
    fn warning(&mut self, line: String) {
        eprintln!("{line}");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let source = SyntheticSource::open("packets=100k,flows=5k,rate=50k", 256)?;
    let mut sources: Vec<Box<dyn PacketSource>> = vec![Box::new(source)];
    let config = MeasurementConfig { every: Every::Time(1_000_000_000), ..MeasurementConfig::default() };
    let largest = Query {
        order: vec![Order::largest(Expression::sum("total_byte"))],
        limit: Some(1),
        ..Query::new(
            "largest",
            KeySpec::FIVE_TUPLE.columns().map(GroupField::from_field),
            [OutputColumn::sum("total_count"), OutputColumn::sum("total_byte")],
        )
    };
    let site = PlanContext::new(config.key, config.seed, config.limits.clone());
    let set = TaskSet::plan(Generation::default(), &[largest], None, &site)
        .map_err(|refused| format!("{refused:?}"))?;
    let control = Control::new(Arc::new(set));
    let config = MeasurementConfig { control: Some(control.clone()), ..config };
    let windows = Box::new(|window: Window| {
        println!("{}", terminal::window_answers(&window, terminal::Paper::PLAIN));
        true
    });
    let destinations = Destinations {
        writers: Vec::new(),
        rows: Vec::new(),
        anonymizer: None,
        windows,
        node: "example".to_owned(),
    };
    let outputs = Outputs::start(destinations, &config, &control, sources[0].time_base())?;
    let stop = AtomicBool::new(false);
    let outcome =
        engine::run(&mut sources, None, &config, &ResolvedDesign::single(), &stop, outputs, &mut Silent)?;
    let packets = outcome.ended.packets;
    assert_eq!(packets.received, packets.measured + packets.not_measured.total());
    println!("{} packets measured", packets.measured);
    outcome.records.finish();
    Ok(())
}

#[cfg(test)]
#[test]
fn it_runs() {
    main().expect("a run");
}
