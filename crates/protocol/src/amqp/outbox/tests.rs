use super::*;
use crate::envelope::{Properties, decode};
use crate::{Envelope, Heartbeat, WindowResult};
use model::Span;

mod any_order;

fn outbox(most_bytes: usize) -> ProbeOutbox {
    ProbeOutbox::new("Node1".to_owned(), Boot(1), most_bytes)
}

fn send(outbox: &mut ProbeOutbox, message: FromProbe) {
    let body = PackedBody::new(&message);
    outbox.push(&message, body);
}

fn window(number: u64) -> FromProbe {
    let window = Span { start_ns: number, end_ns: number + 1 };
    FromProbe::Window(Box::new(WindowResult::new(window, Vec::new())))
}

fn next(outbox: &mut ProbeOutbox) -> Option<Envelope<FromProbe>> {
    let outgoing = outbox.next().expect("bytes")?;
    let envelope = decode(&outgoing.bytes, Properties::EXPECTED).expect("a message");
    assert_eq!(outgoing.id, envelope.id);
    Some(envelope)
}

fn sent(outbox: &mut ProbeOutbox) -> Vec<(u64, u64, u64)> {
    std::iter::from_fn(|| next(outbox)).map(|one| (one.id.sequence, one.after, one.lost)).collect()
}

#[test]
fn messages_stay_until_they_are_confirmed() {
    let mut outbox = outbox(1 << 20);
    (0..3).for_each(|number| send(&mut outbox, window(number)));
    assert_eq!(sent(&mut outbox), [(1, 0, 0)]);
    outbox.confirm();
    // Each says which one was still on its way before it.
    assert_eq!(sent(&mut outbox), [(2, 0, 0), (3, 2, 0)]);
    send(&mut outbox, window(3));
    outbox.rewind();
    assert_eq!(sent(&mut outbox), [(2, 0, 0)]);
    outbox.confirm();
    // What was said once is said again: 2 had not been confirmed when 3 was sent.
    assert_eq!(sent(&mut outbox), [(3, 2, 0), (4, 3, 0)]);
    (0..2).for_each(|_| outbox.confirm());
    send(&mut outbox, window(4));
    assert_eq!(sent(&mut outbox), [(5, 0, 0)]);
    outbox.confirm();
    assert_eq!(outbox.spool(), Spool::default());
    assert!(outbox.is_empty());
}

#[test]
fn no_more_are_on_their_way_than_may_be() {
    let mut outbox = outbox(1 << 20);
    (0..100).for_each(|number| send(&mut outbox, window(number)));
    // A controller that does not know this start takes the first one that it is given for the first.
    assert_eq!(sent(&mut outbox).len(), 1);
    outbox.confirm();
    assert_eq!(sent(&mut outbox).len(), MOST_IN_FLIGHT);
    outbox.confirm();
    assert_eq!(sent(&mut outbox).len(), 1);
    outbox.rewind();
    assert_eq!(sent(&mut outbox).len(), 1);
}

#[test]
fn a_full_spool_drops_the_oldest_results_and_says_so() {
    let size = PackedBody::new(&window(0)).expect("bytes").len();
    // Compressed, results differ by a few bytes.
    let mut outbox = outbox(3 * size + 10);
    send(&mut outbox, window(0));
    assert_eq!(sent(&mut outbox), [(1, 0, 0)]);
    (1..6).for_each(|number| send(&mut outbox, window(number)));
    // That which is on its way stays, and two others.
    let Spool { messages, bytes, dropped, .. } = outbox.spool();
    assert!((messages, dropped) == (3, 3) && bytes <= 3 * size as u64 + 10, "{:?}", outbox.spool());
    outbox.confirm();
    assert_eq!(sent(&mut outbox), [(5, 0, 3), (6, 5, 3)]);
    // What is no result is never dropped.
    let reached = FromProbe::Reached { at_ns: 7 };
    (0..50).for_each(|_| send(&mut outbox, reached.clone()));
    send(&mut outbox, window(6));
    assert_eq!((outbox.spool().messages, outbox.spool().dropped), (52, 4));
    outbox.rewind();
    assert_eq!(sent(&mut outbox), [(5, 0, 3)]);
    outbox.confirm();
    assert_eq!(sent(&mut outbox)[..2], [(6, 5, 3), (7, 6, 4)]);
}

