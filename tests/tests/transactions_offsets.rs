//! Offsets of groups in transactions, unknown outcomes and how they are found out, whole transactions as one call: on real brokers, TV1
//! (3.9.1) and TV2 (4.4.0), read back by Java.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kafka_protocol::messages::ApiKey;
use sealwax::config::{EpochBump, ProducerConfig};
use sealwax::{
    Client, CommitError, ConsumerGroupMetadata, Error, ErrorKind, OffsetAndMetadata, Record, Resolution,
    TopicPartition, TransactionalProducer,
};
use sealwax_tests::proxy::{Proxy, Request, Rule, Verdict};
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers};
use xtask::kafka::{Cluster, Isolation, Version, create_topic, run_java_tool};

/// Nothing may hang.
const BOUND: Duration = Duration::from_secs(60);

async fn set_up(version: Version) -> Result<(Arc<Cluster>, Client, String)> {
    let cluster = tokio::task::spawn_blocking(move || clusters::shared(version)).await??;
    let topic = unique("offsets");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((cluster, client, topic))
}

async fn committed(cluster: &Arc<Cluster>, topic: &str) -> Result<Vec<String>> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted)).await?
}

/// What Java's kafka-consumer-groups knows of a group's offset of the topic's partition 0.
async fn group_offset(cluster: &Arc<Cluster>, group: &str, topic: &str) -> Result<Option<i64>> {
    let (cluster, group, topic) = (Arc::clone(cluster), group.to_owned(), topic.to_owned());
    let described = tokio::task::spawn_blocking(move || {
        let bootstrap = cluster.bootstrap();
        let arguments = [
            "--bootstrap-server",
            &bootstrap,
            "--describe",
            "--group",
            &group,
            "--offsets",
        ];
        let class = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
        run_java_tool(cluster.jvm(), class, &arguments).map(|text| (text, topic))
    });
    let (text, topic) = described.await??;
    let row = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = row
        .into_iter()
        .find(|words| words.get(1) == Some(&topic.as_str()));
    Ok(row.and_then(|words| words.get(3)?.parse().ok()))
}

fn progress(topic: &str, offset: i64) -> [(TopicPartition, OffsetAndMetadata); 1] {
    [(TopicPartition::new(topic, 0), OffsetAndMetadata::new(offset))]
}

/// Offsets that are sent by group id alone are committed with the transaction, and only then.
async fn by_group_id_alone(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let group = unique("group");
    let metadata = ConsumerGroupMetadata::new(group.as_str());
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    for value in 1..=9 {
        let mut txn = producer.begin().await?;
        txn.send(Record::new(&topic, &value.to_string())).await?;
        txn.send_offsets(progress(&topic, value), &metadata).await?;
        if value % 3 == 0 {
            txn.abort().await?;
        } else {
            let _committed = txn.commit().await?;
        }
    }
    let offset = group_offset(&cluster, &group, &topic).await?;
    ensure!(
        offset == Some(8),
        "{offset:?} instead of what the last commit said"
    );
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen == ["1", "2", "4", "5", "7", "8"], "{seen:?}");

    // Offsets alone are a transaction too.
    let mut txn = producer.begin().await?;
    txn.send_offsets(progress(&topic, 12), &metadata).await?;
    let _committed = txn.commit().await?;
    let offset = group_offset(&cluster, &group, &topic).await?;
    ensure!(offset == Some(12), "{offset:?}");
    Ok(())
}

/// A member that the group does not know is refused, the transaction with it, and the producer goes on.
async fn of_an_unknown_member(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let stranger = ConsumerGroupMetadata {
        generation_id: 3,
        member_id: "stranger".to_owned(),
        ..ConsumerGroupMetadata::new(unique("group"))
    };
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    let mut txn = producer.begin().await?;
    txn.send(Record::new(&topic, "refused")).await?;
    let refused = txn.send_offsets(progress(&topic, 5), &stranger).await;
    let error = refused.err().context("a stranger's offsets were taken")?;
    ensure!(
        error.kind() == ErrorKind::CommitFailed && error.requires_abort(),
        "{error:?}"
    );
    ensure!(matches!(txn.commit().await, Err(CommitError::Aborted(_))));
    let mut txn = producer.begin().await?;
    txn.send(Record::new(&topic, "taken")).await?;
    let _committed = txn.commit().await?;
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen == ["taken"], "{seen:?}");
    Ok(())
}

