//! `edison study`.

use crate::cli::StudyOptions;
use crate::exit::{self, EARLY, Failure, say};
use crate::signals;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use study::{Request, Scale};

/// Measures the papers' figures, or lists them.
pub(crate) fn study(options: &StudyOptions) -> Result<ExitCode, Failure> {
    let figures = study::find(options.paper.as_deref(), options.figure.as_deref()).map_err(Failure::usage)?;
    let Some(out) = options.out.as_deref().filter(|_| !options.list) else {
        let list = if options.json { format!("{:#}\n", study::list_json()) } else { study::list() };
        return exit::print(&list);
    };
    let stop = Arc::new(AtomicBool::new(false));
    signals::stop_on(&signals::ENDS, &stop, &stop)?;
    let scale = if options.quick { Scale::Quick } else { Scale::Full };
    let request = Request { figures: &figures, out, scale, anew: options.anew, stop: &stop };
    let outcome = study::run(&request, &mut |line| say(line)).map_err(Failure::fault)?;
    if options.json {
        exit::print(&format!("{:#}\n", outcome.figures))?;
    } else {
        exit::print(&outcome.sentences.iter().map(|sentence| format!("{sentence}\n")).collect::<String>())?;
    }
    say(&format!("{}: {} points measured", out.join("index.html").display(), outcome.measured));
    if !outcome.faults.is_empty() {
        return Err(Failure::faults(outcome.faults));
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
