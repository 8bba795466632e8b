//! The outputs' thread.

use super::answers::RowAnswerer;
use super::{Destinations, FamilyRowBlock, OutputMessage, OutputsResult, RowOutput, RunRows};
use crate::config::{Every, MeasurementConfig};
use crate::control::Control;
use crate::ids::WindowId;
use flow::FlowRecord;
use model::{Counters, OutputCounts};
use record::{Anonymizer, RecordWriter, Shortfall, records_written};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// About how long a writer may hold records back.
const FLUSH_AFTER: Duration = Duration::from_millis(200);

/// An output that takes records.
struct RecordOutput {
    /// The writer; `None` once it has failed.
    writer: Option<Box<dyn RecordWriter>>,
    name: String,
    /// The number of records that the output has: taken and, once it has failed or ended, those that are there.
    exported: u64,
}

impl RecordOutput {
    /// Gives the writer up.
    fn fail(&mut self, error: &std::io::Error) -> String {
        self.writer = None;
        self.exported = records_written(error).unwrap_or(0);
        error.to_string()
    }
}

pub(super) struct Consumer {
    outputs: Vec<RecordOutput>,
    /// The outputs that take rows, without those that have failed.
    rows: Vec<Box<dyn RowOutput>>,
    /// Length of windows by time, nanoseconds.
    window_ns: u64,
    anonymizer: Option<Anonymizer>,
    answers: RowAnswerer,
    warn: Sender<String>,
    rotation: Arc<AtomicBool>,
    result: OutputsResult,
}

impl Consumer {
    pub(super) fn new(
        destinations: Destinations,
        config: &MeasurementConfig,
        control: Control,
        run: RunRows,
        warn: Sender<String>,
        rotation: Arc<AtomicBool>,
    ) -> Self {
        let Destinations { writers, rows, anonymizer, windows, node } = destinations;
        control.recent_windows().begin(&node, anonymizer.as_ref());
        Self {
            outputs: writers
                .into_iter()
                .map(|writer| RecordOutput { name: writer.name(), writer: Some(writer), exported: 0 })
                .collect(),
            rows,
            window_ns: match config.every {
                Every::Time(length) => length,
                Every::Packets(_) => 0,
            },
            answers: RowAnswerer::new(control, run, anonymizer.clone(), node, windows),
            anonymizer,
            warn,
            rotation,
            result: OutputsResult::default(),
        }
    }

    pub(super) fn run(&mut self, filled: &Receiver<OutputMessage>) {
        // The time since which a writer has buffered records.
        let mut held: Option<Instant> = None;
        loop {
            match filled.recv_timeout(FLUSH_AFTER) {
                Ok(OutputMessage::Records(mut block, used)) => {
                    self.take(&mut block);
                    held.get_or_insert_with(Instant::now);
                    block.clear();
                    // The receiving side may have ended already.
                    let _ = used.send(block);
                }
                Ok(OutputMessage::Rows(window, mut block, used)) => {
                    let start_ns = window.number().saturating_mul(self.window_ns);
                    self.answers.rows(window, start_ns, &block.v4, &block.v6);
                    self.write_rows(window, &block);
                    block.clear();
                    let _ = used.send(block);
                }
                Ok(OutputMessage::RecordRows(mut block, are_last, used)) => {
                    self.answers.record_rows(&block.v4, &block.v6, are_last);
                    block.clear();
                    let _ = used.send(block);
                }
                Ok(OutputMessage::Window(window)) => {
                    let lost = window.loss.as_ref().map_or(0, Counters::total);
                    // Records tell by themselves what they leave open.
                    let untold = window.untold_of_packets();
                    let (reason, estimates) = (window.lacks.clone(), window.estimates.clone());
                    let watched = Some([window.watched.start_ns, window.watched.end_ns]);
                    self.lack(&Shortfall { lost, reason, untold, estimates, watched });
                    for rows in &mut self.rows {
                        rows.window(&window);
                        rows.warnings().into_iter().for_each(|line| drop(self.warn.send(line)));
                    }
                    self.result.unreported += u64::from(!self.answers.window(*window))
                }
                Ok(OutputMessage::Lacking(lacking)) => self.answers.lack(&lacking),
                Ok(OutputMessage::Account(account)) => self.each_writer(0, |writer| writer.account(&account)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.rotation.swap(false, Relaxed) {
                self.each_writer(0, |writer| writer.rotate());
            }
            if held.is_some_and(|since| since.elapsed() >= FLUSH_AFTER) {
                self.each_writer(0, |writer| writer.flush());
                held = None;
            }
        }
    }

    /// Tells writers what the records of a window lack, and what of it was watched.
    fn lack(&mut self, shortfall: &Shortfall) {
        let writers = self.outputs.iter_mut().filter_map(|output| output.writer.as_mut());
        writers.for_each(|writer| writer.add_shortfall(shortfall));
    }

    fn take(&mut self, block: &mut [FlowRecord]) {
        if let Some(anonymizer) = &mut self.anonymizer {
            block.iter_mut().for_each(|record| anonymizer.record(record));
        }
        self.each_writer(block.len() as u64, |writer| writer.write(block));
    }

    fn write_rows(&mut self, window: WindowId, block: &FamilyRowBlock) {
        let start_ns = window.number().saturating_mul(self.window_ns);
        let faults = &mut self.result.faults;
        self.rows.retain_mut(|rows| {
            let written =
                rows.write_v4(start_ns, &block.v4).and_then(|()| rows.write_v6(start_ns, &block.v6));
            faults.extend(written.as_ref().err().map(ToString::to_string));
            written.is_ok()
        });
    }

    /// Calls every writer that still works, to take this many records. One that fails is given up: what is whole there is what it has.
    fn each_writer(
        &mut self,
        records: u64,
        mut call: impl FnMut(&mut Box<dyn RecordWriter>) -> std::io::Result<()>,
    ) {
        for output in &mut self.outputs {
            let Some(writer) = &mut output.writer else { continue };
            let called = call(writer);
            // The receiver of warnings may have ended.
            writer.warnings().into_iter().for_each(|line| drop(self.warn.send(line)));
            match called {
                Ok(()) => output.exported += records,
                Err(error) => self.result.faults.push(output.fail(&error)),
            }
        }
    }

    pub(super) fn finish(mut self) -> OutputsResult {
        for mut output in self.outputs {
            match output.writer.take().map(RecordWriter::finish) {
                Some(Ok(delivery)) => {
                    output.exported = output.exported.saturating_sub(delivery.dropped);
                    self.result.warnings.extend(delivery.warnings);
                }
                Some(Err(error)) => self.result.faults.push(output.fail(&error)),
                None => {}
            }
            let RecordOutput { name, exported, .. } = output;
            self.result.outputs.push(OutputCounts { output: name, exported, dropped: 0 });
        }
        let without_place = self.answers.without_place();
        for rows in self.rows {
            if let Err(error) = rows.finish(&without_place) {
                self.result.faults.push(error.to_string());
            }
        }
        self.result.warnings.extend(self.answers.recent_windows_warning());
        self.result.longer = self.answers.end_long();
        self.result.untold_of_totals = self.answers.untold_of_totals();
        self.result.answers = self.answers.answer_run();
        self.result
    }
}
