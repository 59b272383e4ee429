//! Fenced: by another worker, or by time? A coordinator that ends a transaction which was open for longer than
//! `transaction.timeout.ms` raises the producer's epoch, and to the producer that looks like another one that took over (KIP-588
//! tells the two apart for transaction.version 2 only).
//!
//! What tells them apart here is the offsets: another worker that runs the task finds the same uncommitted part of the source and
//! commits it within half the timeout, where an interval is held at the longest. So: if the own transaction was open long enough,
//! look at the committed offsets, wait for half the timeout, look again. If nobody moved them the task is still ours and may be taken over anew. A worker
//! whose transaction was not open that long was fenced by another worker for sure and never comes back, so that two workers
//! cannot go on fencing each other.
//!
//! Input: what a run left behind ([`Trace`]), the offsets topic. Output: a [`Judgement`].

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::backoff::Backoff;
use super::{Fault, FaultKind, OffsetStore, Stop, StoredOffsets};
use crate::offsets::CommittingOffsets;

/// How often a task may be taken back without a commit in between.
const MOST_IN_A_ROW: u32 = 3;

/// What the runs of a task leave behind for the judgement of a fence.
#[derive(Default)]
pub(super) struct Trace {
    open: Option<Since>,
    known: Option<Arc<dyn StoredOffsets>>,
    /// Offsets that were in a commit whose outcome is unknown: they are ours if they turn up.
    attempted: Option<CommittingOffsets>,
    taken_back: u32,
}

/// A moment on both clocks: one of them may have stood still while the machine slept.
struct Since {
    steady: Instant,
    wall: SystemTime,
}

