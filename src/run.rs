//! `edison run`: the main job.

use crate::adapt::{self, Teller};
use crate::asked::Asked;
use crate::cli::RunOptions;
use crate::delivery::Delivery;
use crate::exit::{Failure, say};
use crate::live::Measured;
use crate::measurement::{Measurement, no_thread};
use crate::needs;
use crate::nodes;
use crate::origin::Origins;
use crate::page::{News, Page};
use crate::queries::{self, StandingOptions};
use crate::report_file::ReportFile;
use crate::reporting::{self, Reported};
use crate::screen::{self, Screen, Setting, Show};
use crate::signals;
use crate::standard_output::{self, Reader, StandardOutput};
use crate::stored;
use crate::system;
use crate::tasks;
use crate::watched::Lost;
use engine::{Control, Every, Observer};
use port::TimeBase;
use signal_hook::consts::SIGHUP;
use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use task::query::Query;
use task::{Generation, TaskSet, Tasks};

/// Measures what the options say.
pub(crate) fn run(options: &RunOptions, origins: &Origins) -> Result<ExitCode, Failure> {
    let nodes = nodes::split(options)?;
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let asked = Asked::of(options, origins, &names)?;
    let captures = asked.checked.iter().any(|query| query.capture_packets.is_some());
    if options.captures.is_some() && !captures {
        say("--captures: no query asks for packets; 'capture 100 packets' in one that others start does");
    }
    if options.alerts.is_asked() && !asked.checked.iter().any(|query| query.trigger.is_some()) {
        return Err(Failure::usage(
            "--alertmanager is told what fires, and no query of this run starts another: give -q or -f one with 'when'",
        ));
    }
    if nodes.iter().any(|node| node.options.tee.is_some() || node.options.adapt.is_some()) {
        needs::check_sampled_queries(&asked.checked)?;
        // Checked before a store would be created.
        nodes.iter().try_for_each(|node| needs::check_sampled(&adapt::sampled(&node.options)))?;
        nodes.iter().filter_map(|node| needs::remark_of_sample(&node.options)).for_each(|line| say(&line));
        if nodes.len() > 1 {
            return Err(Failure::usage(
                "a sample (--tee, --adapt) is of one node: totals of several nodes add up counts, not estimates",
            ));
        }
    }
    adapt::check(options, nodes.len(), asked.needs_controller)?;
    if options.adapt.is_some() && asked.checked.iter().any(|query| query.label == adapt::NAME) {
        return Err(Failure::usage(
            "a query named adapt: events of --adapt have this name; give the query another one",
        ));
    }
    // What queries need is as if it had been requested.
    let every = asked.every.unwrap_or(options.every);
    let usual_every = asked.usual_every;
    // As on the screen: windows of a capture come with --every, and where they are sent.
    let is_live = nodes.iter().any(|node| node.options.is_live());
    let json_windows = options.json && (is_live || origins.has("every") || options.kafka.is_asked());
    match &nodes[..] {
        [one] if !asked.needs_controller => {
            let options = &RunOptions {
                loss: options.loss || asked.needs_loss,
                every,
                usual_every,
                json_windows,
                ..adapt::sampled(&one.options)
            };
            run_one(options, origins, &one.name, &asked)
        }
        _ => system::run(&RunOptions { every, usual_every, json_windows, ..options.clone() }, nodes, &asked),
    }
}

