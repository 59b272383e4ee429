//! Messages against an oracle (the `kafka-protocol` crate) and against hostile bytes: public API only.

mod api_table;
mod error_codes;
mod fetch;
mod frames;
mod hostile;
mod oracle;
mod produce;
mod samples;
mod strategies;
