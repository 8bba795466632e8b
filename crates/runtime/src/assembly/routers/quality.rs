//! The quality of the records of windows: whether they are samples, and what did not arrive.

use model::{Answer, Counters, Span};
use router::{DecoderCounts, ExportedFlow, ExporterCounts, SamplingRate};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most windows that are remembered. Answers of longer windows say what is known of these.
const MOST_WINDOWS: usize = 10_000;
/// Older windows are kept in groups of this number, and at most this number of groups.
const TOGETHER: u64 = 64;
/// The names of the losses.
const LOSSES: [&str; 3] = ["datagrams_dropped", "records_lost", "messages_lost"];
/// The number of standard deviations within which 95 % of a normal distribution lie.
const DEVIATIONS: f64 = 1.96;

/// The counts of all datagrams up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DatagramTally {
    pub(super) counts: DecoderCounts,
    /// Datagrams that the kernel dropped; `None` where it does not say so.
    pub(super) dropped: Option<u64>,
}

impl DatagramTally {
    /// Returns the losses: datagrams that the kernel dropped, and records and messages that sequence numbers miss; `None` where they are not
    /// known.
    pub(super) fn lost(&self) -> Option<[u64; 3]> {
        let ExporterCounts { lost_records, lost_messages, .. } = self.counts.exporters;
        Some([self.dropped?, lost_records, lost_messages])
    }

    /// Returns the counts of what came and was not read: sets without a template, damaged datagrams, damaged sets, and records that no router
    /// can have counted.
    pub(super) fn unread(&self) -> [u64; 4] {
        let DecoderCounts { datagrams, templates, records, .. } = self.counts;
        [templates.without_template, datagrams.damaged, templates.damaged_sets, records.implausible]
    }

    /// Returns the losses, by name.
    pub(super) fn counters(&self) -> Option<Counters> {
        self.lost().map(named)
    }

    /// Returns what became of datagrams and records.
    pub(super) fn remarks(&self) -> Counters {
        self.counts.named().into_iter().collect()
    }
}

/// Returns losses by name.
pub(super) fn named(lost: [u64; 3]) -> Counters {
    LOSSES.into_iter().zip(lost).collect()
}

/// The quality of the records of a window, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Quality {
    records: u64,
    sampled: u64,
    /// The number of records whose sampling rate is not known.
    unknown: u64,
    /// The least and the greatest rate of samples.
    rates: Option<[SamplingRate; 2]>,
    /// Estimated packets, and the variance of the estimate.
    packets: f64,
    variance: f64,
    /// The losses in the time of the window.
    pub(super) lost: [u64; 3],
    /// True if something was lost while the window was open.
    pub(super) may_lack: bool,
    /// True if something was not read while the window was open.
    pub(super) may_lack_unread: bool,
    /// The counts of what was not read in the time of the window, as [`DatagramTally::unread`] has them.
    pub(super) unread: [u64; 4],
}

impl Quality {
    /// Counts a record.
    pub(super) fn add(&mut self, flow: &ExportedFlow) {
        self.records += 1;
        let Some(rate) = flow.rate else {
            self.unknown += 1;
            self.sampled += 1;
            return;
        };
        let (factor, counted) = (rate.factor(), flow.counted as f64);
        self.packets += factor * counted;
        if rate.is_sampled() {
            self.sampled += 1;
            self.rates = Some(joined(self.rates, [rate; 2]));
            // Each packet that is counted stands for as many as the rate says, of which it was picked independently.
            self.variance += factor * (factor - 1.0) * counted;
        }
    }

    fn plus(&mut self, more: &Self) {
        self.records += more.records;
        self.sampled += more.sampled;
        self.unknown += more.unknown;
        self.rates = more.rates.map_or(self.rates, |rates| Some(joined(self.rates, rates)));
        self.packets += more.packets;
        self.variance += more.variance;
        self.lost.iter_mut().zip(more.lost).for_each(|(own, more)| *own = own.saturating_add(more));
        self.may_lack |= more.may_lack;
        self.may_lack_unread |= more.may_lack_unread;
        self.miss(more.unread);
    }

    /// Adds counts of what was not read.
    pub(super) fn miss(&mut self, unread: [u64; 4]) {
        self.unread.iter_mut().zip(unread).for_each(|(own, more)| *own = own.saturating_add(more));
    }

