//! The program `edison-lab`, as its users call it.

mod accuracy;
mod pack;
mod presets;
mod program;
mod study;

use program::{lab, run};

#[test]
fn the_helps_have_examples_and_the_manual_has_them() {
    for (words, example) in [
        (&["--help"][..], "edison-lab study --out study --quick"),
        (&["bench", "--help"], "edison-lab bench table --flows 1M --json"),
        (&["study", "--help"], "edison-lab study alipourfard figure-1 --out study"),
        (&["pack", "--help"], "edison-lab pack --out edison-lab.tar.xz"),
    ] {
        let ended = run(lab().args(words)).expect(0);
        assert!(ended.stdout.contains("Examples:") && ended.stdout.contains(example), "{}", ended.stdout);
    }
    let folder = tempfile::tempdir().expect("a folder");
    run(lab().arg("man").arg(folder.path())).expect(0);
    let page = std::fs::read_to_string(folder.path().join("edison-lab-bench.1")).expect("a page");
    assert!(page.contains(".SH EXAMPLES\n.nf\nExamples:\n"), "{page}");
}

#[test]
fn a_mistake_names_the_fix_in_one_line() {
    run(lab().args(["bench", "tabel"])).says(2, &["no bench 'tabel'", "'table'"]);
    run(lab().args(["bench", "table", "--jsn"])).says(2, &["'--jsn'", "'--json'"]);
    run(lab().arg("bench")).says(2, &["required"]);
}

#[test]
fn a_bench_of_edison_itself_needs_the_program() {
    let nowhere = "/nonexistent/edison";
    run(lab().args(["bench", "capture", "--packets", "1k", "--seconds", "0.1"]).env("EDISON", nowhere))
        .says(1, &[nowhere, "cargo build --release", "EDISON"]);
}
