//! `sealwax perf produce`: the load of Kafka's kafka-producer-perf-test.
//!
//! Input: arguments. Output: progress lines on stderr, figures on stdout. Latency is from `send` to the acknowledgement. With a
//! transactional id or a transaction duration, records go in transactions that are committed each time the duration is over.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sealwax::{Delivery, Producer, Record, Transaction, TransactionalProducer};

use super::abandon;
use super::acks::{Acknowledged, Acks};
use super::cpu::CpuSeconds;
use super::feed::{Feed, Step};
use super::figures::Figures;
use super::payload::Payload;
use super::producer::{Prepared, ProducerArguments, random_transactional_id};
use super::throttle::{self, Throttle, Throughput};
use crate::cli::cluster;
use crate::cli::{Exit, Failure};

/// Arguments of `sealwax perf produce`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    producer: ProducerArguments,
    /// The topic to send to
    #[arg(long)]
    topic: String,
    /// How many records to send
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    num_records: u64,
    #[command(flatten)]
    payload: PayloadArguments,
    /// Records per second at most; -1 for no limit
    #[arg(long, allow_negative_numbers = true, value_parser = throttle::parse, default_value = "-1")]
    throughput: Throughput,
    /// Send in transactions with this transactional id; older producers with the same id are fenced. Default with --transaction-duration-ms: a new random one
    #[arg(long)]
    transactional_id: Option<String>,
    /// Send in transactions and commit each time this many milliseconds have passed. Default with --transactional-id: 3000
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    transaction_duration_ms: Option<u64>,
    /// Print the figures as one JSON object
    #[arg(long)]
    json: bool,
}

/// What the records hold: exactly one of the three.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct PayloadArguments {
    /// Bytes of random letters in each record
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    record_size: Option<u32>,
    /// A file whose lines are the values, one chosen at random for each record
    #[arg(long, value_name = "FILE")]
    payload_file: Option<PathBuf>,
    /// The values are the numbers 0, 1, 2, … (5 records can be proven with `sealwax verify --numbers 0..4`)
    #[arg(long)]
    payload_monotonic: bool,
}

const DEFAULT_TRANSACTION_DURATION: Duration = Duration::from_millis(3000);

/// Runs the verb.
///
/// # Errors
/// A [`Failure`]: a record was not acknowledged or a transaction not committed (run time), bad arguments (validation), no broker
/// (environment).
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let payload = arguments.payload.read()?;
    let prepared = arguments.producer.prepare().await?;
    let sender = Sender::build(prepared, &arguments).await?;
    let (cpu, start) = (CpuSeconds::of_this_process(), Instant::now());
    let mut feed = Feed::new(
        payload,
        Throttle::new(arguments.throughput.0, start),
        arguments.num_records,
    );
    let mut acks = Acks::start(start);
    let (transactions, sending) = sender.send_all(&arguments.topic, &mut feed, &mut acks).await;
    let acknowledged = acks.finish().await.map_err(|error| {
        Failure::new(
            Exit::RunTime,
            format!("awaiting the acknowledgements broke: {error}"),
        )
    })?;
    let figures = figures(&acknowledged, transactions, start, cpu);
    super::print(&figures, arguments.json)?;
    sending?;
    all_acknowledged(&acknowledged)
}

fn figures(
    acknowledged: &Acknowledged,
    transactions: Option<u64>,
    start: Instant,
    cpu: Option<CpuSeconds>,
) -> Figures {
    Figures {
        verb: "produce",
        done: "sent",
        records: acknowledged.meter.records(),
        bytes: acknowledged.meter.bytes(),
        failed: acknowledged.failed,
        transactions,
        elapsed: acknowledged.last.saturating_duration_since(start),
        latency: acknowledged
            .meter
            .latencies()
            .summary()
            .map(|summary| ("send to acknowledgement", summary)),
        cpu: CpuSeconds::since(cpu),
    }
}

fn all_acknowledged(acknowledged: &Acknowledged) -> Result<(), Failure> {
    match &acknowledged.first_failure {
        None => Ok(()),
        Some(first) => {
            let what = format!(
                "{} records were not acknowledged; the first because",
                acknowledged.failed
            );
            Err(cluster::failure(&what, first))
        }
    }
}

/// With or without transactions.
enum Sender {
    Idempotent(Producer),
    Transactional {
        producer: TransactionalProducer,
        duration: Duration,
    },
}

