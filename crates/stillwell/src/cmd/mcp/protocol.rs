//! JSON-RPC 2.0 in lines, as the Model Context Protocol uses it over stdio: messages, and the answers without a tool.
//! Pure. Specification: <https://modelcontextprotocol.io/specification>

use serde_json::{Map, Value, json};

use crate::cmd::mcp::tools;

/// Supported versions of the protocol, newest first. They do not differ in the parts that the server uses.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Longest line, bytes. The arguments of a tool are a command line.
const LINE_MAX: usize = 1 << 20;

/// The errors of JSON-RPC.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;

/// Instructions for the client about all tools.
const INSTRUCTIONS: &str = "Stillwell times programs. `conclusion.verdict` is the answer, `conclusion.effects` has each \
    difference with its interval, and `conclusion.next` says what to do if it is undecided. A difference without a \
    verdict is noise. The measuring tools run one after the other.";

/// A client's message.
#[derive(Debug, PartialEq)]
pub enum Message {
    /// The client expects an answer.
    Request { id: Value, method: String, params: Value },
    /// The client expects no answer.
    Notification { method: String, params: Value },
    /// An answer. The server asks nothing.
    Response,
}

/// Reads a message. The error is the answer to an invalid one.
pub fn message(line: &[u8]) -> Result<Message, Value> {
    let invalid = |id: Value, why: &str| error(id, INVALID_REQUEST, why);
    let value: Value = serde_json::from_slice(line)
        .map_err(|why| error(Value::Null, PARSE_ERROR, &format!("no JSON: {why}")))?;
    let Value::Object(mut fields) = value else {
        return Err(invalid(Value::Null, "a message is one JSON object on a line"));
    };
    let id = fields.remove("id");
    let known_id = id.clone().filter(|id| id.is_string() || id.is_number());
    let answer_to = known_id.clone().unwrap_or(Value::Null);
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err(invalid(answer_to, "`jsonrpc` is not \"2.0\""));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        None if fields.contains_key("result") || fields.contains_key("error") => {
            return Ok(Message::Response);
        }
        _ => return Err(invalid(answer_to, "`method` is missing, or no text")),
    };
    let params = fields.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
    match (id, known_id) {
        (None, _) => Ok(Message::Notification { method, params }),
        (_, Some(id)) => Ok(Message::Request { id, method, params }),
        _ => Err(invalid(Value::Null, "`id` is neither a text nor a number")),
    }
}

/// The answer to a request without a tool.
pub fn answer(id: Value, method: &str, params: &Value) -> Value {
    match method {
        "initialize" => result(id, initialized(params)),
        "ping" => result(id, json!({})),
        "tools/list" => result(id, json!({ "tools": tools::list() })),
        _ => error(id, METHOD_NOT_FOUND, &format!("there is no method {method:?}")),
    }
}

fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str();
    let version = VERSIONS.into_iter().find(|version| Some(*version) == asked);
    json!({
        "protocolVersion": version.unwrap_or(VERSIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "stillwell", "version": env!("CARGO_PKG_VERSION") },
        "instructions": INSTRUCTIONS,
    })
}

/// A successful answer.
pub fn result(id: Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// An error as the answer.
pub fn error(id: Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Splits input into lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    held: Vec<u8>,
    /// Whether the current line is too long and thrown away.
    is_too_long: bool,
}

impl LineBuffer {
    /// The complete lines, without empty ones; `None` for a line that was too long.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            if self.held.len() + part.len() > LINE_MAX {
                self.is_too_long = true;
                self.held = Vec::new();
            }
            if !self.is_too_long {
                self.held.extend_from_slice(part);
            }
            if is_whole {
                let line = std::mem::take(&mut self.held);
                if std::mem::take(&mut self.is_too_long) {
                    lines.push(None);
                } else if !line.trim_ascii().is_empty() {
                    lines.push(Some(line));
                }
            }
        }
        lines
    }
}

pub fn too_long() -> Value {
    error(Value::Null, PARSE_ERROR, "the line is longer than a megabyte")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (Value, i64) {
        let answer = message(line.as_bytes()).unwrap_err();
        (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap())
    }

    #[test]
    fn what_is_no_message_is_answered() {
        assert_eq!(code("{"), (Value::Null, PARSE_ERROR.into()));
        assert_eq!(code("\u{fffd}"), (Value::Null, PARSE_ERROR.into()));
        assert_eq!(code(&"[".repeat(100_000)), (Value::Null, PARSE_ERROR.into()));
        assert_eq!(code("[]"), (Value::Null, INVALID_REQUEST.into()));
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1}"#), (1.into(), INVALID_REQUEST.into()));
        assert_eq!(code(r#"{"id":"a","method":"ping"}"#), ("a".into(), INVALID_REQUEST.into()));
        let null = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert_eq!(code(null), (Value::Null, INVALID_REQUEST.into()));
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(message(answer.as_bytes()), Ok(Message::Response));
    }

    #[test]
    fn the_version_is_that_of_the_client_if_it_is_known() {
        let version = |asked: &str| {
            let params = json!({ "protocolVersion": asked });
            answer(1.into(), "initialize", &params)["result"]["protocolVersion"].clone()
        };
        assert_eq!(version("2024-11-05"), "2024-11-05");
        assert_eq!(version("1999-01-01"), VERSIONS[0]);
    }

    #[test]
    fn lines_come_in_any_pieces_and_have_a_limit() {
        let mut buffer = LineBuffer::default();
        assert!(buffer.push(b"{\"a\"").is_empty());
        assert_eq!(buffer.push(b":1}\n\n \r\nb"), [Some(b"{\"a\":1}\n".to_vec())]);
        assert_eq!(buffer.push(b"\n"), [Some(b"b\n".to_vec())]);
        for _ in 0..3 {
            assert!(buffer.push(&vec![b'x'; LINE_MAX / 2]).is_empty());
        }
        assert!(buffer.held.len() <= LINE_MAX);
        assert_eq!(buffer.push(b"x\nc\n"), [None, Some(b"c\n".to_vec())]);
    }
}
