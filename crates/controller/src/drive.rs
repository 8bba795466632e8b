//! A controller and its connections.

use crate::controller::{Actions, Controller, Output};
use protocol::ControllerLink;
use std::time::Duration;

/// How long a message is awaited before the connection is looked at again.
const WAIT: Duration = Duration::from_millis(200);

/// Drives a controller until all nodes have ended, or all have left. What is to be shown is passed to `show`, in order.
pub fn drive(controller: &mut Controller, link: &dyn ControllerLink, show: &mut dyn FnMut(Output)) {
    let mut carry_out = |actions: Actions| {
        for (node, message) in actions.send {
            // A node that has left says so, or its end of the connection does.
            let _ = link.send(node, message);
        }
        actions.show.into_iter().for_each(&mut *show);
    };
    carry_out(controller.begin());
    while !controller.has_ended() {
        match link.receive(WAIT) {
            Ok(Some(received)) => carry_out(controller.take(received.node, received.message)),
            Ok(None) => {}
            Err(_) => break,
        }
    }
    carry_out(controller.finish());
}
