//! The target of a writer's bytes: a file that appears under its name only when it is complete, or a stream that receives them as they are
//! written.

use crate::fault::fault;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The name that a file gets when it is complete, where that is known only then: it is chosen when the file asks for it, and belongs to an
/// empty file that was made for it.
pub(crate) type LateName = Arc<Mutex<Option<PathBuf>>>;

/// The place that a writer writes to. After a failure it accepts nothing more.
pub(crate) struct WriteTarget {
    out: TargetOutput,
    /// The name of the place in errors.
    name: String,
    /// The path of the place, as the user calls it.
    path: String,
    len: u64,
    failed: bool,
    /// The path of the complete file, where it is known only when the file is complete. Without it the complete file has the path `path`.
    late_name: Option<LateName>,
}

enum TargetOutput {
    /// A regular file, written as `PATH.part` and renamed at the end.
    Part { file: File, part: PathBuf, path: PathBuf },
    /// Standard output, a pipe, a device, or a caller's sink.
    Stream(Box<dyn Write + Send>),
}

impl WriteTarget {
    /// Opens `path`: `-` and `/dev/stdout` are standard output; an existing path that is no regular file (a
    /// pipe, a device) is written directly; all others by way of `PATH.part`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let name = path.display().to_string();
        if is_stdout(path) {
            let name = "standard output".to_owned();
            return Ok(Self::new(TargetOutput::Stream(Box::new(io::stdout())), name.clone(), name));
        }
        let at = |name: &str, e: io::Error| io::Error::new(e.kind(), format!("{name}: {e}"));
        if is_special(path) {
            let file = File::options().write(true).open(path).map_err(|e| at(&name, e))?;
            return Ok(Self::new(TargetOutput::Stream(Box::new(file)), name.clone(), name));
        }
        let part = part_of(path);
        let (path_name, name) = (name, part.display().to_string());
        let file = File::create(&part).map_err(|e| at(&name, e))?;
        Ok(Self::new(TargetOutput::Part { file, part, path: path.to_owned() }, name, path_name))
    }

    /// Writes to the caller's sink.
    pub(crate) fn stream(out: Box<dyn Write + Send>) -> Self {
        Self::new(TargetOutput::Stream(out), "output".to_owned(), "output".to_owned())
    }

    fn new(out: TargetOutput, name: String, path: String) -> Self {
        Self { out, name, path, len: 0, failed: false, late_name: None }
    }

    /// Returns the same target, which takes the name that is there when it is complete.
    pub(crate) fn named_late(self, name: LateName) -> Self {
        Self { late_name: Some(name), ..self }
    }

    /// The place as the user calls it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the same file, empty, for another writer; `None` for what cannot be cut. This target takes nothing more.
    pub(crate) fn begin_again(&mut self) -> Option<Self> {
        if !self.cut(0) {
            return None;
        }
        let out = std::mem::replace(&mut self.out, TargetOutput::Stream(Box::new(io::sink())));
        self.close();
        let target = Self::new(out, self.name.clone(), self.path.clone());
        Some(Self { late_name: self.late_name.clone(), ..target })
    }

    /// Returns true if a reader may be waiting at the other end.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.out, TargetOutput::Stream(_))
    }

    /// Bytes taken so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Truncates a file to its first `len` bytes, which makes it writable again. False if it cannot be
    /// truncated.
    pub(crate) fn cut(&mut self, len: u64) -> bool {
        use std::io::Seek;
        let TargetOutput::Part { file, .. } = &mut self.out else { return false };
        let cut = file.set_len(len).and_then(|()| file.seek(io::SeekFrom::Start(len))).is_ok();
        if cut {
            (self.len, self.failed) = (len, false);
        }
        cut
    }

    /// Closes the target, which accepts nothing more.
    pub(crate) fn close(&mut self) {
        self.failed = true;
    }

    /// The error of a writer: where, what, and the number of complete records there.
    pub(crate) fn fault(&self, error: io::Error, whole: u64) -> io::Error {
        self.fault_of(error, whole, "records")
    }

    /// Returns the error of a writer of something else than records.
    pub(crate) fn fault_of(&self, error: io::Error, whole: u64, unit: &'static str) -> io::Error {
        fault(&self.name, &error, whole, unit)
    }

    /// Removes the part: nothing was written.
    pub(crate) fn discard(self) -> io::Result<()> {
        match &self.out {
            TargetOutput::Part { part, .. } => fs::remove_file(part),
            TargetOutput::Stream(_) => Ok(()),
        }
    }

    /// Gives the file its name: all is written.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        self.flush()?;
        let TargetOutput::Part { part, path, .. } = &self.out else { return Ok(()) };
        let late = self
            .late_name
            .as_ref()
            .and_then(|name| name.lock().unwrap_or_else(PoisonError::into_inner).take());
        let path = late.as_ref().unwrap_or(path);
        fs::rename(part, path).map_err(|e| {
            io::Error::new(e.kind(), format!("cannot rename {} to {}: {e}", part.display(), path.display()))
        })
    }
}

impl Write for WriteTarget {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("closed after an earlier error"));
        }
        let result = match &mut self.out {
            TargetOutput::Part { file, .. } => file.write(buf),
            TargetOutput::Stream(out) => out.write(buf),
        };
        match &result {
            Ok(n) => self.len += *n as u64,
            Err(e) => self.failed |= e.kind() != io::ErrorKind::Interrupted,
        }
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            TargetOutput::Part { file, .. } => file.flush(),
            TargetOutput::Stream(out) => out.flush(),
        }
    }
}

/// The name of a regular file until it is complete.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// Refuses a path that [`WriteTarget::open`] would refuse, and leaves what is there. A pipe or a device is not opened: who reads it would
/// take that for the beginning.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    if is_stdout(path) || is_special(path) {
        return Ok(());
    }
    let part = part_of(path);
    let checked = match File::create_new(&part) {
        Ok(_) => fs::remove_file(&part),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            File::options().append(true).open(&part).map(drop)
        }
        Err(error) => Err(error),
    };
    checked.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", part.display())))
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Returns true if `path` exists and is neither a regular file nor a directory (which is refused when it is opened).
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}
