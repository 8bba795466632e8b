//! `scripts/install` and `scripts/build` say in one line what a machine lacks, and what to do. Each test replaces the programs that tell about the
//! machine (apt-get, cargo, df, id, …); the shell and its tools are real.

use crate::support::program::{Ended, run};
use crate::support::scratch::{Scratch, text};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs that the scripts call and no test replaces.
const TOOLS: [&str; 22] = [
    "awk", "cat", "cut", "dirname", "du", "env", "false", "grep", "head", "id", "mktemp", "mv", "nproc",
    "rm", "sed", "sh", "sleep", "sort", "tail", "tee", "touch", "uname",
];

/// Returns the path of a program of this system.
fn real(name: &str) -> PathBuf {
    let path = std::env::var("PATH").expect("a path");
    let found = path.split(':').map(|folder| Path::new(folder).join(name)).find(|it| it.exists());
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

/// A machine whose only programs are those of a folder.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    /// A Debian with all that the build needs: a toolchain, packages, disk space, memory and two cores. The user is root.
    fn new() -> Self {
        let machine = Self { scratch: Scratch::new() };
        fs::create_dir(machine.scratch.path("bin")).expect("a new directory");
        for tool in TOOLS {
            symlink(real(tool), machine.program(tool)).expect("a link");
        }
        machine
            .with("rustc", "echo 'rustc 1.95.0 (59807616e 2026-04-14)'")
            .with("cargo", "echo built with ${CARGO_BUILD_JOBS:-all} jobs: \"$@\"")
            .with("cc", "cat >/dev/null")
            .with("pkg-config", "exit 0")
            .with("apt-get", "echo apt-get \"$@\" >>$HOME/calls")
            .with("id", "echo 0")
            .with("nproc", "echo 2")
            .space(50)
            .file("meminfo", "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\nSwapFree: 0 kB\n")
            .file("memory.max", "max\n")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.scratch.path("bin").join(name)
    }

    /// Replaces a program by this shell script.
    fn with(self, name: &str, script: &str) -> Self {
        let path = self.program(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        self
    }

    fn without(self, name: &str) -> Self {
        fs::remove_file(self.program(name)).expect("it was there");
        self
    }

    /// Sets the free space of every disk.
    fn space(self, gib: u64) -> Self {
        let line = format!("echo none 99999999 0 {} 0% /", gib << 20);
        self.with("df", &format!("echo Filesystem 1024-blocks Used Available Capacity Mounted on\n{line}"))
    }

    fn file(self, name: &str, content: &str) -> Self {
        self.scratch.file(name, content);
        self
    }

    /// Lacks the libraries until apt-get has installed them.
    fn bare(self) -> Self {
        self.with("pkg-config", "test -e $HOME/installed").with(
            "apt-get",
            "echo apt-get \"$@\" >>$HOME/calls\ncase $1 in install) touch $HOME/installed ;; esac",
        )
    }

    /// The user is not root.
    fn user(self) -> Self {
        self.with("id", "case ${1:-} in -un) echo ada ;; *) echo 1000 ;; esac")
    }

    /// Calls a script of the repository, without a terminal.
    fn call(&self, script: &str, arguments: &[&str]) -> Ended {
        let mut command = Command::new(real("setsid"));
        command.arg("--wait").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(script));
        command.args(arguments).env_clear();
        for (name, path) in [
            ("PATH", "bin"),
            ("HOME", ""),
            ("TMPDIR", ""),
            ("CARGO_TARGET_DIR", "target"),
            ("BUILD_MEMINFO", "meminfo"),
            ("BUILD_CGROUP", ""),
        ] {
            command.env(name, self.scratch.path(path));
        }
        run(&mut command)
    }

    fn installs(&self, groups: &[&str]) -> Ended {
        self.call("install", groups)
    }

    fn builds(&self) -> Ended {
        self.call("build", &["--release"])
    }

    /// Returns the calls of apt-get.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.scratch.path("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

/// Expects this exit code, and one line on standard error, which has all words.
#[track_caller]
fn one_line(ended: Ended, code: i32, words: &[&str]) {
    let ended = ended.expect(code);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "no {word:?} in: {}", ended.stderr);
    }
}