/// Measures one node.
fn run_one(options: &RunOptions, origins: &Origins, node: &str, asked: &Asked) -> Result<ExitCode, Failure> {
    let standard_output = StandardOutput::of(options)?;
    let mut specs = tasks::specs(&options.task)?;
    specs.extend(asked.sketches.tasks());
    let stop = Arc::new(AtomicBool::new(false));
    let (reader, lost) = (Reader::new(&stop), Lost::default());
    let store = stored::open(options)?;
    let mut measurement =
        Measurement::prepare(options, node, &specs, asked.zooms, store.as_ref(), (&reader, &lost))?;
    let resolver = options.enrich.resolver();
    let report_file = options.report.as_deref().map(ReportFile::create).transpose()?;
    let time_base = measurement.time_base;

    // Who sets the length of windows of a replay wants to see them, unless they are written already.
    let shows_windows = origins.has("every") && options.rows.is_none() && options.per.is_none();
    let tasks = measurement.tasks.clone();
    let show = match (options.json, time_base) {
        _ if !standard_output.has_tables && tasks.is_some() => Show::Kept,
        _ if !standard_output.has_tables => Show::Nothing,
        (true, TimeBase::Packets) if !options.json_windows => Show::JsonOfOwn,
        (true, _) => Show::Json,
        (false, TimeBase::Clock) => Show::Tables,
        // What is sent is shown.
        (false, TimeBase::Packets) if options.kafka.is_asked() => Show::Tables,
        (false, TimeBase::Packets) if tasks.is_some() => Show::Tasks,
        (false, TimeBase::Packets) if shows_windows => Show::Tables,
        (false, TimeBase::Packets) if !asked.windows.is_empty() => Show::Queries,
        (false, TimeBase::Packets) => Show::Nothing,
    };
    let queries = queries_of(options, &measurement, asked, show);
    let control = Control::new(Arc::new(task_set(&queries, &measurement, tasks)?));
    let adaption = match options.adapt {
        Some(bound) => Some(adapt::start(bound, &mut measurement, queries, &specs, &control)?),
        None => None,
    };
    // Before the terminal is taken, so that no signal ends the program while it is.
    let given_back = Arc::new(AtomicBool::new(false));
    let may_end = if screen::is_live(show, time_base, options.per) { &given_back } else { &stop };
    signals::stop_on(&signals::ENDS, &stop, may_end)?;
    // Without several files, SIGHUP means that the terminal was closed.
    if options.rotate.is_none() {
        signals::stop_on(&[SIGHUP], &stop, may_end)?;
    }
    let setting = Setting {
        show,
        is_asked: !asked.is_empty(),
        per: options.per,
        time_base,
        measured: Measured {
            node: node.to_owned(),
            sources: measurement.names().to_vec(),
            every: measurement.config.every,
            queries: system::query_views(options, asked, node),
        },
        reader: reader.clone(),
        given_back: Arc::clone(&given_back),
        resolver: resolver.clone(),
    };
    let sources = vec![(measurement.site(), measurement.names().to_vec())];
    let page = Page::start(options, sources, asked)?;
    let mut screen = Screen::start(setting).map_err(no_thread)?;
    let mut windows = screen.outlet();
    if let Some(page) = &page {
        let feed = page.feed(time_base == TimeBase::Packets);
        // What the executor refuses was said before.
        if let Ok(chain) = system::chain(options, asked, &[node.to_owned()]) {
            feed.changed(News::of_queries(chain));
        }
        windows = feed.tee(windows);
    }
    let delivery = Delivery::start(options, !asked.is_empty(), time_base == TimeBase::Packets, &stop)?;
    let kafka = delivery.as_ref().and_then(Delivery::feed);
    if let Some(kafka) = &kafka {
        windows = kafka.clone().tee(windows);
    }
    let window_ns = match measurement.config.every {
        Every::Time(length) => length,
        Every::Packets(_) => 0,
    };
    let mut teller = Teller {
        screen: &mut screen,
        page: page.as_ref().map(|page| page.feed(false)),
        kafka: kafka.clone(),
        node: node.to_owned(),
        window_ns,
        bound: options.adapt.map_or(0.0, |bound| bound.loss),
        events: VecDeque::new(),
        unlisted: 0,
    };
    let began = Instant::now();
    let measured = measurement.measure(&control, windows, &stop, &mut teller)?;
    let Teller { events, unlisted, .. } = teller;
    // Nothing is lost to anybody where the one who read the answers has left.
    let is_unread = reader.has_left() && !standard_output::writes_files(options);
    let Reported { mut report, longer, warnings, mut verdict } = Reported::of(measured, is_unread);
    report.tuning = adaption.map(|adaption| adapt::report(&adaption, window_ns));
    (report.events, report.events_unlisted) = (events.into(), unlisted);
    // Through the screen, which may be drawing.
    warnings.into_iter().for_each(|line| screen.warning(line));
    verdict.lose(&lost);
    stored::close(store.as_ref(), time_base == TimeBase::Clock, &mut verdict);
    if store.is_some() {
        report.took(began.elapsed().as_secs_f64());
    }
    kafka.iter().for_each(|kafka| kafka.answers(&longer));
    if let Some(delivery) = delivery {
        delivery.finish(&mut verdict);
    }
    screen.answers(longer);
    let shown = screen.finish();
    report.faults.extend(shown.fault);
    report.answers.extend(shown.answers.into_iter().flatten());
    report.answers_unlisted = shown.unlisted;
    if let Some(resolver) = &resolver {
        resolver.enrich(&mut report.answers);
        resolver.withheld().iter().for_each(|line| say(line));
    }
    if show == Show::JsonOfOwn {
        reporting::print_whole(&report, !asked.is_empty())?;
    }
    reporting::finish(options, report, report_file, &verdict, page.map(|page| (page, &*stop)))
}

/// The queries of each window and of the run.
fn queries_of(options: &RunOptions, measurement: &Measurement, asked: &Asked, show: Show) -> Vec<Query> {
    let config = &measurement.config;
    let of_windows = matches!(show, Show::Json | Show::Tables) || options.kafka.is_asked();
    let of_run = queries::are_of_run(options);
    match asked.is_empty() {
        true => queries::standing(&StandingOptions {
            key: config.key,
            tracks_loss: config.parts.loss,
            biflow: config.parts.biflow,
            top: options.top,
            of_windows,
            of_run,
        }),
        false => asked.queries(of_windows, of_run),
    }
}

/// The queries and tasks as a set.
fn task_set(queries: &[Query], measurement: &Measurement, tasks: Option<Tasks>) -> Result<TaskSet, Failure> {
    TaskSet::plan(Generation::default(), queries, tasks, &measurement.site()).map_err(|refusals| {
        let lines = refusals.iter().map(|(query, refusal)| format!("{query}: {refusal}"));
        Failure::usage(lines.collect::<Vec<_>>().join("; "))
    })
}
