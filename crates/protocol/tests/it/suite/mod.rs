//! What holds of every transport.

use model::view::Spool;
use model::{Answer, Column, ColumnKind, Span, Value};
use protocol::{
    ControllerLink, FromProbe, Heartbeat, LinkState, ListId, ProbeLink, ReceivedMessage, TaskList, ToProbe,
    WindowResult,
};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Whoever waits so long fails: a busy machine takes seconds for what is a matter of milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// How long one call waits.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// Connections to be tested: those of a controller and of its nodes, in order.
pub(crate) struct Links {
    pub(crate) controller: Box<dyn ControllerLink>,
    pub(crate) probes: Vec<Arc<dyn ProbeLink>>,
}

/// Waits until it holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "still not: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The result of a window, by its number.
pub(crate) fn window(number: u64) -> FromProbe {
    let window = Span { start_ns: number, end_ns: number + 1 };
    FromProbe::Window(Box::new(WindowResult::new(window, Vec::new())))
}

/// The number of a window, if the message is of one.
pub(crate) fn number(message: &FromProbe) -> Option<u64> {
    match message {
        FromProbe::Window(result) => Some(result.window.start_ns),
        _ => None,
    }
}

/// The next message that is no heartbeat.
pub(crate) fn next(controller: &dyn ControllerLink) -> ReceivedMessage {
    let began = Instant::now();
    loop {
        if let Some(received) = controller.receive(MOMENT).expect("a connection")
            && !matches!(received.message, FromProbe::Heartbeat(_))
        {
            return received;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "nothing comes; {}; refused: {:?}",
            controller.state(),
            controller.refused()
        );
    }
}

/// The numbers of the next `count` windows, by node; all but the last few are acknowledged.
pub(crate) fn windows(controller: &dyn ControllerLink, nodes: usize, count: usize) -> Vec<Vec<u64>> {
    let mut windows = vec![Vec::new(); nodes];
    for at in 1..=count {
        let received = next(controller);
        if at % 100 == 0 {
            controller.acknowledge();
        }
        windows[received.node].push(number(&received.message).expect("a window"));
    }
    windows
}

fn list(generation: u64) -> TaskList {
    TaskList { epoch: 1, generation, ..TaskList::default() }
}

/// All of it, with connections to three nodes.
pub(crate) fn all(links: &Links) {
    is_connected(links);
    results_arrive_once_and_in_order(links);
    the_newest_list_arrives(links);
    large_messages_arrive(links);
    heartbeats_arrive(links);
    nothing_follows_the_end(links);
    assert_eq!(links.controller.refused().into_iter().collect::<Vec<_>>(), []);
}

fn is_connected(links: &Links) {
    let states = || links.probes.iter().map(|probe| probe.state()).chain([links.controller.state()]);
    until("all are connected", || states().all(|state| state.connected && state.reason.is_none()));
    assert!(states().all(|LinkState { since_ns, peer, .. }| since_ns > 0 && !peer.is_empty()));
}

fn results_arrive_once_and_in_order(Links { controller, probes }: &Links) {
    const COUNT: u64 = 300;
    let got = thread::scope(|scope| {
        for probe in probes {
            scope.spawn(|| (0..COUNT).for_each(|at| probe.send(window(at)).expect("a connection")));
        }
        let got = windows(&**controller, probes.len(), probes.len() * COUNT as usize);
        controller.acknowledge();
        got
    });
    got.iter().for_each(|of_node| assert_eq!(*of_node, (0..COUNT).collect::<Vec<_>>()));
    for probe in probes {
        assert!(probe.flush(PATIENCE));
        assert_eq!(probe.spool(), Spool::default());
    }
    assert_eq!(controller.receive(MOMENT), Ok(None));
}

/// Lists may be left out where newer ones follow; the last one never is.
fn the_newest_list_arrives(Links { controller, probes }: &Links) {
    for generation in 1..=20 {
        for node in 0..probes.len() {
            let list = list(generation * 10 + node as u64);
            controller.send(node, ToProbe::Tasks(list)).expect("a connection");
        }
    }
    for (node, probe) in probes.iter().enumerate() {
        let mut last: Option<ListId> = None;
        until("the last list is there", || {
            if let Some(ToProbe::Tasks(list)) = probe.receive(MOMENT).expect("a connection") {
                assert!(last < Some(list.id()), "{last:?} and then {:?}", list.id());
                assert_eq!(list.generation % 10, node as u64, "a list of another node");
                last = Some(list.id());
            }
            last == Some(list(200 + node as u64).id())
        });
    }
    assert!(controller.send(probes.len(), ToProbe::Tasks(list(1))).is_err());
}

fn large_messages_arrive(Links { controller, probes }: &Links) {
    let column = || Column::new("n", ColumnKind::Unsigned, "");
    let row = |at: u64| vec![Value::Unsigned(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))];
    let window = Span { start_ns: 0, end_ns: 1 };
    let answers = (0..10).map(|query| {
        let rows = (0..20_000).map(|at| row(query * 20_000 + at)).collect();
        Answer::new(format!("q{query}"), Some(window), vec![column()], rows)
    });
    let large = FromProbe::Window(Box::new(WindowResult::new(window, answers.collect())));
    for (node, probe) in probes.iter().enumerate() {
        probe.send(large.clone()).expect("a connection");
        probe.send(self::window(1)).expect("a connection");
        let received = next(&**controller);
        assert!(received.node == node && received.message == large, "another message");
        assert_eq!(number(&next(&**controller).message), Some(1));
    }
    controller.acknowledge();
}

/// Some of them: each is worth nothing once the next one is there.
fn heartbeats_arrive(Links { controller, probes }: &Links) {
    for (node, probe) in probes.iter().enumerate() {
        until("a heartbeat arrives", || {
            let heartbeat = Heartbeat { started_ns: node as u64, ..Heartbeat::default() };
            probe.send(FromProbe::Heartbeat(Box::new(heartbeat.clone()))).expect("a connection");
            let received = controller.receive(MOMENT).expect("a connection");
            let expected =
                ReceivedMessage { node, id: None, message: FromProbe::Heartbeat(Box::new(heartbeat)) };
            received.is_some_and(|received| received == expected)
        });
    }
}

fn nothing_follows_the_end(Links { controller, probes }: &Links) {
    for probe in probes {
        probe.send(window(7)).expect("a connection");
        probe.send(FromProbe::Ended { answers: Vec::new(), traffic: None }).expect("a connection");
    }
    let mut last = vec![None; probes.len()];
    for _ in 0..2 * probes.len() {
        let received = next(&**controller);
        last[received.node] = Some(received.message);
    }
    assert!(last.iter().all(|last| matches!(last, Some(FromProbe::Ended { .. }))), "{last:?}");
    controller.acknowledge();
}
