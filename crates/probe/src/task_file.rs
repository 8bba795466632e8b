//! Stores the last task list of a probe in a file, so that a restarted probe can carry it out while the controller is unreachable.
//!
//! The file is a message ([`protocol::envelope`]). Its version, node and checksums are verified when it is read. A thread of its own writes
//! lists, so that a slow disk delays nothing else.

use protocol::envelope::{MOST_BYTES, Properties, decode};
use protocol::{Boot, Envelope, MessageId, TaskList, ToProbe};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time after a failure until writing is tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// The longest time that the end waits for what is being written.
const END_WAIT: Duration = Duration::from_secs(1);

/// The file.
#[derive(Debug)]
pub struct TaskFile {
    path: PathBuf,
    found: Result<Option<TaskList>, String>,
    shared: Arc<SharedTaskFile>,
}

/// The state of the file, for who shows it.
#[derive(Clone, Debug)]
pub struct TaskFileState(Arc<SharedTaskFile>);

#[derive(Debug, Default)]
struct SharedTaskFile {
    state: Mutex<TaskFileProgress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TaskFileProgress {
    /// The list that is to be written.
    list: Option<TaskList>,
    is_writing: bool,
    is_closing: bool,
    fault: Option<String>,
}

impl SharedTaskFile {
    fn state(&self) -> MutexGuard<'_, TaskFileProgress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskFile {
    /// Reads the file of a node, if it is there. One that cannot be read, is damaged, of another version or of another node is as if it were
    /// not there ([`TaskFile::problem`]), and replaced by the next list.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn open(path: &Path, node: &str) -> io::Result<Self> {
        let found = read(path, node);
        let shared: Arc<SharedTaskFile> = Arc::default();
        let (own, to, node) = (Arc::clone(&shared), path.to_owned(), node.to_owned());
        std::thread::Builder::new().name("task file".to_owned()).spawn(move || keep(&own, &to, &node))?;
        Ok(Self { path: path.to_owned(), found, shared })
    }

    /// The list that was found.
    pub fn found(&self) -> Option<&TaskList> {
        self.found.as_ref().ok()?.as_ref()
    }

    /// Returns why the list that is there is not taken: one line.
    pub fn problem(&self) -> Option<String> {
        let reason = self.found.as_ref().err()?;
        Some(format!("the task list {} is not taken: {reason}", self.path.display()))
    }

    /// Returns a handle to the state of the file from now on.
    pub fn state(&self) -> TaskFileState {
        TaskFileState(Arc::clone(&self.shared))
    }

    /// Writes this list, in the place of all before. Does not wait for it.
    pub(crate) fn keep(&self, list: &TaskList) {
        self.shared.state().list = Some(list.clone());
        self.shared.changed.notify_all();
    }
}

impl TaskFileState {
    /// Returns why the last list is not in the file.
    pub fn fault(&self) -> Option<String> {
        self.0.state().fault.clone()
    }
}

impl Drop for TaskFile {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closing = true;
        self.shared.changed.notify_all();
        let is_busy = |state: &mut TaskFileProgress| state.list.is_some() || state.is_writing;
        // The thread is not waited for longer: it may stay in a call to the system.
        drop(self.shared.changed.wait_timeout_while(state, END_WAIT, is_busy));
    }
}

