//! Exporting to collectors on this machine: ones that listen, are away, stall, come back.

use crate::ipfix::{Session, decode};
use crate::sample;
use crate::tool;
use flow::FlowRecord;
use record::{Collector, MeasurementTotals, Patience, RecordWriter, Selection, domain_of, export};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NODE: &str = "probe-1";
/// Longer than anything here takes on a loaded machine: what exceeds it hangs.
const END: Duration = Duration::from_secs(60);

fn start(url: &str) -> Box<dyn RecordWriter> {
    start_with(url, &Selection::all(), Patience::None)
}

fn start_with(url: &str, selection: &Selection, patience: Patience) -> Box<dyn RecordWriter> {
    let collector: Collector = url.parse().unwrap();
    export(&collector, NODE, selection, patience).unwrap()
}

fn write(writer: &mut dyn RecordWriter, records: &[FlowRecord]) {
    records.chunks(512).for_each(|batch| writer.write(batch).unwrap());
}

/// Records whose sums do not run over.
fn records(n: usize) -> Vec<FlowRecord> {
    let mut records = sample::records(n);
    for record in &mut records {
        record.total_count >>= 24;
        record.total_byte >>= 24;
        record.stime %= 2_000_000_000_000_000_000;
        record.ltime %= 2_000_000_000_000_000_000;
    }
    records
}

/// Packets and bytes of flow records, each list sorted: over UDP only the order of a session is certain.
fn counts(session: &Session) -> Vec<(u64, u64)> {
    let mut counts: Vec<_> = session
        .flows
        .iter()
        .map(|data| (data.unsigned((0, 2)).unwrap(), data.unsigned((0, 1)).unwrap()))
        .collect();
    counts.sort();
    counts
}

fn counts_of(records: &[FlowRecord]) -> Vec<(u64, u64)> {
    let mut counts: Vec<_> = records.iter().map(|record| (record.total_count, record.total_byte)).collect();
    counts.sort();
    counts
}

/// A collector over UDP: takes datagrams until it is stopped and none has arrived for a while.
struct UdpCollector {
    port: u16,
    stop: Arc<AtomicBool>,
    datagrams: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Gives what the kernel dropped.
    thread: JoinHandle<u64>,
}

