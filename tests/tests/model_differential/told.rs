//! What an answer says, as a line of text without what may differ: producer ids by the order in which they were first seen, of times only whether
//! there is one, no words of the broker.

use std::fmt::Write as _;

use anyhow::Result;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::FetchPartitionResponse;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::Batches;
use sealwax_protocol::response::ResponseBody;

/// Producer ids, in the order in which one side has told them.
#[derive(Debug, Default)]
pub(crate) struct Ids(Vec<i64>);

impl Ids {
    pub(crate) fn name(&mut self, id: i64) -> String {
        if id < 0 {
            return "none".to_owned();
        }
        let at = self.0.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.0.push(id);
            self.0.len() - 1
        });
        format!("P{at}")
    }

    fn is_known(&self, id: i64) -> bool {
        self.0.contains(&id)
    }
}

fn code(code: i16) -> String {
    ErrorCode(code).to_string()
}

fn time(milliseconds: i64) -> &'static str {
    if milliseconds < 0 { "never" } else { "a time" }
}

/// The line. `transactional_id` is the script's: what is said of others is left out.
pub(crate) fn line(answer: &ResponseBody, transactional_id: &str, ids: &mut Ids) -> Result<String> {
    let mut text = String::new();
    match answer {
        ResponseBody::InitProducerId(answer) => {
            let id = ids.name(answer.producer_id.0);
            write!(
                text,
                "{} {id} epoch {}",
                code(answer.error_code),
                answer.producer_epoch
            )?;
        }
        ResponseBody::AddPartitionsToTxn(answer) => {
            for topic in &answer.results_by_topic_v3_and_below {
                let mut results = topic.results_by_partition.clone();
                results.sort_by_key(|result| result.partition_index);
                for result in results {
                    write!(
                        text,
                        "{}: {}; ",
                        result.partition_index,
                        code(result.partition_error_code)
                    )?;
                }
            }
        }
        ResponseBody::AddOffsetsToTxn(answer) => text.push_str(&code(answer.error_code)),
        ResponseBody::EndTxn(answer) => {
            let id = ids.name(answer.producer_id.0);
            write!(
                text,
                "{} {id} epoch {}",
                code(answer.error_code),
                answer.producer_epoch
            )?;
        }
        ResponseBody::Produce(answer) => {
            for result in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                let (offset, start) = (result.base_offset, result.log_start_offset);
                write!(text, "{} offset {offset} log from {start}", result.error_code)?;
            }
        }
        ResponseBody::TxnOffsetCommit(answer) => {
            for result in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                write!(text, "{}: {}; ", result.partition_index, code(result.error_code))?;
            }
        }
        ResponseBody::OffsetFetch(answer) => {
            for group in &answer.groups {
                write!(text, "{} ", code(group.error_code))?;
                for result in group.topics.iter().flat_map(|topic| &topic.partitions) {
                    let (offset, epoch) = (result.committed_offset, result.committed_leader_epoch);
                    let metadata = &result.metadata;
                    write!(text, "{}: {} ", result.partition_index, code(result.error_code))?;
                    write!(text, "offset {offset} epoch {epoch} {metadata:?}; ")?;
                }
            }
        }
        ResponseBody::DescribeTransactions(answer) => {
            for state in &answer.transaction_states {
                let id = ids.name(state.producer_id.0);
                let (name, epoch) = (state.transaction_state.as_str(), state.producer_epoch);
                let (limit, started) = (
                    state.transaction_timeout_ms,
                    time(state.transaction_start_time_ms),
                );
                write!(text, "{} {name} {id} epoch {epoch} ", code(state.error_code))?;
                write!(text, "timeout {limit} started {started} in")?;
                let mut topics = state.topics.clone();
                topics.sort_by(|one, other| one.topic.cmp(&other.topic));
                for topic in topics {
                    let mut partitions = topic.partitions.clone();
                    partitions.sort_unstable();
                    // Which partition a group belongs to depends on its name.
                    if topic.topic.0.as_str().starts_with("__") {
                        write!(text, " offsets[{} of them]", partitions.len())?;
                    } else {
                        write!(text, " topic{partitions:?}")?;
                    }
                }
            }
        }
        ResponseBody::ListTransactions(answer) => {
            write!(
                text,
                "{} unknown {:?}",
                code(answer.error_code),
                answer.unknown_state_filters
            )?;
            let mut own = answer.transaction_states.iter();
            if let Some(state) = own.find(|state| state.transactional_id.0.as_str() == transactional_id) {
                let id = ids.name(state.producer_id.0);
                write!(text, " {} {id}", state.transaction_state.as_str())?;
            }
        }
        ResponseBody::DescribeProducers(answer) => {
            for partition in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                write!(text, "{}", code(partition.error_code))?;
                let mut producers = partition.active_producers.clone();
                producers.sort_by_key(|producer| producer.producer_id.0);
                for producer in producers {
                    let id = ids.name(producer.producer_id.0);
                    let (epoch, last) = (producer.producer_epoch, producer.last_sequence);
                    let marked = if producer.coordinator_epoch < 0 {
                        "unmarked"
                    } else {
                        "marked"
                    };
                    let (open, at) = (producer.current_txn_start_offset, time(producer.last_timestamp));
                    write!(
                        text,
                        " {id} epoch {epoch} sequence {last} {marked} open {open} at {at};"
                    )?;
                }
            }
        }
        ResponseBody::ListOffsets(answer) => {
            for result in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                let (offset, at, epoch) = (result.offset, result.timestamp, result.leader_epoch);
                write!(
                    text,
                    "{} offset {offset} at {at} epoch {epoch}",
                    code(result.error_code)
                )?;
            }
        }
        ResponseBody::Fetch(answer) => {
            write!(text, "{}", answer.error_code)?;
            for partition in answer.topics.iter().flat_map(|topic| &topic.partitions) {
                fetched(partition, ids, &mut text)?;
            }
        }
        ResponseBody::WriteTxnMarkers(answer) => {
            for marker in &answer.markers {
                for result in marker.topics.iter().flat_map(|topic| &topic.partitions) {
                    write!(text, "{}: {}; ", result.partition_index, code(result.error_code))?;
                }
            }
        }
        other => anyhow::bail!("no script asks for {:?}", other.api_key()),
    }
    Ok(text)
}

