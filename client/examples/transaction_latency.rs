//! How long transactions of one record take, for `cargo xtask latency`, which runs the same in Java and librdkafka.
//!
//! In: bootstrap servers, topic and transactional id as arguments; a count per line of the input. Out: for each line one line with the
//! nanoseconds from `begin` to the end of `commit` of that many transactions, back to back.

use std::fmt::Write as _;
use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use sealwax::{Client, Record, TransactionalProducer};

async fn round(producer: &mut TransactionalProducer, topic: &str, count: usize) -> sealwax::Result<String> {
    let mut line = String::new();
    for _ in 0..count {
        let begun = Instant::now();
        let mut transaction = producer.begin().await?;
        transaction.send(Record::new(topic, "one").partition(0)).await?;
        let _committed = transaction.commit().await?;
        // Writing into a String does not fail.
        let _ = write!(line, "{} ", begun.elapsed().as_nanos());
    }
    Ok(line)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, id] = arguments.as_slice() else {
        return Err("usage: transaction_latency <bootstrap> <topic> <transactional id>".into());
    };
    let client = Client::builder(bootstrap.split(',')).connect().await?;
    let mut producer = client
        .transactional_producer(id.as_str())
        .linger(Duration::ZERO)
        .build()
        .await?;
    for count in std::io::stdin().lock().lines() {
        let line = round(&mut producer, topic, count?.trim().parse()?).await?;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{line}")?;
        output.flush()?;
    }
    Ok(())
}
