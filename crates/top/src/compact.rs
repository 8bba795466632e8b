//! The view of a terminal that is too small for others.

use crate::model::{ApiConnection, ViewModel};
use crate::row::{Tone, ViewLine};
use notation::{grouped, scaled};

/// Fewer columns or rows than these have no views.
pub(crate) const LEAST: (usize, usize) = (40, 8);

/// The state in lines of some twenty characters, what matters most first.
pub(crate) fn rows(model: &ViewModel) -> Vec<ViewLine> {
    let nodes = &model.status.nodes;
    let rate = model.rate().map_or_else(|| "rate unknown".to_owned(), |rate| scaled(rate, "pps"));
    let received = model.moment.map_or_else(|| model.packets().received, |moment| moment.received);
    let state = match &model.link {
        ApiConnection::Away { .. } => ViewLine::new(Tone::Bad, "away".to_owned()),
        ApiConnection::Connected if model.status.ended => ViewLine::plain("ended".to_owned()),
        ApiConnection::Connected if nodes.len() == 1 => ViewLine::plain(rate),
        ApiConnection::Connected => ViewLine::plain(format!("{} of {} up {rate}", model.up(), nodes.len())),
    };
    let unknown = nodes.iter().filter(|node| node.loss.is_none()).count();
    let losses = nodes.iter().filter_map(|node| node.loss.as_ref());
    let lost = losses.fold(0_u64, |sum, loss| sum.saturating_add(loss.total()));
    let loss = match (unknown, lost) {
        (0, 0) => ViewLine::plain("loss none"),
        (0, lost) => ViewLine::new(Tone::Warning, format!("loss {}", grouped(lost))),
        (_, 0) => ViewLine::plain("loss unknown"),
        (_, lost) => ViewLine::new(Tone::Warning, format!("loss {} or more", grouped(lost))),
    };
    let stories = model.stories().count();
    let mut rows = vec![state, ViewLine::plain(format!("{} packets", grouped(received))), loss];
    rows.extend((stories > 0).then(|| {
        ViewLine::plain(if stories == 1 { "1 story".to_owned() } else { format!("{stories} stories") })
    }));
    rows.push(ViewLine::plain("q quits"));
    rows
}
