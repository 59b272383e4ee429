//! Transactions that partitions have open, and what coordinators know of them.

use std::collections::BTreeSet;

use sealwax::admin::{Admin, ProducerState, TransactionDescription, TransactionFilter};
use sealwax::{Error, ErrorCode, ProducerId, TopicPartition};

use super::super::Failure;
use super::incomplete;
use super::judge::{Judgement, judge};

/// A transaction that a partition has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenTransaction {
    /// The partition.
    pub(super) partition: TopicPartition,
    /// Whose it is, as the partition's leader remembers.
    pub(super) producer: ProducerState,
    /// Its first offset.
    pub(super) start_offset: i64,
}

impl OpenTransaction {
    /// The open one of a producer's, if it has one.
    pub(super) fn of(partition: &TopicPartition, producer: ProducerState) -> Option<Self> {
        Some(Self {
            partition: partition.clone(),
            start_offset: producer.current_txn_start_offset?,
            producer,
        })
    }

    /// Whether it is the very same transaction, seen at another time.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.partition == other.partition
            && self.start_offset == other.start_offset
            && self.producer.producer_id == other.producer.producer_id
            && self.producer.producer_epoch == other.producer.producer_epoch
    }
}

/// What partitions have open, and which of them could not tell.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The open transactions, by partition and offset.
    pub(super) open: Vec<OpenTransaction>,
    /// The partitions that could not tell.
    pub(super) failed: Vec<(String, Error)>,
}

/// Asks the partitions' leaders.
pub(super) async fn open_on(admin: &Admin, partitions: &[TopicPartition]) -> Seen {
    let mut seen = Seen::default();
    for (partition, result) in partitions.iter().zip(admin.describe_producers(partitions).await) {
        match result {
            Ok(producers) => {
                let open = producers
                    .into_iter()
                    .filter_map(|producer| OpenTransaction::of(partition, producer));
                seen.open.extend(open);
            }
            Err(error) => seen.failed.push((format!("partition {partition}"), error)),
        }
    }
    seen.open.sort_by(|one, other| {
        (&one.partition, one.start_offset).cmp(&(&other.partition, other.start_offset))
    });
    seen
}

/// Judges open transactions by what all coordinators know, and looks again at those that seem to hang: one that has ended in the
/// meantime is left out.
///
/// # Errors
/// A coordinator did not tell what it knows, so that nothing can be said.
pub(super) async fn judge_all(
    admin: &Admin,
    open: Vec<OpenTransaction>,
) -> Result<Vec<(OpenTransaction, Judgement)>, Failure> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let descriptions = descriptions(admin, &open).await?;
    let judged: Vec<_> = open
        .into_iter()
        .map(|open| {
            let judgement = judge(&open, &descriptions);
            (open, judgement)
        })
        .collect();
    still_open(admin, judged).await
}

async fn still_open(
    admin: &Admin,
    judged: Vec<(OpenTransaction, Judgement)>,
) -> Result<Vec<(OpenTransaction, Judgement)>, Failure> {
    let suspects = judged.iter().filter(|(_, judgement)| judgement.hangs());
    let partitions: BTreeSet<TopicPartition> = suspects.map(|(open, _)| open.partition.clone()).collect();
    let partitions: Vec<TopicPartition> = partitions.into_iter().collect();
    let now = open_on(admin, &partitions).await;
    incomplete(
        "a suspected transaction could not be looked at again",
        &now.failed,
    )?;
    let remains = |(open, judgement): &(OpenTransaction, Judgement)| {
        !judgement.hangs() || now.open.iter().any(|still| still.is_same(open))
    };
    Ok(judged.into_iter().filter(remains).collect())
}

/// What coordinators know of the transactional ids that have these producer ids.
async fn descriptions(
    admin: &Admin,
    open: &[OpenTransaction],
) -> Result<Vec<TransactionDescription>, Failure> {
    let producers: BTreeSet<ProducerId> = open.iter().map(|open| open.producer.producer_id).collect();
    let filter = TransactionFilter {
        producer_ids: producers.into_iter().collect(),
        ..TransactionFilter::default()
    };
    let (listed, failed) = super::list::list(admin, &filter).await?;
    incomplete(
        "a broker did not tell which transactions it coordinates, so nothing can be said of open ones",
        &failed,
    )?;
    let ids: Vec<&str> = listed
        .iter()
        .map(|(_, listing)| listing.transactional_id.as_str())
        .collect();
    let mut known = Vec::new();
    let mut failed = Vec::new();
    for (id, result) in ids.iter().zip(admin.describe_transactions(&ids).await) {
        match result {
            Ok(description) => known.push(description),
            // It was forgotten since it was listed: then its coordinator knows of nothing open.
            Err(error) if error.code() == Some(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND) => {}
            Err(error) => failed.push((format!("transactional id \"{id}\""), error)),
        }
    }
    incomplete(
        "a coordinator did not describe a transactional id, so nothing can be said of what it has open",
        &failed,
    )?;
    Ok(known)
}
