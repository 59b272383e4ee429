//! Writes Fetch requests and Fetch responses, with the records of each partition a part of their own.

use bytes::BufMut;

use crate::body::EncodeBody;
use crate::error::EncodeError;
use crate::fetch::{
    EpochEndOffset, FIRST_VERSION_WITH_HINTS, FIRST_VERSION_WITHOUT_REPLICA_ID, FetchPartition,
    FetchPartitionResponse, FetchRequest, FetchResponse, FetchTopic, FetchTopicResponse, ForgottenTopic,
};
use crate::fields::{FieldWriter, write_leader_hint, write_node_endpoints, write_topic};

/// What a consumer sends where a follower would send its own numbers.
const NOT_A_REPLICA: i32 = -1;
const NO_LOG_START_OFFSET: i64 = -1;
const NO_PREFERRED_REPLICA: i32 = -1;

impl EncodeBody for FetchRequest {
    fn size_hint(&self, _version: i16) -> usize {
        let topics: usize = self
            .topics
            .iter()
            .map(|topic| 32 + topic.name.len() + 33 * topic.partitions.len())
            .sum();
        let forgotten: usize = self
            .forgotten
            .iter()
            .map(|topic| 32 + topic.name.len() + 4 * topic.partitions.len())
            .sum();
        64 + self.rack_id.len() + topics + forgotten
    }

    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError> {
        if version < FIRST_VERSION_WITHOUT_REPLICA_ID {
            writer.i32(NOT_A_REPLICA);
        }
        writer.i32(self.max_wait_ms);
        writer.i32(self.min_bytes);
        writer.i32(self.max_bytes);
        writer.i8(self.isolation_level.code());
        writer.i32(self.session_id);
        writer.i32(self.session_epoch);
        writer.array("topics", &self.topics, |writer, topic| {
            write_wanted(writer, api, version, topic)
        })?;
        writer.array("forgotten topics", &self.forgotten, |writer, topic| {
            write_forgotten(writer, api, version, topic)
        })?;
        writer.text("rack id", &self.rack_id)?;
        writer.tag_count(0);
        Ok(())
    }
}

fn write_wanted(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    topic: &FetchTopic,
) -> Result<(), EncodeError> {
    write_topic(writer, api, version, &topic.name, topic.id)?;
    writer.array(
        "partitions",
        &topic.partitions,
        |writer, partition: &FetchPartition| {
            writer.i32(partition.index);
            writer.i32(partition.current_leader_epoch.0);
            writer.i64(partition.fetch_offset);
            writer.i32(partition.last_fetched_epoch.0);
            writer.i64(NO_LOG_START_OFFSET);
            writer.i32(partition.max_bytes);
            writer.tag_count(0);
            Ok(())
        },
    )?;
    writer.tag_count(0);
    Ok(())
}

fn write_forgotten(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    topic: &ForgottenTopic,
) -> Result<(), EncodeError> {
    write_topic(writer, api, version, &topic.name, topic.id)?;
    writer.array("partitions", &topic.partitions, |writer, index| {
        writer.i32(*index);
        Ok(())
    })?;
    writer.tag_count(0);
    Ok(())
}

impl EncodeBody for FetchResponse {
    fn size_hint(&self, _version: i16) -> usize {
        let topics: usize = self
            .topics
            .iter()
            .map(|topic| 32 + topic.name.len() + 80 * topic.partitions.len())
            .sum();
        32 + topics
    }

    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError> {
        writer.i32(self.throttle_time_ms);
        writer.i16(self.error_code.0);
        writer.i32(self.session_id);
        writer.array("topics", &self.topics, |writer, topic| {
            write_read_topic(writer, api, version, topic)
        })?;
        let endpoints = if version >= FIRST_VERSION_WITH_HINTS {
            self.node_endpoints.as_slice()
        } else {
            &[]
        };
        write_node_endpoints(writer, endpoints)
    }
}

fn write_read_topic(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    topic: &FetchTopicResponse,
) -> Result<(), EncodeError> {
    write_topic(writer, api, version, &topic.name, topic.id)?;
    writer.array("partitions", &topic.partitions, write_read_partition)?;
    writer.tag_count(0);
    Ok(())
}

fn write_read_partition(
    writer: &mut FieldWriter,
    partition: &FetchPartitionResponse,
) -> Result<(), EncodeError> {
    writer.i32(partition.index);
    writer.i16(partition.error_code.0);
    writer.i64(partition.high_watermark);
    writer.i64(partition.last_stable_offset);
    writer.i64(partition.log_start_offset);
    let aborted = partition.aborted_transactions.as_deref();
    writer.nullable_array("aborted transactions", aborted, |writer, aborted| {
        writer.i64(aborted.producer_id.0);
        writer.i64(aborted.first_offset);
        writer.tag_count(0);
        Ok(())
    })?;
    writer.i32(
        partition
            .preferred_read_replica
            .map_or(NO_PREFERRED_REPLICA, |replica| replica.0),
    );
    writer.bytes("records", &partition.records)?;

    let diverging = write_diverging_epoch(partition.diverging_epoch);
    let leader = write_leader_hint(partition.current_leader);
    writer.tag_count(u32::from(diverging.is_some()) + u32::from(leader.is_some()));
    if let Some(diverging) = diverging {
        writer.tagged_field("diverging epoch", 0, &diverging)?;
    }
    if let Some(leader) = leader {
        writer.tagged_field("current leader", 1, &leader)?;
    }
    Ok(())
}

fn write_diverging_epoch(diverging: Option<EpochEndOffset>) -> Option<[u8; 13]> {
    let diverging = diverging.filter(|diverging| *diverging != EpochEndOffset::NONE)?;
    let mut bytes = [0; 13];
    let mut rest = &mut bytes[..];
    rest.put_i32(diverging.epoch.0);
    rest.put_i64(diverging.end_offset);
    Some(bytes)
}
