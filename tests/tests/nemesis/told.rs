//! What a process of the workload is told: by the environment, and while it runs by files in the run's directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use sealwax::config::ClientConfig;
use sealwax::{Client, IsolationLevel};
use sealwax_tests::history::Journal;
use serde_json::Value;
use xtask::kafka::Version;

const VARIABLE: &str = "SEALWAX_NEMESIS";
/// A node that is cut off must not hold its clients for long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) enum Role {
    /// Writes with one producer per transactional id.
    Writer { ids: Vec<String>, seed: u64 },
    /// Reads what is written.
    Reader,
    /// Judges what was written and read. Knows when faults ended, in microseconds since the run began.
    Judge { healed: Vec<u64> },
}

#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) role: Role,
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) base: SystemTime,
    pub(crate) bootstrap: String,
    pub(crate) version: Version,
    pub(crate) topic: String,
    pub(crate) partitions: i32,
    /// The reader's; the judge reads committed records only.
    pub(crate) isolation: IsolationLevel,
}

impl Told {
    pub(crate) fn from_environment() -> Result<Self> {
        let text = std::env::var(VARIABLE).with_context(|| format!("{VARIABLE} is not set"))?;
        let value: Value = serde_json::from_str(&text)?;
        let string = |key: &str| {
            let text = value[key].as_str().with_context(|| format!("no {key}"))?;
            anyhow::Ok(text.to_owned())
        };
        let base = value["base_micros"].as_u64().context("no base_micros")?;
        Ok(Self {
            role: role(&value)?,
            name: string("name")?,
            dir: string("dir")?.into(),
            base: UNIX_EPOCH + Duration::from_micros(base),
            bootstrap: string("bootstrap")?,
            version: string("version")?.parse().map_err(anyhow::Error::msg)?,
            topic: string("topic")?,
            partitions: i32::try_from(value["partitions"].as_i64().context("no partitions")?)?,
            isolation: match string("isolation")?.as_str() {
                "read_committed" => IsolationLevel::ReadCommitted,
                "read_uncommitted" => IsolationLevel::ReadUncommitted,
                other => bail!("there is no isolation {other}"),
            },
        })
    }

    /// This process' history. Its file's name tells how many microseconds after the run it began.
    pub(crate) fn journal(&self) -> Result<Journal> {
        Journal::in_file(&self.dir.join(format!("{}@{}.jsonl", self.name, self.micros())))
    }

    /// Microseconds since the run began.
    pub(crate) fn micros(&self) -> u64 {
        let since = SystemTime::now().duration_since(self.base).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    /// Whether all are to end.
    pub(crate) fn is_over(&self) -> bool {
        self.dir.join("stop").exists()
    }

    /// Asks all to end.
    pub(crate) fn stop(&self) -> Result<()> {
        Ok(std::fs::write(self.dir.join("stop"), "")?)
    }

    /// Whether another process has this one's transactional ids for good.
    pub(crate) fn is_replaced(&self) -> bool {
        self.dir.join(format!("yield-{}", self.name)).exists()
    }

    /// A client; tries until it is connected, since the process may have been started in the middle of an attack. `None` if the run is
    /// over before.
    pub(crate) async fn connect(&self) -> Option<Client> {
        while !self.is_over() {
            match self.connect_once().await {
                Ok(client) => return Some(client),
                Err(error) => println!("{}: {error}", self.name),
            }
        }
        None
    }

    /// A client, provided that the cluster answers.
    pub(crate) async fn connect_once(&self) -> sealwax::Result<Client> {
        let mut config = ClientConfig::default();
        config.bootstrap_servers = self.bootstrap.split(',').map(str::to_owned).collect();
        config.request_timeout = REQUEST_TIMEOUT;
        Client::builder(Vec::<String>::new())
            .config(config)
            .connect()
            .await
    }

    /// All partitions, by the names that they have in histories.
    pub(crate) fn keys(&self) -> BTreeMap<i32, String> {
        (0..self.partitions)
            .map(|partition| (partition, format!("{}/{partition}", self.topic)))
            .collect()
    }
}

fn role(value: &Value) -> Result<Role> {
    Ok(match value["role"].as_str().context("no role")? {
        "writer" => {
            let ids = value["ids"].as_array().context("no ids")?.iter();
            Role::Writer {
                ids: ids.filter_map(|id| id.as_str().map(str::to_owned)).collect(),
                seed: value["seed"].as_u64().context("no seed")?,
            }
        }
        "reader" => Role::Reader,
        "judge" => {
            let healed = value["healed"].as_array().context("no healed")?.iter();
            Role::Judge {
                healed: healed.filter_map(Value::as_u64).collect(),
            }
        }
        other => bail!("there is no role {other}"),
    })
}
