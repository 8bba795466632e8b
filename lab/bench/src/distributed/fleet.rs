//! Simulated probes: real connections, each with what a probe says, and no packets.

use super::rows;
use super::site::TestDeployment;
use arena::Limits;
use model::view::{Load, Spool};
use model::{Account, Answer, PacketCounts, Span};
use packet::{KeySpec, Seed};
use protocol::amqp::{AmqpProbeLink, ProbeSettings, probe_link};
use protocol::{FromProbe, Heartbeat, ListId, ProbeLink, TaskList, ToProbe, WindowResult};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use task::Generation;
use task::query::Query;
use task::rows::{RowQueries, RowScratch, Unplaced};

/// Time from one heartbeat of a probe to the next, as a probe has it.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(2);
/// The interval at which probes are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(20);

struct Simulated {
    link: AmqpProbeLink,
    list: Option<ListId>,
    heartbeat: Instant,
}

/// The simulated probes.
pub(super) struct Fleet {
    probes: Vec<Simulated>,
    nodes: Vec<String>,
    window_ns: u64,
    /// The queries that all of them are asked, once they are.
    queries: Vec<Query>,
    planned: Option<RowQueries>,
    started_ns: u64,
    /// The end of the next window, nanoseconds since the epoch.
    next_ns: u64,
    /// The windows that were sent, by number: their begin divided by their length.
    sent: Vec<u64>,
}

pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Fleet {
    /// Connects a probe of each node.
    pub(super) fn connect(site: &TestDeployment) -> Result<Self, String> {
        let probe = |(number, node): (usize, &String)| -> Result<Simulated, String> {
            let settings = ProbeSettings {
                broker: site.broker(node)?,
                node: node.clone(),
                spool_bytes: ProbeSettings::SPOOL_BYTES,
            };
            let link = probe_link(settings).map_err(|error| error.to_string())?;
            // Spread evenly, as those of machines that start at different times are.
            let heartbeat = Instant::now() + HEARTBEAT * number as u32 / site.nodes.len() as u32;
            Ok(Simulated { link, list: None, heartbeat })
        };
        Ok(Self {
            probes: site.nodes.iter().enumerate().map(probe).collect::<Result<_, _>>()?,
            nodes: site.nodes.clone(),
            window_ns: site.window_ns,
            queries: Vec::new(),
            planned: None,
            started_ns: now_ns(),
            next_ns: u64::MAX,
            sent: Vec::new(),
        })
    }

    /// Returns the number of probes that have a list of tasks.
    pub(super) fn asked(&self) -> usize {
        self.probes.iter().filter(|probe| probe.list.is_some()).count()
    }

    /// Returns the number of probes that are connected and have delivered all that they have sent.
    pub(super) fn delivered(&self) -> usize {
        let has = |probe: &&Simulated| probe.link.state().connected && probe.link.flush(Duration::ZERO);
        self.probes.iter().filter(has).count()
    }

    /// Results that spools have dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.probes.iter().map(|probe| probe.link.spool().dropped).sum()
    }

    /// The numbers of the windows that all probes have sent.
    pub(super) fn sent(&self) -> &[u64] {
        &self.sent
    }

    /// Windows are sent from now on, or no more.
    pub(super) fn measure(&mut self, does: bool) {
        let now_ns = now_ns();
        self.next_ns = if does { (now_ns / self.window_ns + 2) * self.window_ns } else { u64::MAX };
    }

    /// Does what is due for a moment: takes tasks, sends heartbeats, and the results of a window that has ended.
    pub(super) fn step(&mut self) -> Result<(), String> {
        for number in 0..self.probes.len() {
            self.take_tasks(number)?;
        }
        self.send_heartbeats();
        if now_ns() >= self.next_ns {
            self.send_window()?;
        }
        std::thread::sleep(LOOK);
        Ok(())
    }

    fn take_tasks(&mut self, number: usize) -> Result<(), String> {
        let probe = &mut self.probes[number];
        while let Ok(Some(message)) = probe.link.receive(Duration::ZERO) {
            let ToProbe::Tasks(list) = message else { continue };
            probe.list = Some(list.id());
            probe.heartbeat = Instant::now();
            let TaskList { tasks, .. } = list;
            let queries: Vec<Query> = tasks.into_iter().map(|task| task.query).collect();
            if self.planned.is_none() || queries != self.queries {
                let site = task::rows::PlanContext {
                    window_ns: Some(self.window_ns),
                    ..task::rows::PlanContext::new(
                        KeySpec::FIVE_TUPLE,
                        Seed::new(1),
                        Limits::new(1 << 24, usize::MAX),
                    )
                };
                let planned = RowQueries::plan(Generation::default(), &queries, &site);
                self.planned = Some(planned.map_err(|refused| format!("queries are refused: {refused:?}"))?);
                self.queries = queries;
            }
        }
        Ok(())
    }

    fn send_heartbeats(&mut self) {
        let now = Instant::now();
        for probe in self.probes.iter_mut().filter(|probe| probe.heartbeat <= now) {
            probe.heartbeat = now + HEARTBEAT;
            let heartbeat = heartbeat(probe.list, probe.link.spool(), self.started_ns);
            // A connection that is away keeps the newest one.
            let _ = probe.link.send(FromProbe::Heartbeat(Box::new(heartbeat)));
        }
    }

    /// All probes send the window that has ended, at once, as they do.
    fn send_window(&mut self) -> Result<(), String> {
        let window = Span { start_ns: self.next_ns - self.window_ns, end_ns: self.next_ns };
        self.next_ns += self.window_ns;
        for number in 0..self.probes.len() {
            let result = self.result(number, window)?;
            let _ = self.probes[number].link.send(FromProbe::Window(Box::new(result)));
        }
        self.sent.push(window.start_ns / self.window_ns);
        Ok(())
    }

    /// Returns the result of a probe for a window.
    pub(super) fn result(&self, number: usize, window: Span) -> Result<WindowResult, String> {
        let planned = self.planned.as_ref().ok_or("no probe is asked anything")?;
        let rows = rows::rows(rows::flows(number as u64, window.start_ns / self.window_ns), window);
        let mut partials = planned.window();
        partials.add_v4(planned, &rows, &mut RowScratch::default());
        let answers = partials.window_answers(planned, window, window, &Unplaced::default());
        let packets = PacketCounts { received: 1_000_000, measured: 1_000_000, ..PacketCounts::default() };
        let account = Account { packets, loss: Some(model::Counters::default()) };
        let totals =
            Answer { account: Some(account), ..Answer::new("totals", Some(window), Vec::new(), Vec::new()) };
        let answers = answers.into_iter().chain([totals]);
        let answers = answers.map(|answer| Answer { node: Some(self.nodes[number].clone()), ..answer });
        Ok(WindowResult::new(window, answers.collect()))
    }

    /// The connection of a probe.
    pub(super) fn link(&self, number: usize) -> &AmqpProbeLink {
        &self.probes[number].link
    }
}

/// Returns the heartbeat of a probe.
pub(super) fn heartbeat(list: Option<ListId>, spool: Spool, started_ns: u64) -> Heartbeat {
    Heartbeat {
        list,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sources: vec!["simulated".to_owned()],
        spool,
        started_ns,
        load: Some(Load { busy: Some(0.5), flows: 1_000_000, most_flows: Some(8_000_000) }),
        now_ns: now_ns(),
        ..Heartbeat::default()
    }
}
