//! Positions, fetch requests, and the read_committed filter.
