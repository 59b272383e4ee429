//! The two sides that are compared: a real broker and the model, each as something that answers requests.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sealwax_devbroker::{Cluster, Origin, Release, Settings};
use sealwax_protocol::StrBytes;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::{DescribeTransactionsRequest, TransactionalId};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_tests::raw::RawConnection;

/// Something that answers requests, and for which time goes by.
pub(crate) trait Side {
    /// The answer to a request.
    fn call(&mut self, version: i16, body: RequestBody) -> Result<ResponseBody>;

    /// Lets a moment pass, of a length that a broker needs for a marker.
    fn pause(&mut self);

    /// Waits until the state of a transactional id is one that `done` likes. Returns the last state if that does not happen.
    fn wait_for(
        &mut self,
        id: &str,
        patience: Duration,
        done: impl Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        let began = Instant::now();
        loop {
            let state = self.state(id)?;
            if done(&state) {
                return Ok(None);
            }
            if began.elapsed() > self.scaled(patience) {
                return Ok(Some(state));
            }
            self.pause();
        }
    }

    /// A patience for this side: the model's time does not pass by itself.
    fn scaled(&self, patience: Duration) -> Duration;

    /// DescribeTransactions' name of the state of a transactional id; empty if it is not known.
    fn state(&mut self, id: &str) -> Result<String> {
        let id = TransactionalId(StrBytes::from_string(id.to_owned()));
        let request = DescribeTransactionsRequest::default().with_transactional_ids(vec![id]);
        let ResponseBody::DescribeTransactions(answer) = self.call(0, request.into())? else {
            anyhow::bail!("another API's answer");
        };
        let state = answer.transaction_states.first().context("no state")?;
        Ok(state.transaction_state.to_string())
    }
}

/// A real broker.
pub(crate) struct Broker {
    connection: RawConnection,
}

impl Broker {
    pub(crate) fn connect(address: &str) -> Result<Self> {
        let connection = RawConnection::connect(address)?;
        Ok(Self { connection })
    }
}

impl Side for Broker {
    fn call(&mut self, version: i16, body: RequestBody) -> Result<ResponseBody> {
        self.connection.call(version, &body)
    }

    fn pause(&mut self) {
        sleep(Duration::from_millis(2));
    }

    fn scaled(&self, patience: Duration) -> Duration {
        patience
    }
}

/// The model: one node, virtual time.
pub(crate) struct Model {
    pub(crate) cluster: Cluster,
    now: Duration,
    correlation: i32,
}

impl Model {
    pub(crate) fn new(release: Release, transaction_version: i16) -> Self {
        let mut settings = Settings::default();
        settings.nodes = 1;
        settings.release = release;
        settings.transaction_version = transaction_version;
        Self {
            cluster: Cluster::new(settings),
            now: Duration::ZERO,
            correlation: 0,
        }
    }
}

impl Side for Model {
    fn call(&mut self, version: i16, body: RequestBody) -> Result<ResponseBody> {
        self.correlation += 1;
        let origin = Origin {
            node: NodeId(1),
            connection: 1,
            correlation: self.correlation,
        };
        self.cluster.handle_request(self.now, origin, version, body);
        loop {
            if let Some(answer) = self.cluster.poll_answer() {
                ensure!(answer.to == origin, "an answer for another request");
                return Ok(answer.body);
            }
            self.now = self.cluster.poll_timeout().context("nothing will ever answer")?;
            self.cluster.handle_timeout(self.now);
        }
    }

    fn pause(&mut self) {
        self.now += Duration::from_millis(100);
        self.cluster.handle_timeout(self.now);
    }

    fn scaled(&self, patience: Duration) -> Duration {
        patience / 100
    }
}
