//! The status of a task: which states there are and how one follows another.
//!
//! ```text
//!               started            fault            started
//! Unassigned ───────────▶ Running ───────▶ Restarting ───────▶ Running
//!     │ fault: Restarting    │                 │ fault: Restarting
//!     └────────── failed or stopped, from any of these ──────────▶ Failed, Stopped (final)
//! ```

use std::fmt;

/// The state of a task. The names are those of Java's status topic; `Stopped` stands for the removed status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// Not started yet.
    Unassigned,
    /// In its loop.
    Running,
    /// Ended by a passing fault; it will be started again from the committed offsets.
    Restarting {
        /// The fault.
        reason: String,
    },
    /// Ended by a fault that trying again does not mend. Final.
    Failed {
        /// The fault.
        reason: String,
    },
    /// Ended as asked. Final.
    Stopped,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEvent {
    /// The start sequence is done.
    Started,
    /// A passing fault.
    Fault(String),
    /// A fault that trying again does not mend.
    Failed(String),
    /// It stopped as asked.
    Stopped,
}

impl TaskState {
    /// The state after an event. A final state stays.
    #[must_use]
    pub fn after(self, event: TaskEvent) -> Self {
        match (self, event) {
            (state @ (Self::Failed { .. } | Self::Stopped), _) => state,
            (_, TaskEvent::Started) => Self::Running,
            (_, TaskEvent::Fault(reason)) => Self::Restarting { reason },
            (_, TaskEvent::Failed(reason)) => Self::Failed { reason },
            (_, TaskEvent::Stopped) => Self::Stopped,
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unassigned => f.write_str("UNASSIGNED"),
            Self::Running => f.write_str("RUNNING"),
            Self::Restarting { reason } => write!(f, "RESTARTING: {reason}"),
            Self::Failed { reason } => write!(f, "FAILED: {reason}"),
            Self::Stopped => f.write_str("STOPPED"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_leads_back_to_running() {
        let state = TaskState::Unassigned.after(TaskEvent::Fault("a".into()));
        assert_eq!(state, TaskState::Restarting { reason: "a".into() });
        assert_eq!(
            state.after(TaskEvent::Fault("b".into())),
            TaskState::Restarting { reason: "b".into() }
        );
        let running = TaskState::Unassigned.after(TaskEvent::Started);
        assert_eq!(running, TaskState::Running);
        assert_eq!(running.to_string(), "RUNNING");
    }

    #[test]
    fn final_states_stay() {
        let events = [
            TaskEvent::Started,
            TaskEvent::Fault("f".into()),
            TaskEvent::Failed("x".into()),
            TaskEvent::Stopped,
        ];
        for state in [TaskState::Stopped, TaskState::Failed { reason: "r".into() }] {
            for event in &events {
                assert_eq!(state.clone().after(event.clone()), state);
            }
        }
        let open = [
            TaskState::Unassigned,
            TaskState::Running,
            TaskState::Restarting { reason: "r".into() },
        ];
        for state in open {
            assert_eq!(state.clone().after(TaskEvent::Stopped), TaskState::Stopped);
            assert_eq!(
                state.after(TaskEvent::Failed("x".into())),
                TaskState::Failed { reason: "x".into() }
            );
        }
    }
}
