//! Runs of the simulator.

mod chance;
mod long;
mod repeat;
mod scenarios;
