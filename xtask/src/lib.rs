//! Tasks of the sealwax repository, as a library: the `tests` package boots its Kafka clusters through [`kafka`].

pub mod cli;
pub mod kafka;
pub mod leash;
pub mod workspace;
