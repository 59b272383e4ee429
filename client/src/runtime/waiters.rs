//! Completion cells: one per batch, which wakes all who wait for one of its records. In: a batch's result, once. Out: the result, to
//! whoever asks, whenever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::Notify;

use crate::error::{Error, ErrorKind};
use crate::machine::accumulator::batch::{Resolved, Results};

/// The results of a batch's records, and those who wait for them.
#[derive(Debug, Default)]
pub(crate) struct BatchCell {
    results: OnceLock<Results>,
    done: Notify,
}

impl BatchCell {
    /// Waits for the result.
    ///
    /// *Cancel safety*: nothing is lost; the result stays.
    pub(crate) async fn wait(&self) -> &Results {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if let Some(results) = self.results.get() {
                return results;
            }
            done.await;
        }
    }

    fn complete(&self, results: Results) {
        // The first result is the batch's only one.
        if self.results.set(results).is_ok() {
            self.done.notify_waiters();
        }
    }
}

/// The machine's end of a cell. If it is dropped without a result (the driver was stopped), those who wait are told so.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    cell: Arc<BatchCell>,
}

impl Completion {
    /// The cell to wait on.
    pub(crate) fn cell(&self) -> Arc<BatchCell> {
        Arc::clone(&self.cell)
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.cell.results.get().is_none() {
            let message =
                "the producer's task ended before this record had a result; it may have been written";
            let error = Error::new(ErrorKind::OutcomeUnknown, message);
            self.cell.complete(Results::Whole(Err(error)));
        }
    }
}

/// Hands results to the cells, and keeps what nobody will ask a cell for.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    told: AtomicU64,
    unseen: Mutex<Option<Error>>,
}

impl Deliveries {
    /// A batch has its result.
    pub(crate) fn deliver(&self, resolved: Resolved<Completion>) {
        let Resolved { tag, results, .. } = resolved;
        // Nobody but the machine holds the cell: every delivery was dropped.
        if let (Some(error), 1) = (results.first_error(), Arc::strong_count(&tag.cell)) {
            let mut unseen = self.unseen.lock().unwrap_or_else(PoisonError::into_inner);
            unseen.get_or_insert_with(|| error.clone());
        }
        tag.cell.complete(results);
        self.told.fetch_add(1, Ordering::Release);
    }

    /// How many results were handed out.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Acquire)
    }

    /// The first failure that nobody waited for, since this was asked last.
    pub(crate) fn take_unseen(&self) -> Option<Error> {
        self.unseen.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::ids::TopicPartition;

    use super::*;
    use crate::machine::accumulator::batch::{BatchMetadata, BatchResult};

    fn metadata() -> BatchMetadata {
        BatchMetadata {
            topic_partition: TopicPartition::new("t", 0),
            base_offset: Some(7),
            log_append_time: None,
        }
    }

    fn resolved(tag: Completion, result: BatchResult) -> Resolved<Completion> {
        Resolved {
            tag,
            reserved: 0,
            results: Results::Whole(result),
        }
    }

    #[tokio::test]
    async fn all_who_wait_get_the_result_and_late_ones_too() {
        let completion = Completion::default();
        let cell = completion.cell();
        let deliveries = Deliveries::default();
        let (first, second, ()) = tokio::join!(cell.wait(), cell.wait(), async {
            deliveries.deliver(resolved(completion, Ok(metadata())));
        });
        for results in [first, second, cell.wait().await] {
            let (result, place) = results.of(3);
            assert_eq!((result.as_ref().unwrap(), place), (&metadata(), 3));
        }
        assert_eq!(deliveries.told(), 1);
    }

    #[tokio::test]
    async fn a_completion_that_is_dropped_says_that_the_outcome_is_unknown() {
        let completion = Completion::default();
        let cell = completion.cell();
        drop(completion);
        let error = cell.wait().await.first_error().unwrap();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    }

    #[test]
    fn only_a_failure_that_nobody_can_see_is_kept() {
        let deliveries = Deliveries::default();
        let error = Error::new(ErrorKind::Timeout, "late");
        let watched = Completion::default();
        let cell = watched.cell();
        deliveries.deliver(resolved(watched, Err(error.clone())));
        assert!(deliveries.take_unseen().is_none());
        drop(cell);
        deliveries.deliver(resolved(Completion::default(), Ok(metadata())));
        assert!(deliveries.take_unseen().is_none());
        deliveries.deliver(resolved(Completion::default(), Err(error)));
        assert_eq!(deliveries.take_unseen().unwrap().kind(), ErrorKind::Timeout);
        assert!(deliveries.take_unseen().is_none());
    }
}
