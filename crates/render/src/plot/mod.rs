//! Charts on a terminal: points or steps between two axes.

mod canvas;

use std::fmt::Write as _;

use crate::columns::{shorten, width};
use crate::styles::paint;
use crate::uncertain;
use crate::units::DisplayUnit;

use canvas::Canvas;
pub use canvas::{Marks, style};

/// A smaller chart would be unreadable.
pub const COLUMNS_MIN: usize = 30;
pub const LINES_MIN: usize = 4;

/// A chart.
#[derive(Clone, Debug)]
pub struct TerminalChart {
    /// The line above the chart.
    pub title: String,
    /// One or more.
    pub series: Vec<ChartSeries>,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from below to above.
    pub y: Axis,
}

/// Points of one arm or metric.
#[derive(Clone, Debug)]
pub struct ChartSeries {
    /// Its number in the other outputs, from 1.
    pub number: usize,
    /// Its name in the legend.
    pub label: String,
    /// Points as `[x, y]`; those of steps are in the order of x.
    pub points: Vec<[f64; 2]>,
    /// Whether the points are steps: a value holds until the next one.
    pub is_stepped: bool,
}

/// An axis with its scale.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub label: String,
    /// Its ends. Points beyond them are drawn at the edge and counted.
    pub ends: [f64; 2],
    /// Whether the scale is logarithmic.
    pub is_log: bool,
    /// DisplayUnit of the numbers at the axis.
    pub unit: DisplayUnit,
}

/// The size of a chart and the marks of its points.
#[derive(Clone, Copy, Debug)]
pub struct ChartSize {
    /// Columns of the whole chart.
    pub columns: usize,
    /// Lines between the axes.
    pub lines: usize,
    /// Characters of the points.
    pub marks: Marks,
}

impl Axis {
    /// Position of a value on the axis, from 0 to 1; `None` if it has none (log of 0).
    fn share(&self, value: f64) -> Option<f64> {
        let scale = |value: f64| if self.is_log { value.ln() } else { value };
        let [lo, hi] = self.ends.map(scale);
        let share = (scale(value) - lo) / (hi - lo);
        if hi > lo { Some(share).filter(|share| share.is_finite()) } else { Some(0.5) }
    }

    /// The value at a position from 0 to 1.
    fn at(&self, share: f64) -> f64 {
        let [lo, hi] = self.ends;
        if self.is_log { lo * (hi / lo).powf(share) } else { lo + (hi - lo) * share }
    }

    fn number(&self, share: f64) -> String {
        let [lo, hi] = self.ends;
        let step = (hi - lo).abs() / self.unit.size / 50.0;
        let decimals = if step > 0.0 { (-step.log10()).ceil().clamp(0.0, 9.0) as usize } else { 3 };
        if self.is_log {
            return uncertain::significant(self.at(share) / self.unit.size, 3);
        }
        uncertain::fixed(self.at(share) / self.unit.size, decimals)
    }

    fn heading(&self) -> String {
        self.unit.heading(&self.label)
    }
}

/// The chart as text, at most `size.columns` wide.
pub fn text(chart: &TerminalChart, size: ChartSize) -> String {
    let ticks: Vec<String> = (0..size.lines)
        .map(|line| {
            if shows_tick(line, size.lines) {
                y_number(chart, line, size.lines)
            } else {
                String::new()
            }
        })
        .collect();
    let label_columns = ticks.iter().map(|tick| width(tick)).max().unwrap_or(0);
    let columns = size.columns.saturating_sub(label_columns + 2).max(1);
    let mut canvas = Canvas::new(size.marks, columns, size.lines);
    let n_beyond = draw(&mut canvas, chart);
    let numbers: Vec<usize> = chart.series.iter().map(|series| series.number).collect();
    let mut out = String::new();
    if !chart.title.is_empty() {
        writeln!(out, "{}", shorten(&chart.title, size.columns)).ok();
    }
    for (at, series) in chart.series.iter().enumerate() {
        let number = paint(style(at), &format!("{:<3}", series.number));
        writeln!(out, "{number}{}", shorten(&series.label, size.columns - 3)).ok();
    }
    writeln!(out, "{}", shorten(&chart.y.heading(), size.columns)).ok();
    for (tick, line) in ticks.iter().zip(canvas.lines(&numbers)) {
        let axis = if tick.is_empty() { '│' } else { '┤' };
        writeln!(out, "{tick:>label_columns$} {axis}{line}").ok();
    }
    writeln!(out, "{:label_columns$} └{}", "", "─".repeat(columns)).ok();
    writeln!(out, "{:1$}{2}", "", label_columns + 2, x_numbers(&chart.x, columns)).ok();
    if n_beyond > 0 {
        writeln!(out, "{n_beyond} beyond the frame, at its edge").ok();
    }
    out
}

