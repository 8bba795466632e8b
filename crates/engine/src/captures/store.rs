//! The thread that writes files.

use super::entry::FrameMetadata;
use super::finished::FinishedCapture;
use super::order::{EndedBy, OpenCapture};
use super::tap_end::TapEnd;
use super::{CaptureSettings, SharedCaptures, naming};
use port::PcapngWriter;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The interval at which rings are emptied while a capture is open.
const LOOK: Duration = Duration::from_millis(5);

/// The file of an order.
struct CaptureFile {
    order: Arc<OpenCapture>,
    writer: io::Result<PcapngWriter<File>>,
    part: PathBuf,
    path: PathBuf,
    packets: u64,
    is_cut: bool,
}

pub(super) struct CaptureFileWriter {
    shared: Arc<SharedCaptures>,
    folder: PathBuf,
    node: String,
    taps: Vec<TapEnd>,
    files: Vec<CaptureFile>,
    frame: Vec<u8>,
}

impl CaptureFileWriter {
    pub(super) fn new(shared: Arc<SharedCaptures>, settings: &CaptureSettings) -> Self {
        let CaptureSettings { folder, node, .. } = settings.clone();
        let folder = folder.unwrap_or_default();
        let (taps, files, frame) = Default::default();
        Self { shared, folder, node, taps, files, frame }
    }

    /// Writes until the sender of orders is dropped.
    pub(super) fn run(&mut self, orders: &Receiver<Arc<OpenCapture>>) {
        loop {
            let order = match self.files.is_empty() {
                true => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => orders.recv_timeout(LOOK),
            };
            match order {
                Ok(order) => self.open(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.look(orders);
                    self.files.iter().for_each(|file| file.order.end(EndedBy::RunEnd));
                    // Receivers that have not ended hand over what they took on.
                    while !self.files.is_empty() {
                        self.look(orders);
                        std::thread::sleep(LOOK);
                    }
                    return;
                }
            }
            self.look(orders);
        }
    }

    fn open(&mut self, order: Arc<OpenCapture>) {
        let path = self.folder.join(naming::file(&order.order.id, &self.node));
        let part = self.folder.join(format!("{}.part", naming::file(&order.order.id, &self.node)));
        let (comment, node) = (short(&order.order.comment), short(&self.node));
        let writer = create(&path, &part).and_then(|file| PcapngWriter::new(file, "edison", &comment, &node));
        self.files.push(CaptureFile { order, writer, part, path, packets: 0, is_cut: false });
    }

    /// Writes what is there, and closes the files of orders that have ended.
    fn look(&mut self, orders: &Receiver<Arc<OpenCapture>>) {
        let mut state = self.shared.state();
        self.taps.append(&mut state.taps);
        let have_begun = state.awaited == 0;
        drop(state);
        if let Some(now) = self.taps.iter().map(TapEnd::time_ns).min().filter(|_| have_begun) {
            let is_over = self.taps.iter().all(TapEnd::is_over);
            self.files.iter().for_each(|file| file.end_at(now, is_over));
        }
        // In this order: what orders that have ended took on is there, and what is there is of orders that have come.
        let ended: Vec<Option<EndedBy>> = self.files.iter().map(CaptureFile::ended).collect();
        let there: Vec<usize> = self.taps.iter().map(TapEnd::bytes).collect();
        orders.try_iter().for_each(|order| self.open(order));
        let Self { taps, files, frame, .. } = self;
        for (tap, bytes) in taps.iter_mut().zip(there) {
            tap.each(bytes, frame, |head, data| {
                let file = files.iter_mut().find(|file| file.order.number == head.order);
                file.into_iter().for_each(|file| file.write(head, data));
            });
        }
        let files = std::mem::take(&mut self.files);
        for (file, ended) in files.into_iter().zip(ended.into_iter().chain(std::iter::repeat(None))) {
            match ended {
                Some(by) => self.close(file, by),
                None => self.files.push(file),
            }
        }
    }

    fn close(&mut self, file: CaptureFile, by: EndedBy) {
        let order = Arc::clone(&file.order);
        let finished = file.close(by);
        let mut state = self.shared.state();
        // What it did not take others may.
        state.left += order.bytes.saturating_sub(finished.bytes);
        state.open.retain(|open| open.number != order.number);
        state.finished.push(finished);
        drop(state);
        self.shared.changed();
    }
}

impl CaptureFile {
    /// Ends the order where its time is over, or the run. `now`: the time of the last receiver.
    fn end_at(&self, now: u64, is_over: bool) {
        if self.order.order.time.is_some_and(|time| time.end_ns <= now) {
            self.order.end(EndedBy::Time);
        } else if is_over {
            self.order.end(EndedBy::RunEnd);
        }
    }

