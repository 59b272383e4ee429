//! Exactly once under faults, on real brokers: a table of requests × faults × occurrences, each tried on a producer of its own and judged
//! by the checker of histories with what Java's and librdkafka's read_committed consumers saw.
//!
//! The ordinary run takes each request and each fault once per version. The whole table: `cargo xtask faults`, which sets
//! `SEALWAX_FAULTS` to a directory for its results.

mod bad_link;
mod case;
mod judge;
mod late_commit;
mod offsets;
mod other_clients;
mod refused_write;
mod script;
mod setting;
mod short_limit;
mod table;
mod transaction;
mod workload;

use anyhow::Result;
use xtask::kafka::Version;

#[tokio::test(flavor = "multi_thread")]
async fn table_on_3_3_2() -> Result<()> {
    table::carry_out(Version::V3_3_2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn table_on_3_9_1() -> Result<()> {
    table::carry_out(Version::V3_9_1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn table_on_4_4_0() -> Result<()> {
    table::carry_out(Version::V4_4_0).await
}
