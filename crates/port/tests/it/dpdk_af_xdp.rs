//! A kernel interface by net_af_xdp.
#![cfg(feature = "dpdk")]

#[path = "dpdk_fixture/live.rs"]
mod live;
#[path = "dpdk_fixture/receive.rs"]
mod receive;

#[test]
fn received_and_lost_make_up_what_was_sent() {
    live::counts_what_is_sent("net_af_xdp0");
}
