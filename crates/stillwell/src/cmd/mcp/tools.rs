//! The four tools: their arguments and command lines. Pure.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use model::values::exit_code;
use render::document::{ErrorCode, ErrorObject};

/// Limits of the number of compared commands.
const COMMANDS_MIN: usize = 2;
const COMMANDS_MAX: usize = 20;

/// Fields of documents that a tool's answer leaves out; `stillwell show --json RECORD` prints them.
const LEFT_OUT: [&str; 8] =
    ["plan", "facts", "gaps", "analysis", "judgements", "pairs", "old", "comparison"];

/// A program with its arguments. No shell reads it.
type Argv = Vec<String>;

/// How long a session is, and where.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MeasureArguments {
    /// The program and its arguments, each a text of its own. No shell reads them; for a shell: ["sh", "-c", "..."].
    command: Argv,
    /// Most time to measure, for example "30s" or "2min" [default: 3s].
    budget: Option<String>,
    /// Exactly this many timed runs [default: until t0 is known to 0.5 %, at most as many as fit the budget].
    runs: Option<NonZeroU32>,
    /// Warm-up runs before the timed ones [default: 1, or 0 with runs].
    warmup: Option<u32>,
    /// The directory to run in [default: the server's].
    directory: Option<String>,
}

/// What to compare, and for how long.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompareArguments {
    /// Two to twenty programs, each with its arguments as texts of their own; the first is the reference. They run in
    /// one session, in random order, so the difference has a verdict.
    commands: Option<Vec<Argv>>,
    /// Instead of commands: records of earlier sessions (`record` of an answer). Separate sessions have no verdict.
    records: Option<Vec<String>>,
    /// Most time to measure, for example "30s" or "2min"; it ends as soon as everything is decided [default: 10s].
    budget: Option<String>,
    /// Exactly this many timed runs of each command [default: until everything is decided].
    runs: Option<NonZeroU32>,
    /// Warm-up runs of each command before the timed ones [default: 1, or 0 with runs].
    warmup: Option<u32>,
    /// Differences below this many percent count as the same [default: 1].
    same: Option<f64>,
    /// The directory to run in [default: the server's].
    directory: Option<String>,
}

/// An attempt of a campaign.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TryArguments {
    /// The directory of the campaign, which `stillwell campaign new` has made.
    campaign: String,
    /// A name for the attempt.
    name: String,
    /// The program to try and its arguments, each a text of its own. No shell reads them.
    command: Argv,
    /// The directory to run in [default: the server's].
    directory: Option<String>,
}

/// A campaign.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatusArguments {
    /// The directory of the campaign, which `stillwell campaign new` has made.
    campaign: String,
    /// The directory that the path is relative to [default: the server's].
    directory: Option<String>,
}

/// A command line of this program.
#[derive(Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The words after the program.
    pub words: Vec<String>,
    pub directory: Option<String>,
    /// Whether the call times programs. Two such sessions would disturb each other.
    pub is_measuring: bool,
}

/// The answer to `tools/list`.
pub fn list() -> Value {
    let tool = |name: &str, description: &str, schema: schemars::Schema, reads_only: bool| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": schema,
            "annotations": { "readOnlyHint": reads_only, "openWorldHint": false },
        })
    };
    json!([
        tool(
            "measure",
            "Time one command: its noise-free time with an error, and how much other programs disturbed it. Executes the \
             command many times. The same as `stillwell run --json`.",
            schemars::schema_for!(MeasureArguments),
            false
        ),
        tool(
            "compare",
            "Say which of several commands is faster, by how much, and how sure that is; or compare records. Executes the \
             commands many times. The same as `stillwell run --json` or `stillwell compare --json`.",
            schemars::schema_for!(CompareArguments),
            false
        ),
        tool(
            "try",
            "Try a change in a campaign: accepted, rejected or not decided, with an error rate that holds over all tries. \
             The same as `stillwell campaign try --json`.",
            schemars::schema_for!(TryArguments),
            false
        ),
        tool(
            "status",
            "Say what a campaign has accepted so far, and what is left of its budget. The same as \
             `stillwell campaign status --json`.",
            schemars::schema_for!(StatusArguments),
            true
        ),
    ])
}

/// The command line of a call; `None` if there is no such tool. Errors: the tool does not have these arguments.
pub fn invocation(tool: &str, arguments: Value) -> Option<Result<Invocation, String>> {
    Some(match tool {
        "measure" => read(arguments).and_then(measure),
        "compare" => read(arguments).and_then(compare),
        "try" => read(arguments).and_then(attempt),
        "status" => read(arguments).and_then(status),
        _ => return None,
    })
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| match &*error.path().to_string() {
        "." => error.into_inner().to_string(),
        place => format!("{place}: {}", error.into_inner()),
    })
}

