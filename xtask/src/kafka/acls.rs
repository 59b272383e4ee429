//! Permissions of a cluster whose brokers run Kafka's StandardAuthorizer, without a client of ours. Everybody is `User:ANONYMOUS` here,
//! because the listeners are without authentication.
//!
//! With the settings of [`AUTHORIZER`] a resource without any ACL is open to all. [`restrict`] leaves only the named operations of one resource
//! to `User:ANONYMOUS`; [`allow`] adds one; so one permission can be missing at a time, and nothing else is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::{CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest};
use kafka_protocol::protocol::StrBytes;

use super::topics::connect_any;

/// What a cluster needs for all this, as [`config`](super::ClusterBuilder::config) takes it.
pub const AUTHORIZER: [(&str, &str); 2] = [
    (
        "authorizer.class.name",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    ),
    ("allow.everyone.if.no.acl.found", "true"),
];

const PRINCIPAL: &str = "User:ANONYMOUS";
const CREATE_ACLS_VERSION: i16 = 3;
const DELETE_ACLS_VERSION: i16 = 3;
const DESCRIBE_ACLS_VERSION: i16 = 3;
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);
const ANY_HOST: &str = "*";
const LITERAL: i8 = 3;
const ALLOW: i8 = 3;
/// Matches whatever there is.
const ANY: i8 = 1;

/// Whose permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclResource<'a> {
    /// A topic.
    Topic(&'a str),
    /// A consumer group.
    Group(&'a str),
    /// The cluster as a whole.
    Cluster,
    /// A transactional id.
    TransactionalId(&'a str),
}

impl AclResource<'_> {
    const fn code(self) -> i8 {
        match self {
            Self::Topic(_) => 2,
            Self::Group(_) => 3,
            Self::Cluster => 4,
            Self::TransactionalId(_) => 5,
        }
    }

    fn name(self) -> StrBytes {
        let name = match self {
            Self::Topic(name) | Self::Group(name) | Self::TransactionalId(name) => name,
            Self::Cluster => "kafka-cluster",
        };
        StrBytes::from_string(name.to_owned())
    }
}

/// What may be done. Read and Write include Describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclOperation {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Creating.
    Create,
    /// Changing.
    Alter,
    /// Looking.
    Describe,
    /// What brokers do among each other.
    ClusterAction,
    /// Reading configuration.
    DescribeConfigs,
    /// Getting a producer id.
    IdempotentWrite,
}

impl AclOperation {
    const fn code(self) -> i8 {
        match self {
            Self::Read => 3,
            Self::Write => 4,
            Self::Create => 5,
            Self::Alter => 7,
            Self::Describe => 8,
            Self::ClusterAction => 9,
            Self::DescribeConfigs => 10,
            Self::IdempotentWrite => 12,
        }
    }
}

/// Takes all permissions on the resource from `User:ANONYMOUS` except these, of which there must be one.
///
/// # Errors
/// If no broker answers or the cluster refuses.
pub fn restrict(bootstrap: &str, resource: AclResource<'_>, operations: &[AclOperation]) -> Result<()> {
    ensure!(
        !operations.is_empty(),
        "a resource without any ACL is open to all"
    );
    let filter = DeleteAclsFilter::default()
        .with_resource_type_filter(resource.code())
        .with_resource_name_filter(Some(resource.name()))
        .with_pattern_type_filter(LITERAL)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(ANY)
        .with_permission_type(ANY);
    let request = DeleteAclsRequest::default().with_filters(vec![filter]);
    let answer = connect_any(bootstrap)?.call(DELETE_ACLS_VERSION, &request)?;
    accepted(
        "DeleteAcls",
        answer.filter_results.iter().map(|result| result.error_code),
    )?;
    operations
        .iter()
        .try_for_each(|operation| allow(bootstrap, resource, *operation))?;
    let wanted: BTreeSet<i8> = operations.iter().map(|operation| operation.code()).collect();
    await_listed(bootstrap, resource, |listed| *listed == wanted)
}

/// Gives `User:ANONYMOUS` this permission, as `kafka-acls --add --allow-principal User:ANONYMOUS` does.
///
/// # Errors
/// If no broker answers or the cluster refuses.
pub fn allow(bootstrap: &str, resource: AclResource<'_>, operation: AclOperation) -> Result<()> {
    let creation = AclCreation::default()
        .with_resource_type(resource.code())
        .with_resource_name(resource.name())
        .with_resource_pattern_type(LITERAL)
        .with_principal(StrBytes::from_static_str(PRINCIPAL))
        .with_host(StrBytes::from_static_str(ANY_HOST))
        .with_operation(operation.code())
        .with_permission_type(ALLOW);
    let request = CreateAclsRequest::default().with_creations(vec![creation]);
    let answer = connect_any(bootstrap)?.call(CREATE_ACLS_VERSION, &request)?;
    accepted(
        "CreateAcls",
        answer.results.iter().map(|result| result.error_code),
    )?;
    await_listed(bootstrap, resource, |listed| listed.contains(&operation.code()))
}

fn accepted(api: &str, codes: impl Iterator<Item = i16>) -> Result<()> {
    for code in codes {
        ensure!(code == 0, "{api}: error code {code}");
    }
    Ok(())
}

/// The controller has a change when it answers; the broker that decides about access follows. It lists what it knows itself.
fn await_listed(
    bootstrap: &str,
    resource: AclResource<'_>,
    is_there: impl Fn(&BTreeSet<i8>) -> bool,
) -> Result<()> {
    let request = DescribeAclsRequest::default()
        .with_resource_type_filter(resource.code())
        .with_resource_name_filter(Some(resource.name()))
        .with_pattern_type_filter(LITERAL)
        .with_principal_filter(None)
        .with_host_filter(None)
        .with_operation(ANY)
        .with_permission_type(ANY);
    let end = Instant::now() + LIMIT;
    loop {
        let answer = connect_any(bootstrap)?.call(DESCRIBE_ACLS_VERSION, &request)?;
        ensure!(
            answer.error_code == 0,
            "DescribeAcls: error code {}",
            answer.error_code
        );
        let acls = answer.resources.iter().flat_map(|resource| &resource.acls);
        let listed: BTreeSet<i8> = acls.map(|acl| acl.operation).collect();
        if is_there(&listed) {
            return Ok(());
        }
        ensure!(
            Instant::now() < end,
            "the broker does not learn of a change: {resource:?} has {listed:?}"
        );
        std::thread::sleep(PAUSE);
    }
}