impl UdpCollector {
    fn start(port: u16) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let (stop, datagrams) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (told, taken) = (Arc::clone(&stop), Arc::clone(&datagrams));
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                match socket.recv(&mut buffer) {
                    Ok(length) => taken.lock().unwrap().push(buffer[..length].to_vec()),
                    Err(_) if told.load(Relaxed) => return dropped_by_the_kernel(port),
                    Err(_) => {}
                }
            }
        });
        Self { port, stop, datagrams, thread }
    }

    fn url(&self, options: &str) -> String {
        format!("ipfix://127.0.0.1:{}{options}", self.port)
    }

    /// Waits until it has taken this many flows, or until they do not arrive any more because the kernel dropped some.
    fn await_flows(&self, count: usize) {
        let began = Instant::now();
        while session_after_drops(&self.datagrams.lock().unwrap()).flows.len() < count
            && dropped_by_the_kernel(self.port) == 0
        {
            assert!(began.elapsed() < END, "the flows do not arrive");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What it took; `None` where the kernel had no room for some datagrams, as on a loaded machine.
    fn finish(self) -> Option<Vec<Vec<u8>>> {
        self.stop.store(true, Relaxed);
        let dropped = self.thread.join().unwrap();
        (dropped == 0).then(|| std::mem::take(&mut *self.datagrams.lock().unwrap()))
    }
}

/// Datagrams for which a socket of this port had no room (the last column of the kernel's table).
fn dropped_by_the_kernel(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").unwrap();
    let local = format!(":{port:04X}");
    let of_port =
        |line: &&str| line.split_whitespace().nth(1).is_some_and(|address| address.ends_with(&local));
    let drops = |line: &str| line.split_whitespace().last().and_then(|drops| drops.parse::<u64>().ok());
    table.lines().filter(of_port).filter_map(drops).sum()
}

/// Repeats an exchange until the kernel has delivered all of its datagrams.
fn until_all_is_delivered(exchange: impl Fn() -> Option<()>) {
    const ATTEMPTS: u32 = 30;
    assert!((0..ATTEMPTS).any(|_| exchange().is_some()), "the kernel dropped datagrams {ATTEMPTS} times");
}

/// A session, which may begin with messages that were lost; none without datagrams.
fn session_after_drops(datagrams: &[Vec<u8>]) -> Session {
    if datagrams.is_empty() { Session::default() } else { session_after_loss(datagrams) }
}

fn session(datagrams: &[Vec<u8>]) -> Session {
    let mut session = Session::default();
    datagrams.iter().for_each(|datagram| session.message(datagram));
    session
}

/// A port without a listener.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_collector_over_udp_gets_everything_in_order() {
    until_all_is_delivered(|| {
        let collector = UdpCollector::start(0);
        let given = records(3000);
        let mut writer = start(&collector.url("?rate=20k"));
        write(&mut *writer, &given[..1000]);
        writer.account(&MeasurementTotals { time_ns: 1, received: 10, measured: 9, lost: Some(1) }).unwrap();
        write(&mut *writer, &given[1000..]);
        let delivery = writer.finish().unwrap();
        assert_eq!((delivery.dropped, delivery.warnings), (0, vec![]));

        let session = session(&collector.finish()?);
        assert_eq!(counts(&session), counts_of(&given));
        assert!(
            session.headers.iter().all(|header| header.length <= 1400 && header.domain == domain_of(NODE))
        );
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!(session.headers.iter().all(|header| now - u64::from(header.export_time) < 60), "wall clock");
        // The account is sent when it arrives, and again with the final sums.
        let exporting = session.options_about(&[(0, 144)]);
        assert_eq!(exporting.len(), 2);
        assert_eq!(exporting[1].unsigned((0, 42)), Some(3000));
        assert_eq!(exporting[1].unsigned((0, 166)), Some(0));
        assert_eq!(session.options_about(&[(0, 149)])[0].unsigned((0, 164)), Some(1));
        assert_eq!(session.options_about(&[(0, 302)]).len(), 1, "the selector");
        Some(())
    });
}

#[test]
fn both_directions_and_all_options_fit_into_datagrams() {
    until_all_is_delivered(|| {
        let collector = UdpCollector::start(0);
        let given = sample::full_records(300);
        let url = collector.url("?rate=5k&domain=77&message=9000");
        let mut writer = start_with(&url, &Selection::new(&sample::parts()), Patience::None);
        write(&mut *writer, &given);
        assert_eq!(writer.finish().unwrap().dropped, 0);
        let session = session(&collector.finish()?);
        assert!(session.headers.iter().all(|header| header.length <= 9000 && header.domain == 77));
        let mut want: Vec<_> =
            given.iter().map(|record| (record.total_count, record.reverse().map(|r| r.total_byte))).collect();
        let mut got: Vec<_> = session
            .flows
            .iter()
            .map(|data| (data.unsigned((0, 2)).unwrap(), data.unsigned((29305, 1))))
            .collect();
        want.sort();
        got.sort();
        assert_eq!(got, want);
        Some(())
    });
}

#[test]
fn templates_are_resent_over_udp_by_time_and_by_messages() {
    until_all_is_delivered(|| {
        let collector = UdpCollector::start(0);
        let mut writer = start(&collector.url("?resend=1"));
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2300) {
            write(&mut *writer, &records(10));
            writer.flush().unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(writer.finish().unwrap().dropped, 0);
        let by_time = session(&collector.finish()?);
        // Once at the beginning, and then once a second at the most.
        let told = by_time.told.values().copied().min().unwrap();
        assert!(told >= 2 && told as u64 <= began.elapsed().as_secs() + 2, "{told}");

        let collector = UdpCollector::start(0);
        let mut writer =
            start_with(&collector.url("?rate=40k&message=512"), &Selection::all(), Patience::ForPace);
        let given = records(20_000);
        write(&mut *writer, &given);
        assert_eq!(writer.finish().unwrap().dropped, 0);
        let by_messages = session(&collector.finish()?);
        assert_eq!(by_messages.flows.len(), given.len());
        assert!(by_messages.headers.len() > 4096);
        assert!(by_messages.told.values().all(|times| *times >= 2));
        Some(())
    });
}

