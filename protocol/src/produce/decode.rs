//! Reads Produce requests, whose batches stay slices of the frame, and Produce responses.

use bytes::Bytes;

use crate::body::DecodeBody;
use crate::error::DecodeError;
use crate::error_code::ErrorCode;
use crate::fields::{
    FieldReader, NODE_ENDPOINT_BYTES, read_leader_hint, read_node_endpoint, read_topic, smallest_topic,
};
use crate::produce::{
    FIRST_VERSION_WITH_HINTS, ProducePartition, ProducePartitionResponse, ProduceRequest, ProduceResponse,
    ProduceTopic, ProduceTopicResponse, RecordError,
};

/// Bytes of the shortest partition in a request: index, null records, no tagged fields.
const PARTITION_BYTES: usize = 6;
/// Bytes of the shortest partition in a response: six numbers, an empty array, null text, no tagged fields.
const RESULT_BYTES: usize = 33;
/// Bytes of the shortest record error: index, null text, no tagged fields.
const RECORD_ERROR_BYTES: usize = 6;

impl DecodeBody for ProduceRequest {
    fn read(bytes: Bytes, _api: &'static str, version: i16) -> Result<Self, DecodeError> {
        let mut reader = FieldReader::new(bytes);
        let transactional_id = reader.nullable_text("transactional id")?;
        let acks = reader.i16("acks")?;
        let timeout_ms = reader.i32("timeout")?;
        let topics = reader.array("topics", smallest_topic(version), |r| {
            read_topic_batches(r, version)
        })?;
        reader.skip_tagged_fields("Produce request")?;
        reader.end("Produce request")?;
        Ok(Self {
            transactional_id,
            acks,
            timeout_ms,
            topics,
        })
    }
}

fn read_topic_batches(reader: &mut FieldReader, version: i16) -> Result<ProduceTopic, DecodeError> {
    let (name, id) = read_topic(reader, version)?;
    let partitions = reader.array("partitions", PARTITION_BYTES, |reader| {
        let index = reader.i32("partition index")?;
        let records = reader
            .nullable_bytes("records")?
            .ok_or_else(|| DecodeError::Invalid {
                what: "records of a Produce request",
                value: "null".to_owned(),
            })?;
        reader.skip_tagged_fields("partition")?;
        Ok(ProducePartition { index, records })
    })?;
    reader.skip_tagged_fields("topic")?;
    Ok(ProduceTopic { name, id, partitions })
}

impl DecodeBody for ProduceResponse {
    fn read(bytes: Bytes, _api: &'static str, version: i16) -> Result<Self, DecodeError> {
        let mut reader = FieldReader::new(bytes);
        let topics = reader.array("topics", smallest_topic(version), |r| {
            read_topic_results(r, version)
        })?;
        let throttle_time_ms = reader.i32("throttle time")?;
        let mut node_endpoints = Vec::new();
        reader.tagged_fields("Produce response", |tag, field| match tag {
            0 if version >= FIRST_VERSION_WITH_HINTS => {
                node_endpoints = field.array("node endpoints", NODE_ENDPOINT_BYTES, read_node_endpoint)?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        reader.end("Produce response")?;
        Ok(Self {
            topics,
            throttle_time_ms,
            node_endpoints,
        })
    }
}

fn read_topic_results(reader: &mut FieldReader, version: i16) -> Result<ProduceTopicResponse, DecodeError> {
    let (name, id) = read_topic(reader, version)?;
    let partitions = reader.array("partitions", RESULT_BYTES, |reader| read_result(reader, version))?;
    reader.skip_tagged_fields("topic")?;
    Ok(ProduceTopicResponse { name, id, partitions })
}

fn read_result(reader: &mut FieldReader, version: i16) -> Result<ProducePartitionResponse, DecodeError> {
    let index = reader.i32("partition index")?;
    let error_code = ErrorCode(reader.i16("error code")?);
    let base_offset = reader.i64("base offset")?;
    let log_append_time_ms = reader.i64("log append time")?;
    let log_start_offset = reader.i64("log start offset")?;
    let record_errors = reader.array("record errors", RECORD_ERROR_BYTES, read_record_error)?;
    let error_message = reader.nullable_text("error message")?;
    let mut current_leader = None;
    reader.tagged_fields("partition", |tag, field| match tag {
        0 if version >= FIRST_VERSION_WITH_HINTS => {
            current_leader = read_leader_hint(field)?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    Ok(ProducePartitionResponse {
        index,
        error_code,
        base_offset,
        log_append_time_ms,
        log_start_offset,
        record_errors,
        error_message,
        current_leader,
    })
}

fn read_record_error(reader: &mut FieldReader) -> Result<RecordError, DecodeError> {
    let batch_index = reader.i32("record index")?;
    let message = reader.nullable_text("record error message")?;
    reader.skip_tagged_fields("record error")?;
    Ok(RecordError { batch_index, message })
}
