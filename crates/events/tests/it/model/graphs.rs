//! Random graphs of queries.

use super::draw::Draw;
use events::{
    ALL_NODES, AnswerColumn, Binding, ColumnRole, EvaluationPoint, EventKey, EventSettings, Graph,
    GraphQuery, Member, Operand, QueryTrigger, TitleForm, TitlePart, TriggerCondition, TriggerKind,
    TriggerSource,
};
use model::ColumnKind;
use notation::{Comparison, Operator};
use std::net::IpAddr;

/// The base of all windows.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A graph of 2 to 5 queries on 1 to 3 nodes.
pub(crate) fn draw_graph(draw: &mut Draw) -> Graph {
    let nodes = (0..draw.between(1, 3)).map(|node| format!("n{node}")).collect();
    let mut graph = Graph { queries: Vec::new(), nodes, settings: draw_settings(draw) };
    let number = draw.between(2, 5) as usize;
    // Chains are deep, trees are broad.
    let of_chain = draw.pick(&[20, 50, 90]);
    for query in 0..number {
        let trigger = (query > 0 && (query == 1 || draw.chance(85))).then(|| {
            let parent = if draw.chance(of_chain) { query - 1 } else { draw.below(query as u64) as usize };
            draw_trigger(draw, parent, &graph)
        });
        let query = draw_query(draw, query, graph.nodes.len(), trigger);
        graph.queries.push(query);
    }
    graph
}

fn draw_settings(draw: &mut Draw) -> EventSettings {
    let is_narrow = draw.chance(30);
    EventSettings {
        grace_ns: draw.pick(&[0, SECOND / 2, SECOND, 3 * SECOND]),
        expire_windows: if draw.chance(70) { draw.between(3, 6) } else { 60 },
        coverage: 0.999,
        most_firings: if draw.chance(50) { draw.between(1, 4) as usize } else { 64 },
        most_keys: if is_narrow { draw.between(2, 6) as usize } else { 65_536 },
        ..EventSettings::default()
    }
}

fn draw_query(draw: &mut Draw, number: usize, nodes: usize, trigger: Option<QueryTrigger>) -> GraphQuery {
    let mut columns = Vec::new();
    for _ in 0..draw.between(0, 2) {
        let of = [ColumnKind::Unsigned, ColumnKind::Text, ColumnKind::Address, ColumnKind::Prefix];
        let kind = if draw.chance(40) { ColumnKind::Unsigned } else { draw.pick(&of) };
        columns.push((ColumnRole::Key, kind));
    }
    // The first one, which conditions read most, is a total mostly.
    for value in 0..draw.between(1, 3) {
        let others =
            [ColumnRole::Total, ColumnRole::Rate, ColumnRole::Least, ColumnRole::Greatest, ColumnRole::Other];
        let role = if value == 0 && draw.chance(70) { ColumnRole::Total } else { draw.pick(&others) };
        let kind = match role {
            ColumnRole::Rate => ColumnKind::Float,
            _ if draw.chance(15) => ColumnKind::Signed,
            _ => ColumnKind::Unsigned,
        };
        columns.push((role, kind));
    }
    if draw.chance(30) {
        let last = columns.len() as u64 - 1;
        columns.swap(draw.between(0, last) as usize, draw.between(0, last) as usize);
    }
    let columns: Vec<AnswerColumn> = columns
        .into_iter()
        .enumerate()
        .map(|(at, (role, kind))| AnswerColumn {
            column: model::Column::new(format!("c{at}"), kind, ""),
            role,
        })
        .collect();
    let of_role = |roles: &[ColumnRole]| -> Vec<usize> {
        (0..columns.len()).filter(|column| roles.contains(&columns[*column].role)).collect()
    };
    let key = of_role(&[ColumnRole::Key]);
    let counted = of_role(&[ColumnRole::Total, ColumnRole::Rate]);
    let alphabet = alphabet(&columns, &key);
    let every_ns = draw.between(1, 3) * SECOND;
    GraphQuery {
        name: format!("q{number}"),
        text: format!("text of q{number}"),
        every_ns,
        over_ns: if draw.chance(70) { every_ns } else { every_ns * draw.between(2, 3) },
        nodes: draw.some(&(0..nodes).collect::<Vec<_>>()),
        pinned: if draw.chance(30) { draw.some(&alphabet).into_iter().collect() } else { [].into() },
        bound_key: trigger.as_ref().and_then(|trigger: &QueryTrigger| {
            // A firing pins one field.
            let fits = |binding: &Binding| match binding {
                Binding::Field { column, .. } => column.kind == columns[key[0]].column.kind,
                Binding::Node => false,
            };
            let pins = key.len() == 1 && trigger.bindings.iter().any(fits);
            (pins && draw.chance(70)).then(|| vec![0])
        }),
        largest_first: (draw.chance(40) && !counted.is_empty()).then(|| draw.pick(&counted)),
        left_out: None,
        columns,
        key,
        trigger,
    }
}

