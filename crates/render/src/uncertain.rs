//! A number and its error as text (docs/methodology.md, "How numbers are
//! written"). The error has two digits; the number is rounded to the same place.

/// Separates a number from its error in plain text.
const PLUS_MINUS: &str = " +- ";

/// Decimal exponents of numbers without a power of ten.
const PLAIN_EXPONENTS: std::ops::RangeInclusive<i32> = -2..=4;
/// Sizes of numbers without an error that have no power of ten. Above, the digits of a double would be made up.
const PLAIN_SIZES: std::ops::Range<f64> = 1e-9..1e16;
/// A relative error that arithmetic alone may cause: some 30 units in the last place of a double.
const ROUNDING: f64 = 7e-15;
/// Digits that distinguish a tie from its neighbours. The exact value of any other double differs far earlier.
const DIGITS_OF_TIE: usize = 40;

/// A value with its error: `1254.8 +- 6.2`. Both are rounded half to even, from the exact value of the double. Without a
/// usable error (none, 0, infinite, NaN) the value has full precision.
pub fn format(value: f64, err: Option<f64>) -> String {
    let Some(err) = err else { return full(value) };
    if !has_digits(value, err) {
        let err = if is_rounding(value, err) { 0.0 } else { err };
        return format!("{}{PLUS_MINUS}{}", full(value), full(err));
    }
    let (value, err, exponent) = rounded(value, err);
    if PLAIN_EXPONENTS.contains(&exponent) {
        return format!("{}{PLUS_MINUS}{}", value.text(0), err.text(0));
    }
    format!("({}{PLUS_MINUS}{})e{exponent:+03}", value.text(exponent), err.text(exponent))
}

/// A text with `±` in place of the terminal's `+-`.
pub fn signs(text: &str) -> String {
    text.replace(PLUS_MINUS, " ± ")
}

/// A value rounded like [`format()`], to the second digit of its error.
pub fn as_shown(value: f64, err: Option<f64>) -> f64 {
    let Some(err) = err.filter(|&err| has_digits(value, err)) else { return value };
    rounded(value, err).0.text(0).parse().unwrap_or(value)
}

/// Number of decimals in the output of [`format()`]; `None` if the output has a power of ten or the error is unusable.
pub fn decimals(value: f64, err: Option<f64>) -> Option<usize> {
    let err = err.filter(|&err| has_digits(value, err))?;
    let (value, _, exponent) = rounded(value, err);
    PLAIN_EXPONENTS.contains(&exponent).then(|| usize::try_from(-value.place).unwrap_or(0))
}

/// [`format()`] without powers of ten, for the numbers of a column, which have one unit. Also returns the number of
/// decimals, for values without an error.
pub fn in_column(value: f64, err: f64) -> (String, Option<usize>) {
    if !has_digits(value, err) {
        return (format(value, Some(err)), None);
    }
    let (value, err, _) = rounded(value, err);
    let decimals = usize::try_from(-value.place).unwrap_or(0);
    (format!("{}{PLUS_MINUS}{}", value.text(0), err.text(0)), Some(decimals))
}

/// A number with this many decimals, never `-0`. From 1e16 on it has four digits and a power of ten.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() && value.abs() >= PLAIN_SIZES.end {
        return with_power(&format!("{value:.3e}"));
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.into(),
        _ => text,
    }
}

/// A number with at least this many significant digits; with a power of ten below 1e-9 and from 1e16 on.
pub fn significant(value: f64, n_digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return full(value);
    }
    if !PLAIN_SIZES.contains(&value.abs()) {
        let n_decimals = usize::try_from(n_digits - 1).unwrap_or(0);
        return with_power(&format!("{value:.n_decimals$e}"));
    }
    // The exponent of the rounded number: 9.996 becomes 10.00, not 10.000.
    let exponent =
        Decimal::with_digits(value, usize::try_from(n_digits).unwrap_or(1)).exponent().unwrap_or(0);
    fixed(value, usize::try_from(n_digits - 1 - exponent).unwrap_or(0))
}

/// A number with this many significant digits, without trailing zeros: `0.0005`, `99`.
pub fn trimmed(value: f64, n_digits: i32) -> String {
    let text = significant(value, n_digits);
    let (digits, power) = text.split_at(text.find('e').unwrap_or(text.len()));
    let is_decimal = digits.contains('.');
    let digits =
        if is_decimal { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{power}")
}

fn has_digits(value: f64, err: f64) -> bool {
    err != 0.0 && err.is_finite() && value.is_finite() && !is_rounding(value, err)
}

/// Whether an error comes only from arithmetic: the mean of equal doubles may differ from them in the last place.
fn is_rounding(value: f64, err: f64) -> bool {
    value.is_finite() && err.abs() < ROUNDING * value.abs()
}

/// Value and error, rounded to the same place, and their decimal exponent.
fn rounded(value: f64, err: f64) -> (Decimal, Decimal, i32) {
    let err = Decimal::with_digits(err.abs(), 2);
    let value = Decimal::at_place(value, err.place);
    let exponent = value.exponent().or(err.exponent()).unwrap_or(0);
    (value, err, exponent)
}

fn full(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if size.is_finite() && !(1e-5..1e16).contains(&size) {
        with_power(&format!("{value:e}"))
    } else {
        value.to_string()
    }
}

/// Rust's `1.5e-7` as `1.5e-07`.
fn with_power(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    format!("{mantissa}e{:+03}", exponent.parse::<i32>().unwrap_or(0))
}

/// `digits × 10^place`, with a sign.
#[derive(Clone, Debug, PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    place: i32,
}

