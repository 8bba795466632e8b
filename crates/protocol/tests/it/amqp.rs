//! Connections over RabbitMQ: what every transport does, and what happens when the broker fails or strangers write to it.

use crate::broker::TestBroker;
use crate::suite;
use crate::suite::{Links, MOMENT, PATIENCE, next, number, until, window, windows};
use model::view::Spool;
use protocol::amqp::{
    AmqpControllerLink, AmqpProbeLink, BrokerAddress, BrokerError, ControllerLinkSettings, ProbeSettings,
    controller_link, probe_link,
};
use protocol::{Boot, ControllerLink, Envelope, FromProbe, LinkStateReporter, MessageId, ProbeLink};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

fn address(url: &str) -> BrokerAddress {
    url.parse().expect("an address")
}

fn names(nodes: &[&str]) -> Vec<String> {
    nodes.iter().map(|node| (*node).to_owned()).collect()
}

fn controller(url: &str, nodes: &[&str]) -> AmqpControllerLink {
    controller_link(ControllerLinkSettings::new(address(url), names(nodes))).expect("a controller")
}

fn probe(url: &str, node: &str) -> AmqpProbeLink {
    probe_with(url, node, ProbeSettings::SPOOL_BYTES)
}

fn probe_with(url: &str, node: &str, spool_bytes: usize) -> AmqpProbeLink {
    let settings = ProbeSettings { broker: address(url), node: node.to_owned(), spool_bytes };
    probe_link(settings).expect("a probe")
}

fn send(probe: &dyn ProbeLink, numbers: std::ops::Range<u64>) {
    numbers.for_each(|number| probe.send(window(number)).expect("a connection"));
}

fn reason(link: &dyn ProbeLink) -> String {
    link.state().reason.unwrap_or_default()
}

#[test]
fn amqp_carries_messages() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let nodes = ["A", "B.b", "C \u{202e}<b>"];
    let probes = nodes.iter().map(|node| Arc::new(probe(&url, node)) as Arc<dyn ProbeLink>).collect();
    suite::all(&Links { controller: Box::new(controller(&url, &nodes)), probes });
}

#[test]
fn what_was_not_stored_comes_again() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let first = controller(&url, &["A"]);
    let probe = probe(&url, "A");
    send(&probe, 0..10);
    let mut last = None;
    for at in 0..6 {
        let received = next(&first);
        assert_eq!(number(&received.message), Some(at));
        // The last two are taken and not stored.
        if at == 3 {
            first.acknowledge();
            last = received.id;
        }
    }
    drop(first);
    send(&probe, 10..20);
    // It has stored one more than it had the time to acknowledge.
    let stored = last.map(|id| MessageId { sequence: id.sequence + 1, ..id }).expect("an identifier");
    let settings = ControllerLinkSettings {
        marks: vec![stored],
        ..ControllerLinkSettings::new(address(&url), names(&["A"]))
    };
    let second = controller_link(settings).expect("a controller");
    assert_eq!(windows(&second, 1, 15), [(5..20).collect::<Vec<_>>()]);
    second.acknowledge();
    assert_eq!(second.refused(), BTreeMap::from([("doubled", 1)]));
    // The broker keeps nothing.
    drop(second);
    let third = controller(&url, &["A"]);
    send(&probe, 20..21);
    assert_eq!(windows(&third, 1, 1), [vec![20]]);
}

#[test]
fn a_probe_that_starts_again_is_another_one() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let controller = controller(&url, &["A"]);
    for _ in 0..2 {
        let probe = probe(&url, "A");
        send(&probe, 0..3);
        assert!(probe.flush(PATIENCE));
    }
    assert_eq!(windows(&controller, 1, 6), [[0, 1, 2, 0, 1, 2]]);
}

