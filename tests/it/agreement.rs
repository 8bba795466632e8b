//! The same traffic as a file, through a kernel interface and through DPDK ports: the same flows, and what a source
//! lost is named. The frames are read and sent by the test itself.

use crate::support::capture::{self, Flows, Frame, Generated};
use crate::support::output::{self, number};
use crate::support::program::{Ended, Running, edison, run};
use crate::support::scratch::Scratch;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testbed::veth::{Veth, with_veth};

const MIXED: &str =
    "packets=4000,flows=900,size=64:7/594:4/1518:1,ipv6=30%,rate=1k,plant=flood:sources=150/scan/elephant";

/// Frames sent before the test waits for their arrival: fewer than the smallest ring (of net_af_packet: 512) holds.
const CHUNK: usize = 400;

/// A run of `edison` on a live source, watched by its windows.
struct Live {
    running: Running,
    scratch: Scratch,
}

impl Live {
    /// Starts it and waits until it measures; the end of the process where it does not.
    fn start(arguments: &[&str]) -> Result<Self, Ended> {
        let scratch = Scratch::new();
        let mut command = edison();
        command.arg("run").args(arguments).args(["--json", "--every", "50ms"]);
        command.args(["--idle-timeout", "off", "--active-timeout", "off"]);
        command.arg("--flows").arg(scratch.path("flows.csv"));
        command.arg("--report").arg(scratch.path("report.json"));
        let mut running = Running::start(&mut command);
        match running.wait_for("the first window", |it| !it.lines().is_empty()) {
            true => Ok(Self { running, scratch }),
            false => Err(running.wait()),
        }
    }

    /// Waits until windows have accounted for `frames`, received or lost, or the run has ended.
    fn wait_for(&mut self, frames: u64) {
        self.running.wait_for("the frames sent", |it| {
            let windows = output::windows_so_far(it.lines().iter().map(String::as_str));
            accounted_in(&windows) >= frames
        });
    }

    /// Waits for the end: packets and bytes per flow, and the report.
    fn finish(self) -> (Flows, serde_json::Value) {
        let ended = self.running.wait().expect(0);
        let report = output::report(&self.scratch.path("report.json"));
        let windows = output::windows(ended.stdout.lines());
        assert_eq!(number(&report["windows"]["count"]), windows.len() as u64);
        assert_eq!(accounted_in(&windows), accounted(&report), "windows add up to the report");
        (output::one_record_per_key(&output::records(&self.scratch.path("flows.csv"))), report)
    }
}

/// Frames that windows have received or name as lost.
fn accounted_in(windows: &[output::Window]) -> u64 {
    windows.iter().map(|window| accounted(window.answer("totals"))).sum()
}

/// Frames that a report, or the totals of a window, has received or names as lost.
fn accounted(report: &serde_json::Value) -> u64 {
    assert!(!report["loss"].is_null(), "a live source knows its losses");
    number(&report["packets"]["received"]) + output::total(&report["loss"])
}

/// The file's statement matches what was generated; returns the frames and their flows.
fn as_file(scratch: &Scratch) -> (Generated, Flows) {
    let generated = capture::generate(scratch, MIXED);
    let sent = capture::flows(&generated.frames);
    assert!(sent.keys().any(|key| key.0.is_ipv6()) && sent.keys().any(|key| key.0.is_ipv4()));
    let records = measure(edison().arg("run").arg(&generated.path), scratch);
    assert_eq!(output::one_record_per_key(&records), sent);
    (generated, sent)
}

/// Records of a run that ends of itself, with both timeouts off.
fn measure(command: &mut Command, scratch: &Scratch) -> Vec<output::Record> {
    let flows = scratch.path("flows.csv");
    run(command.args(["--idle-timeout", "off", "--active-timeout", "off", "--flows"]).arg(&flows)).expect(0);
    output::records(&flows)
}

/// Sends all frames, no faster than they are measured.
fn send(veth: &Veth, live: &mut Live, frames: &[Frame]) {
    let mut sent = 0;
    for chunk in frames.chunks(CHUNK) {
        chunk.iter().for_each(|frame| veth.send(&frame.data));
        sent += chunk.len() as u64;
        live.wait_for(sent);
    }
}