#[test]
fn a_collector_that_is_away_costs_its_records_and_nothing_else() {
    for scheme in ["ipfix", "ipfix+tcp"] {
        let url = format!("{scheme}://127.0.0.1:{}", free_port());
        let mut writer = start(&url);
        write(&mut *writer, &records(5000));
        assert_eq!(writer.dropped(), 0, "there is room for them");
        let began = Instant::now();
        let delivery = writer.finish().unwrap();
        assert!(began.elapsed() < END);
        assert_eq!(delivery.dropped, 5000);
        assert_eq!(delivery.warnings.len(), 1);
        assert!(delivery.warnings[0].starts_with(&url) && !delivery.warnings[0].contains('\n'));
    }
}

#[test]
fn without_records_nobody_waits_for_a_collector_that_is_away() {
    let began = Instant::now();
    for scheme in ["ipfix", "ipfix+tcp"] {
        let mut writer = start(&format!("{scheme}://127.0.0.1:{}", free_port()));
        writer.account(&MeasurementTotals::default()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(writer.finish().unwrap().dropped, 0);
    }
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn the_queue_is_bounded_and_writing_never_waits() {
    let url = format!("ipfix://127.0.0.1:{}", free_port());
    // A replay that would wait for its pace does not wait for one that is away.
    for patience in [Patience::None, Patience::ForPace] {
        let mut writer = start_with(&url, &Selection::all(), patience);
        std::thread::sleep(Duration::from_millis(100));
        let given = records(4096);
        let began = Instant::now();
        for _ in 0..50 {
            writer.write(&given).unwrap();
        }
        assert!(began.elapsed() < END, "{:?}", began.elapsed());
        let dropped = writer.dropped();
        let kept = 50 * 4096 - dropped;
        // Some 120 to 150 octets each.
        assert!(kept * 160 > 8 << 20 && kept * 100 < 8 << 20, "{kept} records in 8 MiB");
        assert_eq!(writer.finish().unwrap().dropped, 50 * 4096);
    }
}

#[test]
fn records_wait_for_a_collector_that_comes_later() {
    until_all_is_delivered(|| {
        let port = free_port();
        let given = records(2000);
        let mut writer = start(&format!("ipfix://127.0.0.1:{port}?rate=20k"));
        write(&mut *writer, &given);
        // Its first attempt has failed once there is a warning.
        let began = Instant::now();
        let mut warnings = Vec::new();
        while warnings.is_empty() {
            assert!(began.elapsed() < END, "it does not try");
            std::thread::sleep(Duration::from_millis(10));
            warnings = writer.warnings();
        }
        let collector = UdpCollector::start(port);
        let delivery = writer.finish().unwrap();
        let got = session_after_loss(&collector.finish()?);
        assert_eq!((delivery.dropped, warnings.len() + delivery.warnings.len()), (0, 1));
        assert_eq!(counts(&got), counts_of(&given));
        Some(())
    });
}

/// A session of which the beginning is missing: its first messages were sent before there was a listener.
fn session_after_loss(datagrams: &[Vec<u8>]) -> Session {
    let mut session = Session::default();
    let first = u32::from_be_bytes(datagrams[0][8..12].try_into().unwrap());
    session.message_after_loss(&datagrams[0], first);
    datagrams[1..].iter().for_each(|datagram| session.message(datagram));
    session
}

#[test]
fn what_a_dying_collector_did_not_take_is_counted() {
    until_all_is_delivered(|| {
        let collector = UdpCollector::start(0);
        let port = collector.port;
        let given = records(4000);
        let mut writer = start(&collector.url("?rate=20k"));
        write(&mut *writer, &given[..2000]);
        writer.flush().unwrap();
        collector.await_flows(2000);
        let before = session(&collector.finish()?);
        assert_eq!(before.flows.len(), 2000);
        // One datagram is refused; the others wait.
        write(&mut *writer, &given[2000..]);
        let began = Instant::now();
        while writer.dropped() == 0 {
            assert!(began.elapsed() < END, "nothing is refused");
            std::thread::sleep(Duration::from_millis(10));
        }
        let refused = writer.dropped();
        assert!((1..20).contains(&refused), "{refused}");
        let collector = UdpCollector::start(port);
        let delivery = writer.finish().unwrap();
        assert_eq!(delivery.dropped, refused);
        let after = session_after_loss(&collector.finish()?);
        assert_eq!(before.flows.len() + after.flows.len() + refused as usize, 4000);
        // The gap in the numbers is the loss, and what options were in it.
        let first = after.headers[0].sequence - before.flows.len() as u32;
        assert!(u64::from(first) >= refused, "{first}");
        assert_eq!(counts(&after), counts_of(&given[2000 + refused as usize..]));
        Some(())
    });
}

#[test]
fn a_replay_waits_for_the_pace_that_it_was_given() {
    until_all_is_delivered(|| {
        let collector = UdpCollector::start(0);
        // More than fits into the queue, which holds what is sent in three seconds.
        let given = records(16_000);
        let mut writer = start_with(&collector.url("?rate=4k"), &Selection::all(), Patience::ForPace);
        let began = Instant::now();
        write(&mut *writer, &given);
        assert_eq!(writer.dropped(), 0);
        assert!(began.elapsed() > Duration::from_millis(600), "{:?}", began.elapsed());
        assert_eq!(writer.finish().unwrap().dropped, 0);
        assert!(began.elapsed() > Duration::from_millis(3800), "{:?}", began.elapsed());
        assert_eq!(session(&collector.finish()?).flows.len(), given.len());
        Some(())
    });
}

/// Takes one connection and everything that comes over it.
fn take_all(listener: TcpListener) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// What was sent of a stream that ended in the middle of a message.
fn whole_messages(bytes: &[u8]) -> Session {
    let mut end = 0;
    while let Some(header) = bytes.get(end..end + 4) {
        let next = end + usize::from(u16::from_be_bytes([header[2], header[3]]));
        if next > bytes.len() {
            break;
        }
        end = next;
    }
    decode(&bytes[..end])
}

#[test]
fn a_collector_over_tcp_gets_everything() {
    for form in
        ["ipfix+tcp://127.0.0.1:PORT", "ipfix://127.0.0.1:PORT?transport=tcp", "ipfix+tcp://localhost:PORT"]
    {
        let (listener, port) = listen();
        let collector = take_all(listener);
        let given = records(30_000);
        let mut writer = start(&form.replace("PORT", &port.to_string()));
        write(&mut *writer, &given);
        writer.account(&MeasurementTotals { time_ns: 1, received: 10, measured: 9, lost: None }).unwrap();
        assert_eq!(writer.finish().unwrap(), record::WriterReport::default());
        let session = decode(&collector.join().unwrap());
        assert_eq!(counts(&session), counts_of(&given));
        assert!(session.told.values().all(|times| *times == 1), "TCP loses no templates");
    }
}

#[test]
fn of_a_collector_that_stalls_every_record_is_taken_or_dropped() {
    let (listener, port) = listen();
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let collector = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Reads nothing until the exporter has stopped waiting.
        told.recv().unwrap();
        let mut bytes = Vec::new();
        // The exporter may have gone with a reset.
        let _ = stream.read_to_end(&mut bytes);
        bytes
    });
    let mut writer = start(&format!("ipfix+tcp://127.0.0.1:{port}"));
    let batch = records(4096);
    let mut slowest = Duration::ZERO;
    for _ in 0..100 {
        let began = Instant::now();
        writer.write(&batch).unwrap();
        slowest = slowest.max(began.elapsed());
    }
    assert!(slowest < END, "a write took {slowest:?}");
    let began = Instant::now();
    let delivery = writer.finish().unwrap();
    assert!(began.elapsed() < END);
    tell.send(()).unwrap();
    let session = whole_messages(&collector.join().unwrap());
    assert!(delivery.dropped > 0 && !session.flows.is_empty());
    assert_eq!(session.flows.len() as u64 + delivery.dropped, 100 * 4096);
}

