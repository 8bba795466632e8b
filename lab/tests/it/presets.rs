//! `edison-lab bench` with the settings of papers.

use crate::program::{lab, run};
use serde_json::Value;

/// The papers' settings on however few cores there are: each line states which, what it used instead, and is
/// right.
#[test]
fn benches_with_the_papers_settings() {
    for (bench, preset, lines) in [("designs", "ares", 12), ("designs", "wu", 36), ("scale", "flowatcher", 7)]
    {
        let arguments =
            ["--preset", preset, "--packets", "20k", "--flows", "500", "--seconds", "0.1", "--json"];
        let ended = run(lab().args(["bench", bench]).args(arguments)).expect(0);
        let found: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(found.len(), lines, "{}", ended.stdout);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for line in &found {
            assert_eq!((&line["params"]["preset"], &line["checked"]), (&preset.into(), &true.into()));
            let [receive, free, delay] = ["receive_ns", "free_ns", "delay_ns"]
                .map(|name| line[name].as_f64().unwrap_or_else(|| panic!("{name}: {line}")));
            assert!(receive > 0.0 && receive + free <= delay, "{line}");
            assert!(free > 0.0, "mbufs are freed: {line}");
            let threads = line["busy"].as_array().map_or(0, Vec::len);
            assert!(threads >= 1 && !line["cycles"].is_null(), "{line}");
            // 500 flows over two queues: with a single queue, that one has all.
            let queues = line["params"]["queues"].as_u64();
            let fullest = line["fullest"].as_f64().unwrap_or_else(|| panic!("fullest: {line}"));
            match queues {
                Some(1) => assert_eq!(fullest, 1.0, "{line}"),
                // How much each has lost depends on the machine.
                _ => assert!(fullest < 1.0 && fullest * threads as f64 >= 0.999, "{line}"),
            }
            let asked = match (bench, preset) {
                ("designs", "wu") => 6,
                ("scale", _) if line["variant"].as_str().is_some_and(|name| !name.starts_with("rss_1")) => 2,
                _ => threads,
            };
            assert_eq!(line["instead"].is_null(), asked <= cores, "{line}");
        }
    }
    run(lab().args(["bench", "designs", "--preset", "nobody"])).says(2, &["nobody", "wu, ares, flowatcher"]);
    run(lab().args(["bench", "table", "--preset", "wu"])).says(2, &["--preset", "designs, rate, scale"]);
    let listed = run(lab().args(["bench", "--list"])).expect(0).stdout;
    assert!(listed.contains("--preset wu") && listed.contains("section 4.3"), "{listed}");
}
