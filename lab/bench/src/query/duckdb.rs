//! DuckDB on the same rows, by its Python module where there is one.

use super::SPAN;
use flow::Rows;
use packet::{KeySpec, KeyV4};
use record::{RowWindow, RowWriter};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("duckdb.py");

/// The place where DuckDB has the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuckDbSource {
    /// A table that DuckDB has loaded.
    Table,
    /// The file of rows.
    File,
}

/// Writes rows as `edison run --rows` does.
pub(super) fn write_rows(path: &Path, blocks: &[Rows<KeyV4>]) -> Result<(), String> {
    let window = RowWindow { start_ns: SPAN.start_ns, end_ns: SPAN.end_ns };
    let write = || -> std::io::Result<()> {
        let mut writer = RowWriter::create(path, "bench", KeySpec::FIVE_TUPLE, flow::TrackedParts::PLAIN)?;
        blocks.iter().try_for_each(|block| writer.write(window, block))?;
        writer.finish().map(drop)
    };
    write().map_err(|error| error.to_string())
}

/// Milliseconds of processor time of each query, by name; nothing where there is no DuckDB. `asked`: names and SQL over the table `rows`.
pub(super) fn times<'a>(
    path: &Path,
    source: DuckDbSource,
    asked: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<HashMap<String, f64>, String> {
    let Some(python) = python() else {
        eprintln!(
            "bench query: there is no Python with the module duckdb (EDISON_PYTHON): times_duckdb is null"
        );
        return Ok(HashMap::new());
    };
    let no_duckdb = |error: std::io::Error| format!("{}: {error}", python.display());
    let mut child = Command::new(&python)
        .arg("-c")
        .arg(SCRIPT)
        .arg(path)
        .arg(if source == DuckDbSource::Table { "TABLE" } else { "VIEW" })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(no_duckdb)?;
    let lines: String = asked.into_iter().map(|(name, sql)| format!("{name}\t{sql}\n")).collect();
    // Dropped here, which ends the script's input; what it failed at is on standard error.
    let written = child.stdin.take().map(|mut input| input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(no_duckdb)?;
    if !output.status.success() || !matches!(written, Some(Ok(()))) {
        return Err("DuckDB did not answer".to_owned());
    }
    let line = |line: &str| {
        let (name, ms) = line.split_once('\t')?;
        Some((name.to_owned(), ms.parse().ok()?))
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(line).collect())
}

/// A Python that has the module: that of `EDISON_PYTHON`, the system's, or that of the queries' oracle.
fn python() -> Option<PathBuf> {
    let of_oracle = std::fs::read_dir("target/equery-oracle").into_iter().flatten().flatten();
    let of_oracle = of_oracle.map(|entry| entry.path().join("bin/python"));
    let named = std::env::var_os("EDISON_PYTHON").map(PathBuf::from);
    let mut all = named.into_iter().chain([PathBuf::from("python3")]).chain(of_oracle);
    all.find(|python| {
        let mut command = Command::new(python);
        let tried =
            command.args(["-c", "import duckdb"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    })
}
