//! The stub: a server model and a dialect behind a real HTTP/1.1 server, with
//! a record of every request.

mod admission;
mod http;

pub use admission::{Admission, Arrival, Counts, Settings, Ticket, Timeline};
pub use http::{Stub, serve};