/// Expects this exit code, and a last line on standard error that has all words.
#[track_caller]
fn last_line(ended: Ended, code: i32, words: &[&str]) {
    let ended = ended.expect(code);
    let last = ended.stderr.lines().last().expect("a line");
    assert!(last.starts_with("scripts/build: "), "{}", ended.stderr);
    for word in words {
        assert!(last.contains(word), "no {word:?} in: {}", ended.stderr);
    }
}

#[test]
fn a_machine_that_has_all_is_left_alone() {
    let machine = Machine::new();
    let ended = machine.installs(&["build"]).expect(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let ended = machine.builds().expect(0);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str()),
        ("built with all jobs: build --release\n", "")
    );
    let ended = machine.call("build", &["test", "--no-run"]).expect(0);
    assert_eq!(ended.stdout, "built with all jobs: test --no-run\n");
    assert_eq!(machine.calls(), [""; 0]);
    one_line(machine.installs(&["nonsense"]), 2, &["'nonsense' is no group"]);
}

#[test]
fn a_toolchain_that_is_not_there_or_too_old() {
    let rustup = "see https://rustup.rs";
    one_line(Machine::new().without("cargo").installs(&["build"]), 1, &["no Rust toolchain", "1.88", rustup]);
    one_line(Machine::new().without("rustc").installs(&["build"]), 1, &["no Rust toolchain", "1.88", rustup]);
    let debian = || Machine::new().with("rustc", "echo 'rustc 1.63.0'");
    one_line(debian().installs(&["build"]), 1, &["Rust 1.63.0 is too old", "1.88", rustup]);
    let old = debian().with("rustup", "exit 1");
    one_line(old.installs(&["build"]), 1, &["Rust 1.63.0 is too old", "1.88", "rustup update stable"]);
    let none = Machine::new().with("rustc", "echo 'error: no default toolchain' >&2\nexit 1");
    one_line(none.installs(&["build"]), 1, &["rustup default stable"]);
    for (version, code) in [("1.87.0", 1), ("1.88.0", 0), ("1.100.0-nightly", 0), ("2.0.0", 0), ("0.99.0", 1)]
    {
        let ended = Machine::new().with("rustc", &format!("echo 'rustc {version} (x)'")).installs(&["build"]);
        assert_eq!(ended.code, Some(code), "{version}: {}", ended.stderr);
    }
}

#[test]
fn packages_are_installed_where_apt_get_is() {
    let machine = Machine::new().bare();
    let ended = machine.installs(&["build"]).expect(0);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.stdout, "Installing with apt-get: libdpdk-dev libpcap-dev\n");
    let calls = machine.calls();
    assert_eq!(
        calls,
        ["apt-get update -q", "apt-get install -qy --no-install-recommends libdpdk-dev libpcap-dev"]
    );
    // A compiler without the C library's headers.
    let machine = Machine::new().bare().with("cc", "cat >/dev/null\ntest -e $HOME/installed");
    machine.installs(&["build"]).expect(0);
    assert!(machine.calls()[1].ends_with(" libc6-dev libdpdk-dev libpcap-dev"), "{:?}", machine.calls());
    // pkg-config does not find what apt-get has installed.
    let machine = Machine::new().with("pkg-config", "exit 1");
    one_line(machine.installs(&["build"]), 1, &["libdpdk-dev libpcap-dev", "PKG_CONFIG_PATH"]);
}

#[test]
fn another_distribution_is_told_what_is_missing() {
    let fedora = || Machine::new().without("apt-get");
    // Nothing is missing.
    assert_eq!(fedora().installs(&["build"]).expect(0).stderr, "");
    let bare = fedora().with("pkg-config", "exit 1");
    let words = ["no apt-get", "libdpdk-dev libpcap-dev (Debian's", " dpdk-devel libpcap-devel (Fedora's"];
    one_line(bare.installs(&["build"]), 1, &words);
    let bare = fedora().without("pkg-config").without("cc");
    one_line(bare.installs(&["build", "test"]), 1, &["gcc libc6-dev", "pkg-config", "pkgconf-pkg-config"]);
    let old =
        r#"case "$*" in *--modversion*libdpdk) echo 21.11.2 ;; *--atleast-version=22.11*) exit 1 ;; esac"#;
    one_line(
        fedora().with("pkg-config", old).installs(&["build"]),
        1,
        &["libdpdk 21.11.2 is too old", "22.11"],
    );
    // The build does not need what only tests need.
    let bare = fedora().with("python3", "exit 1");
    one_line(bare.installs(&["build", "book"]), 0, &["not everything runs", "python3-venv"]);
}

