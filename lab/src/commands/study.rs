//! `edison-lab study`.

use crate::cli::StudyOptions;
use crate::failure::{EARLY, LabFailure, print, say};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use study::{Scale, StudyRequest};

/// The exit code where the user does not wait for the study to end (128 + SIGINT, as shells have it).
const IMPATIENT: i32 = 130;

/// Measures the papers' figures, or lists them.
pub(crate) fn study(options: &StudyOptions) -> Result<ExitCode, LabFailure> {
    let figures =
        study::find(options.paper.as_deref(), options.figure.as_deref()).map_err(LabFailure::usage)?;
    let Some(out) = options.out.as_deref().filter(|_| !options.list) else {
        let list = if options.json { format!("{:#}\n", study::list_json()) } else { study::list() };
        return print(&list);
    };
    let stop = Arc::new(AtomicBool::new(false));
    stop_on_signals(&stop).map_err(|error| LabFailure::fault(format!("cannot handle signals: {error}")))?;
    let scale = if options.quick { Scale::Quick } else { Scale::Full };
    let beside = options.beside.as_deref();
    let request = StudyRequest { figures: &figures, out, scale, anew: options.anew, beside, stop: &stop };
    let outcome = study::run(&request, &mut |line| say(line)).map_err(LabFailure::fault)?;
    if options.json {
        print(&format!("{:#}\n", outcome.figures))?;
    } else {
        print(&outcome.sentences.iter().map(|sentence| format!("{sentence}\n")).collect::<String>())?;
    }
    say(&format!("{}: {} points measured", out.join("index.html").display(), outcome.measured));
    if !outcome.faults.is_empty() {
        return Err(LabFailure::faults(outcome.faults));
    }
    if stop.load(Ordering::Relaxed) && outcome.done < outcome.asked {
        say(&format!(
            "ended early, {} of {} points are done; the same command (without --anew) goes on",
            outcome.done, outcome.asked
        ));
        return Ok(ExitCode::from(EARLY));
    }
    Ok(ExitCode::SUCCESS)
}

/// Sets `stop` on Ctrl-C and on SIGTERM. A second signal ends the program at once.
fn stop_on_signals(stop: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, IMPATIENT, Arc::clone(stop))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
