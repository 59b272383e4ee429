//! Two records and one commit, read back by a committed reader.

use sealwax::{Client, Record, StartOffset, TopicPartition};

#[tokio::main]
async fn main() -> sealwax::Result<()> {
    let client = Client::builder(["localhost:9092"]).connect().await?;
    let mut producer = client.transactional_producer("orders-1").build().await?; // fences older instances
    let mut txn = producer.begin().await?; // borrows: a second open transaction does not compile
    txn.send(Record::new("orders", "42 crates").key("customer-7").partition(0))
        .await?;
    txn.send(Record::new("orders", "7 barrels").key("customer-9").partition(0))
        .await?;
    let _proof = txn.commit().await?; // or an error that says aborted, fenced, fatal, or unknown

    let mut consumer = client.consumer().build()?; // read_committed unless told otherwise
    consumer.assign([(TopicPartition::new("orders", 0), StartOffset::Earliest)]);
    for record in consumer.next().await?.records() {
        println!("{}", String::from_utf8_lossy(record?.value.unwrap_or_default()));
    }
    Ok(())
}
