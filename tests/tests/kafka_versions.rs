//! Every supported version boots, answers, and carries a transaction that Java reads back.

use anyhow::{Result, ensure};
use sealwax::{Client, Record};
use sealwax_tests::readers;
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

#[test]
fn each_version_boots_and_carries_a_transaction() -> Result<()> {
    for version in Version::ALL {
        let cluster = Cluster::builder(version).start()?;
        create_topic(&cluster.bootstrap(), "t", 1, &[])?;
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(async {
            let client = Client::builder([cluster.bootstrap()]).connect().await?;
            let nodes = client.admin().describe_cluster().await?.nodes.len();
            ensure!(nodes == 1, "{version}: {nodes} nodes");
            let mut producer = client.transactional_producer("versions").build().await?;
            for number in 1..=3 {
                let mut txn = producer.begin().await?;
                txn.send(Record::new("t", &number.to_string())).await?;
                let _committed = txn.commit().await?;
            }
            Ok(())
        })?;
        let seen = readers::java(&cluster, "t", Isolation::ReadCommitted)?;
        ensure!(seen == ["1", "2", "3"], "{version}: {seen:?}");
    }
    Ok(())
}
