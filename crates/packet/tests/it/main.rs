//! Frames, their headers and keys.

mod frames;

mod any_bytes;
mod fast_path;
mod hash;
mod ip_headers;
mod keys;
mod link_headers;
mod pins;
mod toeplitz;
mod tunnels;
