//! A run as text. In: what happens, with its instant. Out: lines, kept only if somebody wants them; the same run gives the same bytes.

use std::fmt::Write as _;
use std::time::Duration;

use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::produce::ProduceRequest;
use sealwax_protocol::record::Batches;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

/// The lines of a run.
#[derive(Debug, Default)]
pub(super) struct Trace {
    text: Option<String>,
}

impl Trace {
    /// Keeps what is said.
    pub(super) const fn kept() -> Self {
        Self {
            text: Some(String::new()),
        }
    }

    /// Says a line; it is made only if it is kept.
    pub(super) fn say(&mut self, now: Duration, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            let line = line();
            writeln!(text, "{:>10} {line}", now.as_micros()).expect("a string takes everything");
        }
    }

    /// The lines so far.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// A request in a few words.
pub(super) fn request(body: &RequestBody, version: i16) -> String {
    match body {
        RequestBody::Produce(request) => format!("Produce {version}{}", batches(request)),
        RequestBody::EndTxn(request) => format!(
            "EndTxn {version} {} ({}, {})",
            if request.committed { "commit" } else { "abort" },
            request.producer_id.0,
            request.producer_epoch
        ),
        RequestBody::InitProducerId(request) => format!(
            "InitProducerId {version} ({}, {})",
            request.producer_id.0, request.producer_epoch
        ),
        RequestBody::AddPartitionsToTxn(request) => format!(
            "AddPartitionsToTxn {version} ({}, {}) {:?}",
            request.v3_and_below_producer_id.0,
            request.v3_and_below_producer_epoch,
            request
                .v3_and_below_topics
                .iter()
                .flat_map(|topic| &topic.partitions)
                .collect::<Vec<_>>()
        ),
        RequestBody::Fetch(request) => {
            let parts = request.topics.iter().flat_map(|topic| &topic.partitions);
            let parts = parts.map(|part| format!(" {}@{}", part.index, part.fetch_offset));
            format!("Fetch {version}{}", parts.collect::<String>())
        }
        other => format!("{:?} {version}", other.api_key()),
    }
}

/// An answer in a few words.
pub(super) fn answer(body: &ResponseBody) -> String {
    match body {
        ResponseBody::Produce(response) => {
            let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
            let parts = parts.map(|part| format!(" {}:{}@{}", part.index, part.error_code, part.base_offset));
            format!("Produce{}", parts.collect::<String>())
        }
        ResponseBody::EndTxn(response) => format!(
            "EndTxn {} ({}, {})",
            response.error_code, response.producer_id.0, response.producer_epoch
        ),
        ResponseBody::InitProducerId(response) => format!(
            "InitProducerId {} ({}, {})",
            response.error_code, response.producer_id.0, response.producer_epoch
        ),
        ResponseBody::AddPartitionsToTxn(response) => {
            let parts = response.results_by_topic_v3_and_below.iter();
            let parts = parts.flat_map(|topic| &topic.results_by_partition);
            let parts = parts.map(|part| format!(" {}:{}", part.partition_index, part.partition_error_code));
            format!("AddPartitionsToTxn{}", parts.collect::<String>())
        }
        ResponseBody::FindCoordinator(response) => {
            let nodes = response.coordinators.iter();
            let nodes = nodes.map(|found| format!(" {}:{}", found.node_id.0, found.error_code));
            format!("FindCoordinator{}", nodes.collect::<String>())
        }
        ResponseBody::Fetch(response) => {
            let parts = response.topics.iter().flat_map(|topic| &topic.partitions);
            let parts = parts.map(|part| {
                format!(
                    " {}:{}/{}/{}+{}",
                    part.index,
                    part.error_code,
                    part.last_stable_offset,
                    part.high_watermark,
                    part.records.len()
                )
            });
            format!("Fetch{}", parts.collect::<String>())
        }
        other => format!("{:?}", other.api_key()),
    }
}

fn batches(request: &ProduceRequest) -> String {
    let mut text = String::new();
    for topic in &request.topics {
        for part in &topic.partitions {
            for batch in Batches::new(part.records.clone(), DecodeLimits::default()).flatten() {
                let header = batch.header();
                write!(
                    text,
                    " {}:({}, {})#{}+{}",
                    part.index,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.record_count
                )
                .expect("a string takes everything");
            }
        }
    }
    text
}
