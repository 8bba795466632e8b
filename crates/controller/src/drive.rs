//! A controller and its connections.

use crate::controller::{Actions, Controller, ControllerOutput};
use protocol::ControllerLink;
use std::time::Duration;

/// The time for which a message is awaited before the connection is looked at again.
const WAIT: Duration = Duration::from_millis(200);

/// The destination of what a controller shows.
pub trait OutputSink {
    /// Shows something. Calls come in order.
    fn show(&mut self, output: ControllerOutput);

    /// All that follows from a message is shown; the controller is as it is after it.
    fn finish_message(&mut self, _: &mut Controller) {}
}

/// Drives a controller until all nodes have ended, or all have left.
pub fn drive(controller: &mut Controller, link: &dyn ControllerLink, outlet: &mut dyn OutputSink) {
    let mut carry_out = |controller: &mut Controller, actions: Actions| {
        for (node, message) in actions.send {
            // A node that has left says so, or its end of the connection does.
            let _ = link.send(node, message);
        }
        actions.show.into_iter().for_each(|output| outlet.show(output));
        outlet.finish_message(controller);
    };
    let actions = controller.begin();
    carry_out(controller, actions);
    while !controller.has_ended() {
        match link.receive(WAIT) {
            Ok(Some(received)) => {
                let actions = controller.take(received.node, received.message);
                carry_out(controller, actions);
            }
            Ok(None) => {}
            Err(_) => break,
        }
    }
    let actions = controller.finish();
    carry_out(controller, actions);
}
