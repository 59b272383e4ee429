//! Reads the planned offsets with a consumer and hands each record to the counter.
//!
//! Input: a consumer that is assigned to the plan's unread partitions, from their starts. Output: the plan read to its end,
//! or what is being waited for when there was no progress for too long.

use std::time::{Duration, Instant};

use sealwax::{Consumer, FetchedRecords, IsolationLevel, TopicPartition};

use super::counter::Counter;
use super::patience::{Patience, Verdict};
use super::plan::{Plan, Span};
use super::progress::Progress;

/// How often a wait is judged.
const LOOK: Duration = Duration::from_millis(500);

/// How the reading ended.
#[derive(Debug)]
pub(super) enum End {
    /// Every partition was read to its captured end.
    Complete,
    /// There was no progress for the limit. What was being waited for, one sentence for each partition.
    Stalled(Vec<String>),
}

/// Reads until the plan is complete, or without progress for `limit`.
///
/// # Errors
/// The first error that does not go away by trying again.
pub(super) async fn read(
    consumer: &mut Consumer,
    topic: &str,
    isolation_level: IsolationLevel,
    limit: Duration,
    plan: &mut Plan,
    counter: &mut Counter,
) -> sealwax::Result<End> {
    let progress = Progress::new(plan.total());
    let mut patience = Patience::new(limit, Instant::now());
    while !plan.is_complete() {
        match tokio::time::timeout(LOOK, consumer.next()).await {
            Ok(Ok(fetched)) => {
                if take(&fetched, plan, counter)? {
                    patience.progress(Instant::now());
                    progress.set(plan.done());
                }
            }
            Ok(Err(error)) if error.is_retriable() => {
                progress.note(&format!("trying again: {error}"));
                tokio::time::sleep(LOOK).await;
            }
            Ok(Err(error)) => return Err(error),
            Err(_elapsed) => {}
        }
        match patience.judge(Instant::now()) {
            Verdict::Wait => {}
            Verdict::Say => reasons(consumer, topic, isolation_level, plan)
                .iter()
                .for_each(|reason| progress.note(&format!("waiting: {reason}"))),
            Verdict::GiveUp => return Ok(End::Stalled(reasons(consumer, topic, isolation_level, plan))),
        }
    }
    Ok(End::Complete)
}

/// Counts what lies before the captured end. True if the partition's position moved.
fn take(fetched: &FetchedRecords, plan: &mut Plan, counter: &mut Counter) -> sealwax::Result<bool> {
    let partition = fetched.topic_partition().partition;
    let Some(end) = plan.end_of(partition) else {
        return Ok(false);
    };
    for record in fetched.records() {
        let record = record?;
        if record.offset >= end {
            break;
        }
        counter.observe(partition, record.offset, record.value);
    }
    counter.pass_over(fetched.aborted_records());
    Ok(plan.advance(partition, fetched.next_offset()))
}

/// Why each unread partition does not move.
fn reasons(consumer: &Consumer, topic: &str, isolation_level: IsolationLevel, plan: &Plan) -> Vec<String> {
    plan.unread()
        .map(|(partition, span)| {
            let partition = TopicPartition::new(topic, partition);
            let stable = consumer.last_stable_offset(&partition);
            reason(&partition, span, isolation_level, stable)
        })
        .collect()
}

fn reason(
    partition: &TopicPartition,
    span: Span,
    isolation_level: IsolationLevel,
    last_stable_offset: Option<i64>,
) -> String {
    let place = format!(
        "partition {partition} stands at offset {} of {}",
        span.position, span.end
    );
    match (isolation_level, last_stable_offset) {
        (IsolationLevel::ReadCommitted, Some(stable)) if stable <= span.position => format!(
            "{place}: an open transaction begins at offset {stable}; it ends when its producer commits or aborts, \
             or by itself after the producer's transaction.timeout.ms"
        ),
        (IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted, _) => {
            format!(
                "{place}: its leader sends nothing more; see whether the partition has a leader (kafka-topics.sh --describe)"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_partition_offset_and_cause() {
        let partition = TopicPartition::new("out", 3);
        let span = Span {
            start: 0,
            end: 90,
            position: 40,
        };
        let open = reason(&partition, span, IsolationLevel::ReadCommitted, Some(40));
        assert!(open.starts_with(
            "partition out-3 stands at offset 40 of 90: an open transaction begins at offset 40;"
        ));
        for other in [
            reason(&partition, span, IsolationLevel::ReadCommitted, Some(90)),
            reason(&partition, span, IsolationLevel::ReadCommitted, None),
            reason(&partition, span, IsolationLevel::ReadUncommitted, Some(40)),
        ] {
            assert!(
                other.starts_with("partition out-3 stands at offset 40 of 90: its leader"),
                "{other}"
            );
        }
    }
}