fn measure(asked: MeasureArguments) -> Result<Invocation, String> {
    let mut words = session(asked.budget.as_deref(), asked.runs, asked.warmup);
    words.extend(["--".into(), command_word("command", &asked.command)?]);
    Ok(Invocation { words, directory: asked.directory, is_measuring: true })
}

fn compare(asked: CompareArguments) -> Result<Invocation, String> {
    let CompareArguments { commands, records, budget, runs, warmup, same, directory } = asked;
    let words = match (commands, records) {
        (Some(commands), None) => {
            let n = commands.len();
            if !(COMMANDS_MIN..=COMMANDS_MAX).contains(&n) {
                return Err(format!(
                    "commands: {n} are named; {COMMANDS_MIN} to {COMMANDS_MAX} can be compared"
                ));
            }
            let mut words = session(budget.as_deref(), runs, warmup);
            words.extend(same.map(|percent| format!("--same={percent}")));
            words.push("--".into());
            for (index, command) in commands.iter().enumerate() {
                words.push(command_word(&format!("commands[{index}]"), command)?);
            }
            words
        }
        (None, Some(records)) => {
            if records.is_empty() {
                return Err("records: none is named".into());
            }
            if budget.is_some() || runs.is_some() || warmup.is_some() || same.is_some() {
                return Err(
                    "records are measured already: budget, runs, warmup and same are for commands"
                        .into(),
                );
            }
            let words = ["compare", "--json", "--"].map(str::to_owned);
            words.into_iter().chain(records).collect()
        }
        _ => return Err("name either commands or records".into()),
    };
    let is_measuring = words[0] == "run";
    checked(Invocation { words, directory, is_measuring })
}

fn attempt(asked: TryArguments) -> Result<Invocation, String> {
    let TryArguments { campaign, name, command, directory } = asked;
    if name.starts_with('-') || name.is_empty() {
        return Err(format!("name: {name:?} is empty, or looks like an option"));
    }
    let mut words = ["campaign", "try"].map(str::to_owned).to_vec();
    words.extend([path_word(&campaign)?, "--json".into(), name, "--".into()]);
    words.push(command_word("command", &command)?);
    checked(Invocation { words, directory, is_measuring: true })
}

fn status(asked: StatusArguments) -> Result<Invocation, String> {
    let mut words = ["campaign", "status"].map(str::to_owned).to_vec();
    words.extend([path_word(&asked.campaign)?, "--json".into()]);
    checked(Invocation { words, directory: asked.directory, is_measuring: false })
}

/// The options of a session. Values follow an equals sign, so none is taken for an option.
fn session(budget: Option<&str>, runs: Option<NonZeroU32>, warmup: Option<u32>) -> Vec<String> {
    // -N: no shell reads the client's words.
    let mut words = ["run", "--json", "--style=none", "-N"].map(str::to_owned).to_vec();
    words.extend(budget.map(|budget| format!("--budget={budget}")));
    words.extend(runs.map(|runs| format!("--runs={runs}")));
    words.extend(warmup.map(|warmup| format!("--warmup={warmup}")));
    words
}

/// A command as one word, which `run` splits again.
fn command_word(place: &str, argv: &[String]) -> Result<String, String> {
    match argv.first() {
        None => Err(format!("{place}: it is empty; the first text is the program")),
        Some(program) if program.is_empty() => Err(format!("{place}: the program is empty")),
        Some(_) if argv.iter().any(|word| word.contains('\0')) => {
            Err(format!("{place}: no argument of a program can have a byte 0"))
        }
        Some(_) => Ok(shell_words::join(argv)),
    }
}

/// A path that is not taken for an option.
fn path_word(path: &str) -> Result<String, String> {
    match path {
        "" => Err("campaign: the directory is empty".into()),
        _ if path.starts_with('-') => Ok(format!("./{path}")),
        _ => Ok(path.to_owned()),
    }
}

fn checked(asked: Invocation) -> Result<Invocation, String> {
    let mut texts = asked.words.iter().chain(&asked.directory);
    match texts.any(|word| word.contains('\0')) {
        true => Err("no argument of a program can have a byte 0".into()),
        false => Ok(asked),
    }
}

/// The answer of a tool: the exit code, and the document without what the record has.
pub fn answer(document: &[u8], code: u8, ended: &str) -> Value {
    let parsed: Option<Value> = serde_json::from_slice(document).ok();
    let Some(Value::Object(mut fields)) = parsed else {
        return mistake(
            ErrorCode::Failed,
            format!("the program {ended}, and printed no document"),
            code,
        );
    };
    fields.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    fields.insert("exit_code".into(), code.into());
    let is_error = fields.contains_key("error");
    tool_result(Value::Object(fields), is_error)
}

