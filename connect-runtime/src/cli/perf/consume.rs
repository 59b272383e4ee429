//! `sealwax perf consume`: the load of Kafka's kafka-consumer-perf-test, without a group.
//!
//! Input: arguments. Output: progress lines on stderr, figures on stdout. Bytes are those of keys and values, as in Kafka's tool.

use std::time::{Duration, Instant};

use sealwax::config::ConsumerConfig;
use sealwax::{Client, Consumer, FetchedRecords, IsolationLevel, StartOffset, TopicPartition};

use super::cpu::CpuSeconds;
use super::figures::Figures;
use super::meter::Meter;
use crate::api::Settings;
use crate::cli::cluster::{self, ClusterArguments};
use crate::cli::isolation::Isolation;
use crate::cli::{Exit, Failure, say};

/// Arguments of `sealwax perf consume`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The topic to read, all its partitions
    #[arg(long)]
    topic: String,
    /// How many records to read (also --messages)
    #[arg(long, alias = "messages", value_parser = clap::value_parser!(u64).range(1..))]
    num_records: u64,
    /// Which records are read. Default: isolation.level of the command configuration, or read_uncommitted
    #[arg(long, value_enum)]
    isolation_level: Option<Isolation>,
    /// Begin behind the last record and read what comes from now on, rather than at the first record
    #[arg(long)]
    from_latest: bool,
    /// Bytes that one answer may hold for one partition. Default: max.partition.fetch.bytes of the command configuration, or 1048576
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(i32).range(1..))]
    fetch_size: Option<i32>,
    /// Give up when no record comes for this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// A [`Failure`]: fewer records came than were asked for, or the topic could not be read (run time); bad arguments
/// (validation); no broker (environment).
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let settings = arguments.cluster.settings(&Settings::new())?;
    let config = consumer_config(&settings, &arguments)?;
    let client = cluster::connect(&settings).await?;
    let mut consumer = consumer(&client, config, &arguments).await?;
    let (cpu, start) = (CpuSeconds::of_this_process(), Instant::now());
    let mut run = Run {
        meter: Meter::new("consumed", start),
        last: start,
        wanted: arguments.num_records,
    };
    let result = run.all(&mut consumer, &arguments).await;
    let figures = Figures {
        verb: "consume",
        done: "consumed",
        records: run.meter.records(),
        bytes: run.meter.bytes(),
        failed: 0,
        transactions: None,
        elapsed: run.last.saturating_duration_since(start),
        latency: None,
        cpu: CpuSeconds::since(cpu),
    };
    super::print(&figures, arguments.json)?;
    result
}

fn consumer_config(settings: &Settings, arguments: &Arguments) -> Result<ConsumerConfig, Failure> {
    let mut config = cluster::consumer_config(settings)?;
    match (arguments.isolation_level, settings.value("isolation.level")) {
        (Some(isolation), _) => config.isolation_level = isolation.level(),
        (None, Some(_configured)) => {}
        (None, None) => config.isolation_level = IsolationLevel::ReadUncommitted,
    }
    if let Some(bytes) = arguments.fetch_size {
        config.max_partition_fetch_bytes = bytes;
    }
    Ok(config)
}

async fn consumer(
    client: &Client,
    config: ConsumerConfig,
    arguments: &Arguments,
) -> Result<Consumer, Failure> {
    let topic = cluster::describe_topic(client, &arguments.topic).await?;
    let mut consumer = client
        .consumer()
        .config(config)
        .build()
        .map_err(|error| cluster::failure("the consumer cannot be made", &error))?;
    let start = if arguments.from_latest {
        StartOffset::Latest
    } else {
        StartOffset::Earliest
    };
    consumer.assign(
        topic
            .partitions
            .iter()
            .map(|p| (TopicPartition::new(arguments.topic.as_str(), p.partition), start)),
    );
    Ok(consumer)
}

struct Run {
    meter: Meter,
    last: Instant,
    wanted: u64,
}

impl Run {
    async fn all(&mut self, consumer: &mut Consumer, arguments: &Arguments) -> Result<(), Failure> {
        let patience = Duration::from_millis(arguments.timeout);
        let failed =
            |error| cluster::failure(&format!("reading topic \"{}\" failed", arguments.topic), &error);
        while self.meter.records() < self.wanted {
            let left = patience.saturating_sub(self.last.elapsed());
            match tokio::time::timeout(left, consumer.next()).await {
                Ok(fetched) => self.take(&fetched.map_err(failed)?).map_err(failed)?,
                Err(_elapsed) => return Err(self.too_few(arguments)),
            }
        }
        Ok(())
    }

    fn take(&mut self, fetched: &FetchedRecords) -> sealwax::Result<()> {
        let wanted = usize::try_from(self.wanted - self.meter.records()).unwrap_or(usize::MAX);
        let (mut records, mut bytes) = (0, 0);
        for record in fetched.records().take(wanted) {
            let record = record?;
            records += 1;
            bytes += (record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len)) as u64;
        }
        if records > 0 {
            self.last = Instant::now();
            if let Some(line) = self.meter.add(records, bytes, None, self.last) {
                say::note(&line);
            }
        }
        Ok(())
    }

    fn too_few(&self, arguments: &Arguments) -> Failure {
        Failure::new(
            Exit::RunTime,
            format!(
                "no record came for {} ms (--timeout): {} of {} were read; the figures end with the last record",
                arguments.timeout,
                self.meter.records(),
                self.wanted
            ),
        )
    }
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

    fn config(flags: &str, settings: &[(&str, &str)]) -> ConsumerConfig {
        let line = format!("consume --topic t --messages 1{flags}");
        let arguments = Line::try_parse_from(line.split(' ')).unwrap().arguments;
        consumer_config(&settings.iter().copied().collect(), &arguments).unwrap()
    }

    #[test]
    fn a_flag_wins_over_the_setting_and_that_over_the_default() {
        let committed = [
            ("isolation.level", "read_committed"),
            ("max.partition.fetch.bytes", "7"),
        ];
        assert_eq!(config("", &[]).isolation_level, IsolationLevel::ReadUncommitted);
        assert_eq!(
            config("", &committed).isolation_level,
            IsolationLevel::ReadCommitted
        );
        assert_eq!(config("", &committed).max_partition_fetch_bytes, 7);
        let flags = config(" --isolation-level read_uncommitted --fetch-size 9", &committed);
        assert_eq!(flags.isolation_level, IsolationLevel::ReadUncommitted);
        assert_eq!(flags.max_partition_fetch_bytes, 9);
    }
}
