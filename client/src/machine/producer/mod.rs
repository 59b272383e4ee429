//! The producer's machine: accumulator and transaction put together, nothing else.