/// All results arrive, once each and in order, although the broker dies while they are sent.
#[test]
fn a_broker_that_is_killed_loses_nothing() {
    const COUNT: u64 = 2000;
    let broker = TestBroker::started();
    let controller = controller(&broker.url(), &["A", "B"]);
    let probes = ["A", "B"].map(|node| probe(&broker.url(), node));
    until("the queue is written", || broker.has_written("edison.results"));
    let mut watch = LinkStateReporter::default();
    let mut lines = Vec::new();
    let mut got = [Vec::new(), Vec::new()];
    std::thread::scope(|scope| {
        for probe in &probes {
            scope.spawn(|| send(probe, 0..COUNT));
        }
        let kills = [300, 2500];
        let mut killer: Option<ScopedJoinHandle<'_, ()>> = None;
        let mut last = Instant::now();
        while got.iter().map(Vec::len).sum::<usize>() < 2 * COUNT as usize {
            assert!(
                last.elapsed() < PATIENCE,
                "nothing comes: {}; {:?}",
                controller.state(),
                controller.refused()
            );
            let Some(received) = controller.receive(MOMENT).expect("a connection") else {
                // What came twice fills what may be delivered ahead, and cannot be acknowledged before what is owed.
                controller.acknowledge();
                continue;
            };
            last = Instant::now();
            got[received.node].push(number(&received.message).expect("a window"));
            let count = got.iter().map(Vec::len).sum::<usize>();
            // Not all that was received is stored when the broker dies.
            if count % 100 == 50 {
                controller.acknowledge();
            }
            if kills.contains(&count) {
                killer.take().into_iter().for_each(|killer| killer.join().expect("it is there again"));
                // Results come again before lists can be sent again.
                until("the broker is back", || controller.state().connected);
                lines.extend(watch.line(&controller.state()));
                let broker = &broker;
                killer = Some(scope.spawn(|| {
                    broker.kill();
                    broker.start();
                }));
                until("the broker is away", || !controller.state().connected);
            }
            lines.extend(watch.line(&controller.state()));
        }
        controller.acknowledge();
        killer.expect("it was killed").join().expect("it is there again");
        until("the broker is back", || controller.state().connected);
        lines.extend(watch.line(&controller.state()));
    });
    got.iter().for_each(|of_node| assert_eq!(*of_node, (0..COUNT).collect::<Vec<_>>()));
    assert!(probes.iter().all(|probe| probe.flush(PATIENCE)));
    assert!(probes.iter().all(|probe| probe.spool() == Spool::default()));
    println!("refused: {:?}; {lines:#?}", controller.refused());
    let place = format!("the broker at 127.0.0.1:{}", broker.port());
    assert!(lines.iter().any(|line| line.starts_with(&format!("{place} is away: "))), "{lines:?}");
    let back = format!("{place} is back");
    assert_eq!(lines.iter().filter(|line| **line == back).count(), 2, "{lines:?}");
}

#[test]
fn a_broker_that_comes_later_is_found() {
    let broker = TestBroker::place();
    let controller = controller(&broker.url(), &["A"]);
    let small = suite_size() * 5;
    let probe = probe_with(&broker.url(), "A", small);
    send(&probe, 0..3);
    until("both say that it is away", || {
        [reason(&probe), controller.state().reason.unwrap_or_default()]
            .iter()
            .all(|why| why.contains("refused"))
    });
    assert!(!probe.state().connected && !probe.flush(MOMENT));
    assert_eq!((probe.spool().messages, probe.spool().dropped), (3, 0));
    // A full spool drops the oldest ones.
    send(&probe, 3..9);
    let Spool { messages, bytes, dropped, .. } = probe.spool();
    assert!(dropped > 0 && messages + dropped == 9 && bytes <= small as u64, "{:?}", probe.spool());
    controller.send(0, protocol::ToProbe::Tasks(protocol::TaskList::default())).expect("it waits");
    broker.start();
    for at in dropped..9 {
        let FromProbe::Window(result) = next(&controller).message else { panic!("another message") };
        assert_eq!((result.window.start_ns, result.lost), (at, dropped));
    }
    controller.acknowledge();
    until("the list arrives", || probe.receive(MOMENT).expect("a connection").is_some());
    until("all is well", || probe.state().connected && probe.state().reason.is_none());
    // A broker that takes nothing: what is sent waits for it, and nothing breaks.
    broker.ctl(&["set_vm_memory_high_watermark", "0.0000001"]);
    until("the broker says that it takes nothing", || {
        send(&probe, 9..10);
        reason(&probe).contains("takes no messages now")
    });
    assert!(probe.state().connected);
    broker.ctl(&["set_vm_memory_high_watermark", "0.4"]);
    assert!(probe.flush(PATIENCE));
    until("all is well again", || probe.state().reason.is_none());
}

