//! `sealwax txns hanging`: transactions that partitions have open, that no coordinator knows of, and what they hold up.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use sealwax::admin::{Admin, OffsetSpec};
use sealwax::{Error, IsolationLevel, TopicPartition};
use serde_json::{Value, json};

use super::super::cluster::{self, ClusterArguments};
use super::super::{Failure, say};
use super::judge::Judgement;
use super::open::{self, OpenTransaction};
use super::scope::Scope;
use super::table::{Table, cell};
use super::{connect, error_json, finding, incomplete, time};

/// The broker's setting above which no transaction stays open as long as a coordinator knows it.
const MAX_TIMEOUT: &str = "transaction.max.timeout.ms";

/// Arguments of `sealwax txns hanging`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    scope: Scope,
    /// Look only at transactions without a write for longer than this, such as 15m. Default: the brokers' transaction.max.timeout.ms
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    older_than: Option<Duration>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// Something hangs, or not everything could be looked at.
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let admin = connect(&arguments.cluster).await?;
    let partitions = arguments.scope.partitions(&admin).await?;
    let older_than = match arguments.older_than {
        Some(age) => age,
        None => max_timeout(&admin).await?,
    };
    let seen = open::open_on(&admin, &partitions).await;
    let open = seen.open.len();
    let old = old_enough(seen.open, older_than, time::now_ms());
    let judged = open::judge_all(&admin, old).await?;
    let report = Report {
        partitions: partitions.len(),
        open,
        older_than,
        hanging: with_ends(&admin, judged).await?,
        failed: seen.failed,
    };
    conclude(&report, arguments.json)
}

fn conclude(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        say::result(&report.to_json())?;
    } else {
        say::result(report)?;
    }
    incomplete("not every partition could be looked at", &report.failed)?;
    match report.hanging.len() {
        0 => Ok(()),
        1 => Err(finding("1 transaction hangs")),
        many => Err(finding(format!("{many} transactions hang"))),
    }
}

/// The longest time that any broker lets a transaction stay open.
async fn max_timeout(admin: &Admin) -> Result<Duration, Failure> {
    let unknown = |error: &Error| {
        let what = format!("the brokers' {MAX_TIMEOUT} cannot be had; give --older-than instead");
        cluster::failure(&what, error)
    };
    let nodes = admin
        .describe_cluster()
        .await
        .map_err(|error| unknown(&error))?
        .nodes;
    let mut longest = None;
    for node in nodes {
        let configs = admin
            .broker_configs(node.id)
            .await
            .map_err(|error| unknown(&error))?;
        let value = configs.get(MAX_TIMEOUT).and_then(Option::as_deref);
        longest = longest.max(value.and_then(|value| value.parse::<u64>().ok()));
    }
    longest.map(Duration::from_millis).ok_or_else(|| {
        finding(format!(
            "no broker told its {MAX_TIMEOUT}; give --older-than instead"
        ))
    })
}

/// Those whose last write is long ago. A time that the partition does not know counts as long ago.
fn old_enough(open: Vec<OpenTransaction>, older_than: Duration, now_ms: i64) -> Vec<OpenTransaction> {
    let is_old = |open: &OpenTransaction| {
        let written = open.producer.last_timestamp_ms;
        written.is_none_or(|written| time::since(written, now_ms) > older_than)
    };
    open.into_iter().filter(is_old).collect()
}

/// A transaction that hangs, and the ends of its partition.
#[derive(Debug)]
struct Hanging {
    open: OpenTransaction,
    judgement: Judgement,
    last_stable_offset: Option<i64>,
    end_offset: Option<i64>,
}

impl Hanging {
    /// Whether it is the one that readers wait for; if not, an older one is.
    fn blocks(&self) -> bool {
        self.last_stable_offset == Some(self.open.start_offset)
    }

    /// How many offsets readers cannot reach.
    fn held_up(&self) -> Option<i64> {
        Some(self.end_offset? - self.last_stable_offset?)
    }

    fn sentence(&self) -> String {
        let OpenTransaction {
            partition,
            start_offset,
            ..
        } = &self.open;
        let wait = if self.blocks() {
            let held_up = cell(self.held_up());
            format!(
                "readers with read_committed wait at offset {start_offset} for it; {held_up} offsets are held up"
            )
        } else {
            let stable = cell(self.last_stable_offset);
            format!("readers with read_committed wait at offset {stable} for an older transaction first")
        };
        format!(
            "{partition}: {wait}. {}.\n  End it: sealwax txns abort --topic {} --partition {} --start-offset {start_offset}",
            capitalized(&self.judgement.to_string()),
            partition.topic,
            partition.partition
        )
    }

