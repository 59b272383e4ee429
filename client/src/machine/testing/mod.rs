//! A cluster of the mind: a small model of brokers and coordinator, and a harness that plays a producer's machine against it under
//! virtual time and a plan of faults, while it watches the rules that hold at every instant.

pub(crate) mod coordinator;
pub(crate) mod faults;
pub(crate) mod harness;
pub(crate) mod log;
pub(crate) mod model;