/// The size of a small result in a spool.
fn suite_size() -> usize {
    let link = probe("amqp://127.0.0.1:1", "A");
    link.send(window(0)).expect("it waits");
    link.spool().bytes as usize
}

#[test]
fn a_wrong_password_is_told_and_tried_again() {
    let broker = TestBroker::shared();
    broker.ctl(&["add_user", "A", "right"]);
    let url = broker.host();
    let place = url.split_once('@').expect("an address").1;
    let host = url.rsplit_once('/').expect("a host").1;
    let probe = probe(&format!("amqp://A:secret@{place}"), "A");
    send(&probe, 0..1);
    until("the reason is named", || reason(&probe).contains("refuses user \"A\""));
    assert!(!format!("{probe:?} {:?}", probe.state()).contains("secret"));
    // A user who may write for its node and read its own queue is enough, and may do no more.
    broker.ctl(&["set_permissions", "-p", host, "A", "^$", r"^edison\.results$", r"^edison\.tasks\.A$"]);
    broker.ctl(&["change_password", "A", "secret"]);
    until("nothing is declared", || reason(&probe).contains("no controller has declared"));
    let controller = controller(&url, &["A"]);
    assert_eq!(windows(&controller, 1, 1), [[0]]);
    until("all is well", || probe.state().reason.is_none());
    controller.send(0, protocol::ToProbe::Tasks(protocol::TaskList::default())).expect("a connection");
    until("the list arrives", || probe.receive(MOMENT).expect("a connection").is_some());
}

/// Without an authority nothing is sent, neither in clear nor encrypted.
#[test]
fn tls_needs_an_authority() {
    let broker = address("amqps://guest:guest@127.0.0.1");
    let settings = ProbeSettings { broker, node: "A".to_owned(), spool_bytes: ProbeSettings::SPOOL_BYTES };
    assert_eq!(probe_link(settings).expect_err("no link"), BrokerError::NoAuthority);
}

#[test]
fn a_full_queue_loses_no_order() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let mut settings = ControllerLinkSettings::new(address(&url), names(&["A"]));
    settings.results_bytes = 5000;
    let first = controller_link(settings.clone()).expect("a controller");
    let probe = probe(&url, "A");
    send(&probe, 0..1);
    assert_eq!(windows(&first, 1, 1), [[0]]);
    first.acknowledge();
    // The controller declares the queue of task lists over a second connection. Without that queue the probe tells of it, and not of results.
    until("both queues are declared", || probe.state().connected && probe.state().reason.is_none());
    drop(first);
    // A broker that is slow to see that its queue is full takes many more than there is room for.
    let mut sent = 1;
    until("the broker takes no more", || {
        if probe.spool().messages == 0 {
            send(&probe, sent..sent + 300);
            sent += 300;
        }
        reason(&probe).contains("its queue is full")
    });
    assert!(probe.state().connected && probe.spool().messages > 0);
    let second = controller_link(settings).expect("a controller");
    let mut got = Vec::new();
    while got.len() as u64 + 1 < sent {
        got.push(number(&next(&second).message).expect("a window"));
        second.acknowledge();
    }
    assert_eq!(got, (1..sent).collect::<Vec<_>>());
    assert!(probe.flush(PATIENCE));
    until("all is well", || probe.state().reason.is_none());
}

#[test]
fn a_queue_that_is_another_one_is_told() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let settings =
        ControllerLinkSettings { results_bytes: 1, ..ControllerLinkSettings::new(address(&url), Vec::new()) };
    let other = controller_link(settings).expect("a controller");
    until("it is declared", || other.state().connected);
    let controller = controller(&url, &["A"]);
    until("the reason is named", || {
        let reason = controller.state().reason.unwrap_or_default();
        reason.contains("cannot declare edison.results: PRECONDITION_FAILED")
    });
}

