//! Writing to the file of a spool.

use crate::envelope::PackedBody;
use crate::spool_format::{NodeMessageId, SpoolRecord, SpoolTotals, write_header, write_message};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Error, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes that a file may have beyond one and a half times what it has to keep.
const SLACK: u64 = 1 << 20;
/// The most damaged files that are kept in the folder of the spool.
const MOST_ASIDE: u32 = 9;

/// A message as the file keeps it.
#[derive(Clone, Debug)]
pub(super) struct StoredMessage {
    pub(super) which: NodeMessageId,
    pub(super) is_result: bool,
    pub(super) body: Arc<PackedBody>,
    /// The `after` and `lost` of the message's envelope, if it may have been sent.
    pub(super) said: Option<(u64, u64)>,
}

/// The file of a spool. Its lock excludes other writers.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    node: String,
    /// The lock, held as long as it is open. A file of its own: the spool is replaced when it is written anew.
    lock: Option<File>,
    file: Option<File>,
    /// The end of the last record.
    length: u64,
    /// True if what is at the file's place is not all known; it is put aside before it is replaced.
    pub(super) is_damaged: bool,
}

impl Log {
    pub(super) fn new(path: PathBuf, node: String) -> Self {
        Self { path, node, lock: None, file: None, length: 0, is_damaged: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path with this behind its name.
    fn sibling(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(ending);
        PathBuf::from(name)
    }

    fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// Takes the lock; [`ErrorKind::WouldBlock`] if another process has it.
    pub(super) fn lock(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            let lock = options().create(true).truncate(false).open(self.sibling(".lock"))?;
            flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
                match Error::from(error) {
                    error if error.kind() == ErrorKind::WouldBlock => {
                        Error::new(ErrorKind::WouldBlock, "another process has it")
                    }
                    error => error,
                }
            })?;
            self.lock = Some(lock);
        }
        Ok(())
    }

    /// Appends to the file as it is; its last record ends there.
    pub(super) fn go_on(&mut self, end: u64) -> io::Result<()> {
        self.file = Some(OpenOptions::new().append(true).open(&self.path)?);
        self.length = end;
        Ok(())
    }

    /// Appends whole records. After an error the file is not written any more until it is written anew.
    pub(super) fn append(&mut self, records: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(ErrorKind::NotFound.into()) };
        let written = file.write_all(records);
        match &written {
            Ok(()) => self.length += records.len() as u64,
            Err(_) => {
                // A record that is whole in part would be damage at the next start. Where this fails too, it is found then.
                let _ = file.set_len(self.length);
                self.file = None;
            }
        }
        written
    }

    /// Makes what was appended outlast the machine.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Err(ErrorKind::NotFound.into()) };
        let synced = file.sync_data().and_then(|()| {
            let (own, there) = (file.metadata()?, fs::metadata(&self.path)?);
            let is_same = (own.dev(), own.ino()) == (there.dev(), there.ino());
            if is_same { Ok(()) } else { Err(Error::other("another file is in its place")) }
        });
        if synced.is_err() {
            self.file = None;
        }
        synced
    }

    /// The size of the file, bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The size at which a file is written anew that has to keep this, bytes.
    pub(super) fn rewrite_threshold(kept: usize) -> u64 {
        let kept = kept as u64;
        kept + kept / 2 + SLACK
    }

    /// Writes the file anew: with the messages that are to be kept, in the place of the one that is there. That one stays if it fails.
    pub(super) fn rewrite(&mut self, kept: &[StoredMessage], totals: SpoolTotals) -> io::Result<()> {
        self.lock()?;
        if self.is_damaged {
            self.put_aside()?;
        }
        let new = self.sibling(".new");
        let written = self.write_new(&new, kept, totals);
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        let (file, length) = written?;
        fs::rename(&new, &self.path)?;
        (self.file, self.length) = (Some(file), length);
        // Where a folder cannot be synchronised, the file is in its place all the same.
        let _ = File::open(self.folder()).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn write_new(&self, new: &Path, kept: &[StoredMessage], totals: SpoolTotals) -> io::Result<(File, u64)> {
        let mut writer = BufWriter::new(options().create(true).truncate(true).open(new)?);
        let (mut bytes, mut length) = (Vec::new(), 0);
        write_header(&self.node, &mut bytes);
        SpoolRecord::Totals(totals).write(&mut bytes);
        for stored in kept {
            stored.write(&mut bytes);
            writer.write_all(&bytes)?;
            length += bytes.len() as u64;
            bytes.clear();
        }
        writer.write_all(&bytes)?;
        length += bytes.len() as u64;
        writer.into_inner().map_err(|error| error.into_error())?.sync_all()?;
        Ok((OpenOptions::new().append(true).open(new)?, length))
    }

    /// Gives the file that is there a second name, and returns it. So there is a spool at any instant.
    pub(super) fn put_aside(&mut self) -> io::Result<PathBuf> {
        self.is_damaged = true;
        let name = |number: u32| match number {
            1 => self.sibling(".damaged"),
            number => self.sibling(&format!(".damaged{number}")),
        };
        let free = (1..=MOST_ASIDE).map(name).find(|name| !name.exists());
        let aside = free.unwrap_or_else(|| name(MOST_ASIDE));
        let _ = fs::remove_file(&aside);
        // Where files have one name only, they are copied.
        fs::hard_link(&self.path, &aside).or_else(|_| fs::copy(&self.path, &aside).map(drop))?;
        self.is_damaged = false;
        Ok(aside)
    }

    /// Removes the file, in which nothing is that is still to be delivered: where it lies there may be no room for a new one beside it.
    pub(super) fn give_up(&mut self) {
        self.file = None;
        if !self.is_damaged && self.lock.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl StoredMessage {
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let Self { which, is_result, body, said } = self;
        write_message(*which, *is_result, body.bytes(), into);
        if let Some((after, lost)) = *said {
            SpoolRecord::Said { which: *which, after, lost }.write(into);
        }
    }
}

/// The folder that a file is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Answers are confidential: the owner alone may read them.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}
