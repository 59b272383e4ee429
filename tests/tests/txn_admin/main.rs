//! Administration of transactions on real brokers, by the client's calls and by `sealwax txns`: open ones are listed, described and fenced;
//! a hanging one, made on purpose, is found and aborted, and Java's read_committed consumer reads on.

mod fencing;
mod hanging;
mod raw;

use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use sealwax::Client;
use sealwax_tests::scratch::unique;
use sealwax_tests::{binary, readers};
use serde_json::Value;
use xtask::kafka::{Cluster, Isolation, create_topic};

/// A client connected to a cluster, and a topic of the test's own with one partition.
async fn set_up(cluster: &Cluster) -> Result<(Client, String)> {
    let topic = unique("txn-admin");
    create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
    let client = Client::builder(cluster.bootstrap().split(',')).connect().await?;
    Ok((client, topic))
}

/// What Java's consumer reads under read_committed.
async fn java(cluster: &Arc<Cluster>, topic: &str) -> Result<Vec<String>> {
    let (cluster, topic) = (Arc::clone(cluster), topic.to_owned());
    tokio::task::spawn_blocking(move || readers::java(&cluster, &topic, Isolation::ReadCommitted)).await?
}

/// What `sealwax txns` ended with and said.
struct Said {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Said {
    /// Stdout as the JSON document that it must be.
    fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("{}{}", self.stdout, self.stderr))
    }
}

/// Runs `sealwax txns` against a cluster. Nobody is there to be asked.
async fn txns(cluster: &Cluster, arguments: &[&str]) -> Result<Said> {
    let bootstrap = cluster.bootstrap();
    let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    let output = tokio::task::spawn_blocking(move || -> Result<_> {
        let (verb, more) = arguments.split_first().context("no subcommand")?;
        Ok(Command::new(binary::sealwax()?)
            .args(["txns", verb, "--bootstrap-server", &bootstrap])
            .args(more)
            .stdin(Stdio::null())
            .output()?)
    })
    .await??;
    Ok(Said {
        exit: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}
