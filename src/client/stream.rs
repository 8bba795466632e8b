//! Messages of a stream of server-sent events.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The longest line that is read, bytes.
const MOST_READ: u64 = 256 << 20;

/// Reads the messages of a stream. The server sends one line of data each.
pub(super) struct EventStreamReader<R> {
    stream: BufReader<R>,
    name: String,
}

/// A message of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamMessage {
    /// Data under a name.
    Data {
        /// The name.
        name: String,
        /// The data, one line of JSON.
        data: String,
    },
    /// A comment: who sends it is there.
    Comment,
}

impl<R: Read> EventStreamReader<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream: BufReader::new(stream), name: String::new() }
    }

    /// The next one; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<StreamMessage>> {
        loop {
            let mut line = String::new();
            if (&mut self.stream).take(MOST_READ).read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if !line.ends_with('\n') && line.len() as u64 == MOST_READ {
                return Err(io::Error::new(ErrorKind::InvalidData, "a message is too long"));
            }
            let line = line.trim_end_matches(['\r', '\n']);
            if let Some(name) = line.strip_prefix("event:") {
                name.trim().clone_into(&mut self.name);
            } else if let Some(data) = line.strip_prefix("data:") {
                let data = data.trim_start().to_owned();
                return Ok(Some(StreamMessage::Data { name: self.name.clone(), data }));
            } else if line.starts_with(':') {
                return Ok(Some(StreamMessage::Comment));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_name_before_them() {
        let mut messages = EventStreamReader::new(
            b"event: a\ndata: 1\n\n:\n\nevent:b\r\ndata:2\r\n\r\nother: x\n".as_slice(),
        );
        let data = |name: &str, data: &str| {
            Some(StreamMessage::Data { name: name.to_owned(), data: data.to_owned() })
        };
        let mut next = || messages.next().expect("no error");
        assert_eq!(
            [next(), next(), next(), next()],
            [data("a", "1"), Some(StreamMessage::Comment), data("b", "2"), None]
        );
    }
}