/// Whether a line has a tick: the first, the middle and the last one do.
fn shows_tick(line: usize, n_lines: usize) -> bool {
    line == 0 || line + 1 == n_lines || line == n_lines / 2
}

fn y_number(chart: &TerminalChart, line: usize, n_lines: usize) -> String {
    chart.y.number(1.0 - line as f64 / (n_lines - 1) as f64)
}

/// The numbers at both ends and in the middle, and the axis' name.
fn x_numbers(axis: &Axis, columns: usize) -> String {
    let [left, middle, right] = [0.0, 0.5, 1.0].map(|share| axis.number(share));
    let label = axis.heading();
    let mut line = left;
    let mut put = |at: usize, text: &str| {
        if at > width(&line) && at + width(text) <= columns {
            line.push_str(&" ".repeat(at - width(&line)));
            line.push_str(text);
        }
    };
    put((columns / 2).saturating_sub(width(&middle) / 2), &middle);
    let end = format!("{label}  {right}");
    let end = if width(&end) < columns / 2 { end } else { right };
    put(columns.saturating_sub(width(&end)), &end);
    line
}

/// Draws all series. Returns the number of points outside the frame.
fn draw(canvas: &mut Canvas, chart: &TerminalChart) -> usize {
    let [width, height] = canvas.size();
    let place = |axis: &Axis, value: f64, n: usize| {
        let share = axis.share(value)?;
        Some((share.clamp(0.0, 1.0) * (n - 1) as f64).round() as usize)
    };
    let is_in = |axis: &Axis, value: f64| {
        axis.share(value).is_some_and(|share| (-1e-9..=1.0 + 1e-9).contains(&share))
    };
    let mut n_beyond = 0;
    for (at, series) in chart.series.iter().enumerate() {
        let mut before: Option<[usize; 2]> = None;
        for &[x, y] in &series.points {
            if !is_in(&chart.x, x) || !is_in(&chart.y, y) {
                n_beyond += usize::from(!series.is_stepped);
            }
            let (Some(x), Some(up)) = (place(&chart.x, x, width), place(&chart.y, y, height))
            else {
                continue;
            };
            let y = height - 1 - up;
            if let Some([x_before, y_before]) = before.filter(|_| series.is_stepped) {
                (x_before..x).for_each(|x| canvas.dot(x, y_before, at));
                (y.min(y_before)..=y.max(y_before)).for_each(|y| canvas.dot(x, y, at));
            }
            canvas.dot(x, y, at);
            before = Some([x, y]);
        }
    }
    n_beyond
}

/// A text in ASCII, for terminals without Unicode.
pub fn ascii(text: &str) -> String {
    let of = |char: char| match char {
        '│' | '┤' => '|',
        '└' => '+',
        '─' => '-',
        '▁'..='▏' => '#',
        '…' => '~',
        'µ' => 'u',
        '÷' => '/',
        '±' => '~',
        char if char.is_ascii() => char,
        _ => '?',
    };
    text.chars().map(of).collect()
}

#[cfg(test)]
mod tests;
