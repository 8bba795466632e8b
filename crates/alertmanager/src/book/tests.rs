//! Alerts that fire, are silent and end.

use super::*;
use model::{Column, ColumnKind, Value};

const AT: &str = "http://127.0.0.1:9093";
const OTHER: &str = "http://127.0.0.1:9094";
const NOW: u64 = 1_000_000_000_000;

fn event(kind: EventKind, name: &str, key: u64, parent: Option<&str>) -> Event {
    Event {
        event: name.to_owned(),
        kind,
        query: "who".to_owned(),
        fired_by: None,
        key: vec![Item {
            column: Column::new("dst_port", ColumnKind::Unsigned, ""),
            value: Value::Unsigned(key),
        }],
        node: Some("Node1".to_owned()),
        at_ns: 7_000_000_000,
        window: None,
        values: Vec::new(),
        threshold: None,
        late: false,
        coverage: None,
        bounds: None,
        parent: parent.map(str::to_owned),
        title: None,
    }
}

fn book(addresses: &[&str]) -> Book {
    Book::new(addresses.iter().map(|address| (*address).to_owned()).collect(), Extra::default())
}

fn fire(book: &mut Book, name: &str, key: u64) {
    book.take(&event(EventKind::Fired, name, key, None), || "It fired.".to_owned());
}

fn resolve(book: &mut Book, fired: &str) {
    book.take(&event(EventKind::Resolved, "r", 0, Some(fired)), || unreachable!("no summary"));
}

/// Has an Alertmanager take what is due. Returns the end of each alert, in seconds.
fn deliver(book: &mut Book, address: &str, now: Instant) -> Vec<String> {
    let batch = book.due(address, now, NOW);
    (0..batch.len()).for_each(|at| book.record_taken(address, &batch, at, false, now));
    let body: Json = serde_json::from_str(&batch.body(0..batch.len())).expect("JSON");
    let ends = |alert: &Json| alert["endsAt"].as_str().expect("a time")[11..19].to_owned();
    body.as_array().expect("a list").iter().map(ends).collect()
}

#[test]
fn a_firing_is_told_again_until_it_is_resolved() {
    let (mut book, start) = (book(&[AT]), Instant::now());
    fire(&mut book, "a", 1);
    assert_eq!(deliver(&mut book, AT, start), ["00:21:40"]);
    assert_eq!(book.untold(AT, NOW), 0);
    assert!(deliver(&mut book, AT, start + REPEAT / 2).is_empty());
    assert_eq!(deliver(&mut book, AT, start + REPEAT), ["00:21:40"]);
    resolve(&mut book, "a");
    assert!(!book.fires());
    assert_eq!(deliver(&mut book, AT, start + REPEAT), ["00:00:07"]);
    assert!(deliver(&mut book, AT, start + REPEAT * 9).is_empty());
    assert!(book.known.is_empty() && book.of_event.is_empty());
    let counts = book.counts().next().expect("one");
    assert_eq!(*counts, AlertmanagerView { fired: 1, repeated: 1, resolved: 1, ..none_told(AT) });
}

#[test]
fn each_alertmanager_is_told_everything() {
    let (mut book, now) = (book(&[AT, OTHER]), Instant::now());
    fire(&mut book, "a", 1);
    assert_eq!(deliver(&mut book, AT, now).len(), 1);
    resolve(&mut book, "a");
    assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
    // The other one was away, and hears that it is over.
    assert_eq!(deliver(&mut book, OTHER, now), ["00:00:07"]);
    assert!(book.known.is_empty());
    let counts: Vec<AlertmanagerView> = book.counts().cloned().collect();
    assert_eq!(counts[0], AlertmanagerView { fired: 1, resolved: 1, ..none_told(AT) });
    assert_eq!(counts[1], AlertmanagerView { resolved: 1, unseen: 1, ..none_told(OTHER) });
}

