//! Tasks of the sealwax repository, as a library: the `tests` package boots its Kafka clusters through [`kafka`].

pub mod cli;
pub mod demo;
pub mod deny;
pub mod guards;
pub mod kafka;
pub mod latency;
pub mod layers;
pub mod leash;
pub mod librdkafka;
mod metadata;
pub mod outcome;
pub mod plants;
pub mod sizes;
mod source;
pub mod test;
pub mod workspace;
