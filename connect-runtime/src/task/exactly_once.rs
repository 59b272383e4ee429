//! The exactly-once loop of a source task (KIP-618): records and the offsets of the source in one transaction.
//!
//! `start` takes the task over and reads the committed offsets. Then, again and again: wait for records, begin, send and
//! stage (`feed`) until the boundary says that it is enough, send the staged offsets in the same transaction, commit.
//! Every fault ends the run; what is not committed then is read from the source again by the next one.

use std::time::Instant;

use sealwax::{Client, Record, Transaction, TransactionalProducer};

use super::boundary::{Decision, Event, TransactionBoundary};
use super::feed::Feed;
use super::fence::Trace;
use super::polled::Acknowledgement;
use super::start::take_over;
use super::{Fault, OffsetStore, Ownership, Stop, StoredOffsets, TaskSetup};
use crate::api::SourceTask;
use crate::convert::Converters;
use crate::offsets::CommittingOffsets;

/// What a run needs from its supervisor.
pub(super) struct Run<'a> {
    pub(super) client: &'a Client,
    pub(super) setup: &'a TaskSetup,
    pub(super) ownership: &'a dyn Ownership,
    pub(super) store: &'a dyn OffsetStore,
    pub(super) converters: &'a mut Converters,
    pub(super) stop: &'a mut Stop,
    /// What is kept for the judgement of a fence.
    pub(super) trace: &'a mut Trace,
    /// Called when the task is in its loop, and after each commit.
    pub(super) alive: &'a mut (dyn FnMut(Alive) + Send),
}

/// Signs of life of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alive {
    Started,
    Committed,
}

/// Runs the task until a stop is asked for. The producer is kept in `slot` for the next run.
pub(super) async fn run(
    run: Run<'_>,
    task: Box<dyn SourceTask>,
    slot: &mut Option<TransactionalProducer>,
) -> Result<(), Fault> {
    let mut stop = run.stop.clone();
    let committed = tokio::select! {
        committed = take_over(run.client, run.setup, run.ownership, run.store, slot) => committed?,
        () = stop.requested() => return Ok(()),
    };
    let Some(producer) = slot else {
        return Err(Fault::permanent("the task has no producer"));
    };
    run.trace.started(committed.clone());
    let reader = committed.clone().reader();
    let feed = Feed::start(
        task,
        run.setup,
        reader,
        run.converters,
        run.stop,
        run.store.topic(),
    )
    .await?;
    (run.alive)(Alive::Started);
    let boundary = TransactionBoundary::new(run.setup.boundary, Instant::now());
    let mut source = Loop {
        feed,
        boundary,
        committed: committed.as_ref(),
        topic: run.store.topic(),
        trace: run.trace,
        alive: run.alive,
    };
    let outcome = source.run(producer).await;
    source.feed.task.stop().await;
    outcome
}

struct Loop<'a> {
    feed: Feed<'a>,
    boundary: TransactionBoundary,
    committed: &'a dyn StoredOffsets,
    topic: &'a str,
    trace: &'a mut Trace,
    alive: &'a mut (dyn FnMut(Alive) + Send),
}

impl Loop<'_> {
    async fn run(&mut self, producer: &mut TransactionalProducer) -> Result<(), Fault> {
        while self.feed.wait_for_records().await? {
            let mut transaction = self.begin(producer).await?;
            match self.fill(&mut transaction).await? {
                Decision::Commit | Decision::GoOn => self.commit(transaction).await?,
                Decision::Abort => {
                    self.abort(transaction).await?;
                    self.feed.sent.clear();
                    let transaction = self.begin(producer).await?;
                    self.commit(transaction).await?;
                }
                Decision::Drop => {
                    self.abort(transaction).await?;
                    tracing::info!(
                        "stopped inside a transaction that the connector did not finish; it is aborted"
                    );
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn begin<'p>(&mut self, producer: &'p mut TransactionalProducer) -> Result<Transaction<'p>, Fault> {
        let begun = producer.begin().await;
        let transaction = begun.map_err(|e| Fault::client("begin a transaction", &e))?;
        self.trace.begun();
        Ok(transaction)
    }

    async fn abort(&mut self, transaction: Transaction<'_>) -> Result<(), Fault> {
        let aborted = transaction.abort().await;
        aborted.map_err(|e| Fault::client("abort the transaction", &e))?;
        self.trace.aborted();
        Ok(())
    }

    /// Sends records into the transaction until it has to end.
    async fn fill(&mut self, transaction: &mut Transaction<'_>) -> Result<Decision, Fault> {
        loop {
            while let Some(record) = self.feed.next_record() {
                let mark = record.boundary();
                self.feed.send(transaction, record).await?;
                if let Some(end) = self.end(Event::Record(mark))? {
                    return Ok(end);
                }
            }
            let request = self.feed.take_request();
            if let Some(end) = self.end(Event::Batch(request))? {
                return Ok(end);
            }
            while !self.feed.has_records() && !self.feed.has_request() {
                let event = match self.feed.poll(self.boundary.next_tick()).await? {
                    true => Event::Tick,
                    false => Event::Stop(self.feed.asked()),
                };
                if let Some(end) = self.end(event)? {
                    return Ok(end);
                }
            }
        }
    }

    /// Where the records of a transaction are in the source, for the operator.
    fn span_of(&self, offsets: &CommittingOffsets) -> String {
        let spans = offsets.iter().map(|(partition, last)| {
            let first = self.committed.offset(partition);
            let first = first.map_or_else(|| "its beginning".to_owned(), |first| (*first).to_string());
            format!("source {} behind {first} up to {}", **partition, **last)
        });
        spans.collect::<Vec<_>>().join(", ")
    }

    /// The decision on an event, if the transaction has to end.
    fn end(&self, event: Event) -> Result<Option<Decision>, Fault> {
        let decision = self.boundary.decide(Instant::now(), event)?;
        Ok((decision != Decision::GoOn).then_some(decision))
    }

    /// Sends the offsets into the transaction, commits it, and tells the source once there is proof.
    async fn commit(&mut self, mut transaction: Transaction<'_>) -> Result<(), Fault> {
        let committing = self.feed.staged.begin_commit();
        for (partition, offset) in committing.iter() {
            let (key, value) = self.committed.record(partition, offset)?;
            let sent = transaction.send(Record::new(self.topic, &value).key(&key)).await;
            sent.map_err(|e| Fault::client(&format!("send an offset to topic {}", self.topic), &e))?;
        }
        let proof = match transaction.commit().await {
            Ok(proof) => proof,
            Err(error) => {
                let fault = Fault::commit(&error, &self.span_of(&committing));
                self.trace.attempted(committing);
                return Err(fault);
            }
        };
        self.trace.committed();
        let offsets = committing.committed(proof);
        for (partition, offset) in offsets.iter() {
            self.committed.committed(partition, offset);
        }
        self.boundary.restart(Instant::now());
        (self.alive)(Alive::Committed);
        let records = std::mem::take(&mut self.feed.sent);
        self.feed
            .task
            .acknowledge(Acknowledgement { records, offsets })
            .await;
        Ok(())
    }
}