/// The keys that its groups may have.
pub(crate) fn alphabet(columns: &[AnswerColumn], key: &[usize]) -> Vec<EventKey> {
    let mut keys = vec![EventKey::new()];
    for column in key {
        let members = match columns[*column].column.kind {
            ColumnKind::Text => ["a", "b", "ba"].map(|text| Member::Text(text.to_owned())),
            ColumnKind::Address => [0, 3, 200].map(|last| Member::Address(IpAddr::from([192, 0, 2, last]))),
            ColumnKind::Prefix => {
                let prefix = |(last, length)| Member::Prefix(IpAddr::from([192, 0, 2, last]), length);
                [(0, 24), (0, 28), (128, 25)].map(prefix)
            }
            _ => [Member::Null, Member::Unsigned(1), Member::Unsigned(2)],
        };
        let extended = |key: &EventKey| members.clone().map(|member| [key.as_slice(), &[member]].concat());
        keys = keys.iter().flat_map(extended).collect();
    }
    keys
}

fn draw_trigger(draw: &mut Draw, parent: usize, graph: &Graph) -> QueryTrigger {
    let mut sources = vec![parent];
    if draw.chance(30) {
        let fits = |other: &usize| {
            let (a, b) = (&graph.queries[parent], &graph.queries[*other]);
            let keys_fit = b.key.is_empty() || same_keys(a, b).is_some();
            *other != parent && a.every_ns == b.every_ns && keys_fit && shared_places(a, b).is_some()
        };
        let others: Vec<usize> = (0..graph.queries.len()).filter(fits).collect();
        if !others.is_empty() {
            sources.push(draw.pick(&others));
        }
    }
    let queries: Vec<&GraphQuery> = sources.iter().map(|source| &graph.queries[*source]).collect();
    let (first, second) = (queries[0], queries.last().expect("one at least"));
    let keys: Vec<Option<Vec<usize>>> = match (sources.len(), same_keys(first, second)) {
        (1, _) => vec![Some(first.key.clone())],
        (_, Some(columns)) => vec![Some(first.key.clone()), Some(columns)],
        // The other one is one group, which counts for all keys.
        _ => vec![Some(first.key.clone()), None],
    };
    let columns: Vec<AnswerColumn> = queries.iter().flat_map(|query| query.columns.clone()).collect();
    let number = sources.len() as u64;
    let condition = draw_condition(draw, &columns, number, 2);
    let kind = match draw.below(100) {
        0..70 => TriggerKind::When,
        70..85 => TriggerKind::Each,
        _ => TriggerKind::While,
    };
    let is_when = kind == TriggerKind::When;
    let bindings = if draw.chance(30) && !first.key.is_empty() {
        let item = draw.pick(&first.key);
        let column = model::Column { name: "pinned".to_owned(), ..first.columns[item].column.clone() };
        let field = Binding::Field { column, item };
        if draw.chance(40) { vec![field, Binding::Node] } else { vec![field] }
    } else {
        Vec::new()
    };
    QueryTrigger {
        kind,
        sources: sources.iter().zip(keys).map(|(query, key)| TriggerSource { query: *query, key }).collect(),
        places: match sources.len() {
            1 => QueryTrigger::new(parent, first, condition.clone()).places,
            _ => shared_places(first, second).expect("they have some"),
        },
        text: format!("{condition:?}"),
        title: TitleForm {
            parts: vec![
                TitlePart::Text("a title".to_owned()),
                TitlePart::Key,
                TitlePart::Item(columns.len() - 1),
                TitlePart::Node,
            ],
            is_said: false,
        },
        condition,
        hold_ns: if is_when { draw.pick(&[0, 0, SECOND, 2 * SECOND, 5 * SECOND / 2, 4 * SECOND]) } else { 0 },
        until: (is_when && draw.chance(25)).then(|| draw_condition(draw, &columns, number, 1)),
        cooldown_ns: if is_when {
            draw.pick(&[0, 0, SECOND, 7 * SECOND / 2, 6 * SECOND, 12 * SECOND])
        } else {
            0
        },
        run_ns: draw.pick(&[0, 0, SECOND, 2 * SECOND, 9 * SECOND / 2, 8 * SECOND]),
        in_same_window: kind != TriggerKind::While && draw.chance(15),
        within_ns: draw.chance(20).then(|| draw.between(0, 10) * SECOND),
        bindings,
    }
}

/// Where two queries are judged together: node by node where they run on the same ones.
fn shared_places(a: &GraphQuery, b: &GraphQuery) -> Option<Vec<EvaluationPoint>> {
    match (&a.nodes[..], &b.nodes[..]) {
        (one, other) if one == other => {
            Some(one.iter().map(|node| EvaluationPoint { node: *node, of: vec![*node, *node] }).collect())
        }
        ([one], [other]) => Some(vec![EvaluationPoint { node: ALL_NODES, of: vec![*one, *other] }]),
        (many, [other]) => {
            Some(many.iter().map(|node| EvaluationPoint { node: *node, of: vec![*node, *other] }).collect())
        }
        _ => None,
    }
}

