//! Names of addresses by reverse DNS, bounded in number and time.
//!
//! The system's resolver blocks, and what blocks cannot be cancelled. So it is asked on threads of their own, which the end of the
//! process does not wait for.

use model::{Answer, Column, ColumnKind, Value};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Threads, so lookups in flight.
const THREADS: usize = 8;
/// The longest name of DNS.
const LONGEST_NAME: usize = 253;

type LookUp = dyn Fn(IpAddr) -> Option<String> + Send + Sync;

/// The bounds of looking up names.
#[derive(Clone, Copy, Debug)]
struct LookupLimits {
    /// The most different addresses in a run.
    addresses: usize,
    /// The longest time that answers wait for names.
    wait: Duration,
}

const DEFAULT_BOUNDS: LookupLimits = LookupLimits { addresses: 1000, wait: Duration::from_secs(2) };

/// An address, and its name if it has one.
type ResolvedAddress = (IpAddr, Option<String>);

/// Finds names of the addresses in answers.
pub struct Resolver {
    bounds: LookupLimits,
    state: Mutex<ResolverState>,
}

struct ResolverState {
    look_up: Arc<LookUp>,
    /// The channel from which the threads take addresses; `None` until there are threads.
    requests: Option<Sender<IpAddr>>,
    found: (Sender<ResolvedAddress>, Receiver<ResolvedAddress>),
    /// The names of the addresses that were asked for; `None` as long as there is no response.
    names: HashMap<IpAddr, Option<Option<String>>>,
    /// The number of addresses in answers whose names the bounds withheld.
    withheld: u64,
}

impl Resolver {
    /// Creates a resolver that asks the system's resolver.
    pub(crate) fn new() -> Self {
        Self::with(DEFAULT_BOUNDS, |address| dns_lookup::lookup_addr(&address).ok())
    }

    fn with(
        bounds: LookupLimits,
        look_up: impl Fn(IpAddr) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let state = ResolverState {
            look_up: Arc::new(look_up),
            requests: None,
            found: channel(),
            names: HashMap::new(),
            withheld: 0,
        };
        Self { bounds, state: Mutex::new(state) }
    }

    /// Adds a column of names behind each column of addresses that has none. It takes at most the time of the bounds, for all
    /// answers together.
    pub fn enrich(&self, answers: &mut [Answer]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = HashSet::new();
        for answer in answers.iter() {
            for at in nameless(answer) {
                wanted.extend(answer.rows.iter().filter_map(|row| address(&row[at])));
            }
        }
        if wanted.is_empty() {
            answers.iter_mut().for_each(|answer| add_columns(answer, &mut |_| Value::Null));
            return;
        }
        // In order, so that the same answers have the same names.
        let mut wanted: Vec<_> = wanted.into_iter().collect();
        wanted.sort_unstable();
        state.ask(&wanted, self.bounds.addresses);
        state.wait(&wanted, self.bounds.wait);
        let ResolverState { names, withheld, .. } = &mut *state;
        let mut name = |address: IpAddr| match names.get(&address) {
            Some(Some(name)) => name.clone().into(),
            _ => {
                *withheld += 1;
                Value::Null
            }
        };
        answers.iter_mut().for_each(|answer| add_columns(answer, &mut name));
    }

    /// Returns what the user should know of withheld names at the end.
    pub fn withheld(&self) -> Option<String> {
        let withheld = self.state.lock().unwrap_or_else(PoisonError::into_inner).withheld;
        let LookupLimits { addresses, wait } = self.bounds;
        (withheld != 0).then(|| {
            format!(
                "--resolve: {withheld} addresses in answers have no name because of its bounds: {addresses} different \
                 addresses, {} s for the answers of a window",
                wait.as_secs_f64()
            )
        })
    }
}

impl ResolverState {
    /// Asks for the names of new addresses, as far as there is room for them.
    fn ask(&mut self, wanted: &[IpAddr], most: usize) {
        for address in wanted {
            if self.names.contains_key(address) || self.names.len() >= most {
                continue;
            }
            if self.requests.is_none() {
                self.requests = self.start();
            }
            // Without a thread there is no response.
            if self.requests.as_ref().is_some_and(|requests| requests.send(*address).is_ok()) {
                self.names.insert(*address, None);
            }
        }
    }

    /// Starts the threads; `None` if there can be none.
    fn start(&self) -> Option<Sender<IpAddr>> {
        let (requests, taken) = channel();
        let taken = Arc::new(Mutex::new(taken));
        let started = (0..THREADS).filter(|_| {
            let (taken, look_up, found) =
                (Arc::clone(&taken), Arc::clone(&self.look_up), self.found.0.clone());
            let work = move || {
                loop {
                    let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(address) = next else { return };
                    let name = look_up(address).filter(|name| is_host_name(name));
                    if found.send((address, name)).is_err() {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name("resolve".to_owned()).spawn(work).is_ok()
        });
        (started.count() != 0).then_some(requests)
    }

    /// Takes responses until all that is wanted and asked has one, at most for this long.
    fn wait(&mut self, wanted: &[IpAddr], most: Duration) {
        while let Ok((address, name)) = self.found.1.try_recv() {
            self.names.insert(address, Some(name));
        }
        let is_open = |address: &&IpAddr| matches!(self.names.get(address), Some(None));
        let mut open = wanted.iter().filter(is_open).count();
        let deadline = Instant::now() + most;
        while open != 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((address, name)) = self.found.1.recv_timeout(left) else { break };
            self.names.insert(address, Some(name));
            open -= usize::from(wanted.binary_search(&address).is_ok());
        }
    }
}

/// Names come from strangers: what is no name of a host could be commands to the terminal.
fn is_host_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_letter)
}