impl Since {
    fn now() -> Self {
        Self {
            steady: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    fn elapsed(&self) -> Duration {
        let wall = self.wall.elapsed().unwrap_or_default();
        self.steady.elapsed().max(wall)
    }
}

impl Trace {
    /// A run has read the committed offsets, with no transaction of ours open.
    pub(super) fn started(&mut self, committed: Arc<dyn StoredOffsets>) {
        self.open = None;
        self.attempted = None;
        self.known = Some(committed);
    }

    /// A transaction was begun.
    pub(super) fn begun(&mut self) {
        self.open = Some(Since::now());
    }

    /// The transaction has ended for certain, without a commit.
    pub(super) fn aborted(&mut self) {
        self.open = None;
    }

    /// The transaction is committed for certain.
    pub(super) fn committed(&mut self) {
        self.open = None;
        self.taken_back = 0;
    }

    /// The commit of these offsets was asked for, without proof.
    pub(super) fn attempted(&mut self, offsets: CommittingOffsets) {
        self.attempted = Some(offsets);
    }

    /// For how long the transaction has been open, if the coordinator may have ended it for that reason.
    pub(super) fn overdue(&self, timeout: Duration) -> Option<Duration> {
        let open = self.open.as_ref().map(Since::elapsed)?;
        (open >= timeout && self.taken_back < MOST_IN_A_ROW).then_some(open)
    }

    /// What the offsets look like if nobody else has committed any.
    fn unmoved(&mut self) -> Vec<Vec<String>> {
        let Some(known) = &self.known else {
            return Vec::new();
        };
        let mut unmoved = vec![known.summary()];
        if let Some(attempted) = self.attempted.take() {
            unmoved.push(known.summary_after(&attempted));
        }
        unmoved
    }
}

/// Who has the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Nobody else has shown up: it may be taken over anew.
    Ours,
    /// Somebody else has committed offsets, or it cannot be told.
    Lost(String),
    /// A stop was asked for meanwhile.
    Stopped,
}

/// Looks whether somebody else commits offsets, now and after half of `timeout` (`transaction.timeout.ms`). Faults that pass are
/// waited out.
pub(super) async fn judge(
    trace: &mut Trace,
    store: &dyn OffsetStore,
    timeout: Duration,
    stop: &mut Stop,
) -> Judgement {
    let unmoved = trace.unmoved();
    let looks = async {
        for pause in [Duration::ZERO, timeout / 2] {
            tokio::time::sleep(pause).await;
            match read(store).await {
                Ok(now) if unmoved.contains(&now) => {}
                Ok(now) => {
                    return Judgement::Lost(format!("another worker has committed: {}", now.join(", ")));
                }
                Err(fault) => return Judgement::Lost(fault.to_string()),
            }
        }
        Judgement::Ours
    };
    let judgement = tokio::select! {
        judgement = looks => judgement,
        () = stop.requested() => Judgement::Stopped,
    };
    if judgement == Judgement::Ours {
        trace.taken_back += 1;
        trace.open = None;
    }
    judgement
}

async fn read(store: &dyn OffsetStore) -> Result<Vec<String>, Fault> {
    let mut backoff = Backoff::default();
    loop {
        match store.read().await.map_err(Fault::from) {
            Ok(offsets) => return Ok(offsets.summary()),
            Err(fault) if fault.kind() == FaultKind::Passing => {
                tracing::warn!("cannot look at the committed offsets yet: {fault}");
                tokio::time::sleep(backoff.next(fastrand::f64())).await;
            }
            Err(fault) => return Err(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use async_trait::async_trait;
    use bytes::Bytes;

    use super::*;
    use crate::api::{FlatMap, FlatValue, OffsetReader, SourceOffset, SourcePartition};
    use crate::error::StoreError;
    use crate::offsets::OffsetBuffer;
    use crate::task::StopSwitch;

    /// One source partition at a position.
    struct At(i64);

    impl OffsetReader for At {
        fn offset(&self, _partition: &SourcePartition) -> Option<SourceOffset> {
            None
        }
    }

    impl StoredOffsets for At {
        fn record(&self, _: &SourcePartition, _: &SourceOffset) -> Result<(Bytes, Bytes), StoreError> {
            Ok((Bytes::new(), Bytes::new()))
        }

        fn committed(&self, _partition: &SourcePartition, _offset: &SourceOffset) {}

        fn summary(&self) -> Vec<String> {
            vec![self.0.to_string()]
        }

        fn summary_after(&self, offsets: &CommittingOffsets) -> Vec<String> {
            let positions = offsets.iter().filter_map(|(_, offset)| offset.value("position"));
            positions
                .filter_map(FlatValue::as_int)
                .map(|position| position.to_string())
                .collect()
        }

        fn reader(self: Arc<Self>) -> Arc<dyn OffsetReader> {
            self
        }
    }

    fn at(position: i64) -> Arc<dyn StoredOffsets> {
        Arc::new(At(position))
    }

    /// Answers one read after the other; the last again and again. None is a fault that passes.
    struct Reads(Mutex<VecDeque<Option<i64>>>);

    impl Reads {
        fn new(answers: &[Option<i64>]) -> Self {
            Self(Mutex::new(answers.iter().copied().collect()))
        }
    }

    #[async_trait]
    impl OffsetStore for Reads {
        fn topic(&self) -> &str {
            "offsets"
        }

        async fn read(&self) -> Result<Arc<dyn StoredOffsets>, StoreError> {
            let mut answers = self.0.lock().unwrap();
            let answer = if answers.len() > 1 {
                answers.pop_front().unwrap()
            } else {
                answers[0]
            };
            answer.map(at).ok_or_else(|| StoreError::NotDescribed {
                topic: "offsets".into(),
            })
        }
    }

    const TIMEOUT: Duration = Duration::from_secs(60);

    async fn judged(trace: &mut Trace, answers: &[Option<i64>]) -> Judgement {
        let switch = StopSwitch::new();
        judge(trace, &Reads::new(answers), TIMEOUT, &mut switch.listener()).await
    }

    fn trace_at(position: i64) -> Trace {
        let mut trace = Trace::default();
        trace.started(at(position));
        trace.begun();
        trace
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_whose_offsets_nobody_moves_is_ours_after_half_the_timeout() {
        let begin = tokio::time::Instant::now();
        let judgement = judged(&mut trace_at(7), &[None, Some(7), None, Some(7)]).await;
        assert_eq!(judgement, Judgement::Ours);
        assert!(begin.elapsed() >= TIMEOUT / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn offsets_that_move_at_once_or_later_are_another_workers() {
        for answers in [&[Some(8)][..], &[Some(7), Some(8)]] {
            let judgement = judged(&mut trace_at(7), answers).await;
            assert!(
                matches!(&judgement, Judgement::Lost(why) if why.contains('8')),
                "{judgement:?}"
            );
        }
        assert!(matches!(
            judged(&mut Trace::default(), &[Some(7)]).await,
            Judgement::Lost(_)
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_of_unknown_outcome_may_have_been_ours() {
        for found in [7, 9] {
            let mut trace = trace_at(7);
            let mut staged = OffsetBuffer::new();
            let offset = FlatMap::new().with("position", FlatValue::Int(9)).into();
            staged.stage(&FlatMap::new().into(), offset);
            trace.attempted(staged.begin_commit());
            assert_eq!(
                judged(&mut trace, &[Some(found)]).await,
                Judgement::Ours,
                "{found}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_is_taken_back_a_few_times_only_unless_it_commits() {
        let mut trace = trace_at(7);
        for _ in 0..MOST_IN_A_ROW {
            assert!(trace.overdue(Duration::ZERO).is_some());
            assert_eq!(judged(&mut trace, &[Some(7)]).await, Judgement::Ours);
            trace.begun();
        }
        assert_eq!(trace.overdue(Duration::ZERO), None);
        trace.committed();
        trace.begun();
        assert!(trace.overdue(Duration::ZERO).is_some());
    }

    #[test]
    fn only_an_open_transaction_can_be_overdue() {
        let mut trace = trace_at(7);
        assert!(trace.overdue(Duration::ZERO).is_some());
        assert_eq!(trace.overdue(TIMEOUT), None);
        trace.aborted();
        assert_eq!(trace.overdue(Duration::ZERO), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_ends_the_wait() {
        let switch = StopSwitch::new();
        let mut stop = switch.listener();
        switch.press();
        let reads = Reads::new(&[Some(7)]);
        let judgement = judge(&mut trace_at(7), &reads, TIMEOUT, &mut stop).await;
        assert_eq!(judgement, Judgement::Stopped);
    }
}
