//! A terminal, as far as the program uses one: what stands where, and whether anything ran out of it.

use super::program::Running;
use super::scratch::Scratch;
use std::process::Command;

/// Runs the shell command on a terminal of this size (util-linux' `script`); `None` where that is not installed.
pub(crate) fn start(command: &str, columns: usize, rows: usize) -> Option<Running> {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: script (util-linux) is not installed");
        return None;
    }
    let sized = format!("stty rows {rows} cols {columns}; {command}");
    let mut script = Command::new("script");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EDISON_")) {
        script.env_remove(name);
    }
    script.args(["-q", "-f", "-e", "-c", &sized, "/dev/null"]).env("SHELL", "/bin/sh");
    Some(Running::start(script.stdin(std::process::Stdio::null())))
}

/// A shell command that becomes the program, which leaves its process number in a file.
pub(crate) fn program(scratch: &Scratch, arguments: &str) -> String {
    let pid = scratch.path("pid");
    format!("echo $$ > {}; exec {} {arguments}", pid.display(), env!("CARGO_BIN_EXE_edison"))
}

/// The number that [`program`] left.
pub(crate) fn pid(scratch: &Scratch) -> String {
    std::fs::read_to_string(scratch.path("pid")).expect("the program has begun").trim().to_owned()
}

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
    /// The alternate screen each time that drawing began anew.
    pub(crate) frames: Vec<Vec<String>>,
}

impl Terminal {
    /// What a terminal of this size shows of a text.
    pub(crate) fn showing(text: &str, columns: usize, rows: usize) -> Self {
        let mut terminal = Self {
            main: Grid::new(columns, rows),
            alternate: Grid::new(columns, rows),
            is_alternate: false,
            has_cursor: true,
            scrolled: Vec::new(),
            ran_over: false,
            frames: Vec::new(),
        };
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            if character == '\x1b' && rest.next_if_eq(&'[').is_some() {
                let mut argument = String::new();
                let end = rest.find(|letter| {
                    let is_argument = !letter.is_ascii_alphabetic();
                    argument.extend(is_argument.then_some(*letter));
                    !is_argument
                });
                terminal.control(&argument, end.expect("a whole control sequence"));
            } else {
                terminal.put(character);
            }
        }
        terminal
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
            ("?1049", 'l') => {
                self.frames.push(self.alternate.lines());
                self.is_alternate = false;
            }
            ("?25", 'h') => self.has_cursor = true,
            ("?25", 'l') => self.has_cursor = false,
            ("", 'H') => {
                self.frames.push(self.alternate.lines());
                self.grid().at = (0, 0);
            }
            ("", 'K') => self.grid().cells[row].iter_mut().skip(column).for_each(|cell| *cell = ' '),
            ("", 'J') => self.grid().cells.iter_mut().skip(row + 1).for_each(|line| line.fill(' ')),
            other => panic!("a control sequence that this terminal does not know: {other:?}"),
        }
    }

    fn put(&mut self, character: char) {
        let (columns, rows) = (self.main.cells[0].len(), self.main.cells.len());
        let (row, mut column) = self.grid().at;
        let runs_over = match character {
            '\r' => {
                self.grid().at = (row, 0);
                return;
            }
            // The line discipline puts a return before it, which the reader of lines took.
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
            self.grid().cells[row][column] = character;
            self.grid().at = (row, column + 1);
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
