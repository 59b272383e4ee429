//! Messages against an oracle (the `kafka-protocol` crate) and against hostile bytes: public API only.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking; clippy knows that only of functions marked as tests, not of what they call"
)]

mod api_table;
mod error_codes;
mod fetch;
mod frames;
mod hostile;
mod oracle;
mod produce;
mod samples;
mod strategies;
