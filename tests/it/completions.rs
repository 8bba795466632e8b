//! What a shell completes: bash itself runs the script.

use crate::support::program::{edison, run};
use crate::support::scratch::Scratch;
use std::process::Command;

/// Completes the last of the words as bash would, by the function that the script declares.
const COMPLETE: &str = r#"
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_edison edison "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$((COMP_CWORD - 1))]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
fn bash_completes_values() {
    let scratch = Scratch::new();
    let script = scratch.file("edison.bash", run(edison().args(["completions", "bash"])).expect(0).stdout);
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("skipped: bash is not installed");
        return;
    }
    let complete = |words: &[&str]| {
        let mut bash = Command::new("bash");
        bash.args(["-c", COMPLETE, "bash"]).arg(&script).args(words);
        let said = run(&mut bash).expect(0);
        said.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["edison", "run", "--fields", "total_"]), ["total_count", "total_byte"]);
    assert_eq!(complete(&["edison", "run", "--key", "dst"]), ["dst_addr", "dst_port"]);
    assert_eq!(complete(&["edison", "run", "--design", "s"]), ["sync"]);
    assert_eq!(complete(&["edison", "run", "--split", "p"]), ["position"]);
    assert_eq!(complete(&["edison", "run", "--gap", "m"]), ["mean"]);
    assert_eq!(complete(&["edison", "run", "--preset", "w"]), ["wu"]);
    assert_eq!(complete(&["edison", "run", "--task", "heavy"]), ["heavy-hitters"]);
    assert_eq!(complete(&["edison", "run", "--tunnel", "i"]), ["inner"]);
    assert_eq!(complete(&["edison", "fie"]), ["fields"]);
    // The fields of a file are those that `edison fields` lists.
    let listed = run(edison().args(["fields", "--json"])).expect(0).stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let is_of_files = |field: &&serde_json::Value| {
        !field["option"].as_str().is_some_and(|option| option.contains("--query"))
    };
    let of_files = listed.as_array().expect("a list").iter().filter(is_of_files);
    let names = of_files.filter_map(|field| field["name"].as_str());
    let names: Vec<_> = names.filter(|name| !name.contains(['{', '*'])).collect();
    assert_eq!(complete(&["edison", "run", "--fields", ""]), names);
}
