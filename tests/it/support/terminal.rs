//! A terminal, as far as the program uses one: what stands where, and whether anything ran out of it.

/// Columns and rows.
type Size = (usize, usize);

/// One screen of a terminal.
#[derive(Clone, Debug)]
struct Grid {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
}

impl Grid {
    fn new(columns: usize, rows: usize) -> Self {
        Self { cells: vec![vec![' '; columns]; rows], at: (0, 0) }
    }

    fn lines(&self) -> Vec<String> {
        self.cells.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect()
    }
}

/// What a terminal shows of what was written to it.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    main: Grid,
    alternate: Grid,
    pub(crate) is_alternate: bool,
    pub(crate) has_cursor: bool,
    /// Lines that went out at the top of the main screen.
    pub(crate) scrolled: Vec<String>,
    /// The alternate screen wrapped or scrolled: what was drawn did not fit.
    pub(crate) ran_over: bool,
    /// How often a colour was set.
    pub(crate) colours: usize,
    /// The alternate screen at the end of each frame.
    pub(crate) frames: Vec<Vec<String>>,
}

impl Terminal {
    fn new((columns, rows): Size) -> Self {
        Self {
            main: Grid::new(columns, rows),
            alternate: Grid::new(columns, rows),
            is_alternate: false,
            has_cursor: true,
            scrolled: Vec::new(),
            ran_over: false,
            colours: 0,
            frames: Vec::new(),
        }
    }

    /// What a terminal shows of what was written. It has each size from a number of bytes on, as soon as the program clears the screen:
    /// until then the program may not know.
    pub(crate) fn of(written: &[u8], sizes: &[(usize, Size)]) -> Self {
        let (mut sizes, text) = (sizes.iter().peekable(), String::from_utf8_lossy(written));
        let (_, first) = sizes.next().expect("a size");
        let mut terminal = Self::new(*first);
        let mut rest = text.char_indices().peekable();
        while let Some((at, character)) = rest.next() {
            if character == '\x1b' && rest.next_if(|&(_, next)| next == '[').is_some() {
                let mut argument = String::new();
                let end = rest.find(|(_, letter)| {
                    let is_argument = !letter.is_ascii_alphabetic();
                    argument.extend(is_argument.then_some(*letter));
                    !is_argument
                });
                // What is not whole yet follows.
                let Some((_, end)) = end else { break };
                if (argument.as_str(), end) == ("2", 'J')
                    && let Some((_, size)) = sizes.next_if(|(from, _)| *from <= at)
                {
                    terminal.resize(*size);
                }
                terminal.control(&argument, end);
            } else {
                terminal.put(character);
            }
        }
        terminal
    }

    /// The alternate screen is drawn anew; the main one keeps what it has.
    fn resize(&mut self, (columns, rows): Size) {
        self.alternate = Grid::new(columns, rows);
        self.main.cells.iter_mut().for_each(|line| line.resize(columns, ' '));
        while self.main.cells.len() > rows {
            let first = self.main.cells.remove(0);
            self.scrolled.push(first.iter().collect::<String>().trim_end().to_owned());
        }
        self.main.cells.resize(rows, vec![' '; columns]);
        self.main.at = (self.main.at.0.min(rows - 1), 0);
    }

    /// All lines of the main screen, also those that went out of it.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.scrolled.iter().cloned().chain(self.main.lines()).collect()
    }

    fn grid(&mut self) -> &mut Grid {
        if self.is_alternate { &mut self.alternate } else { &mut self.main }
    }

    fn control(&mut self, argument: &str, letter: char) {
        let (row, column) = self.grid().at;
        match (argument, letter) {
            ("?1049", 'h') => self.is_alternate = true,
            ("?1049", 'l') => self.is_alternate = false,
            ("?25", 'h') => self.has_cursor = true,
            ("?25", 'l') => self.has_cursor = false,
            // A frame begins and ends.
            ("?2026", 'h') => {}
            ("?2026", 'l') => {
                if self.is_alternate {
                    self.frames.push(self.alternate.lines());
                }
            }
            ("", 'K') => self.grid().cells[row].iter_mut().skip(column).for_each(|cell| *cell = ' '),
            ("2", 'J') => self.grid().cells.iter_mut().for_each(|line| line.fill(' ')),
            (place, 'H') => {
                let mut numbers =
                    place.split(';').map(|number| number.parse::<usize>().expect("a number") - 1);
                let at = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                let cells = &self.grid().cells;
                let last = (cells.len() - 1, cells[0].len() - 1);
                self.ran_over |= at.0 > last.0 || at.1 > last.1;
                self.grid().at = (at.0.min(last.0), at.1.min(last.1));
            }
            (style, 'm') => {
                // 38 and 48 are colours of 256, 3x and 9x those of sixteen; 39 and 49 are none.
                let parts: Vec<&str> = style.split(';').collect();
                let is_colour = |part: &&str| {
                    part.len() == 2 && matches!(part.as_bytes(), [b'3' | b'4' | b'9', b'0'..=b'8'])
                };
                self.colours += parts.iter().filter(|part| is_colour(part)).count();
            }
            other => panic!("a control sequence that this terminal does not know: {other:?}"),
        }
    }

    fn put(&mut self, character: char) {
        let (columns, rows) = (self.grid().cells[0].len(), self.grid().cells.len());
        let (row, mut column) = self.grid().at;
        let runs_over = match character {
            // A mark over the letter before it.
            '\u{300}'..='\u{36f}' => return,
            '\r' => {
                self.grid().at = (row, 0);
                return;
            }
            // The line discipline puts a return before it.
            '\n' => {
                column = 0;
                true
            }
            _ if column == columns => {
                self.ran_over |= self.is_alternate;
                self.put('\n');
                let (row, _) = self.grid().at;
                self.grid().at = (row, 0);
                return self.put(character);
            }
            _ => false,
        };
        if !runs_over {
            let width = if is_wide(character) { 2 } else { 1 };
            self.grid().cells[row][column] = character;
            self.grid().cells[row].iter_mut().skip(column + 1).take(width - 1).for_each(|cell| *cell = ' ');
            self.ran_over |= self.is_alternate && column + width > columns;
            self.grid().at = (row, (column + width).min(columns));
        } else if row + 1 < rows {
            self.grid().at = (row + 1, column);
        } else if self.is_alternate {
            self.ran_over = true;
        } else {
            self.main.at.1 = column;
            let first = self.main.cells.remove(0);
            self.scrolled.push(first.iter().collect::<String>().trim_end().to_owned());
            self.main.cells.push(vec![' '; columns]);
        }
    }
}

/// Whether a character takes two columns, as far as tests have such.
fn is_wide(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff60}')
}
