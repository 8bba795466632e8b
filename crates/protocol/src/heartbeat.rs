//! The state of a probe, as it reports it.

use crate::list_id::ListId;
use model::view::{KernelClock, Load, Site, Spool, Store};
use serde::{Deserialize, Serialize};

/// The report of a probe about itself, sent every few seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The list that the probe carries out; `None` before the first one. A controller sends its list again while this is another one.
    pub list: Option<ListId>,
    /// Tasks of that list, instances one by one, that have ended because their lease was over.
    #[serde(default)]
    pub lapsed: u64,
    /// The newest list, if it cannot be carried out.
    pub refused: Option<RefusedList>,
    /// The version of the program.
    pub version: String,
    /// The sources that the probe measures, as the user named them.
    pub sources: Vec<String>,
    /// The site of the probe; `None` if it does not say it. Its reader checks it ([`Site::check`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// The messages that the probe has not delivered.
    pub spool: Spool,
    /// The state of the probe's clock; `None` if the system does not tell.
    pub clock: Option<KernelClock>,
    /// The time at which the probe started, nanoseconds since the epoch.
    pub started_ns: u64,
    /// The load of the probe.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "load")]
    pub load: Option<Load>,
    /// The state of the probe's store; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Store>,
    /// The time of the heartbeat, nanoseconds since the epoch by the probe's clock; 0 if it does not say.
    #[serde(default)]
    pub now_ns: u64,
}

/// A list that a probe cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedList {
    /// The list that is refused.
    pub list: ListId,
    /// The reason for the refusal.
    pub reason: String,
}

/// A load as version 1 of the protocol has it: its members are numbers, the largest one where there is no limit.
mod load {
    use super::{Deserialize, Load};
    use serde::Deserializer;
    use serde::ser::{SerializeStruct, Serializer};

    pub(super) fn serialize<S: Serializer>(load: &Option<Load>, to: S) -> Result<S::Ok, S::Error> {
        let Some(Load { busy, flows, most_flows }) = load else { return to.serialize_none() };
        let mut members = to.serialize_struct("Load", 3)?;
        members.serialize_field("busy", busy)?;
        members.serialize_field("flows", flows)?;
        members.serialize_field("most_flows", &most_flows.unwrap_or(u64::MAX))?;
        members.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Load>, D::Error> {
        let load = Option::<Load>::deserialize(from)?;
        Ok(load.map(|load| Load { most_flows: load.most_flows.filter(|most| *most != u64::MAX), ..load }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::view::Coordinates;
    use serde_json::{Value as Json, json};

    /// As version 0.2.0 writes it.
    fn earlier() -> Json {
        json!({
            "list": {"epoch": 1, "generation": 2},
            "lapsed": 0,
            "refused": null,
            "version": "0.2.0",
            "sources": ["eth0"],
            "spool": {"messages": 1, "bytes": 2, "shortened": 3, "dropped": 4, "unwritten": 5},
            "clock": {"synchronised": true, "max_error_ns": 500_000},
            "started_ns": 1_795_534_800_000_000_001_u64,
            "load": {"busy": 0.25, "flows": 7, "most_flows": u64::MAX},
            "store": {"files": 1, "bytes": 2, "lost": 3},
            "now_ns": 1_795_534_800_000_000_002_u64,
        })
    }

    fn read(json: Json) -> Heartbeat {
        serde_json::from_value(json).expect("a heartbeat")
    }

    #[test]
    fn a_heartbeat_of_an_earlier_version_is_read() {
        let heartbeat = read(earlier());
        assert_eq!(
            heartbeat.spool,
            Spool { messages: 1, bytes: 2, shortened: 3, dropped: 4, unwritten: 5, fault: None }
        );
        let clock = KernelClock { synchronised: Some(true), max_error_ns: Some(500_000) };
        assert_eq!(heartbeat.clock, Some(clock));
        assert_eq!(heartbeat.load, Some(Load { busy: Some(0.25), flows: 7, most_flows: None }));
        assert_eq!(heartbeat.store, Some(Store { files: 1, bytes: 2, lost: 3, fault: None }));
    }

    /// Numbers stay numbers, and the only further members are null: earlier versions read that.
    #[test]
    fn an_earlier_version_reads_a_heartbeat() {
        let mut json = serde_json::to_value(read(earlier())).expect("JSON");
        for object in ["spool", "store"] {
            assert_eq!(
                json[object].as_object_mut().and_then(|members| members.remove("fault")),
                Some(Json::Null)
            );
        }
        assert_eq!(json, earlier());
    }

    /// A site is a further member, which earlier versions pass over.
    #[test]
    fn a_site_is_what_was_written() {
        let at = Some(Coordinates { latitude: -33.86, longitude: 151.2 });
        let site = Some(Site { name: Some("Sydney".to_owned()), at });
        let json = serde_json::to_value(Heartbeat { site: site.clone(), ..read(earlier()) }).expect("JSON");
        assert_eq!(json["site"], json!({"name": "Sydney", "at": {"latitude": -33.86, "longitude": 151.2}}));
        assert_eq!(read(json).site, site);
        assert_eq!(read(earlier()).site, None);
        // Neither member is needed, and what is no number is no heartbeat.
        let with = |site| json!({"list": null, "refused": null, "version": "1", "sources": [], "spool": earlier()["spool"], "clock": null, "started_ns": 1, "site": site});
        assert_eq!(read(with(json!({}))).site, Some(Site::default()));
        let wrong = json!({"at": {"latitude": null, "longitude": 0.0}});
        assert!(serde_json::from_value::<Heartbeat>(with(wrong)).is_err());
        let huge = with(json!(null))
            .to_string()
            .replace("\"site\":null", r#""site":{"at":{"latitude":1e999,"longitude":0}}"#);
        assert!(huge.contains("1e999") && serde_json::from_str::<Heartbeat>(&huge).is_err());
    }

    /// The first heartbeats had neither a load nor a store, and fewer counters.
    #[test]
    fn members_that_came_later_may_be_missing() {
        let json = json!({
            "list": null, "refused": null, "version": "0.1.0", "sources": [], "clock": null, "started_ns": 1,
            "spool": {"messages": 1, "bytes": 2, "dropped": 3},
        });
        let spool = Spool { messages: 1, bytes: 2, dropped: 3, ..Spool::default() };
        let version = "0.1.0".to_owned();
        assert_eq!(read(json), Heartbeat { version, spool, started_ns: 1, ..Heartbeat::default() });
    }
}
