//! Two records and one commit, read back by a committed reader. Needs a broker: its address is the first argument.

use sealwax::{Client, Record, StartOffset, TopicPartition};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let broker = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "localhost:9092".to_owned());
    // readme: begin
    let client = Client::builder([broker]).connect().await?;
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
    // readme: end
    Ok(())
}
