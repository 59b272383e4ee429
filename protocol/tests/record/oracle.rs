//! `kafka-protocol` writes the same bytes and reads the same records, wherever it can express them: it keeps headers in a map
//! with text for keys, and takes the smallest timestamp for the base, where Kafka's producer takes the first.

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{
    Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use sealwax_protocol::record::ProducerStamp;

use crate::sample::{Sample, builder, only_batch, sample, samples_of, stamp};

fn oracle_record(index: usize, sample: &Sample, stamp: ProducerStamp) -> Record {
    let field = |bytes: &Option<Vec<u8>>| bytes.clone().map(Bytes::from);
    let headers: IndexMap<_, _> = sample
        .headers
        .iter()
        .map(|(key, value)| (StrBytes::from_utf8(key.clone().into()).unwrap(), field(value)))
        .collect();
    // A plain producer's −1 counts on, or the encoder would begin another batch.
    let base_sequence = stamp.base_sequence.map_or(-1, |sequence| sequence.get());
    Record {
        transactional: stamp.transactional,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: stamp.producer.id.0,
        producer_epoch: stamp.producer.epoch.0,
        timestamp_type: TimestampType::Creation,
        offset: index as i64,
        sequence: base_sequence.wrapping_add(index as i32),
        timestamp: sample.timestamp,
        key: field(&sample.key),
        value: field(&sample.value),
        headers,
    }
}

/// Records that the oracle can express, the first one with the smallest timestamp.
fn expressible() -> impl Strategy<Value = Vec<Sample>> {
    let headers = btree_map("[a-zé]{0,9}", proptest::option::of(vec(any::<u8>(), 0..80)), 0..5);
    let one =
        (sample(-1_000_000_000_000..4_000_000_000_000_i64), headers).prop_map(|(sample, headers)| Sample {
            headers: headers
                .into_iter()
                .map(|(key, value)| (key.into_bytes(), value))
                .collect(),
            ..sample
        });
    vec(one, 1..90).prop_map(|mut samples| {
        let smallest = samples.iter().map(|sample| sample.timestamp).min().unwrap();
        samples[0].timestamp = smallest;
        samples
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_oracle_writes_the_same_bytes_and_reads_the_same_records(samples in expressible(), stamp in stamp()) {
        let records: Vec<_> = samples
            .iter()
            .enumerate()
            .map(|(index, sample)| oracle_record(index, sample, stamp))
            .collect();
        let mut expected = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: Compression::None };
        RecordBatchEncoder::encode(&mut expected, &records, &options).unwrap();

        let sealed = builder(&samples).seal(stamp);
        prop_assert_eq!(&sealed, &expected);

        let decoded = RecordBatchDecoder::decode(&mut sealed.clone()).unwrap();
        prop_assert_eq!(decoded.records, records);
        prop_assert_eq!(samples_of(&only_batch(sealed)).unwrap(), samples);
    }
}
