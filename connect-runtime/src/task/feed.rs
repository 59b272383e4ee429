//! The source's side of the loop: records come out of the task one by one, go through the converters into the open
//! transaction, and leave their offsets staged.

use std::sync::Arc;
use std::time::Instant;
use std::vec::IntoIter;

use sealwax::{Delivery, Header, Record, Transaction};

use super::polled::{Polled, PolledTask};
use super::{Fault, Stop, TaskSetup};
use crate::api::{
    BatchRequest, ConnectError, OffsetReader, SourceRecord, SourceTask, SourceTaskContext, TransactionContext,
};
use crate::config::BoundaryKind;
use crate::convert::{ConvertError, Converters};
use crate::offsets::OffsetBuffer;

/// A started source task with what it gave and what of that is in the open transaction.
pub(super) struct Feed<'a> {
    pub(super) task: PolledTask,
    /// Offsets of the records that are in the open transaction.
    pub(super) staged: OffsetBuffer,
    /// Those records, kept only for a source that wants to hear of each.
    pub(super) sent: Vec<(SourceRecord, Delivery)>,
    converters: &'a mut Converters,
    stop: &'a mut Stop,
    offsets_topic: &'a str,
    transactions: Option<TransactionContext>,
    /// Records of the last poll that are not sent yet, and what was asked for at their end.
    records: IntoIter<SourceRecord>,
    request: Option<BatchRequest>,
}

impl<'a> Feed<'a> {
    /// Starts the source task at the committed offsets.
    pub(super) async fn start(
        mut task: Box<dyn SourceTask>,
        setup: &TaskSetup,
        committed: Arc<dyn OffsetReader>,
        converters: &'a mut Converters,
        stop: &'a mut Stop,
        offsets_topic: &'a str,
    ) -> Result<Self, ConnectError> {
        let transactions = (setup.boundary == BoundaryKind::Connector).then(TransactionContext::default);
        task.initialize(SourceTaskContext::new(
            setup.settings.clone(),
            committed,
            transactions.clone(),
        ));
        task.start(&setup.settings).await?;
        Ok(Self {
            task: PolledTask::new(task),
            staged: OffsetBuffer::new(),
            sent: Vec::new(),
            converters,
            stop,
            offsets_topic,
            transactions,
            records: Vec::new().into_iter(),
            request: None,
        })
    }

    /// Waits, with no transaction open, until there are records to send. False: a stop was asked for.
    pub(super) async fn wait_for_records(&mut self) -> Result<bool, Fault> {
        while !self.has_records() {
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
        Ok(!self.stop.is_requested())
    }

    /// Polls once, at most until `tick`. False: a stop was asked for.
    pub(super) async fn poll(&mut self, tick: Option<Instant>) -> Result<bool, ConnectError> {
        match self.task.poll(self.stop, tick).await? {
            Polled::Batch(records) => {
                self.records = records.into_iter();
                self.request = self.asked();
                Ok(true)
            }
            Polled::Tick => Ok(true),
            Polled::Stop => Ok(false),
        }
    }

    /// Whether records of the last poll are left.
    pub(super) fn has_records(&self) -> bool {
        !self.records.as_slice().is_empty()
    }

    /// The next record of the last poll.
    pub(super) fn next_record(&mut self) -> Option<SourceRecord> {
        self.records.next()
    }

    /// Whether the connector asked for something at the end of the last poll's batch.
    pub(super) fn has_request(&self) -> bool {
        self.request.is_some()
    }

    /// What the connector asked for at the end of the last poll's batch; told once.
    pub(super) fn take_request(&mut self) -> Option<BatchRequest> {
        self.request.take()
    }

    /// What the connector has asked for since the last poll.
    pub(super) fn asked(&self) -> Option<BatchRequest> {
        self.transactions
            .as_ref()
            .and_then(TransactionContext::take_request)
    }

    /// Sends a record; its offset is staged once the record was accepted.
    pub(super) async fn send(
        &mut self,
        transaction: &mut Transaction<'_>,
        record: SourceRecord,
    ) -> Result<(), Fault> {
        if *record.topic == *self.offsets_topic {
            return Err(Fault::permanent(format!(
                "the connector writes to its own offsets topic {}: reading the offsets would wait for its own open \
                 transaction; set topic or offsets.storage.topic to another name",
                record.topic
            )));
        }
        let unfit =
            |e: ConvertError| Fault::permanent(format!("cannot convert a record for {}: {e}", record.topic));
        let key = self.converters.key.serialize(&record.key).map_err(unfit)?;
        let value = self.converters.value.serialize(&record.value).map_err(unfit)?;
        let headers = self.converters.headers(&record).map_err(unfit)?;
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
        if self.task.wants_records() {
            self.staged
                .stage(&record.source_partition, record.source_offset.clone());
            self.sent.push((record, delivery));
        } else {
            self.staged.stage(&record.source_partition, record.source_offset);
        }
        Ok(())
    }
}
