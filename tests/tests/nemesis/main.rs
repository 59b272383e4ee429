//! The workload of `cargo xtask nemesis`: processes that write transactions and read them back while a cluster is attacked, and the judge
//! of their histories. Without an attack, on one node, it is an ordinary test that shows that the judge can tell good from bad.

mod judge;
mod reader;
mod told;
mod writer;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use sealwax::IsolationLevel;
use sealwax_tests::clusters;
use sealwax_tests::scratch::{Scratch, unique};
use told::{Role, Told};
use xtask::kafka::{Version, create_topic};

/// One process of a run of `cargo xtask nemesis`, which says by the environment which one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a part of `cargo xtask nemesis`, which starts it with its task"]
async fn under_attack() -> Result<()> {
    let told = Arc::new(Told::from_environment()?);
    play(&told).await
}

async fn play(told: &Arc<Told>) -> Result<()> {
    match &told.role {
        Role::Writer { ids, seed } => writer::write(told, ids, *seed).await,
        Role::Reader => reader::read(told).await,
        Role::Judge { healed } => judge::judge(told, healed).await,
    }
}

/// Writes and reads for some seconds; what the judge has found, by kind.
async fn in_peace(isolation: IsolationLevel) -> Result<serde_json::Value> {
    const PARTITIONS: i32 = 4;
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let (scratch, topic, base) = (Scratch::new()?, unique("nemesis"), SystemTime::now());
    create_topic(&cluster.bootstrap(), &topic, PARTITIONS, &[])?;
    let told = |name: &str, role| {
        Arc::new(Told {
            role,
            name: name.to_owned(),
            dir: scratch.path().to_owned(),
            base,
            bootstrap: cluster.bootstrap(),
            version: cluster.version(),
            topic: topic.clone(),
            partitions: PARTITIONS,
            isolation,
        })
    };
    let ids = (0..3).map(|_| unique("nemesis")).collect();
    let writer = told("writer-0-1", Role::Writer { ids, seed: 7 });
    let reader = told("reader", Role::Reader);
    let stop = async {
        // The length of the run, not a wait for anything.
        tokio::time::sleep(Duration::from_secs(6)).await;
        writer.stop()
    };
    let (wrote, read, stopped) = tokio::join!(play(&writer), play(&reader), stop);
    wrote.and(read).and(stopped)?;
    play(&told("judge", Role::Judge { healed: Vec::new() })).await?;
    Ok(serde_json::from_slice(&std::fs::read(
        scratch.path().join("result.json"),
    )?)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_attack_nothing_is_found() -> Result<()> {
    let result = in_peace(IsolationLevel::ReadCommitted).await?;
    let committed = result["transactions"]["committed"].as_u64();
    ensure!(committed > Some(20), "{result:#}");
    ensure!(result["transactions"]["aborted"].as_u64() > Some(0), "{result:#}");
    ensure!(result["good"] == true, "{result:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_uncommitted_records_is_caught() -> Result<()> {
    let result = in_peace(IsolationLevel::ReadUncommitted).await?;
    ensure!(result["good"] == false, "{result:#}");
    ensure!(result["found"]["aborted read"].as_u64() > Some(0), "{result:#}");
    Ok(())
}
