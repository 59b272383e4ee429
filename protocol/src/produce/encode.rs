//! Writes Produce requests, with each batch a part of its own, and Produce responses.

use crate::body::EncodeBody;
use crate::error::EncodeError;
use crate::fields::{FieldWriter, write_leader_hint, write_node_endpoints, write_topic};
use crate::produce::{
    FIRST_VERSION_WITH_HINTS, ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopic,
    ProduceTopicResponse,
};

impl EncodeBody for ProduceRequest {
    fn size_hint(&self, _version: i16) -> usize {
        let transactional_id = self.transactional_id.as_ref().map_or(0, |id| id.len());
        let topics: usize = self
            .topics
            .iter()
            .map(|topic| 32 + topic.name.len() + 16 * topic.partitions.len())
            .sum();
        32 + transactional_id + topics
    }

    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError> {
        writer.nullable_text("transactional id", self.transactional_id.as_deref())?;
        writer.i16(self.acks);
        writer.i32(self.timeout_ms);
        writer.array("topics", &self.topics, |writer, topic| {
            write_topic_batches(writer, api, version, topic)
        })?;
        writer.tag_count(0);
        Ok(())
    }
}

fn write_topic_batches(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    topic: &ProduceTopic,
) -> Result<(), EncodeError> {
    write_topic(writer, api, version, &topic.name, topic.id)?;
    writer.array("partitions", &topic.partitions, |writer, partition| {
        writer.i32(partition.index);
        writer.bytes("records", &partition.records)?;
        writer.tag_count(0);
        Ok(())
    })?;
    writer.tag_count(0);
    Ok(())
}

impl EncodeBody for ProduceResponse {
    fn size_hint(&self, _version: i16) -> usize {
        let topics: usize = self
            .topics
            .iter()
            .map(|topic| 32 + topic.name.len() + 64 * topic.partitions.len())
            .sum();
        32 + topics
    }

    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError> {
        writer.array("topics", &self.topics, |writer, topic| {
            write_topic_results(writer, api, version, topic)
        })?;
        writer.i32(self.throttle_time_ms);
        let endpoints = if version >= FIRST_VERSION_WITH_HINTS {
            self.node_endpoints.as_slice()
        } else {
            &[]
        };
        write_node_endpoints(writer, endpoints)
    }
}

fn write_topic_results(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    topic: &ProduceTopicResponse,
) -> Result<(), EncodeError> {
    write_topic(writer, api, version, &topic.name, topic.id)?;
    writer.array("partitions", &topic.partitions, |writer, partition| {
        write_result(writer, version, partition)
    })?;
    writer.tag_count(0);
    Ok(())
}

fn write_result(
    writer: &mut FieldWriter,
    version: i16,
    partition: &ProducePartitionResponse,
) -> Result<(), EncodeError> {
    writer.i32(partition.index);
    writer.i16(partition.error_code.0);
    writer.i64(partition.base_offset);
    writer.i64(partition.log_append_time_ms);
    writer.i64(partition.log_start_offset);
    writer.array("record errors", &partition.record_errors, |writer, error| {
        writer.i32(error.batch_index);
        writer.nullable_text("record error message", error.message.as_deref())?;
        writer.tag_count(0);
        Ok(())
    })?;
    writer.nullable_text("error message", partition.error_message.as_deref())?;
    let hint = partition
        .current_leader
        .filter(|_| version >= FIRST_VERSION_WITH_HINTS);
    match write_leader_hint(hint) {
        None => writer.tag_count(0),
        Some(hint) => {
            writer.tag_count(1);
            writer.tagged_field("current leader", 0, &hint)?;
        }
    }
    Ok(())
}
