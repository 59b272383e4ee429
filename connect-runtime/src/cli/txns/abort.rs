//! `sealwax txns abort`: fences a transactional id, whose open transaction its coordinator then aborts; or writes the abort marker of a
//! hanging transaction, which no coordinator would write any more.

use clap::ArgGroup;
use sealwax::admin::{AbortTransactionSpec, Admin, TransactionDescription};
use sealwax::{ErrorCode, IsolationLevel, ProducerId, TopicPartition};
use serde_json::json;

use super::super::cluster::{self, ClusterArguments};
use super::super::{Failure, say};
use super::confirm::Consent;
use super::describe::transaction_json;
use super::judge::Judgement;
use super::open::{self, OpenTransaction};
use super::table::cell;
use super::{connect, finding, hanging, incomplete, scope, time};

/// The coordinator epoch of a marker where the partition has never seen one.
const FIRST_COORDINATOR_EPOCH: i32 = 0;

/// Arguments of `sealwax txns abort`.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("what").required(true).args(["transactional_id", "topic"]))]
#[command(group = ArgGroup::new("which").args(["start_offset", "producer_id"]).conflicts_with("transactional_id"))]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Fence this transactional id: its open transaction is aborted, and its producer, if it is alive, can write no more
    #[arg(long, value_name = "ID", conflicts_with_all = ["topic", "partition"])]
    transactional_id: Option<String>,
    /// Abort a hanging transaction on a partition of this topic
    #[arg(long, requires = "partition", requires = "which")]
    topic: Option<String>,
    /// The partition of the topic
    #[arg(long, value_name = "N", requires = "topic", value_parser = scope::parse_index)]
    partition: Option<i32>,
    /// The first offset of the hanging transaction, as `hanging` tells it
    #[arg(long, value_name = "OFFSET")]
    start_offset: Option<i64>,
    /// The producer id of the hanging transaction
    #[arg(long, value_name = "ID")]
    producer_id: Option<i64>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How a transaction on a partition is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    StartOffset(i64),
    Producer(ProducerId),
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    TransactionalId(String),
    Hanging(TopicPartition, Which),
}

impl Arguments {
    /// The target, as the groups of arguments leave room for: one of both, whole.
    fn target(&self) -> Option<Target> {
        if let Some(id) = &self.transactional_id {
            return Some(Target::TransactionalId(id.clone()));
        }
        let partition = TopicPartition::new(self.topic.as_deref()?, self.partition?);
        let by_offset = self.start_offset.map(Which::StartOffset);
        let by_producer = self.producer_id.map(|id| Which::Producer(ProducerId(id)));
        Some(Target::Hanging(partition, by_offset.or(by_producer)?))
    }
}

/// Runs the subcommand.
///
/// # Errors
/// There is no such transaction, it does not hang, the user does not agree, or the cluster refuses.
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let consent = Consent::of_process(arguments.yes, arguments.dry_run)?;
    let Some(target) = arguments.target() else {
        return Err(finding(
            "give --transactional-id, or --topic and --partition with --start-offset or --producer-id",
        ));
    };
    let admin = connect(&arguments.cluster).await?;
    match target {
        Target::TransactionalId(id) => fence(&admin, &id, consent, arguments.json).await,
        Target::Hanging(partition, which) => abort(&admin, &partition, which, consent, arguments.json).await,
    }
}

async fn fence(admin: &Admin, id: &str, consent: Consent, json: bool) -> Result<(), Failure> {
    let before = existing(admin, id).await?;
    let plan = fence_plan(&before);
    if consent == Consent::DryRun {
        let object = json!({
            "action": "fence", "done": false, "transaction": transaction_json(&before),
        });
        return if json {
            say::result(&object)
        } else {
            say::result(&format_args!("would {plan}"))
        };
    }
    consent.obtain(format!("About to {plan}.\nGo on?")).await?;
    let mut results = admin.fence_producers(&[id]).await;
    let Some(fenced) = results.pop() else {
        return Ok(());
    };
    let fenced = fenced.map_err(|error| cluster::failure("the transactional id was not fenced", &error))?;
    if json {
        return say::result(&json!({
            "action": "fence", "done": true, "transaction": transaction_json(&before),
            "producer_id": fenced.producer_id.0, "producer_epoch": fenced.producer_epoch.0,
        }));
    }
    say::result(&format_args!(
        "transactional id \"{id}\" is fenced: it has producer id {} with epoch {} now, and nothing open",
        fenced.producer_id.0, fenced.producer_epoch.0
    ))
}

