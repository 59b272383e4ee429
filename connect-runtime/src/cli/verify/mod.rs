//! `sealwax verify`: proves that a topic holds each number of a range exactly once.
//!
//! Input: a topic whose values are decimal numbers. The end of each partition is captured at the start with the high
//! watermark, so that under read_committed the run waits for transactions that are open then. Output: a `Report` on
//! stdout; `Ok` only if it is exact.
//!
//! Rooms: `numbers` (the wanted range), `bitmap` and `counter` (pure counting), `plan` (what is unread), `patience` (how long
//! to wait), `read` (the loop), `progress` (the bar), `report` (text and JSON).

mod bitmap;
mod counter;
mod numbers;
mod patience;
mod plan;
mod progress;
mod read;
mod report;

use std::collections::BTreeMap;
use std::time::Duration;

use sealwax::admin::OffsetSpec;
use sealwax::config::ConsumerConfig;
use sealwax::{Client, Consumer, IsolationLevel, StartOffset, TopicPartition};

use self::counter::Counter;
use self::numbers::Numbers;
use self::plan::Plan;
use self::read::End;
use self::report::Report;
use super::cluster::{self, ClusterArguments};
use super::isolation::Isolation;
use super::{Exit, Failure, say};
use crate::api::Settings;

/// Arguments of `sealwax verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The topic whose values are the numbers
    #[arg(long)]
    topic: String,
    /// The numbers that must be there once each: A..B with both ends included, at most 4 000 000 000 of them (one bit of memory each)
    #[arg(long, value_name = "A..B")]
    numbers: Numbers,
    /// Which records count: only those of committed transactions, or all
    #[arg(long, value_enum, default_value_t = Isolation::ReadCommitted)]
    isolation_level: Isolation,
    /// Accept numbers of a partition in any order; otherwise a number behind a larger one is a deviation
    #[arg(long)]
    any_order: bool,
    /// Give up after this many seconds without progress, for example because a transaction stays open
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Print the finding as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb: prints the finding, and is `Ok` only if it is exact.
///
/// # Errors
/// A [`Failure`]: the finding is not exact, there was no progress for the timeout, or the topic could not be read (run time);
/// bad arguments (validation); no broker (environment).
///
/// # Cancel safety
/// Reads only; nothing stays behind.
pub async fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut counter = Counter::new(arguments.numbers).ok_or_else(|| no_memory(arguments.numbers))?;
    let settings = arguments.cluster.settings(&Settings::new())?;
    let config = cluster::consumer_config(&settings)?;
    let client = cluster::connect(&settings).await?;
    let mut plan = capture(&client, &arguments.topic).await?;
    let mut consumer = consumer(&client, config, &arguments, &plan)?;
    let end = read::read(
        &mut consumer,
        &arguments.topic,
        arguments.isolation_level.level(),
        Duration::from_secs(arguments.timeout),
        &mut plan,
        &mut counter,
    )
    .await
    .map_err(|error| cluster::failure(&format!("reading topic \"{}\" failed", arguments.topic), &error))?;
    conclude(&arguments, &plan, &counter, &end)
}

/// Prints the finding and judges it.
fn conclude(arguments: &Arguments, plan: &Plan, counter: &Counter, end: &End) -> Result<(), Failure> {
    let report = Report {
        topic: &arguments.topic,
        numbers: arguments.numbers,
        isolation_level: arguments.isolation_level.name(),
        any_order: arguments.any_order,
        plan,
        counter,
    };
    if arguments.json {
        say::result(&report.to_json())?;
    } else {
        say::result(&report)?;
    }
    if let End::Stalled(reasons) = end {
        return Err(Failure::new(
            Exit::RunTime,
            format!(
                "no progress for {} s (--timeout): {}",
                arguments.timeout,
                reasons.join("; ")
            ),
        ));
    }
    if report.is_exact() {
        return Ok(());
    }
    Err(Failure::new(
        Exit::RunTime,
        format!(
            "topic \"{}\" does not hold {} exactly once: {}",
            arguments.topic,
            arguments.numbers,
            report.deviations().join(", ")
        ),
    ))
}

