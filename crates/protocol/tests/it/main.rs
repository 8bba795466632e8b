//! Links between probes and controllers, over memory and AMQP.

mod broker;
mod certificates;
mod suite;

mod amqp;
mod conformance;
mod spool;
mod tls;