    /// Returns what did not arrive or was not read, if anything.
    pub(super) fn lacks(&self) -> Option<String> {
        let [datagrams, records, messages] = self.lost;
        let [without_template, damaged, damaged_sets, implausible] = self.unread;
        let named = |parts: &[(u64, &str)]| {
            let some = parts.iter().filter(|(count, _)| *count != 0);
            some.map(|(count, what)| what.replace("{}", &count.to_string())).collect::<Vec<_>>()
        };
        let mut parts = named(&[
            (datagrams, "{} datagrams were dropped by the kernel"),
            (records, "{} records did not arrive"),
            (messages, "{} messages did not arrive"),
        ]);
        if parts.is_empty() && self.may_lack {
            parts.push("records that did not arrive may have been of it".to_owned());
        }
        parts.extend(named(&[
            (without_template, "records of {} sets without a template were not read"),
            (damaged, "{} damaged datagrams were not read to their end"),
            (damaged_sets, "records of {} damaged sets were not read"),
            (implausible, "{} records were refused as implausible"),
        ]));
        if self.unread == [0; 4] && self.may_lack_unread {
            parts.push("records that were not read may have been of it".to_owned());
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns how good the estimates are, if values are estimates.
    pub(super) fn estimates(&self) -> Option<String> {
        let Self { records, sampled, unknown, .. } = self;
        if *unknown != 0 {
            return Some(format!(
                "not known: {sampled} of {records} records are samples, {unknown} of them of a rate that was not told, which count as they are"
            ));
        }
        let [least, greatest] = self.rates?;
        let rates = if least == greatest { least.to_string() } else { format!("{least} to {greatest}") };
        let error = match self.packets {
            0.0 => 0.0,
            packets => 100.0 * DEVIATIONS * self.variance.sqrt() / packets,
        };
        Some(format!(
            "estimates: {sampled} of {records} records are samples, {rates}; all packets within {error:.1} % with a confidence of 95 %"
        ))
    }

    /// Says in an answer what it lacks, and that its values are estimates.
    fn mark(&self, answer: &mut Answer) {
        if let Some(lacks) = self.lacks() {
            answer.mark_partial(&lacks);
        }
        if let Some(estimates) = self.estimates() {
            answer.estimates(&estimates);
        }
    }
}

fn joined(own: Option<[SamplingRate; 2]>, more: [SamplingRate; 2]) -> [SamplingRate; 2] {
    let by_factor = |one: SamplingRate, other: SamplingRate| {
        if one.factor() <= other.factor() { [one, other] } else { [other, one] }
    };
    let Some([least, greatest]) = own else { return more };
    [by_factor(least, more[0])[0], by_factor(greatest, more[1])[1]]
}

/// The qualities of the last windows, and of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Qualities(Arc<Mutex<WindowQualities>>);

#[derive(Debug, Default)]
struct WindowQualities {
    /// The newest windows, by their ends.
    windows: BTreeMap<u64, (Span, Quality)>,
    /// The older windows in groups, by the ends of the groups; `together` is how many windows the last group has.
    older: BTreeMap<u64, (Span, Quality)>,
    together: u64,
    run: Quality,
}

impl WindowQualities {
    /// Makes room: the oldest window goes to those that are remembered together.
    fn age(&mut self) {
        let Some((end_ns, (span, quality))) = self.windows.pop_first() else { return };
        let last = if self.together < TOGETHER { self.older.pop_last() } else { None };
        let together = match last {
            Some((_, (mut all, mut sum))) => {
                sum.plus(&quality);
                (all.end_ns, self.together) = (end_ns, self.together + 1);
                (all, sum)
            }
            None => {
                self.together = 1;
                (span, quality)
            }
        };
        self.older.insert(end_ns, together);
        if self.older.len() > MOST_WINDOWS {
            self.older.pop_first();
        }
    }
}

impl Qualities {
    /// Adds a window that is over.
    pub(super) fn push(&self, span: Span, quality: Quality) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.run.plus(&quality);
        known.windows.insert(span.end_ns, (span, quality));
        if known.windows.len() > MOST_WINDOWS {
            known.age();
        }
    }

    /// Sets what was lost in all of the run: what was overtaken is taken off, which windows that were closed do not know.
    pub(super) fn end(&self, lost: [u64; 3], unread: [u64; 4]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (known.run.lost, known.run.may_lack, known.run.unread) = (lost, false, unread);
    }

    /// Says in answers how good their records are.
    pub(crate) fn mark(&self, answers: &mut [Answer]) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for answer in answers {
            let Some(own) = answer.window else {
                known.run.mark(answer);
                continue;
            };
            let mut sum = Quality::default();
            let since = own.start_ns.saturating_add(1);
            let ending =
                [&known.older, &known.windows].into_iter().flat_map(|of| of.range(since..)).map(|(_, of)| of);
            let of_answer = ending.take_while(|(span, _)| span.start_ns < own.end_ns);
            of_answer.for_each(|(_, quality)| sum.plus(quality));
            sum.mark(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flow::FlowRecord;
    use model::AnswerStatus;

    fn flow(rate: u64, counted: u64) -> ExportedFlow {
        let rate = Some(SamplingRate::one_of(rate).expect("a rate"));
        ExportedFlow { record: FlowRecord::without_packets(0, 0), rate, counted }
    }

    fn span(start_ns: u64) -> Span {
        Span { start_ns, end_ns: start_ns + 10 }
    }

    #[test]
    fn answers_say_that_they_are_estimates_and_what_they_lack() {
        let qualities = Qualities::default();
        let mut sampled = Quality::default();
        sampled.add(&flow(1, 50));
        sampled.add(&flow(100, 25));
        qualities.push(span(0), sampled);
        qualities.push(span(10), Quality { lost: [0, 3, 0], ..Quality::default() });
        qualities.push(span(20), Quality::default());
        let answer = |window: Option<Span>| {
            let mut answers = [Answer::new("q", window, Vec::new(), Vec::new())];
            qualities.mark(&mut answers);
            let [answer] = answers;
            (answer.status, answer.bounds, answer.reason.unwrap_or_default())
        };
        let (status, bounds, reason) = answer(Some(span(0)));
        assert_eq!((status, bounds.as_str()), (AnswerStatus::Complete, "none"));
        // The deviation of 25 packets of 1:100 is sqrt(25 * 100 * 99) = 497.5 of 2,550 packets: 38.2 % for 95 %.
        assert_eq!(
            reason,
            "estimates: 1 of 2 records are samples, 1:100; all packets within 38.2 % with a confidence of 95 %"
        );
        let (status, bounds, reason) = answer(Some(span(10)));
        assert_eq!(
            (status, bounds.as_str(), reason.as_str()),
            (AnswerStatus::Partial, "none", "3 records did not arrive")
        );
        assert_eq!(answer(Some(span(20))), (AnswerStatus::Complete, "exact".to_owned(), String::new()));
        for both in [Some(Span { start_ns: 0, end_ns: 30 }), None] {
            let (status, _, reason) = answer(both);
            assert!(
                status == AnswerStatus::Partial && reason.contains("3 records") && reason.contains("1:100"),
                "{reason}"
            );
        }
    }

    #[test]
    fn a_rate_that_is_not_known_is_never_exact() {
        let qualities = Qualities::default();
        let mut own = Quality::default();
        own.add(&flow(100, 25));
        own.add(&ExportedFlow { rate: None, ..flow(1, 50) });
        qualities.push(span(0), own);
        let mut answers = [Answer::new("q", Some(span(0)), Vec::new(), Vec::new())];
        qualities.mark(&mut answers);
        assert_eq!(answers[0].bounds, "none");
        assert_eq!(
            answers[0].reason.as_deref(),
            Some(
                "not known: 2 of 2 records are samples, 1 of them of a rate that was not told, which count as they are"
            )
        );
    }

    #[test]
    fn old_windows_are_remembered_together() {
        let qualities = Qualities::default();
        let all = MOST_WINDOWS as u64 + 3 * TOGETHER;
        for number in 0..all {
            let lost = [0, u64::from(number == 1 || number == all - 1), 0];
            qualities.push(span(10 * number), Quality { lost, ..Quality::default() });
        }
        let known = qualities.0.lock().expect("a lock").older.len() as u64;
        assert_eq!(known, 3);
        let lacks = |first: u64, windows: u64| {
            let window = Some(Span { start_ns: 10 * first, end_ns: 10 * (first + windows) });
            let mut answers = [Answer::new("q", window, Vec::new(), Vec::new())];
            qualities.mark(&mut answers);
            answers[0].reason.clone()
        };
        assert_eq!(lacks(0, all).as_deref(), Some("2 records did not arrive"));
        assert_eq!(lacks(0, TOGETHER).as_deref(), Some("1 records did not arrive"));
        assert_eq!(lacks(TOGETHER, all - 1 - TOGETHER), None);
    }
}
