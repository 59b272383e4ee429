//! The settings of the producers of this verb: `--producer-props` over the command configuration.

use sealwax::Client;
use sealwax::config::ProducerConfig;

use crate::api::Settings;
use crate::cli::Failure;
use crate::cli::cluster::{self, ClusterArguments};

const TRANSACTIONAL_ID: &str = "transactional.id";

/// The flags of a verb that produces.
#[derive(Debug, clap::Args)]
pub(super) struct ProducerArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Settings of the producer, for example linger.ms=5 batch.size=65536; they win over the command configuration
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value)]
    producer_props: Vec<(String, String)>,
}

/// A connected client and the settings for its producer.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The client.
    pub(super) client: Client,
    /// The producer's settings.
    pub(super) config: ProducerConfig,
    /// `transactional.id`, if it was among the settings.
    pub(super) transactional_id: Option<String>,
}

impl ProducerArguments {
    /// Checks the settings, then connects.
    ///
    /// # Errors
    /// A setting is not valid (validation), or no broker answers (environment).
    pub(super) async fn prepare(&self) -> Result<Prepared, Failure> {
        let props: Settings = self.producer_props.iter().cloned().collect();
        let settings = self.cluster.settings(&props)?;
        let (config, unknown) =
            ProducerConfig::from_properties(settings.iter()).map_err(|error| cluster::invalid(&error))?;
        cluster::warn_without_effect(&unknown, &[TRANSACTIONAL_ID]);
        Ok(Prepared {
            client: cluster::connect(&settings).await?,
            config,
            transactional_id: settings.value(TRANSACTIONAL_ID).map(str::to_owned),
        })
    }
}

/// A transactional id that no other run has.
pub(super) fn random_transactional_id() -> String {
    format!("sealwax-perf-{:016x}", fastrand::u64(..))
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        Some(_) | None => Err("write KEY=VALUE, for example linger.ms=5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_split_at_the_first_equals_sign() {
        assert_eq!(key_value("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(key_value("a="), Ok(("a".into(), String::new())));
        assert!(key_value("=b").is_err());
        assert!(key_value("ab").is_err());
    }
}
