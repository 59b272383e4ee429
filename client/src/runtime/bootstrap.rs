//! The first contact: the bootstrap addresses are asked for metadata one after the other, the next one as soon as the one
//! before has failed or hesitates. The first answer wins; if there is none, each address is named with its reason.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sealwax_protocol::messages::MetadataResponse;
use sealwax_protocol::response::ResponseBody;

use crate::config::Address;
use crate::error::{Error, ErrorKind};
use crate::machine::metadata::refresh;
use crate::runtime::clock;
use crate::runtime::cluster::{Cluster, Whom};

/// How long an address may hesitate before the next one is tried beside it.
const HESITATION: Duration = Duration::from_secs(1);

/// Gets the first metadata.
pub(crate) async fn first_metadata(
    cluster: &Cluster,
    addresses: &[Address],
) -> Result<MetadataResponse, Error> {
    let mut untried = addresses.iter().enumerate();
    let mut attempts = FuturesUnordered::new();
    let mut reasons = Vec::new();
    loop {
        let next = untried.next();
        let exhausted = next.is_none();
        if let Some((index, address)) = next {
            attempts.push(async move { (address, ask(cluster, index).await) });
        }
        let hesitation = tokio::time::sleep(HESITATION);
        tokio::pin!(hesitation);
        tokio::select! {
            answer = attempts.next() => match answer {
                Some((_, Ok(response))) => return Ok(response),
                Some((address, Err(error))) => reasons.push((address, error)),
                None if exhausted => return Err(unreachable(&reasons)),
                None => {}
            },
            () = &mut hesitation, if !exhausted => {}
        }
    }
}

async fn ask(cluster: &Cluster, index: usize) -> Result<MetadataResponse, Error> {
    let deadline = clock::now() + cluster.config().request_timeout;
    let request = refresh::request(std::iter::empty(), false);
    match cluster
        .ask(Whom::BootstrapServer(index), request.into(), deadline)
        .await
    {
        Ok(ResponseBody::Metadata(response)) if response.brokers.is_empty() => Err(Error::new(
            ErrorKind::Unreachable,
            "it answers, but knows no brokers yet (is it still starting?)",
        )),
        Ok(ResponseBody::Metadata(response)) => Ok(response),
        Ok(other) => Err(Error::new(
            ErrorKind::Corrupt,
            format!("Metadata was answered with {:?}", other.api_key()),
        )),
        Err(failure) => Err(failure.error().clone()),
    }
}

/// The kind is that of the reasons if they agree, else "unreachable".
fn unreachable(reasons: &[(&Address, Error)]) -> Error {
    let mut kinds = reasons.iter().map(|(_, error)| error.kind());
    let first = kinds.next().unwrap_or(ErrorKind::Unreachable);
    let kind = if kinds.all(|kind| kind == first) {
        first
    } else {
        ErrorKind::Unreachable
    };
    let list: Vec<String> = reasons
        .iter()
        .map(|(address, error)| format!("{address}: {error}"))
        .collect();
    Error::new(
        kind,
        format!("no bootstrap server could be used: {}", list.join("; ")),
    )
}
