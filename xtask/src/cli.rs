//! The command line of `cargo xtask`: which verbs there are, and which function each calls.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

use crate::demo::{self, Demo};
use crate::kafka::{self, Cluster, Data, Missing, Version};
use crate::latency::{self, Latency};
use crate::nemesis::{self, Long, Nemesis};
use crate::outcome::Outcome;
use crate::plants::{self, Plants};
use crate::{apart, deny, faults, guards, layers, sizes, test, workspace};

/// The exit code of what this machine does not allow.
const NOT_RUN: u8 = 3;

/// Tasks of the sealwax repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Real Apache Kafka on this machine, up and down
    #[command(subcommand)]
    Kafka(Kafka),
    /// Kill -9 a worker again and again while it carries a file into Kafka, then count
    Demo(DemoArgs),
    /// Attack three brokers and their clients at random, then judge what clients were told (as root; exits with 3 where namespaces are
    /// not allowed)
    Nemesis(NemesisArgs),
    /// Measure how long a transaction of one record takes: ours, Java's and librdkafka's, in turns on the same broker
    Latency(LatencyArgs),
    /// Try every fault on every request of a transaction, on real brokers, and replace docs/evidence/faults.md
    Faults(Installing),
    /// Prove that imports go one way, between packages and between rooms
    Layers,
    /// Check promises about the dependency tree: machines without tokio, no C, lints everywhere
    Guards,
    /// Check licences, bans, sources and advisories with cargo-deny
    Deny,
    /// Run every check and every test, those on real brokers included
    Test(Installing),
    /// Break the client on purpose, one way after the other, and show which check sees it
    Plants(PlantsArgs),
    /// Find files and functions that are too long, and files without a head
    Sizes,
}

#[derive(Debug, Subcommand)]
enum Kafka {
    /// Boot a cluster that goes on after this command; the last line printed is its bootstrap list
    Up(Up),
    /// End a cluster (without --dir: all in default directories) and remove its data
    Down(Down),
}

#[derive(Debug, Args)]
struct DemoArgs {
    /// How many numbered lines the file has
    #[arg(long, default_value_t = 1_000_000)]
    lines: u64,
    /// How often the worker is killed
    #[arg(long, default_value_t = 6)]
    kills: usize,
    /// Seed of all random choices (default: a new one, printed)
    #[arg(long)]
    seed: Option<u64>,
    /// The Kafka version
    #[arg(long, default_value = "4.4.0", value_parser = parse_version)]
    version: Version,
    /// Build sealwax with optimisations (takes longer to build than the demo takes to run)
    #[arg(long)]
    release: bool,
    /// Install Java, Maven and Python's venv if they are missing (as root on Debian)
    #[arg(long)]
    install: bool,
}

#[derive(Debug, Args)]
struct NemesisArgs {
    /// The Kafka version
    #[arg(long, default_value = "4.4.0", value_parser = parse_version)]
    version: Version,
    /// For how many minutes faults are caused
    #[arg(long, default_value_t = 10.0)]
    minutes: f32,
    /// Seed of all random choices (default: a new one, printed)
    #[arg(long)]
    seed: Option<u64>,
    /// Repeat the plan of this file in place of drawing one
    #[arg(long)]
    plan: Option<PathBuf>,
    /// The negative control: the reader reads uncommitted records, and that must be found
    #[arg(long)]
    control: bool,
    /// In place of random faults: restart each of three brokers so many times, one after the other (no root needed)
    #[arg(long, value_name = "ROUNDS", conflicts_with_all = ["minutes", "seed", "plan", "control", "outage"])]
    rolling: Option<u32>,
    /// In place of random faults: stop every broker for so many seconds (no root needed)
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["minutes", "seed", "plan", "control"])]
    outage: Option<u32>,
    /// Install Java, Maven and nftables if they are missing (as root on Debian)
    #[arg(long)]
    install: bool,
}

#[derive(Debug, Args)]
struct PlantsArgs {
    /// Only plants whose name holds this
    filter: Option<String>,
    /// Also run the checks on real brokers (they take minutes for each plant)
    #[arg(long)]
    with_brokers: bool,
}

#[derive(Debug, Args)]
struct LatencyArgs {
    /// The Kafka version; may be repeated
    #[arg(long = "version", default_values = ["3.9.1", "4.4.0"], value_parser = parse_version)]
    versions: Vec<Version>,
    /// How many transactions a round has
    #[arg(long, default_value_t = 300)]
    transactions: usize,
    /// How many rounds each client has
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Replace docs/evidence/latency.md with the report
    #[arg(long)]
    write: bool,
    /// Install Java, Maven and Python's venv if they are missing (as root on Debian)
    #[arg(long)]
    install: bool,
}

#[derive(Debug, Args)]
struct Installing {
    /// Install Java, Maven and Python's venv if they are missing (as root on Debian)
    #[arg(long)]
    install: bool,
}

