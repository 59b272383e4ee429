//! Writes any records and reads them back.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch, Sequence};
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::{BatchBuilder, Batches, ProducerStamp, restamp};

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    records: Vec<Record<'a>>,
    transactional: bool,
    producer: (i64, i16, i32),
}

#[derive(Debug, Arbitrary)]
struct Record<'a> {
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: Vec<(&'a [u8], Option<&'a [u8]>)>,
}

fuzz_target!(|input: Input<'_>| {
    let mut builder = BatchBuilder::with_capacity(0);
    for record in &input.records {
        let before = builder.len();
        let headers = || record.headers.iter().copied();
        builder
            .append(record.timestamp, record.key, record.value, headers())
            .unwrap();
        assert!(builder.len() - before <= BatchBuilder::upper_bound(record.key, record.value, headers()));
    }
    let (id, epoch, sequence) = input.producer;
    let stamp = ProducerStamp {
        transactional: input.transactional,
        producer: ProducerIdAndEpoch {
            id: ProducerId(id),
            epoch: ProducerEpoch(epoch),
        },
        base_sequence: Sequence::new(sequence),
    };
    let sealed = builder.seal(stamp);
    assert_eq!(restamp(sealed.clone(), stamp).unwrap(), sealed);

    let mut batches = Batches::new(sealed, DecodeLimits::default());
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    let mut read = batch.records();
    for (offset, record) in input.records.iter().enumerate() {
        let found = read.next().unwrap().unwrap();
        assert_eq!(found.offset, offset as i64);
        assert_eq!(
            (found.timestamp, found.key, found.value),
            (record.timestamp, record.key, record.value)
        );
        assert!(found.headers.eq(record.headers.iter().copied()));
    }
    assert!(read.next().is_none());
});