/// What becomes of EndTxn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes = 0,
    RequestIsHeld = 1,
    AnswerIsHeld = 2,
}

#[derive(Debug, Clone, Default)]
struct EndTxnRule {
    fate: Arc<AtomicU8>,
    inits: Arc<AtomicUsize>,
}

impl EndTxnRule {
    fn set(&self, fate: Fate) {
        self.fate.store(fate as u8, Ordering::SeqCst);
    }

    fn verdict(&self, request: &Request, fate: Fate) -> Verdict {
        let is_meant = request.api == Some(ApiKey::EndTxn) && self.fate.load(Ordering::SeqCst) == fate as u8;
        if is_meant { Verdict::Hold } else { Verdict::Pass }
    }
}

impl Rule for EndTxnRule {
    fn request(&self, request: &Request) -> Verdict {
        if request.api == Some(ApiKey::InitProducerId) {
            self.inits.fetch_add(1, Ordering::SeqCst);
        }
        self.verdict(request, Fate::RequestIsHeld)
    }

    fn answer(&self, request: &Request) -> Verdict {
        self.verdict(request, Fate::AnswerIsHeld)
    }
}

/// A producer behind a proxy, with short patience.
async fn behind_proxy(
    cluster: &Arc<Cluster>,
    rule: &EndTxnRule,
    bump: EpochBump,
) -> Result<(Proxy, TransactionalProducer)> {
    let proxy = Proxy::start(&cluster.bootstrap(), rule.clone())?;
    let client = Client::builder(proxy.bootstrap().split(','))
        .request_timeout(Duration::from_millis(700))
        .connect()
        .await?;
    let mut config = ProducerConfig::default();
    config.max_block = Duration::from_secs(2);
    config.epoch_bump = bump;
    let producer = client
        .transactional_producer(unique("txn"))
        .config(config)
        .build()
        .await?;
    Ok((proxy, producer))
}

/// A commit without an answer is unknown; resolve() finds out, or the next begin() does, and what it says is what Java sees.
async fn unknown_outcomes(version: Version) -> Result<()> {
    let (cluster, _, topic) = set_up(version).await?;
    let rule = EndTxnRule::default();
    let (_proxy, mut producer) = behind_proxy(&cluster, &rule, EpochBump::WhenNeeded).await?;
    let mut expected = Vec::new();
    for (fate, asks_first) in [
        (Fate::AnswerIsHeld, true),
        (Fate::RequestIsHeld, true),
        (Fate::AnswerIsHeld, false),
        (Fate::RequestIsHeld, false),
    ] {
        let value = format!("{fate:?} {asks_first}");
        let mut txn = producer.begin().await?;
        txn.send(Record::new(&topic, &value)).await?.wait().await?;
        rule.set(fate);
        match txn.commit().await {
            Err(CommitError::Unknown(error)) => ensure!(error.to_string().contains("resolve()"), "{error}"),
            other => bail!("{value}: {other:?}"),
        }
        rule.set(Fate::Passes);
        if !asks_first {
            drop(producer.begin().await?);
        }
        match (producer.resolve().await?, fate, asks_first) {
            (Resolution::Committed(_), _, true) | (Resolution::Committed(_), Fate::AnswerIsHeld, false) => {
                expected.push(value);
            }
            (Resolution::Aborted(_), Fate::RequestIsHeld, false) => {}
            (other, ..) => bail!("{value}: {other:?}"),
        }
        let mut txn = producer.begin().await?;
        let next = format!("after {fate:?} {asks_first}");
        txn.send(Record::new(&topic, &next)).await?;
        let _committed = txn.commit().await?;
        expected.push(next);
    }
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen == expected, "{seen:?} instead of {expected:?}");
    Ok(())
}

