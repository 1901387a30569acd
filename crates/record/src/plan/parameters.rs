//! Parameter scans and lists: every combination of values, and their substitution into commands.

use anyhow::{Result, bail, ensure};

use model::spec::run::ArmOptions;

/// One value for each parameter, in the order of the command line.
pub type Assignment = Vec<(String, String)>;

/// More combinations are a mistake.
const COMBINATIONS_MAX: usize = 100_000;

/// Parameters that change together: their values, one assignment for each step.
type Axis = Vec<Assignment>;

/// Every combination of the parameters' values; the first parameter changes fastest, as in hyperfine.
pub fn assignments(options: &ArmOptions) -> Result<Vec<Assignment>> {
    let mut axes = Vec::new();
    if let Some(scan) = &options.parameter_scan {
        let [name, min, max] = scan.as_slice() else { bail!("--parameter-scan takes VAR MIN MAX") };
        let step = options.parameter_step_size.as_deref().unwrap_or("1");
        axes.push(axis(name, scan_values(min, max, step)?));
    }
    for list in options.parameter_lists.chunks(2) {
        let [names, values] = list else { bail!("--parameter-list takes VAR VALUES") };
        axes.push(axis(names, split_list(values)));
    }
    let mut names = Vec::new();
    for (name, _) in axes.iter().filter_map(|axis| axis.first()).flatten() {
        ensure!(!names.contains(&name), "the parameter {name:?} is given twice");
        names.push(name);
    }
    if options.zip { paired(&axes) } else { product(&axes) }
}

/// The values of a parameter; of several, `a,b`, they alternate.
fn axis(names: &str, values: Vec<String>) -> Axis {
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    let steps = values.chunks(names.len());
    steps
        .map(|step| names.iter().map(|&name| name.to_owned()).zip(step.to_vec()).collect())
        .collect()
}

/// The first values of all parameters, then the second ones, and so on.
fn paired(axes: &[Axis]) -> Result<Vec<Assignment>> {
    let n_values = axes.first().map_or(0, Vec::len);
    for axis in axes {
        ensure!(
            axis.len() == n_values,
            "--zip pairs the values of the lists; {:?} has {n_values} and {:?} has {}",
            axes[0][0][0].0,
            axis[0][0].0,
            axis.len()
        );
    }
    let at = |index: usize| axes.iter().flat_map(|axis| axis[index].iter().cloned()).collect();
    Ok((0..n_values).map(at).collect())
}

/// Every combination of values; the first parameter changes fastest.
pub fn combinations(parameters: &[(String, Vec<String>)]) -> Result<Vec<Assignment>> {
    let of_one = |(name, values): &(String, Vec<String>)| {
        values.iter().map(|value| vec![(name.clone(), value.clone())]).collect()
    };
    product(&parameters.iter().map(of_one).collect::<Vec<Axis>>())
}

fn product(axes: &[Axis]) -> Result<Vec<Assignment>> {
    let n_combinations = axes
        .iter()
        .try_fold(1usize, |product, axis| product.checked_mul(axis.len()))
        .filter(|product| *product <= COMBINATIONS_MAX);
    ensure!(
        n_combinations.is_some(),
        "the parameters have more than {COMBINATIONS_MAX} combinations"
    );
    let mut combinations: Vec<Assignment> = vec![Vec::new()];
    for axis in axes.iter().rev() {
        let before = |rest: &Assignment| {
            let steps = axis.iter().map(|step| [step.as_slice(), rest].concat());
            steps.collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(before).collect();
    }
    Ok(combinations)
}

/// Replaces every `{name}` by its value.
pub fn substitute(template: &str, assignment: &[(String, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    // A single pass from left to right keeps a value that looks like a placeholder.
    while let Some(open) = rest.find('{') {
        let (before, from_open) = rest.split_at(open);
        text.push_str(before);
        let hit = assignment.iter().find_map(|(name, value)| {
            let after = from_open[1..].strip_prefix(name.as_str())?.strip_prefix('}')?;
            Some((value, after))
        });
        rest = match hit {
            Some((value, after)) => {
                text.push_str(value);
                after
            }
            None => {
                text.push('{');
                &from_open[1..]
            }
        };
    }
    text + rest
}

fn split_list(values: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut characters = values.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&',') => {
                characters.next();
                list.last_mut().expect("never empty").push(',');
            }
            ',' => list.push(String::new()),
            _ => list.last_mut().expect("never empty").push(character),
        }
    }
    list
}

