//! `edison rfc2544` between ports of DPDK.

use crate::rfc2544::through_a_router;

#[test]
fn a_router_is_tested_between_ports() {
    through_a_router(&["--tx", "net_af_packet0,iface=left", "--rx", "net_af_packet1,iface=right"]);
}