    fn ended(&self) -> Option<EndedBy> {
        match &self.writer {
            Ok(_) => self.order.ended(),
            Err(_) => {
                self.order.cancel();
                self.order.ended()
            }
        }
    }

    fn write(&mut self, head: FrameMetadata, data: &[u8]) {
        let Ok(writer) = &mut self.writer else { return };
        let tagged = head.with_tag(data);
        let (data, wire_len) = match &tagged {
            Some(tagged) => (&tagged[..], head.wire_len.saturating_add(4)),
            None => (data, head.wire_len),
        };
        match writer.write(head.link, head.time_ns, data, wire_len) {
            Ok(()) => {
                self.packets += 1;
                self.is_cut |= (data.len() as u64) < u64::from(wire_len);
            }
            Err(error) => self.writer = Err(error),
        }
    }

    fn close(self, by: EndedBy) -> FinishedCapture {
        let Self { order, writer, part, path, packets, is_cut } = self;
        let id = order.order.id.clone();
        let dropped = order.dropped();
        let written = writer.and_then(PcapngWriter::finish).and_then(|file| {
            let bytes = file.metadata()?.len();
            drop(file);
            fs::rename(&part, &path)?;
            Ok(bytes)
        });
        match written {
            Ok(bytes) => {
                let is_small = bytes <= FinishedCapture::MOST_CONTENT;
                let content = is_small.then(|| fs::read(&path).ok()).flatten();
                let (file, ended_by) = (Some(path), by.name());
                FinishedCapture { id, failed: None, file, packets, bytes, ended_by, dropped, is_cut, content }
            }
            Err(error) => {
                // One that is not ours was not created here.
                if error.kind() != io::ErrorKind::AlreadyExists {
                    let _ = fs::remove_file(&part);
                }
                let failed = Some(format!("file: {}: {error}", path.display()));
                FinishedCapture { id, failed, ended_by: "fault", dropped, ..FinishedCapture::default() }
            }
        }
    }
}

/// Creates the file that becomes `path` when it is whole. Files that are there are never replaced.
fn create(path: &Path, part: &Path) -> io::Result<File> {
    if path.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file of this name is there"));
    }
    OpenOptions::new().write(true).create_new(true).open(part)
}

/// Returns as much of a text as files have room for ([`super::AROUND_FILE`]).
fn short(text: &str) -> String {
    const LETTERS: usize = 100;
    text.chars().take(LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{CaptureOrder, FlowCaptures, Snap};
    use super::*;
    use arena::Limits;
    use model::Span;
    use packet::Tunnel;
    use std::sync::mpsc::channel;
    use task::rows::KeyFilter;

    #[test]
    fn a_receiver_that_ends_early_ends_no_capture_of_others() {
        let folder = std::env::temp_dir().join(format!("edison-store-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let settings = CaptureSettings {
            folder: Some(folder.clone()),
            node: "Node1".to_owned(),
            ..CaptureSettings::none()
        };
        let captures = FlowCaptures::default();
        let (sender, orders) = channel();
        let mut store = CaptureFileWriter::new(Arc::clone(&captures.shared), &settings);
        *captures.writer() = super::super::Writer { orders: Some(sender.clone()), thread: None };
        let order = |id: &str, time| CaptureOrder {
            id: id.to_owned(),
            comment: String::new(),
            filter: KeyFilter::all(),
            packets: 10,
            time,
        };
        for (id, time) in [("all", None), ("some", Some(Span { start_ns: 5, end_ns: 10 }))] {
            sender
                .send(Arc::new(OpenCapture::new(order(id, time), Snap::Headers, 1, 1 << 20)))
                .expect("it listens");
        }
        captures.begin(2);
        let limits = Limits::new(usize::MAX, 1);
        let tap = || captures.tap(&limits, Tunnel::Outer, true);
        store.look(&orders);
        let first = tap();
        first.enter(20);
        store.look(&orders);
        drop(first);
        store.look(&orders);
        assert_eq!((store.files.len(), captures.take_finished()), (2, vec![]), "the second one is to come");
        let second = tap();
        store.look(&orders);
        assert_eq!(captures.take_finished(), [], "it is in its first window");
        second.enter(10);
        store.look(&orders);
        let by = |finished: &[FinishedCapture]| {
            finished.iter().map(|finished| (finished.id.clone(), finished.ended_by)).collect::<Vec<_>>()
        };
        assert_eq!(by(&captures.take_finished()), [("some".to_owned(), "time")]);
        drop(second);
        store.look(&orders);
        assert_eq!(by(&captures.take_finished()), [("all".to_owned(), "run_end")]);
        fs::remove_dir_all(&folder).expect("it is there");
    }
}
