//! ListOffsets (API key 2).

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sealwax_protocol::fetch::IsolationLevel;
use sealwax_protocol::ids::TopicPartition;

use crate::admin::Admin;
use crate::admin::retry::Patience;
use crate::error::Result;
use crate::machine::admin::Verdict;
use crate::machine::admin::items::out_of_time;
use crate::machine::admin::list_offsets::{EARLIEST, LATEST, ListOffsets};
use crate::machine::{Destination, RequestFailure};

/// Which offset is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first offset that the log has.
    Earliest,
    /// The end: the high watermark, or the last stable offset under read_committed.
    Latest,
    /// The first offset whose record is not older than this, in milliseconds since 1970.
    Timestamp(i64),
}

impl OffsetSpec {
    /// The number on the wire. Times before 1970 would mean something else there, and no record is that old.
    fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => EARLIEST,
            Self::Latest => LATEST,
            Self::Timestamp(since) => since.max(0),
        }
    }
}

impl Admin {
    /// The offset of each partition. For [`OffsetSpec::Timestamp`] a partition without such a record is left out.
    ///
    /// # Errors
    /// If a partition is unknown, or no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn list_offsets(
        &self,
        partitions: &[(TopicPartition, OffsetSpec)],
        isolation_level: IsolationLevel,
    ) -> Result<BTreeMap<TopicPartition, i64>> {
        let mut patience = self.patience();
        let wanted = partitions
            .iter()
            .map(|(partition, spec)| (partition.clone(), spec.timestamp()));
        let mut call = ListOffsets::new(wanted, isolation_level, self.cluster.config().request_timeout);
        while !call.is_done() {
            self.round(&mut call, &patience).await?;
            if !call.is_done() && !self.pause(&mut patience).await {
                return Err(out_of_time("listing the offsets", call.last_reason()));
            }
        }
        Ok(call.into_offsets())
    }

    /// Asks who leads, then all leaders at once.
    async fn round(&self, call: &mut ListOffsets, patience: &Patience) -> Result<()> {
        let response = match self.describe(patience, call.metadata_request()).await? {
            Verdict::Done(response) => response,
            Verdict::Again(reason) => {
                call.postpone(reason);
                return Ok(());
            }
            Verdict::Failed(error) => return Err(error),
        };
        let requests = call.route(&response)?;
        let answers = requests
            .into_iter()
            .map(|(leader, request)| self.attempt(patience, Destination::Node(leader), request));
        for answer in join_all(answers).await {
            match answer {
                Ok(body) => call.take(body)?,
                Err(failure) => put_off(call, failure)?,
            }
        }
        Ok(())
    }
}

fn put_off(call: &mut ListOffsets, failure: RequestFailure) -> Result<()> {
    let error = failure.error().clone();
    if !error.is_retriable() {
        return Err(error);
    }
    call.postpone(error);
    Ok(())
}
