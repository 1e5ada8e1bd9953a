// Text with terminal colours as pieces with classes. Colours are all that is obeyed: every other
// control sequence is shown as text, so that a log can neither move the cursor nor hide itself.

import { printable } from './printable.ts';

export interface Piece {
  readonly text: string;
  /** Names of classes: 'ansi-red ansi-bold'; '' for plain text. */
  readonly style: string;
}

const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

interface Style {
  color?: string;
  background?: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const ESCAPE = '\u001b';
const COLOR_SEQUENCE = new RegExp(`${ESCAPE}\\[([\\d;]*)m`, 'g');
/** A longer line is cut: the browser would take long to lay it out. */
const MAX_LENGTH = 20_000;

export function ansiPieces(line: string): readonly Piece[] {
  const text = line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)} …` : line;
  if (!text.includes(ESCAPE)) return [{ text: shown(text), style: '' }];
  const pieces: Piece[] = [];
  const style: Style = { bold: false, dim: false, italic: false, underline: false };
  let end = 0;
  for (const match of text.matchAll(COLOR_SEQUENCE)) {
    push(pieces, text.slice(end, match.index), style);
    apply(style, match[1] ?? '');
    end = match.index + match[0].length;
  }
  push(pieces, text.slice(end), style);
  return pieces;
}

/** Tabs stay as room; a carriage return at the end is of no meaning. */
const shown = (text: string): string =>
  printable(text.replace(/\r$/, '').replaceAll('\t', '        '));

function push(pieces: Piece[], text: string, style: Style): void {
  if (text === '') return;
  const classes = [
    style.color,
    style.background,
    style.bold && 'ansi-bold',
    style.dim && 'ansi-dim',
    style.italic && 'ansi-italic',
    style.underline && 'ansi-underline',
  ];
  pieces.push({ text: shown(text), style: classes.filter(Boolean).join(' ') });
}

function apply(style: Style, parameters: string): void {
  const codes = parameters.split(';').map(Number);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index]!;
    if (code === 38 || code === 48) {
      // Extended colours: 5;N or 2;R;G;B. The first sixteen of a palette are those below.
      const isPalette = codes[index + 1] === 5;
      const color = isPalette ? nameOf(codes[index + 2] ?? -1) : undefined;
      if (code === 38) style.color = color === undefined ? undefined : `ansi-${color}`;
      else style.background = color === undefined ? undefined : `ansi-on-${color}`;
      index += isPalette ? 2 : 4;
      continue;
    }
    applyCode(style, code);
  }
}

const nameOf = (index: number): string | undefined =>
  index >= 0 && index < 16 ? COLORS[index % 8] : undefined;

function applyCode(style: Style, code: number): void {
  if (code === 0) {
    style.color = undefined;
    style.background = undefined;
    style.bold = style.dim = style.italic = style.underline = false;
  } else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4) style.underline = true;
  else if (code === 22) style.bold = style.dim = false;
  else if (code === 23) style.italic = false;
  else if (code === 24) style.underline = false;
  else if (code === 39) style.color = undefined;
  else if (code === 49) style.background = undefined;
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
    style.color = `ansi-${COLORS[code % 10]}`;
  else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107))
    style.background = `ansi-on-${COLORS[code % 10]}`;
}
