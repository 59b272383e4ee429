//! What the tests on real brokers are made of: clusters, a proxy that knows frames, worker processes, numbered files, and
//! readers that are not ours.

pub mod binary;
pub mod clusters;
pub mod numbers;
pub mod process;
pub mod progress;
pub mod proxy;
pub mod raw;
pub mod readers;
pub mod scratch;
pub mod wait;
pub mod worker;
