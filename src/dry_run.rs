//! `edison dry-run`: the events that queries would have caused over recorded windows or flows.
//!
//! Recorded rows take the place of a measurement: the probes, the controller and the event machine are those of a run.

mod files;
mod lacking;
mod node;

use crate::asked::{self, Asked, Texts, greatest_divisor};
use crate::cli::DryRunOptions;
use crate::exit::{self, EARLY, FAULT, Failure, say, say_error};
use crate::machine;
use crate::measurement::no_thread;
use crate::query_text::NamedText;
use crate::signals;
use crate::standard_output::Reader;
use crate::system::printer::{Printer, Style};
use crate::system::{self, StopOnPanic};
use controller::{Controller, Outlet, Output};
use equery::{Chain, ChainSite, Options, Standing};
use history::replay::{Recording, Replayed, Surveyed};
use history::{Refused, Setting};
use node::Node;
use notation::{grouped, time_text};
use packet::Seed;
use protocol::memory;
use report::{EventKind, terminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use summary::Limits;
use task::query::Over;

/// The length of windows where neither the user nor the files say it.
const USUAL_NS: u64 = 10_000_000_000;

/// Lists the events of what the options name.
pub(crate) fn dry_run(options: &DryRunOptions) -> Result<ExitCode, Failure> {
    let words = files::split(options)?;
    let texts = asked::texts(&Texts {
        query: &options.query,
        file: &words.queries,
        by: None,
        sort: None,
        has_interval: false,
        top: 0,
    })?;
    let recording = Recording::open(words.files).map_err(Failure::usage)?;
    let windows = Windows::of(options, &texts, &recording)?;
    let bytes = options.memory.unwrap_or_else(machine::half_of_memory);
    let setting = Setting {
        limits: Limits::new(usize::try_from(bytes).unwrap_or(usize::MAX), usize::MAX),
        seed: Seed::new(machine::random()),
        geo: options.enrich.databases()?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let approximate: Vec<String> = recording.of_records().map(|path| path.display().to_string()).collect();
    let key = recording.files().key().parts();
    let tracks_loss = recording.files().track_losses();
    // What was recorded is checked against the queries before any row is replayed, and its nodes are known only then.
    let check_columns = {
        let tasks = windows.tasks(options, &texts, &key);
        recording.check(&tasks, &setting)
    };
    let surveyed = recording.survey(windows.base_ns, &setting, &mut || !stop.load(Relaxed));
    let surveyed = surveyed.map_err(Failure::usages)?;
    let names: Vec<String> = surveyed.nodes.iter().map(|node| node.name().to_owned()).collect();
    if names.is_empty() {
        return Err(Failure::usage("the files have no rows: there is no window to judge"));
    }
    let asked = windows.asked(options, &texts, &names, &key)?;
    refuse(&asked, tracks_loss)?;
    check_columns.map_err(|refused| match refused {
        Refused::Queries(refused) => {
            Failure::usages(refused.into_iter().map(|(query, reason)| format!("{query}: {reason}")))
        }
        Refused::Files(lines) => Failure::usages(lines),
    })?;
    let chain = chain(options, &asked, &names, &key, &windows)?;
    if !chain.has_events() {
        say("none of the queries starts another one (when): nothing can fire");
    }
    if let [first, more @ ..] = &approximate[..] {
        let others = if more.is_empty() { String::new() } else { format!(" and {} others", more.len()) };
        say(&format!(
            "{first}{others}: the events are approximate: a flow record counts whole in the window of its last packet; edison run --rows \
             records windows as they were"
        ));
    }
    surveyed.remarks.iter().for_each(|line| say(line));
    let reader = Reader::new(&stop);
    let style = Style {
        is_json: options.json,
        leaves_out_answers: !options.answers,
        is_approximate: !approximate.is_empty(),
        has_several_nodes: names.len() > 1,
        steps: Some(Vec::new()),
        ..Style::default()
    };
    let printer = Printer::new(style, reader.clone(), options.enrich.resolver());
    let is_cut_short = surveyed.is_stopped;
    let errors = surveyed.errors.iter().map(ToString::to_string).collect();
    let mut shown = Shown { printer, fired: 0 };
    let (controller, replayed) = replay(surveyed, chain, &names, windows.base_ns, &stop, &mut shown)?;
    let Shown { printer, fired } = shown;
    let mut outcome = Outcome { errors, is_stopped: is_cut_short, ..Outcome::default() };
    replayed.iter().for_each(|node| outcome.add(node));
    let fault = printer.finish(&mut []);
    if !options.json && !reader.has_left() && fault.is_none() {
        let stories: Vec<_> = controller.stories().cloned().collect();
        exit::print(&(terminal::stories(&stories) + &outcome.summary(fired, controller.stories_dropped())))?;
    }
    Ok(outcome.verdict(fault, reader.has_left()))
}

/// The lengths of windows.
struct Windows {
    /// Of the rows.
    base_ns: u64,
    /// Of the queries that do not say it.
    usual_ns: u64,
}

impl Windows {
    /// Rows have windows of their own. Those of flow records are as long as those of a run that measures for the queries.
    fn of(options: &DryRunOptions, texts: &[NamedText], recording: &Recording) -> Result<Self, Failure> {
        let given = options.every.map(|every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        if given == Some(0) {
            return Err(Failure::usage("--every 0s: a window takes some time, as 10s"));
        }
        let has_windows = recording.files().contents().find(|(_, contents)| contents.has_windows);
        match (recording.window_ns().map_err(Failure::usage)?, has_windows) {
            (Some(base_ns), _) => {
                let usual_ns = given.or(recording.usual_ns()).unwrap_or(base_ns);
                if !usual_ns.is_multiple_of(base_ns) {
                    return Err(Failure::usage(format!(
                        "--every {}: the windows of the rows are {} long, of which it must be a multiple",
                        time_text(usual_ns),
                        time_text(base_ns)
                    )));
                }
                Ok(Self { base_ns, usual_ns })
            }
            (None, Some((path, _))) => match given {
                Some(base_ns) => Ok(Self { base_ns, usual_ns: base_ns }),
                None => Err(Failure::usage(format!(
                    "{} does not tell how long its windows are: give --every TIME",
                    path.display()
                ))),
            },
            (None, None) => {
                let usual_ns = given.unwrap_or(USUAL_NS);
                let lengths = lengths(options, texts);
                Ok(Self { base_ns: lengths.into_iter().fold(usual_ns, greatest_divisor), usual_ns })
            }
        }
    }

    fn checking(&self, options: &DryRunOptions, key: &[String]) -> Options {
        Options {
            set: options.set.clone(),
            base_window_ns: Some(self.base_ns),
            key: Some(key.to_vec()),
            memory_bytes: Some(options.memory.unwrap_or_else(machine::half_of_memory)),
            ..Options::default()
        }
    }

    /// What the texts ask.
    fn asked(
        &self,
        options: &DryRunOptions,
        texts: &[NamedText],
        nodes: &[String],
        key: &[String],
    ) -> Result<Asked, Failure> {
        let checking = Options { known_nodes: Some(nodes.to_vec()), ..self.checking(options, key) };
        Asked::of_texts(texts, checking, nodes, &options.enrich)
    }

    /// What rows are read for, as far as the texts have no errors, which are said later.
    fn tasks(&self, options: &DryRunOptions, texts: &[NamedText], key: &[String]) -> Vec<task::query::Query> {
        checked(texts, self.checking(options, key)).into_iter().map(|query| query.plan).collect()
    }
}

/// The queries of texts, without a word about their errors.
fn checked(texts: &[NamedText], mut checking: Options) -> Vec<equery::CheckedQuery> {
    let mut queries = Vec::new();
    for text in texts {
        let checked = equery::check(&text.source(), &checking);
        if checked.has_errors() {
            return Vec::new();
        }
        checking.standing.extend(checked.queries.iter().map(Standing::of));
        queries.extend(checked.queries);
    }
    queries
}

/// The lengths of the windows of queries that say them.
fn lengths(options: &DryRunOptions, texts: &[NamedText]) -> Vec<u64> {
    let checking = Options { set: options.set.clone(), ..Options::default() };
    let lengths = checked(texts, checking).into_iter().filter_map(|query| match query.plan.over {
        Over::Windows { every_ns, .. } => Some(every_ns),
        Over::Window | Over::Run => None,
    });
    lengths.collect()
}

/// Refuses what no rows answer.
fn refuse(asked: &Asked, tracks_loss: bool) -> Result<(), Failure> {
    let mut refused: Vec<String> = Vec::new();
    if asked.sketches.names().next().is_some() {
        refused.push("'using' and 'error' count packets, of which rows do not tell".to_owned());
    }
    if !tracks_loss {
        let lacking = asked.checked.iter().filter(|query| query.needs_loss);
        refused.extend(lacking.map(|query| {
            format!(
                "{}: it reads losses, which the files do not have: edison run --loss --rows writes them",
                query.label
            )
        }));
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// The queries that are answered: those that start others or are started, and with `--answers` all.
fn chain(
    options: &DryRunOptions,
    asked: &Asked,
    nodes: &[String],
    key: &[String],
    windows: &Windows,
) -> Result<Chain, Failure> {
    let is_asked = |query: &&equery::CheckedQuery| options.answers || system::is_connected(query, asked);
    let queries: Vec<_> = asked.checked.iter().filter(is_asked).cloned().collect();
    let site = ChainSite { nodes, key, window_ns: windows.usual_ns, settings: events::Settings::default() };
    Chain::new(&queries, &site).map_err(Failure::usages)
}

/// Replays all nodes under a controller.
fn replay(
    surveyed: Surveyed,
    chain: Chain,
    names: &[String],
    window_ns: u64,
    stop: &Arc<AtomicBool>,
    shown: &mut Shown,
) -> Result<(Controller, Vec<Replayed>), Failure> {
    let longest_ns = chain.graph.queries.iter().map(|query| query.over_ns).max().unwrap_or(0);
    let setting = controller::Setting { window_ns, is_replay: true, key: None };
    let mut controller = Controller::new(chain, setting);
    let (link, probes) = memory::links(names);
    let nodes: Vec<Node> = surveyed
        .nodes
        .into_iter()
        .zip(probes)
        .map(|(recording, link)| Node::start(recording, link, longest_ns, stop))
        .collect::<Result<_, _>>()?;
    let replayed = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, node) in nodes.into_iter().enumerate() {
            let work = move || node.replay(stop);
            threads.push(thread::Builder::new().name(format!("node{number}")).spawn_scoped(scope, work));
        }
        // Whatever ends this thread, no node waits for it.
        let _ends = StopOnPanic(stop);
        controller::drive(&mut controller, &link, shown);
        let joined = threads.into_iter().map(|thread| {
            let thread = thread.map_err(no_thread)?;
            thread.join().map_err(|_| Failure::fault("the thread of a node failed"))
        });
        joined.collect::<Result<Vec<_>, Failure>>()
    });
    Ok((controller, replayed?))
}

/// What the controller shows.
struct Shown {
    printer: Printer,
    /// Events that say that a condition became true.
    fired: u64,
}

impl Outlet for Shown {
    fn show(&mut self, output: Output) {
        self.fired += match &output {
            Output::Event(event) => u64::from(event.kind == EventKind::Fired),
            _ => 0,
        };
        self.printer.show(output);
    }
}

/// What was read, and what was wrong with it.
#[derive(Default)]
struct Outcome {
    /// A line for each file.
    errors: Vec<String>,
    is_stopped: bool,
    rows: u64,
    windows: u64,
    without_place: u64,
}

impl Outcome {
    fn add(&mut self, node: &Replayed) {
        let errors = node.errors.iter().map(ToString::to_string);
        self.errors.extend(errors);
        self.is_stopped |= node.is_stopped;
        self.rows += node.rows;
        self.windows += node.windows;
        self.without_place = self.without_place.saturating_add(node.without_place);
    }

    /// What was read, on a terminal.
    fn summary(&self, fired: u64, stories_dropped: u64) -> String {
        let mut text = match fired {
            0 => "nothing would have fired".to_owned(),
            1 => "1 firing".to_owned(),
            fired => format!("{} firings", grouped(fired)),
        };
        text += &format!(" in {} windows with {} rows\n", grouped(self.windows), grouped(self.rows));
        if stories_dropped != 0 {
            text += &format!("{} earlier stories are not shown\n", grouped(stories_dropped));
        }
        text
    }

    /// Says what was wrong; returns the exit code.
    fn verdict(mut self, fault: Option<String>, has_reader_left: bool) -> ExitCode {
        self.errors.sort();
        self.errors.dedup();
        self.errors.iter().for_each(|line| say_error(line));
        if self.without_place != 0 {
            say(&format!(
                "{} packets are in no row, as they found no place in the table: the windows that have them are partial",
                grouped(self.without_place)
            ));
        }
        let is_stopped = self.is_stopped && !has_reader_left;
        if is_stopped {
            say_error("stopped before the end");
        }
        match fault {
            Some(fault) => {
                say_error(&fault);
                ExitCode::from(FAULT)
            }
            None if is_stopped || !self.errors.is_empty() => ExitCode::from(EARLY),
            None => ExitCode::SUCCESS,
        }
    }
}
