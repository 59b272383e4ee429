//! Running a task: when transactions end (`boundary`), what state it is in (`state`), the exactly-once loop
//! (`exactly_once`, with `start`, `feed`, `polled` and `fault`), and the supervisor that starts it again after passing faults (`runner`,
//! with `fence` for the fault that may not be what it looks like).

mod backoff;
mod boundary;
mod converters;
mod exactly_once;
mod fault;
mod feed;
mod fence;
mod offset_store;
mod ownership;
mod polled;
mod runner;
mod start;
mod state;
mod stop;

use std::fmt;

use sealwax::config::ProducerConfig;

use crate::api::Settings;
use crate::config::BoundaryKind;

pub use boundary::{Decision, Event, TransactionBoundary};
pub use converters::converters;
pub use fault::{Fault, FaultKind};
pub use offset_store::{OffsetStore, StoredOffsets};
pub use ownership::{AlwaysOwner, Ownership};
pub use runner::TaskRunner;
pub use state::{TaskEvent, TaskState};
pub use stop::{Stop, StopSwitch};

/// A task of a connector.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskId {
    /// The connector's name.
    pub connector: String,
    /// The task's number, from 0.
    pub task: usize,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.connector, self.task)
    }
}

/// How a task is to be run.
#[derive(Debug, Clone)]
pub struct TaskSetup {
    /// The task.
    pub id: TaskId,
    /// The transactional id of its producer.
    pub transactional_id: String,
    /// The configuration that the connector made for the task.
    pub settings: Settings,
    /// What ends a transaction.
    pub boundary: BoundaryKind,
    /// Settings of its producer.
    pub producer: ProducerConfig,
}
