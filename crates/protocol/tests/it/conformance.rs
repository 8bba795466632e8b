//! The connections within a process do what every transport does.

use crate::suite;
use protocol::{ProbeLink, memory};
use std::sync::Arc;

#[test]
fn memory_carries_messages() {
    let nodes = ["A", "B", "C"].map(str::to_owned);
    let (controller, probes) = memory::links(&nodes);
    let probes = probes.into_iter().map(|probe| Arc::new(probe) as Arc<dyn ProbeLink>).collect();
    suite::all(&suite::Links { controller: Box::new(controller), probes });
}
