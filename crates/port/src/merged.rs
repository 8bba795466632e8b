//! Several captures as one stream, merged by time stamp.

use crate::capture::STANDARD_INPUT;
use crate::{
    Burst, CaptureSource, FrameDescriptor, PacketSource, Poll, SourceCounter, SourceError, SourceProgress,
    TimeBase,
};
use packet::Frame;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Files named one by one; of more their number is said.
const MOST_NAMES: usize = 3;

/// The frames of several captures in the order of their times. Each capture's own order stays: what goes back within one is not
/// sorted, and of frames with one time those of the earlier capture are first, as `mergecap` has it.
///
/// A file is open only from its first frame's turn to its end, so that hundreds of files that follow on one another take the
/// memory of one.
pub struct MergedSource {
    name: String,
    inputs: Vec<CaptureInput>,
    /// Inputs by the time of their next frame.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Inputs that are to be polled before any frame is next.
    unknown: Vec<usize>,
    slots: Box<[FrameDescriptor]>,
    burst: usize,
    /// The first one is the run's, once all captures have ended.
    errors: Vec<SourceError>,
    warnings: Vec<String>,
    has_ended: bool,
    has_told_loss: bool,
}

/// An input: one of the captures.
struct CaptureInput {
    name: String,
    source: Option<CaptureSource>,
    /// The frames of the capture's last burst, which lie in the source's memory until the next one.
    frames: Vec<FrameDescriptor>,
    at: usize,
    /// Time of the frame before; one without a time takes its place behind it.
    latest_ns: u64,
    progress: SourceProgress,
    /// True if the capture was read from, or is at its end.
    has_begun: bool,
    /// The losses of the capture up to its last burst, and all of them once it has ended.
    lost: Option<Vec<SourceCounter>>,
    /// True if the last burst reports a loss that [`MergedSource::lost`] has not returned yet.
    tells_loss: bool,
}

impl CaptureInput {
    /// Returns the time by which the input's next frame is merged.
    fn next_ns(&self) -> Option<u64> {
        let frame = self.frames.get(self.at)?;
        Some(if frame.time_ns == Frame::NO_TIME { self.latest_ns } else { frame.time_ns })
    }

    /// Returns whether frames of the last burst have not been given yet.
    fn is_ahead(&self) -> bool {
        self.at < self.frames.len()
    }

    /// Returns the losses that the frames which were given report.
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        let is_ahead = self.is_ahead();
        self.tells_loss &= is_ahead;
        let Some(source) = &mut self.source else { return self.lost.clone() };
        let mut lost = source.lost()?;
        if is_ahead {
            let before = self.lost.as_deref().unwrap_or_default();
            let of = |name| before.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
            lost.iter_mut().for_each(|(name, count)| *count = of(*name));
        }
        Some(lost)
    }

    fn end(&mut self) {
        if let Some(mut source) = self.source.take() {
            self.progress = source.progress().unwrap_or(self.progress);
            self.lost = source.lost();
        }
    }
}

/// The result of polling one input.
enum Polled {
    Frames,
    Idle,
    Ended,
}

// SAFETY: the pointers in `slots` and `frames` lead into the buffers of the sources, which move with this one; nothing follows them
// but the borrower of a burst, and while that one exists the source cannot be moved to another thread.
unsafe impl Send for MergedSource {}

