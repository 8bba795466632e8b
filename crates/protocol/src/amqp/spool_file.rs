//! Opening the spool of a probe, whatever is there.

use super::spool_log::{Log, StoredMessage, folder_of};
use crate::envelope::PackedBody;
use crate::spool_format::{Replay, SpoolMismatch, SpoolTotals, SpooledMessage};
use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{error, fmt};

/// The limit up to which a file is read at the least, bytes of messages, whatever the size of the spool.
const LEAST_READ: u64 = 1 << 30;

/// The longest wait for a lock that another process holds, and the time between two looks at it.
const LOCK_WAIT: Duration = Duration::from_millis(500);
const LOCK_LOOK: Duration = Duration::from_millis(10);

/// The reason why a file cannot be a probe's spool.
#[derive(Debug)]
pub enum SpoolError {
    /// Another process has the file.
    Taken(PathBuf),
    /// The file is another node's, or of another version.
    Foreign(PathBuf, SpoolMismatch),
    /// The folder of the file is not there.
    Folder(PathBuf, io::Error),
}

impl fmt::Display for SpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(path) => write!(
                f,
                "the spool {} is another probe's, which runs: end it, or name another file",
                path.display()
            ),
            Self::Foreign(path, foreign) => write!(f, "the spool {}: {foreign}", path.display()),
            Self::Folder(path, error) => {
                write!(f, "the spool {}: {error}: name a file in a folder that is there", path.display())
            }
        }
    }
}

impl error::Error for SpoolError {}

/// The spool of a node, and what was found in it.
#[derive(Debug)]
pub struct SpoolFile {
    pub(super) log: Log,
    /// The messages, the oldest first.
    pub(super) messages: Vec<StoredMessage>,
    pub(super) totals: SpoolTotals,
    /// The reason why nothing can be written.
    pub(super) fault: Option<String>,
    remarks: Vec<String>,
}

/// The content found at the place of a spool.
enum SpoolContent {
    Nothing,
    Whole { end: u64 },
    Damaged { reason: String },
}

impl SpoolFile {
    /// Opens the spool of a node, or begins one. What can be read of a damaged file is taken over, and the file put aside. A disk that
    /// cannot be written is no error: see [`model::view::Spool::fault`]. `most_bytes`: the size of the spool.
    ///
    /// # Errors
    /// If the file is in use, another node's or of another version, or its folder is not there.
    pub fn open(path: &Path, node: &str, most_bytes: usize) -> Result<Self, SpoolError> {
        let wrong = |error| SpoolError::Folder(path.to_owned(), error);
        if !fs::metadata(folder_of(path)).map_err(wrong)?.is_dir() {
            return Err(wrong(ErrorKind::NotADirectory.into()));
        }
        let log = Log::new(path.to_owned(), node.to_owned());
        let (messages, totals, remarks) = (Vec::new(), SpoolTotals::default(), Vec::new());
        let mut spool = Self { log, messages, totals, fault: None, remarks };
        let until = Instant::now() + LOCK_WAIT;
        let mut locked = spool.log.lock();
        // A process that just ended, or a child that it was about to start, may still hold it.
        while locked.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
            && Instant::now() < until
        {
            std::thread::sleep(LOCK_LOOK);
            locked = spool.log.lock();
        }
        if let Err(error) = locked {
            if error.kind() == ErrorKind::WouldBlock {
                return Err(SpoolError::Taken(path.to_owned()));
            }
            spool.fault = Some(error.to_string());
        }
        let found = match spool.read(node, LEAST_READ.max(2 * most_bytes as u64)) {
            Err(error) => {
                // What cannot be read now may be readable later.
                spool.log.is_damaged = true;
                Err(error)
            }
            Ok(Err(foreign)) => return Err(SpoolError::Foreign(path.to_owned(), foreign)),
            Ok(Ok(found)) => Ok(found),
        };
        // Without the lock nothing is written: it may be another's.
        let prepared =
            found.and_then(|found| if spool.fault.is_none() { spool.prepare(found) } else { Ok(()) });
        if let Err(error) = prepared {
            spool.fault = Some(error.to_string());
        }
        Ok(spool)
    }

    fn read(&mut self, node: &str, most_bytes: u64) -> io::Result<Result<SpoolContent, SpoolMismatch>> {
        let file = match File::open(self.log.path()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(SpoolContent::Nothing)),
            file => file?,
        };
        let length = file.metadata()?.len();
        if length == 0 {
            return Ok(Ok(SpoolContent::Nothing));
        }
        let replay = match Replay::read(BufReader::new(file), node, most_bytes)? {
            Ok(replay) => replay,
            Err(foreign @ SpoolMismatch::NoSpool) => {
                return Ok(Ok(SpoolContent::Damaged { reason: foreign.to_string() }));
            }
            Err(foreign) => return Ok(Err(foreign)),
        };
        let found = match replay.unread() {
            unread if unread.is_none() => SpoolContent::Whole { end: replay.end() },
            unread => SpoolContent::Damaged { reason: unread.words(length) },
        };
        self.totals = replay.totals();
        let stored = |SpooledMessage { which, is_result, body, said }| {
            let body = Arc::new(PackedBody::from_bytes(body));
            StoredMessage { which, is_result, body, said }
        };
        self.messages = replay.into_kept().into_iter().map(stored).collect();
        Ok(Ok(found))
    }

    /// Makes the file one that can be written to.
    fn prepare(&mut self, found: SpoolContent) -> io::Result<()> {
        match found {
            SpoolContent::Nothing => self.log.rewrite(&self.messages, self.totals),
            SpoolContent::Whole { end } => self.log.go_on(end),
            SpoolContent::Damaged { reason } => {
                let aside = self.log.put_aside();
                let kept =
                    aside.as_ref().map(|aside| format!(", and the file is kept as {}", aside.display()));
                self.remarks.push(format!(
                    "the spool {}: {reason}: {} messages of it are sent{}",
                    self.log.path().display(),
                    self.messages.len(),
                    kept.unwrap_or_default()
                ));
                aside?;
                self.log.rewrite(&self.messages, self.totals)
            }
        }
    }

    /// Returns what the user should know of the spool, lines.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the number of messages that were found.
    pub fn found(&self) -> usize {
        self.messages.len()
    }
}
