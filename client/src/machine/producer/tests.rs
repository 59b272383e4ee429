//! The machine against the model: the paths by hand, by theme, then sequences of calls and faults.

mod by_chance;
mod by_hand;
mod closing;
mod memory;
mod numbers;
mod offsets;
mod outcomes;
mod plain;
mod splitting;
mod transitions;
