//! Why traffic changed between two periods.

use super::owner::{Terms, carry_out};
use super::{App, on_a_thread};
use crate::body;
use crate::change::{
    self, Change, ChangeAsked, ChangeField, ChangeMeasure, FIELDS, MOST_GROUPS, NODE, Unanswered,
};
use crate::checking::Checking;
use crate::failure::{ApiFailure, json_response};
use crate::hub::now_ns;
use crate::parameters::Parameters;
use crate::request::{HistoryAsked, Request};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use model::{HistoryAnswers, Span};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that nodes may take where a client does not say it, and the longest.
const DEFAULT_TIME: Duration = Duration::from_secs(30);
const MOST_TIME: Duration = Duration::from_secs(600);
/// The time that the controller may take beyond the nodes.
const MORE: Duration = Duration::from_secs(30);
/// The shortest time that nodes have for the second question.
const LEAST_TIME: Duration = Duration::from_secs(1);
/// The length of a period that a client does not say, nanoseconds.
const DEFAULT_PERIOD_NS: u64 = 3_600_000_000_000;
/// Groups of a field that are listed where a client does not say it.
const DEFAULT_TOP: usize = 5;

/// What is the same of both questions to the stores.
struct Limits {
    nodes: Vec<String>,
    memory_bytes: Option<u64>,
    until: Instant,
}