    fn to_json(&self) -> Value {
        let producer = &self.open.producer;
        json!({
            "topic": &*self.open.partition.topic,
            "partition": self.open.partition.partition,
            "producer_id": producer.producer_id.0,
            "producer_epoch": producer.producer_epoch.0,
            "coordinator_epoch": producer.coordinator_epoch,
            "start_offset": self.open.start_offset,
            "last_timestamp_ms": producer.last_timestamp_ms,
            "transactional_id": self.judgement.transactional_id(),
            "reason": self.judgement.to_string(),
            "last_stable_offset": self.last_stable_offset,
            "end_offset": self.end_offset,
            "blocks": self.blocks(),
            "held_up": self.held_up(),
        })
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

async fn with_ends(
    admin: &Admin,
    judged: Vec<(OpenTransaction, Judgement)>,
) -> Result<Vec<Hanging>, Failure> {
    let hanging: Vec<_> = judged
        .into_iter()
        .filter(|(_, judgement)| judgement.hangs())
        .collect();
    let partitions = || hanging.iter().map(|(open, _)| &open.partition);
    let stable = ends(admin, partitions(), IsolationLevel::ReadCommitted).await?;
    let end = ends(admin, partitions(), IsolationLevel::ReadUncommitted).await?;
    let with_ends = |(open, judgement): (OpenTransaction, Judgement)| Hanging {
        last_stable_offset: stable.get(&open.partition).copied(),
        end_offset: end.get(&open.partition).copied(),
        open,
        judgement,
    };
    Ok(hanging.into_iter().map(with_ends).collect())
}

/// The end of each partition, as far as readers of this isolation level can go.
pub(super) async fn ends(
    admin: &Admin,
    partitions: impl Iterator<Item = &TopicPartition>,
    isolation_level: IsolationLevel,
) -> Result<BTreeMap<TopicPartition, i64>, Failure> {
    let asked: Vec<_> = partitions
        .map(|partition| (partition.clone(), OffsetSpec::Latest))
        .collect();
    if asked.is_empty() {
        return Ok(BTreeMap::new());
    }
    admin
        .list_offsets(&asked, isolation_level)
        .await
        .map_err(|error| cluster::failure("the ends of the partitions cannot be had", &error))
}

/// The finding.
#[derive(Debug)]
struct Report {
    partitions: usize,
    open: usize,
    older_than: Duration,
    hanging: Vec<Hanging>,
    failed: Vec<(String, Error)>,
}

impl Report {
    fn to_json(&self) -> Value {
        let failed = self.failed.iter();
        json!({
            "partitions": self.partitions,
            "open": self.open,
            "older_than_ms": u64::try_from(self.older_than.as_millis()).unwrap_or(u64::MAX),
            "hanging": self.hanging.iter().map(Hanging::to_json).collect::<Value>(),
            "failed": failed.map(|(of, error)| json!({ "of": of, "error": error_json(error) })).collect::<Value>(),
        })
    }

    fn table(&self) -> Table<8> {
        let row = |hanging: &Hanging| {
            let producer = &hanging.open.producer;
            [
                hanging.open.partition.to_string(),
                producer.producer_id.0.to_string(),
                producer.producer_epoch.0.to_string(),
                cell(producer.coordinator_epoch),
                hanging.open.start_offset.to_string(),
                cell(producer.last_timestamp_ms.map(time::utc)),
                cell(hanging.last_stable_offset),
                cell(hanging.end_offset),
            ]
        };
        Table::new(
            [
                "PARTITION",
                "PRODUCER ID",
                "EPOCH",
                "COORDINATOR EPOCH",
                "OPEN FROM OFFSET",
                "LAST WRITE",
                "LAST STABLE OFFSET",
                "END OFFSET",
            ],
            self.hanging.iter().map(row),
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hanging.is_empty() {
            return write!(
                f,
                "no hanging transactions: {} partitions looked at, {} transactions open there, none of them both without a write for \
                 {} and unknown to its coordinator",
                self.partitions,
                self.open,
                time::duration(self.older_than)
            );
        }
        writeln!(f, "{}", self.table())?;
        for hanging in &self.hanging {
            write!(f, "\n{}", hanging.sentence())?;
        }
        f.write_str(
            "\n\nA transactional id that you may not describe cannot be told from one that does not exist: be sure to have Describe on all \
             transactional ids before you abort.",
        )
    }
}

#[cfg(test)]
mod tests {
    use sealwax::admin::TransactionState;

    use super::super::judge::tests::{described, open};
    use super::*;

    fn report(last_stable_offset: i64) -> Report {
        Report {
            partitions: 3,
            open: 2,
            older_than: Duration::from_secs(900),
            hanging: vec![Hanging {
                open: open(),
                judgement: Judgement::NotItsTransaction(described(7, TransactionState::CompleteCommit, &[])),
                last_stable_offset: Some(last_stable_offset),
                end_offset: Some(52),
            }],
            failed: Vec::new(),
        }
    }

    #[test]
    fn it_is_said_what_holds_up_what_and_how_to_end_it() {
        let text = report(40).to_string();
        for part in [
            "t-0        7            3      -                  40                1970-01-01T00:00:01Z  40                  52\n",
            "t-0: readers with read_committed wait at offset 40 for it; 12 offsets are held up. \
             Transactional id \"orders-1\" is CompleteCommit and has nothing open here.",
            "sealwax txns abort --topic t --partition 0 --start-offset 40",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let text = report(30).to_string();
        assert!(
            text.contains("wait at offset 30 for an older transaction first"),
            "{text}"
        );
        let object = report(40).to_json();
        assert_eq!(object["hanging"][0]["blocks"], true);
        assert_eq!(object["hanging"][0]["held_up"], 12);
        assert_eq!(object["hanging"][0]["transactional_id"], "orders-1");
        assert_eq!((&object["partitions"], &object["open"]), (&json!(3), &json!(2)));
    }

    #[test]
    fn the_exit_tells_whether_something_hangs_or_could_not_be_looked_at() {
        let mut report = report(40);
        let failure = conclude(&report, true).unwrap_err();
        assert_eq!(failure.to_string(), "1 transaction hangs");
        report.hanging.clear();
        assert_eq!(conclude(&report, false), Ok(()));
        assert!(
            report
                .to_string()
                .contains("3 partitions looked at, 2 transactions open"),
            "{report}"
        );
    }

    #[test]
    fn only_those_without_a_write_for_long_are_judged() {
        let age = Duration::from_secs(2);
        assert!(old_enough(vec![open()], age, 3000).is_empty());
        assert_eq!(old_enough(vec![open()], age, 3001).len(), 1);
        let mut timeless = open();
        timeless.producer.last_timestamp_ms = None;
        assert_eq!(old_enough(vec![timeless], age, 0).len(), 1);
    }
}
