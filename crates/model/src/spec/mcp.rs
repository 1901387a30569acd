//! `mcp`: a server for programs that talk to tools.

/// `mcp`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The client starts it, for example by `{\"command\": \"stillwell\", \"args\": [\"mcp\"]}`. The tools are measure, \
                  compare, try and status; each executes this program with --json (docs/mcp.md)"
)]
pub struct McpVerb {}