/// Measures the capture's frames by this source, which is given their number.
fn agrees_with_the_file(arguments: &'static [&'static str]) {
    with_veth(move |veth| {
        let scratch = Scratch::new();
        let (Generated { frames, .. }, sent) = as_file(&scratch);
        let packets = frames.len().to_string();
        let mut live = match Live::start(&[arguments, &["--packets", &packets]].concat()) {
            Ok(live) => live,
            Err(ended) => return refused(arguments, &ended),
        };
        send(veth, &mut live, &frames);
        // If some were lost, the last packet never comes.
        live.running.signal(libc::SIGINT);
        let (measured, report) = live.finish();
        assert_eq!(accounted(&report), frames.len() as u64, "{}", report["loss"]);
        assert_eq!(number(&report["packets"]["measured"]), number(&report["packets"]["received"]));
        let lost = output::total(&report["loss"]);
        let mut missing = 0;
        for (key, count) in &sent {
            let got = measured.get(key).copied().unwrap_or_default();
            assert!(got.packets <= count.packets, "{key:?}: sent {count:?}, measured {got:?}");
            assert!(got.packets != count.packets || got.total_byte == count.total_byte, "{key:?}: {got:?}");
            missing += count.packets - got.packets;
        }
        assert!(measured.keys().all(|key| sent.contains_key(key)));
        assert_eq!(missing, lost, "with nothing lost, the flows are the file's");
    });
}

/// A source that this kernel lacks is no failure, but has to be reported.
fn refused(arguments: &[&str], ended: &Ended) {
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(arguments.join(" ").contains("af_xdp"), "{}", ended.stderr);
    eprintln!("skipped: {}", ended.stderr.trim_end());
}

/// More frames than any ring holds while none is read: received and lost make up what the link carried.
fn counts_its_drops(arguments: &'static [&'static str], loss: &'static str, frames: u64) {
    with_veth(move |veth| {
        let mut live = Live::start(arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
        let before = veth.carried();
        live.running.signal(libc::SIGSTOP);
        let mut frame = capture::udp(1);
        frame.resize(300, 0);
        (0..frames).for_each(|_| veth.send(&frame));
        let carried = veth.carried() - before;
        live.running.signal(libc::SIGCONT);
        live.wait_for(carried);
        live.running.signal(libc::SIGINT);
        let (measured, report) = live.finish();
        assert!(number(&report["loss"][loss]) > 0, "{}", report["loss"]);
        assert_eq!(accounted(&report), carried, "{}", report["loss"]);
        let measured: u64 = measured.values().map(|count| count.packets).sum();
        assert_eq!(measured, number(&report["packets"]["received"]));
    });
}

