//! A slim Kafka Connect runtime: exactly-once sources (KIP-618) out of the box.
//!
//! The rooms, in the order of a record's way: [`connectors`] implement [`api`] and import nothing else of ours;
//! [`convert`] turns values into bytes; [`task`] holds the exactly-once loop, with [`offsets`] (what waits for a commit)
//! and [`store`] (the offsets topic); [`worker`] and [`plugin`] make tasks from [`config`]; [`herder`] decides what runs;
//! [`cli`] is the binary.

pub mod api;
pub mod cli;
pub mod config;
pub mod connectors;
pub mod convert;
pub mod error;
pub mod herder;
pub mod offsets;
pub mod plugin;
pub mod store;
pub mod task;
pub mod worker;