impl Decimal {
    /// Rounded to `n_digits` significant digits. Rust's `e` format is exact and rounds ties to even.
    fn with_digits(value: f64, n_digits: usize) -> Self {
        let n_decimals = n_digits.max(1) - 1;
        let text = format!("{:.n_decimals$e}", value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        Self {
            is_negative: value < 0.0,
            digits: mantissa.chars().filter(char::is_ascii_digit).collect(),
            place: exponent - i32::try_from(n_decimals).unwrap_or(0),
        }
    }

    /// Rounded to a multiple of `10^place`.
    fn at_place(value: f64, place: i32) -> Self {
        let zero = Self { is_negative: false, digits: "0".into(), place };
        if value == 0.0 {
            return zero;
        }
        let mut exponent = Self::with_digits(value, 1 + DIGITS_OF_TIE).exponent().unwrap_or(0);
        loop {
            let n_digits = exponent - place + 1;
            if n_digits < 0 {
                return zero;
            }
            if n_digits == 0 {
                let exact = Self::with_digits(value, DIGITS_OF_TIE);
                let is_above_half = exact.digits > format!("5{}", "0".repeat(DIGITS_OF_TIE - 1));
                let one = Self { is_negative: value < 0.0, digits: "1".into(), place };
                return if is_above_half { one } else { zero };
            }
            let mut decimal = Self::with_digits(value, usize::try_from(n_digits).unwrap_or(1));
            if decimal.place < place {
                exponent -= 1;
                continue;
            }
            // 9.996 rounded up to 10.00: one more digit than requested.
            for _ in place..decimal.place {
                decimal.digits.push('0');
            }
            return Self { place, ..decimal };
        }
    }

    /// Exponent of the first digit; `None` for zero.
    fn exponent(&self) -> Option<i32> {
        let is_zero = self.digits.bytes().all(|digit| digit == b'0');
        let n_digits = i32::try_from(self.digits.len()).unwrap_or(i32::MAX);
        (!is_zero).then(|| self.place + n_digits - 1)
    }

    /// The number divided by `10^shift`, without a power of ten.
    fn text(&self, shift: i32) -> String {
        let place = self.place - shift;
        let sign = if self.is_negative { "-" } else { "" };
        let n_decimals = usize::try_from(-place).unwrap_or(0);
        if n_decimals == 0 {
            let n_zeros =
                if self.exponent().is_some() { usize::try_from(place).unwrap_or(0) } else { 0 };
            return format!("{sign}{}{}", self.digits, "0".repeat(n_zeros));
        }
        let digits = format!("{:0>width$}", self.digits, width = n_decimals + 1);
        let (whole, decimals) = digits.split_at(digits.len() - n_decimals);
        format!("{sign}{whole}.{decimals}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: f64, err: Option<f64>, expected: &str) {
        assert_eq!(format(value, err), expected, "{value} {err:?}");
    }

    #[test]
    fn numbers_of_a_column_have_no_powers_of_ten() {
        assert_eq!(in_column(-0.0084, 0.069), ("-0.008 +- 0.069".into(), Some(3)));
        assert_eq!(in_column(0.335, 0.087), ("0.335 +- 0.087".into(), Some(3)));
        assert_eq!(in_column(123_456.0, 1200.0), ("123500 +- 1200".into(), Some(0)));
    }

    #[test]
    fn the_rounding_of_the_arithmetic_is_no_error() {
        check(22.363_639_652_677_3, Some(4.4e-15), "22.3636396526773 +- 0");
        check(1e9, Some(1e-6), "1000000000 +- 0");
        check(f64::INFINITY, Some(1.0), "inf +- 1");
    }

    #[test]
    fn the_reference_vectors() {
        #[derive(serde::Deserialize)]
        struct FormatVectors {
            cases: Vec<FormatCase>,
        }
        #[derive(serde::Deserialize)]
        struct FormatCase {
            value: f64,
            err: f64,
            expect: String,
        }
        let vectors: FormatVectors =
            serde_json::from_str(include_str!("../tests/vectors/format.json")).unwrap();
        assert_eq!(vectors.cases.len(), 20);
        for case in vectors.cases {
            check(case.value, Some(case.err), &case.expect);
        }
    }

    #[test]
    fn ties_go_to_even_on_the_exact_value() {
        check(1.0, Some(0.125), "1.00 +- 0.12");
        check(1.0, Some(0.375), "1.00 +- 0.38");
        check(0.125, Some(0.1), "0.12 +- 0.10");
        check(2.5, Some(10.0), "2 +- 10");
        check(3.5, Some(10.0), "4 +- 10");
        check(1e22, Some(1e21), "(1.00 +- 0.10)e+22");
        // The double is above 0.165.
        check(0.0, Some(0.165), "0.00 +- 0.17");
    }

    #[test]
    fn a_value_below_its_last_place() {
        check(50.0, Some(1000.0), "0 +- 1000");
        check(50.1, Some(1000.0), "100 +- 1000");
        check(-60.0, Some(1000.0), "-100 +- 1000");
        check(-0.0004, Some(0.02), "0.000 +- 0.020");
        check(0.004, Some(0.02), "(4 +- 20)e-03");
        check(0.0, Some(1.2e9), "(0.0 +- 1.2)e+09");
        check(4.0, Some(1e300), "(0.0 +- 1.0)e+300");
    }

    #[test]
    fn an_error_that_says_nothing() {
        check(12.345, None, "12.345");
        check(12.345, Some(f64::NAN), "12.345 +- NaN");
        check(0.1, Some(0.0), "0.1 +- 0");
        check(1.0, Some(f64::INFINITY), "1 +- inf");
        check(f64::NAN, Some(1.0), "NaN +- 1");
        check(1e22, None, "1e+22");
        check(-1.5e-7, None, "-1.5e-07");
    }

    #[test]
    fn values_as_they_are_shown() {
        assert_eq!(as_shown(999.96, Some(0.95)), 999.96);
        assert_eq!(as_shown(999.96, Some(1.2)), 1000.0);
        assert_eq!(as_shown(-999.96, Some(1.2)), -1000.0);
        assert_eq!(as_shown(12.3, Some(1234.5)), 0.0);
        assert_eq!(as_shown(12.3, None), 12.3);
        assert_eq!(as_shown(12.3, Some(0.0)), 12.3);
    }

    #[test]
    fn decimals_are_those_of_the_text() {
        assert_eq!(decimals(12.3456, Some(0.021)), Some(3));
        assert_eq!(decimals(1062.37, Some(14.2)), Some(0));
        assert_eq!(decimals(12.3, Some(1234.5)), Some(0));
        assert_eq!(decimals(1.2e-5, Some(1e-6)), None);
        assert_eq!(decimals(1.2, None), None);
    }

    #[test]
    fn numbers_without_an_error() {
        assert_eq!(significant(12.3456, 4), "12.35");
        assert_eq!(significant(123_456.0, 4), "123456");
        assert_eq!(significant(0.001_234_56, 3), "0.00123");
        assert_eq!(significant(9.9996, 4), "10.00");
        assert_eq!(significant(0.0, 4), "0");
        assert_eq!(trimmed(0.0005, 2), "0.0005");
        assert_eq!(trimmed(99.0, 6), "99");
        assert_eq!(trimmed(100.0, 2), "100");
        assert_eq!(fixed(-0.0004, 3), "0.000");
        assert_eq!(fixed(-0.5, 1), "-0.5");
    }

    #[test]
    fn extreme_numbers_have_powers_of_ten() {
        assert_eq!(significant(1e-311, 4), "1.000e-311");
        assert_eq!(significant(-2.7778e302, 2), "-2.8e+302");
        assert_eq!(fixed(2.7778e302, 7), "2.778e+302");
        assert_eq!([1e16, 1e-310].map(|it| trimmed(it, 3)), ["1e+16", "1e-310"]);
        assert_eq!([1e-9, 9e15].map(|it| significant(it, 1)), ["0.000000001", "9000000000000000"]);
        assert_eq!(fixed(9e15, 0), "9000000000000000");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "-inf");
    }

    proptest::proptest! {
        /// The text is within half a last place of the number.
        #[test]
        fn the_text_is_the_number(value in -1e6..1e6f64, err in 1e-6..1e4f64) {
            let text = format(value, Some(err));
            let (mantissas, power) = match text.strip_prefix('(') {
                Some(rest) => { let (m, e) = rest.split_once(")e").unwrap(); (m.to_string(), e.parse::<i32>().unwrap()) }
                None => (text.clone(), 0),
            };
            let (shown, shown_err) = mantissas.split_once(" +- ").unwrap();
            let number = |text: &str| text.parse::<f64>().unwrap() * 10f64.powi(power);
            // An error of 0.995 is shown as 1.0, and half of its last place is 0.05.
            let half_place = 0.05 / 0.995 * (1.0 + 1e-9);
            proptest::prop_assert!((number(shown) - value).abs() <= err * half_place, "{}", text);
            proptest::prop_assert!((number(shown_err) / err - 1.0).abs() <= 0.0501, "{}", text);
        }
    }
}
