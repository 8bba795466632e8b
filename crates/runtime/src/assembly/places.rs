//! Files that a run reads and writes: none of them is two of these, and the folders of outputs are there.

use super::nodes::NodeSpec;
use crate::spec::RunSpec;
use std::path::{Path, PathBuf};

/// Returns a line for each output that is also a source or another output, or whose folder is not there. `options` has the outputs of all nodes together.
pub(super) fn refusals(options: &RunSpec, nodes: &[NodeSpec]) -> Vec<String> {
    let sources = nodes
        .iter()
        .flat_map(|NodeSpec { options, .. }| options.source.read.iter().chain(&options.source.words));
    // A word that is no file is one of a filter.
    let sources = sources.map(Path::new).filter(|path| path.is_file()).filter_map(whole);
    let mut taken: Vec<(PathBuf, &str)> = sources.map(|path| (path, "this is a source of the run")).collect();
    let mut outputs = vec![
        ("--report", "--report writes there too", options.output.report.as_deref()),
        ("--answers", "--answers writes there too", options.output.answers.as_deref()),
    ];
    for NodeSpec { options, .. } in nodes {
        outputs.push(("--flows", "--flows writes there too", options.output.flows.as_deref()));
        outputs.push(("--rows", "--rows writes there too", options.output.rows.as_deref()));
    }
    let mut lines = Vec::new();
    for (option, writes, path) in outputs {
        let Some(path) = path else { continue };
        if !folder(path).is_dir() {
            let folder = folder(path).display();
            lines.push(format!(
                "{option} {}: there is no folder {folder}: make it, or give another path",
                path.display()
            ));
        }
        let Some(whole) = whole(path) else { continue };
        match taken.iter().find(|(known, _)| *known == whole) {
            Some((_, why)) => lines.push(format!("{option} {}: {why}: give another path", path.display())),
            None => taken.push((whole, writes)),
        }
    }
    lines
}

/// The whole path of a file, which need not be there; `None` of what is no file, such as a pipe or standard output.
fn whole(path: &Path) -> Option<PathBuf> {
    match path.metadata() {
        Ok(found) => path.canonicalize().ok().filter(|_| found.is_file()),
        Err(_) if path == Path::new("-") => None,
        Err(_) => Some(folder(path).canonicalize().ok()?.join(path.file_name()?)),
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
