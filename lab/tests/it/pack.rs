//! `edison-lab pack`: the archive runs with nothing but what it has.

use crate::program::{lab, run};
use std::fs;
use std::process::Command;
use tempfile::tempdir;

#[test]
fn the_archive_runs_with_its_own_libraries() {
    let scratch = tempdir().expect("a folder");
    let archive = scratch.path().join("edison-lab.tar");
    let ended = run(lab().args(["pack", "--out"]).arg(&archive)).expect(0);
    assert!(ended.stderr.contains(" MB; unpack it there and run edison-lab/study.sh"), "{}", ended.stderr);
    let there = scratch.path().join("there");
    fs::create_dir(&there).expect("a folder");
    run(Command::new("tar").arg("-xf").arg(&archive).current_dir(&there)).expect(0);
    let packed = there.join("edison-lab");

    // The loader finds every library in the folder.
    let loader = fs::read_dir(packed.join("lib")).expect("libraries");
    let loader = loader.filter_map(|entry| Some(entry.ok()?.path()));
    let is_loader = |path: &std::path::PathBuf| path.to_string_lossy().contains("/ld-");
    let loader = loader.into_iter().find(is_loader).expect("a loader");
    let lib = packed.join("lib");
    let listed = run(Command::new(loader)
        .arg("--library-path")
        .arg(&lib)
        .arg("--list")
        .arg(packed.join("bin/edison-lab")))
    .expect(0);
    for line in listed.stdout.lines().filter(|line| line.contains(" => ")) {
        assert!(line.contains(&lib.display().to_string()), "a library of this machine: {line}");
    }

    // It answers as this program does, and measures into the folder that the script names.
    let list = run(lab().args(["study", "--list"])).expect(0).stdout;
    let program = || {
        let mut program = Command::new(packed.join("edison-lab"));
        program.env_clear().env("PATH", "/usr/bin:/bin").current_dir(&there);
        program
    };
    assert_eq!(run(program().args(["study", "--list"])).expect(0).stdout, list);
    let mut script = Command::new(packed.join("study.sh"));
    script.args(["alipourfard", "figure-4", "--quick"]).env_clear().env("PATH", "/usr/bin:/bin");
    run(script.current_dir(&there)).expect(0);
    assert!(there.join("results.tar.gz").is_file() && there.join("results/machine.json").is_file());

    // Here its results are shown next to those of this machine.
    let out = scratch.path().join("study");
    let ended = run(lab()
        .args(["study", "alipourfard", "figure-4", "--out"])
        .arg(&out)
        .args(["--quick", "--beside"])
        .arg(there.join("results")))
    .expect(0);
    assert!(ended.stdout.contains("alipourfard figure-4: "), "{}", ended.stdout);
    assert!(out.join("alipourfard-figure-4-beside.svg").is_file());
}

#[test]
fn an_archive_that_cannot_be_written_is_said_in_a_line() {
    let scratch = tempdir().expect("a folder");
    let ended = run(lab().args(["pack", "--out"]).arg(scratch.path().join("none/edison-lab.tar")));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("none/edison-lab.tar: "), "{}", ended.stderr);
}
