//! Runs of the simulator.

mod by_hand;
mod chance;
mod judge;
mod long;
mod repeat;
mod scenarios;