#[test]
fn a_new_connection_begins_a_new_session() {
    let (listener, port) = listen();
    let given = records(6000);
    let mut writer = start(&format!("ipfix+tcp://127.0.0.1:{port}"));
    let mut sessions = Vec::new();
    for part in given.chunks(2000) {
        write(&mut *writer, part);
        writer.flush().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        let mut bytes = Vec::new();
        // What has arrived when nothing more arrives; then the collector closes.
        let _ = stream.read_to_end(&mut bytes);
        sessions.push(decode(&bytes));
    }
    let delivery = writer.finish().unwrap();
    for session in &sessions {
        assert_eq!(session.headers[0].sequence, 0);
        assert!(session.told.values().all(|times| *times == 1) && session.told.len() >= 7);
    }
    let mut got: Vec<_> = sessions.iter().flat_map(counts).collect();
    got.sort();
    assert_eq!(got, counts_of(&given));
    assert_eq!(delivery.dropped, 0);
    assert_eq!(delivery.warnings.len(), 1);
}

#[test]
fn a_collector_that_talks_and_resets_is_survived() {
    let (listener, port) = listen();
    let rude = std::thread::spawn(move || {
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
            // Closing with unread data resets the connection.
        }
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    });
    let mut writer = start(&format!("ipfix+tcp://127.0.0.1:{port}"));
    for _ in 0..30 {
        write(&mut *writer, &records(100));
        writer.flush().unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    let delivery = writer.finish().unwrap();
    assert_eq!(delivery.dropped, 0);
    let session = whole_messages(&rude.join().unwrap());
    assert!(session.flows.len() > 1000, "{}", session.flows.len());
}

