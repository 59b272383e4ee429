//! The exactly-once loop of a source task (KIP-618): records and the offsets of the source in one transaction.
//!
//! Start: ownership, producer (fences every older one), ownership again, then the committed offsets, read_committed to
//! the end: in this order nothing older can add offsets after they were read. Loop: poll, convert, send, note the offset,
//! ask the boundary; to commit, the offsets are sent in the same transaction. Every fault ends the run.

use std::time::{Duration, Instant};
use std::vec::IntoIter;

use sealwax::{Client, Delivery, Header, Record, Transaction, TransactionalProducer};

use super::boundary::{Decision, Event, TransactionBoundary};
use super::polled::{Acknowledgement, Polled, PolledTask};
use super::{Fault, Ownership, Stop, TaskSetup};
use crate::api::{BatchRequest, SourceRecord, SourceTask, SourceTaskContext, TransactionContext};
use crate::config::BoundaryKind;
use crate::convert::{ConvertError, Converters};
use crate::offsets::OffsetBuffer;
use crate::store::{OffsetTable, SharedOffsets, ensure_topic, read_to_end};

/// What a run needs from its supervisor.
pub(super) struct Run<'a> {
    pub(super) client: &'a Client,
    pub(super) setup: &'a TaskSetup,
    pub(super) ownership: &'a dyn Ownership,
    pub(super) converters: &'a mut Converters,
    pub(super) stop: &'a mut Stop,
    /// Called when the task is in its loop, and after each commit.
    pub(super) alive: &'a mut (dyn FnMut(Alive) + Send),
}

/// Signs of life of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alive {
    Started,
    Committed,
}

/// Runs the task until a stop is asked for. The producer is kept in `slot` for the next run, unless it is beyond use.
pub(super) async fn run(
    mut run: Run<'_>,
    task: Box<dyn SourceTask>,
    slot: &mut Option<TransactionalProducer>,
) -> Result<(), Fault> {
    let mut stop = run.stop.clone();
    let offsets = tokio::select! {
        offsets = claim(run.client, run.setup, run.ownership, slot) => offsets?,
        () = stop.requested() => return Ok(()),
    };
    let Some(producer) = slot else {
        return Err(Fault::permanent("the task has no producer"));
    };
    let transactions = (run.setup.boundary == BoundaryKind::Connector).then(TransactionContext::default);
    let mut feed = Feed::new(&mut run, task, offsets, transactions).await?;
    let outcome = produce(producer, &mut feed).await;
    feed.task.stop().await;
    outcome
}

/// The start sequence up to the committed offsets.
async fn claim(
    client: &Client,
    setup: &TaskSetup,
    ownership: &dyn Ownership,
    slot: &mut Option<TransactionalProducer>,
) -> Result<SharedOffsets, Fault> {
    ownership.before_producer().await?;
    match slot {
        Some(producer) => settle(producer).await?,
        None => {
            let id = setup.transactional_id.as_str();
            let builder = client.transactional_producer(id).config(setup.producer.clone());
            let failed =
                |e| Fault::client(&format!("initialise the producer with transactional id {id}"), &e);
            *slot = Some(builder.build().await.map_err(failed)?);
        }
    }
    ownership.after_producer().await?;
    ensure_topic(client, &setup.offsets_topic).await?;
    let topic = &setup.offsets_topic.name;
    let mut table = OffsetTable::new(&setup.id.connector);
    let count = read_to_end(client, topic, setup.consumer.clone(), |key, value| {
        if let Err(error) = table.apply(key, value) {
            tracing::warn!(topic, %error, "passed over a record of the offsets topic");
        }
    });
    let count = count.await?;
    tracing::info!(
        task = %setup.id, transactional_id = setup.transactional_id, offsets_topic = topic, records_read = count,
        start_offsets = ?table.summary(), boundary = ?setup.boundary, "task starts; older instances are fenced"
    );
    Ok(SharedOffsets::new(table))
}

/// Waits until the fate of the last transaction is settled, so that the offsets read next are the last word. Uses the
/// producer's own id and epoch: a new instance that took over is not fenced by this, it shows as being fenced here.
async fn settle(producer: &mut TransactionalProducer) -> Result<(), Fault> {
    let failed = |e| Fault::client("go on with the producer after a fault", &e);
    producer
        .begin()
        .await
        .map_err(failed)?
        .abort()
        .await
        .map_err(failed)
}