fn fetched(partition: &FetchPartitionResponse, ids: &mut Ids, text: &mut String) -> Result<()> {
    let (end, stable) = (partition.high_watermark, partition.last_stable_offset);
    let start = partition.log_start_offset;
    write!(
        text,
        " {} end {end} stable {stable} from {start}",
        partition.error_code
    )?;
    let mut aborted = partition.aborted_transactions.clone();
    if let Some(aborted) = &mut aborted {
        aborted.sort_by_key(|one| (one.first_offset, one.producer_id.0));
    }
    match aborted {
        None => write!(text, " aborted not asked")?,
        Some(list) => {
            for one in list {
                debug_assert!(ids.is_known(one.producer_id.0));
                write!(
                    text,
                    " aborted {} from {}",
                    ids.name(one.producer_id.0),
                    one.first_offset
                )?;
            }
        }
    }
    write!(text, " bytes {}", partition.records.len())?;
    for batch in Batches::new(partition.records.clone(), DecodeLimits::default()) {
        let batch = batch?;
        let header = batch.header();
        let (first, last) = (header.base_offset, header.last_offset());
        let (id, epoch) = (ids.name(header.producer_id), header.producer_epoch);
        let (sequence, kind) = (header.base_sequence, batch.control_type()?);
        let (bits, leader) = (header.attributes, header.partition_leader_epoch);
        write!(
            text,
            "\n      {first}-{last} {id} epoch {epoch} sequence {sequence} {kind:?} bits {bits} leader {leader}"
        )?;
        for record in batch.records() {
            let value = record?.value.unwrap_or_default();
            if kind.is_none() {
                write!(text, " {}", String::from_utf8_lossy(value))?;
            }
        }
    }
    Ok(())
}
