//! The commands of the documentation run as they stand, and print what its pages say (`scripts/doc-commands`).

use crate::support::program::{Ended, run};
use crate::support::scratch::{Scratch, text};
use std::path::Path;
use std::process::Command;

/// What the script ends with where it can run nothing.
const CANNOT_RUN: i32 = 77;

/// Pages whose commands other tests run: `cookbook`.
const ELSEWHERE: [&str; 1] = ["docs/cookbook.md"];

/// Pages that take longer than others, each with a test of its own.
const OWN: [&str; 3] = ["README.md", "docs/tour.md", "docs/json.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the commands of pages; what the script said of them.
fn commands(pages: &[&str]) -> Ended {
    let mut script = Command::new(root().join("scripts/doc-commands"));
    script.args(pages).current_dir(root()).env("EDISON", env!("CARGO_BIN_EXE_edison"));
    run(&mut script)
}

/// The commands of these pages run and print what the pages say.
#[track_caller]
fn runs(pages: &[&str]) {
    let ended = commands(pages);
    if ended.code == Some(CANNOT_RUN) {
        eprintln!("skipped: {}", ended.stderr.trim());
        return;
    }
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    println!("{}", ended.stdout);
}

/// The README and the pages of `docs` that have commands.
fn pages() -> Vec<String> {
    let files = std::fs::read_dir(root().join("docs")).expect("the documentation");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8"));
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".to_owned());
    pages.retain(|page| {
        let text = std::fs::read_to_string(root().join(page)).expect("a page");
        text.contains("\n```sh\n") || text.contains("\n```console\n")
    });
    pages.sort();
    pages
}

#[test]
fn the_readme() {
    runs(&OWN[..1]);
}

#[test]
fn the_tour() {
    runs(&OWN[1..2]);
}

#[test]
fn the_lines_for_jq() {
    runs(&OWN[2..]);
}

#[test]
fn the_other_pages() {
    let pages = pages();
    let has = |name: &&str| pages.iter().any(|page| page == name);
    assert!(OWN.iter().chain(&ELSEWHERE).all(has), "{pages:?}");
    let is_other = |page: &&str| !OWN.contains(page) && !ELSEWHERE.contains(page);
    let others: Vec<&str> = pages.iter().map(String::as_str).filter(is_other).collect();
    assert!(others.len() > 10, "{others:?}");
    // Each has the whole time of a call.
    others.iter().for_each(|page| runs(&[page]));
}

#[test]
fn what_is_wrong_is_found() {
    let scratch = Scratch::new();
    let version = env!("CARGO_PKG_VERSION");
    for (block, wrong) in [
        (format!("console\n$ edison --version\nedison {version} …"), None),
        ("console\n$ edison --version\nedison …\n…".to_owned(), None),
        ("console\n$ edison --version\nedison 0".to_owned(), Some("prints something else")),
        ("console\n$ edison --version".to_owned(), Some("prints something else")),
        ("console\n$ edison nonsense 2>error\n$ echo".to_owned(), Some("this ended with code 2")),
        ("sh\nedison nonsense\ntrue".to_owned(), Some("this ended with code 2")),
        ("sh\nedison nonsense | cat\ntrue".to_owned(), Some("this ended with code 2")),
    ] {
        let page = scratch.file("page.md", format!("# Page\n\n```{block}\n```\n"));
        let ended = commands(&[text(&page)]);
        if ended.code == Some(CANNOT_RUN) {
            eprintln!("skipped: {}", ended.stderr.trim());
            return;
        }
        assert_eq!(ended.code, Some(i32::from(wrong.is_some())), "{block}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(wrong.unwrap_or("1 commands, 0 faults")), "{block}: {}", ended.stdout);
    }
}
