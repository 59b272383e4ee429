//! How a partition's log ends for a committed reader: with which record, and was its transaction committed?
//!
//! The demo waits with it until the last line of the file has arrived. A value alone would not do: the last line may be there
//! as part of a transaction that a kill left open and that is aborted later. So the log must end with a commit marker.

use anyhow::{Context, Result};
use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{BrokerId, FetchRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{Record, RecordBatchDecoder};

use super::consumer::Isolation;
use super::topics::{ask_leader, check_code, end_offset};

const FETCH_VERSION: i16 = 12;
/// Transactional data ends with its marker; a few offsets more catch the markers of aborted ones.
const LOOK_BACK: i64 = 8;
const READ_COMMITTED: i8 = 1;
const COMMIT_MARKER: &[u8] = &[0, 0, 0, 1];

/// The value of the last record of a partition, if its log ends with that record's transaction being committed.
///
/// # Errors
/// If no broker answers, there is no such partition, or its batches are compressed.
pub fn last_committed_value(bootstrap: &str, topic: &str, partition: i32) -> Result<Option<Bytes>> {
    let end = end_offset(bootstrap, topic, partition, Isolation::ReadCommitted)?;
    let from = (end - LOOK_BACK).max(0);
    let asked = FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(from)
        .with_current_leader_epoch(-1)
        .with_partition_max_bytes(8 << 20);
    let name = TopicName(StrBytes::from_string(topic.to_owned()));
    let request = FetchRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_max_bytes(8 << 20)
        .with_isolation_level(READ_COMMITTED)
        .with_session_epoch(-1)
        .with_topics(vec![
            FetchTopic::default()
                .with_topic(name)
                .with_partitions(vec![asked]),
        ]);
    let mut bytes = ask_leader(bootstrap, topic, partition, |wire| {
        let answer = wire.call(FETCH_VERSION, &request)?;
        let data = answer
            .responses
            .first()
            .and_then(|topic| topic.partitions.first());
        let data = data.context("an empty answer to Fetch")?;
        check_code(data.error_code, topic, partition)?;
        Ok(data.records.clone().unwrap_or_default())
    })?;
    let batches = RecordBatchDecoder::decode_all(&mut bytes)?;
    let records: Vec<Record> = batches.into_iter().flat_map(|batch| batch.records).collect();
    Ok(committed_end(&records))
}

fn committed_end(records: &[Record]) -> Option<Bytes> {
    let (marker, before) = records.split_last()?;
    let committed = marker.control && marker.key.as_deref() == Some(COMMIT_MARKER);
    let last = before
        .last()
        .filter(|last| committed && !last.control && last.producer_id == marker.producer_id)?;
    last.value.clone()
}

#[cfg(test)]
mod tests {
    use kafka_protocol::records::TimestampType;

    use super::*;

    fn record(control: bool, key: &'static [u8], value: &'static [u8]) -> Record {
        Record {
            transactional: true,
            control,
            delete_horizon: false,
            partition_leader_epoch: 0,
            producer_id: 7,
            producer_epoch: 0,
            timestamp_type: TimestampType::Creation,
            offset: 0,
            sequence: 0,
            timestamp: 0,
            key: Some(Bytes::from_static(key)),
            value: Some(Bytes::from_static(value)),
            headers: Default::default(),
        }
    }

    #[test]
    fn a_committed_last_record_is_told_from_an_open_or_aborted_one() {
        let data = || record(false, b"", b"9");
        assert_eq!(
            committed_end(&[data(), record(true, &[0, 0, 0, 1], b"")]).as_deref(),
            Some(&b"9"[..])
        );
        assert_eq!(committed_end(&[data(), record(true, &[0, 0, 0, 0], b"")]), None);
        assert_eq!(committed_end(&[data()]), None);
        assert_eq!(committed_end(&[record(true, &[0, 0, 0, 1], b"")]), None);
        assert_eq!(committed_end(&[]), None);
    }
}
