//! Reads every partition to its end, with our consumer and with Java's, and has all histories of the run checked as one. What was found is
//! written to `result.json`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use sealwax::admin::OffsetSpec;
use sealwax::{Client, IsolationLevel, StartOffset, TopicPartition};
use sealwax_tests::checker::{self, Anomaly, Limits};
use sealwax_tests::history::{self, Event, Journal, Op, Phase, Scribe, Start};
use serde_json::{Value, json};
use xtask::kafka::{ConsoleConsumer, Isolation, Jvm, Missing};

use crate::reader::write_down;
use crate::told::Told;

/// A transaction that nobody ends is aborted by its coordinator: a partition can be read to its end by then.
const READ_LIMIT: Duration = Duration::from_secs(60);
/// Longest that anything may take, faults included, and longest without a success after the last of them.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many anomalies are shown.
const SHOWN: usize = 20;
const OURS: &str = "final";
const JAVAS: &str = "java";

pub(crate) async fn judge(told: &Arc<Told>, healed: &[u64]) -> Result<()> {
    let journal = told.journal()?;
    let client = told.connect_once().await?;
    read_all(told, &client, &journal.scribe(OURS, 1)).await?;
    let (reading, scribe) = (Arc::clone(told), journal.scribe(JAVAS, 1));
    tokio::task::spawn_blocking(move || read_by_java(&reading, &scribe)).await??;
    journal.events().context("the judge's own history")?;
    let events = gather(&told.dir, healed)?;
    let found = checker::check(&events, Limits { patience: PATIENCE });
    let differences = difference(&events);
    let result = json!({
        "good": found.is_empty() && differences == 0,
        "found": by_kind(&found),
        "shown": found.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>(),
        "java_differs": differences,
        "transactions": count(&events),
        "records": records_of(&events, JAVAS).len(),
        "longest_silence_ms": silences(&events, healed).into_iter().max(),
        "last_recovery_ms": healed.last().map(|healed| slowest(&events, *healed)),
    });
    let text = format!("{result:#}\n");
    Ok(std::fs::write(told.dir.join("result.json"), text)?)
}

async fn read_all(told: &Told, client: &Client, scribe: &Scribe) -> Result<()> {
    scribe.ok(Op::Assign {
        keys: told.keys().into_values().collect(),
        start: Start::Beginning,
    });
    for (partition, key) in told.keys() {
        let partition = TopicPartition::new(told.topic.as_str(), partition);
        tokio::time::timeout(READ_LIMIT, read_one(client, &partition, scribe))
            .await
            .with_context(|| format!("{key} could not be read to its end within {READ_LIMIT:?}"))??;
        scribe.ok(Op::Drain { key });
    }
    Ok(())
}

async fn read_one(client: &Client, partition: &TopicPartition, scribe: &Scribe) -> Result<()> {
    let ask = [(partition.clone(), OffsetSpec::Latest)];
    let ends = client
        .admin()
        .list_offsets(&ask, IsolationLevel::ReadUncommitted)
        .await?;
    let mut consumer = client
        .consumer()
        .isolation_level(IsolationLevel::ReadCommitted)
        .build()?;
    consumer.assign([(partition.clone(), StartOffset::Earliest)]);
    while ends[partition] > 0 && consumer.position(partition).is_none_or(|at| at < ends[partition]) {
        write_down(&consumer.next().await?, scribe)?;
    }
    Ok(())
}

fn read_by_java(told: &Told, scribe: &Scribe) -> Result<()> {
    let jvm = Jvm::prepare(told.version, Missing::Name)?;
    scribe.ok(Op::Assign {
        keys: told.keys().into_values().collect(),
        start: Start::Beginning,
    });
    for (partition, key) in told.keys() {
        let mut lines = Vec::new();
        ConsoleConsumer::new(&told.topic, Isolation::ReadCommitted)
            .partition(partition)
            .idle(Duration::from_secs(8))
            .property("print.offset", "true")
            .run(&jvm, &told.bootstrap, |line| lines.push(line.to_owned()))?;
        let records = lines.iter().map(|line| parse(line)).collect::<Result<_>>()?;
        scribe.ok(Op::Poll {
            key: key.clone(),
            records,
        });
        scribe.ok(Op::Drain { key });
    }
    Ok(())
}

/// `Offset:17`, a tab, the value.
fn parse(line: &str) -> Result<(i64, String)> {
    let (offset, value) = line
        .strip_prefix("Offset:")
        .and_then(|rest| rest.split_once('\t'))
        .with_context(|| format!("Java prints {line:?}"))?;
    Ok((offset.parse()?, value.to_owned()))
}

/// All histories of the run as one, in the order of time, with the last heal in it.
fn gather(dir: &Path, healed: &[u64]) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let began = name.rsplit_once('@').map(|(_, began)| began.parse::<u64>());
        let Some(began) = began.filter(|_| path.extension().is_some_and(|end| end == "jsonl")) else {
            continue;
        };
        events.extend(one(&path, began?).with_context(|| path.display().to_string())?);
    }
    events.extend(healed.last().map(|at| Event {
        at: *at,
        process: "nemesis".to_owned(),
        instance: 1,
        transaction: None,
        phase: Phase::Ok,
        op: Op::Heal,
    }));
    events.sort_by_key(|event| event.at);
    Ok(events)
}

