//! What matters most, in a sentence: what is away, what fires, what cannot be trusted, what lacks, else what the traffic does.

use crate::model::{ApiConnection, ViewModel};
use crate::row::{Tone, ViewLine};
use model::view::{NodeState, Phase};
use model::{Answer, Totals, Value};
use notation::{counted, scaled};

/// A coverage below which figures are not those of the traffic.
const TRUSTED: f64 = 0.99;

/// The sentence; `None` where nothing is known yet.
pub(crate) fn sentence(model: &ViewModel) -> Option<ViewLine> {
    if matches!(model.link, ApiConnection::Away { .. }) {
        return Some(ViewLine::new(Tone::Bad, "Nothing answers: what is shown is older"));
    }
    if let Some(fires) = fires(model) {
        return Some(ViewLine::new(Tone::Bad, fires));
    }
    let nodes = &model.status.nodes;
    let uncovered = nodes
        .iter()
        .filter(|node| node.state == NodeState::Up && node.coverage.is_some_and(|it| it < TRUSTED));
    let least = uncovered
        .clone()
        .min_by(|a, b| a.coverage.partial_cmp(&b.coverage).unwrap_or(std::cmp::Ordering::Equal));
    if let Some((node, coverage)) = least.and_then(|node| Some((node, node.coverage?))) {
        let others = match uncovered.count() - 1 {
            0 => String::new(),
            others => format!(", and less than 99 % at {}", counted(others as u64, "other node")),
        };
        // Never 100 where something lacks.
        let percent = (coverage * 1_000.0).floor() / 10.0;
        return Some(ViewLine::new(
            Tone::Warning,
            format!(
                "{} measures {percent:.1} % of its packets: the others are lost before it{others}",
                node.name
            ),
        ));
    }
    let of = |state: NodeState| nodes.iter().filter(|node| node.state == state).count() as u64;
    let lacking: Vec<String> =
        [(NodeState::Down, "down"), (NodeState::Late, "late"), (NodeState::Unheard, "not heard")]
            .into_iter()
            .filter_map(|(state, word)| Some((of(state), word)).filter(|(count, _)| *count != 0))
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
    if !lacking.is_empty() {
        let all = counted(nodes.len() as u64, "node");
        return Some(ViewLine::new(Tone::Warning, format!("Of {all}, {}", lacking.join(", "))));
    }
    traffic(model).map(|text| ViewLine::new(Tone::Strong, text))
}

/// The title of what fires, the newest first, and how many more do.
fn fires(model: &ViewModel) -> Option<String> {
    let edges = model.queries.iter().flat_map(|query| {
        let edges = query.trigger.iter().flat_map(|trigger| &trigger.edges);
        edges.filter(|edge| edge.phase == Phase::Active).map(move |edge| (query, edge))
    });
    let mut keys: u64 = 0;
    let mut newest: Option<(&model::view::QueryView, &model::view::Edge)> = None;
    for (query, edge) in edges {
        keys = keys.saturating_add(edge.keys);
        if newest.is_none_or(|(_, known)| known.since_ns <= edge.since_ns) {
            newest = Some((query, edge));
        }
    }
    let (query, edge) = newest?;
    let event = model.events().find(|told| Some(&told.event.event) == edge.event.as_ref());
    let title = event.and_then(|told| told.event.title.clone());
    // A controller that knows no titles has the name.
    let title = title.unwrap_or_else(|| format!("{} fires", query.name));
    let since = edge.since_ns.map(|since| format!(" since {}", terminal::moment(since))).unwrap_or_default();
    let more = match keys.saturating_sub(1) {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    Some(format!("{title}{since}{more}"))
}

/// What the traffic of the last window does: its rate, and who sends most of it to whom.
fn traffic(model: &ViewModel) -> Option<String> {
    let [node] = &model.status.nodes[..] else { return None };
    let name = Some(node.name.as_str());
    let totals = model.latest("totals", name).or_else(|| model.latest("totals", None))?;
    let window = totals.watched.or(totals.window).or(model.status.span)?;
    let sums = Totals::from_answer(totals);
    if sums.packets == 0 || window.seconds() <= 0.0 {
        return Some("No packets".to_owned());
    }
    let bits = sums.wire_bytes.unwrap_or(sums.bytes) as f64 * 8.0 / window.seconds();
    let flow = model.latest("top_bytes", name).filter(|top| top.window == totals.window);
    let most = flow.and_then(|top| heaviest(top, sums.bytes)).unwrap_or_default();
    Some(format!("{} in {}{most}", scaled(bits, "bps"), counted(sums.flows, "flow")))
}

/// The share of the heaviest flow.
fn heaviest(top: &Answer, whole: u64) -> Option<String> {
    let address = |name: &str| match top.value(0, name)? {
        Value::Address(address) => Some(address.to_string()),
        _ => None,
    };
    let bytes = top.value(0, "total_byte").and_then(Value::as_unsigned)?;
    let (from, to) = (address("src_addr")?, address("dst_addr")?);
    let share = (bytes as f64 * 1_000.0 / whole.max(1) as f64).floor() / 10.0;
    Some(format!(", {share:.1} % of it from {from} to {to}"))
}
