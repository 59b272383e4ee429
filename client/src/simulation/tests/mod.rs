//! Runs of the simulator.

mod chance;
mod scenarios;
