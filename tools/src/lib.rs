//! What the `rampmeter` command says of responses: plain functions, bytes in,
//! text and exit status out. The binary, the Python package and the npm
//! package link this crate, so that all three say the same.

#![forbid(unsafe_code)]

mod arguments;
pub mod audit;
mod command;
pub mod explain;
mod input;
mod layout;
mod words;

pub use command::{Fetch, Fetched, Output};
