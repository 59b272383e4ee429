//! The supervisor of one task: runs it, and after a passing fault runs a new one from the committed offsets.
//!
//! Input: the setup and a maker of source tasks. Output: the final state; the state in between goes to `status`.

use std::sync::Arc;
use std::time::Duration;

use sealwax::{Client, TransactionalProducer};
use tokio::sync::watch;

use super::backoff::Backoff;
use super::exactly_once::{Alive, Run, run};
use super::fence::{Judgement, Trace, judge};
use super::{Fault, FaultKind, OffsetStore, Ownership, Stop, TaskEvent, TaskSetup, TaskState};
use crate::api::SourceTask;
use crate::convert::Converters;

/// How long the producer may take to close when the task ends.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// Everything that it takes to run a task until it is stopped or has failed.
pub struct TaskRunner {
    /// The connection to the cluster.
    pub client: Client,
    /// How to run the task.
    pub setup: TaskSetup,
    /// Whether this process may run it.
    pub ownership: Arc<dyn Ownership>,
    /// Where its offsets are kept.
    pub store: Arc<dyn OffsetStore>,
    /// Its converters.
    pub converters: Converters,
    /// Makes a source task; called for each run, since a task cannot go back to an earlier offset.
    pub new_task: Box<dyn Fn() -> Box<dyn SourceTask> + Send + Sync>,
    /// The request to stop.
    pub stop: Stop,
    /// Where the state is told.
    pub status: watch::Sender<TaskState>,
}

/// What follows a run.
enum Next {
    Ended(TaskEvent),
    Again,
    /// Fenced, maybe only because the transaction was open for so long.
    Judge(Fault, Duration),
}

impl TaskRunner {
    /// Runs the task to its final state.
    ///
    /// # Cancel safety
    /// Dropping the future drops an open transaction, which queues its abort; nothing uncommitted becomes visible.
    pub async fn run(mut self) -> TaskState {
        let mut producer = None;
        let mut backoff = Backoff::default();
        let mut trace = Trace::default();
        let mut has_committed = false;
        let last = loop {
            let outcome = self
                .run_once(&mut producer, &mut trace, &mut backoff, &mut has_committed)
                .await;
            if let Err(fault) = &outcome
                && fault.kind() == FaultKind::ProducerLost
            {
                producer = None;
            }
            match self.next(outcome, &trace, has_committed) {
                Next::Ended(event) => break event,
                Next::Judge(fault, open) => {
                    producer = None;
                    if let Some(event) = self.judge(&fault, open, &mut trace).await {
                        break event;
                    }
                }
                Next::Again => {
                    let pause = backoff.next(fastrand::f64());
                    tracing::info!(task = %self.setup.id, attempt = backoff.failures(), ?pause, "task starts again soon");
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.stop.requested() => break TaskEvent::Stopped,
                    }
                }
            }
        };
        if let Some(producer) = producer
            && let Err(error) = producer.close(CLOSE_LIMIT).await
        {
            tracing::debug!(task = %self.setup.id, %error, "the producer did not close in order");
        }
        tell(&self.status, last);
        self.status.borrow().clone()
    }

    async fn run_once(
        &mut self,
        producer: &mut Option<TransactionalProducer>,
        trace: &mut Trace,
        backoff: &mut Backoff,
        has_committed: &mut bool,
    ) -> Result<(), Fault> {
        let status = &self.status;
        let mut alive = |sign| match sign {
            Alive::Started => tell(status, TaskEvent::Started),
            Alive::Committed => {
                *has_committed = true;
                backoff.reset();
            }
        };
        let task = (self.new_task)();
        let parts = Run {
            client: &self.client,
            setup: &self.setup,
            ownership: self.ownership.as_ref(),
            store: self.store.as_ref(),
            converters: &mut self.converters,
            stop: &mut self.stop,
            trace,
            alive: &mut alive,
        };
        Box::pin(run(parts, task, producer)).await
    }

    /// What follows the outcome of a run; told to the log and the status.
    fn next(&self, outcome: Result<(), Fault>, trace: &Trace, has_committed: bool) -> Next {
        let task = &self.setup.id;
        let Err(fault) = outcome else {
            tracing::info!(%task, "task stopped");
            return Next::Ended(TaskEvent::Stopped);
        };
        match fault.kind() {
            FaultKind::Passing | FaultKind::ProducerLost => {}
            FaultKind::TopicMissing if has_committed => {}
            FaultKind::Fenced => {
                return match trace.overdue(self.setup.producer.transaction_timeout) {
                    Some(open) => Next::Judge(fault, open),
                    None => Next::Ended(self.fenced(&fault.to_string())),
                };
            }
            FaultKind::TopicMissing | FaultKind::Permanent => {
                tracing::error!(%task, "task FAILED: {fault}");
                return Next::Ended(TaskEvent::Failed(fault.to_string()));
            }
        }
        if self.stop.is_requested() {
            tracing::warn!(%task, "task stopped while it had a fault; nothing uncommitted is visible: {fault}");
            return Next::Ended(TaskEvent::Stopped);
        }
        tracing::warn!(%task, "task has a passing fault and goes back to the committed offsets: {fault}");
        tell(&self.status, TaskEvent::Fault(fault.to_string()));
        Next::Again
    }
}

/// What follows a fence.
impl TaskRunner {
    /// Finds out who has the task now. None: it is still ours.
    async fn judge(&mut self, fault: &Fault, open: Duration, trace: &mut Trace) -> Option<TaskEvent> {
        let timeout = self.setup.producer.transaction_timeout;
        let (task, transactional_id) = (&self.setup.id, &self.setup.transactional_id);
        tracing::warn!(
            %task, transactional_id,
            "fenced: another producer has taken over transactional id {transactional_id}, or the broker ended the transaction \
             because it was open for {open:?}, longer than transaction.timeout.ms={}; for half of that it is watched whether another \
             worker commits offsets, and if none does, the task is taken over again: {fault}",
            timeout.as_millis()
        );
        tell(&self.status, TaskEvent::Fault(fault.to_string()));
        match judge(trace, self.store.as_ref(), timeout, &mut self.stop).await {
            Judgement::Ours => {
                tracing::info!(task = %self.setup.id, "no other worker commits offsets: the task is taken over again");
                None
            }
            Judgement::Lost(why) => Some(self.fenced(&why)),
            Judgement::Stopped => Some(TaskEvent::Stopped),
        }
    }

    fn fenced(&self, why: &str) -> TaskEvent {
        let (task, transactional_id) = (&self.setup.id, &self.setup.transactional_id);
        tracing::error!(
            %task, transactional_id,
            "task FAILED, fenced: another producer has taken over transactional id {transactional_id}; \
             this one stops and does not come back; make sure that the connector runs in one worker only: {why}"
        );
        TaskEvent::Failed(format!(
            "fenced: another producer has taken over transactional id {transactional_id}"
        ))
    }
}

fn tell(status: &watch::Sender<TaskState>, event: TaskEvent) {
    status.send_modify(|state| *state = state.clone().after(event));
}