fn address(value: &Value) -> Option<IpAddr> {
    if let Value::Address(address) = value { Some(*address) } else { None }
}

fn name_of(column: &Column) -> String {
    format!("{}_name", column.name)
}

/// Columns of addresses that have no column of names, the last one first.
fn nameless(answer: &Answer) -> Vec<usize> {
    let columns = answer.columns.iter().enumerate().rev();
    let is_nameless =
        |column: &Column| column.kind == ColumnKind::Address && answer.column(&name_of(column)).is_none();
    columns.filter(|(_, column)| is_nameless(column)).map(|(at, _)| at).collect()
}

fn add_columns(answer: &mut Answer, name: &mut dyn FnMut(IpAddr) -> Value) {
    for at in nameless(answer) {
        let column = Column::new(name_of(&answer.columns[at]), ColumnKind::Text, "");
        answer.columns.insert(at + 1, column);
        for row in &mut answer.rows {
            let value = address(&row[at]).map_or(Value::Null, &mut *name);
            row.insert(at + 1, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    const PATIENT: LookupLimits = LookupLimits { addresses: 1000, wait: Duration::from_secs(600) };

    fn answer(addresses: &[[u8; 4]]) -> Answer {
        let columns = vec![
            Column::new("src_addr", ColumnKind::Address, ""),
            Column::new("n", ColumnKind::Unsigned, ""),
            Column::new("dst_addr", ColumnKind::Address, ""),
        ];
        let row = |of: &[u8; 4]| vec![Value::Address((*of).into()), Value::Unsigned(1), Value::Null];
        Answer::new("q", None, columns, addresses.iter().map(row).collect())
    }

    fn host(address: IpAddr) -> Option<String> {
        match address {
            IpAddr::V4(v4) if v4.octets()[3] == 9 => None,
            IpAddr::V4(v4) if v4.octets()[3] == 8 => Some("\u{1b}[2J".to_owned()),
            address => Some(format!("host-{address}.test")),
        }
    }

    #[test]
    fn names_follow_their_addresses_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let resolver = Resolver::with(PATIENT, move |address| {
            count.fetch_add(1, Relaxed);
            host(address)
        });
        let mut answers = [answer(&[[10, 0, 0, 1], [10, 0, 0, 9], [10, 0, 0, 8]]), answer(&[[10, 0, 0, 1]])];
        resolver.enrich(&mut answers);
        resolver.enrich(&mut answers);
        let names: Vec<_> = answers[0].columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["src_addr", "src_addr_name", "n", "dst_addr", "dst_addr_name"]);
        assert_eq!(answers[0].value(0, "src_addr_name"), Some(&"host-10.0.0.1.test".into()));
        assert_eq!(answers[0].value(1, "src_addr_name"), Some(&Value::Null));
        assert_eq!(answers[0].value(2, "src_addr_name"), Some(&Value::Null));
        assert_eq!(answers[1].value(0, "src_addr_name"), Some(&"host-10.0.0.1.test".into()));
        assert_eq!(answers[0].value(0, "dst_addr_name"), Some(&Value::Null));
        assert_eq!((asked.load(Relaxed), resolver.withheld()), (3, None));
    }

    #[test]
    fn more_addresses_than_the_bound_have_no_name() {
        let resolver = Resolver::with(LookupLimits { addresses: 2, ..PATIENT }, host);
        let mut answers = [answer(&[[10, 0, 0, 3], [10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]])];
        resolver.enrich(&mut answers);
        let named = |row| answers[0].value(row, "src_addr_name") != Some(&Value::Null);
        assert_eq!([0, 1, 2, 3].map(named), [false, true, true, false]);
        assert!(resolver.withheld().expect("a line").starts_with("--resolve: 2 addresses"));
    }

    #[test]
    fn what_hangs_stops_nothing() {
        let (release, blocked) = channel::<()>();
        let blocked = Mutex::new(blocked);
        let bounds = LookupLimits { addresses: 1000, wait: Duration::from_millis(1) };
        let resolver = Resolver::with(bounds, move |_| {
            let _ = blocked.lock().unwrap_or_else(PoisonError::into_inner).recv();
            Some("late".to_owned())
        });
        let mut answers = [answer(&[[10, 0, 0, 1]])];
        resolver.enrich(&mut answers);
        assert_eq!(answers[0].value(0, "src_addr_name"), Some(&Value::Null));
        assert!(resolver.withheld().expect("a line").starts_with("--resolve: 1 addresses"));
        drop(release);
    }

    #[test]
    fn this_machine_has_a_name_or_none() {
        let mut answers = [answer(&[[127, 0, 0, 1]])];
        Resolver::new().enrich(&mut answers);
        assert!(matches!(answers[0].value(0, "src_addr_name"), Some(Value::Text(_) | Value::Null)));
    }
}