/// Captures where each partition begins and ends now.
async fn capture(client: &Client, topic: &str) -> Result<Plan, Failure> {
    let description = cluster::describe_topic(client, topic).await?;
    let partitions: Vec<_> = description
        .partitions
        .iter()
        .map(|p| TopicPartition::new(topic, p.partition))
        .collect();
    let ends = offsets(client, &partitions, OffsetSpec::Latest).await?;
    let starts = offsets(client, &partitions, OffsetSpec::Earliest).await?;
    let spans = ends.iter().map(|(partition, end)| {
        (
            partition.partition,
            starts.get(partition).copied().unwrap_or(0),
            *end,
        )
    });
    Ok(Plan::new(spans))
}

/// Offsets under read_uncommitted: the end is the high watermark, whatever is still open below it.
async fn offsets(
    client: &Client,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> Result<BTreeMap<TopicPartition, i64>, Failure> {
    let asked: Vec<_> = partitions
        .iter()
        .map(|partition| (partition.clone(), spec))
        .collect();
    client
        .admin()
        .list_offsets(&asked, IsolationLevel::ReadUncommitted)
        .await
        .map_err(|error| {
            cluster::failure(
                "the begin and end of the topic's partitions cannot be had",
                &error,
            )
        })
}

fn consumer(
    client: &Client,
    mut config: ConsumerConfig,
    arguments: &Arguments,
    plan: &Plan,
) -> Result<Consumer, Failure> {
    config.isolation_level = arguments.isolation_level.level();
    let mut consumer = client
        .consumer()
        .config(config)
        .build()
        .map_err(|error| cluster::failure("the consumer cannot be made", &error))?;
    consumer.assign(plan.unread().map(|(partition, span)| {
        let partition = TopicPartition::new(arguments.topic.as_str(), partition);
        (partition, StartOffset::At(span.start))
    }));
    Ok(consumer)
}

fn no_memory(numbers: Numbers) -> Failure {
    Failure::new(
        Exit::Environment,
        format!(
            "there is no memory for one bit for each of {} numbers; verify them in several ranges",
            numbers.count()
        ),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.arguments)
    }

    #[test]
    fn defaults_are_the_strict_ones() {
        let arguments = parse("verify --bootstrap-server b:1 --topic t --numbers 1..9").unwrap();
        assert_eq!(arguments.isolation_level, Isolation::ReadCommitted);
        assert_eq!((arguments.any_order, arguments.timeout), (false, 60));
        let loose = parse(
            "verify --topic t --numbers 1..9 --isolation-level read_uncommitted --any-order --timeout 5",
        );
        assert_eq!(loose.unwrap().isolation_level, Isolation::ReadUncommitted);
    }

    #[test]
    fn a_bad_range_or_time_is_a_usage_error() {
        for line in [
            "verify --topic t",
            "verify --topic t --numbers 9",
            "verify --topic t --numbers 1..9 --timeout 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn the_exit_is_ok_only_for_an_exact_and_complete_run() {
        let arguments = parse("verify --topic t --numbers 1..2").unwrap();
        let mut plan = Plan::new([(0, 0, 2)]);
        let mut counter = Counter::new(arguments.numbers).unwrap();
        counter.observe(0, 0, Some(b"1"));
        plan.advance(0, 1);
        let stalled = End::Stalled(vec!["partition t-0 stands".to_owned()]);
        let failure = conclude(&arguments, &plan, &counter, &stalled).unwrap_err();
        assert_eq!(failure.exit(), Exit::RunTime);
        assert!(failure.to_string().contains("partition t-0 stands"), "{failure}");
        plan.advance(0, 2);
        let failure = conclude(&arguments, &plan, &counter, &End::Complete).unwrap_err();
        assert!(failure.to_string().ends_with("1 missing"), "{failure}");
        counter.observe(0, 1, Some(b"2"));
        assert_eq!(conclude(&arguments, &plan, &counter, &End::Complete), Ok(()));
    }
}
