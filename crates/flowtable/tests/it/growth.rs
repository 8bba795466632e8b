//! The thread that populates memory: its test runs alone in a process, because it looks at the threads of the process.

use arena::Limits;
use flow::{FlowRecord, WindowRow};
use flowtable::{FlowSink, FlowTable, TableConfig, Timeouts};
use packet::{Key, KeyBurst, KeyV4, PacketFields, Seed};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tcp::LossCounts;
use testbed::process::alone;

#[derive(Default)]
struct Sum {
    packets: u64,
    records: usize,
}

impl FlowSink for Sum {
    fn window_sealed<K: Key>(&mut self, _: u16, _: WindowRow<K>, _: Option<&LossCounts>) {}
    fn flow_ended(&mut self, record: FlowRecord) {
        self.packets += record.total_count;
        self.records += 1;
    }
    fn table_full<K: Key>(&mut self, _: &K, _: &PacketFields) {
        panic!("there are no limits");
    }
}

const PACKET: PacketFields = PacketFields {
    time_ns: 1,
    total_byte: 46,
    wire_byte: 60,
    number: 0,
    tcp_seq: 0,
    tcp_ack: 0,
    tcp_win: 0,
    vlan: PacketFields::NO_VLAN,
    tcp_flags: 0,
    direction: 0,
    ip_ttl: 64,
    ip_tos: 0,
    macs: [2; 12],
};

fn add_flows(table: &mut FlowTable<KeyV4>, flows: std::ops::Range<u32>, seed: &Seed) {
    let mut burst = KeyBurst::with_capacity(64);
    for n in flows {
        let [a, b, c, d] = n.to_be_bytes();
        burst.push(KeyV4::new([10, 0, 0, 1, a, b, c, d], [0, 80, 1, 0], 6), PACKET, seed);
        if n % 64 == 63 {
            table.update_burst(&burst, &mut Sum::default());
            burst.clear();
        }
    }
    table.update_burst(&burst, &mut Sum::default());
}

/// `/proc/.../status` of the threads with this name.
fn threads(name: &str) -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc is there");
    let status = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok());
    status.filter(|status| field(status, "Name") == name).collect()
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("the field is there").trim()
}

/// How often the populating thread went to sleep so far.
fn sleeps() -> u64 {
    field(&threads("populate")[0], "voluntary_ctxt_switches").parse().expect("a number")
}

/// Binds this thread to one of the CPUs that it may run on.
fn bind_to_one_cpu() {
    // SAFETY: an all-zero bit set is a valid value, the size is that of the set, and so is each number.
    unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&cpus), &mut cpus), 0);
        let mut may = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &cpus));
        let first = may.next().expect("it runs somewhere");
        libc::CPU_ZERO(&mut cpus);
        libc::CPU_SET(first, &mut cpus);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&cpus), &cpus), 0);
    }
}

#[test]
fn one_thread_populates_anywhere_and_sleeps_when_nothing_grows() {
    alone(|| {
        // As for a thread that measures on a dedicated core.
        bind_to_one_cpu();
        let limits = Limits::new(4 << 30, usize::MAX);
        let seed = Seed::new(5);
        let config = TableConfig::plain(seed, Timeouts { idle_ns: u64::MAX, active_ns: u64::MAX });
        let mut tables: Vec<_> =
            (0..3).map(|_| FlowTable::<KeyV4>::new(config, &limits).expect("address space")).collect();
        for growth in 0..2u32 {
            let before = if growth == 0 { 0 } else { sleeps() };
            for table in &mut tables {
                add_flows(table, growth * 100_000..(growth + 1) * 100_000, &seed);
            }
            let threads = threads("populate");
            assert_eq!(threads.len(), 1);
            let process = fs::read_to_string("/proc/self/status").expect("/proc is there");
            assert_eq!(field(&threads[0], "Cpus_allowed"), field(&process, "Cpus_allowed"));

            // It sleeps less than a second after growth has ended, and stays so.
            let deadline = Instant::now() + Duration::from_secs(30);
            let mut last = sleeps();
            loop {
                sleep(Duration::from_millis(500));
                let now = sleeps();
                if now == last {
                    break;
                }
                assert!(Instant::now() < deadline, "the thread does not come to rest");
                last = now;
            }
            assert!(last > before, "the thread was not woken by growth {growth}");
        }
        for table in &mut tables {
            let mut sum = Sum::default();
            table.end_all(&mut sum);
            assert_eq!((sum.packets, sum.records), (200_000, 200_000));
        }
        drop(tables);
        assert_eq!((limits.bytes_used(), limits.flows_used()), (0, 0));
    });
}