/// Polls a call so often at most; `None` if it was dropped.
async fn polled<T>(call: impl Future<Output = T>, limit: usize) -> Result<Option<T>> {
    let mut call = pin!(call);
    let mut polls = 0;
    let polled = std::future::poll_fn(|context| {
        if polls == limit {
            return Poll::Ready(None);
        }
        polls += 1;
        call.as_mut().poll(context).map(Some)
    });
    tokio::time::timeout(BOUND, polled).await.context("a call hangs")
}

/// Each call is dropped after its n-th poll: what resolve() says of the commit is what Java sees, offsets included.
async fn cancelled_calls(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let group = unique("group");
    let metadata = ConsumerGroupMetadata::new(group.as_str());
    let mut producer = client.transactional_producer(unique("txn")).build().await?;
    let (mut expected, mut offset) = (BTreeSet::new(), None);
    let mut number = 0;
    for send_polls in 0..4 {
        for commit_polls in 1..6 {
            number += 1;
            let value = number.to_string();
            drop(polled(producer.begin(), number as usize % 3).await?);
            let mut txn = producer.begin().await?;
            txn.send(Record::new(&topic, &value)).await?;
            drop(polled(txn.send_offsets(progress(&topic, number), &metadata), send_polls).await?);
            match polled(txn.commit(), commit_polls).await? {
                Some(done) => drop(done?),
                None => {
                    drop(polled(producer.resolve(), number as usize % 4).await?);
                    ensure!(
                        matches!(producer.resolve().await?, Resolution::Committed(_)),
                        "{value}"
                    );
                }
            }
            expected.insert(value);
            if send_polls > 0 {
                offset = Some(number);
            }
        }
    }
    drop(polled(producer.close(BOUND), 1).await?);
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen.len() == expected.len(), "{seen:?}");
    ensure!(seen.into_iter().collect::<BTreeSet<_>>() == expected);
    let told = group_offset(&cluster, &group, &topic).await?;
    ensure!(told == offset, "{told:?} instead of {offset:?}");
    Ok(())
}

/// A whole transaction as one call, from a task of its own: committed with its value, or aborted with the error of the body.
async fn as_one_call(version: Version) -> Result<()> {
    let (cluster, client, topic) = set_up(version).await?;
    let id = unique("one-shot");
    let task = {
        let (client, topic, id) = (client.clone(), topic.clone(), id.clone());
        let whole = async move {
            client
                .transaction(id, async move |txn| {
                    txn.send(Record::new(&topic, "one")).await?;
                    txn.send(Record::new(&topic, "two")).await?;
                    Ok::<_, Error>(2)
                })
                .await
        };
        tokio::spawn(whole)
    };
    ensure!(task.await?? == 2);
    let failed: Result<(), anyhow::Error> = client
        .transaction(id, async |txn| {
            txn.send(Record::new(&topic, "never")).await?;
            bail!("of the application's own")
        })
        .await;
    let error = failed.err().context("a body's error was lost")?;
    ensure!(error.to_string() == "of the application's own", "{error}");
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen == ["one", "two"], "{seen:?}");
    Ok(())
}

/// Swallows the first requests of an API.
#[derive(Debug)]
struct HoldFirst {
    api: ApiKey,
    left: AtomicUsize,
}

impl Rule for HoldFirst {
    fn request(&self, request: &Request) -> Verdict {
        if request.api != Some(self.api) {
            return Verdict::Pass;
        }
        let counted = self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if counted.is_ok() {
            Verdict::Hold
        } else {
            Verdict::Pass
        }
    }
}

