//! Versions of nodes, and features of the cluster.

use sealwax_protocol::messages::ApiVersionsRequest;
use sealwax_protocol::version::ApiVersions;

use super::*;

const NODE: NodeId = NodeId(2);

fn versions(driver: &mut Driver, version: i16) -> (i16, sealwax_protocol::messages::ApiVersionsResponse) {
    driver.send(NODE, version, ApiVersionsRequest::default());
    let answer = driver.cluster.poll_answer().unwrap();
    let ResponseBody::ApiVersions(body) = answer.body else {
        panic!()
    };
    (answer.version, body)
}

#[test]
fn a_node_offers_what_it_speaks_and_refuses_the_rest() {
    let mut driver = Driver::new(Settings::default());
    driver.cluster.cap_version(NODE, ApiKey::EndTxn, 4);
    driver.cluster.cap_version(NODE, ApiKey::ApiVersions, 3);
    let (version, refused) = versions(&mut driver, 4);
    assert_eq!(
        (version, refused.error_code),
        (0, ErrorCode::UNSUPPORTED_VERSION.0)
    );
    let (_, offered) = versions(&mut driver, 3);
    let end_txn = offered
        .api_keys
        .iter()
        .find(|api| api.api_key == ApiKey::EndTxn as i16);
    assert_eq!(end_txn.unwrap().max_version, 4);
    let body = driver.ask(NODE, 5, EndTxnRequest::default());
    let ResponseBody::EndTxn(answer) = body else {
        panic!()
    };
    assert_eq!(answer.error_code, ErrorCode::UNSUPPORTED_VERSION.0);
}

#[test]
fn a_feature_that_changes_has_a_higher_epoch() {
    let mut driver = Driver::new(Settings::default());
    let mut seen = Vec::new();
    for level in [2, 1, 0] {
        driver.cluster.set_transaction_version(driver.now, level);
        let features = ApiVersions::from_response(&versions(&mut driver, 3).1).features();
        seen.push((features.epoch, features.transaction_version));
    }
    assert_eq!(seen, [(2, 2), (3, 1), (4, 0)]);
}

#[test]
fn kafka_3_9_knows_no_tv2() {
    let mut driver = Driver::new(tv1());
    let (_, offered) = versions(&mut driver, 3);
    assert_eq!(
        ApiVersions::from_response(&offered)
            .features()
            .transaction_version,
        0
    );
    let max = |api: ApiKey| {
        let found = offered.api_keys.iter().find(|found| found.api_key == api as i16);
        found.unwrap().max_version
    };
    assert_eq!(
        (
            max(ApiKey::Produce),
            max(ApiKey::EndTxn),
            max(ApiKey::TxnOffsetCommit)
        ),
        (11, 4, 4)
    );
}
