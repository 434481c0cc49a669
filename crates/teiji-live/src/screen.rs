//! The terminal: samples as they come, until somebody presses q.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use crate::sample::Sample;
use crate::table::{self, Role};

/// How long a key waits to be seen, and a sample.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Somebody pressed q or Ctrl-C.
    Quit,
    /// No more samples come.
    NoMore,
}

/// What the screen looks like.
#[derive(Debug, Default)]
struct View {
    title: String,
    samples: Option<(Sample, Sample)>,
    paused: bool,
    scrolled: u16,
}

/// Takes the terminal, shows what comes, and gives it back as it was.
///
/// # Errors
/// What the terminal says.
pub fn run(title: &str, samples: &Receiver<Sample>) -> io::Result<End> {
    let mut terminal = ratatui::try_init()?;
    let end = follow(&mut terminal, title, samples);
    ratatui::restore();
    end
}

fn follow(
    terminal: &mut DefaultTerminal,
    title: &str,
    samples: &Receiver<Sample>,
) -> io::Result<End> {
    let mut view = View { title: title.to_owned(), ..View::default() };
    let mut newest: Option<Sample> = None;
    loop {
        terminal.draw(|frame| view.draw(frame))?;
        // Keys and samples wait until something has changed.
        loop {
            if event::poll(LOOK_EVERY)? {
                let event = event::read()?;
                if view.is_quit_by(&event) {
                    return Ok(End::Quit);
                }
                break;
            }
            match samples.try_recv() {
                Ok(sample) => {
                    if let Some(before) = newest.replace(sample.clone()).filter(|_| !view.paused) {
                        view.samples = Some((before, sample));
                    }
                    break;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(End::NoMore),
            }
        }
    }
}

impl View {
    /// Does what a key says; true if it is the one that ends.
    fn is_quit_by(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        if key.kind == KeyEventKind::Release {
            return false;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Down | KeyCode::Char('j') => self.scrolled = self.scrolled.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Home => self.scrolled = 0,
            _ => {}
        }
        false
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let [head, body] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0)]).areas(frame.area());
        let paused = if self.paused { " (paused)" } else { "" };
        let title = format!("{}{paused}   q quits, p pauses, ↑ ↓ scroll", self.title);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Paragraph::new(Line::styled(title, bold)), head);
        let lines = match &self.samples {
            Some((before, now)) => table::lines(before, now),
            None => Vec::new(),
        };
        let most = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_sub(body.height);
        self.scrolled = self.scrolled.min(most);
        let styled = |line: table::Line| {
            Line::styled(
                line.text,
                match line.role {
                    Role::Heading => bold,
                    Role::Plain => Style::new(),
                    Role::Wrong => Style::new().fg(Color::Red),
                },
            )
        };
        let text: Vec<Line<'_>> = lines.into_iter().map(styled).collect();
        frame.render_widget(Paragraph::new(text).scroll((self.scrolled, 0)), body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::examples::sample;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyEvent;

    fn pressed(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn drawn(view: &mut View, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(60, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let cells = terminal.backend().buffer().content().iter().map(ratatui::buffer::Cell::symbol);
        let cells: Vec<&str> = cells.collect();
        cells.chunks(60).map(|line| line.concat().trim_end().to_owned()).collect()
    }

    #[test]
    fn a_small_screen_is_scrolled_to_its_end_and_no_further() {
        let samples = Some((sample(1, 0), sample(2, 0)));
        let mut view = View { title: "top".to_owned(), samples, ..View::default() };
        let lines = drawn(&mut view, 6);
        assert_eq!(lines[0], "top   q quits, p pauses, ↑ ↓ scroll");
        assert!(lines[2].starts_with("interface  carrier"), "{lines:?}");
        for _ in 0..100 {
            assert!(!view.is_quit_by(&pressed(KeyCode::Down)));
        }
        let lines = drawn(&mut view, 6);
        assert_eq!(lines[5], "! no flows of eth1: needs root");
        view.is_quit_by(&pressed(KeyCode::Home));
        assert!(drawn(&mut view, 6)[2].starts_with("interface  carrier"));
        // A terminal without lines.
        drawn(&mut view, 1);
    }

    #[test]
    fn keys_pause_and_quit() {
        let mut view = View::default();
        assert!(!view.is_quit_by(&pressed(KeyCode::Char('p'))) && view.paused);
        assert!(!view.is_quit_by(&pressed(KeyCode::Char(' '))) && !view.paused);
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(view.is_quit_by(&Event::Key(ctrl_c)));
        assert!(view.is_quit_by(&pressed(KeyCode::Char('q'))));
        assert!(!view.is_quit_by(&pressed(KeyCode::Char('c'))));
    }
}
