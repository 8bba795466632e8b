//! `edison controller token`: makes, lists and removes tokens.

use crate::options::TokenOptions;
use runtime::exit::{self, Failure, say};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use web::{AccessToken, Role, TokenFile};

/// Does what the options ask for.
pub(crate) fn run(options: &TokenOptions) -> Result<ExitCode, Failure> {
    match (&options.name, &options.remove, options.role) {
        (Some(name), None, Some(role)) => make(options, name, role),
        (None, Some(name), _) => {
            TokenFile::change(&options.file, |file| file.remove(name)).map_err(Failure::usage)?;
            say(&format!("{name} is removed: a controller that runs lets nobody in with it from now on"));
            Ok(ExitCode::SUCCESS)
        }
        _ => list(&options.file),
    }
}

fn list(path: &Path) -> Result<ExitCode, Failure> {
    let file = TokenFile::read(path).map_err(Failure::usage)?;
    let lines = file.entries().map(|entry| format!("{} {}\n", entry.name, entry.role));
    exit::print(&lines.collect::<String>())
}

fn make(options: &TokenOptions, name: &str, role: Role) -> Result<ExitCode, Failure> {
    let add = || TokenFile::change(&options.file, |file| file.add(name, role)).map_err(Failure::usage);
    let Some(path) = &options.out else { return print(options, name, &add()?) };
    // Before there is a token: one that is told to nobody is of no use.
    let mut out = new_file(path)?;
    // What was made here is empty until then.
    let token = add().inspect_err(|_| drop(std::fs::remove_file(path)))?;
    let written = writeln!(out, "{}", token.text()).and_then(|()| out.sync_all());
    written.map_err(|error| Failure::fault(format!("--out {}: {error}", path.display())))?;
    Ok(ExitCode::SUCCESS)
}

fn print(options: &TokenOptions, name: &str, token: &AccessToken) -> Result<ExitCode, Failure> {
    let ended = exit::print(&format!("{}\n", token.text()))?;
    say(&format!(
        "{name} is in {}, which has its hash: this is the only time it is told",
        options.file.display()
    ));
    Ok(ended)
}

/// A file that nobody else may read.
fn new_file(path: &Path) -> Result<File, Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    opened.map_err(|error| Failure::usage(format!("--out {}: {error}", path.display())))
}
