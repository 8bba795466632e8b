//! The server as its clients see it, over TCP on loopback.

mod captures;
mod client;
mod description;
mod guard;
mod life;
mod listings;
mod page;
mod requests;
mod sample;
mod streams;
