//! Appending: a producer's batch or a coordinator's marker, with all that the leader checks first.
//!
//! In: a batch as it came from the wire. Out: its offset (the first one, if it is a repeat) or the error code.

use std::time::Duration;

use bytes::Bytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, Sequence};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{
    BatchBuilder, BatchHeader, Batches, ControlType, ProducerStamp, control_batch,
};

use super::PartitionLog;
use super::batch::LogBatch;
use super::producer::{FirstSequence, ProducerEntry, Writer, Written};
use super::stable::Aborted;
use crate::names::milliseconds;

/// A batch that a producer sent: exactly one, whole and intact.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    header: BatchHeader,
    bytes: Bytes,
}

impl Incoming {
    /// Reads what stands in one partition of a Produce request.
    pub(crate) fn read(bytes: &Bytes) -> Result<Self, ErrorCode> {
        let mut batches = Batches::new(bytes.clone(), DecodeLimits::default());
        let (first, second) = (batches.next(), batches.next());
        let batch = match (first, second) {
            (Some(Ok(batch)), None) => batch,
            (Some(Err(_)), _) => return Err(ErrorCode::CORRUPT_MESSAGE),
            (None | Some(Ok(_)), _) => return Err(ErrorCode::INVALID_RECORD),
        };
        let header = *batch.header();
        if header.is_control() || header.record_count == 0 || header.base_offset != 0 {
            return Err(ErrorCode::INVALID_RECORD);
        }
        Ok(Self {
            header,
            bytes: bytes.clone(),
        })
    }

    /// Producer id, −1 for none.
    pub(crate) const fn producer_id(&self) -> i64 {
        self.header.producer_id
    }

    /// Producer epoch.
    pub(crate) const fn epoch(&self) -> i16 {
        self.header.producer_epoch
    }

    /// Whether it belongs to a transaction.
    pub(crate) fn is_transactional(&self) -> bool {
        self.header.is_transactional()
    }

    const fn first_sequence(&self) -> i32 {
        self.header.base_sequence
    }

    fn last_sequence(&self) -> i32 {
        let more = self.header.last_offset_delta.unsigned_abs();
        Sequence::new(self.header.base_sequence).map_or(-1, |first| first.add(more).get())
    }
}

impl PartitionLog {
    /// Appends a producer's batch and returns its first offset; the offset that it has already if it is a repeat.
    pub(crate) fn append(
        &mut self,
        batch: Incoming,
        leader_epoch: i32,
        writer: Writer,
    ) -> Result<i64, ErrorCode> {
        let id = batch.producer_id();
        if id >= 0 {
            if writer == Writer::Producer
                && let Some(offset) = self.repeat_of(&batch)
            {
                return Ok(offset);
            }
            self.check(&batch, writer)?;
            self.remember(&batch);
        }
        let offset = self.next_offset;
        self.push(LogBatch::new(
            offset,
            leader_epoch,
            batch.header,
            None,
            batch.bytes,
        ));
        Ok(offset)
    }

    /// A write is being checked with the coordinator: no later one of its epoch may come first (KAFKA-14920).
    pub(crate) fn note_attempt(&mut self, batch: &Incoming, first_sequence: FirstSequence) {
        let (epoch, first) = (batch.epoch(), batch.first_sequence());
        let attempt = self.attempts.entry(batch.producer_id()).or_insert(Attempt {
            epoch,
            lowest: first,
            first_sequence,
        });
        if epoch > attempt.epoch {
            (attempt.epoch, attempt.lowest) = (epoch, first);
        } else if epoch == attempt.epoch {
            attempt.lowest = attempt.lowest.min(first);
        }
    }

    /// A group coordinator writes offsets of a transaction.
    pub(crate) fn append_offsets(
        &mut self,
        write: OffsetsWrite,
        leader_epoch: i32,
    ) -> Result<i64, ErrorCode> {
        let mut builder = BatchBuilder::with_capacity(128);
        // An empty record cannot be too long.
        let _ = builder.append(milliseconds(write.now), None, None, []);
        let stamp = ProducerStamp {
            transactional: true,
            producer: write.producer,
            base_sequence: None,
        };
        let batch = Incoming::read(&builder.seal(stamp))?;
        self.append(batch, leader_epoch, Writer::Coordinator)
    }

    /// Whether the log knows a later epoch of the batch's producer.
    pub(crate) fn is_fenced(&self, batch: &Incoming) -> bool {
        self.producers
            .get(&batch.producer_id())
            .is_some_and(|entry| entry.check_epoch(batch.epoch()).is_err())
    }

    /// Where this very batch was written before, if it was.
    pub(crate) fn repeat_of(&self, batch: &Incoming) -> Option<i64> {
        let entry = self.producers.get(&batch.producer_id())?;
        entry.find_repeat(batch.epoch(), batch.first_sequence(), batch.last_sequence())
    }

