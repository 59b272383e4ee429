//! From a verb's flags to a connected client, and from the client's errors to exit codes: the same for every verb that talks to a
//! cluster.
//!
//! Input: `--bootstrap-server`, `--command-config`. Output: settings, a [`Client`], or a [`Failure`] that says how to mend it.

use std::path::PathBuf;

use sealwax::admin::TopicDescription;
use sealwax::config::ConsumerConfig;
use sealwax::{Client, Error, ErrorCode, ErrorKind};

use super::{Exit, Failure, say};
use crate::api::{ConfigError, Settings};
use crate::config;

const BOOTSTRAP_SERVERS: &str = "bootstrap.servers";

/// The keys that [`connect`] reads.
const CONNECTION_KEYS: [&str; 11] = [
    BOOTSTRAP_SERVERS,
    "client.id",
    "security.protocol",
    "request.timeout.ms",
    "default.api.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "metadata.max.age.ms",
];

/// The flags that name a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArguments {
    /// Brokers to begin with; one that answers is enough. Default: bootstrap.servers of the command configuration
    #[arg(long, value_name = "HOST:PORT,…")]
    bootstrap_server: Option<String>,
    /// A .properties file with settings of the client (also --producer.config, --consumer.config)
    #[arg(long, value_name = "FILE", aliases = ["producer.config", "consumer.config"])]
    command_config: Option<PathBuf>,
}

impl ClusterArguments {
    /// The settings: those of the file, then `more`, then the flags; the later wins.
    ///
    /// # Errors
    /// The file cannot be read or is malformed, or no broker is named anywhere.
    pub(super) fn settings(&self, more: &Settings) -> Result<Settings, Failure> {
        let mut settings = self.file()?.overlaid(more);
        if let Some(servers) = &self.bootstrap_server {
            settings.set(BOOTSTRAP_SERVERS, servers.as_str());
        }
        match settings.value(BOOTSTRAP_SERVERS) {
            Some(_) => Ok(settings),
            None => Err(Failure::new(
                Exit::Validation,
                "no broker is named: give --bootstrap-server HOST:PORT",
            )),
        }
    }

    fn file(&self) -> Result<Settings, Failure> {
        let Some(path) = &self.command_config else {
            return Ok(Settings::new());
        };
        let invalid = |why: String| {
            Failure::new(
                Exit::Validation,
                format!("--command-config {}: {why}", path.display()),
            )
        };
        let bytes = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
        config::parse_properties(&bytes).map_err(|error| invalid(error.to_string()))
    }
}

/// Connects.
///
/// # Errors
/// A setting is not valid (validation), or no broker answers at the addresses (environment).
///
/// # Cancel safety
/// Nothing stays behind if the future is dropped.
pub(super) async fn connect(settings: &Settings) -> Result<Client, Failure> {
    let config = config::client_config(settings).map_err(|errors| invalid_connection(&errors))?;
    let servers = config.bootstrap_servers.clone();
    Client::builder(servers.iter().map(String::as_str))
        .config(config)
        .connect()
        .await
        .map_err(|error| {
            let exit = match exit_of(&error) {
                Exit::Validation => Exit::Validation,
                Exit::RunTime | Exit::Environment => Exit::Environment,
            };
            Failure::new(
                exit,
                format!(
                    "no connection to a Kafka cluster at {}: {error}",
                    servers.join(",")
                ),
            )
        })
}

fn invalid_connection(errors: &[ConfigError]) -> Failure {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Failure::new(
        Exit::Validation,
        format!("the settings are not valid:\n  {}", lines.join("\n  ")),
    )
}

/// A setting that the client refuses.
pub(super) fn invalid(error: &Error) -> Failure {
    Failure::new(Exit::Validation, format!("the settings are not valid: {error}"))
}

/// The settings of a consumer. What nothing reads is told to the user.
///
/// # Errors
/// A setting is not valid.
pub(super) fn consumer_config(settings: &Settings) -> Result<ConsumerConfig, Failure> {
    let (config, unknown) =
        ConsumerConfig::from_properties(settings.iter()).map_err(|error| invalid(&error))?;
    warn_without_effect(&unknown, &[]);
    Ok(config)
}