/// The answer to wrong arguments.
pub fn wrong_arguments(why: String) -> Value {
    mistake(ErrorCode::Usage, why, exit_code::ERROR)
}

/// The answer of a tool that failed.
pub fn mistake(code: ErrorCode, message: String, exit_code: u8) -> Value {
    let error = ErrorObject { code, message, exit_code };
    tool_result(
        json!({ "schema": "error", "version": 1, "error": error, "exit_code": exit_code }),
        true,
    )
}

fn tool_result(document: Value, is_error: bool) -> Value {
    // Clients without structured content read the text.
    let text = document.to_string();
    json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": document,
        "isError": is_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, arguments: Value, expected: Result<&str, &str>) {
        let words = invocation(tool, arguments).unwrap().map(|it| it.words.join(" "));
        assert_eq!(words.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn each_tool_is_a_command_line() {
        let run = "run --json --style=none -N";
        check("measure", json!({ "command": ["a", "b c"] }), Ok(&format!("{run} -- a 'b c'")));
        let all =
            json!({ "command": ["a"], "budget": "5s", "runs": 3, "warmup": 0, "directory": "/" });
        check("measure", all, Ok(&format!("{run} --budget=5s --runs=3 --warmup=0 -- a")));
        let two = json!({ "commands": [["a"], ["sh", "-c", "b; $c"]], "same": 0.5 });
        check("compare", two, Ok(&format!("{run} --same=0.5 -- a sh -c 'b; $c'")));
        check("compare", json!({ "records": ["a.swell"] }), Ok("compare --json -- a.swell"));
        let tried = json!({ "campaign": "c", "name": "n", "command": ["x", "-y"] });
        check("try", tried, Ok("campaign try c --json n -- x -y"));
        check("status", json!({ "campaign": "-c" }), Ok("campaign status ./-c --json"));
    }

    #[test]
    fn the_defaults_are_those_of_run() {
        let tools = list();
        let is = |tool: usize, argument: &str, expected: &str| {
            let described = &tools[tool]["inputSchema"]["properties"][argument]["description"];
            let described = described.as_str().unwrap().trim_end_matches('.');
            assert!(described.ends_with(expected), "{argument}: {described}");
        };
        let all = model::spec::command();
        let run = all.find_subcommand("run").unwrap();
        let of_run = |id: &str| {
            let arg = run.get_arguments().find(|arg| arg.get_id() == id).unwrap();
            let help = arg.get_help().unwrap().to_string();
            help[help.rfind("[default: ").unwrap()..].to_owned()
        };
        assert_eq!(of_run("budget"), "[default: 10s, or 3s for a single command]");
        is(0, "budget", "[default: 3s]");
        is(1, "budget", "[default: 10s]");
        let warmup = of_run("warmup").replace("--runs", "runs");
        is(0, "warmup", &warmup);
        is(1, "warmup", &warmup);
    }

    #[test]
    fn what_is_not_in_the_schema_is_refused() {
        let none = Err("command: it is empty; the first text is the program");
        check("measure", json!({ "command": [] }), none);
        check(
            "measure",
            json!({ "command": ["a\u{0}"] }),
            Err("command: no argument of a program can have a byte 0"),
        );
        check("measure", json!({}), Err("missing field `command`"));
        check("compare", json!({}), Err("name either commands or records"));
        let one = json!({ "commands": [["a"]] });
        check("compare", one, Err("commands: 1 are named; 2 to 20 can be compared"));
        let option = json!({ "campaign": "c", "name": "--x", "command": ["a"] });
        check("try", option, Err("name: \"--x\" is empty, or looks like an option"));
        let refused = |arguments| invocation("measure", arguments).unwrap().unwrap_err();
        assert!(refused(json!({ "command": "rm -rf" })).starts_with("command: invalid type"));
        assert!(
            refused(json!({ "command": ["a"], "shell": "sh" })).contains("unknown field `shell`")
        );
        assert!(refused(json!({ "command": ["a"], "runs": 0 })).starts_with("runs: "));
        assert!(invocation("rm", json!({})).is_none());
    }

    #[test]
    fn an_answer_is_the_document_without_what_the_record_has() {
        let document =
            br#"{"schema":"session","conclusion":{"verdict":"same"},"plan":{},"record":"r"}"#;
        let result = answer(document, 3, "ended");
        let expected = json!({ "schema": "session", "conclusion": { "verdict": "same" }, "record": "r", "exit_code": 3 });
        assert_eq!(result["structuredContent"], expected);
        assert_eq!(result["isError"], false);
        let result = answer(b"", 137, "was killed by signal 9");
        assert_eq!(result["structuredContent"]["error"]["code"], "failed");
        assert_eq!(result["isError"], true);
    }
}