impl Sender {
    async fn build(prepared: Prepared, arguments: &Arguments) -> Result<Self, Failure> {
        let Prepared {
            client,
            config,
            transactional_id,
        } = prepared;
        let id = arguments.transactional_id.clone().or(transactional_id);
        let failed = |error: sealwax::Error| cluster::failure("the producer cannot be made", &error);
        if id.is_none() && arguments.transaction_duration_ms.is_none() {
            let producer = client.producer().config(config).build().await.map_err(failed)?;
            return Ok(Self::Idempotent(producer));
        }
        let id = id.unwrap_or_else(random_transactional_id);
        let producer = client
            .transactional_producer(id)
            .config(config)
            .build()
            .await
            .map_err(failed)?;
        let duration = arguments
            .transaction_duration_ms
            .map_or(DEFAULT_TRANSACTION_DURATION, Duration::from_millis);
        Ok(Self::Transactional { producer, duration })
    }

    /// Sends all records. Also returns how many transactions were committed, if there were any to make.
    async fn send_all(
        self,
        topic: &str,
        feed: &mut Feed,
        acks: &mut Acks,
    ) -> (Option<u64>, Result<(), Failure>) {
        match self {
            Self::Idempotent(producer) => {
                let sent = pump(&mut &producer, topic, feed, acks, None).await;
                let failed =
                    |error| cluster::failure(&format!("sending to topic \"{topic}\" failed"), &error);
                (None, sent.map_err(failed))
            }
            Self::Transactional {
                mut producer,
                duration,
            } => {
                let mut committed = 0;
                let result =
                    in_transactions(&mut producer, duration, topic, feed, acks, &mut committed).await;
                (Some(committed), result)
            }
        }
    }
}

async fn in_transactions(
    producer: &mut TransactionalProducer,
    duration: Duration,
    topic: &str,
    feed: &mut Feed,
    acks: &mut Acks,
    committed: &mut u64,
) -> Result<(), Failure> {
    while !feed.is_done() {
        // A transaction begins when its first record is due, so that none is empty.
        while let Some(wait) = feed.wait(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
        let mut transaction = producer
            .begin()
            .await
            .map_err(|error| cluster::failure("a transaction cannot begin", &error))?;
        let ends = Instant::now() + duration;
        if let Err(error) = pump(&mut transaction, topic, feed, acks, Some(ends)).await {
            return Err(abandon::after_failed_send(transaction, topic, &error).await);
        }
        acks.flush().await;
        let _proof = transaction
            .commit()
            .await
            .map_err(|error| abandon::not_committed(&error))?;
        *committed += 1;
    }
    Ok(())
}

/// What takes records: a producer, or an open transaction.
trait Outlet {
    async fn send(&mut self, record: Record<'_>) -> sealwax::Result<Delivery>;
}

impl Outlet for &Producer {
    async fn send(&mut self, record: Record<'_>) -> sealwax::Result<Delivery> {
        Producer::send(self, record).await
    }
}

impl Outlet for Transaction<'_> {
    async fn send(&mut self, record: Record<'_>) -> sealwax::Result<Delivery> {
        Transaction::send(self, record).await
    }
}

/// Sends until all records are sent, or until a point in time.
async fn pump(
    outlet: &mut impl Outlet,
    topic: &str,
    feed: &mut Feed,
    acks: &mut Acks,
    until: Option<Instant>,
) -> sealwax::Result<()> {
    loop {
        let now = Instant::now();
        let left = until.map(|until| until.saturating_duration_since(now));
        if left == Some(Duration::ZERO) {
            return Ok(());
        }
        match feed.step(now) {
            Step::Done => return Ok(()),
            Step::Wait(wait) => {
                acks.flush().await;
                tokio::time::sleep(left.map_or(wait, |left| left.min(wait))).await;
            }
            Step::Send(value) => {
                let delivery = acks.beside(outlet.send(Record::new(topic, value))).await?;
                acks.push(now, value.len() as u64, delivery).await;
            }
        }
    }
}

impl PayloadArguments {
    fn read(&self) -> Result<Payload, Failure> {
        if self.payload_monotonic {
            return Ok(Payload::monotonic());
        }
        let Some(path) = &self.payload_file else {
            return Ok(Payload::random(self.record_size.unwrap_or_default() as usize));
        };
        let invalid = |why: String| {
            Failure::new(
                Exit::Validation,
                format!("--payload-file {}: {why}", path.display()),
            )
        };
        let text = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
        Payload::lines(&text, b"\n").ok_or_else(|| invalid("it holds no line that is not empty".to_owned()))
    }
}
