//! The commands of pages of documentation run as they stand, and print what the pages say (`scripts/doc-commands`).

#[allow(dead_code, reason = "each test program uses a part")]
mod support;

use std::path::Path;
use std::process::Command;
use support::program::run;

/// What the script ends with where it can run nothing.
const CANNOT_RUN: i32 = 77;

/// Runs the commands of a page.
#[track_caller]
fn runs(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut script = Command::new(root.join("scripts/doc-commands"));
    let ended = run(script.arg(root.join(page)).env("EDISON", env!("CARGO_BIN_EXE_edison")));
    if ended.code == Some(CANNOT_RUN) {
        eprintln!("skipped: {}", ended.stderr.trim());
        return;
    }
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    println!("{}", ended.stdout);
}

#[test]
fn the_readme() {
    runs("README.md");
}

#[test]
fn the_install_page() {
    runs("docs/install.md");
}

#[test]
fn the_tour() {
    runs("docs/tour.md");
}

#[test]
fn the_lines_for_jq() {
    runs("docs/json.md");
}

#[test]
fn the_service() {
    runs("docs/service.md");
}