impl MergedSource {
    /// Opens captures; `-` is standard input. At most `burst` frames come at once.
    ///
    /// # Errors
    /// Returns [`SourceError::Open`] if a capture does not exist, cannot be read, or is a file and no capture.
    pub fn open(paths: &[String], burst: usize) -> Result<Self, SourceError> {
        let name = match paths {
            few if few.len() <= MOST_NAMES => few.join(" "),
            many => format!("{} files", many.len()),
        };
        let mut merged = Self {
            name,
            inputs: Vec::with_capacity(paths.len()),
            next: BinaryHeap::with_capacity(paths.len()),
            unknown: Vec::with_capacity(paths.len()),
            slots: vec![FrameDescriptor::EMPTY; burst.max(1)].into_boxed_slice(),
            burst,
            errors: Vec::new(),
            warnings: Vec::new(),
            has_ended: false,
            has_told_loss: false,
        };
        for (number, path) in paths.iter().enumerate() {
            let source = CaptureSource::open(path, burst)?;
            let progress = source.progress().unwrap_or(SourceProgress { done: 0, total: None });
            merged.inputs.push(CaptureInput {
                name: path.clone(),
                source: Some(source),
                frames: Vec::with_capacity(burst),
                at: 0,
                latest_ns: 0,
                progress,
                has_begun: false,
                lost: None,
                tells_loss: false,
            });
            // A regular file is read twice as far as its first frames: only these tell when its turn is. Standard input is not
            // opened again: it shares its position with the shell's file.
            let input = &mut merged.inputs[number];
            let reopens = progress.total.is_some() && path != STANDARD_INPUT;
            let first_ns = input.source.as_mut().filter(|_| reopens).map(first_time).transpose()?.flatten();
            match first_ns {
                Some(first_ns) => {
                    input.source = None;
                    merged.next.push(Reverse((first_ns, number)));
                }
                None => {
                    if reopens {
                        // Empty or damaged: that is said in its turn.
                        input.source = Some(CaptureSource::open(path, burst)?);
                    }
                    merged.unknown.push(number);
                }
            }
        }
        Ok(merged)
    }

    /// Asks an input for its next frames, which it opens if that is to be done.
    fn poll(&mut self, number: usize) -> Polled {
        let Self { inputs, warnings, errors, burst, .. } = self;
        let input = &mut inputs[number];
        input.has_begun = true;
        if input.source.is_none() {
            match CaptureSource::open(&input.name, *burst) {
                Ok(source) => input.source = Some(source),
                Err(error) => {
                    errors.push(error);
                    return Polled::Ended;
                }
            }
        }
        let Some(source) = &mut input.source else { return Polled::Ended };
        input.at = 0;
        input.frames.clear();
        input.lost = source.lost();
        let polled = match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                input.frames.extend_from_slice(burst.descriptors());
                Polled::Frames
            }
            Ok(Poll::Idle) => Polled::Idle,
            Ok(Poll::Ended) => Polled::Ended,
            Err(error) => {
                errors.push(error);
                Polled::Ended
            }
        };
        input.tells_loss |= source.has_new_loss();
        warnings.append(&mut source.warnings());
        if matches!(polled, Polled::Ended) {
            input.end();
        }
        polled
    }

    /// Returns a warning with the number of packets that some captures lost, where others do not tell their loss: the loss of all is at least
    /// this.
    fn least_loss(&self) -> Option<String> {
        let lost = |counters: &[SourceCounter]| {
            counters.iter().fold(0_u64, |sum, (_, more)| sum.saturating_add(*more))
        };
        let told = |input: &CaptureInput| Some((input.name.clone(), lost(input.lost.as_deref()?)));
        let told: Vec<_> = self.inputs.iter().filter_map(told).filter(|(_, lost)| *lost != 0).collect();
        let others = self.inputs.iter().filter(|input| input.lost.is_none()).count() as u64;
        if told.is_empty() || others == 0 {
            return None;
        }
        let least = told.iter().fold(0_u64, |sum, (_, lost)| sum.saturating_add(*lost));
        let named = told.iter().take(MOST_NAMES).map(|(name, lost)| format!("{name} says {lost}"));
        let named = named.chain((told.len() > MOST_NAMES).then(|| "others more".to_owned()));
        Some(format!(
            "at least {} lost before the captures: {}; {} not say, so that the loss of all is not known",
            notation::counted_as(least, "packet", ["was", "were"]),
            named.collect::<Vec<_>>().join(", "),
            notation::counted_as(others, "capture", ["does", "do"])
        ))
    }

    /// Polls the inputs that must be before any frame is next. False where one has none as yet.
    fn fill(&mut self) -> bool {
        while let Some(&number) = self.unknown.last() {
            match self.poll(number) {
                Polled::Frames => {
                    let time = self.inputs[number].next_ns().unwrap_or(0);
                    self.next.push(Reverse((time, number)));
                }
                Polled::Idle => return false,
                Polled::Ended => {}
            }
            self.unknown.pop();
        }
        true
    }

    /// Puts the next frames into the slots, until they are full or an input must be polled for its next ones.
    fn merge(&mut self) -> usize {
        let mut filled = 0;
        while let Some(Reverse((_, number))) = self.next.pop() {
            let input = &mut self.inputs[number];
            if input.at >= input.frames.len() {
                // It has not been opened for its frames, or has given all.
                self.unknown.push(number);
                break;
            }
            // All that is before every other input's next frame.
            let (other_ns, other) = self.next.peek().map_or((u64::MAX, usize::MAX), |Reverse(next)| *next);
            while filled < self.slots.len()
                && let Some(time_ns) = input.next_ns().filter(|&ns| (ns, number) <= (other_ns, other))
            {
                self.slots[filled] = input.frames[input.at];
                (input.at, input.latest_ns) = (input.at + 1, time_ns);
                filled += 1;
            }
            match input.next_ns() {
                Some(time_ns) => self.next.push(Reverse((time_ns, number))),
                None => {
                    self.unknown.push(number);
                    break;
                }
            }
            if filled == self.slots.len() {
                break;
            }
        }
        filled
    }
}

