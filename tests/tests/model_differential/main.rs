//! The model against real brokers: the same scripted requests get the same answers, error codes included, or the model is wrong.

mod by_chance;
mod by_hand;
mod recording;
mod runner;
mod script;
mod side;
mod told;

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax_devbroker::Release;
use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::messages::create_topics_request::CreatableTopic;
use sealwax_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use sealwax_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use sealwax_protocol::messages::{
    CreateTopicsRequest, DescribeTransactionsRequest, FindCoordinatorRequest, GroupId, InitProducerIdRequest,
    ListOffsetsRequest, OffsetFetchRequest, TopicName, TransactionalId,
};
use sealwax_protocol::response::ResponseBody;
use sealwax_tests::scratch::unique;
use xtask::kafka::{Cluster, Version};

use recording::Recording;
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

impl Kind {
    fn name(&self) -> String {
        let (level, produce) = (self.level, self.mode.produce);
        match level {
            None => format!("kafka-{}-produce-{produce}", self.version),
            Some(level) => format!("kafka-{}-level-{level}-produce-{produce}", self.version),
        }
    }
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

#[test]
#[ignore = "98,000 requests for each kind of broker; run it when the rules of the last epoch are in doubt"]
fn brokers_give_a_new_producer_id_when_the_model_does() -> Result<()> {
    for (version, release, mode) in [
        (Version::V3_9_1, Release::V3_9, Mode::TV1),
        (Version::V4_4_0, Release::V4_4, Mode::TV2),
    ] {
        let kind = Kind {
            version,
            release,
            level: None,
            mode,
        };
        compare_scripts(&[kind], |_| by_hand::used_up())?;
    }
    Ok(())
}

/// Runs all scripts in all modes against one cluster.
fn compare(kinds: &[Kind]) -> Result<()> {
    compare_scripts(kinds, scripts)
}

fn compare_scripts(kinds: &[Kind], scripts: impl Fn(&Kind) -> Vec<Script>) -> Result<()> {
    let replay = Recording::from_env("SEALWAX_REPLAY");
    let first = kinds.first().context("a kind")?;
    let cluster = replay.is_none().then(|| boot(first)).transpose()?;
    let mut differing = Vec::new();
    let mut done = 0;
    let wanted = std::env::var("SEALWAX_KIND").unwrap_or_default();
    for kind in kinds.iter().filter(|kind| kind.name().contains(&wanted)) {
        let scripts = scripts(kind);
        let names: Vec<Names> = scripts.iter().map(|_| names()).collect();
        let mut broker = cluster
            .as_ref()
            .map(|cluster| prepared(cluster, &names))
            .transpose()?;
        for (script, names) in scripts.iter().zip(&names) {
            done += 1;
            let expected = match (&mut broker, &replay) {
                (Some(broker), _) => ask(broker, kind, names, script)?,
                (None, Some(replay)) => replay.load(&kind.name(), &script.name)?,
                (None, None) => Vec::new(),
            };
            differing.extend(difference(&expected, kind, names, script)?);
        }
    }
    println!("{done} scripts, {} answered differently", differing.len());
    ensure!(
        differing.is_empty(),
        "of {done} scripts {} were answered differently:\n{}",
        differing.len(),
        differing
            .iter()
            .take(number("SEALWAX_SHOW").unwrap_or(3))
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
    Ok(())
}

fn boot(kind: &Kind) -> Result<Cluster> {
    let mut builder = Cluster::builder(kind.version);
    if let Some(level) = kind.level {
        builder = builder.feature("transaction.version", level);
    }
    builder.start()
}

/// A connection to a broker that has all that the scripts need.
fn prepared(cluster: &Cluster, names: &[Names]) -> Result<Broker> {
    let mut broker = Broker::connect(&cluster.bootstrap())?;
    create_topics(&mut broker, names)?;
    await_producer_ids(&mut broker)?;
    await_coordinators(&mut broker, names)?;
    Ok(broker)
}

fn ask(broker: &mut Broker, kind: &Kind, names: &Names, script: &Script) -> Result<Vec<String>> {
    let lines = runner::run(broker, kind.mode, names, script)
        .with_context(|| format!("script `{}` on Kafka {}", script.name, kind.version))?;
    if let Some(recording) = Recording::from_env("SEALWAX_RECORD") {
        recording.store(&kind.name(), &script.name, &lines)?;
    }
    Ok(lines)
}

/// A number from the environment.
fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The scripts by hand, and those from seeds. `SEALWAX_SCRIPT` names one only, `SEALWAX_KIND` a kind of broker; `SEALWAX_SEED` moves the seeds, `SEALWAX_SEEDS` says how many.
fn scripts(kind: &Kind) -> Vec<Script> {
    let first = number("SEALWAX_SEED").unwrap_or(0);
    let count = number("SEALWAX_SEEDS").unwrap_or(SEEDS);
    // A write of a later epoch leaves a transaction of Kafka 3.9 unended for good: scripts by hand show it, and each takes its time.
    let later_epochs = kind.release != Release::V3_9;
    let mut scripts = by_hand::scripts();
    scripts.extend((first..first + count).map(|seed| by_chance::script(seed, later_epochs)));
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

/// The first step that the model answers differently, with all before it.
fn difference(expected: &[String], kind: &Kind, names: &Names, script: &Script) -> Result<Option<String>> {
    let mut model = Model::new(kind.release, kind.level.map_or(2, |level| level as i16));
    model.cluster.create_topic(&names.topic, 2);
    let got = runner::run(&mut model, kind.mode, names, script)
        .with_context(|| format!("script `{}` on the model", script.name))?;
    let Some(at) = expected
        .iter()
        .zip(&got)
        .position(|(expected, got)| expected != got)
    else {
        ensure!(expected.len() == got.len(), "a side has lost a step");
        return Ok(None);
    };
    let before = expected.iter().take(at).map(|line| format!("    {line}\n"));
    Ok(Some(format!(
        "script `{}` on {}:\n{}  broker {}\n  model  {}\n",
        script.name,
        kind.name(),
        before.collect::<String>(),
        expected[at],
        got[at]
    )))
}

/// Waits until the broker has producer ids to give: until then its coordinators are "loading".
fn await_producer_ids(broker: &mut Broker) -> Result<()> {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(None)
        .with_transaction_timeout_ms(1000)
        .with_producer_id((-1).into())
        .with_producer_epoch(-1);
    until("no producer ids", || {
        match broker.call(4, request.clone().into())? {
            ResponseBody::InitProducerId(answer) => Ok(answer.error_code == 0),
            _ => Ok(false),
        }
    })
}

/// Waits until every script's coordinators have loaded what they coordinate: the first call creates the internal topics.
fn await_coordinators(broker: &mut Broker, names: &[Names]) -> Result<()> {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    for names in names {
        for (key_type, key) in [(0, &names.group), (1, &names.transactional_id)] {
            let request = FindCoordinatorRequest::default()
                .with_key_type(key_type)
                .with_coordinator_keys(vec![text(key)]);
            let describe = DescribeTransactionsRequest::default()
                .with_transactional_ids(vec![TransactionalId(text(&names.transactional_id))]);
            let group = OffsetFetchRequestGroup::default().with_group_id(GroupId(text(&names.group)));
            let offsets = OffsetFetchRequest::default().with_groups(vec![group]);
            until("no coordinator", || {
                let found = match broker.call(4, request.clone().into())? {
                    ResponseBody::FindCoordinator(answer) => {
                        answer.coordinators.iter().all(|one| one.error_code == 0)
                    }
                    _ => false,
                };
                let loaded = match broker.call(0, describe.clone().into())? {
                    ResponseBody::DescribeTransactions(answer) => answer
                        .transaction_states
                        .iter()
                        .all(|state| ErrorCode(state.error_code) == ErrorCode::TRANSACTIONAL_ID_NOT_FOUND),
                    _ => false,
                };
                let groups = match broker.call(8, offsets.clone().into())? {
                    ResponseBody::OffsetFetch(answer) => {
                        answer.groups.iter().all(|group| group.error_code == 0)
                    }
                    _ => false,
                };
                Ok(found && (key_type == 0 || loaded) && (key_type == 1 || groups))
            })?;
        }
    }
    Ok(())
}

/// Asks again until the answer is yes.
fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while !is_so()? {
        ensure!(began.elapsed() < Duration::from_secs(60), "{what} after 60 s");
        sleep(Duration::from_millis(10));
    }
    Ok(())
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
    let wanted = names.iter().map(|names| {
        let end = |index| {
            ListOffsetsPartition::default()
                .with_partition_index(index)
                .with_current_leader_epoch(-1)
                .with_timestamp(-1)
        };
        ListOffsetsTopic::default()
            .with_name(name(names))
            .with_partitions(vec![end(0), end(1)])
    });
    let request = ListOffsetsRequest::default()
        .with_replica_id((-1).into())
        .with_topics(wanted.collect());
    until("not all topics were led", || {
        let ResponseBody::ListOffsets(answer) = broker.call(7, request.clone().into())? else {
            anyhow::bail!("another API's answer");
        };
        let mut ends = answer.topics.iter().flat_map(|topic| &topic.partitions);
        Ok(ends.all(|end| end.error_code == 0))
    })
}