/// Writes lists until the file is closed.
fn keep(shared: &SharedTaskFile, path: &Path, node: &str) {
    let mut state = shared.state();
    loop {
        let Some(list) = state.list.take() else {
            if state.is_closing {
                return;
            }
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.is_writing = true;
        drop(state);
        let written = write(path, node, &list);
        state = shared.state();
        state.is_writing = false;
        state.fault = written.err().map(|error| error.to_string());
        shared.changed.notify_all();
        if state.fault.is_some() && !state.is_closing {
            let waits = |state: &mut TaskFileProgress| state.list.is_none() && !state.is_closing;
            let waited = shared.changed.wait_timeout_while(state, AGAIN, waits);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if !state.is_closing {
                state.list.get_or_insert(list);
            }
        }
    }
}

/// The path with an ending appended to its file name.
fn sibling(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

fn write(path: &Path, node: &str, list: &TaskList) -> io::Result<()> {
    let id = MessageId { node: node.to_owned(), boot: Boot::default(), sequence: 0 };
    let bytes = Envelope::new(id, ToProbe::Tasks(list.clone())).encode()?;
    let new = sibling(path, ".new");
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        // Addresses that are watched are confidential.
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Where a folder cannot be synchronised, the file is in its place all the same.
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    Ok(())
}

fn read(path: &Path, node: &str) -> Result<Option<TaskList>, String> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| error.to_string())?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let envelope = decode::<ToProbe>(&bytes, Properties::EXPECTED).map_err(|refusal| refusal.to_string())?;
    if envelope.id.node != node {
        return Err(format!("it is of node {:?}", envelope.id.node));
    }
    match envelope.body {
        ToProbe::Tasks(list) => Ok(Some(list)),
        ToProbe::Enter { .. } => Err("it is no list".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Task;
    use task::query::{GroupField, OutputColumn, Query};

    fn list(generation: u64) -> TaskList {
        let query = Query::new("q", [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_byte")]);
        let task = Task { query, time: None, instances: Vec::new() };
        TaskList { epoch: 7, generation, tasks: vec![task], ..TaskList::default() }
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("edison-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_last_list_is_found_by_its_own_node() {
        let folder = Folder::new("task-file");
        let path = folder.0.join("A.tasks");
        let file = TaskFile::open(&path, "A").expect("a thread");
        assert_eq!((file.found(), file.problem()), (None, None));
        (1..50).for_each(|generation| file.keep(&list(generation)));
        let state = file.state();
        drop(file);
        assert_eq!(state.fault(), None);
        let file = TaskFile::open(&path, "A").expect("a thread");
        assert_eq!((file.found(), file.problem()), (Some(&list(49)), None));
        assert_eq!(fs::read_dir(&folder.0).expect("a folder").count(), 1);
        let other = TaskFile::open(&path, "B").expect("a thread");
        assert_eq!(other.found(), None);
        let problem = other.problem().expect("a reason");
        assert!(problem.contains("A.tasks is not taken: it is of node \"A\""), "{problem}");
    }

    #[test]
    fn what_is_damaged_is_named_and_replaced() {
        let folder = Folder::new("damaged-task-file");
        let path = folder.0.join("A.tasks");
        write(&path, "A", &list(1)).expect("a file");
        let whole = fs::read(&path).expect("a file");
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        let id = MessageId { node: "A".to_owned(), boot: Boot::default(), sequence: 0 };
        let newer = Envelope { version: 99, ..Envelope::new(id.clone(), ToProbe::Tasks(list(1))) };
        let none = Envelope::new(id, ToProbe::Enter { until_ns: 1 });
        for (bytes, reason) in [
            (whole[..whole.len() - 1].to_vec(), "truncated"),
            (Vec::new(), "truncated"),
            (changed, "damaged"),
            (b"no list".to_vec(), "damaged"),
            (newer.encode().expect("bytes"), "too_new"),
            (none.encode().expect("bytes"), "it is no list"),
        ] {
            fs::write(&path, bytes).expect("a file");
            let file = TaskFile::open(&path, "A").expect("a thread");
            assert_eq!(file.found(), None);
            assert!(file.problem().expect("a reason").ends_with(reason), "{:?} {reason}", file.problem());
            file.keep(&list(2));
            drop(file);
            assert_eq!(read(&path, "A"), Ok(Some(list(2))));
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said() {
        let folder = Folder::new("no-task-file");
        let path = folder.0.join("missing/A.tasks");
        let file = TaskFile::open(&path, "A").expect("a thread");
        assert_eq!((file.found(), file.problem()), (None, None));
        file.keep(&list(1));
        let state = file.state();
        while state.fault().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The next list is tried at once.
        fs::create_dir(folder.0.join("missing")).expect("a folder");
        file.keep(&list(2));
        drop(file);
        assert_eq!((state.fault(), read(&path, "A")), (None, Ok(Some(list(2)))));
    }
}
