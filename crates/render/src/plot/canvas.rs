//! Points on a terminal: each character holds eight braille dots, or the digit of a series.

use crate::styles::paint;
use anstyle::{AnsiColor, Style};

/// Dots of a braille character, across and down.
const DOTS: [usize; 2] = [2, 4];
/// Bits of the dots, by column and row (Unicode block U+2800).
const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
const BRAILLE: u32 = 0x2800;
/// Colours of the series, in their order.
const COLORS: [AnsiColor; 6] = [
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Red,
    AnsiColor::Cyan,
];

/// The character of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// A braille dot in the colour of its series.
    Braille,
    /// The last digit of its series' number: readable without colours.
    Digits,
}

/// The style of a series, by its index.
pub fn style(series: usize) -> Style {
    COLORS[series % COLORS.len()].on_default()
}

/// A grid of characters. Each holds its dots and the series drawn there last.
pub(super) struct Canvas {
    marks: Marks,
    columns: usize,
    cells: Vec<Option<(usize, u32)>>,
}

impl Canvas {
    pub(super) fn new(marks: Marks, columns: usize, lines: usize) -> Self {
        Self { marks, columns, cells: vec![None; columns * lines] }
    }

    /// Size in points, across and down.
    pub(super) fn size(&self) -> [usize; 2] {
        let [across, down] = if self.marks == Marks::Braille { DOTS } else { [1, 1] };
        [self.columns * across, self.cells.len() / self.columns * down]
    }

    /// Draws a point; `y` counts from above. Points outside the canvas are ignored.
    pub(super) fn dot(&mut self, x: usize, y: usize, series: usize) {
        let [width, height] = self.size();
        if x >= width || y >= height {
            return;
        }
        let [across, down] = if self.marks == Marks::Braille { DOTS } else { [1, 1] };
        let cell = &mut self.cells[y / down * self.columns + x / across];
        let before = cell.map_or(0, |(_, bits)| bits);
        *cell = Some((series, before | BITS[x % across][y % down]));
    }

    /// The lines as text; `numbers` are those of the series.
    pub(super) fn lines(&self, numbers: &[usize]) -> Vec<String> {
        let text = |cells: &[Option<(usize, u32)>]| {
            let shown = cells.iter().map(|cell| match cell {
                None => " ".into(),
                Some((series, bits)) => {
                    let char = match self.marks {
                        Marks::Braille => char::from_u32(BRAILLE | bits).unwrap_or('·').to_string(),
                        Marks::Digits => (numbers[*series] % 10).to_string(),
                    };
                    paint(style(*series), &char)
                }
            });
            let line: String = shown.collect();
            line.trim_end().to_owned()
        };
        self.cells.chunks(self.columns).map(text).collect()
    }
}
