//! The examples of the project's README, compiled as a user would.

#![doc = include_str!("../../../../../README.md")]
