//! `edison-lab pack`: this program with its libraries as one archive, which runs on another Linux machine of the same architecture.

use crate::failure::{LabFailure, say};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The folder in the archive.
const FOLDER: &str = "edison-lab";
/// The size above which an archive is remarked upon.
const MOST_BYTES: u64 = 20_000_000;
/// The plug-in without which DPDK makes no pool of mbufs: it is no dependency that the loader knows.
const PLUG_IN: &str = "librte_mempool_ring.so.";

/// Starts the program by the loader and the libraries of its folder: none of the machine's own is used.
const PROGRAM: &str = r#"#!/bin/sh
# edison-lab with the libraries that came with it; benches start it again by EDISON_LAB.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
EDISON_LAB=$here/edison-lab
export EDISON_LAB
exec "$here/lib/LOADER" --library-path "$here/lib" PRELOAD"$here/bin/edison-lab" "$@"
"#;

const STUDY: &str = r#"#!/bin/sh
# Measures the papers' figures here. Options are those of `edison-lab study`; --quick takes some minutes.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
"$here/edison-lab" study --out results "$@"
status=$?
tar -czf results.tar.gz results || exit 1
echo "results.tar.gz is for: edison-lab study --out FOLDER --beside results"
exit $status
"#;

const README: &str = "\
The papers' figures on this machine:

    ./study.sh --quick       fewer points and shorter rounds, some minutes
    ./study.sh               all points

What was measured is kept: the same command goes on where it was ended. results/index.html is the page. To show it
next to the results of another machine, unpack results.tar.gz there:

    edison-lab study --out study --beside results

Nothing else may run meanwhile: a busy machine decides nothing. ./edison-lab takes all commands of edison-lab but pack.
argus and pmacct, which one figure compares with, are not in this archive: install argus-server, argus-client, pmacct.
";

/// Writes the archive, compressed as its name says.
pub(crate) fn pack(out: &Path) -> Result<ExitCode, LabFailure> {
    let fault = |error: String| LabFailure::fault(error);
    let program =
        std::env::current_exe().map_err(|error| fault(format!("cannot find this program: {error}")))?;
    let libraries = Libraries::of(&program).map_err(fault)?;
    let place =
        tempfile::tempdir().map_err(|error| fault(format!("no place for temporary files: {error}")))?;
    let folder = place.path().join(FOLDER);
    fill(&folder, &program, &libraries).map_err(fault)?;
    if !strip(&folder) {
        say("the archive is larger than it need be: strip (Debian's binutils) cannot be run");
    }
    compress(place.path(), out).map_err(fault)?;
    let bytes = fs::metadata(out).map_err(|error| fault(format!("{}: {error}", out.display())))?.len();
    let megabytes = bytes as f64 / 1e6;
    say(&format!("{}: {megabytes:.1} MB; unpack it there and run {FOLDER}/study.sh", out.display()));
    if bytes > MOST_BYTES {
        say("a release build, and a name that ends in .tar.xz, make it smaller");
    }
    Ok(ExitCode::SUCCESS)
}

/// The libraries that a program is loaded with.
#[derive(Debug, PartialEq)]
struct Libraries {
    /// The dynamic loader.
    loader: PathBuf,
    /// The names that programs ask for, and the files.
    files: Vec<(String, PathBuf)>,
    /// The name of DPDK's plug-in, if the program has DPDK.
    plug_in: Option<String>,
}

impl Libraries {
    /// Asks the loader which files it would load for a program.
    fn of(program: &Path) -> Result<Self, String> {
        let listed = Command::new(program)
            .env("LD_TRACE_LOADED_OBJECTS", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut libraries = Self::from_listing(&String::from_utf8_lossy(&listed.stdout))?;
        let dpdk = libraries.files.iter().find(|(name, _)| name.starts_with("librte_eal.so"));
        let folder = dpdk.and_then(|(_, file)| Some(file.parent()?.join("dpdk")));
        let found = folder.map(|folder| plug_ins(&folder)).unwrap_or_default();
        if let Some(file) = found.into_iter().next_back() {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            libraries.plug_in = Some(name.clone());
            libraries.files.push((name, file));
        }
        Ok(libraries)
    }

    /// Reads the loader's lines: `name => /file (address)`, `/file (address)` of the loader itself, and a name alone of what the kernel
    /// provides.
    fn from_listing(text: &str) -> Result<Self, String> {
        let (mut loader, mut files) = (None, Vec::new());
        for line in text.lines().map(str::trim) {
            let what = line.rsplit_once(" (").map_or(line, |(what, _)| what);
            match what.split_once(" => ") {
                Some((name, "not found")) => return Err(format!("the library {name} is not found")),
                Some((name, file)) if name.starts_with('/') => loader = Some(file),
                Some((name, file)) => files.push((name.to_owned(), PathBuf::from(file))),
                None if what.starts_with('/') => loader = Some(what),
                None => {}
            }
        }
        let loader = loader.ok_or("the loader lists no libraries: this program is linked statically")?;
        Ok(Self { loader: PathBuf::from(loader), files, plug_in: None })
    }
}

/// The files of DPDK's plug-in, by name.
fn plug_ins(dpdk: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        paths
    };
    let is_plug_in =
        |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PLUG_IN));
    // One is the library, the others are links to it.
    entries(dpdk).iter().flat_map(|folder| entries(folder)).filter(is_plug_in).collect()
}

