//! The simulator: the client's machines against the cluster model, under virtual time, through a network that delays, doubles, reorders
//! across connections and breaks. Everything follows from one seed.
//!
//! `world` runs a scenario: `operations` is what users do, `faults` what goes wrong, `shell` and `link` stand for `runtime/`, `producer` and
//! `reader` for users. `watch` holds every request to the rules at once, `check` judges the end by what users were told, what stands in the
//! logs and what was read.

mod check;
mod faults;
mod history;
mod link;
mod model;
mod network;
mod operations;
mod print;
mod producer;
mod reader;
mod refusal;
mod scenario;
mod shell;
mod time;
mod uplink;
mod watch;
mod world;

mod tests;
