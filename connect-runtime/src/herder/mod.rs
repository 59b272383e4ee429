//! Which connectors and tasks run. `check` holds a connector's configuration to all that is known, `launch` makes tasks
//! of it, `standalone` runs those of the files, in this process, until a stop.

mod check;
mod launch;
mod offset_store;
mod standalone;

use crate::api::{ConfigError, SourceConnector};

pub use standalone::{ConnectorEnd, StandaloneHerder};

/// Finds a new connector by its class name, or says that there is none.
pub type FindSource = dyn Fn(&str) -> Result<Box<dyn SourceConnector>, ConfigError> + Send + Sync;
