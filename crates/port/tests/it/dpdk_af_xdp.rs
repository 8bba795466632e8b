//! A kernel interface by net_af_xdp.

use crate::dpdk_fixture::live;
use testbed::process::alone;

#[test]
fn received_and_lost_make_up_what_was_sent() {
    alone(|| {
        live::counts_what_is_sent("net_af_xdp0");
    });
}
