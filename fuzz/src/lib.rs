//! What must hold for every input, for a fuzzer to search and for tests to
//! replay: each input is text, so that a case can be read, and any bytes are
//! some input.

pub mod engine;
pub mod head;
pub mod seeds;
pub mod signals;