/// Time of a capture's first frame, if it has one.
///
/// # Errors
/// Returns [`SourceError::Open`] if the file is no capture.
fn first_time(source: &mut CaptureSource) -> Result<Option<u64>, SourceError> {
    loop {
        match source.rx_burst() {
            Ok(Poll::Burst(burst)) => {
                let first = burst.frames().next();
                return Ok(first.map(|frame| if frame.time_ns == Frame::NO_TIME { 0 } else { frame.time_ns }));
            }
            Ok(Poll::Idle) => {}
            Err(error @ SourceError::Open(_)) => return Err(error),
            Ok(Poll::Ended) | Err(_) => return Ok(None),
        }
    }
}

impl PacketSource for MergedSource {
    fn rx_burst(&mut self) -> Result<Poll<'_>, SourceError> {
        loop {
            if !self.fill() {
                return Ok(Poll::Idle);
            }
            if self.next.is_empty() {
                if !std::mem::replace(&mut self.has_told_loss, true) {
                    self.warnings.extend(self.least_loss());
                }
                return match self.errors.is_empty() || std::mem::replace(&mut self.has_ended, true) {
                    true => Ok(Poll::Ended),
                    false => {
                        let first = self.errors.remove(0);
                        self.warnings.extend(self.errors.drain(..).map(|error| error.to_string()));
                        Err(first)
                    }
                };
            }
            let filled = self.merge();
            if filled != 0 {
                // SAFETY: each descriptor is one of the last burst of an input's source. That source is neither polled nor
                // dropped before the next call, and this burst borrows `self` until then.
                return Ok(Poll::Burst(unsafe { Burst::new(&self.slots[..filled]) }));
            }
        }
    }

    fn time_base(&self) -> TimeBase {
        TimeBase::Packets
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// The sums over all captures that have begun, up to the frames that had their turn; `None` where one of them does not say.
    fn lost(&mut self) -> Option<Vec<SourceCounter>> {
        let mut sum: Vec<SourceCounter> = Vec::new();
        self.inputs.iter().find(|input| input.has_begun)?;
        for input in self.inputs.iter_mut().filter(|input| input.has_begun) {
            for (name, count) in input.lost()? {
                match sum.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, total)) => *total += count,
                    None => sum.push((name, count)),
                }
            }
        }
        Some(sum)
    }

    fn has_new_loss(&self) -> bool {
        self.inputs.iter().any(|input| input.tells_loss && !input.is_ahead())
    }

    fn progress(&self) -> Option<SourceProgress> {
        let progress = |input: &CaptureInput| match &input.source {
            Some(source) => source.progress().unwrap_or(input.progress),
            None => input.progress,
        };
        let all = || self.inputs.iter().map(progress);
        Some(SourceProgress {
            done: all().map(|one| one.done).sum(),
            total: all().map(|one| one.total).sum(),
        })
    }

    fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

#[cfg(test)]
mod tests;