#[test]
fn equal_labels_fire_until_the_last_is_resolved() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    fire(&mut book, "a", 1);
    fire(&mut book, "b", 1);
    fire(&mut book, "c", 2);
    assert_eq!(deliver(&mut book, AT, now).len(), 2);
    resolve(&mut book, "a");
    assert!(deliver(&mut book, AT, now).is_empty());
    resolve(&mut book, "b");
    assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
    // Fires again before it is taken.
    resolve(&mut book, "c");
    fire(&mut book, "d", 2);
    assert_eq!(deliver(&mut book, AT, now), ["00:21:40"]);
    let counts = book.counts().next().expect("one");
    assert_eq!((counts.merged, counts.fired, counts.resolved), (1, 3, 1));
}

#[test]
fn what_is_judged_no_more_lapses() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    fire(&mut book, "a", 1);
    fire(&mut book, "b", 2);
    assert_eq!(deliver(&mut book, AT, now).len(), 2);
    book.settle(|event| event == "b");
    // The last word: until then it is taken for firing.
    assert_eq!(deliver(&mut book, AT, now), ["00:21:40"]);
    assert_eq!(deliver(&mut book, AT, now + REPEAT).len(), 1);
    assert_eq!(book.known.len(), 1);
    // It fires anew.
    fire(&mut book, "c", 1);
    assert_eq!(deliver(&mut book, AT, now + REPEAT).len(), 1);
}

#[test]
fn a_book_goes_on_after_a_restart() {
    let (mut first, now) = (book(&[AT]), Instant::now());
    fire(&mut first, "a", 1);
    fire(&mut first, "b", 2);
    deliver(&mut first, AT, now);
    resolve(&mut first, "a");
    let saved = first.save().expect("it changed");
    assert_eq!(first.save().as_ref(), Some(&saved), "it is not stored");
    first.stored();
    assert_eq!(first.save(), None);
    let mut second = book(&[AT]);
    second.restore(&saved).expect("a book");
    // The resolution, and the firing again: whether it was heard of long ago is not known.
    assert_eq!(deliver(&mut second, AT, now).len(), 2);
    resolve(&mut second, "b");
    assert_eq!(deliver(&mut second, AT, now), ["00:00:07"]);
    assert!(second.known.is_empty());
    assert!(second.restore("[{").is_err());
}

#[test]
fn alerts_are_bounded_and_those_that_find_no_room_are_counted() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    for number in 0..MOST as u64 {
        fire(&mut book, &number.to_string(), number);
    }
    fire(&mut book, "more", u64::MAX);
    assert_eq!(book.counts_of(AT).lost.get("no_room"), 1);
    resolve(&mut book, "3");
    fire(&mut book, "again", u64::MAX);
    // The one that had ended was never told.
    assert_eq!(book.counts_of(AT).lost.get("no_room"), 2);
    assert_eq!(book.known.len(), MOST);
    let mut told = 0;
    while told < MOST {
        let number = deliver(&mut book, AT, now).len();
        assert!((1..=MOST_SENT).contains(&number));
        told += number;
    }
    assert_eq!(book.untold(AT, NOW), 0);
}

/// The silence of firings of this query for a key, and of these events.
fn silence(key: u64, events: &[&str], until_ns: u64) -> SilencedFiring {
    let Event { query, node, key, .. } = event(EventKind::Fired, "", key, None);
    let events = events.iter().map(|event| (*event).to_owned()).collect();
    SilencedFiring { of: Some((query, node, key)), events, until_ns }
}

