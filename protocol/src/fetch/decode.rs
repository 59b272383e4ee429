//! Reads Fetch requests, as far as a consumer's go, and Fetch responses, whose records stay slices of the frame.

use bytes::Bytes;

use crate::body::DecodeBody;
use crate::error::DecodeError;
use crate::error_code::ErrorCode;
use crate::fetch::{
    AbortedTransaction, EpochEndOffset, FIRST_VERSION_WITH_HINTS, FIRST_VERSION_WITHOUT_REPLICA_ID,
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopic, FetchTopicResponse,
    ForgottenTopic, IsolationLevel,
};
use crate::fields::{
    FieldReader, NODE_ENDPOINT_BYTES, read_leader_hint, read_node_endpoint, read_topic, smallest_topic,
};
use crate::ids::{LeaderEpoch, NodeId, ProducerId};

/// Bytes of a partition in a request: six numbers, no tagged fields.
const WANTED_BYTES: usize = 33;
/// Bytes of the shortest partition in a response: six numbers, null list, null records, no tagged fields.
const READ_BYTES: usize = 37;
/// Bytes of an aborted transaction: two numbers, no tagged fields.
const ABORTED_BYTES: usize = 17;
const INDEX_BYTES: usize = 4;

impl DecodeBody for FetchRequest {
    fn read(bytes: Bytes, _api: &'static str, version: i16) -> Result<Self, DecodeError> {
        let mut reader = FieldReader::new(bytes);
        if version < FIRST_VERSION_WITHOUT_REPLICA_ID {
            reader.i32("replica id")?;
        }
        let max_wait_ms = reader.i32("max wait")?;
        let min_bytes = reader.i32("min bytes")?;
        let max_bytes = reader.i32("max bytes")?;
        let isolation_level = read_isolation_level(&mut reader)?;
        let session_id = reader.i32("session id")?;
        let session_epoch = reader.i32("session epoch")?;
        let topics = reader.array("topics", smallest_topic(version), |r| read_wanted(r, version))?;
        let forgotten = reader.array("forgotten topics", smallest_topic(version), |r| {
            read_forgotten(r, version)
        })?;
        let rack_id = reader.text("rack id")?;
        reader.skip_tagged_fields("Fetch request")?;
        reader.end("Fetch request")?;
        Ok(Self {
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten,
            rack_id,
        })
    }
}

fn read_isolation_level(reader: &mut FieldReader) -> Result<IsolationLevel, DecodeError> {
    match reader.i8("isolation level")? {
        0 => Ok(IsolationLevel::ReadUncommitted),
        1 => Ok(IsolationLevel::ReadCommitted),
        other => Err(DecodeError::Invalid {
            what: "isolation level",
            value: other.to_string(),
        }),
    }
}

fn read_wanted(reader: &mut FieldReader, version: i16) -> Result<FetchTopic, DecodeError> {
    let (name, id) = read_topic(reader, version)?;
    let partitions = reader.array("partitions", WANTED_BYTES, |reader| {
        let index = reader.i32("partition index")?;
        let current_leader_epoch = LeaderEpoch(reader.i32("current leader epoch")?);
        let fetch_offset = reader.i64("fetch offset")?;
        let last_fetched_epoch = LeaderEpoch(reader.i32("last fetched epoch")?);
        reader.i64("log start offset")?;
        let max_bytes = reader.i32("partition max bytes")?;
        reader.skip_tagged_fields("partition")?;
        Ok(FetchPartition {
            index,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch,
            max_bytes,
        })
    })?;
    reader.skip_tagged_fields("topic")?;
    Ok(FetchTopic { name, id, partitions })
}

fn read_forgotten(reader: &mut FieldReader, version: i16) -> Result<ForgottenTopic, DecodeError> {
    let (name, id) = read_topic(reader, version)?;
    let partitions = reader.array("partitions", INDEX_BYTES, |reader| reader.i32("partition index"))?;
    reader.skip_tagged_fields("forgotten topic")?;
    Ok(ForgottenTopic { name, id, partitions })
}

impl DecodeBody for FetchResponse {
    fn read(bytes: Bytes, _api: &'static str, version: i16) -> Result<Self, DecodeError> {
        let mut reader = FieldReader::new(bytes);
        let throttle_time_ms = reader.i32("throttle time")?;
        let error_code = ErrorCode(reader.i16("error code")?);
        let session_id = reader.i32("session id")?;
        let topics = reader.array("topics", smallest_topic(version), |r| read_read_topic(r, version))?;
        let mut node_endpoints = Vec::new();
        reader.tagged_fields("Fetch response", |tag, field| match tag {
            0 if version >= FIRST_VERSION_WITH_HINTS => {
                node_endpoints = field.array("node endpoints", NODE_ENDPOINT_BYTES, read_node_endpoint)?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        reader.end("Fetch response")?;
        Ok(Self {
            throttle_time_ms,
            error_code,
            session_id,
            topics,
            node_endpoints,
        })
    }
}

fn read_read_topic(reader: &mut FieldReader, version: i16) -> Result<FetchTopicResponse, DecodeError> {
    let (name, id) = read_topic(reader, version)?;
    let partitions = reader.array("partitions", READ_BYTES, read_read_partition)?;
    reader.skip_tagged_fields("topic")?;
    Ok(FetchTopicResponse { name, id, partitions })
}

fn read_read_partition(reader: &mut FieldReader) -> Result<FetchPartitionResponse, DecodeError> {
    let index = reader.i32("partition index")?;
    let error_code = ErrorCode(reader.i16("error code")?);
    let high_watermark = reader.i64("high watermark")?;
    let last_stable_offset = reader.i64("last stable offset")?;
    let log_start_offset = reader.i64("log start offset")?;
    let aborted_transactions = reader.nullable_array("aborted transactions", ABORTED_BYTES, read_aborted)?;
    let preferred = reader.i32("preferred read replica")?;
    let records = reader.nullable_bytes("records")?.unwrap_or_default();
    let mut diverging_epoch = None;
    let mut current_leader = None;
    reader.tagged_fields("partition", |tag, field| match tag {
        0 => {
            diverging_epoch = Some(read_diverging_epoch(field)?).filter(|end| *end != EpochEndOffset::NONE);
            Ok(true)
        }
        1 => {
            current_leader = read_leader_hint(field)?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok(FetchPartitionResponse {
        index,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        diverging_epoch,
        current_leader,
        aborted_transactions,
        preferred_read_replica: (preferred >= 0).then_some(NodeId(preferred)),
        records,
    })
}

fn read_aborted(reader: &mut FieldReader) -> Result<AbortedTransaction, DecodeError> {
    let producer_id = ProducerId(reader.i64("producer id")?);
    let first_offset = reader.i64("first offset")?;
    reader.skip_tagged_fields("aborted transaction")?;
    Ok(AbortedTransaction {
        producer_id,
        first_offset,
    })
}

fn read_diverging_epoch(reader: &mut FieldReader) -> Result<EpochEndOffset, DecodeError> {
    let epoch = LeaderEpoch(reader.i32("diverging epoch")?);
    let end_offset = reader.i64("end offset")?;
    reader.skip_tagged_fields("diverging epoch")?;
    Ok(EpochEndOffset { epoch, end_offset })
}
