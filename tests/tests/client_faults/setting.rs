//! What a single case needs: a shared cluster, a proxy in front of it, a client behind the proxy, a topic of its own, and a reader that
//! is not ours.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use sealwax::Client;
use sealwax_tests::proxy::{Proxy, Rule};
use sealwax_tests::scratch::unique;
use sealwax_tests::{clusters, readers};
use tokio::task::spawn_blocking;
use xtask::kafka::{Cluster, Isolation, Version, create_topic};

/// The client's `request.timeout.ms`.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

const CONNECT_TRIES: usize = 5;

pub(crate) struct Setting {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) client: Client,
    pub(crate) topic: String,
    proxy: Proxy,
}

impl Setting {
    pub(crate) async fn new(version: Version, rule: impl Rule) -> Result<Self> {
        Self::within(version, rule, REQUEST_TIMEOUT).await
    }

    /// As [`Setting::new`], for a link on which a request may take longer.
    pub(crate) async fn within(version: Version, rule: impl Rule, request_timeout: Duration) -> Result<Self> {
        let cluster = spawn_blocking(move || clusters::shared(version)).await??;
        let topic = unique("case");
        create_topic(&cluster.bootstrap(), &topic, 1, &[])?;
        let proxy = Proxy::start(&cluster.bootstrap(), rule)?;
        let client = client(&proxy, request_timeout).await?;
        Ok(Self {
            cluster,
            client,
            topic,
            proxy,
        })
    }

    /// Another client, with connections of its own.
    pub(crate) async fn client(&self, request_timeout: Duration) -> Result<Client> {
        client(&self.proxy, request_timeout).await
    }

    /// All committed values, as librdkafka reads them.
    pub(crate) async fn committed(&self) -> Result<Vec<String>> {
        let (bootstrap, topic) = (self.cluster.bootstrap(), self.topic.clone());
        spawn_blocking(move || {
            let places = readers::librdkafka_places(&bootstrap, &topic, Isolation::ReadCommitted)?;
            Ok(places.into_iter().map(|place| place.value).collect())
        })
        .await?
    }
}

/// The first contact is one attempt for each address; a link that breaks just then is the application's to try again.
async fn client(proxy: &Proxy, request_timeout: Duration) -> Result<Client> {
    let mut tries = 1;
    loop {
        let builder = Client::builder([proxy.bootstrap()]).request_timeout(request_timeout);
        match builder.connect().await {
            Ok(client) => return Ok(client),
            Err(_) if tries < CONNECT_TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// A test of this name for 3.9.1 (TV1) and for 4.4.0 (TV2).
macro_rules! on_both {
    ($case:path, $on_3_9_1:ident, $on_4_4_0:ident) => {
        #[tokio::test(flavor = "multi_thread")]
        async fn $on_3_9_1() -> anyhow::Result<()> {
            $case(xtask::kafka::Version::V3_9_1).await
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $on_4_4_0() -> anyhow::Result<()> {
            $case(xtask::kafka::Version::V4_4_0).await
        }
    };
}

pub(crate) use on_both;