#[test]
fn nobody_is_told_of_what_is_silent_until_it_is_over() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    book.silence(vec![silence(1, &["z"], NOW + 5)]);
    fire(&mut book, "a", 1);
    fire(&mut book, "b", 2);
    // A step that a silent firing started, and one of an event that was named.
    book.take(&event(EventKind::Fired, "c", 3, Some("a")), || "It fired.".to_owned());
    book.take(&event(EventKind::Fired, "d", 4, Some("z")), || "It fired.".to_owned());
    assert_eq!(deliver(&mut book, AT, now).len(), 1, "that of another key");
    assert_eq!((book.silent(NOW), book.untold(AT, NOW)), (3, 0));
    // One that ends meanwhile was never told, nor is its end.
    resolve(&mut book, "c");
    assert!(deliver(&mut book, AT, now).is_empty());
    assert_eq!(book.known.len(), 3);
    // What still fires when it is over is told then.
    assert_eq!(book.due(AT, now, NOW + 4).len(), 0);
    assert_eq!(book.due(AT, now, NOW + 5).len(), 2);
    // It is ended before its time.
    book.silence(Vec::new());
    assert_eq!(deliver(&mut book, AT, now).len(), 2);
    assert_eq!((book.silent(NOW), book.counts_of(AT).fired), (0, 3));
}

#[test]
fn what_was_told_before_it_is_silent_is_not_told_again_but_its_end_is() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    fire(&mut book, "a", 1);
    fire(&mut book, "b", 2);
    assert_eq!(deliver(&mut book, AT, now).len(), 2);
    book.silence(vec![silence(1, &[], u64::MAX), silence(2, &[], u64::MAX)]);
    assert!(deliver(&mut book, AT, now + REPEAT * 3).is_empty());
    resolve(&mut book, "a");
    assert_eq!(deliver(&mut book, AT, now), ["00:00:07"]);
    // One that is judged no more lapses, as nobody repeats it.
    book.settle(|_| false);
    assert!(deliver(&mut book, AT, now + REPEAT * 9).is_empty() && book.known.is_empty());
}

#[test]
fn what_follows_from_a_silent_firing_stays_silent_whatever_else_is_silenced() {
    let (mut first, now) = (book(&[AT]), Instant::now());
    first.silence(vec![silence(1, &[], NOW + 9)]);
    // The names of alerts sort against the order in which they follow: a child is judged before its parent.
    let fired = |book: &mut Book, query: &str, name: &str, key: u64, parent: Option<&str>| {
        let event = Event { query: query.to_owned(), ..event(EventKind::Fired, name, key, parent) };
        book.take(&event, || "It fired.".to_owned());
    };
    fired(&mut first, "who", "a", 1, None);
    fired(&mut first, "m", "b", 5, Some("a"));
    fired(&mut first, "c", "c", 6, Some("b"));
    let silent = |book: &Book| (book.due(AT, now, NOW).len(), book.silent(NOW));
    assert_eq!(silent(&first), (0, 3));
    first.silence(vec![silence(1, &[], NOW + 9), silence(7, &["z"], NOW + 9)]);
    assert_eq!(silent(&first), (0, 3));
    // What started them has ended.
    resolve(&mut first, "a");
    first.silence(vec![silence(1, &[], NOW + 9)]);
    assert_eq!(silent(&first), (0, 2));
    // So it is after a restart, and of what follows then.
    let mut second = book(&[AT]);
    second.restore(&first.save().expect("it changed")).expect("a book");
    second.silence(vec![silence(1, &[], NOW + 9)]);
    fired(&mut second, "a", "d", 8, Some("c"));
    assert_eq!(silent(&second), (0, 3));
    // What follows from one that nobody tells of any more is traced.
    let after = event(EventKind::Fired, "e", 9, Some("a"));
    assert_eq!(second.untraced(&after), Some("a"));
    let SilencedFiring { of, .. } = silence(1, &[], 0);
    second.trace("a", of);
    assert_eq!(second.untraced(&after), None);
    second.take(&after, || "It fired.".to_owned());
    assert_eq!(silent(&second), (0, 4));
    second.silence(Vec::new());
    assert_eq!(silent(&second), (4, 0));
}