#[test]
fn a_network_that_does_not_lead_to_packages() {
    let script = "case $1 in
        update) echo 'W: Some index files failed to download. They have been ignored, or old ones used instead.' ;;
        *) echo 'E: Failed to fetch http://deb.example.net/x.deb  Temporary failure resolving' >&2; exit 100 ;;
        esac";
    let machine = Machine::new().bare().with("apt-get", script);
    one_line(machine.installs(&["build"]), 1, &["network", "apt-get install libdpdk-dev libpcap-dev"]);
    // apt-get that has never fetched its lists knows no package.
    let script = "case $1 in
        update) echo 'W: Failed to fetch http://deb.example.net/  Could not connect to deb.example.net:80' >&2 ;;
        *) echo 'E: Unable to locate package libdpdk-dev' >&2; exit 100 ;;
        esac";
    let machine = Machine::new().bare().with("apt-get", script);
    one_line(machine.installs(&["build"]), 1, &["network", "apt-get install libdpdk-dev libpcap-dev"]);
    // Other errors of apt-get are passed on.
    let script =
        "echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7' >&2; exit 100";
    let machine = Machine::new().bare().with("apt-get", script);
    one_line(machine.installs(&["build"]), 1, &["apt-get update", "It is held by process 7"]);
}

#[test]
fn a_user_without_root_is_told_which_packages_to_ask_for() {
    let asks = ["ask an administrator for: apt-get install libdpdk-dev libpcap-dev"];
    let user = || Machine::new().bare().user();
    one_line(user().installs(&["build"]), 1, &asks);
    let machine = user().with("sudo", "echo 'sudo: a password is required' >&2\nexit 1");
    one_line(machine.installs(&["build"]), 1, &asks);
    assert_eq!(machine.calls(), [""; 0]);
    // sudo gives rights. Without anything to install, none are needed.
    let machine = user().with("sudo", "shift\n\"$@\"").with("true", "");
    machine.installs(&["build"]).expect(0);
    assert_eq!(machine.calls().len(), 2);
    assert_eq!(Machine::new().user().installs(&["build"]).expect(0).stderr, "");
}

#[test]
fn a_disk_without_room() {
    one_line(Machine::new().space(1).builds(), 1, &["1.0 GiB are free in ", "takes 3", "CARGO_TARGET_DIR"]);
    let machine = Machine::new().space(6);
    machine.builds().expect(0);
    one_line(machine.call("build", &["test", "--no-run"]), 1, &["6.0 GiB are free in ", "takes 12"]);
    // An earlier build takes 2 GiB of the 3.
    let machine = Machine::new().space(1).with("du", "echo 2097152 target");
    fs::create_dir(machine.scratch.path("target")).expect("a new directory");
    machine.builds().expect(0);
}

#[test]
fn a_disk_that_fills() {
    let cargo = "echo 'error: failed to write x.rlib: No space left on device (os error 28)' >&2
        echo 'error: could not compile `x` (lib) due to 1 previous error' >&2
        exit 101";
    last_line(
        Machine::new().with("cargo", cargo).builds(),
        101,
        &["the disk of ", " is full", "CARGO_TARGET_DIR"],
    );
    // The disk of downloads is full.
    let df = "case $* in */.cargo) free=0 ;; *) free=90000000 ;; esac
        echo Filesystem; echo none 99999999 0 $free 0% /";
    let machine = Machine::new().with("cargo", cargo).with("df", df);
    fs::create_dir(machine.scratch.path(".cargo")).expect("a new directory");
    last_line(machine.builds(), 101, &["/.cargo is full", "CARGO_HOME"]);
}

#[test]
fn a_small_disk_is_seen_by_the_systems_own_df() {
    let machine = Machine::new().without("df");
    let small = machine.scratch.path("target");
    fs::create_dir(&small).expect("a new directory");
    let script = r#"mount -t tmpfs -o size=64m none "$1" || exit 77
        CARGO_TARGET_DIR=$1 exec "$2" --release"#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh", text(&small)]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/build"));
    let ended = run(&mut command);
    if ended.code == Some(77) || ended.stderr.contains("unshare") {
        eprintln!("skipped: mounting takes root: {}", ended.stderr.trim_end());
        return;
    }
    one_line(ended, 1, &["0.1 GiB are free in ", text(&small)]);
}

