//! Which connectors and tasks run. Standalone: those of the files, in this process, until a stop.

mod standalone;

pub use standalone::{ConnectorEnd, StandaloneHerder};
