//! The report has the schema of `docs/schema/rfc2544.json`, which is that of its types.

use jsonschema::{Registry, Validator};
use rfc2544::{
    ArrivalCounts, Delays, DeviceUnderTest, Rfc2544Report, SCHEMA, SentCounts, TestSettings, TrialEnd,
    TrialOutcome, TrialPlan, report_text,
};
use serde_json::Value;

const FILE: &str = include_str!("../../../../docs/schema/rfc2544.json");

fn validator() -> Validator {
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let of_answers = parse(include_str!("../../../../docs/schema/answer.json"));
    let registry = Registry::new().add("urn:edison:answer", &of_answers).expect("a schema");
    let registry = registry.prepare().expect("a registry");
    jsonschema::options().with_registry(&registry).build(&parse(FILE)).expect("a schema")
}

#[test]
fn the_schema_is_that_of_the_types() {
    let hint = "`cargo run -p rfc2544 --example schema` writes docs/schema/rfc2544.json";
    assert!(model::schema::text(&rfc2544::schema::report()) == FILE, "{hint}");
}

/// A device that forwards a third of what comes, and of a slow trial all.
struct Third;

impl DeviceUnderTest for Third {
    fn trial(&mut self, plan: &TrialPlan) -> Result<TrialOutcome, TrialEnd> {
        let received = if plan.rate <= 100_000 { plan.frames } else { plan.frames / 3 };
        let delays = Delays {
            frames: received,
            min_ns: 5000,
            max_ns: 9000,
            sum_ns: 7000 * u128::from(received),
            tagged_ns: plan.tagged.then_some(6000),
            clock_was_set: 0,
        };
        let arrived = ArrivalCounts { received, foreign: 2, delays, ..ArrivalCounts::default() };
        let sent = SentCounts { frames: plan.frames, elapsed_ns: plan.length_ns(), ..SentCounts::default() };
        Ok(TrialOutcome::new(plan, &sent, &arrived, 1))
    }
}

fn report(sizes: Vec<u32>) -> Rfc2544Report {
    let settings = TestSettings { sizes, burst_repeats: 2, ..TestSettings::of_rfc(10_000_000_000) };
    let (sizes, end) = rfc2544::run(&mut Third, &settings, &mut |_| {});
    assert_eq!(end, Ok(()));
    Rfc2544Report {
        schema: SCHEMA,
        tx: "eth0".into(),
        rx: "eth1".into(),
        settings,
        sizes,
        ended_early: false,
        fault: None,
    }
}

#[test]
fn a_report_has_the_schema() {
    for sizes in [vec![64, 1518], vec![]] {
        let value = serde_json::to_value(report(sizes)).expect("JSON");
        if let Err(error) = validator().validate(&value) {
            panic!("{error} at {}", error.instance_path());
        }
    }
    let mut wrong = serde_json::to_value(report(vec![64])).expect("JSON");
    wrong["sizes"][0]["throughput"]["limit"] = "weather".into();
    assert!(!validator().is_valid(&wrong));
}

#[test]
fn the_tables_have_the_figures() {
    let text = report_text(&report(vec![64, 1518]));
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let after = |heading: &str| {
        let at = text.lines().position(|line| line.starts_with(heading)).expect(heading);
        lines[at + 2].clone()
    };
    // It passes 100,000 frames per second; one of 64 bytes takes 672 bits. The search resolves a thousandth of the maximum.
    let throughput = after("Throughput (section 26.1)");
    assert_eq!(throughput[..2], ["64", "14,880,952"]);
    let found: u64 = throughput[2].replace(',', "").parse().expect("a rate");
    assert!((85_121..=100_000).contains(&found), "{throughput:?}");
    assert_eq!(after("Latency at the throughput")[2..7], ["20", "of", "20", "6.0", "µs"]);
    assert_eq!(after("Frame loss rate")[..3], ["64", "100", "%"]);
    assert_eq!(after("Back-to-back frames")[0], "64");
    assert!(text.contains("frames of all trials: "), "{text}");
}
