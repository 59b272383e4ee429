//! The machine against the model: the paths by hand, then sequences of calls and faults.

mod by_chance;
mod by_hand;
mod codes;
mod offsets;
mod outcomes;
mod transitions;