#[derive(Debug, Args)]
struct Up {
    /// 3.3.2, 3.9.1, 4.0.0, 4.3.1 or 4.4.0
    #[arg(long, default_value = "4.4.0", value_parser = parse_version)]
    version: Version,
    /// How many nodes
    #[arg(long, default_value = "1", value_parser = parse_nodes)]
    nodes: u16,
    /// First port: brokers take it and the following, then controllers (default: free ports)
    #[arg(long)]
    port: Option<u16>,
    /// Where the cluster lives (default: `target/kafka/<version>-<nodes>`)
    #[arg(long)]
    dir: Option<PathBuf>,
    /// A broker property, key=value; may be repeated
    #[arg(long = "config", value_name = "KEY=VALUE", value_parser = parse_pair)]
    configs: Vec<(String, String)>,
    /// Install Java, Maven and Python's venv if they are missing (as root on Debian)
    #[arg(long)]
    install: bool,
}

#[derive(Debug, Args)]
struct Down {
    /// The directory given to `up` (default: all default directories)
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Keep the data for a later `up` on the same directory
    #[arg(long)]
    keep: bool,
}

fn parse_nodes(text: &str) -> Result<u16, String> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        _ => Err("1 or 3 are supported".to_owned()),
    }
}

/// Runs the verb.
///
/// # Errors
/// Whatever the verb's work ends in; the caller prints it.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.verb {
        Verb::Kafka(Kafka::Up(up)) => kafka_up(up),
        Verb::Kafka(Kafka::Down(down)) => {
            kafka::down(
                down.dir.as_deref(),
                if down.keep { Data::Keep } else { Data::Remove },
            )?;
            Ok(ExitCode::SUCCESS)
        }
        Verb::Demo(demo) => run_demo(&demo),
        Verb::Nemesis(arguments) => run_nemesis(&arguments),
        Verb::Latency(latency) => run_latency(latency),
        Verb::Faults(faults) => Ok(code(faults::run(missing(faults.install))?)),
        Verb::Layers => Ok(code(layers::check(&workspace::root()?)?)),
        Verb::Guards => Ok(code(guards::check(&workspace::root()?)?)),
        Verb::Deny => run_deny(),
        Verb::Test(test) => Ok(code(test::run(missing(test.install))?)),
        Verb::Plants(arguments) => {
            let plants = Plants {
                filter: arguments.filter,
                with_brokers: arguments.with_brokers,
            };
            Ok(code(plants::run(&plants)?))
        }
        Verb::Sizes => Ok(code(sizes::check(&workspace::root()?)?)),
    }
}

fn code(good: bool) -> ExitCode {
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_demo(arguments: &DemoArgs) -> Result<ExitCode> {
    let demo = Demo {
        version: arguments.version,
        lines: arguments.lines,
        kills: arguments.kills,
        seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..1_000_000)),
        release: arguments.release,
        missing: missing(arguments.install),
    };
    Ok(code(demo::run(&demo)?))
}

fn run_nemesis(arguments: &NemesisArgs) -> Result<ExitCode> {
    let long = match (arguments.rolling, arguments.outage) {
        (Some(rounds), _) => Some(Long::Rolling { rounds }),
        (None, Some(seconds)) => Some(Long::Outage { seconds }),
        (None, None) => None,
    };
    if let Some(long) = long {
        return Ok(code(nemesis::run_long(long, arguments.version)?));
    }
    let length = Duration::try_from_secs_f32(arguments.minutes * 60.0).context("--minutes")?;
    let outcome = nemesis::run(&Nemesis {
        version: arguments.version,
        length,
        seed: arguments.seed,
        plan: arguments.plan.clone(),
        control: arguments.control,
        missing: missing(arguments.install),
    });
    match outcome {
        Err(error) if error.is::<apart::Refused>() => {
            eprintln!("not run: {error}");
            Ok(ExitCode::from(NOT_RUN))
        }
        outcome => Ok(code(outcome?)),
    }
}

fn run_latency(arguments: LatencyArgs) -> Result<ExitCode> {
    let latency = Latency {
        versions: arguments.versions,
        transactions: arguments.transactions,
        rounds: arguments.rounds,
        write: arguments.write,
        missing: missing(arguments.install),
    };
    Ok(code(latency::run(&latency)?))
}

fn run_deny() -> Result<ExitCode> {
    let root = workspace::root()?;
    let rules = deny::check_rules(&root)?;
    let advisories = deny::check_advisories(&root)?;
    Ok(code(rules == Outcome::Passed && advisories == Outcome::Passed))
}

fn kafka_up(up: Up) -> Result<ExitCode> {
    let dir = match up.dir {
        Some(dir) => dir,
        None => kafka::default_dir(up.version, up.nodes)?,
    };
    let mut builder = Cluster::builder(up.version)
        .nodes(up.nodes)
        .missing(missing(up.install));
    if let Some(port) = up.port {
        builder = builder.port(port);
    }
    for (key, value) in up.configs {
        builder = builder.config(key, value);
    }
    println!("{}", kafka::up(builder, &dir)?);
    Ok(ExitCode::SUCCESS)
}

fn missing(install: bool) -> Missing {
    if install { Missing::Install } else { Missing::Name }
}

fn parse_version(text: &str) -> Result<Version, String> {
    text.parse()
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not KEY=VALUE"))
}
