//! One running cluster per version and test binary, booted when it is first needed.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use xtask::kafka::{Cluster, Version};

static RUNNING: Mutex<Vec<(Version, Arc<Cluster>)>> = Mutex::new(Vec::new());

/// The shared single-node cluster of a version. It ends with the test process.
///
/// # Errors
/// If it does not boot.
pub fn shared(version: Version) -> Result<Arc<Cluster>> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, cluster)) = running.iter().find(|(of, _)| *of == version) {
        return Ok(Arc::clone(cluster));
    }
    let cluster = Arc::new(Cluster::builder(version).start()?);
    running.push((version, Arc::clone(&cluster)));
    Ok(cluster)
}
