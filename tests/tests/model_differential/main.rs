//! The model against real brokers: the same scripted requests get the same answers, error codes included, or the model is wrong.

mod by_chance;
mod by_hand;
mod runner;
mod script;
mod side;
mod told;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sealwax_devbroker::Release;
use sealwax_protocol::StrBytes;
use sealwax_protocol::messages::create_topics_request::CreatableTopic;
use sealwax_protocol::messages::metadata_request::MetadataRequestTopic;
use sealwax_protocol::messages::{CreateTopicsRequest, MetadataRequest, TopicName};
use sealwax_protocol::response::ResponseBody;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Version};

use runner::Names;
use script::{Mode, Script};
use side::{Broker, Model, Side};

/// Scripts that are made from seeds, per kind of broker.
const SEEDS: u64 = 200;

/// A kind of broker, and what in the model is like it.
struct Kind {
    version: Version,
    release: Release,
    /// The level of `transaction.version`, if it is not the release's own.
    level: Option<u16>,
    mode: Mode,
}

#[test]
fn kafka_3_9_answers_as_the_model_does() -> Result<()> {
    let kind = |mode| Kind {
        version: Version::V3_9_1,
        release: Release::V3_9,
        level: None,
        mode,
    };
    compare(&[kind(Mode::TV1), kind(Mode::TV1_OLD)])
}

#[test]
fn kafka_4_4_with_tv2_answers_as_the_model_does() -> Result<()> {
    compare(&[Kind {
        version: Version::V4_4_0,
        release: Release::V4_4,
        level: None,
        mode: Mode::TV2,
    }])
}

#[test]
fn kafka_4_4_with_tv1_answers_as_the_model_does() -> Result<()> {
    compare(&[Kind {
        version: Version::V4_4_0,
        release: Release::V4_4,
        level: Some(1),
        mode: Mode::TV1,
    }])
}

/// Runs all scripts in all modes against one cluster.
fn compare(kinds: &[Kind]) -> Result<()> {
    let first = kinds.first().context("a kind")?;
    let mut builder = Cluster::builder(first.version);
    if let Some(level) = first.level {
        builder = builder.feature("transaction.version", level);
    }
    let cluster = builder.start()?;
    let mut broker = Broker::connect(&cluster.bootstrap())?;
    let mut differing = Vec::new();
    let mut done = 0;
    for kind in kinds {
        let scripts = scripts();
        let names: Vec<Names> = scripts.iter().map(|_| names()).collect();
        create_topics(&mut broker, &names)?;
        for (script, names) in scripts.iter().zip(&names) {
            let level = kind.level.map_or(2, |level| level as i16);
            done += 1;
            if let Some(difference) = difference(&mut broker, kind, level, names, script)? {
                differing.push(difference);
            }
        }
    }
    println!("{done} scripts, {} answered differently", differing.len());
    ensure!(
        differing.is_empty(),
        "of {done} scripts {} were answered differently:\n{}",
        differing.len(),
        differing.iter().take(show()).cloned().collect::<Vec<_>>().join("\n")
    );
    Ok(())
}

/// How many differences are told.
fn show() -> usize {
    std::env::var("SEALWAX_SHOW").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// The scripts by hand, and those from seeds. `SEALWAX_SCRIPT` names one only; `SEALWAX_SEED` moves the seeds.
fn scripts() -> Vec<Script> {
    let base = std::env::var("SEALWAX_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut scripts = by_hand::scripts();
    scripts.extend((base..base + SEEDS).map(by_chance::script));
    if let Ok(name) = std::env::var("SEALWAX_SCRIPT") {
        scripts.retain(|script| script.name == name);
    }
    scripts
}

fn names() -> Names {
    Names {
        transactional_id: unique("differential"),
        topic: unique("differential"),
        group: unique("differential"),
    }
}

/// The first step that was answered differently, with all before it.
fn difference(
    broker: &mut Broker,
    kind: &Kind,
    level: i16,
    names: &Names,
    script: &Script,
) -> Result<Option<String>> {
    let mut model = Model::new(kind.release, level);
    model.cluster.create_topic(&names.topic, 2);
    let expected = runner::run(broker, kind.mode, names, script)
        .with_context(|| format!("script `{}` on Kafka {}", script.name, kind.version))?;
    let got = runner::run(&mut model, kind.mode, names, script)
        .with_context(|| format!("script `{}` on the model", script.name))?;
    let Some(at) = expected.iter().zip(&got).position(|(expected, got)| expected != got) else {
        ensure!(expected.len() == got.len(), "a side has lost a step");
        return Ok(None);
    };
    let before = expected.iter().take(at).map(|line| format!("    {line}\n")).collect::<String>();
    Ok(Some(format!(
        "script `{}` on Kafka {} (Produce {}):\n{before}  broker {}\n  model  {}\n",
        script.name, kind.version, kind.mode.produce, expected[at], got[at]
    )))
}

/// Creates a topic of two partitions for each script, and waits until all are led.
fn create_topics(broker: &mut Broker, names: &[Names]) -> Result<()> {
    let name = |names: &Names| TopicName(StrBytes::from_string(names.topic.clone()));
    let topics = names.iter().map(|names| {
        CreatableTopic::default()
            .with_name(name(names))
            .with_num_partitions(2)
            .with_replication_factor(1)
    });
    let request = CreateTopicsRequest::default()
        .with_topics(topics.collect())
        .with_timeout_ms(60_000);
    broker.call(7, request.into())?;
    let began = std::time::Instant::now();
    loop {
        let wanted = names.iter().map(|names| MetadataRequestTopic::default().with_name(Some(name(names))));
        let request = MetadataRequest::default().with_topics(Some(wanted.collect()));
        let ResponseBody::Metadata(answer) = broker.call(12, request.into())? else {
            anyhow::bail!("another API's answer");
        };
        let is_led = |topic: &sealwax_protocol::messages::metadata_response::MetadataResponseTopic| {
            topic.partitions.len() == 2 && topic.partitions.iter().all(|found| found.leader_id.0 >= 0)
        };
        if answer.topics.iter().all(is_led) {
            return Ok(());
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "the topics were not created");
        broker.pause();
    }
}