/// Measurement continues on a link that goes down and comes back; each change is reported once and counted.
fn survives_a_link_that_goes_down(arguments: &'static [&'static str]) {
    with_veth(move |veth| {
        let mut live = Live::start(arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
        let mut sent = 0;
        for downs in 1..=2 {
            (0..100).for_each(|n| veth.send(&capture::udp(n)));
            sent += 100;
            live.wait_for(sent);
            for (is_up, words) in [(false, "link is down"), (true, "link is up")] {
                veth.set_near(is_up);
                let said =
                    |it: &Running| it.said().iter().filter(|line| line.contains(words)).count() == downs;
                assert!(live.running.wait_for(words, said), "{:?}", live.running.said());
            }
        }
        (0..100).for_each(|n| veth.send(&capture::udp(n)));
        live.wait_for(sent + 100);
        live.running.signal(libc::SIGINT);
        let said = live.running.said();
        let (measured, report) = live.finish();
        assert_eq!(report["link_down"], 2);
        assert_eq!(output::total(&report["loss"]), 0);
        assert_eq!(measured.values().map(|count| count.packets).sum::<u64>(), 300);
        assert_eq!(said.iter().filter(|line| line.contains("link is")).count(), 4, "{said:?}");
        assert!(said.iter().all(|line| !line.contains("link") || line.contains(Veth::NEAR)), "{said:?}");
    });
}

#[test]
fn an_interface_survives_a_link_that_goes_down() {
    survives_a_link_that_goes_down(&["-i", Veth::NEAR]);
}

#[test]
fn an_interface_agrees_with_the_file() {
    agrees_with_the_file(&["-i", Veth::NEAR]);
}

#[test]
fn drops_of_an_interface_are_counted() {
    // The kernel's ring holds some 190,000 frames of this length.
    counts_its_drops(&["-i", Veth::NEAR], "ps_drop", 300_000);
}

/// Sends chunks of frames to a run that does not go on meanwhile. The windows of the run, and the times at which chunks were sent, in order,
/// with that at which it went on.
fn held(arguments: &'static [&'static str], then: impl FnOnce(&[output::Window], &[u64]) + Send + 'static) {
    with_veth(move |veth| {
        let mut live = Live::start(arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
        live.running.signal(libc::SIGSTOP);
        let mut times: Vec<u64> = Vec::new();
        for _ in 0..HELD_CHUNKS {
            times.push(clock_ns());
            (0..HELD_FRAMES).for_each(|n| veth.send(&capture::udp(n)));
            std::thread::sleep(Duration::from_millis(400));
        }
        times.push(clock_ns());
        live.running.signal(libc::SIGCONT);
        live.wait_for(u64::from(HELD_FRAMES) * HELD_CHUNKS);
        live.running.signal(libc::SIGINT);
        let ended = live.running.wait().expect(0);
        then(&output::windows(ended.stdout.lines()), &times);
    });
}

/// Of both, far fewer than any ring holds.
const HELD_CHUNKS: u64 = 6;
const HELD_FRAMES: u16 = 20;

#[test]
fn frames_that_waited_count_in_the_windows_in_which_they_arrived() {
    held(&["-i", Veth::NEAR], |windows, times| {
        for chunk in times.windows(2) {
            let within = |window: &&output::Window| window.end > chunk[0] && window.end <= chunk[1];
            let received = windows.iter().filter(within).map(|window| number(&window.packets()["received"]));
            assert_eq!(received.sum::<u64>(), u64::from(HELD_FRAMES), "{chunk:?} of {times:?}");
        }
        let within = |window: &&output::Window| window.end > times[0] && window.end <= times[times.len() - 1];
        for window in windows.iter().filter(within) {
            assert_eq!(window.answer("totals")["status"], "complete", "{}", window.answer("totals"));
        }
    });
}

mod dpdk {
    use super::*;

    #[test]
    fn net_af_packet_agrees_with_the_file() {
        agrees_with_the_file(&["--port", "net_af_packet0,iface=near"]);
    }

    #[test]
    fn net_af_xdp_agrees_with_the_file() {
        agrees_with_the_file(&["--port", "net_af_xdp0,iface=near"]);
    }

    #[test]
    fn net_af_packet_survives_a_link_that_goes_down() {
        survives_a_link_that_goes_down(&["--port", "net_af_packet0,iface=near"]);
    }

    #[test]
    fn two_queues_with_one_receiver_agree_with_the_file() {
        agrees_with_the_file(&["--port", "net_af_packet0,iface=near,qpairs=2"]);
    }

    /// The kernel spreads over two sockets, each of which has a receiver; none is ever full, so that no flow
    /// rolls over to the other.
    #[test]
    fn two_queues_with_two_receivers_agree_with_the_file() {
        with_veth(|veth| {
            let scratch = Scratch::new();
            let (Generated { frames, .. }, sent) = as_file(&scratch);
            let arguments = ["--port", "net_af_packet0,iface=near,qpairs=2", "--queues", "2"];
            let mut live = Live::start(&arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
            let mut done = 0;
            for chunk in frames.chunks(100) {
                chunk.iter().for_each(|frame| veth.send(&frame.data));
                done += chunk.len() as u64;
                live.wait_for(done);
            }
            live.running.signal(libc::SIGINT);
            let (measured, report) = live.finish();
            assert_eq!((output::total(&report["loss"]), &report["link_down"]), (0, &0.into()));
            assert_eq!(number(&report["design"]["receivers"]), 2);
            assert_eq!(measured, sent);
        });
    }

    /// A port tells no times of arrival.
    #[test]
    fn windows_whose_frames_waited_at_a_port_say_so() {
        held(&["--port", "net_af_packet0,iface=near"], |windows, times| {
            let within =
                |window: &&output::Window| window.end > times[0] && window.end <= times[times.len() - 1];
            let held: Vec<_> = windows.iter().filter(within).collect();
            assert!(held.len() > 10, "{times:?}");
            for window in held {
                let (totals, empty) = (window.answer("totals"), window.empty_before);
                assert_eq!((totals["status"].as_str(), empty), (Some("partial"), 0), "{totals}");
                assert!(totals["reason"].to_string().contains("the receiver did not run for"), "{totals}");
            }
        });
    }

    /// Losses are the port's: counted once, whichever queue reports them.
    #[test]
    fn drops_of_two_queues_are_counted_once() {
        with_veth(|veth| {
            let arguments = ["--port", "net_af_packet0,iface=near,qpairs=2", "--queues", "2"];
            let mut live = Live::start(&arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
            let before = veth.carried();
            live.running.signal(libc::SIGSTOP);
            (0..5_000).for_each(|n| veth.send(&capture::udp(n % 100)));
            let carried = veth.carried() - before;
            live.running.signal(libc::SIGCONT);
            live.wait_for(carried);
            live.running.signal(libc::SIGINT);
            live.running.wait_for("its end", |_| false);
            let report = output::report(&live.scratch.path("report.json"));
            assert!(number(&report["loss"]["tp_drops"]) > 0, "{}", report["loss"]);
            assert_eq!(accounted(&report), carried, "{}", report["loss"]);
        });
    }

    /// The flows of a capture over two files, which are two queues: the records of one queue.
    #[test]
    fn two_files_are_two_queues() {
        let scratch = Scratch::new();
        let (generated, sent) = as_file(&scratch);
        let is_first = |frame: &&Frame| {
            let ((source, destination, ..), _) = capture::layer3(&frame.data);
            let last = |address: std::net::IpAddr| match address {
                std::net::IpAddr::V4(address) => address.octets()[3],
                std::net::IpAddr::V6(address) => address.octets()[15],
            };
            (last(source) ^ last(destination)).count_ones() % 2 == 0
        };
        let (first, second): (Vec<_>, Vec<_>) = generated.frames.iter().partition(is_first);
        assert!(first.len() > 500 && second.len() > 500, "{} and {}", first.len(), second.len());
        let file = |name: &str, frames: Vec<&Frame>| {
            let path = scratch.path(name);
            let frames: Vec<Frame> = frames.into_iter().cloned().collect();
            std::fs::write(&path, capture::pcap(capture::ETHERNET, &frames)).expect("written");
            path
        };
        let (whole, a, b) = (
            file("whole.pcap", generated.frames.iter().collect()),
            file("a.pcap", first),
            file("b.pcap", second),
        );
        let by = |port: &str, more: &[&str]| {
            let report = scratch.path("report.json");
            let mut command = edison();
            command
                .args(["run", "--idle-exit", "1s", "--port", port])
                .args(more)
                .arg("--report")
                .arg(&report);
            let mut records = measure(&mut command, &scratch);
            records.sort();
            (records, output::report(&report))
        };
        let (expected, _) = by(&format!("net_pcap0,rx_pcap={}", whole.display()), &[]);
        assert_eq!(expected.len(), sent.len());
        let two = format!("net_pcap0,rx_pcap={},rx_pcap={}", a.display(), b.display());
        for (more, receivers) in
            [(&[][..], 1), (&["--design", "2x1"], 2), (&["--queues", "2"], 2), (&["--design", "async"], 1)]
        {
            let (found, report) = by(&two, more);
            assert!(found == expected, "{more:?} gives other records");
            assert_eq!(number(&report["design"]["receivers"]), receivers, "{more:?}");
            assert_eq!(number(&report["packets"]["received"]), generated.frames.len() as u64);
        }
    }

    /// The kernel's sockets do not report how frames are distributed among them.
    #[test]
    fn what_needs_a_flow_on_one_core_is_refused_where_nobody_knows() {
        with_veth(|_| {
            let mut command = edison();
            command.args(["run", "--port", "net_af_packet0,iface=near,qpairs=2", "--queues", "2"]);
            command.args(["--task", "entropy:structure=stream-sample,memory=1MiB"]);
            run(&mut command).says(2, &["structure=stream-sample", "on one core"]);
        });
    }

    /// Each receiver finds out for itself, and it is reported once.
    #[test]
    fn a_port_of_two_queues_that_vanishes_is_a_fault() {
        with_veth(|veth| {
            let arguments = ["--port", "net_af_packet0,iface=near,qpairs=2", "--queues", "2"];
            let live = Live::start(&arguments).unwrap_or_else(|ended| panic!("{}", ended.stderr));
            veth.vanish();
            let ended = live.running.wait().expect(1);
            assert_eq!(ended.stderr.matches("has vanished").count(), 1, "{}", ended.stderr);
            assert_eq!(number(&output::report(&live.scratch.path("report.json"))["packets"]["received"]), 0);
        });
    }

    #[test]
    fn queues_that_a_port_cannot_give_are_said_in_one_line() {
        let says = |arguments: &[&str], words: &[&str]| {
            run(edison().arg("run").args(arguments)).says(2, words);
        };
        let scratch = Scratch::new();
        let path = scratch.path("one.pcap");
        std::fs::write(&path, capture::pcap(capture::ETHERNET, &[])).expect("written");
        let one = format!("net_pcap0,rx_pcap={}", path.display());
        let two = format!("{one},rx_pcap={}", path.display());
        says(&["--port", &one, "--queues", "2"], &["2 receive queues are not possible, but 1"]);
        says(&["--port", &two, "--queues", "1"], &["1 receive queues are not possible, but 2"]);
        says(&["--port", &one, "--design", "2x1"], &["2 receivers", "1 queue"]);
        says(
            &["--port", &two, "--design", "2x1", "--loss"],
            &["--loss", "does not say how it spreads", "async"],
        );
        says(&["--port", "net_null0", "--queues", "2", "--design", "2x1", "--packets", "9"], &["--packets"]);
        says(&["-i", "lo", "--queues", "2"], &["--queues is for DPDK ports", "--wire queues=N"]);
        // Features that need one receiver get one unless more are requested.
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
            let ended = ["run", "--port", "net_null0", "--cores", "2", "--packets", "100k"];
            let ended = run(edison().args(ended)).expect(0);
            assert!(ended.stdout.contains("async: 1 receiver"), "{}", ended.stdout);
        }
        // With a symmetric hash it works; and one receiver polls as many queues as are requested, whatever
        // pages their pools lie on.
        run(edison().args([
            "run",
            "--port",
            "net_null0",
            "--queues",
            "8",
            "--design",
            "async",
            "--duration",
            "50ms",
        ]))
        .expect(0);
        run(edison().args([
            "run",
            "--port",
            "net_null0",
            "--design",
            "2x1",
            "--loss",
            "--duration",
            "100ms",
        ]))
        .expect(0);
    }

    #[test]
    fn drops_of_net_af_packet_are_counted() {
        counts_its_drops(&["--port", "net_af_packet0,iface=near"], "tp_drops", 5_000);
    }

    #[test]
    fn net_pcap_agrees_with_the_file() {
        let scratch = Scratch::new();
        let (generated, sent) = as_file(&scratch);
        let mut expected = measure(edison().arg("run").arg(&generated.path), &scratch);
        let port = format!("net_pcap0,rx_pcap={}", generated.path.display());
        let mut got = measure(edison().args(["run", "--idle-exit", "1s", "--port", &port]), &scratch);
        for record in expected.iter_mut().chain(&mut got) {
            // net_pcap has microseconds.
            (record.stime, record.ltime) = (record.stime / 1000, record.ltime / 1000);
        }
        expected.sort();
        got.sort();
        assert_eq!(expected.len(), sent.len());
        assert_eq!(got, expected);
    }
}

/// The clock, nanoseconds since the epoch.
fn clock_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("after 1970").as_nanos() as u64
}

/// Windows begin at multiples of their length, a run within one: of that, it has watched a part.
#[test]
fn a_live_run_says_what_it_watched_of_its_first_window() {
    with_veth(|_| {
        let scratch = Scratch::new();
        let began = clock_ns();
        let mut command = edison();
        command
            .args(["run", "-i", Veth::NEAR, "--json", "--every", "2s", "--report"])
            .arg(scratch.path("report.json"));
        let mut running = Running::start(&mut command);
        let totals = |it: &Running| {
            let lines = it.lines();
            let answers = lines.iter().map(|line| serde_json::from_str(line).expect("JSON"));
            answers.filter(|answer: &serde_json::Value| answer["query"] == "totals").collect::<Vec<_>>()
        };
        if !running.wait_for("two windows", |it| totals(it).len() >= 2) {
            eprintln!("skipped: {}", running.wait().stderr.trim_end());
            return;
        }
        let seen = clock_ns();
        let windows = totals(&running);
        running.signal(libc::SIGINT);
        running.wait().expect(0);
        let of = |answer: &serde_json::Value, member: &str| {
            ["start", "end"].map(|name| output::time(&answer[member][name]))
        };
        let ([start, end], [watched_start, watched_end]) =
            (of(&windows[0], "window"), of(&windows[0], "watched"));
        assert_eq!(windows[0]["status"], "cut", "{}", windows[0]);
        assert_eq!((end - start, start % 2_000_000_000), (2_000_000_000, 0));
        assert!(began <= watched_start && start < watched_start && watched_start < end, "{}", windows[0]);
        assert!(watched_end == end && end <= seen, "{}", windows[0]);
        // Windows without frames come in one answer, which says from when on.
        let next = of(&windows[1], "window")[0];
        assert!(next == end && windows[1]["status"] == "complete", "{}", windows[1]);
    });
}
