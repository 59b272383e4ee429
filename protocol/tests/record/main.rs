//! Record batches through the public API: what is written comes back, agrees with `kafka-protocol`, and survives no damage unseen.

// The lint spares test functions only, not the functions that they share.
#![allow(clippy::unwrap_used)]

mod corruption;
mod header;
mod malformed;
mod oracle;
mod round_trip;
mod sample;