/// Tells the user of settings that nothing reads: `unknown` to the role, and neither about the connection nor `handled` by the verb.
pub(super) fn warn_without_effect(unknown: &[(&str, &str)], handled: &[&str]) {
    for key in without_effect(unknown, handled) {
        say::note(&format_args!(
            "sealwax: warning: the setting {key} is not known here and has no effect"
        ));
    }
}

fn without_effect<'a>(unknown: &[(&'a str, &str)], handled: &[&str]) -> Vec<&'a str> {
    unknown
        .iter()
        .map(|(key, _)| *key)
        .filter(|key| !CONNECTION_KEYS.contains(key) && !handled.contains(key))
        .collect()
}

/// What the cluster tells of a topic.
///
/// # Errors
/// The topic does not exist, or cannot be described.
///
/// # Cancel safety
/// Reads only.
pub(super) async fn describe_topic(client: &Client, topic: &str) -> Result<TopicDescription, Failure> {
    let failed = |error: &Error| match error.kind() {
        ErrorKind::UnknownTopic => failure("no such topic", error),
        _ => failure(&format!("topic \"{topic}\" cannot be described"), error),
    };
    let described = client
        .admin()
        .describe_topics(&[topic])
        .await
        .map_err(|error| failed(&error))?;
    match described.into_iter().next() {
        Some(description) => description.map_err(|error| failed(&error)),
        None => Err(Failure::new(
            Exit::RunTime,
            format!("topic \"{topic}\" cannot be described: the broker's answer does not name it"),
        )),
    }
}

/// A failure of the client: what was being done, why it failed, and for what can be mended on the spot, how.
pub(super) fn failure(doing: &str, error: &Error) -> Failure {
    let mend = match error.code() {
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => {
            "\nSee which topics there are with kafka-topics.sh --list, and create it with kafka-topics.sh --create --topic NAME"
        }
        _ => "",
    };
    Failure::new(exit_of(error), format!("{doing}: {error}{mend}"))
}

fn exit_of(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::Config => Exit::Validation,
        ErrorKind::Unreachable | ErrorKind::NotKafka => Exit::Environment,
        // The enum grows with the client; what it does not name here went wrong while running.
        _ => Exit::RunTime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(server: Option<&str>, file: Option<PathBuf>) -> ClusterArguments {
        ClusterArguments {
            bootstrap_server: server.map(str::to_owned),
            command_config: file,
        }
    }

    #[test]
    fn flags_win_over_more_settings_and_those_over_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("client.properties");
        std::fs::write(&file, "bootstrap.servers=file:1\nclient.id=file\nlinger.ms=1\n").unwrap();
        let more: Settings = [("client.id", "more"), (BOOTSTRAP_SERVERS, "more:1")]
            .into_iter()
            .collect();
        let settings = arguments(Some("flag:1"), Some(file.clone()))
            .settings(&more)
            .unwrap();
        assert_eq!(
            settings.iter().collect::<Vec<_>>(),
            [
                (BOOTSTRAP_SERVERS, "flag:1"),
                ("client.id", "more"),
                ("linger.ms", "1")
            ]
        );
        let settings = arguments(None, Some(file)).settings(&Settings::new()).unwrap();
        assert_eq!(settings.value(BOOTSTRAP_SERVERS), Some("file:1"));
    }

    #[test]
    fn without_a_broker_or_a_readable_file_it_is_a_validation_failure() {
        let none = arguments(None, None).settings(&Settings::new()).unwrap_err();
        assert_eq!(none.exit(), Exit::Validation);
        assert!(none.to_string().contains("--bootstrap-server"), "{none}");
        let unreadable = arguments(Some("b:1"), Some("no/such.properties".into()))
            .settings(&Settings::new())
            .unwrap_err();
        assert_eq!(unreadable.exit(), Exit::Validation);
        assert!(
            unreadable.to_string().contains("no/such.properties"),
            "{unreadable}"
        );
    }

    #[test]
    fn keys_of_the_connection_are_read_by_it_and_others_are_told() {
        for key in CONNECTION_KEYS
            .iter()
            .filter(|key| key.ends_with(".ms") || key.starts_with("security"))
        {
            let settings: Settings = [(*key, "neither a number nor a protocol")].into_iter().collect();
            assert!(config::client_config(&settings).is_err(), "{key}");
        }
        let unknown = [("client.id", "a"), ("bathc.size", "1"), ("transactional.id", "t")];
        assert_eq!(without_effect(&unknown, &["transactional.id"]), ["bathc.size"]);
    }
}
