//! The traffic of the last hour and what is unusual: served as they are described, and refused where there is nothing.

use crate::client::get;
use crate::description::{check, named};
use crate::sample::{HOSTILE, SECOND, START, hub, serve};
use arena::Limits;
use flow::{LossCounts, Rows, WindowRow};
use model::{Counters, PacketCounts, Span};
use overview::{NodeSetting, Overview, OverviewSetting, WindowFacts};
use packet::{KeySpec, KeyV4, Seed};

/// Returns an overview of a scan and of losses, with a gap and with sums that lack something.
fn overview() -> Overview {
    let overview = Overview::new(OverviewSetting::live(10 * SECOND));
    let limits = Limits::new(64 << 20, usize::MAX);
    let setting = NodeSetting {
        key: KeySpec::FIVE_TUPLE,
        seed: Seed::new(1),
        limits,
        tracks_loss: true,
        without_rows: None,
    };
    let mut recorder = overview.recorder("Node1", setting);
    let begin = START - START % (60 * SECOND);
    for (minute, hosts) in [(0, 300_u16), (3, 2)] {
        let start_ns = begin + minute * 60 * SECOND;
        let mut rows = Rows::default();
        for host in 0..hosts {
            let [c, d] = host.to_be_bytes();
            let key = KeyV4::new([192, 0, 2, 1, 10, 0, c, d], [200, 0, 1, 187], 6);
            let row = WindowRow { packets: 9, bytes: 90_000, ..WindowRow::without_packets(key, 0, 0) };
            rows.push(row, Some(&LossCounts { ploss_byte: 20_000, ..LossCounts::default() }));
        }
        recorder.rows(start_ns, &rows);
        let packets = 9 * u64::from(hosts);
        recorder.window(&WindowFacts {
            bytes: 10_000 * packets,
            packets: packets + 1,
            flows: hosts.into(),
            frames: PacketCounts { received: packets, measured: packets, ..PacketCounts::default() },
            loss: Some([("imissed", 200)].into_iter().collect::<Counters>()),
            tcp_lost: Some(20_000),
            lacks: vec![HOSTILE.to_owned()],
            ..WindowFacts::new(Span { start_ns, end_ns: start_ns + 60 * SECOND })
        });
    }
    overview
}

#[test]
fn responses_are_as_described() {
    let hub = hub();
    let server = serve(&hub);
    for path in ["/now", "/unusual"] {
        let refused = get(server.address(), &format!("/api/v1{path}"));
        assert_eq!(refused.status, 404, "{path}");
        check(&named(path, "get", 404), &refused.json());
    }
    hub.set_overview(overview());
    let now = get(server.address(), "/api/v1/now").json();
    check(&named("/now", "get", 200), &now);
    assert_eq!((&now["steps"], now["missing"].as_array().map(Vec::len)), (&4.into(), Some(1)));
    assert_eq!(
        (&now["missing"][0]["reason"], &now["missing"][0]["node"]),
        (&"not_sent".into(), &"Node1".into())
    );
    assert_eq!(now["rankings"][0]["rows"][0]["key"], serde_json::json!({"src_addr": "192.0.2.1"}));
    // A packet of each step has no row, and may be any group's.
    let row = &now["rankings"][1]["rows"][0];
    assert_eq!((&row["packets"]["lower"], &row["packets"]["upper"]), (&18.into(), &20.into()), "{row}");
    let unusual = get(server.address(), "/api/v1/unusual?node=Node1").json();
    check(&named("/unusual", "get", 200), &unusual);
    let rules: Vec<&str> = unusual["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter_map(|entry| entry["rule"].as_str())
        .collect();
    assert!(rules.contains(&"scan") && rules.contains(&"loss"), "{unusual:#}");
    for path in ["/now?node=x", "/unusual?node=x"] {
        assert_eq!(get(server.address(), &format!("/api/v1{path}")).status, 404, "{path}");
    }
    assert_eq!(get(server.address(), "/api/v1/now?by=host").status, 400);
}
