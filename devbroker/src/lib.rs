//! A Kafka cluster as a sans-IO model: requests and time go in, answers come out. Development only, and never evidence for
//! exactly-once: that is what real Apache Kafka is for.
//!
//! It is the simulator of the client's tests: several virtual nodes, logs with idempotent and transactional producers, a
//! transaction coordinator that speaks TV1 and TV2, and hands that move leaders and coordinators or stop nodes. Everything it does follows
//! from its inputs alone: the same inputs give the same answers, byte for byte.

mod api;
pub mod cluster;
pub mod coordinator;
mod group;
pub mod log;
mod names;
mod settings;
mod state;

pub use cluster::{Answer, Cluster, GroupOffset, Origin, Release, Settings};
