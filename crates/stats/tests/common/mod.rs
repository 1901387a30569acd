//! Functions that read a vector file and compare it with the results of the crate.

use serde_json::Value;

pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("a vector file is JSON")
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

pub(crate) fn bools(value: &Value) -> Vec<bool> {
    value.as_array().expect("a list").iter().map(|v| v.as_bool().expect("a bool")).collect()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

pub(crate) fn whole(value: &Value) -> usize {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a whole number")) as usize
}

/// Largest accepted difference for the value at a path, given the expected value.
pub(crate) type Tolerance = fn(path: &str, expect: f64) -> f64;

/// Relative 1e-12, as the files state; absolute near zero.
pub(crate) fn close(_: &str, expect: f64) -> f64 {
    1e-12 * expect.abs().max(1e-3)
}

/// Fails unless `found` has exactly the keys and values of `expect`.
pub(crate) fn agree(path: &str, found: &Value, expect: &Value, tolerance: Tolerance) {
    match (found, expect) {
        (Value::Object(found), Value::Object(expect)) => {
            let keys = |map: &serde_json::Map<String, Value>| -> Vec<String> {
                let mut keys: Vec<String> = map.keys().cloned().collect();
                keys.sort();
                keys
            };
            assert_eq!(keys(found), keys(expect), "{path}: keys found, keys expected");
            for (key, value) in expect {
                agree(&format!("{path}/{key}"), &found[key], value, tolerance);
            }
        }
        (Value::Array(found), Value::Array(expect)) => {
            assert_eq!(found.len(), expect.len(), "{path}: lengths");
            for (i, (found, expect)) in found.iter().zip(expect).enumerate() {
                agree(&format!("{path}[{i}]"), found, expect, tolerance);
            }
        }
        (Value::Number(_), Value::Number(_)) => {
            let (found, expect) = (number(found), number(expect));
            let allowed = tolerance(path, expect);
            assert!((found - expect).abs() <= allowed, "{path}: {found}, expected {expect}");
        }
        _ => assert_eq!(found, expect, "{path}"),
    }
}

/// `expect` without `keys`. Each key must exist.
pub(crate) fn without(expect: &Value, keys: &[&str]) -> Value {
    let mut map = expect.as_object().expect("a map").clone();
    for key in keys {
        map.remove(*key).unwrap_or_else(|| panic!("no {key}"));
    }
    Value::Object(map)
}