/// The id as it is. One that is not there is not fenced, because that would make it.
async fn existing(admin: &Admin, id: &str) -> Result<TransactionDescription, Failure> {
    match admin.describe_transactions(&[id]).await.pop() {
        Some(Ok(description)) => Ok(description),
        Some(Err(error)) if error.code() == Some(ErrorCode::TRANSACTIONAL_ID_NOT_FOUND) => Err(finding(
            format!("there is no transactional id \"{id}\"; see which there are with sealwax txns list"),
        )),
        Some(Err(error)) => Err(cluster::failure("the transactional id cannot be fenced", &error)),
        None => Err(finding(format!("nothing was told of transactional id \"{id}\""))),
    }
}

fn fence_plan(of: &TransactionDescription) -> String {
    let partitions: Vec<String> = of.partitions.iter().map(ToString::to_string).collect();
    let open = match of.start_time_ms {
        Some(start) if !partitions.is_empty() => format!(
            "abort its transaction, open since {} on {}",
            time::utc(start),
            partitions.join(", ")
        ),
        Some(start) => format!("abort its transaction, open since {}", time::utc(start)),
        None => "abort nothing, because it has no transaction open".to_owned(),
    };
    format!(
        "fence transactional id \"{}\" (producer id {}, epoch {}, {}) and {open}; a producer of this id that is alive can write no more",
        of.transactional_id, of.producer_id.0, of.producer_epoch.0, of.state
    )
}

async fn abort(
    admin: &Admin,
    partition: &TopicPartition,
    which: Which,
    consent: Consent,
    json: bool,
) -> Result<(), Failure> {
    let open = find(admin, partition, which).await?;
    let judgement = judged(admin, &open).await?;
    let spec = AbortTransactionSpec {
        partition: partition.clone(),
        producer_id: open.producer.producer_id,
        producer_epoch: open.producer.producer_epoch,
        coordinator_epoch: open.producer.coordinator_epoch.unwrap_or(FIRST_COORDINATOR_EPOCH),
    };
    let plan = abort_plan(&open, &spec, &judgement);
    let mut object = json!({
        "action": "abort", "done": false, "topic": &*partition.topic, "partition": partition.partition,
        "producer_id": spec.producer_id.0, "producer_epoch": spec.producer_epoch.0,
        "coordinator_epoch": spec.coordinator_epoch, "start_offset": open.start_offset, "reason": judgement.to_string(),
    });
    if consent == Consent::DryRun {
        return if json {
            say::result(&object)
        } else {
            say::result(&format_args!("would {plan}"))
        };
    }
    consent.obtain(format!("About to {plan}.\nGo on?")).await?;
    admin
        .abort_transaction(&spec)
        .await
        .map_err(|error| cluster::failure("the transaction was not seen to end", &error))?;
    let left = open::open_on(admin, std::slice::from_ref(partition)).await.open;
    if left.iter().any(|left| left.is_same(&open)) {
        return Err(finding(format!(
            "the marker was accepted, but the transaction at offset {} of {partition} is still open; see sealwax txns hanging",
            open.start_offset
        )));
    }
    let stable = hanging::ends(admin, std::iter::once(partition), IsolationLevel::ReadCommitted).await?;
    let stable = stable.get(partition).copied();
    if json {
        object["done"] = true.into();
        object["last_stable_offset"] = stable.into();
        return say::result(&object);
    }
    say::result(&format_args!(
        "the transaction of producer id {} on {partition} is aborted; the last stable offset is {} now",
        spec.producer_id.0,
        cell(stable)
    ))
}

/// The one that is meant.
async fn find(admin: &Admin, partition: &TopicPartition, which: Which) -> Result<OpenTransaction, Failure> {
    let seen = open::open_on(admin, std::slice::from_ref(partition)).await;
    incomplete("the partition did not tell what is open there", &seen.failed)?;
    choose(partition, which, seen.open)
}

fn choose(
    partition: &TopicPartition,
    which: Which,
    open: Vec<OpenTransaction>,
) -> Result<OpenTransaction, Failure> {
    let others: Vec<String> = open
        .iter()
        .map(|open| {
            format!(
                "offset {} of producer id {}",
                open.start_offset, open.producer.producer_id.0
            )
        })
        .collect();
    let meant = |open: &OpenTransaction| match which {
        Which::StartOffset(offset) => open.start_offset == offset,
        Which::Producer(id) => open.producer.producer_id == id,
    };
    open.into_iter().find(meant).ok_or_else(|| {
        let wanted = match which {
            Which::StartOffset(offset) => format!("begins at offset {offset}"),
            Which::Producer(id) => format!("is of producer id {}", id.0),
        };
        let there = if others.is_empty() {
            "nothing is open there".to_owned()
        } else {
            format!("open there: {}", others.join(", "))
        };
        finding(format!("no open transaction on {partition} {wanted}; {there}"))
    })
}