/// What strangers write is refused by name, and is not in the way of what probes write.
#[test]
fn strangers_are_refused_by_name() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let controller = controller(&url, &["A", "B"]);
    until("it is there", || controller.state().connected);
    let id = |node: &str| MessageId { node: node.to_owned(), boot: Boot(1), sequence: 1 };
    let good = |node: &str| Envelope::new(id(node), window(1)).encode().expect("bytes");
    let old = Envelope { version: 0, ..Envelope::new(id("A"), window(1)) }.encode().expect("bytes");
    let new = Envelope { version: 9, ..Envelope::new(id("A"), window(1)) }.encode().expect("bytes");
    let whole = good("A");
    let mut damaged = whole.clone();
    // Of the checksum at the end.
    damaged[whole.len() - 1] ^= 4;
    let malformed = Envelope::new(id("A"), "what is this?").encode().expect("bytes");
    let written = vec![
        Written { is_ours: false, ..Written::new("A", b"hello") },
        Written { is_ours: false, ..Written::new("A", &whole) },
        Written::new("A", b"hello"),
        Written::new("A", &whole[..whole.len() / 2]),
        Written::new("A", &[]),
        Written::new("A", &damaged),
        Written::new("A", &old),
        Written::new("A", &new),
        Written::new("C", &good("C")),
        Written::new("B", &whole),
        Written { is_named: false, ..Written::new("A", &whole) },
        Written::new("A", &malformed),
        Written::new("A", &vec![0; protocol::envelope::MOST_BYTES + 1]),
    ];
    let count = written.len() as u64 + 1;
    publish(&url, "guest", written);
    // A user who may write under every key does not become another node.
    let host = url.rsplit_once('/').expect("a host").1;
    broker.ctl(&["add_user", "somebody", "else"]);
    broker.ctl(&["set_permissions", "-p", host, "somebody", "", ".*", ""]);
    publish(&url.replace("guest:guest", "somebody:else"), "somebody", vec![Written::new("B", &good("B"))]);
    let probe = probe(&url, "A");
    send(&probe, 0..3);
    assert_eq!(windows(&controller, 2, 3), [vec![0, 1, 2], vec![]]);
    controller.acknowledge();
    let expected = [
        ("damaged", 2),
        ("foreign", 2),
        ("malformed", 1),
        ("too_large", 1),
        ("too_new", 1),
        ("too_old", 1),
        ("truncated", 2),
        ("unknown_node", 1),
        ("wrong_user", 3),
    ];
    assert_eq!(controller.refused(), BTreeMap::from(expected));
    // They lie where their operator finds them.
    until("they are put away", || {
        let queues = broker.ctl(&["list_queues", "-p", host, "--quiet", "name", "messages"]);
        queues.contains(&format!("edison.dead\t{count}")) && queues.contains("edison.results\t0")
    });
}

/// What a stranger writes.
struct Written {
    key: String,
    bytes: Vec<u8>,
    /// It is said to be a message of Edison.
    is_ours: bool,
    /// The broker vouches for its sender.
    is_named: bool,
}

impl Written {
    fn new(key: &str, bytes: &[u8]) -> Self {
        Self { key: key.to_owned(), bytes: bytes.to_vec(), is_ours: true, is_named: true }
    }
}

/// Writes to the results as any client can.
fn publish(url: &str, user: &str, written: Vec<Written>) {
    use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
    use lapin::{BasicProperties, Connection, ConnectionProperties};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let work = async {
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        for Written { key, bytes, is_ours, is_named } in written {
            let mut properties = BasicProperties::default();
            if is_ours {
                properties = properties
                    .with_content_type("application/json".into())
                    .with_content_encoding("zstd".into());
            }
            if is_named {
                properties = properties.with_user_id(user.into());
            }
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let confirm =
                channel.basic_publish("edison.results".into(), key.into(), options, &bytes, properties);
            assert_eq!(confirm.await?.await?, lapin::Confirmation::Ack(None));
        }
        connection.close(200, "done".into()).await
    };
    runtime.block_on(work).expect("it is written");
}
