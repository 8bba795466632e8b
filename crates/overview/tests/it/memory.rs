//! The memory of what is kept.

use crate::support::{BEGIN, Draw, Fed, MINUTE, SECOND, Sent};
use overview::{MOST_STEPS, OverviewSetting};

/// Each window has other hosts, so that each list is full.
fn feed(fed: &mut Fed, minutes: u64, flows: u32) {
    let mut draw = Draw(9);
    for window in 0..minutes {
        let sent: Vec<Sent> = (0..flows)
            .map(|_| {
                let [from, to] = [draw.below(1 << 32) as u32, draw.below(1 << 32) as u32];
                let ports = [draw.below(1 << 16) as u16, draw.below(1 << 16) as u16];
                Sent { lost: 50, ..Sent::new(from, to, ports, 100 + draw.below(1_000)) }
            })
            .collect();
        fed.window(BEGIN + window * MINUTE, &sent);
    }
}

#[test]
fn two_hours_of_full_lists_stay_below_what_is_stated() {
    let mut fed = Fed::new(OverviewSetting::live(MINUTE), MINUTE, MINUTE, 1 << 30);
    feed(&mut fed, MOST_STEPS as u64 + 10, 1_500);
    let kept = fed.now().kept;
    assert!(kept.memory_bytes <= kept.most_memory_bytes, "{kept:?}");
    // Stated is no more than is needed: all lists but those of protocols and of ports are full.
    assert!(kept.memory_bytes * 2 > kept.most_memory_bytes, "{kept:?}");
    assert!(kept.most_memory_bytes < 16 << 20, "{kept:?}");
    assert_eq!(fed.now().steps, 60);
}

#[test]
fn a_small_memory_bounds_what_is_counted() {
    let memory = 24 << 20;
    let mut fed = Fed::new(OverviewSetting::live(10 * SECOND), 10 * SECOND, MINUTE, memory);
    feed(&mut fed, 3, 60_000);
    assert!(fed.limits.bytes_used() <= memory);
    let now = fed.now();
    assert_eq!(now.figures.bytes, fed.totals.values().map(|sums| sums[0]).sum::<u64>().into());
}