#[test]
fn only_the_newest_heartbeat_is_sent_and_once() {
    let mut outbox = outbox(1 << 20);
    for started_ns in [1, 2] {
        send(&mut outbox, FromProbe::Heartbeat(Box::new(Heartbeat { started_ns, ..Heartbeat::default() })));
    }
    assert!(outbox.is_empty());
    let outgoing = outbox.take_heartbeat().expect("bytes").expect("a heartbeat");
    let read = decode::<FromProbe>(&outgoing.bytes, Properties::EXPECTED).expect("a message");
    assert!(matches!(read.body, FromProbe::Heartbeat(heartbeat) if heartbeat.started_ns == 2));
    assert_eq!(read.id.sequence, 0);
    assert!(outbox.take_heartbeat().expect("bytes").is_none());
}

#[test]
fn what_cannot_be_written_is_counted() {
    use model::{Answer, Column, ColumnKind};
    let mut outbox = outbox(1 << 20);
    let column = Column::new("n", ColumnKind::Unsigned, "");
    let answer = Answer::new("q", None, vec![column], vec![Vec::new()]);
    let window = Span { start_ns: 0, end_ns: 1 };
    send(&mut outbox, FromProbe::Window(Box::new(WindowResult::new(window, vec![answer]))));
    assert_eq!(outbox.spool(), Spool { dropped: 1, ..Spool::default() });
}

/// A result with this number of rows.
fn long(rows: u64) -> FromProbe {
    use model::{Answer, Column, ColumnKind, Rest, Value};
    let columns =
        vec![Column::new("port", ColumnKind::Unsigned, ""), Column::new("n", ColumnKind::Unsigned, "")];
    let row =
        |number: u64| vec![Value::Unsigned(number), Value::Unsigned(number.wrapping_mul(0x9e37_79b9) >> 8)];
    let window = Span { start_ns: 0, end_ns: 1 };
    let rest = Rest { groups: 7, is_open: false, totals: vec![("n".to_owned(), Value::Unsigned(1000))] };
    let answer = Answer { rest, ..Answer::new("q", Some(window), columns, (0..rows).map(row).collect()) };
    FromProbe::Window(Box::new(WindowResult::new(window, vec![answer])))
}

#[test]
fn long_results_are_shortened_before_any_is_dropped() {
    use crate::amqp::shortening::{MOST_ROWS, shortened};
    let size = PackedBody::new(&long(1000)).expect("bytes").len();
    let mut outbox = outbox(4 * size);
    let shorten = |outbox: &mut ProbeOutbox| {
        while outbox.is_to_shorten() {
            let Some((place, body)) = outbox.take_long() else { break };
            shortened(&body).into_iter().for_each(|short| outbox.shorten(place, short));
        }
    };
    send(&mut outbox, long(1000));
    assert_eq!(sent(&mut outbox), [(1, 0, 0)]);
    for _ in 0..10 {
        send(&mut outbox, long(1000));
        shorten(&mut outbox);
    }
    let Spool { messages, shortened, dropped, bytes, .. } = outbox.spool();
    assert!((messages, dropped) == (11, 0) && shortened > 6, "{:?}", outbox.spool());
    assert_eq!(bytes, outbox.items.iter().map(|item| item.body.len() as u64).sum::<u64>());
    // That which was sent is as it was; the oldest others have their first rows, and the rest is exact.
    outbox.confirm();
    let FromProbe::Window(result) = next(&mut outbox).expect("a message").body else {
        panic!("another message")
    };
    let FromProbe::Window(whole) = long(1000) else { panic!("another message") };
    let (short, whole) = (&result.answers[0], &whole.answers[0]);
    assert_eq!(short.rows, whole.rows[..MOST_ROWS]);
    let left_out = 1000 - MOST_ROWS;
    assert_eq!(short.rest.groups, 7 + left_out as u64);
    let number = |row: &Vec<model::Value>| row[1].as_unsigned().expect("a number");
    let total = 1000 + whole.rows[MOST_ROWS..].iter().map(number).sum::<u64>();
    assert_eq!(short.rest.totals, [("n".to_owned(), model::Value::Unsigned(total))]);
    assert_eq!(short.status, model::AnswerStatus::Partial);
    assert!(short.reason.as_ref().is_some_and(|reason| reason.contains(&left_out.to_string())), "{short:?}");
    // Short ones stay, and nothing else is left to be shortened.
    assert!(shortened_again(&long(100)).is_none());
    (0..100).for_each(|number| send(&mut outbox, window(number)));
    shorten(&mut outbox);
    assert!(outbox.spool().bytes <= 4 * size as u64);
}

fn shortened_again(message: &FromProbe) -> Option<PackedBody> {
    crate::amqp::shortening::shortened(&PackedBody::new(message).expect("bytes"))
}
