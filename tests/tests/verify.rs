//! `sealwax verify` finds what was planted: duplicates, gaps, disorder, aborted records.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use sealwax::{Client, Record};
use sealwax_tests::scratch::unique;
use sealwax_tests::{binary, clusters};
use serde_json::{Value, json};
use xtask::kafka::{Version, create_topic};

async fn plant(bootstrap: &str, topic: &str, committed: &[u64], aborted: &[u64]) -> Result<()> {
    create_topic(bootstrap, topic, 1, &[])?;
    let client = Client::builder([bootstrap]).connect().await?;
    let mut producer = client.transactional_producer(unique("plant")).build().await?;
    let mut txn = producer.begin().await?;
    for number in aborted {
        txn.send(Record::new(topic, &number.to_string()))
            .await?
            .wait()
            .await?;
    }
    txn.abort().await?;
    let mut txn = producer.begin().await?;
    for number in committed {
        txn.send(Record::new(topic, &number.to_string())).await?;
    }
    let _committed = txn.commit().await?;
    Ok(())
}

async fn verify(bootstrap: &str, topic: &str, numbers: &str) -> Result<(Option<i32>, Value)> {
    let binary = tokio::task::spawn_blocking(binary::sealwax).await??;
    let output = Command::new(binary)
        .args([
            "verify",
            "--bootstrap-server",
            bootstrap,
            "--topic",
            topic,
            "--numbers",
            numbers,
            "--json",
        ])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let report = serde_json::from_str(&text)
        .with_context(|| format!("{text}{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((output.status.code(), report))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_planted_is_found() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let bootstrap = cluster.bootstrap();
    let topic = unique("verify");
    plant(&bootstrap, &topic, &[1, 2, 2, 5, 4, 9, 10], &[1, 2, 3]).await?;
    let (code, report) = verify(&bootstrap, &topic, "1..10").await?;
    ensure!(code == Some(1), "exit {code:?}: {report}");
    ensure!(
        report["counted"] == 7 && report["distinct"] == 6 && report["duplicates"] == 1,
        "{report}"
    );
    ensure!(report["aborted_records"] == 3, "{report}");
    ensure!(
        report["missing"] == 4 && report["missing_ranges"] == json!([[3, 3], [6, 8]]),
        "{report}"
    );
    ensure!(report["out_of_order"] == 1, "{report}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_topic_is_exact() -> Result<()> {
    let cluster = tokio::task::spawn_blocking(|| clusters::shared(Version::V4_4_0)).await??;
    let bootstrap = cluster.bootstrap();
    let topic = unique("verify");
    plant(&bootstrap, &topic, &[1, 2, 3], &[2]).await?;
    let (code, report) = verify(&bootstrap, &topic, "1..3").await?;
    ensure!(code == Some(0), "exit {code:?}: {report}");
    Ok(())
}
