//! Records as plain owned values, batches made of them and of raw bytes.

use bytes::{BufMut, Bytes, BytesMut};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sealwax_protocol::error::DecodeError;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, Sequence};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchBuilder, Batches, ProducerStamp, RecordBatch, RecordRef};

type Field = Option<Vec<u8>>;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    pub(crate) timestamp: i64,
    pub(crate) key: Field,
    pub(crate) value: Field,
    pub(crate) headers: Vec<(Vec<u8>, Field)>,
}

impl Sample {
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> + Clone {
        self.headers.iter().map(|(key, value)| (&**key, value.as_deref()))
    }
}

impl From<RecordRef<'_>> for Sample {
    fn from(record: RecordRef<'_>) -> Self {
        Self {
            timestamp: record.timestamp,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: record
                .headers
                .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)))
                .collect(),
        }
    }
}

pub(crate) fn builder(samples: &[Sample]) -> BatchBuilder {
    let mut builder = BatchBuilder::with_capacity(64);
    for (index, sample) in samples.iter().enumerate() {
        let (key, value) = (sample.key.as_deref(), sample.value.as_deref());
        let before = builder.len();
        assert_eq!(
            builder.append(sample.timestamp, key, value, sample.headers()),
            Ok(index as u32)
        );
        let growth = builder.len() - before;
        assert!(
            growth <= BatchBuilder::upper_bound(key, value, sample.headers()),
            "{sample:?}"
        );
    }
    builder
}

pub(crate) const PLAIN: ProducerStamp = ProducerStamp {
    transactional: false,
    producer: ProducerIdAndEpoch::NONE,
    base_sequence: None,
};

pub(crate) fn transactional(id: i64, epoch: i16, sequence: i32) -> ProducerStamp {
    ProducerStamp {
        transactional: true,
        producer: ProducerIdAndEpoch {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
        },
        base_sequence: Sequence::new(sequence),
    }
}

pub(crate) fn batches(bytes: impl Into<Bytes>) -> Batches {
    Batches::new(bytes.into(), DecodeLimits::default())
}

/// The only batch in `bytes`.
pub(crate) fn only_batch(bytes: impl Into<Bytes>) -> RecordBatch {
    let mut batches = batches(bytes);
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

pub(crate) fn samples_of(batch: &RecordBatch) -> Result<Vec<Sample>, DecodeError> {
    batch.records().map(|record| record.map(Sample::from)).collect()
}

/// Batches that together have every kind of field, small enough to be damaged in every byte.
pub(crate) fn small_batches() -> Vec<Bytes> {
    let rich = Sample {
        timestamp: 1_700_000_000_000,
        key: Some(b"key".to_vec()),
        value: Some(b"value".to_vec()),
        headers: vec![
            (b"h".to_vec(), Some(b"1".to_vec())),
            (b"h".to_vec(), None),
            (vec![], Some(vec![])),
        ],
    };
    let late = Sample {
        timestamp: 1_700_000_100_000,
        ..Sample::default()
    };
    vec![
        builder(&[Sample::default()]).seal(PLAIN),
        builder(&[rich.clone(), late, rich]).seal(transactional(77, 3, 12)),
    ]
}

/// A batch that is valid as to length and checksum, with any header fields and any bytes for records.
pub(crate) struct RawBatch {
    pub(crate) base_offset: i64,
    pub(crate) attributes: i16,
    pub(crate) last_offset_delta: i32,
    pub(crate) max_timestamp: i64,
    pub(crate) record_count: i32,
    pub(crate) records: Vec<u8>,
}

impl Default for RawBatch {
    fn default() -> Self {
        Self {
            base_offset: 100,
            attributes: 0,
            last_offset_delta: 0,
            max_timestamp: 2_000,
            record_count: 1,
            // Timestamp delta 5, offset delta 0, null key, null value, no headers.
            records: vec![12, 0, 10, 0, 1, 1, 0],
        }
    }
}

impl RawBatch {
    pub(crate) fn bytes(&self) -> BytesMut {
        let mut bytes = BytesMut::new();
        bytes.put_i64(self.base_offset);
        bytes.put_i32(49 + self.records.len() as i32);
        bytes.put_i32(9);
        bytes.put_u8(2);
        bytes.put_u32(0);
        bytes.put_i16(self.attributes);
        bytes.put_i32(self.last_offset_delta);
        bytes.put_i64(1_000);
        bytes.put_i64(self.max_timestamp);
        bytes.put_i64(4_711);
        bytes.put_i16(6);
        bytes.put_i32(-1);
        bytes.put_i32(self.record_count);
        bytes.put_slice(&self.records);
        fix_checksum(&mut bytes);
        bytes
    }

    pub(crate) fn batch(&self) -> RecordBatch {
        only_batch(self.bytes())
    }

    /// What refuses the batch as a whole.
    pub(crate) fn refusal(&self) -> DecodeError {
        let mut batches = batches(self.bytes());
        let error = batches.next().unwrap().unwrap_err();
        assert!(batches.next().is_none(), "an error ends the batches");
        error
    }
}

pub(crate) fn fix_checksum(batch: &mut [u8]) {
    let crc = crc32c::crc32c(&batch[21..]);
    batch[17..21].copy_from_slice(&crc.to_be_bytes());
}

fn field() -> impl Strategy<Value = Field> {
    option::weighted(0.8, vec(any::<u8>(), 0..90))
}

/// Keys from a small set, so that they repeat.
fn headers() -> impl Strategy<Value = Vec<(Vec<u8>, Field)>> {
    let key = prop_oneof![
        Just(vec![]),
        "[a-c]".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..70)
    ];
    vec((key, field()), 0..5)
}

pub(crate) fn timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(-1),
        0..2_000_000_000_000_i64,
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX)
    ]
}

pub(crate) fn sample(timestamp: impl Strategy<Value = i64>) -> impl Strategy<Value = Sample> {
    (timestamp, field(), field(), headers()).prop_map(|(timestamp, key, value, headers)| Sample {
        timestamp,
        key,
        value,
        headers,
    })
}

pub(crate) fn stamp() -> impl Strategy<Value = ProducerStamp> {
    prop_oneof![
        Just(PLAIN),
        (0..i64::MAX, 0..i16::MAX, 0..=i32::MAX)
            .prop_map(|(id, epoch, sequence)| transactional(id, epoch, sequence)),
    ]
}