/// Decimal arithmetic is exact: 0.1 + 0.2 is written 0.3.
fn scan_values(min: &str, max: &str, step: &str) -> Result<Vec<String>> {
    let places =
        [min, max, step].map(|text| text.split_once('.').map_or(0, |(_, tail)| tail.len()));
    let places = places.into_iter().max().unwrap_or(0);
    ensure!(places <= 9, "--parameter-scan: more than 9 decimal places");
    let scaled = |text: &str, what: &str| -> Result<i128> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction:0<places$}");
        digits
            .parse()
            .map_err(|_| anyhow::anyhow!("--parameter-scan: {what} {text:?} is not a number"))
    };
    let (min_s, max_s, step_s) = (scaled(min, "MIN")?, scaled(max, "MAX")?, scaled(step, "DELTA")?);
    ensure!(min_s <= max_s, "--parameter-scan: MIN {min} is above MAX {max}");
    ensure!(step_s > 0, "--parameter-step-size {step} is not above 0");
    let n_values = (max_s - min_s) / step_s + 1;
    ensure!(
        n_values <= COMBINATIONS_MAX as i128,
        "--parameter-scan has {n_values} values; at most {COMBINATIONS_MAX}"
    );
    let write = |value: i128| {
        let (sign, digits) = (if value < 0 { "-" } else { "" }, value.unsigned_abs().to_string());
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    };
    Ok((0..n_values).map(|index| write(min_s + index * step_s)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_scan(scan: [&str; 3], expected: Result<&[&str], &str>) {
        match (scan_values(scan[0], scan[1], scan[2]), expected) {
            (Ok(values), Ok(expected)) => assert_eq!(values, expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn scans_are_exact() {
        check_scan(["1", "4", "1"], Ok(&["1", "2", "3", "4"]));
        check_scan(["0", "0.3", "0.1"], Ok(&["0.0", "0.1", "0.2", "0.3"]));
        check_scan(["-1", "1", "1"], Ok(&["-1", "0", "1"]));
        check_scan(["1", "4", "2"], Ok(&["1", "3"]));
        check_scan(["4", "1", "1"], Err("above MAX"));
        check_scan(["1", "4", "0"], Err("not above 0"));
        check_scan(["1", "x", "1"], Err("MAX \"x\" is not a number"));
        check_scan(["0", "1000000", "1"], Err("at most"));
    }

    #[test]
    fn lists_combine_and_commas_can_be_escaped() {
        let lists = ["a", "1,2", "b", r"x\,y,z"].map(String::from).to_vec();
        let options = ArmOptions { parameter_lists: lists, ..ArmOptions::default() };
        let found: Vec<String> = assignments(&options)
            .unwrap()
            .iter()
            .map(|a| format!("{}{}", a[0].1, a[1].1))
            .collect();
        assert_eq!(found, ["1x,y", "2x,y", "1z", "2z"]);
        let lists = ["a", "1", "a", "2"].map(String::from).to_vec();
        let options = ArmOptions { parameter_lists: lists, ..ArmOptions::default() };
        assert!(assignments(&options).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn paired_lists_go_on_together() {
        let lists = |texts: [&str; 4]| ArmOptions {
            parameter_lists: texts.map(String::from).to_vec(),
            zip: true,
            ..ArmOptions::default()
        };
        let found = assignments(&lists(["a", "1,2", "b", "x,y"])).unwrap();
        let found: Vec<String> = found.iter().map(|it| format!("{}{}", it[0].1, it[1].1)).collect();
        assert_eq!(found, ["1x", "2y"]);
        let error = assignments(&lists(["a", "1,2", "b", "x"])).unwrap_err().to_string();
        assert!(error.ends_with("\"a\" has 2 and \"b\" has 1"), "{error}");
    }

    #[test]
    fn parameters_of_one_table_change_together() {
        let lists = ["a,b", "1,x,2,y", "c", "p,q"].map(String::from).to_vec();
        let found = |zip| {
            let options =
                ArmOptions { parameter_lists: lists.clone(), zip, ..ArmOptions::default() };
            let values = |it: &Assignment| it.iter().map(|(_, value)| value.as_str()).collect();
            assignments(&options).unwrap().iter().map(values).collect::<Vec<String>>()
        };
        assert_eq!(found(false), ["1xp", "2yp", "1xq", "2yq"]);
        assert_eq!(found(true), ["1xp", "2yq"]);
        let twice = ["a,b", "1,x", "b", "2"].map(String::from).to_vec();
        let options = ArmOptions { parameter_lists: twice, ..ArmOptions::default() };
        assert!(assignments(&options).unwrap_err().to_string().contains("\"b\" is given twice"));
    }

    #[test]
    fn placeholders_are_replaced_once() {
        let assignment = [("n".to_owned(), "{m}".to_owned()), ("m".to_owned(), "2".to_owned())];
        assert_eq!(substitute("f {n} {m} {k} {", &assignment), "f {m} 2 {k} {");
    }
}