#[test]
fn a_writer_that_is_dropped_stops_its_thread() {
    let (listener, port) = listen();
    let collector = take_all(listener);
    let mut writer = start(&format!("ipfix+tcp://127.0.0.1:{port}"));
    write(&mut *writer, &records(100));
    std::thread::sleep(Duration::from_millis(100));
    drop(writer);
    // The connection is closed, so the collector comes to the end.
    collector.join().unwrap();
}

#[test]
fn a_host_that_is_none_is_refused_at_once() {
    let collector: Collector = "ipfix://no-such-host.invalid".parse().unwrap();
    let error = export(&collector, NODE, &Selection::all(), Patience::None).err().unwrap();
    assert!(error.to_string().starts_with("ipfix://no-such-host.invalid: "), "{error}");
}

#[test]
fn tshark_reads_a_tcp_stream() {
    if !tool::is_there("tshark") {
        return;
    }
    let (listener, port) = listen();
    let collector = take_all(listener);
    let given = records(2000);
    let mut writer = start(&format!("ipfix+tcp://127.0.0.1:{port}"));
    write(&mut *writer, &given);
    assert_eq!(writer.finish().unwrap().dropped, 0);
    let stream = collector.join().unwrap();
    let directory = tool::Directory::new("tshark-tcp");
    let path = directory.path("stream.pcap");
    std::fs::write(&path, tool::capture_of_stream(&stream, 4740)).unwrap();
    let arguments = ["-r", path.to_str().unwrap(), "-d", "tcp.port==4740,cflow"];
    tool::check(&tool::tshark(&arguments, &tool::FLOW_FIELDS), &given, NODE);
}