/// The columns of `b` that are the key of `a`, if their keys are of the same kinds: in another order if need be.
fn same_keys(a: &GraphQuery, b: &GraphQuery) -> Option<Vec<usize>> {
    let mut left = b.key.clone();
    let mut columns = Vec::new();
    for column in &a.key {
        let kind = a.columns[*column].column.kind;
        // The last that fits: the order is another one where two are of one kind.
        let at = left.iter().rposition(|own| b.columns[*own].column.kind == kind)?;
        columns.push(left.remove(at));
    }
    left.is_empty().then_some(columns)
}

/// A condition on one or two columns, or on whether one of the `sources` sources is missing.
fn draw_condition(draw: &mut Draw, columns: &[AnswerColumn], sources: u64, depth: u64) -> TriggerCondition {
    let deeper = |draw: &mut Draw| draw_condition(draw, columns, sources, depth - 1);
    match draw.below(24) {
        20 => TriggerCondition::IsMissing(draw.below(sources) as usize),
        21 | 22 if depth > 0 => TriggerCondition::Surely(Box::new(deeper(draw))),
        0 | 1 if depth > 0 => TriggerCondition::And(vec![deeper(draw), deeper(draw)]),
        2 | 3 if depth > 0 => TriggerCondition::Or(vec![deeper(draw), deeper(draw)]),
        4 if depth > 0 => TriggerCondition::Not(Box::new(deeper(draw))),
        5 | 6 => draw_test(draw, columns),
        _ => {
            let left = draw_number(draw, columns, 1);
            let right = match draw.below(10) {
                0 => draw_number(draw, columns, 1),
                _ => Operand::Number(draw.between(0, 6) as f64),
            };
            let (left, right) = if draw.chance(10) { (right, left) } else { (left, right) };
            TriggerCondition::Compare(left, draw_comparison(draw), right)
        }
    }
}

fn draw_comparison(draw: &mut Draw) -> Comparison {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    draw.pick(&[Greater, Greater, GreaterOrEqual, GreaterOrEqual, Less, Less, LessOrEqual, Equal, NotEqual])
}

/// A number: a column mostly.
fn draw_number(draw: &mut Draw, columns: &[AnswerColumn], depth: u64) -> Operand {
    let is_number = |column: &usize| {
        matches!(columns[*column].column.kind, ColumnKind::Unsigned | ColumnKind::Signed | ColumnKind::Float)
    };
    let is_value = |column: &usize| columns[*column].role != ColumnRole::Key;
    let numbers: Vec<usize> = (0..columns.len()).filter(is_number).collect();
    let values: Vec<usize> = (0..columns.len()).filter(is_value).collect();
    if depth > 0 && draw.chance(12) {
        let operator = draw.pick(&[Operator::Add, Operator::Subtract, Operator::Multiply, Operator::Divide]);
        let left = draw_number(draw, columns, depth - 1);
        let right = if draw.chance(50) {
            Operand::Number(draw.between(0, 3) as f64)
        } else {
            draw_number(draw, columns, depth - 1)
        };
        return Operand::Arithmetic(Box::new(left), operator, Box::new(right));
    }
    Operand::Item(if draw.chance(10) { draw.pick(&numbers) } else { draw.pick(&values) })
}

/// A condition that is no comparison of numbers: on a member of the key if there is one.
fn draw_test(draw: &mut Draw, columns: &[AnswerColumn]) -> TriggerCondition {
    let column = draw.below(columns.len() as u64) as usize;
    let is_equal = |draw: &mut Draw| draw.pick(&[Comparison::Equal, Comparison::NotEqual]);
    match columns[column].column.kind {
        ColumnKind::Text if draw.chance(50) => {
            TriggerCondition::Like(column, draw.pick(&["a", "%a", "b_", "%"]).to_owned())
        }
        ColumnKind::Text => {
            let text = Operand::Text(draw.pick(&["a", "b"]).to_owned());
            TriggerCondition::Compare(Operand::Item(column), is_equal(draw), text)
        }
        ColumnKind::Address | ColumnKind::Prefix => {
            let length = draw.between(24, 32) as u8;
            TriggerCondition::InPrefixes(column, vec![(IpAddr::from([192, 0, 2, 0]), length)])
        }
        _ if draw.chance(50) => TriggerCondition::IsNull(Operand::Item(column)),
        _ => {
            let of = (0..draw.between(1, 2)).map(|_| Operand::Number(draw.between(0, 6) as f64)).collect();
            TriggerCondition::In(Operand::Item(column), of)
        }
    }
}
