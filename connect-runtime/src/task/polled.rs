//! A source task whose poll may stay pending while its transaction is committed.
//!
//! The task lives inside the pending poll, so calls never overlap; acknowledgements that come meanwhile are made when
//! the poll returns, before its records are handed out.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use sealwax::Delivery;

use super::Stop;
use crate::api::{ConnectError, ConnectErrorKind, RecordMetadata, SourceRecord, SourceTask};
use crate::offsets::CommittedOffsets;

/// Pause after a poll that asked to be called again later.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How long a pending poll may take to return when the task has to stop.
const LAST_POLL: Duration = Duration::from_secs(1);

type Records = Result<Option<Vec<SourceRecord>>, ConnectError>;
type PendingPoll = Pin<Box<dyn Future<Output = (Box<dyn SourceTask>, Records)> + Send>>;

/// What came of waiting for records.
pub(super) enum Polled {
    /// A batch; empty if the source has nothing now.
    Batch(Vec<SourceRecord>),
    /// The time came before the poll returned.
    Tick,
    /// A stop was asked for.
    Stop,
}

/// What the source is told after a commit: records in order, if it wants them, with their deliveries.
pub(super) struct Acknowledgement {
    pub(super) records: Vec<(SourceRecord, Delivery)>,
    /// The proof: without committed offsets there is nothing to tell.
    pub(super) offsets: CommittedOffsets,
}

enum State {
    Idle(Box<dyn SourceTask>),
    Polling(PendingPoll),
    /// Only while the state changes, or after a panic in between.
    Between,
}

/// The task and what it is owed.
pub(super) struct PolledTask {
    state: State,
    owed: Vec<Acknowledgement>,
    wants_records: bool,
}

impl PolledTask {
    pub(super) fn new(task: Box<dyn SourceTask>) -> Self {
        Self {
            wants_records: task.wants_commit_record(),
            state: State::Idle(task),
            owed: Vec::new(),
        }
    }

    /// Whether records have to be kept until they are committed.
    pub(super) fn wants_records(&self) -> bool {
        self.wants_records
    }

    /// Waits for the poll's answer, a stop, or the time `tick`. A poll that is pending goes on with the next call.
    pub(super) async fn poll(
        &mut self,
        stop: &mut Stop,
        tick: Option<Instant>,
    ) -> Result<Polled, ConnectError> {
        if stop.is_requested() {
            return Ok(Polled::Stop);
        }
        let pending = self.pending()?;
        let (task, records) = tokio::select! {
            biased;
            done = pending => done,
            () = stop.requested() => return Ok(Polled::Stop),
            () = at(tick) => return Ok(Polled::Tick),
        };
        self.state = State::Idle(task);
        self.pay().await;
        Ok(Polled::Batch(records?.unwrap_or_default()))
    }

    fn pending(&mut self) -> Result<&mut PendingPoll, ConnectError> {
        self.state = match std::mem::replace(&mut self.state, State::Between) {
            State::Idle(task) => State::Polling(Box::pin(poll_once(task))),
            other => other,
        };
        match &mut self.state {
            State::Polling(pending) => Ok(pending),
            State::Idle(_) | State::Between => Err(ConnectError::permanent("the source task is gone")),
        }
    }

    /// Tells the source of a commit, at once or when the pending poll returns.
    pub(super) async fn acknowledge(&mut self, acknowledgement: Acknowledgement) {
        self.owed.push(acknowledgement);
        self.pay().await;
    }

    async fn pay(&mut self) {
        let State::Idle(task) = &mut self.state else {
            return;
        };
        for acknowledgement in self.owed.drain(..) {
            tell(task.as_mut(), acknowledgement).await;
        }
    }

    /// Ends the task. A pending poll gets a moment to return, then it is dropped with the task.
    pub(super) async fn stop(mut self) {
        if let State::Polling(pending) = &mut self.state {
            let Ok((task, _)) = tokio::time::timeout(LAST_POLL, pending).await else {
                tracing::warn!(
                    "the source's poll did not return in time; the source task is dropped without a stop"
                );
                return;
            };
            self.state = State::Idle(task);
        }
        self.pay().await;
        if let State::Idle(task) = &mut self.state {
            task.stop().await;
        }
    }
}

async fn poll_once(mut task: Box<dyn SourceTask>) -> (Box<dyn SourceTask>, Records) {
    match task.poll().await {
        Err(error) if error.kind() == ConnectErrorKind::Retriable => {
            tracing::warn!(%error, "the source has no records for now");
            tokio::time::sleep(RETRY_PAUSE).await;
            (task, Ok(None))
        }
        records => (task, records),
    }
}

async fn tell(task: &mut dyn SourceTask, acknowledgement: Acknowledgement) {
    for (record, delivery) in acknowledgement.records {
        let metadata = delivery.wait().await.ok().map(|metadata| RecordMetadata {
            topic: metadata.topic_partition.topic.clone(),
            partition: metadata.topic_partition.partition,
            offset: metadata.offset.unwrap_or(-1),
        });
        if let Err(error) = task.commit_record(&record, metadata.as_ref()).await {
            tracing::warn!(%error, "the source did not take the news of a committed record");
        }
    }
    if let Err(error) = task.commit().await {
        let partitions = acknowledgement.offsets.iter().count();
        tracing::warn!(%error, partitions, "the source did not take the news of a commit");
    }
}

/// Waits for a time; for ever if there is none.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use tokio::sync::Notify;

    use super::*;
    use crate::api::{Settings, SourceTaskContext};
    use crate::task::StopSwitch;

    /// Each poll waits until it is let go.
    struct Gate {
        open: Arc<Notify>,
        stopped: Arc<AtomicUsize>,
    }

    #[async_trait]
    impl SourceTask for Gate {
        fn initialize(&mut self, _context: SourceTaskContext) {}

        async fn start(&mut self, _settings: &Settings) -> Result<(), ConnectError> {
            Ok(())
        }

        async fn poll(&mut self) -> Result<Option<Vec<SourceRecord>>, ConnectError> {
            self.open.notified().await;
            Ok(None)
        }

        async fn stop(&mut self) {
            self.stopped.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn gate() -> (PolledTask, Arc<Notify>, Arc<AtomicUsize>) {
        let (open, stopped) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
        (
            PolledTask::new(Box::new(Gate {
                open: open.clone(),
                stopped: stopped.clone(),
            })),
            open,
            stopped,
        )
    }

    #[tokio::test]
    async fn a_pending_poll_survives_ticks_and_ends_with_a_stop() {
        let (mut task, open, stopped) = gate();
        let switch = StopSwitch::new();
        let mut stop = switch.listener();
        for _ in 0..3 {
            let polled = task.poll(&mut stop, Some(Instant::now())).await.unwrap();
            assert!(matches!(polled, Polled::Tick));
        }
        open.notify_one();
        assert!(
            matches!(task.poll(&mut stop, None).await.unwrap(), Polled::Batch(records) if records.is_empty())
        );
        switch.press();
        assert!(matches!(task.poll(&mut stop, None).await.unwrap(), Polled::Stop));
        task.stop().await;
        assert_eq!(stopped.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_poll_that_never_returns_does_not_hold_up_the_stop() {
        let (mut task, _open, stopped) = gate();
        let switch = StopSwitch::new();
        let mut stop = switch.listener();
        task.poll(&mut stop, Some(Instant::now())).await.unwrap();
        task.stop().await;
        assert_eq!(stopped.load(Ordering::SeqCst), 0);
    }
}
