//! `edison-lab study`: a figure from measurement to page, and going on where it was ended.

use crate::program::{lab, run};
use roxmltree::Document;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// The cheapest figure. On one core its points say that they need two.
const FIGURE: [&str; 4] = ["study", "alipourfard", "figure-4", "--quick"];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_figure_is_measured_drawn_judged_and_kept() {
    let scratch = tempdir().expect("a folder");
    let out = scratch.path().join("study");
    let measure = |more: &[&str]| run(lab().args(FIGURE).arg("--out").arg(&out).args(more)).expect(0);
    let ended = measure(&["--json"]);
    let figures: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&read(&out.join("figures.json"))).expect("JSON"), figures);
    let [figure] = figures.as_array().expect("a list").as_slice() else { panic!("{figures}") };
    assert_eq!((&figure["paper"], &figure["figure"]), (&"alipourfard".into(), &"figure-4".into()));
    assert!(figure["finding"].is_string() && figure["why"].is_string(), "{figure}");
    let points = &figure["points"];
    let number = |name: &str| points[name].as_u64().expect("a number");
    assert!(number("of") > 0 && number("measured") + number("impossible_here") == number("of"), "{points}");
    // Whether it holds is decided by rounds that do not overlap, on a machine that did nothing else; never on a busy one.
    let is_decided = figure["holds"].is_boolean();
    assert!(is_decided || figure["holds"].is_null(), "{figure}");
    assert!(!is_decided || (number("measured") > 0 && figure["busy"] == false), "{figure}");
    if number("measured") > 0 && figure["busy"] == true {
        assert!(
            figure["why"].as_str().is_some_and(|why| why.contains("the machine was busy (load ")),
            "{figure}"
        );
    }
    let svg = read(&out.join(figure["svg"].as_str().expect("a path")));
    let document = Document::parse(&svg).expect("well-formed");
    let has = |name: &str| document.root_element().children().any(|node| node.has_tag_name(name));
    assert!(has("title") && has("desc"));
    let csv = read(&out.join(figure["csv"].as_str().expect("a path")));
    assert!(csv.starts_with("series,") && csv.lines().count() > number("of") as usize, "{csv}");
    assert!(!csv.contains(",false,"), "{csv}");
    let page = read(&out.join("index.html"));
    assert!(page.contains(&svg));
    assert!(page.contains("The paper&#39;s finding, that "));
    for other in ["<script", "<link", "src=", "@import"] {
        assert!(!page.contains(other), "the page loads something: {other}");
    }

    let again = measure(&[]);
    assert!(again.stderr.contains(": 0 points measured"), "{}", again.stderr);
    assert!(again.stdout.starts_with("alipourfard figure-4: The paper's finding, that "), "{}", again.stdout);
    let anew = measure(&["--anew"]);
    assert!(anew.stderr.contains(&format!(": {} points measured", number("measured"))), "{}", anew.stderr);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_measured() {
    let scratch = tempdir().expect("a folder");
    let file = scratch.path().join("file");
    fs::write(&file, "x").expect("a file");
    let new = scratch.path().join("new").display().to_string();
    let file = file.display().to_string();
    for (arguments, code, expected) in [
        (vec!["alipourfart", "--out", &new], 2, "no paper 'alipourfart': did you mean 'alipourfard'?"),
        (vec!["alipourfard", "figure-44", "--out", &new], 2, "did you mean 'figure-4'?"),
        (vec!["alipourfard"], 2, "--out"),
        (vec!["alipourfard", "--quick", "--out", &file], 1, "file/measured: "),
    ] {
        let ended = run(lab().arg("study").args(&arguments));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert!(!Path::new(&new).exists());
}

#[test]
fn the_documentation_lists_every_figure() {
    let list = run(lab().args(["study", "--list"])).expect(0).stdout;
    let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/study.md"));
    assert!(page.contains(&list), "docs/study.md has another list than:\n{list}");
    let json = run(lab().args(["study", "--list", "--json"])).expect(0).stdout;
    let figures: Value = serde_json::from_str(&json).expect("JSON");
    for figure in figures.as_array().expect("a list") {
        assert!(list.contains(figure["command"].as_str().expect("a command")), "{figure}");
    }
}
