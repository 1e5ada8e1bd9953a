// echo and printf.

import { MAX_TEXT } from '../kernel.ts';
import { CommandError, type CommandFunction, print, complain } from '../process.ts';

/**
 * Replaces the backslash sequences of `echo -e`, `printf` and its `%b`. `stopped`: \\c ends all
 * output.
 */
export function unescape(text: string): { readonly text: string; readonly stopped: boolean } {
  const simple: Readonly<Record<string, string>> = {
    n: '\n',
    t: '\t',
    r: '\r',
    a: '\u0007',
    b: '\b',
    f: '\f',
    v: '\v',
    e: '\u001b',
    '\\': '\\',
  };
  const end = /^((?:[^\\]|\\[^c])*?)\\c/s.exec(text);
  const shown = (end?.[1] ?? text).replace(
    /\\(?:0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|([ntrabfve\\]))/g,
    (_, octal: string | undefined, hex: string | undefined, letter: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
      return hex === undefined
        ? (simple[letter] as string)
        : String.fromCharCode(Number.parseInt(hex, 16));
    },
  );
  return { text: shown, stopped: end !== null };
}

export const echo: CommandFunction = async (process) => {
  const args = [...process.args];
  let newline = true;
  let escapes = false;
  while (args[0] !== undefined && /^-[neE]+$/.test(args[0])) {
    const option = args.shift() as string;
    if (option.includes('n')) newline = false;
    if (option.includes('e')) escapes = true;
    if (option.includes('E')) escapes = false;
  }
  const { text, stopped } = escapes
    ? unescape(args.join(' '))
    : { text: args.join(' '), stopped: false };
  await print(process, `${text}${newline && !stopped ? '\n' : ''}`);
  return 0;
};

const MAX_WIDTH = 10_000;

export const printf: CommandFunction = async (process) => {
  const [format, ...args] = process.args[0] === '--' ? process.args.slice(1) : process.args;
  if (format === undefined) throw new CommandError('usage: printf FORMAT [ARG...]');
  let code = 0;
  let output = '';
  const rest = [...args];
  do {
    const before = rest.length;
    await process.kernel.step();
    for (const [
      ,
      spec,
      flags = '',
      width = '',
      precision,
      letter = '',
      plain = '',
    ] of format.matchAll(
      /(%([-+ 0#]*)(\*|\d+)?(?:\.(\d+))?([a-zA-Z%]))|((?:[^%\\]|\\[0-7]{1,4}|\\.)+|[%\\])/gs,
    )) {
      if (spec === undefined) {
        output += unescape(plain).text;
        continue;
      }
      if (letter === '%') {
        output += '%';
        continue;
      }
      const size = Number(width === '*' ? rest.shift() : width);
      if (size > MAX_WIDTH || Number(precision ?? 0) > MAX_WIDTH)
        throw new CommandError(`${spec}: width is too large`);
      const value = rest.shift();
      let text: string;
      if (letter === 's')
        text = precision === undefined ? (value ?? '') : (value ?? '').slice(0, Number(precision));
      else if (letter === 'b') text = unescape(value ?? '').text;
      else if (letter === 'c') text = (value ?? '').slice(0, 1);
      else {
        const parsed =
          value === undefined || value === ''
            ? 0
            : /^['"]./s.test(value)
              ? (value.codePointAt(1) as number)
              : Number(value);
        if (Number.isNaN(parsed)) {
          await complain(process, `${value}: invalid number`);
          code = 1;
        }
        text = formatNumber(letter, Number.isNaN(parsed) ? 0 : parsed, precision);
        if (flags.includes('+') && parsed >= 0) text = `+${text}`;
      }
      const pad = flags.includes('0') && !flags.includes('-') && letter !== 's' ? '0' : ' ';
      output += flags.includes('-')
        ? text.padEnd(size)
        : pad === '0' && /^[-+]/.test(text)
          ? text[0] + text.slice(1).padStart(size - 1, '0')
          : text.padStart(size, pad);
    }
    if (output.length > MAX_TEXT) throw new CommandError('out of memory');
    if (rest.length === before) break;
  } while (rest.length > 0);
  await print(process, output);
  return code;
};

function formatNumber(letter: string, value: number, precision: string | undefined): string {
  switch (letter) {
    case 'd':
    case 'i':
    case 'u':
      return Math.trunc(value)
        .toString()
        .padStart(Number(precision ?? 0), '0');
    case 'x':
      return Math.trunc(value).toString(16);
    case 'X':
      return Math.trunc(value).toString(16).toUpperCase();
    case 'o':
      return Math.trunc(value).toString(8);
    case 'f':
    case 'F':
      return value.toFixed(Math.min(100, Number(precision ?? 6)));
    case 'e':
      return value.toExponential(Math.min(100, Number(precision ?? 6)));
    case 'g':
      return String(value);
    default:
      throw new CommandError(`%${letter}: invalid format`);
  }
}