/// One process' history. If the process was killed, its last line may be torn off, and its instances end with it.
fn one(path: &Path, began: u64) -> Result<Vec<Event>> {
    let mut text = std::fs::read(path)?;
    let whole = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    text.truncate(whole);
    let mut events = history::read(text.as_slice())?;
    for event in &mut events {
        event.at += began;
    }
    let last = events.last().map_or(began, |event| event.at);
    let crashed = under_way(&events);
    events.extend(crashed.into_iter().map(|(process, instance)| Event {
        at: last,
        process,
        instance,
        transaction: None,
        phase: Phase::Ok,
        op: Op::Crash,
    }));
    Ok(events)
}

/// Instances that began something of which no end is told, and that are not said to have crashed.
fn under_way(events: &[Event]) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<(&str, u32), Option<i64>> = BTreeMap::new();
    for event in events {
        let count = counts.entry((&event.process, event.instance)).or_insert(Some(0));
        match (&event.op, &event.phase) {
            (Op::Crash, _) => *count = None,
            (Op::Begin | Op::Send { .. } | Op::Commit | Op::Abort, Phase::Invoke) => {
                *count = count.map(|count| count + 1);
            }
            (Op::Begin | Op::Send { .. } | Op::Commit | Op::Abort, _) => {
                *count = count.map(|count| count - 1);
            }
            _ => {}
        }
    }
    counts
        .into_iter()
        .filter(|(_, count)| count.is_some_and(|count| count > 0))
        .map(|((process, instance), _)| (process.to_owned(), instance))
        .collect()
}

fn by_kind(found: &[Anomaly]) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for anomaly in found {
        *kinds.entry(anomaly.kind()).or_default() += 1;
    }
    kinds
}

fn count(events: &[Event]) -> Value {
    let count = |wanted: &dyn Fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
    let ended = |op: Op, phase: fn(&Phase) -> bool| count(&|event| event.op == op && phase(&event.phase));
    let is_ok: fn(&Phase) -> bool = |phase| *phase == Phase::Ok;
    json!({
        "begun": ended(Op::Begin, is_ok),
        "committed": ended(Op::Commit, is_ok),
        "aborted": ended(Op::Abort, is_ok),
        "commits that ended as aborts": ended(Op::Commit, |phase| matches!(phase, Phase::Fail(_))),
        "unknown": ended(Op::Commit, |phase| matches!(phase, Phase::Unknown(_))),
        "fenced": ended(Op::Fenced, is_ok),
    })
}

fn records_of<'e>(events: &'e [Event], reader: &str) -> Vec<(&'e str, i64, &'e str)> {
    let mut all = Vec::new();
    for event in events.iter().filter(|event| event.process == reader) {
        if let Op::Poll { key, records } = &event.op {
            all.extend(
                records
                    .iter()
                    .map(|(offset, value)| (key.as_str(), *offset, value.as_str())),
            );
        }
    }
    all
}

/// How many records our last reading and Java's have not in common.
fn difference(events: &[Event]) -> usize {
    let (ours, javas) = (records_of(events, OURS), records_of(events, JAVAS));
    let apart = ours
        .iter()
        .zip(&javas)
        .filter(|(ours, javas)| ours != javas)
        .count();
    apart + ours.len().abs_diff(javas.len())
}

/// For each heal, how long it took until somebody's commit succeeded that was asked for after it.
fn silences(events: &[Event], healed: &[u64]) -> Vec<u64> {
    let first = |at: u64| first_commits(events, at).into_values().min();
    healed.iter().filter_map(|at| first(*at)).collect()
}

/// How long it took from a heal until every transactional id that committed at all again had done so.
fn slowest(events: &[Event], healed: u64) -> Option<u64> {
    first_commits(events, healed).into_values().max()
}

/// Milliseconds from a moment to each transactional id's next committed transaction.
fn first_commits(events: &[Event], from: u64) -> BTreeMap<&str, u64> {
    let mut first = BTreeMap::new();
    for event in events {
        if event.at >= from && event.op == Op::Commit && event.phase == Phase::Ok {
            let id = event.process.rsplit('/').next().unwrap_or_default();
            first.entry(id).or_insert((event.at - from) / 1000);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javas_lines_are_read() {
        assert_eq!(parse("Offset:17\ta\tb").unwrap(), (17, "a\tb".to_owned()));
        assert!(parse("17\ta").is_err());
    }

    #[test]
    fn a_process_that_was_killed_has_crashed_at_its_last_word() -> Result<()> {
        let scratch = sealwax_tests::scratch::Scratch::new()?;
        let path = scratch.path().join("p@500.jsonl");
        let journal = Journal::in_file(&path)?;
        journal.scribe("p", 1).invoke(Op::Begin);
        journal.scribe("p", 1).ok(Op::Begin);
        journal.scribe("p", 2).invoke(Op::Begin);
        let mut text = std::fs::read(&path)?;
        text.extend_from_slice(b"{\"at\":");
        std::fs::write(&path, text)?;
        let events = gather(scratch.path(), &[])?;
        let crashes: Vec<u32> = events
            .iter()
            .filter(|event| event.op == Op::Crash)
            .map(|event| event.instance)
            .collect();
        assert_eq!((events.len(), crashes), (4, vec![2]));
        assert!(events.iter().all(|event| event.at >= 500));
        Ok(())
    }
}
