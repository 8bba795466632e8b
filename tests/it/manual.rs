//! Manual pages, as `man` shows them.

use crate::support::program::{edison, run};
use crate::support::scratch::{Scratch, text};
use std::process::Command;

#[test]
fn each_command_has_a_page_with_its_help() {
    let scratch = Scratch::new();
    let folder = scratch.path("man");
    run(edison().args(["man", text(&folder)])).expect(0);
    // Again: pages take the place of those before.
    run(edison().args(["man", text(&folder)])).expect(0);
    let help = run(edison().arg("--help")).expect(0).stdout;
    let listed = help.split("Measure:\n").nth(1).and_then(|rest| rest.split("Options:\n").next());
    let names = listed.expect("a list").lines().filter_map(|line| line.strip_prefix("  "));
    let commands = names.filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    assert!(commands.contains(&"run") && commands.contains(&"man"), "{commands:?}");
    for command in commands {
        let page = folder.join(format!("edison-{command}.1"));
        let shown =
            Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-P-cbou", "-ww", text(&page)]).output();
        let shown = shown.expect("groff is there");
        let warnings = String::from_utf8_lossy(&shown.stderr).into_owned();
        assert!(shown.status.success() && warnings.is_empty(), "{command}: {warnings}");
        let shown = String::from_utf8_lossy(&shown.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&format!("edison {command}")), "{shown}");
        assert!(!shown.contains("EXTRA"), "{shown}");
    }
    let page = std::fs::read_to_string(folder.join("edison-check.1")).expect("a page");
    let examples = page.split(".SH EXAMPLES\n.nf\n").nth(1).expect("examples");
    assert!(examples.contains("Examples:\n"), "{examples}");
    run(edison().args(["man", "/proc/none"])).says(2, &["/proc/none"]);
}
