//! The laboratory around Rampmeter: rate-limiting servers as plain state
//! machines, a real HTTP server made of them, and the `rampmeter` command.

#![forbid(unsafe_code)]

pub mod demo;
pub mod dialects;
pub mod fleet;
pub mod judge;
pub mod random;
pub mod report;
pub mod self_test;
pub mod serve;
pub mod servers;
pub mod sim;
pub mod simulate;
pub mod stub;
