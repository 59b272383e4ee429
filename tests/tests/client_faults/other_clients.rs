//! The proxy carries Java's and librdkafka's clients, too, and keeps them in it: each reads a topic through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use kafka_protocol::messages::ApiKey;
use sealwax::Record;
use sealwax_tests::proxy::{Proxy, Request, Rule, Transparent, Verdict};
use sealwax_tests::readers;
use tokio::task::spawn_blocking;
use xtask::kafka::{ConsoleConsumer, Isolation, Version};

use crate::setting::{Setting, on_both};

/// Counts what is fetched through the proxy.
#[derive(Debug, Clone, Default)]
struct Fetches(Arc<AtomicUsize>);

impl Rule for Fetches {
    fn request(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::Fetch) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Verdict::Pass
    }
}

async fn read_through_the_proxy(version: Version) -> Result<()> {
    let setting = Setting::new(version, Transparent).await?;
    let producer = setting.client.producer().build().await?;
    let expected: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    for value in &expected {
        producer.send(Record::new(&setting.topic, value)).await?;
    }
    producer.flush().await?;
    let (cluster, topic) = (Arc::clone(&setting.cluster), setting.topic.clone());
    spawn_blocking(move || {
        let fetches = Fetches::default();
        let proxy = Proxy::start(&cluster.bootstrap(), fetches.clone())?;
        let mut java = Vec::new();
        ConsoleConsumer::new(&topic, Isolation::ReadCommitted)
            .idle(Duration::from_secs(20))
            .max_messages(10)
            .run(cluster.jvm(), &proxy.bootstrap(), |line| {
                java.push(line.to_owned())
            })?;
        ensure!(java == expected, "Java: {java:?}");
        ensure!(
            fetches.0.swap(0, Ordering::SeqCst) > 0,
            "Java read past the proxy"
        );
        let places = readers::librdkafka_places(&proxy.bootstrap(), &topic, Isolation::ReadCommitted)?;
        let librdkafka: Vec<String> = places.into_iter().map(|place| place.value).collect();
        ensure!(librdkafka == expected, "librdkafka: {librdkafka:?}");
        ensure!(
            fetches.0.load(Ordering::SeqCst) > 0,
            "librdkafka read past the proxy"
        );
        Ok(())
    })
    .await?
}

on_both!(
    read_through_the_proxy,
    read_through_the_proxy_on_3_9_1,
    read_through_the_proxy_on_4_4_0
);