/// Why it hangs.
async fn judged(admin: &Admin, open: &OpenTransaction) -> Result<Judgement, Failure> {
    let judged = open::judge_all(admin, vec![open.clone()]).await?;
    match judged.into_iter().next() {
        Some((_, Judgement::Known(of))) => Err(finding(format!(
            "the transaction at offset {} of {} does not hang: {}. To end it now, fence it: sealwax txns abort --transactional-id {}",
            open.start_offset,
            open.partition,
            Judgement::Known(of.clone()),
            of.transactional_id
        ))),
        Some((_, judgement)) => Ok(judgement),
        None => Err(finding(format!(
            "the transaction at offset {} of {} has just ended by itself",
            open.start_offset, open.partition
        ))),
    }
}

fn abort_plan(open: &OpenTransaction, spec: &AbortTransactionSpec, judgement: &Judgement) -> String {
    let written = open.producer.last_timestamp_ms.map(time::utc);
    format!(
        "abort the transaction on {} from offset {} on: producer id {}, epoch {}, coordinator epoch {}, last write {}; it hangs, because {judgement}",
        spec.partition,
        open.start_offset,
        spec.producer_id.0,
        spec.producer_epoch.0,
        spec.coordinator_epoch,
        cell(written)
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sealwax::admin::TransactionState;

    use super::super::judge::tests::{described, open};
    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn target(line: &str) -> Option<Target> {
        let words = std::iter::once("abort").chain(line.split_whitespace());
        Line::try_parse_from(words).ok()?.arguments.target()
    }

    #[test]
    fn the_arguments_name_one_target_or_are_refused() {
        assert_eq!(
            target("--transactional-id orders-1 --yes"),
            Some(Target::TransactionalId("orders-1".to_owned()))
        );
        let partition = TopicPartition::new("t", 2);
        assert_eq!(
            target("--topic t --partition 2 --start-offset 40"),
            Some(Target::Hanging(partition.clone(), Which::StartOffset(40)))
        );
        assert_eq!(
            target("--topic t --partition 2 --producer-id 7"),
            Some(Target::Hanging(partition, Which::Producer(ProducerId(7))))
        );
        for refused in [
            "",
            "--topic t",
            "--topic t --partition 2",
            "--partition 2 --start-offset 40",
            "--start-offset 40",
            "--topic t --partition -2 --start-offset 40",
            "--topic t --partition 2 --start-offset 40 --producer-id 7",
            "--transactional-id a --topic t --partition 2 --start-offset 40",
            "--transactional-id a --start-offset 40",
        ] {
            let words = std::iter::once("abort").chain(refused.split_whitespace());
            assert!(Line::try_parse_from(words).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn what_is_not_open_is_said_with_what_is() {
        let partition = TopicPartition::new("t", 0);
        let found = choose(&partition, Which::StartOffset(40), vec![open()]).unwrap();
        assert_eq!(found, open());
        assert!(choose(&partition, Which::Producer(ProducerId(7)), vec![open()]).is_ok());
        let missing = choose(&partition, Which::StartOffset(41), vec![open()]).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "no open transaction on t-0 begins at offset 41; open there: offset 40 of producer id 7"
        );
        let empty = choose(&partition, Which::Producer(ProducerId(7)), Vec::new()).unwrap_err();
        assert!(
            empty
                .to_string()
                .ends_with("is of producer id 7; nothing is open there"),
            "{empty}"
        );
    }

    #[test]
    fn the_plans_say_what_is_lost() {
        let plan = fence_plan(&described(7, TransactionState::Ongoing, &[0, 1]));
        assert_eq!(
            plan,
            "fence transactional id \"orders-1\" (producer id 7, epoch 3, Ongoing) and abort its transaction, open since \
             1970-01-01T00:00:00Z on t-0, t-1; a producer of this id that is alive can write no more"
        );
        let spec = AbortTransactionSpec {
            partition: TopicPartition::new("t", 0),
            producer_id: ProducerId(7),
            producer_epoch: open().producer.producer_epoch,
            coordinator_epoch: 0,
        };
        assert_eq!(
            abort_plan(&open(), &spec, &Judgement::ProducerUnknown),
            "abort the transaction on t-0 from offset 40 on: producer id 7, epoch 3, coordinator epoch 0, last write 1970-01-01T00:00:01Z; \
             it hangs, because no transactional id that you may describe has this producer id"
        );
    }
}
