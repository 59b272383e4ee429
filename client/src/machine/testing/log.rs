//! A partition's log with the producer states that a leader keeps (KIP-98).

use std::collections::{HashMap, VecDeque};

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::Sequence;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::Batches;

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Its transaction is open.
    Open,
    /// Visible to a read_committed reader.
    Committed,
    /// Hidden from it.
    Aborted,
}

/// A record in the log.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) value: u64,
    pub(crate) producer: (i64, i16),
    pub(crate) status: Status,
}

#[derive(Debug)]
struct ProducerState {
    epoch: i16,
    next: Sequence,
    /// The last five batches: base sequence, records, base offset.
    recent: VecDeque<(i32, i32, i64)>,
}

/// A partition.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: Vec<Entry>,
    /// A batch with more records is too large.
    pub(crate) max_records: Option<usize>,
    producers: HashMap<i64, ProducerState>,
}

/// A batch as a broker reads it.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) producer: (i64, i16),
    pub(crate) base_sequence: i32,
    pub(crate) transactional: bool,
    pub(crate) values: Vec<u64>,
}

impl Incoming {
    /// Reads the one batch in `bytes`.
    pub(crate) fn read(bytes: &bytes::Bytes) -> Self {
        let mut batches = Batches::new(bytes.clone(), DecodeLimits::default());
        let batch = batches.next().expect("a batch").expect("a valid batch");
        assert!(batches.next().is_none(), "one batch per partition");
        let header = batch.header();
        let values = batch.records().map(|record| {
            let record = record.expect("a valid record");
            u64::from_be_bytes(record.value.expect("a value").try_into().expect("eight bytes"))
        });
        Self {
            producer: (header.producer_id, header.producer_epoch),
            base_sequence: header.base_sequence,
            transactional: header.is_transactional(),
            values: values.collect(),
        }
    }

    pub(crate) fn len(&self) -> i32 {
        i32::try_from(self.values.len()).expect("few records")
    }
}

impl Log {
    /// Appends a batch, or finds that it was appended before.
    pub(crate) fn append(&mut self, batch: &Incoming) -> Result<i64, ErrorCode> {
        let (id, epoch) = batch.producer;
        if self.max_records.is_some_and(|max| batch.values.len() > max) {
            return Err(ErrorCode::MESSAGE_TOO_LARGE);
        }
        if id < 0 {
            return Ok(self.add(batch));
        }
        let base = Sequence::new(batch.base_sequence).expect("a sequence");
        // A log without any batch of a producer takes whatever sequence comes first (only since 4.1, and under TV2, must it be 0).
        let state = self.producers.entry(id).or_insert_with(|| ProducerState {
            epoch,
            next: base,
            recent: VecDeque::new(),
        });
        if epoch < state.epoch {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if epoch > state.epoch {
            if base != Sequence::ZERO {
                return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
            }
            *state = ProducerState {
                epoch,
                next: Sequence::ZERO,
                recent: VecDeque::new(),
            };
        }
        let known = |&&(sequence, records, _): &&(i32, i32, i64)| {
            sequence == batch.base_sequence && records == batch.len()
        };
        if let Some((_, _, offset)) = state.recent.iter().find(known) {
            return Ok(*offset);
        }
        if base != state.next {
            return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        }
        state.next = base.add(u32::try_from(batch.len()).expect("few records"));
        let offset = i64::try_from(self.entries.len()).expect("few records");
        state.recent.push_back((batch.base_sequence, batch.len(), offset));
        if state.recent.len() > 5 {
            state.recent.pop_front();
        }
        Ok(self.add(batch))
    }

    /// Forgets every producer.
    pub(crate) fn forget(&mut self) {
        self.producers.clear();
    }

    fn add(&mut self, batch: &Incoming) -> i64 {
        let offset = i64::try_from(self.entries.len()).expect("few records");
        let status = if batch.transactional {
            Status::Open
        } else {
            Status::Committed
        };
        self.entries.extend(batch.values.iter().map(|value| Entry {
            value: *value,
            producer: batch.producer,
            status,
        }));
        offset
    }

    /// A transaction marker.
    pub(crate) fn mark(&mut self, id: i64, epoch: i16, status: Status) {
        for entry in &mut self.entries {
            if entry.producer.0 == id && entry.status == Status::Open {
                entry.status = status;
            }
        }
        if let Some(state) = self.producers.get_mut(&id)
            && epoch > state.epoch
        {
            *state = ProducerState {
                epoch,
                next: Sequence::ZERO,
                recent: VecDeque::new(),
            };
        }
    }
}