pub(super) async fn ask(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiFailure> {
    let (mut asked, limits) = asked(&uri)?;
    let text = body::read_text(&headers, body, app.body_time).await?;
    let checking = app.hub.checking();
    let unanswered = checked(&mut asked, &text, &checking)?;
    let known = app.hub.status().nodes.len();
    let nodes = if limits.nodes.is_empty() { known } else { limits.nodes.len() };
    let first = history(&app, &limits, change::ranking(&asked, nodes)).await?;
    // Both read much of what stores answered, and streams do not wait.
    let (asked, leaders) = on_a_thread(move || {
        let leaders = change::leaders(&asked, &first.answers);
        Ok((asked, leaders))
    })
    .await?;
    let nodes = leaders.node.clone().map_or(limits.nodes, |node| vec![node]);
    let limits = Limits { nodes, ..limits };
    let second = history(&app, &limits, change::figures(&asked, &leaders)).await?;
    let write = move || {
        let change: Change = change::outcome(&asked, &leaders, second, unanswered);
        Ok(serde_json::to_vec(&change)?)
    };
    Ok(json_response(StatusCode::OK, on_a_thread(write).await?))
}

/// Asks the stores of nodes.
async fn history(app: &App, limits: &Limits, text: String) -> Result<HistoryAnswers, ApiFailure> {
    let time = limits.until.saturating_duration_since(Instant::now()).max(LEAST_TIME);
    let asked = HistoryAsked {
        text,
        nodes: limits.nodes.clone(),
        from_ns: None,
        to_ns: None,
        every_ns: None,
        top: 0,
        memory_bytes: limits.memory_bytes,
        time,
    };
    let terms = Terms {
        timeout: time.saturating_add(MORE),
        of_run: "a run without a store remembers nothing to compare: give it --store DIR",
        late: ": ask again, for shorter periods",
    };
    let answered = carry_out(app, terms, |reply| Request::History { asked, reply }).await;
    answered.map_err(|failure| match failure.status {
        // What the text of the question has wrong comes of the parameters.
        StatusCode::UNPROCESSABLE_ENTITY => ApiFailure::bad(format!("condition: {}", failure.error)),
        _ => failure,
    })
}

/// Returns what the parameters ask, without the condition.
fn asked(uri: &Uri) -> Result<(ChangeAsked, Limits), ApiFailure> {
    let names = [
        "measure",
        "from",
        "to",
        "before_from",
        "before_to",
        "nodes",
        "by",
        "top",
        "across",
        "memory",
        "time",
    ];
    let parameters = Parameters::read(uri, &names)?;
    let time = parameters.duration("time")?.unwrap_or(DEFAULT_TIME);
    if time.is_zero() || time > MOST_TIME {
        return Err(ApiFailure::bad("time: nodes have 10min at most, and more than nothing"));
    }
    let top = parameters.read_as("top", notation::count)?;
    let top = top.map_or(DEFAULT_TOP, |top| usize::try_from(top).unwrap_or(usize::MAX));
    if top == 0 || top > MOST_GROUPS {
        return Err(ApiFailure::bad(format!("top: from 1 to {MOST_GROUPS} groups of each field are listed")));
    }
    let is_of_one_node = match parameters.text("across") {
        None | Some("sum") => false,
        Some("max") => true,
        Some(other) => {
            return Err(ApiFailure::bad(format!("across: {other:?} is neither sum nor max")));
        }
    };
    let (fields, is_by_node) = fields(parameters.text("by"))?;
    let nodes = parameters.text("nodes").map(|names| names.split(',').map(|name| name.trim().to_owned()));
    let limits = Limits {
        nodes: nodes.map(Iterator::collect).unwrap_or_default(),
        memory_bytes: parameters.read_as("memory", notation::bytes)?,
        until: Instant::now().checked_add(time).unwrap_or_else(Instant::now),
    };
    let asked = ChangeAsked {
        measure: parameters.read_as("measure", ChangeMeasure::parse)?.unwrap_or(ChangeMeasure::Bits),
        periods: periods(&parameters)?,
        fields,
        is_by_node,
        conditions: Vec::new(),
        top,
        is_of_one_node,
    };
    Ok((asked, limits))
}

/// Returns the two periods. That before is the one that ends where the other begins, and is as long, where nothing else is said.
fn periods(parameters: &Parameters<'_>) -> Result<[Span; 2], ApiFailure> {
    let end_ns = parameters.time_or_ago("to")?.unwrap_or_else(now_ns);
    let start_ns =
        parameters.time_or_ago("from")?.unwrap_or_else(|| end_ns.saturating_sub(DEFAULT_PERIOD_NS));
    let after = Span { start_ns, end_ns };
    let end_ns = parameters.time_or_ago("before_to")?.unwrap_or(start_ns);
    let start_ns =
        parameters.time_or_ago("before_from")?.unwrap_or_else(|| end_ns.saturating_sub(after.length_ns()));
    let before = Span { start_ns, end_ns };
    for (name, period) in [("from", after), ("before_from", before)] {
        if period.length_ns() == 0 {
            return Err(ApiFailure::bad(format!("{name}: it is not before the end of its period")));
        }
    }
    Ok([before, after])
}

/// Returns the fields of these names, the usual ones without any; and whether nodes are compared, too.
fn fields(names: Option<&str>) -> Result<(Vec<&'static ChangeField>, bool), ApiFailure> {
    let Some(names) = names else {
        return Ok((FIELDS.iter().filter(|field| field.is_usual).collect(), true));
    };
    let mut fields: Vec<&'static ChangeField> = Vec::new();
    let mut is_by_node = false;
    for name in names.split(',').map(str::trim) {
        if name == NODE {
            is_by_node = true;
            continue;
        }
        let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
            let known: Vec<&str> = FIELDS.iter().map(|field| field.name).chain([NODE]).collect();
            let name = name.escape_debug();
            let error = format!("by: there is no field {name}, there are {}", known.join(", "));
            return Err(ApiFailure::bad(error));
        };
        if fields.iter().all(|known| known.name != field.name) {
            fields.push(field);
        }
    }
    Ok((fields, is_by_node))
}

/// Takes the condition, and leaves out the fields that flows here do not have. Returns why.
fn checked(asked: &mut ChangeAsked, text: &str, checking: &Checking) -> Result<Vec<Unanswered>, ApiFailure> {
    for part in change::condition_parts(text.trim()).map_err(ApiFailure::bad)? {
        change::is_answerable(&checking.options, None, Some(part))
            .map_err(|error| ApiFailure::bad(format!("condition: {error}")))?;
        asked.conditions.push(part.to_owned());
    }
    let mut unanswered = Vec::new();
    asked.fields.retain(|field| {
        let refused = change::is_answerable(&checking.options, Some(field), None);
        let reason = refused.err();
        unanswered.extend(reason.clone().map(|reason| Unanswered { field: field.name, reason }));
        reason.is_none()
    });
    Ok(unanswered)
}
