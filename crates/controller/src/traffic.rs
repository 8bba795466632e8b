//! What nodes tell of their traffic.

use crate::clock::MOST_AHEAD_NS;
use crate::controller::{Actions, Controller};
use crate::health::{OLD_STEP, WRONG_STEP};
use overview::{Taken, TrafficReport};

impl Controller {
    /// Takes note that nothing follows of a node but what it tells with its end.
    pub(crate) fn end_traffic(
        &mut self,
        node: usize,
        told: Option<Box<TrafficReport>>,
        actions: &mut Actions,
    ) {
        self.take_traffic(node, told, u64::MAX, actions);
        self.traffic.iter().for_each(|traffic| traffic.end(node));
    }

    /// Takes what a node tells of its traffic with a window that ends at `until_ns`.
    pub(crate) fn take_traffic(
        &mut self,
        node: usize,
        told: Option<Box<TrafficReport>>,
        until_ns: u64,
        actions: &mut Actions,
    ) {
        let (Some(told), Some(traffic)) = (told, &self.traffic) else { return };
        // The last step of a run ends after it.
        let ahead_ns = MOST_AHEAD_NS.saturating_add(self.setting.window_ns);
        let last_ns = self.clock.map_or(u64::MAX, |clock| clock.now_ns.saturating_add(ahead_ns));
        let Taken { refused, wrong, old } = traffic.take(node, *told, until_ns.min(last_ns));
        let health = &mut self.nodes[node].health;
        for (reason, number) in [(WRONG_STEP, refused), (OLD_STEP, old)] {
            if number != 0 {
                health.count_rejected(reason, usize::try_from(number).unwrap_or(usize::MAX));
            }
        }
        if let Some(wrong) = wrong {
            let wrong = format!("what it tells of its traffic is not taken: {wrong}");
            self.say_once(node, |known| &mut known.wrong_traffic, &wrong, actions);
        }
    }
}
