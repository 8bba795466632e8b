//! `edison dry-run`: the events that queries would have caused over recorded windows or flows.
//!
//! Recorded rows take the place of a measurement: the probes, the controller and the event machine are those of a run.

mod files;
mod lacking;
mod node;
mod outcome;
mod period;
mod windows;

use crate::assembly::driven;
use crate::exit::{self, Failure, say};
use crate::machine;
use crate::questions::asked::{self, Asked, Texts};
use crate::signals;
use crate::sinks::printer::{Printer, Style};
use crate::sinks::standard_output::Reader;
use crate::spec::DryRunOptions;
use controller::{Controller, Outlet, Output};
use equery::{Chain, ChainSite, CheckedQuery};
use history::Setting;
use history::replay::{Replayed, Surveyed};
use model::{EventKind, Story};
use node::Node;
use outcome::Outcome;
use packet::Seed;
use protocol::memory;
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use summary::Limits;
use task::rows::OF_SAMPLES;
use windows::Windows;

/// Lists the events of what the options name.
pub fn dry_run(options: &DryRunOptions) -> Result<ExitCode, Failure> {
    let words = files::split(options)?;
    let texts = asked::texts(&Texts {
        query: &options.query,
        file: &words.queries,
        by: None,
        sort: None,
        has_interval: false,
        top: 0,
    })?;
    let (recording, shown_from_ns) = period::open(options, words, &texts)?;
    let key = recording.files().key().parts();
    let windows = Windows::of(options, &texts, &recording)?;
    windows.refuse_errors(options, &texts, &key)?;
    let bytes = options.memory.unwrap_or_else(machine::half_of_memory);
    let setting = Setting {
        limits: Limits::new(usize::try_from(bytes).unwrap_or(usize::MAX), usize::MAX),
        seed: Seed::new(machine::random()),
        geo: options.enrich.databases()?,
    };
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let approximate: Vec<String> = recording.of_records().map(|path| path.display().to_string()).collect();
    let surveyed = recording.survey(windows.base_ns, &setting, &mut || !stop.load(Relaxed));
    let surveyed = surveyed.map_err(Failure::usages)?;
    let names: Vec<String> = surveyed.nodes.iter().map(|node| node.name().to_owned()).collect();
    if surveyed.is_stopped {
        return Ok(Outcome::stopped().verdict(None, false));
    }
    if names.is_empty() {
        return Err(Failure::usage("the files have no rows: there is no window to judge"));
    }
    let asked = windows.asked(options, &texts, &names, &key)?;
    refuse(&asked, &surveyed)?;
    let chain = chain(&asked, &names, &key, &windows)?;
    check(&chain, &surveyed)?;
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
    let resolver = options.enrich.resolver();
    let printer = Printer::new(style, reader.clone(), resolver.clone());
    let mut outcome = Outcome::of(&surveyed);
    let mut shown = Shown { printer, fired: 0, from_ns: shown_from_ns.unwrap_or(0), events: HashSet::new() };
    let (controller, replayed) = replay(surveyed, chain, &names, windows.base_ns, &stop, &mut shown)?;
    let Shown { printer, fired, events, .. } = shown;
    replayed.iter().for_each(|node| outcome.add(node));
    let fault = printer.finish();
    resolver.iter().filter_map(|resolver| resolver.withheld()).for_each(|line| say(&line));
    terminal::undecided(&controller.undecided()).lines().for_each(say);
    if !options.json && !reader.has_left() && fault.is_none() {
        let is_shown = |story: &&Story| {
            shown_from_ns.is_none() || story.events.iter().any(|event| events.contains(event))
        };
        let stories: Vec<_> = controller.stories().filter(is_shown).cloned().collect();
        exit::print(&(terminal::stories(&stories) + &outcome.summary(fired, controller.stories_dropped())))?;
    }
    Ok(outcome.verdict(fault, reader.has_left()))
}

/// Refuses what no rows answer.
fn refuse(asked: &Asked, surveyed: &Surveyed) -> Result<(), Failure> {
    let mut refused: Vec<String> = Vec::new();
    if asked.sketches.names().next().is_some() {
        refused.push("'using' and 'error' count packets, of which rows do not tell".to_owned());
    }
    for node in surveyed.nodes.iter().filter(|node| node.is_sampled()) {
        let is_across = |query: &&CheckedQuery| query.across.is_some() && query.nodes.matches(node.name());
        refused.extend(
            asked
                .checked
                .iter()
                .filter(is_across)
                .map(|query| format!("{}: {OF_SAMPLES}: windows of {} are of one", query.label, node.name())),
        );
    }
    for node in surveyed.nodes.iter().filter(|node| !node.site().tracks_loss) {
        let is_of_node = |query: &&CheckedQuery| query.needs_loss && query.nodes.matches(node.name());
        refused.extend(asked.checked.iter().filter(is_of_node).map(|query| {
            format!(
                "{}: it reads losses, which the files of {} do not have: edison run --loss --rows writes them",
                query.label,
                node.name()
            )
        }));
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// Refuses files that lack what the tasks of their nodes read.
fn check(chain: &Chain, surveyed: &Surveyed) -> Result<(), Failure> {
    let mut refused = Vec::new();
    for (number, node) in surveyed.nodes.iter().enumerate() {
        let tasks = chain.tasks.iter().zip(&chain.nodes).filter(|(_, nodes)| nodes.contains(&number));
        let tasks: Vec<_> = tasks.map(|(task, _)| task.clone()).collect();
        refused.extend(node.check(&tasks).err().into_iter().flatten());
    }
    if refused.is_empty() { Ok(()) } else { Err(Failure::usages(refused)) }
}

/// The queries that are answered: all, as in a run. Those that start nothing tell up to when nodes are known, too.
fn chain(asked: &Asked, nodes: &[String], key: &[String], windows: &Windows) -> Result<Chain, Failure> {
    let site = ChainSite { nodes, key, window_ns: windows.usual_ns, settings: events::Settings::default() };
    Chain::new(&asked.checked, &site).map_err(Failure::usages)
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
    let nodes = nodes.into_iter().map(|node| move || Ok(node.replay(stop)));
    let replayed = driven::drive(&mut controller, &link, shown, nodes, stop);
    Ok((controller, replayed?))
}

/// What the controller shows.
struct Shown {
    printer: Printer,
    /// Events that say that a condition became true.
    fired: u64,
    /// What ends up to then is replayed for its values alone.
    from_ns: u64,
    /// The events that are shown, where not all are.
    events: HashSet<String>,
}

impl Shown {
    fn is_early(&self, output: &Output) -> bool {
        match output {
            Output::Event(event) => event.at_ns <= self.from_ns,
            Output::Answer(answer) => answer.window.is_some_and(|window| window.end_ns <= self.from_ns),
            _ => false,
        }
    }
}

impl Outlet for Shown {
    fn show(&mut self, output: Output) {
        if self.is_early(&output) {
            return;
        }
        if let Output::Event(event) = &output {
            self.fired += u64::from(event.kind == EventKind::Fired);
            if self.from_ns != 0 {
                self.events.insert(event.event.clone());
            }
        }
        self.printer.show(output);
    }
}
