//! The table of who may import whom: the one place to change when a room is added. Data only; `layers` proves that the
//! code keeps to it and that the table itself has no cycle.

/// What one package may depend on among ours, and its rooms.
pub(super) struct PackageRule {
    /// The package's name in cargo.
    pub(super) name: &'static str,
    /// Its directory.
    pub(super) dir: &'static str,
    /// Our packages it may depend on, for code or tests.
    pub(super) may_use: &'static [&'static str],
    /// Foreign packages it must not depend on, ends with `*` for a prefix.
    pub(super) never: &'static [&'static str],
    /// The order between its rooms.
    pub(super) rooms: Rooms,
}

/// How the rooms of a package are ordered.
pub(super) enum Rooms {
    /// Every top-level module is a room; any order without a cycle will do.
    Acyclic,
    /// These rooms, with these imports.
    Table(&'static [RoomRule]),
    /// Not looked at.
    Free,
}

/// One room of a package.
pub(super) struct RoomRule {
    /// Its name in this table.
    pub(super) name: &'static str,
    /// The module paths it consists of, `/`-separated. The longest match decides, so `machine` is what no deeper room takes.
    pub(super) paths: &'static [&'static str],
    /// The rooms it may import.
    pub(super) may_import: &'static [&'static str],
}

/// Names that must not occur in the production code of a place.
pub(super) struct NameRule {
    /// The package's directory.
    pub(super) dir: &'static str,
    /// The path inside the package's `src`, as a prefix.
    pub(super) below: &'static str,
    /// Files below it that may.
    pub(super) except: &'static [&'static str],
    /// The names, as paths or words.
    pub(super) names: &'static [&'static str],
    /// Why.
    pub(super) reason: &'static str,
}

/// The packages (the first table of docs/ARCHITECTURE.md).
pub(super) const PACKAGES: &[PackageRule] = &[
    PackageRule {
        name: "sealwax-protocol",
        dir: "protocol",
        may_use: &[],
        never: &["tokio*", "tracing*", "log", "futures*", "mio", "socket2"],
        rooms: Rooms::Acyclic,
    },
    PackageRule {
        name: "sealwax",
        dir: "client",
        may_use: &["sealwax-protocol", "sealwax-devbroker"],
        never: &["anyhow", "clap"],
        rooms: Rooms::Table(CLIENT),
    },
    PackageRule {
        name: "sealwax-devbroker",
        dir: "devbroker",
        may_use: &["sealwax-protocol"],
        never: &["anyhow", "clap"],
        rooms: Rooms::Acyclic,
    },
    PackageRule {
        name: "sealwax-connect",
        dir: "connect-runtime",
        may_use: &["sealwax"],
        never: &["kafka-protocol"],
        rooms: Rooms::Table(CONNECT),
    },
    PackageRule {
        name: "sealwax-tests",
        dir: "tests",
        may_use: &[
            "sealwax",
            "sealwax-connect",
            "sealwax-devbroker",
            "sealwax-protocol",
            "xtask",
        ],
        never: &[],
        rooms: Rooms::Free,
    },
    PackageRule {
        name: "xtask",
        dir: "xtask",
        may_use: &[],
        never: &[],
        rooms: Rooms::Acyclic,
    },
];

/// The client: API over runtime over machine; `config`, `error` and `record` at the bottom.
const CLIENT: &[RoomRule] = &[
    RoomRule {
        name: "api",
        paths: &["client", "producer", "transaction", "consumer", "admin"],
        may_import: &[
            "runtime",
            "machine",
            "accumulator",
            "machine transaction",
            "machine producer",
            "fetch",
            "group",
            "machine admin",
            "config",
            "error",
            "record",
        ],
    },
    RoomRule {
        name: "runtime",
        paths: &["runtime"],
        may_import: &[
            "machine",
            "accumulator",
            "machine transaction",
            "machine producer",
            "fetch",
            "group",
            "machine admin",
            "config",
            "error",
            "record",
        ],
    },
    RoomRule {
        name: "machine producer",
        paths: &["machine/producer"],
        may_import: &[
            "machine transaction",
            "accumulator",
            "machine",
            "config",
            "error",
            "record",
        ],
    },
    RoomRule {
        name: "machine transaction",
        paths: &["machine/transaction"],
        may_import: &["accumulator", "machine", "config", "error", "record"],
    },
    RoomRule {
        name: "accumulator",
        paths: &["machine/accumulator"],
        may_import: &["machine", "config", "error", "record"],
    },
    RoomRule {
        name: "fetch",
        paths: &["machine/fetch"],
        may_import: &["machine", "config", "error", "record"],
    },
    RoomRule {
        name: "group",
        paths: &["machine/group"],
        may_import: &["machine", "config", "error", "record"],
    },
    RoomRule {
        name: "machine admin",
        paths: &["machine/admin"],
        may_import: &["machine", "config", "error", "record"],
    },
    RoomRule {
        name: "machine",
        paths: &["machine"],
        may_import: &["config", "error", "record"],
    },
    RoomRule {
        name: "config",
        paths: &["config"],
        may_import: &["record", "error"],
    },
    RoomRule {
        name: "record",
        paths: &["record", "offsets"],
        may_import: &["error"],
    },
    RoomRule {
        name: "error",
        paths: &["error"],
        may_import: &[],
    },
];