/// Puts all files into the folder.
fn fill(folder: &Path, program: &Path, libraries: &Libraries) -> Result<(), String> {
    let (bin, lib) = (folder.join("bin"), folder.join("lib"));
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
    };
    for folder in [&bin, &lib] {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    copy(program, bin.join("edison-lab"))?;
    for (name, file) in &libraries.files {
        copy(file, lib.join(name))?;
    }
    let loader = libraries.loader.file_name().unwrap_or_default().to_string_lossy().into_owned();
    copy(&libraries.loader, lib.join(&loader))?;
    let preload = libraries.plug_in.as_ref().map(|name| format!("--preload \"$here/lib/{name}\" "));
    let script = PROGRAM.replace("LOADER", &loader).replace("PRELOAD", &preload.unwrap_or_default());
    for (name, text, mode) in
        [("edison-lab", script.as_str(), 0o755), ("study.sh", STUDY, 0o755), ("README", README, 0o644)]
    {
        let path = folder.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(mode)))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Removes debug information; false if it cannot be.
fn strip(folder: &Path) -> bool {
    let program = folder.join("bin/edison-lab");
    let ran = Command::new("strip").arg("--strip-debug").arg(program).stdin(Stdio::null()).output();
    ran.is_ok_and(|ran| ran.status.success())
}

/// Makes the archive of the folder in a place.
fn compress(place: &Path, out: &Path) -> Result<(), String> {
    let ran = Command::new("tar")
        .args(["--create", "--auto-compress", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg("--file")
        .arg(out)
        .arg("--directory")
        .arg(place)
        .arg(FOLDER)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("tar: {error}"))?;
    if ran.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&ran.stderr);
    Err(format!("{}: {}", out.display(), text.lines().next().unwrap_or("tar failed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_lines_are_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibrte_eal.so.23 => /lib/x86_64-linux-gnu/librte_eal.so.23 (0x00007f)\n\
            \tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let libraries = Libraries::from_listing(text).expect("libraries");
        assert_eq!(libraries.loader, Path::new("/lib64/ld-linux-x86-64.so.2"));
        let names: Vec<_> = libraries.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["librte_eal.so.23", "libc.so.6"]);
        // A loader that was started from another place.
        let text = "\tlibc.so.6 => /a/libc.so.6 (0x1)\n\t/lib64/ld-linux.so.2 => /a/ld-linux.so.2 (0x1)\n";
        assert_eq!(Libraries::from_listing(text).expect("one").loader, Path::new("/a/ld-linux.so.2"));
        let missing = Libraries::from_listing("\tlibx.so.1 => not found\n").expect_err("missing");
        assert_eq!(missing, "the library libx.so.1 is not found");
        assert!(Libraries::from_listing("\tstatically linked\n").expect_err("static").contains("statically"));
    }

    #[test]
    fn the_plug_in_of_a_program_with_dpdk_is_found() {
        let place = tempfile::tempdir().expect("a place");
        let folder = place.path().join("pmds-23.0");
        fs::create_dir(&folder).expect("a folder");
        for name in ["librte_mempool_ring.so.23", "librte_mempool_ring.so.23.0", "librte_net_ring.so.23"] {
            fs::write(folder.join(name), "").expect("written");
        }
        let found = plug_ins(place.path());
        assert_eq!(
            found,
            ["librte_mempool_ring.so.23", "librte_mempool_ring.so.23.0"].map(|name| folder.join(name))
        );
        assert!(plug_ins(&place.path().join("none")).is_empty());
    }
}
