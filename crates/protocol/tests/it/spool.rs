//! Spools in files: what a probe that was killed had sent is delivered by its next start, once each.

use crate::broker::TestBroker;
use crate::suite::{MOMENT, PATIENCE, next, number, until, window, windows};
use model::view::Spool;
use protocol::amqp::{
    AmqpControllerLink, AmqpProbeLink, BrokerAddress, ControllerLinkSettings, ProbeSettings, SpoolError,
    SpoolFile, controller_link, spooled_probe_link,
};
use protocol::{ControllerLink, FromProbe, ProbeLink};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

const AWAY: &str = "amqp://guest:guest@127.0.0.1:1";

fn address(url: &str) -> BrokerAddress {
    url.parse().expect("an address")
}

fn controller(url: &str) -> AmqpControllerLink {
    controller_link(ControllerLinkSettings::new(address(url), vec!["A".to_owned()])).expect("a controller")
}

fn open(path: &Path) -> SpoolFile {
    SpoolFile::open(path, "A", ProbeSettings::SPOOL_BYTES).expect("a spool")
}

fn probe(url: &str, spool: SpoolFile) -> AmqpProbeLink {
    probe_within(url, spool, ProbeSettings::SPOOL_BYTES)
}

fn probe_within(url: &str, spool: SpoolFile, spool_bytes: usize) -> AmqpProbeLink {
    let settings = ProbeSettings { broker: address(url), node: "A".to_owned(), spool_bytes };
    spooled_probe_link(settings, spool).expect("a probe")
}

fn send(probe: &dyn ProbeLink, numbers: std::ops::Range<u64>) {
    numbers.for_each(|number| probe.send(window(number)).expect("a connection"));
}

/// Starts with nobody to deliver to, and sends these.
fn kept(path: &Path, numbers: std::ops::Range<u64>) {
    let probe = probe(AWAY, open(path));
    send(&probe, numbers);
    assert!(probe.save(PATIENCE));
}

#[test]
fn what_was_not_delivered_is_delivered_by_the_next_start() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    // More starts than a few.
    (0..40).for_each(|start| kept(&path, start * 5..start * 5 + 5));
    let controller = controller(&url);
    let last = probe(&url, open(&path));
    send(&last, 200..210);
    assert_eq!(windows(&controller, 1, 210), [(0..210).collect::<Vec<_>>()]);
    assert!(last.flush(PATIENCE) && last.save(PATIENCE));
    assert_eq!(last.spool(), Spool::default());
    controller.acknowledge();
    assert_eq!(controller.refused().len(), 0, "{:?}", controller.refused());
    drop(last);
    assert_eq!(open(&path).found(), 0);
}

/// Names the spool and the broker of the child of the next test; nothing is to be done where it is missing.
const CHILD: &str = "EDISON_TEST_SPOOL";

/// Sends one window after the other, and says on standard output when they are in the file, until it is killed.
#[test]
fn child() {
    let Ok(settings) = env::var(CHILD) else { return };
    let mut settings = settings.split(' ');
    let mut next = || settings.next().expect("a setting");
    let (path, url, first) = (PathBuf::from(next()), next(), next().parse::<u64>().expect("a number"));
    let probe = probe(url, open(&path));
    for number in first.. {
        send(&probe, number..number + 1);
        if number % 7 == 0 {
            assert!(probe.save(PATIENCE));
            println!("saved {number}");
        }
    }
}

fn start_child(path: &Path, url: &str, first: u64) -> Child {
    let settings = format!("{} {url} {first}", path.display());
    let program = env::current_exe().expect("this program");
    let mut child = Command::new(program);
    child.args(["spool::child", "--exact", "--nocapture"]).env(CHILD, settings);
    child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// However often and whenever a probe is killed: what it had saved arrives, once each and in order.
#[test]
fn a_probe_that_is_killed_loses_nothing_that_it_saved() {
    const KILLS: u64 = 24;
    const STEP: u64 = 1_000_000;
    let broker = TestBroker::shared();
    let url = broker.host();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    let controller = controller(&url);
    until("the queue is there", || controller.state().connected);
    let (mut saved, mut got) = (Vec::new(), Vec::new());
    let take = |got: &mut Vec<u64>, wait: Duration| {
        let received = controller.receive(wait).expect("a connection");
        received.iter().for_each(|received| got.extend(number(&received.message)));
        controller.acknowledge();
        received.is_some()
    };
    for kill in 0..KILLS {
        let mut child = start_child(&path, &url, kill * STEP);
        // At another time each: from the first message that is saved on.
        let lines = 1 + (kill * 7 % 11);
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let said = output.lines().map_while(Result::ok).filter_map(|line| {
            let (_, number) = line.rsplit_once("saved ")?;
            number.parse::<u64>().ok()
        });
        let last = said.take(lines as usize).last().expect("it saves");
        std::thread::sleep(Duration::from_micros(kill * 1700 % 9000));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        saved.push(last);
        while take(&mut got, Duration::ZERO) {}
    }
    let end = probe(&url, open(&path));
    send(&end, KILLS * STEP..KILLS * STEP + 1);
    while got.last() != Some(&(KILLS * STEP)) {
        assert!(take(&mut got, PATIENCE), "nothing comes; the last is {:?}", got.last());
    }
    assert!(end.flush(PATIENCE));
    assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "once each and in order");
    let mut all = got.iter().copied().peekable();
    for (start, last) in (0..).zip(saved) {
        // Of each start the first ones without a gap, and all that it had saved.
        let first = start * STEP;
        let own = std::iter::from_fn(|| all.next_if(|number| *number < first + STEP)).collect::<Vec<_>>();
        let until = *own.last().expect("some came");
        assert!(until >= last, "{last} was saved, and {until} is the last that came");
        assert_eq!(own, (first..=until).collect::<Vec<_>>());
    }
    println!("{} windows, refused: {:?}", got.len(), controller.refused());
}