/// What was aborted is done again; what may be committed is not, but cleared up.
async fn one_call_in_trouble(version: Version) -> Result<()> {
    let (cluster, _, topic) = set_up(version).await?;
    // Within max.block.ms a second run may begin, and after it an unanswered commit is given up.
    let (enough, short) = (Duration::from_secs(60), Duration::from_secs(2));
    // Each run of the first loses one to four of the four writes that are held, as quick as the machine is.
    for (api, runs, max_block) in [(ApiKey::Produce, 2..=5, enough), (ApiKey::EndTxn, 1..=1, short)] {
        let left = AtomicUsize::new(4);
        let proxy = Proxy::start(&cluster.bootstrap(), HoldFirst { api, left })?;
        let client = Client::builder(proxy.bootstrap().split(','))
            .request_timeout(Duration::from_millis(500))
            .connect()
            .await?;
        let mut config = ProducerConfig::default();
        config.max_block = max_block;
        config.delivery_timeout = Duration::from_millis(1500);
        let builder = client.transactional_producer(unique("one-shot")).config(config);
        let mut producer = builder.build().await?;
        let mut run = 0;
        let value = producer
            .transaction(async |txn| {
                run += 1;
                txn.send(Record::new(&topic, &format!("{api:?}"))).await?;
                Ok::<_, Error>(run)
            })
            .await?;
        ensure!(
            runs.contains(&value),
            "{api:?}: committed with run {value}, not {runs:?}"
        );
    }
    let seen = committed(&cluster, &topic).await?;
    ensure!(seen == ["Produce", "EndTxn"], "{seen:?}");
    Ok(())
}

async fn timeout_above_the_maximum(version: Version) -> Result<()> {
    let (_cluster, client, _topic) = set_up(version).await?;
    let built = client
        .transactional_producer(unique("txn"))
        .transaction_timeout(Duration::from_secs(1200))
        .build()
        .await;
    let error = built.err().context("20 minutes were allowed")?;
    let text = error.to_string();
    ensure!(
        error.kind() == ErrorKind::Config && text.contains("1200000") && text.contains("= 900000"),
        "{text}"
    );
    Ok(())
}

/// An epoch for each transaction costs one InitProducerId each, and nothing else changes.
#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_for_every_transaction_3_9_1() -> Result<()> {
    let (cluster, _, topic) = set_up(Version::V3_9_1).await?;
    let rule = EndTxnRule::default();
    let (_proxy, mut producer) = behind_proxy(&cluster, &rule, EpochBump::EveryTransaction).await?;
    for number in 1..=20 {
        let mut txn = producer.begin().await?;
        txn.send(Record::new(&topic, &number.to_string())).await?;
        let _committed = txn.commit().await?;
    }
    drop(producer.begin().await?);
    let inits = rule.inits.load(Ordering::SeqCst);
    ensure!(inits >= 21, "{inits} epochs for 20 transactions");
    let seen = committed(&cluster, &topic).await?;
    let expected: Vec<_> = (1..=20).map(|number: i32| number.to_string()).collect();
    ensure!(seen == expected, "{seen:?}");
    Ok(())
}

macro_rules! on_each_version {
    ($($scenario:ident: $on_3_9_1:ident $on_4_4_0:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $on_3_9_1() -> Result<()> {
                $scenario(Version::V3_9_1).await
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn $on_4_4_0() -> Result<()> {
                $scenario(Version::V4_4_0).await
            }
        )*
    };
}

on_each_version! {
    by_group_id_alone: by_group_id_alone_3_9_1 by_group_id_alone_4_4_0;
    of_an_unknown_member: of_an_unknown_member_3_9_1 of_an_unknown_member_4_4_0;
    unknown_outcomes: unknown_outcomes_3_9_1 unknown_outcomes_4_4_0;
    cancelled_calls: cancelled_calls_3_9_1 cancelled_calls_4_4_0;
    as_one_call: as_one_call_3_9_1 as_one_call_4_4_0;
    one_call_in_trouble: one_call_in_trouble_3_9_1 one_call_in_trouble_4_4_0;
    timeout_above_the_maximum: timeout_above_the_maximum_3_9_1 timeout_above_the_maximum_4_4_0;
}
