//! `--engine`: another engine answers from the files of a store.

mod answers;
mod clickhouse;
mod lines;
mod login;
mod program;
mod values;

use super::QueryInvocation;
use super::printer::AnswerPrinter;
use crate::commands::QueryOptions;
use answers::AnswerBuilder;
use equery::{Dialect, RowPart};
use history::levels::{Elsewhere, OpenStore, QuestionShare};
use history::{Question, QuestionError};
use lines::{EngineOutput, Trouble};
use model::Answer;
use runtime::exit::{EARLY, FAULT, Failure, USAGE, say, say_error};
use runtime::machine;
use std::process::ExitCode;

/// The number of times that an engine is asked where files that it read have been replaced.
const MOST_TRIES: usize = 5;

/// Refuses options that another engine cannot follow.
pub(super) fn check(options: &QueryOptions) -> Result<(), Failure> {
    let Some(dialect) = options.engine.engine else { return Ok(()) };
    let mut refused = Vec::new();
    let mut refuse = |is_given: bool, line: &str| {
        if is_given {
            refused.push(format!("--engine {}: {line}", dialect.name()));
        }
    };
    refuse(options.store.is_none(), "it answers from a store: name one with --store DIR");
    refuse(!options.diff.is_empty(), "--diff is not possible");
    refuse(!options.enrich.geo.is_empty(), "--geo is not possible: the files have no places of addresses");
    let given = &options.engine;
    match dialect {
        Dialect::ClickHouse => {
            refuse(given.engine_url.is_none(), "name its HTTP interface: --engine-url http://HOST:8123");
            refuse(given.engine_program.is_some(), "it is no program: leave out --engine-program");
        }
        Dialect::Spark => {
            let has_option = given.engine_url.as_ref().is_some_and(|url| url.starts_with('-'));
            refuse(has_option, "--engine-url is the address of a master, as spark://HOST:7077");
        }
        Dialect::DuckDb => {
            refuse(given.engine_url.is_some(), "it is a program on this machine: leave out --engine-url");
        }
    }
    refuse(
        given.engine_login.is_some() && dialect != Dialect::ClickHouse,
        "it asks for no user: leave out --engine-login",
    );
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// Answers questions one by one. Those after one that has no answer are answered all the same.
pub(super) fn answer(
    command: &QueryInvocation<'_>,
    stored: &mut OpenStore,
    questions: Vec<Question>,
    dialect: Dialect,
) -> Result<ExitCode, Failure> {
    let printer = AnswerPrinter::new(command.options);
    let (mut damaged, mut idle, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_stopped = false;
    let shares: Vec<QuestionShare> =
        questions.into_iter().flat_map(|question| stored.shares(question, &command.setting)).collect();
    for share in shares {
        let asked = EngineRequest { command, share: &share, dialect };
        let told = match asked.answers(stored) {
            Ok(told) => told,
            Err(failure) => {
                failures.push(failure);
                break;
            }
        };
        match told {
            EngineOutcome::Answers { answers, elsewhere } => {
                if elsewhere.blanks.is_empty() {
                    let nodes: Vec<_> = stored.shelf().nodes().into_iter().collect();
                    let name = &share.question.query.name;
                    idle.push(format!("{name} runs on no node of the store, which has {}", nodes.join(", ")));
                }
                damaged.extend(elsewhere.errors);
                for mut answer in answers.into_iter().filter(|answer| share.gives(answer)) {
                    share.restore(&mut answer);
                    printer.print(answer);
                }
            }
            EngineOutcome::Failed(failure) => failures.push(failure),
            EngineOutcome::Stopped => {
                is_stopped = true;
                break;
            }
        }
        if printer.is_over() {
            break;
        }
    }
    printer.finish();
    stored.replaced().for_each(say);
    damaged.sort();
    damaged.dedup();
    damaged.iter().chain(&idle).for_each(|line| say_error(line));
    if is_stopped {
        say_error("stopped before the end");
    }
    printer.withheld().iter().for_each(|line| say(line));
    if let (None, Some(failure)) = (printer.fault(), Failure::joined(failures)) {
        return Err(failure);
    }
    Ok(match printer.fault() {
        Some(fault) => {
            say_error(&fault);
            ExitCode::from(FAULT)
        }
        None if is_stopped || printer.is_partial() || !damaged.is_empty() => ExitCode::from(EARLY),
        None if !idle.is_empty() => ExitCode::from(USAGE),
        None => ExitCode::SUCCESS,
    })
}

/// The result of a question.
enum EngineOutcome {
    Answers {
        answers: Vec<Answer>,
        elsewhere: Box<Elsewhere>,
    },
    /// The question has no answer; others may have one.
    Failed(Failure),
    Stopped,
}

/// A share of a question, and whom it is put to.
struct EngineRequest<'a> {
    command: &'a QueryInvocation<'a>,
    share: &'a QuestionShare,
    dialect: Dialect,
}

impl EngineRequest<'_> {
    /// The answers of all nodes. What the store replaces while an engine reads is read again.
    ///
    /// # Errors
    /// The engine is not there for any question.
    fn answers(&self, stored: &mut OpenStore) -> Result<EngineOutcome, Failure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let elsewhere = stored.elsewhere(&self.share.question, &self.command.setting);
            let elsewhere = match elsewhere {
                Ok(elsewhere) => elsewhere,
                Err(refused) => return Ok(EngineOutcome::Failed(self.refused(refused))),
            };
            let told = self.once(&elsewhere);
            // An engine may pass over a file that is gone without a word.
            if elsewhere.is_outdated() && !matches!(told, Err(Trouble::Stopped)) {
                if tries < MOST_TRIES {
                    continue;
                }
                return Ok(EngineOutcome::Failed(Failure::fault(format!(
                    "{}: the store replaced files {tries} times while {} read them: ask again, or for a shorter period",
                    self.share.question.query.name,
                    self.dialect.title()
                ))));
            }
            let failure = |trouble: Trouble| {
                trouble.into_failure(&format!("{}: {}", self.share.question.query.name, self.dialect.title()))
            };
            return match told {
                Ok(answers) => Ok(EngineOutcome::Answers { answers, elsewhere: Box::new(elsewhere) }),
                Err(Trouble::Stopped) => Ok(EngineOutcome::Stopped),
                Err(trouble @ Trouble::Usage(_)) => Err(failure(trouble)),
                Err(trouble) => Ok(EngineOutcome::Failed(failure(trouble))),
            };
        }
    }

    /// Names of queries are known where they are refused; of files, what they lack.
    fn refused(&self, refused: QuestionError) -> Failure {
        QueryInvocation::refused(refused)
    }

    /// The answers over the files that are named now.
    fn once(&self, elsewhere: &Elsewhere) -> Result<Vec<Answer>, Trouble> {
        let query = &self.share.question.query;
        let parts = elsewhere.parts().into_iter();
        let parts: Vec<RowPart> =
            parts.map(|(files, period)| RowPart { files, times: [period.from_ns, period.to_ns] }).collect();
        let (Some(blank), Some(watched), false) =
            (elsewhere.blanks.first(), elsewhere.watched, parts.is_empty())
        else {
            return Ok(elsewhere.told(self.share, answers::answer_nothing(query, elsewhere)));
        };
        let span = [watched.start_ns, watched.end_ns];
        let asked =
            equery::engine_sql(query, &elsewhere.key.parts(), &parts, &blank.columns, span, self.dialect);
        let asked = asked.map_err(Trouble::Question)?;
        let mut collected = AnswerBuilder::new(query, &elsewhere.key, &blank.columns, &asked);
        let time = self.command.options.engine.time();
        let lines = self.lines(&asked.statement)?;
        lines.each(time, &|| self.command.reading.goes_on(), &mut |line| collected.take(line))?;
        collected.check().map_err(Trouble::Wrong)?;
        Ok(elsewhere.told(self.share, collected.answers(elsewhere)))
    }

    /// Puts the statement to the engine.
    fn lines(&self, statement: &str) -> Result<EngineOutput, Trouble> {
        match self.dialect {
            Dialect::DuckDb => {
                let QueryOptions { engine, memory, .. } = self.command.options;
                program::duckdb(engine, memory.unwrap_or_else(machine::half_of_memory), statement)
            }
            Dialect::Spark => program::spark(&self.command.options.engine, statement),
            Dialect::ClickHouse => clickhouse::ask(self.command.options, statement),
        }
    }
}
