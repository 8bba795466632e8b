//! Manual pages from the help of a program's commands.

use clap::Command;
use std::path::Path;
use std::{fs, io};

/// Writes a page of the program, and one of each of its commands (`NAME-COMMAND.1`), to a folder.
///
/// # Errors
/// The folder or a page cannot be written.
pub fn write_pages(command: Command, folder: &Path) -> io::Result<()> {
    let program = command.get_name().to_owned();
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)?;
    for page in fs::read_dir(folder)? {
        let path = page?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(&program) && name.ends_with(".1") {
            fs::write(&path, with_examples(&fs::read_to_string(&path)?))?;
        }
    }
    Ok(())
}

/// Returns the page with the text that follows the options in a help as examples, whose lines stay as they are.
fn with_examples(page: &str) -> String {
    let Some((before, examples)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (examples, after) = match examples.find("\n.SH ") {
        Some(at) => examples.split_at(at + 1),
        None => (examples, ""),
    };
    format!("{before}.SH EXAMPLES\n.nf\n{examples}.fi\n{after}")
}