    fn check(&self, batch: &Incoming, writer: Writer) -> Result<(), ErrorCode> {
        let entry = self.producers.get(&batch.producer_id());
        if let Some(entry) = entry {
            entry.check_epoch(batch.epoch())?;
        }
        if writer == Writer::Producer {
            self.check_attempts(batch, entry)?;
            if let Some(entry) = entry {
                entry.check_sequence(batch.epoch(), batch.first_sequence())?;
            }
        }
        let is_open = entry.is_some_and(|entry| entry.open_since().is_some());
        if is_open && !batch.is_transactional() {
            return Err(ErrorCode::INVALID_TXN_STATE);
        }
        Ok(())
    }

    /// An attempt is remembered until something is written: it also binds a write that needs no check itself.
    fn check_attempts(&self, batch: &Incoming, entry: Option<&ProducerEntry>) -> Result<(), ErrorCode> {
        let Some(attempt) = self.attempts.get(&batch.producer_id()) else {
            return Ok(());
        };
        let first = batch.first_sequence();
        let must_be_zero =
            attempt.first_sequence == FirstSequence::Zero && entry.is_none_or(ProducerEntry::is_blank);
        if first > attempt.lowest || (must_be_zero && first != 0) {
            Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)
        } else {
            Ok(())
        }
    }

    fn remember(&mut self, batch: &Incoming) {
        let offset = self.next_offset;
        let entry = self
            .producers
            .entry(batch.producer_id())
            .or_insert_with(|| ProducerEntry::new(batch.epoch()));
        let written = Written {
            first_sequence: batch.first_sequence(),
            last_sequence: batch.last_sequence(),
            base_offset: offset,
        };
        entry.wrote(batch.epoch(), written, batch.header.max_timestamp);
        if batch.is_transactional() {
            self.attempts.remove(&batch.producer_id());
        }
        if batch.is_transactional() && entry.begin(offset) {
            self.open.begin(offset);
        }
    }

    /// Appends a marker (WriteTxnMarkers): the transaction of the producer ends here.
    pub(crate) fn mark(&mut self, marker: &Marker, leader_epoch: i32) -> Result<i64, ErrorCode> {
        let id = marker.producer.id.0;
        let epoch = marker.producer.epoch.0;
        if let Some(entry) = self.producers.get(&id) {
            check_marker(entry, marker)?;
        }
        self.attempts.remove(&id);
        let offset = self.next_offset;
        let entry = self
            .producers
            .entry(id)
            .or_insert_with(|| ProducerEntry::new(epoch));
        if let Some(first_offset) = entry.marked(epoch, marker.coordinator_epoch, marker.timestamp) {
            self.open.end(first_offset);
            if marker.control == ControlType::Abort {
                self.aborted.push(Aborted {
                    producer_id: id,
                    first_offset,
                    last_offset: offset,
                });
            }
        }
        let bytes = control_batch(
            marker.control,
            marker.producer,
            marker.coordinator_epoch,
            marker.timestamp,
        );
        let header = Batches::new(bytes.clone(), DecodeLimits::default()).next();
        let Some(Ok(batch)) = header else {
            return Err(ErrorCode::UNKNOWN_SERVER_ERROR);
        };
        let control = Some(marker.control);
        self.push(LogBatch::new(
            offset,
            leader_epoch,
            *batch.header(),
            control,
            bytes,
        ));
        Ok(offset)
    }

    fn push(&mut self, batch: LogBatch) {
        self.next_offset = batch.last_offset() + 1;
        self.batches.push(batch);
    }
}

fn check_marker(entry: &ProducerEntry, marker: &Marker) -> Result<(), ErrorCode> {
    let epoch = marker.producer.epoch.0;
    entry.check_epoch(epoch)?;
    if marker.rule == MarkerRule::RaisedEpoch && epoch == entry.epoch() {
        return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
    }
    if entry.coordinator_epoch() > marker.coordinator_epoch {
        return Err(ErrorCode::TRANSACTION_COORDINATOR_FENCED);
    }
    Ok(())
}

/// A write that was seen and not done yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    epoch: i16,
    /// The lowest first sequence of the epoch.
    lowest: i32,
    first_sequence: FirstSequence,
}

/// Offsets of a transaction, as far as the log needs to know of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OffsetsWrite {
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) now: Duration,
}

/// Which epoch a marker must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerRule {
    /// That of the records, or a later one (TV1).
    SameEpoch,
    /// A later one: a marker that comes late must not end the next transaction (TV2 since Kafka 4.2, KIP-1228).
    RaisedEpoch,
}

/// A transaction marker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    pub(crate) control: ControlType,
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) coordinator_epoch: i32,
    /// Milliseconds.
    pub(crate) timestamp: i64,
    pub(crate) rule: MarkerRule,
}
