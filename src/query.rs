//! `edison query`: questions about recorded flows.

mod asking;
mod diff;
mod engine;
mod files;
mod printer;
mod progress;
mod remote;
mod source;

use crate::commands::QueryOptions;
use arena::Limits;
use diff::DiffInput;
use history::{AnswerSetting, Period, Question, QuestionError, ScanSummary};
use model::{Answer, Class};
use packet::Seed;
use printer::AnswerPrinter;
use progress::ReadProgress;
use runtime::exit::{EARLY, FAULT, Failure, USAGE, say, say_error};
use runtime::machine;
use runtime::open_files;
use runtime::questions::asked::{self, Texts};
use runtime::questions::query_text::NamedText;
use source::AnswerSource;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Answers what the options ask.
pub(crate) fn query(options: &QueryOptions) -> Result<ExitCode, Failure> {
    engine::check(options)?;
    let words = files::split(options)?;
    open_files::allow_many();
    let mut texts = asked::texts(&Texts {
        query: &options.query,
        file: &options.file,
        by: options.by.as_deref(),
        sort: options.sort.as_deref(),
        has_interval: options.per.is_some() && words.text.is_none(),
        top: options.top,
    })?;
    texts.extend(words.text.map(|text| NamedText { name: "query".to_owned(), text }));
    if let Some(address) = options.controller() {
        return remote::ask(options, address, &texts);
    }
    let sides = diff::sides(options, words.patterns)?;
    let command = QueryInvocation {
        options,
        texts: &texts,
        setting: AnswerSetting {
            limits: Limits::new(memory(options), usize::MAX),
            seed: Seed::new(machine::random()),
            geo: options.enrich.databases()?,
        },
        reading: ReadProgress::start()?,
    };
    match sides {
        DiffInput::One { source, period } => command.answer(source, period),
        DiffInput::Two(sides) => diff::compare(&command, sides),
    }
}

fn memory(options: &QueryOptions) -> usize {
    let bytes = options.memory.unwrap_or_else(machine::half_of_memory);
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The command: what is asked, and how.
struct QueryInvocation<'a> {
    options: &'a QueryOptions,
    texts: &'a [NamedText],
    setting: AnswerSetting,
    reading: ReadProgress,
}

impl QueryInvocation<'_> {
    /// Answers questions, as the answers become complete.
    fn answer(&self, mut source: AnswerSource, period: Option<Period>) -> Result<ExitCode, Failure> {
        let questions = asking::questions(self.options, self.texts, &source.facts(), period);
        // What a damaged manifest says of keys may be wrong.
        let questions = questions.map_err(|failure| source.damage().map_or(failure, Failure::damage))?;
        if let (AnswerSource::Store(stored), Some(dialect)) = (&mut source, self.options.engine.engine) {
            return engine::answer(self, stored, questions, dialect);
        }
        let printer = AnswerPrinter::new(self.options);
        let outcomes = self.read(&mut source, questions, &printer, &mut |answer| printer.print(answer))?;
        printer.finish();
        Ok(self.verdict(&source, &outcomes, &printer))
    }

    /// Reads what questions need.
    fn read(
        &self,
        source: &mut AnswerSource,
        questions: Vec<Question>,
        printer: &AnswerPrinter,
        give: &mut dyn FnMut(Answer),
    ) -> Result<Vec<ScanSummary>, Failure> {
        let mut continues = |progress| self.reading.continues(progress) && !printer.is_over();
        let remark = source.sampled();
        let facts = source.facts();
        // Where a record ends says where it counts, and it may reach over the windows and the period that are asked for.
        let of_records = questions.iter().filter(|_| facts.has_records);
        let approximate: BTreeMap<String, &str> = of_records
            .filter_map(|Question { query, period, .. }| {
                Some((query.name.clone(), history::part_of(&query.over, *period, facts.span)?))
            })
            .collect();
        let give = &mut |mut answer: Answer| {
            if let Some(unit) = approximate.get(&answer.query) {
                history::count_at_end(&mut answer, unit);
            }
            if let Some(remark) = &remark {
                answer.class = Class::Sample;
                answer.bounds = "none".to_owned();
                answer.remark(remark);
            }
            give(answer);
        };
        let outcomes = match source {
            AnswerSource::Files(files) => {
                let outcome = files.answer(&questions, &self.setting, &mut continues, give);
                outcome.map(|outcome| vec![outcome])
            }
            AnswerSource::Store(stored) => stored.answer(questions, &self.setting, &mut continues, give),
        };
        self.reading.wipe();
        outcomes.map_err(Self::refused)
    }

    /// Returns the failure that says why nothing was read.
    fn refused(refused: QuestionError) -> Failure {
        match refused {
            QuestionError::Queries(refused) => {
                Failure::usages(refused.into_iter().map(|(query, reason)| format!("{query}: {reason}")))
            }
            QuestionError::Files(lines) => Failure::usages(lines),
            QuestionError::Store(line) => Failure::fault(line),
        }
    }

    /// Says what was read and what could not be; returns the exit code.
    fn verdict(&self, source: &AnswerSource, outcomes: &[ScanSummary], printer: &AnswerPrinter) -> ExitCode {
        let files = if let AnswerSource::Files(files) = source { Some(files) } else { None };
        for (path, contents) in files.iter().flat_map(|files| files.contents()) {
            let unread: Vec<_> =
                contents.unread.iter().map(|(name, reason)| format!("{name} ({reason})")).collect();
            if !unread.is_empty() {
                say(&format!("{}: columns that are not read: {}", path.display(), unread.join(", ")));
            }
        }
        if let AnswerSource::Store(stored) = source {
            stored.replaced().for_each(say);
        }
        let mut said: Vec<String> =
            outcomes.iter().flat_map(|outcome| &outcome.errors).map(ToString::to_string).collect();
        said.extend(outcomes.iter().flat_map(|outcome| outcome.passed_over.iter().cloned()));
        said.sort();
        said.dedup();
        said.iter().for_each(|error| say_error(error));
        let without_key: u64 = outcomes.iter().map(|outcome| outcome.without_key).sum();
        if without_key != 0 {
            say(&format!(
                "{} of no flow: packets without a place in a table, or rows without addresses",
                notation::counted_as(without_key, "row", ["is", "are"])
            ));
        }
        let idle: Vec<_> = outcomes
            .iter()
            .flat_map(|outcome| outcome.without_node.iter().map(move |query| (query, &outcome.nodes)))
            .map(|(query, nodes)| {
                let nodes: Vec<_> = nodes.iter().map(String::as_str).collect();
                format!("{query} runs on no node of the files, which are of {}", nodes.join(", "))
            })
            .collect();
        idle.iter().for_each(|line| say_error(line));
        let is_stopped = outcomes.iter().any(|outcome| outcome.stopped) && !printer.is_over();
        if is_stopped {
            say_error("stopped before the end");
        }
        printer.withheld().iter().for_each(|line| say(line));
        self.reading.summary(outcomes);
        match printer.fault() {
            Some(fault) => {
                say_error(&fault);
                ExitCode::from(FAULT)
            }
            None if is_stopped || printer.is_partial() || !said.is_empty() => ExitCode::from(EARLY),
            None if !idle.is_empty() => ExitCode::from(USAGE),
            None => ExitCode::SUCCESS,
        }
    }
}
