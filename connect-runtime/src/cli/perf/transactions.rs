//! `sealwax perf transactions`: how fast transactions of a given size go through, one after the other.
//!
//! Input: arguments. Output: progress lines on stderr, figures on stdout. Latency is of a whole transaction, from `begin` to
//! the confirmed commit.

use std::time::Instant;

use sealwax::{Record, TransactionalProducer};

use super::abandon;
use super::cpu::CpuSeconds;
use super::figures::Figures;
use super::meter::Meter;
use super::payload::Payload;
use super::producer::{Prepared, ProducerArguments, random_transactional_id};
use crate::cli::{Failure, cluster, say};

/// Arguments of `sealwax perf transactions`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    producer: ProducerArguments,
    /// The topic to send to
    #[arg(long)]
    topic: String,
    /// How many transactions to commit
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Records in each transaction
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    records_per_transaction: u64,
    /// Bytes of random letters in each record
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    record_size: u32,
    /// The transactional id; older producers with the same id are fenced. Default: a new random one
    #[arg(long)]
    transactional_id: Option<String>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// A [`Failure`]: a transaction was not committed (run time), bad arguments (validation), no broker (environment).
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Prepared {
        client,
        config,
        transactional_id,
    } = arguments.producer.prepare().await?;
    let id = arguments.transactional_id.clone().or(transactional_id);
    let mut producer = client
        .transactional_producer(id.unwrap_or_else(random_transactional_id))
        .config(config)
        .build()
        .await
        .map_err(|error| cluster::failure("the producer cannot be made", &error))?;
    let (cpu, start) = (CpuSeconds::of_this_process(), Instant::now());
    let mut run = Run {
        meter: Meter::new("sent", start),
        payload: Payload::random(arguments.record_size as usize),
        committed: 0,
        last: start,
    };
    let result = run.all(&mut producer, &arguments).await;
    let figures = Figures {
        verb: "transactions",
        done: "sent",
        records: run.meter.records(),
        bytes: run.meter.bytes(),
        failed: 0,
        transactions: Some(run.committed),
        elapsed: run.last.saturating_duration_since(start),
        latency: run
            .meter
            .latencies()
            .summary()
            .map(|summary| ("begin to commit", summary)),
        cpu: CpuSeconds::since(cpu),
    };
    super::print(&figures, arguments.json)?;
    result
}

struct Run {
    meter: Meter,
    payload: Payload,
    committed: u64,
    last: Instant,
}

impl Run {
    async fn all(
        &mut self,
        producer: &mut TransactionalProducer,
        arguments: &Arguments,
    ) -> Result<(), Failure> {
        for _ in 0..arguments.count {
            self.one(producer, arguments).await?;
        }
        Ok(())
    }

    async fn one(
        &mut self,
        producer: &mut TransactionalProducer,
        arguments: &Arguments,
    ) -> Result<(), Failure> {
        let begin = Instant::now();
        let mut transaction = producer
            .begin()
            .await
            .map_err(|error| cluster::failure("a transaction cannot begin", &error))?;
        for _ in 0..arguments.records_per_transaction {
            // The commit fails if a record was not written, so its delivery need not be awaited.
            if let Err(error) = transaction
                .send(Record::new(&arguments.topic, self.payload.next()))
                .await
            {
                return Err(abandon::after_failed_send(transaction, &arguments.topic, &error).await);
            }
        }
        let _proof = transaction
            .commit()
            .await
            .map_err(|error| abandon::not_committed(&error))?;
        self.last = Instant::now();
        self.committed += 1;
        let bytes = arguments.records_per_transaction * u64::from(arguments.record_size);
        let latency = self.last.saturating_duration_since(begin);
        if let Some(line) = self
            .meter
            .add(arguments.records_per_transaction, bytes, Some(latency), self.last)
        {
            say::note(&line);
        }
        Ok(())
    }
}