async fn produce(producer: &mut TransactionalProducer, feed: &mut Feed<'_, '_>) -> Result<(), Fault> {
    while feed.wait_for_records().await? {
        let begun = |e| Fault::client("begin a transaction", &e);
        let mut transaction = producer.begin().await.map_err(begun)?;
        match feed.fill(&mut transaction).await? {
            Decision::Commit | Decision::GoOn => feed.commit(transaction).await?,
            Decision::Abort => {
                abort(transaction).await?;
                feed.sent.clear();
                feed.commit(producer.begin().await.map_err(begun)?).await?;
            }
            Decision::Drop => {
                abort(transaction).await?;
                tracing::info!(
                    "stopped inside a transaction that the connector did not finish; it is aborted"
                );
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn abort(transaction: Transaction<'_>) -> Result<(), Fault> {
    transaction
        .abort()
        .await
        .map_err(|e| Fault::client("abort the transaction", &e))
}

/// The source's side of the loop.
struct Feed<'a, 'r> {
    run: &'a mut Run<'r>,
    task: PolledTask,
    transactions: Option<TransactionContext>,
    /// Records of the last poll that are not sent yet, and what was asked for at their end.
    records: IntoIter<SourceRecord>,
    request: Option<BatchRequest>,
    boundary: TransactionBoundary,
    offsets: OffsetBuffer,
    committed: SharedOffsets,
    /// Records of the open transaction, kept only for a source that wants to hear of each.
    sent: Vec<(SourceRecord, Delivery)>,
}

impl<'a, 'r> Feed<'a, 'r> {
    async fn new(
        run: &'a mut Run<'r>,
        mut task: Box<dyn SourceTask>,
        committed: SharedOffsets,
        transactions: Option<TransactionContext>,
    ) -> Result<Self, Fault> {
        let settings = run.setup.settings.clone();
        let offsets = std::sync::Arc::new(committed.clone());
        task.initialize(SourceTaskContext::new(settings, offsets, transactions.clone()));
        task.start(&run.setup.settings).await?;
        (run.alive)(Alive::Started);
        Ok(Self {
            boundary: TransactionBoundary::new(run.setup.boundary, Instant::now()),
            run,
            task: PolledTask::new(task),
            transactions,
            records: Vec::new().into_iter(),
            request: None,
            offsets: OffsetBuffer::new(),
            committed,
            sent: Vec::new(),
        })
    }

    /// Waits, with no transaction open, until there are records to send. False: a stop was asked for.
    async fn wait_for_records(&mut self) -> Result<bool, Fault> {
        while self.records.as_slice().is_empty() {
            if self
                .request
                .take()
                .is_some_and(|request| request != BatchRequest::Commit)
            {
                tracing::warn!("the connector asked to abort a transaction, but none is open");
            }
            if !self.poll(None).await? {
                return Ok(false);
            }
        }
        Ok(!self.run.stop.is_requested())
    }

    /// Sends records into the transaction until it has to end.
    async fn fill(&mut self, transaction: &mut Transaction<'_>) -> Result<Decision, Fault> {
        loop {
            while let Some(record) = self.records.next() {
                let mark = record.boundary();
                self.send(transaction, record).await?;
                if let Some(end) = self.end(Event::Record(mark))? {
                    return Ok(end);
                }
            }
            let request = self.request.take();
            if let Some(end) = self.end(Event::Batch(request))? {
                return Ok(end);
            }
            while self.records.as_slice().is_empty() && self.request.is_none() {
                let event = match self.poll(self.boundary.next_tick()).await? {
                    true => Event::Tick,
                    false => Event::Stop(self.take_request()),
                };
                if let Some(end) = self.end(event)? {
                    return Ok(end);
                }
            }
        }
    }

    /// The decision on an event, if the transaction has to end.
    fn end(&self, event: Event) -> Result<Option<Decision>, Fault> {
        let decision = self.boundary.decide(Instant::now(), event)?;
        Ok((decision != Decision::GoOn).then_some(decision))
    }

    /// Polls once, at most until `tick`. False: a stop was asked for.
    async fn poll(&mut self, tick: Option<Instant>) -> Result<bool, Fault> {
        match self.task.poll(self.run.stop, tick).await? {
            Polled::Batch(records) => {
                self.records = records.into_iter();
                self.request = self.take_request();
                Ok(true)
            }
            Polled::Tick => Ok(true),
            Polled::Stop => Ok(false),
        }
    }

    fn take_request(&self) -> Option<BatchRequest> {
        self.transactions
            .as_ref()
            .and_then(TransactionContext::take_request)
    }

    async fn send(&mut self, transaction: &mut Transaction<'_>, record: SourceRecord) -> Result<(), Fault> {
        if *record.topic == *self.run.setup.offsets_topic.name {
            return Err(Fault::permanent(format!(
                "the connector writes to its own offsets topic {}: reading the offsets would wait for its own open \
                 transaction; set topic or offsets.storage.topic to another name",
                record.topic
            )));
        }
        let unfit =
            |e: ConvertError| Fault::permanent(format!("cannot convert a record for {}: {e}", record.topic));
        let key = self.run.converters.key.serialize(&record.key).map_err(unfit)?;
        let value = self
            .run
            .converters
            .value
            .serialize(&record.value)
            .map_err(unfit)?;
        let headers = self.run.converters.headers(&record).map_err(unfit)?;
        let headers: Vec<_> = headers
            .iter()
            .map(|(key, value)| Header {
                key,
                value: value.as_deref(),
            })
            .collect();
        let outgoing = Record {
            topic: &record.topic,
            partition: record.partition,
            timestamp: record.timestamp,
            key: key.as_deref(),
            value: value.as_deref(),
            headers: &headers,
        };
        let delivery = transaction
            .send(outgoing)
            .await
            .map_err(|e| Fault::sending(&record, &e))?;
        self.offsets
            .stage(&record.source_partition, record.source_offset.clone());
        if self.task.wants_records() {
            self.sent.push((record, delivery));
        }
        Ok(())
    }

    /// Sends the offsets into the transaction, commits it, and tells the source once there is proof.
    async fn commit(&mut self, mut transaction: Transaction<'_>) -> Result<(), Fault> {
        let topic = &self.run.setup.offsets_topic.name;
        let committing = self.offsets.begin_commit();
        for (partition, offset) in committing.iter() {
            let (key, value) = self.committed.record(partition, offset)?;
            let sent = transaction.send(Record::new(topic, &value).key(&key)).await;
            sent.map_err(|e| Fault::client(&format!("send an offset to topic {topic}"), &e))?;
        }
        let proof = transaction.commit().await.map_err(|e| Fault::commit(&e))?;
        let offsets = committing.committed(proof);
        for (partition, offset) in offsets.iter() {
            self.committed.committed(partition, offset);
        }
        self.boundary.restart(Instant::now());
        (self.run.alive)(Alive::Committed);
        let records = std::mem::take(&mut self.sent);
        self.task.acknowledge(Acknowledgement { records, offsets }).await;
        Ok(())
    }
}

/// How long a producer may take to close when the task ends.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(2);
