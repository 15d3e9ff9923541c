//! The N-API addon behind the `rampmeter` npm package.
//!
//! Its shape follows what crossing costs. A class method of N-API takes about
//! seven times as long as a free function, and each number that is passed or
//! returned as long as the function itself. So there are free functions over
//! handles; numbers travel both ways in one shared `Float64Array` (the
//! *desk*), bytes as one short Latin-1 string whose pieces' lengths lie on the
//! desk. What users see (classes, errors, promises) is made in JavaScript.
//!
//! JavaScript calls these functions on one thread and none of them calls back
//! into JavaScript, so the state behind them needs no lock.

#![deny(unsafe_code)]

mod answer;
mod call;
mod command;
mod desk;
mod json;
mod limiter;
mod pieces;
mod state;
