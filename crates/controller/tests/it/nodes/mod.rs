//! Queries of a controller, and answers of nodes as a probe sends them.

use controller::{
    Actions, CheckContext, Controller, ControllerContext, ControllerOutput, InstalledText, StandingQueries,
};
use model::{Account, Answer, Column, ColumnKind, PacketCounts, Span, Value};
use protocol::{FromProbe, TaskList, ToProbe, WindowResult};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// The first second of the tests.
pub(crate) const START: u64 = 1_795_534_800 * SECOND;

/// The answers of a node (0 is A, 1 is B) in the window of a second that begins so long after the first one.
pub(crate) fn result(node: usize, at: u64, counts: &[(&str, u64)]) -> WindowResult {
    let window = Span { start_ns: START + at * SECOND, end_ns: START + (at + 1) * SECOND };
    let name = ["A", "B"][node];
    let answer = |(query, count): &(&str, u64)| {
        let column = Column::new("n", ColumnKind::Unsigned, "packets");
        let rows = vec![vec![Value::Unsigned(*count)]];
        Answer { node: Some(name.to_owned()), ..Answer::new(*query, Some(window), vec![column], rows) }
    };
    let packets = PacketCounts { received: 10, measured: 10, ..PacketCounts::default() };
    let totals = Answer {
        node: Some(name.to_owned()),
        account: Some(Account { packets, loss: None }),
        ..Answer::new("totals", Some(window), Vec::new(), Vec::new())
    };
    WindowResult::new(window, [totals].into_iter().chain(counts.iter().map(answer)).collect())
}

/// These queries, under a controller of nodes of these names with windows of a second.
pub(crate) fn queries(text: &str, nodes: &[&str]) -> StandingQueries {
    let site = CheckContext {
        nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        key: packet::KeySpec::FIVE_TUPLE.parts(),
        base_ns: SECOND,
        window_ns: SECOND,
        set: Vec::new(),
        settings: events::EventSettings::default(),
    };
    let mut queries = StandingQueries::new(site);
    let text =
        InstalledText { file: "test.eq".to_owned(), text: text.to_owned(), ..InstalledText::default() };
    queries.install(text).expect("installed");
    queries
}

/// Numbers that look random (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below this one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }
}

/// The window of a second.
pub(crate) fn window(at: u64) -> Span {
    Span { start_ns: START + at * SECOND, end_ns: START + (at + 1) * SECOND }
}

/// What a node answers in a second with these tasks; `None` if it is silent.
pub(crate) type Answers<'a> = dyn Fn(usize, u64, &TaskList) -> Option<WindowResult> + 'a;

/// What a controller shows of live nodes, second by second.
pub(crate) fn shown(
    text: &str,
    nodes: &[&str],
    seconds: u64,
    random: &mut Random,
    answers: &Answers<'_>,
) -> Vec<ControllerOutput> {
    let setting = ControllerContext { window_ns: SECOND, is_replay: false, key: None };
    let mut controller = Controller::new(queries(text, nodes).chain().clone(), setting);
    let mut lists = vec![TaskList::default(); nodes.len()];
    let mut shown = Vec::new();
    let mut carry_out = |actions: Actions, lists: &mut Vec<TaskList>| {
        for (node, message) in actions.send {
            if let ToProbe::Tasks(list) = message {
                lists[node] = list;
            }
        }
        shown.extend(actions.show);
    };
    carry_out(controller.begin(), &mut lists);
    for at in 0..seconds {
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_cached_key(|_| random.below(100));
        for node in order {
            let Some(result) = answers(node, at, &lists[node]) else { continue };
            let actions = controller.take(node, FromProbe::Window(Box::new(result)));
            carry_out(actions, &mut lists);
        }
        // All have had their time: who was silent is not awaited.
        carry_out(controller.tick(START + (at + 1) * SECOND + SECOND, Some(START - 60 * SECOND)), &mut lists);
    }
    carry_out(controller.finish(), &mut lists);
    shown
}