#[test]
fn all_that_follows_from_a_named_event_is_silent() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    let follow = |book: &mut Book, name: &str, key: u64, parent: &str| {
        book.take(&event(EventKind::Fired, name, key, Some(parent)), || "It fired.".to_owned());
    };
    let named = || SilencedFiring { of: None, events: vec!["z".to_owned()], until_ns: NOW + 9 };
    book.silence(vec![named()]);
    follow(&mut book, "a", 3, "z");
    follow(&mut book, "b", 2, "a");
    follow(&mut book, "c", 1, "b");
    assert_eq!((book.due(AT, now, NOW).len(), book.silent(NOW)), (0, 3));
    resolve(&mut book, "b");
    book.silence(vec![named(), silence(77, &[], NOW + 9)]);
    assert_eq!((book.due(AT, now, NOW).len(), book.silent(NOW)), (0, 2));
}

#[test]
fn a_firing_of_a_silent_key_that_follows_from_another_is_told() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    book.silence(vec![silence(1, &[], NOW + 9)]);
    fire(&mut book, "a", 2);
    book.take(&event(EventKind::Fired, "b", 1, Some("a")), || "It fired.".to_owned());
    assert_eq!((deliver(&mut book, AT, now).len(), book.silent(NOW)), (2, 0));
}

#[test]
fn an_alert_of_several_events_is_silent_while_all_of_them_are() {
    let (mut book, now) = (book(&[AT]), Instant::now());
    let follow = |book: &mut Book, name: &str, parent: &str| {
        book.take(&event(EventKind::Fired, name, 5, Some(parent)), || "It fired.".to_owned());
    };
    fire(&mut book, "a", 1);
    fire(&mut book, "b", 2);
    book.silence(vec![silence(1, &[], NOW + 9)]);
    let fives = |book: &mut Book| {
        let batch = book.due(AT, now, NOW);
        batch.alerts.iter().filter(|(labels, ..)| labels["dst_port"] == "5").count()
    };
    follow(&mut book, "x", "a");
    assert_eq!(fives(&mut book), 0);
    // One of those that nobody silenced comes.
    follow(&mut book, "y", "b");
    assert_eq!(fives(&mut book), 1);
    book.silence(vec![silence(1, &[], NOW + 8)]);
    assert_eq!(fives(&mut book), 1);
    // It ends before the silent one.
    resolve(&mut book, "y");
    assert_eq!(fives(&mut book), 0);
    book.silence(vec![silence(1, &[], NOW + 9), silence(2, &[], NOW + 5)]);
    follow(&mut book, "y", "b");
    // The silence that ends first tells.
    assert_eq!((fives(&mut book), book.silent(NOW + 4), book.silent(NOW + 5)), (0, 3, 1));
}

#[test]
fn what_is_silent_stays_so_after_a_restart() {
    let (mut first, now) = (book(&[AT]), Instant::now());
    first.silence(vec![silence(1, &[], NOW + 9)]);
    fire(&mut first, "a", 1);
    let saved = first.save().expect("it changed");
    let mut second = book(&[AT]);
    second.restore(&saved).expect("a book");
    assert_eq!((second.due(AT, now, NOW).len(), second.silent(NOW)), (0, 1));
    // Its owner says so again, as after each start.
    second.silence(vec![silence(1, &[], NOW + 9)]);
    assert_eq!((second.due(AT, now, NOW).len(), second.due(AT, now, NOW + 9).len()), (0, 1));
    // Books of before there were silences are read.
    let mut before: Json = serde_json::from_str(&saved).expect("JSON");
    for alert in before.as_array_mut().expect("a list") {
        let alert = alert.as_object_mut().expect("an alert");
        assert!(alert.remove("silent_until_ns").is_some() && alert.remove("firings").is_some());
    }
    let mut third = book(&[AT]);
    third.restore(&before.to_string()).expect("a book");
    assert_eq!(third.due(AT, now, NOW).len(), 1);
}
