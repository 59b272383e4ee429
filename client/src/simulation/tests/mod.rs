//! Runs of the simulator.

mod chance;
mod judge;
mod long;
mod repeat;
mod scenarios;
