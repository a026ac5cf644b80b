//! The NBD server, message by message: a client of a few lines that may break every rule.

mod client;
mod commands;
mod crowd;
mod faults;
mod handshake;
mod listening;
mod pipelined;
