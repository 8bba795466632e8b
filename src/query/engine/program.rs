//! Engines that are programs: DuckDB, and Spark's command line.

use super::lines::{EngineMessage, EngineOutput, EngineSender, Trouble, one_line, pass_on, reason, way};
use crate::engine_options::EngineOptions;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The most bytes of a program's messages that are kept.
const MOST_WORDS: u64 = 64 << 10;

/// Asks DuckDB, which may take `memory` bytes.
pub(super) fn duckdb(options: &EngineOptions, memory: u64, statement: &str) -> Result<EngineOutput, Trouble> {
    let program = named(options, "duckdb");
    let mut command = Command::new(&program);
    // Nothing of the user's own settings.
    command.args(["-init", "/dev/null", "-batch", "-bail", "-list", "-noheader"]);
    let folder = TemporaryFolder::new()?;
    let kibibytes = memory.div_ceil(1024);
    let statement = format!("SET memory_limit = '{kibibytes}KiB'; {statement};\n");
    let file = folder.file("question.sql", &statement)?;
    let hint = "install it (pip install duckdb-cli), or name it with --engine-program";
    start(command.stdin(file), folder, hint)
}

/// Asks Spark.
pub(super) fn spark(options: &EngineOptions, statement: &str) -> Result<EngineOutput, Trouble> {
    let program = named(options, "spark-sql");
    let folder = TemporaryFolder::new()?;
    // A question may be longer than a command line can be.
    folder.file("question.sql", &format!("{statement};\n"))?;
    let mut command = Command::new(&program);
    command.args(["--master", options.engine_url.as_deref().unwrap_or("local[*]")]);
    for setting in [
        "spark.ui.enabled=false",
        "spark.ui.showConsoleProgress=false",
        "spark.sql.session.timeZone=UTC",
        // What stands in a text or a path is no name of a variable.
        "spark.sql.variable.substitute=false",
        "spark.sql.catalogImplementation=in-memory",
        "spark.sql.parquet.mergeSchema=true",
    ] {
        command.args(["--conf", setting]);
    }
    command.args(["--conf", &format!("spark.sql.warehouse.dir={}", folder.path.display())]);
    command.args(["-S", "-f", "question.sql"]).stdin(Stdio::null());
    let hint = "install it (pip install pyspark), or name its spark-sql with --engine-program";
    start(&mut command, folder, hint)
}

/// The program of the options, or the usual one. It is started in another folder: a relative path is made whole.
fn named(options: &EngineOptions, usual: &str) -> PathBuf {
    match &options.engine_program {
        Some(path) if path.components().count() > 1 => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone())
        }
        Some(name) => name.clone(),
        None => usual.into(),
    }
}

/// Starts a program in a folder of its own.
fn start(command: &mut Command, folder: TemporaryFolder, hint: &str) -> Result<EngineOutput, Trouble> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.current_dir(&folder.path).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What it starts itself ends with it.
    command.process_group(0);
    let child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Trouble::Usage(format!("there is no program {program}: {hint}")),
        ErrorKind::PermissionDenied => Trouble::Usage(format!("{program} may not be run: {error}; {hint}")),
        _ => Trouble::Fault(format!("{program} cannot be started: {error}")),
    })?;
    let running = Running { child: Arc::new(Mutex::new(Some(child))), _folder: folder };
    let child = Arc::clone(&running.child);
    let (told, said) = way();
    let streams = {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        child.as_mut().map_or((None, None), |child| (child.stdout.take(), child.stderr.take()))
    };
    let (Some(out), Some(err)) = streams else {
        return Err(Trouble::Fault(format!("{program} has no output")));
    };
    let words = thread::spawn(move || words_of(err));
    thread::spawn(move || {
        let passed = pass_on(out, &told);
        let result = passed.and_then(|()| ended(&child, || words.join().unwrap_or_default(), &program));
        say_end(&told, result);
    });
    Ok(EngineOutput { said, _engine: Some(Box::new(running)) })
}

/// Sends the end, where somebody still listens.
fn say_end(told: &EngineSender, result: Result<(), Trouble>) {
    let _ = told.send(EngineMessage::End(result));
}

/// The first words of a stream, which is read to its end.
fn words_of(mut stream: impl Read) -> String {
    let mut words = Vec::new();
    let _ = stream.by_ref().take(MOST_WORDS).read_to_end(&mut words);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    String::from_utf8_lossy(&words).into_owned()
}

/// Waits for a program whose output is at its end, and returns its result.
fn ended(child: &Mutex<Option<Child>>, words: impl FnOnce() -> String, program: &str) -> Result<(), Trouble> {
    // Its output may be closed before it ends: whoever listens has a time limit, and drops it then.
    let status = loop {
        let mut held = child.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever took it has ended it.
        let Some(running) = held.as_mut() else { return Err(Trouble::Stopped) };
        match running.try_wait() {
            Ok(Some(status)) => {
                *held = None;
                break status;
            }
            Ok(None) => {}
            Err(error) => return Err(Trouble::Fault(format!("{program}: {error}"))),
        }
        drop(held);
        thread::sleep(std::time::Duration::from_millis(5));
    };
    match status.success() {
        true => Ok(()),
        false => Err(Trouble::Fault(format!("{} ({program}: {status})", reason(&words())))),
    }
}

/// A program that runs. It is ended, with all that it has started, when this is dropped.
struct Running {
    /// The program, until it was waited for.
    child: Arc<Mutex<Option<Child>>>,
    /// Removed after the program's end.
    _folder: TemporaryFolder,
}

impl Drop for Running {
    fn drop(&mut self) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return };
        // It may have ended and left others behind; its number is its own until it was waited for.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A folder that others do not see into, and that is removed with all that is in it.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn new() -> Result<Self, Trouble> {
        let name = format!("edison-{}-{:016x}", std::process::id(), runtime::machine::random());
        let path = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| Trouble::Fault(format!("{}: {error}", path.display())))?;
        Ok(Self { path })
    }

    /// Writes a file, and opens it to be read.
    fn file(&self, name: &str, text: &str) -> Result<File, Trouble> {
        let path = self.path.join(name);
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())?;
            File::open(&path)
        };
        write()
            .map_err(|error| Trouble::Fault(format!("{}: {}", path.display(), one_line(&error.to_string()))))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
