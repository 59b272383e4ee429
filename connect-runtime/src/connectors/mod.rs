//! The connectors that are built in. Each folder imports the connector API only.

pub mod file;
