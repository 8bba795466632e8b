//! Reading a file, whatever is in it.

use super::{FRAME, MAGIC, MOST_REST, SpoolMismatch, SpoolRecord, VERSION, checksum};
use std::io::{self, Read};

/// The parts of a file that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The number of records with a wrong checksum, or of no known kind, that others follow.
    pub records: u64,
    /// The place where reading ended before the end of the file.
    pub from: Option<u64>,
}

impl Unread {
    /// Returns true if all was read.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what is wrong with a file of this length, in words.
    pub fn words(&self, length: u64) -> String {
        let records = (self.records > 0).then(|| format!("{} records in it are damaged", self.records));
        let end = self.from.map(|from| {
            format!(
                "its last {} bytes are damaged or were never written to the end",
                length.saturating_sub(from)
            )
        });
        let parts: Vec<String> = records.into_iter().chain(end).collect();
        parts.join(", ")
    }
}

/// The content found where a record may begin.
enum SpoolFrame {
    Right(SpoolRecord),
    Damaged,
    /// The end of what can be read. `is_whole`: the file ends there.
    End {
        is_whole: bool,
    },
}

/// The records of a file, one after the other. It needs the memory of one record.
#[derive(Debug)]
pub struct SpoolReader<R> {
    from: R,
    at: u64,
    rest: Vec<u8>,
    unread: Unread,
    is_over: bool,
}

impl<R: Read> SpoolReader<R> {
    /// Reads the begin of a file, which must be of this node.
    ///
    /// # Errors
    /// If the file cannot be read. The inner error says why it is not this node's spool.
    pub fn new(mut from: R, node: &str) -> io::Result<Result<Self, SpoolMismatch>> {
        let mut head = Vec::new();
        let mut more = |count: usize, head: &mut Vec<u8>| -> io::Result<bool> {
            Ok(from.by_ref().take(count as u64).read_to_end(head)? == count)
        };
        if !more(MAGIC.len() + 4, &mut head)? || head[..MAGIC.len()] != MAGIC {
            return Ok(Err(SpoolMismatch::NoSpool));
        }
        let version = [head[8], head[9], head[10], head[11]];
        let version = u32::from_le_bytes(version);
        if version != VERSION {
            return Ok(Err(SpoolMismatch::Version(version)));
        }
        if !more(2, &mut head)? {
            return Ok(Err(SpoolMismatch::NoSpool));
        }
        let length = usize::from(u16::from_le_bytes([head[12], head[13]]));
        if !more(length + 4, &mut head)? {
            return Ok(Err(SpoolMismatch::NoSpool));
        }
        let (said, sum) = head.split_at(head.len() - 4);
        if crc32fast::hash(said).to_le_bytes() != sum {
            return Ok(Err(SpoolMismatch::NoSpool));
        }
        let own = String::from_utf8_lossy(&said[14..]);
        if own != node {
            return Ok(Err(SpoolMismatch::Node(own.into_owned())));
        }
        let at = head.len() as u64;
        Ok(Ok(Self { from, at, rest: Vec::new(), unread: Unread::default(), is_over: false }))
    }

    /// The next record that can be read. One that is damaged is left out where its length leads to another one.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<SpoolRecord>> {
        // The end of the last record that was right.
        let from = self.at;
        let mut damaged = 0;
        while !self.is_over {
            match self.frame()? {
                SpoolFrame::Right(record) => {
                    self.unread.records += damaged;
                    return Ok(Some(record));
                }
                SpoolFrame::Damaged => damaged += 1,
                SpoolFrame::End { is_whole } => {
                    if damaged > 0 || !is_whole {
                        self.unread.from = Some(from);
                    }
                    self.is_over = true;
                }
            }
        }
        Ok(None)
    }

    fn frame(&mut self) -> io::Result<SpoolFrame> {
        let mut frame = Vec::with_capacity(FRAME);
        self.from.by_ref().take(FRAME as u64).read_to_end(&mut frame)?;
        let Some([a, b, c, d, sum @ ..]) = frame.first_chunk::<FRAME>() else {
            return Ok(SpoolFrame::End { is_whole: frame.is_empty() });
        };
        let length = u32::from_le_bytes([*a, *b, *c, *d]);
        self.rest.clear();
        if length as usize <= MOST_REST {
            self.from.by_ref().take(u64::from(length)).read_to_end(&mut self.rest)?;
        }
        if self.rest.len() != length as usize {
            return Ok(SpoolFrame::End { is_whole: false });
        }
        self.at += (FRAME + self.rest.len()) as u64;
        // A fuzzer finds no checksums.
        let is_right = cfg!(fuzzing) || checksum(length, &self.rest).to_le_bytes() == *sum;
        let record = is_right.then(|| SpoolRecord::read(&self.rest)).flatten();
        Ok(record.map_or(SpoolFrame::Damaged, SpoolFrame::Right))
    }

    /// Returns what could not be read so far.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    /// Returns the end of the last record that was looked at.
    pub fn at(&self) -> u64 {
        self.at
    }
}
