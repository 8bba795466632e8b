//! The view of a terminal that is too small for others.

use crate::model::{Link, Model};
use crate::row::{Row, Tone};
use notation::{grouped, scaled};

/// Fewer columns or rows than these have no views.
pub(crate) const LEAST: (usize, usize) = (40, 8);

/// The state in lines of some twenty characters, what matters most first.
pub(crate) fn rows(model: &Model) -> Vec<Row> {
    let nodes = &model.status.nodes;
    let rate = model.rate().map_or_else(|| "rate unknown".to_owned(), |rate| scaled(rate, "pps"));
    let received = model.moment.map_or_else(|| model.packets().received, |moment| moment.received);
    let state = match &model.link {
        Link::Away { .. } => Row::of(Tone::Bad, "away".to_owned()),
        Link::Connected if model.status.ended => Row::plain("ended".to_owned()),
        Link::Connected if nodes.len() == 1 => Row::plain(rate),
        Link::Connected => Row::plain(format!("{} of {} up {rate}", model.up(), nodes.len())),
    };
    let unknown = nodes.iter().filter(|node| node.loss.is_none()).count();
    let losses = nodes.iter().filter_map(|node| node.loss.as_ref());
    let lost = losses.fold(0_u64, |sum, loss| sum.saturating_add(loss.total()));
    let loss = match (unknown, lost) {
        (0, 0) => Row::plain("loss none"),
        (0, lost) => Row::of(Tone::Warning, format!("loss {}", grouped(lost))),
        (_, 0) => Row::plain("loss unknown"),
        (_, lost) => Row::of(Tone::Warning, format!("loss {} or more", grouped(lost))),
    };
    let stories = model.stories().count();
    let mut rows = vec![state, Row::plain(format!("{} packets", grouped(received))), loss];
    rows.extend(
        (stories > 0).then(|| {
            Row::plain(if stories == 1 { "1 story".to_owned() } else { format!("{stories} stories") })
        }),
    );
    rows.push(Row::plain("q quits"));
    rows
}