#[test]
fn a_folder_that_cannot_be_written() {
    // Nothing is forbidden to root.
    // SAFETY: no arguments, no pointers.
    if unsafe { libc::geteuid() } == 0 {
        eprintln!("skipped: root writes everywhere");
        return;
    }
    let machine = Machine::new().user();
    let target = machine.scratch.path("target");
    fs::create_dir(&target).expect("a new directory");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o555)).expect("a mode");
    one_line(machine.builds(), 1, &["cannot be written", "sudo chown -R ada "]);
}

#[test]
fn little_memory_takes_fewer_jobs() {
    let small = "MemTotal: 4000000 kB\nMemAvailable: 3000000 kB\nSwapFree: 0 kB\n";
    let ended = Machine::new().file("meminfo", small).builds();
    assert_eq!(ended.stdout, "built with 1 jobs: build --release\n");
    one_line(ended, 0, &["2.9 GiB of memory", "1 of 2 cores", " minutes"]);
    // Swap counts.
    let swap = small.replace("SwapFree: 0", "SwapFree: 3000000");
    assert_eq!(Machine::new().file("meminfo", &swap).builds().expect(0).stderr, "");
    // A container that may take 2 GiB of a large machine.
    let ended = Machine::new().file("memory.max", "2147483648\n").builds();
    assert_eq!(ended.stdout, "built with 1 jobs: build --release\n");
    one_line(ended, 0, &["2.0 GiB of memory"]);
    // Many cores, and less than 1 GiB for each.
    let ended = Machine::new().with("nproc", "echo 64").builds().expect(0);
    assert_eq!(ended.stdout, "built with 11 jobs: build --release\n");
    // A number of jobs that is given is kept.
    let machine = Machine::new().file("meminfo", small);
    let ended = machine.call("build", &["--release", "-j", "2"]).expect(0);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str()),
        ("built with all jobs: build --release -j 2\n", "")
    );
    // A system that does not tell its memory.
    assert_eq!(Machine::new().file("meminfo", "").builds().expect(0).stderr, "");
    let cargo =
        "echo 'process didn'\"'\"'t exit successfully: `rustc` (signal: 9, SIGKILL: kill)' >&2\nexit 101";
    last_line(Machine::new().with("cargo", cargo).builds(), 101, &["memory runs out", "CARGO_BUILD_JOBS=1"]);
}

#[test]
fn one_core_says_how_long_it_takes() {
    let machine = Machine::new().with("nproc", "echo 1");
    one_line(machine.builds(), 0, &["one core", "minutes"]);
    fs::create_dir(machine.scratch.path("target")).expect("a new directory");
    assert_eq!(machine.builds().expect(0).stderr, "");
}

#[test]
fn crates_that_cannot_be_downloaded() {
    // As cargo 1.95 says it without a network, and with `--offline`.
    for said in [
        "error: failed to get `base64` as a dependency of package `alertmanager v0.2.0`\n\nCaused by:\n  download of config.json failed\n",
        "error: failed to download `aho-corasick v1.1.5`\n\nCaused by:\n  attempting to make an HTTP request, but --offline was specified\n",
    ] {
        let machine = Machine::new().with("cargo", "cat $HOME/said >&2\nexit 101").file("said", said);
        last_line(machine.builds(), 101, &["crates are missing", "cargo fetch --locked", "cargo vendor"]);
    }
}

#[test]
fn an_error_of_the_compiler_is_cargos_own() {
    let machine = Machine::new().with("cargo", "echo 'error: expected `;`' >&2\necho out\nexit 101");
    let ended = machine.builds().expect(101);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "error: expected `;`\n"));
}

#[test]
fn the_changelog_has_a_day_for_this_version() {
    let changelog = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/CHANGELOG.md"));
    let heading = format!("\n## {} – ", env!("CARGO_PKG_VERSION"));
    let (_, day) =
        changelog.split_once(&heading).unwrap_or_else(|| panic!("CHANGELOG.md has no {heading:?}"));
    let day = day.lines().next().expect("a line");
    let digits =
        |text: &str| text.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect::<String>();
    assert_eq!(digits(day), "0000-00-00", "{day}");
}
