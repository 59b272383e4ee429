//! A table for people: columns as wide as their widest cell, two spaces between them. Pure.

use std::fmt;

/// Rows under headings.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    headings: [&'static str; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    /// A table with these headings.
    pub(super) fn new(headings: [&'static str; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        Self {
            headings,
            rows: rows.into_iter().collect(),
        }
    }

    fn widths(&self) -> [usize; N] {
        let mut widths = self.headings.map(|heading| heading.chars().count());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let padded: Vec<String> = cells
                .zip(widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            padded.join("  ").trim_end().to_owned()
        };
        f.write_str(&line(&mut self.headings.iter().copied()))?;
        for row in &self.rows {
            write!(f, "\n{}", line(&mut row.iter().map(String::as_str)))?;
        }
        Ok(())
    }
}

/// A cell that may be empty.
pub(super) fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let table = Table::new(
            ["ID", "STATE"],
            [
                ["orders-é".to_owned(), "Ongoing".to_owned()],
                ["a".to_owned(), cell(None::<i32>)],
            ],
        );
        assert_eq!(
            table.to_string(),
            "ID        STATE\norders-é  Ongoing\na         -"
        );
    }
}