/// The Connect runtime: connectors see the connector API and nothing else; wiring and the operator's verbs see all.
const CONNECT: &[RoomRule] = &[
    RoomRule {
        name: "cli",
        paths: &["cli"],
        may_import: &[
            "worker",
            "rest",
            "herder",
            "store",
            "task",
            "offsets",
            "transform",
            "convert",
            "connectors",
            "config",
            "error",
            "api",
        ],
    },
    RoomRule {
        name: "worker",
        paths: &["worker", "plugin", "metrics"],
        may_import: &[
            "rest",
            "herder",
            "store",
            "task",
            "offsets",
            "transform",
            "convert",
            "connectors",
            "config",
            "error",
            "api",
        ],
    },
    RoomRule {
        name: "rest",
        paths: &["rest"],
        may_import: &["herder", "config", "error", "api"],
    },
    RoomRule {
        name: "herder",
        paths: &["herder"],
        may_import: &["store", "task", "offsets", "config", "error", "api"],
    },
    RoomRule {
        name: "store",
        paths: &["store"],
        // What is stored is JSON as Java's JsonConverter writes it, byte for byte; what is about to be committed can be shown as if
        // it were stored.
        may_import: &["offsets", "convert", "config", "error", "api"],
    },
    RoomRule {
        name: "conformance",
        paths: &["conformance"],
        may_import: &["task", "api"],
    },
    RoomRule {
        name: "task",
        paths: &["task"],
        may_import: &["offsets", "transform", "convert", "config", "error", "api"],
    },
    RoomRule {
        name: "offsets",
        paths: &["offsets"],
        may_import: &["error", "api"],
    },
    RoomRule {
        name: "transform",
        paths: &["transform"],
        may_import: &["api"],
    },
    RoomRule {
        name: "convert",
        paths: &["convert"],
        may_import: &["api"],
    },
    RoomRule {
        name: "connectors",
        paths: &["connectors"],
        may_import: &["api"],
    },
    RoomRule {
        name: "config",
        paths: &["config"],
        may_import: &["error", "api"],
    },
    RoomRule {
        name: "error",
        paths: &["error"],
        may_import: &["api"],
    },
    RoomRule {
        name: "api",
        paths: &["api"],
        may_import: &[],
    },
];

/// Names that are kept out of a place.
pub(super) const NAMES: &[NameRule] = &[
    NameRule {
        dir: "protocol",
        below: "",
        except: &[],
        names: &[
            "tokio",
            "async fn",
            "Instant::now",
            "SystemTime::now",
            "std::net",
            "std::fs",
            "tracing",
        ],
        reason: "protocol turns bytes into values: no I/O, clock, async or logging",
    },
    NameRule {
        dir: "client",
        below: "machine/",
        except: &[],
        names: &[
            "tokio",
            "async fn",
            "Instant::now",
            "SystemTime::now",
            "Mutex",
            "RwLock",
            "Rng::new",
            "std::net",
            "std::fs",
            "std::thread",
        ],
        reason: "machines are sans-IO: time, chance and bytes are handed in, and there are no locks",
    },
    NameRule {
        dir: "client",
        below: "",
        except: &["runtime/clock.rs"],
        names: &["Instant::now", "SystemTime::now"],
        reason: "runtime/clock.rs is the only reader of time",
    },
    NameRule {
        dir: "connect-runtime",
        below: "api/",
        except: &[],
        names: &["sealwax", "sealwax_protocol", "tokio::net"],
        reason: "the connector API stands on nothing of ours, so that connectors do not depend on the client",
    },
    NameRule {
        dir: "connect-runtime",
        below: "connectors/",
        except: &[],
        names: &["sealwax", "sealwax_protocol"],
        reason: "a connector sees the connector API only",
    },
    NameRule {
        dir: "connect-runtime",
        below: "convert/",
        except: &[],
        names: &["sealwax", "sealwax_protocol", "tokio", "async fn"],
        reason: "converters are pure",
    },
    NameRule {
        dir: "connect-runtime",
        below: "offsets/",
        except: &[],
        names: &["tokio", "async fn", "Instant::now", "SystemTime::now"],
        reason: "the offset buffer is pure",
    },
];