/// The same for a disk that is full.
const FULL: &str = "EDISON_TEST_FULL_SPOOL";

#[test]
fn child_on_a_full_disk() {
    let Ok(path) = env::var(FULL) else { return };
    let probe = probe(AWAY, open(Path::new(&path)));
    let mut sent = 0;
    until("the disk is full", || {
        send(&probe, sent..sent + 1);
        sent += 1;
        probe.spool().fault.is_some()
    });
    let Spool { messages, unwritten, fault, .. } = probe.spool();
    assert!(messages == sent && unwritten > 0, "{sent} sent");
    println!("{}; kept {}", fault.expect("a reason"), sent - unwritten);
}

#[test]
fn a_disk_that_is_full_has_what_it_took() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    // A limit on the size of files fails writes as a full disk does, wherever the shell's unit is a half or a whole KiB.
    let script = r#"trap '' XFSZ; ulimit -f 100; exec "$@""#;
    let mut child = Command::new("sh");
    child.args(["-c", script, "sh"]).arg(env::current_exe().expect("this program"));
    child.args(["spool::child_on_a_full_disk", "--exact", "--nocapture"]).env(FULL, &path);
    let output = child.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find(|line| line.contains("; kept ")).expect("a line");
    let kept: usize = line.rsplit_once(' ').expect("a number").1.parse().expect("a number");
    assert!(line.contains("File too large"), "{line}");
    // Whole records, the oldest first.
    let opened = open(&path);
    assert_eq!((opened.found(), opened.remarks()), (kept, &[][..]));
    assert!(kept > 100, "{kept}");
}

#[test]
fn a_full_spool_says_what_it_dropped_also_after_a_restart() {
    let broker = TestBroker::shared();
    let url = broker.host();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    let size = {
        let probe = probe(AWAY, open(&folder.path().join("other")));
        send(&probe, 0..1);
        probe.spool().bytes as usize
    };
    for start in 0..3 {
        let probe = probe_within(AWAY, open(&path), size * 5);
        send(&probe, start * 10..start * 10 + 10);
        assert!(probe.save(PATIENCE));
    }
    let controller = controller(&url);
    let probe = probe_within(&url, open(&path), size * 5);
    let Spool { messages, dropped, .. } = probe.spool();
    assert_eq!(messages + dropped, 30);
    for at in 30 - messages..30 {
        let FromProbe::Window(result) = next(&controller).message else { panic!("another message") };
        assert_eq!((result.window.start_ns, result.lost), (at, dropped));
    }
    controller.acknowledge();
    assert!(probe.flush(PATIENCE));
}

#[test]
fn a_spool_is_of_one_probe() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    let first = open(&path);
    let refused = |node: &str| SpoolFile::open(&path, node, 1 << 20).expect_err("it is refused");
    assert!(matches!(refused("A"), SpoolError::Taken(_)), "{}", refused("A"));
    drop(first);
    let other = refused("B");
    assert!(other.to_string().contains("node \"A\""), "{other}");
    let nowhere = SpoolFile::open(&folder.path().join("none/spool"), "A", 1 << 20).expect_err("no folder");
    assert!(nowhere.to_string().contains("none/spool"), "{nowhere}");
    // The lock ends with the probe.
    kept(&path, 0..3);
    assert_eq!(open(&path).found(), 3);
}

#[test]
fn what_can_be_read_of_a_damaged_spool_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spool");
    let aside = |ending: &str| fs::read(format!("{}.damaged{ending}", path.display())).ok();
    kept(&path, 0..10);
    let whole = fs::read(&path).expect("a file");
    fs::write(&path, &whole[..whole.len() - 3]).expect("it is written");
    let opened = open(&path);
    assert_eq!((opened.found(), opened.remarks().len()), (9, 1), "{:?}", opened.remarks());
    assert!(opened.remarks()[0].contains("spool.damaged"), "{:?}", opened.remarks());
    assert_eq!(aside("").as_deref(), Some(&whole[..whole.len() - 3]));
    drop(opened);
    // It is whole again, and what is no spool at all is not lost.
    assert!(open(&path).remarks().is_empty());
    fs::write(&path, b"something else").expect("it is written");
    let opened = open(&path);
    assert_eq!((opened.found(), opened.remarks().len()), (0, 1), "{:?}", opened.remarks());
    assert_eq!(aside("2").as_deref(), Some(&b"something else"[..]));
    drop(opened);
    fs::write(&path, b"").expect("it is written");
    assert!(open(&path).remarks().is_empty());
}

/// The file is taken away: the spool is in memory, says so, and is in a file again.
#[test]
fn a_disk_that_takes_nothing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a folder");
    let path = place.join("spool");
    let probe = probe(AWAY, open(&path));
    send(&probe, 0..3);
    assert!(probe.save(PATIENCE));
    assert_eq!(probe.spool().fault, None);
    fs::remove_dir_all(&place).expect("it is removed");
    let mut sent = 3;
    until("it is named", || {
        send(&probe, sent..sent + 1);
        sent += 1;
        probe.spool().fault.is_some()
    });
    send(&probe, sent..sent + 1);
    let Spool { messages, unwritten, .. } = probe.spool();
    assert_eq!(messages, sent + 1);
    assert!(unwritten > 0);
    assert!(!probe.save(MOMENT));
    fs::create_dir(&place).expect("a folder");
    until("it is in a file again", || probe.spool().fault.is_none());
    assert!(probe.save(PATIENCE));
    drop(probe);
    assert_eq!(open(&path).found() as u64, sent + 1);
}
