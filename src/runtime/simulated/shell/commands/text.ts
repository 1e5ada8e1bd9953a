// Commands for text.

import { createHash } from 'node:crypto';
import { FileError } from '../file-system.ts';
import { Input, type Output } from '../io.ts';
import { MAX_TEXT } from '../kernel.ts';
import {
  CommandError,
  type CommandFunction,
  complain,
  parseOptions,
  pathOf,
  print,
  type Process,
} from '../process.ts';
import { RegularExpression } from '../regular-expression.ts';

/**
 * Replaces the backslash sequences of `echo -e`, `printf` and its `%b`. `stopped`: \\c ends all
 * output.
 */
function unescape(text: string): { readonly text: string; readonly stopped: boolean } {
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

const echo: CommandFunction = async (process) => {
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

const printf: CommandFunction = async (process) => {
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

/** Opens a file, or stdin for `-`. Throws FileError. */
function open(process: Process, path: string): Input {
  if (path === '-') return process.stdin;
  const full = pathOf(process, path);
  const node = process.kernel.config.files.find(full);
  if (node?.kind !== 'device') return Input.of(process.kernel.config.files.read(full));
  if (node.device === 'stdin') return process.stdin;
  if (node.device === 'null') return Input.empty();
  const { random } = process.kernel.config;
  return new Input(async () => {
    await process.kernel.step(20);
    return node.device === 'random' ? random.bytes(4096) : new Uint8Array(4096);
  });
}

/** Runs `work` for each file (stdin without any); reports unreadable files. */
async function eachInput(
  process: Process,
  paths: readonly string[],
  work: (input: Input, path: string) => Promise<void>,
): Promise<number> {
  let code = 0;
  for (const path of paths.length === 0 ? ['-'] : paths) {
    try {
      await work(open(process, path), path);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      code = await complain(process, `${path}: ${error.message}`);
    }
  }
  return code;
}

/** Yields the lines of an input, without newlines. */
async function* linesOf(process: Process, input: Input): AsyncGenerator<string> {
  for (;;) {
    await process.kernel.step();
    const line = await input.readLine(MAX_TEXT);
    if (line === undefined) return;
    yield line.endsWith('\n') ? line.slice(0, -1) : line;
  }
}

const cat: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'nuveAT');
  let number = 0;
  return eachInput(process, operands, async (input) => {
    if (flags.has('n')) {
      for await (const line of linesOf(process, input))
        await print(process, `${String(++number).padStart(6)}\t${line}\n`);
      return;
    }
    for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read())
      await process.stdout.write(chunk);
  });
};

const head: CommandFunction = (process) => {
  const { values, operands } = parseOptions(shortCount(process.args), 'q', 'nc');
  const bytes = values.get('c');
  return eachInput(process, operands, async (input) => {
    if (bytes !== undefined) {
      await process.stdout.write(await input.readExactly(Math.min(count(bytes), MAX_TEXT)));
      return;
    }
    for (let left = count(values.get('n') ?? '10'); left > 0; left--) {
      await process.kernel.step();
      const line = await input.readLine();
      if (line === undefined) break;
      await print(process, line);
    }
  });
};

const tail: CommandFunction = (process) => {
  const { flags, values, operands } = parseOptions(shortCount(process.args), 'fFq', 'nc');
  const lines = values.get('n') ?? '10';
  return eachInput(process, operands, async (input, path) => {
    const all = await input.readAll(32 * 1024 * 1024);
    const bytes = values.get('c');
    if (bytes !== undefined)
      await process.stdout.write(all.subarray(Math.max(0, all.length - count(bytes))));
    else {
      const parts = all.toString().split(/(?<=\n)/);
      await print(
        process,
        (lines.startsWith('+')
          ? parts.slice(count(lines.slice(1)) - 1)
          : count(lines) === 0
            ? []
            : parts.slice(-count(lines))
        ).join(''),
      );
    }
    if (flags.has('f') || flags.has('F')) await follow(process, path, all.length);
  });
};

const FOLLOW_MS = 1000;

/** Writes text that is appended to the file, until the program ends. */
async function follow(process: Process, path: string, from: number): Promise<never> {
  let at = from;
  for (;;) {
    await process.kernel.sleep(FOLLOW_MS);
    const node = process.kernel.config.files.find(pathOf(process, path));
    if (node?.kind !== 'file' || node.content.length === at) continue;
    if (node.content.length > at) await process.stdout.write(node.content.subarray(at));
    at = node.content.length;
  }
}

/** Replaces `-5` by `-n 5`. */
function shortCount(args: readonly string[]): string[] {
  return args.flatMap((arg) => (/^-\d+$/.test(arg) ? ['-n', arg.slice(1)] : [arg]));
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new CommandError(`invalid number '${text}'`);
  return Number(text);
}

const wc: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'lwcm');
  const shown =
    flags.size === 0 ? ['l', 'w', 'c'] : ['l', 'w', 'c', 'm'].filter((flag) => flags.has(flag));
  return eachInput(process, operands, async (input, path) => {
    let [lines, words, bytes] = [0, 0, 0];
    let inWord = false;
    for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read()) {
      await process.kernel.step();
      bytes += chunk.length;
      for (const byte of chunk) {
        if (byte === 10) lines++;
        const blank = byte === 32 || (byte >= 9 && byte <= 13);
        if (!blank && !inWord) words++;
        inWord = !blank;
      }
    }
    const values: Readonly<Record<string, number>> = { l: lines, w: words, c: bytes, m: bytes };
    const numbers = shown.map((flag) => String(values[flag]));
    const text =
      numbers.length === 1
        ? (numbers[0] as string)
        : numbers.map((each) => each.padStart(9)).join(' ');
    await print(process, `${text}${operands.length > 0 ? ` ${path}` : ''}\n`);
  });
};

const grep: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'iEFvcnqwxolhHs', 'e', [
    '--color=',
    '--',
  ]);
  const rest = [...operands];
  const pattern = values.get('e') ?? rest.shift();
  if (pattern === undefined) throw new CommandError('usage: grep PATTERN [FILE]...', 2);
  const kind =
    flags.has('F') || process.name === 'fgrep'
      ? 'fixed'
      : flags.has('E') || process.name === 'egrep'
        ? 'extended'
        : 'basic';
  const wrap = (source: string): string => {
    const word = flags.has('w') ? `\\b(?:${source})\\b` : source;
    return flags.has('x') ? `^(?:${word})$` : word;
  };
  const expression = new RegularExpression(pattern, kind, flags.has('i') ? 'i' : '', wrap);
  let found = false;
  const named = (rest.length > 1 || flags.has('H')) && !flags.has('h');
  const code = await eachInput(process, rest, async (input, path) => {
    let matches = 0;
    let number = 0;
    for await (const line of linesOf(process, input)) {
      number++;
      if (expression.test(line) === flags.has('v')) continue;
      matches++;
      found = true;
      if (flags.has('q') || flags.has('l')) break;
      if (flags.has('c')) continue;
      const prefix = `${named ? `${path}:` : ''}${flags.has('n') ? `${number}:` : ''}`;
      const shown = flags.has('o') ? expression.matches(line) : [line];
      await print(process, shown.map((each) => `${prefix}${each}\n`).join(''));
    }
    if (flags.has('c')) await print(process, `${named ? `${path}:` : ''}${matches}\n`);
    if (flags.has('l') && matches > 0) await print(process, `${path}\n`);
  });
  if (code !== 0) return 2;
  return found ? 0 : 1;
};

interface Substitution {
  readonly kind: 's' | 'd' | 'p';
  readonly address: ((line: string, number: number, last: boolean) => boolean) | undefined;
  readonly expression?: RegularExpression;
  readonly all?: boolean;
  readonly replacement?: string;
  readonly print?: boolean;
}

const sed: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'nErsi', 'e');
  const rest = [...operands];
  const script = values.get('e') ?? rest.shift();
  if (script === undefined) throw new CommandError('no script specified');
  const kind = flags.has('E') || flags.has('r') ? 'extended' : 'basic';
  const commands = script
    .split(/[;\n](?=\s*(?:\d|\$|\/|s[^a-zA-Z0-9\s]|[dp](?:$|[;\n])))/)
    .map((text) => sedCommand(text.trim(), kind));
  const run = async (input: Input, write: (text: string) => Promise<void>): Promise<void> => {
    let number = 0;
    let next = await input.readLine(MAX_TEXT);
    while (next !== undefined) {
      await process.kernel.step();
      const raw = next;
      next = await input.readLine(MAX_TEXT);
      number++;
      const newline = raw.endsWith('\n') ? '\n' : '';
      let line = newline === '' ? raw : raw.slice(0, -1);
      let deleted = false;
      for (const command of commands) {
        if (command.address !== undefined && !command.address(line, number, next === undefined))
          continue;
        if (command.kind === 'd') {
          deleted = true;
          break;
        }
        if (command.kind === 'p') await write(`${line}\n`);
        else {
          const before = line;
          const { expression, replacement = '', all = false } = command;
          line =
            expression?.replace(line, (match) => sedReplacement(replacement, match), all) ?? line;
          if (command.print === true && line !== before) await write(`${line}\n`);
        }
      }
      if (!deleted && !flags.has('n')) await write(line + newline);
    }
  };
  if (!flags.has('i'))
    return await eachInput(process, rest, (input) => run(input, (text) => print(process, text)));
  return await eachInput(process, rest, async (input, path) => {
    let text = '';
    await run(input, (each) => {
      text += each;
      return Promise.resolve();
    });
    process.kernel.config.files.write(pathOf(process, path), Buffer.from(text), false);
  });
};

function sedCommand(text: string, kind: 'basic' | 'extended'): Substitution {
  const address = /^(?:(\d+)(?:,(\d+|\$))?|(\$)|\/((?:[^/\\]|\\.)*)\/)?\s*(.*)$/s.exec(text);
  const [, from, to, last, pattern, body = ''] = address ?? [];
  let matches: Substitution['address'];
  if (from !== undefined) {
    const end =
      to === undefined ? Number(from) : to === '$' ? Number.POSITIVE_INFINITY : Number(to);
    matches = (_, number) => number >= Number(from) && number <= end;
  } else if (last !== undefined) matches = (_line, _number, isLast) => isLast;
  else if (pattern !== undefined) {
    const expression = new RegularExpression(pattern.replaceAll('\\/', '/'), kind);
    matches = (line) => expression.test(line);
  }
  if (body === 'd' || body === 'p') return { kind: body, address: matches };
  const delimiter = body[1] ?? '';
  if (!body.startsWith('s') || delimiter === '')
    throw new CommandError(`unsupported command ${text}`);
  const parts: string[] = [''];
  for (let i = 2; i < body.length; i++) {
    const char = body[i] as string;
    if (char === '\\' && body[i + 1] !== undefined) {
      parts[parts.length - 1] += body[i + 1] === delimiter ? delimiter : char + body[i + 1];
      i++;
    } else if (char === delimiter) parts.push('');
    else parts[parts.length - 1] += char;
  }
  const [expression = '', replacement = '', options] = parts;
  if (options === undefined || !/^[gip]*$/i.test(options))
    throw new CommandError(`unsupported command ${text}`);
  return {
    kind: 's',
    address: matches,
    expression: new RegularExpression(expression, kind, /i/i.test(options) ? 'i' : ''),
    all: options.includes('g'),
    replacement,
    print: options.includes('p'),
  };
}

function sedReplacement(replacement: string, match: readonly unknown[]): string {
  return replacement.replace(
    /\\(\d)|\\(n|t)|\\(.)|&/gs,
    (whole, group?: string, special?: string, escaped?: string) => {
      if (group !== undefined)
        return typeof match[Number(group)] === 'string' ? (match[Number(group)] as string) : '';
      if (special !== undefined) return special === 'n' ? '\n' : '\t';
      return whole === '&' ? String(match[0]) : (escaped ?? '');
    },
  );
}

const sort: CommandFunction = async (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'nru', 'kt');
  if (values.size > 0) throw new CommandError('-k and -t are not simulated');
  let lines: string[] = [];
  const code = await eachInput(process, operands, async (input) => {
    const text = (await input.readAll(MAX_TEXT)).toString();
    if (text !== '') lines.push(...text.replace(/\n$/, '').split('\n'));
  });
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  lines.sort(
    (a, b) =>
      (flags.has('n') ? (Number.parseFloat(a) || 0) - (Number.parseFloat(b) || 0) : 0) ||
      compare(a, b),
  );
  if (flags.has('r')) lines.reverse();
  if (flags.has('u')) lines = lines.filter((line, index) => line !== lines[index - 1]);
  await print(process, lines.map((line) => `${line}\n`).join(''));
  return code;
};

const uniq: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'cdu');
  return eachInput(process, operands.slice(0, 1), async (input) => {
    let previous: string | undefined;
    let times = 0;
    const flush = async (): Promise<void> => {
      if (previous === undefined || (flags.has('d') && times < 2) || (flags.has('u') && times > 1))
        return;
      await print(
        process,
        flags.has('c') ? `${String(times).padStart(7)} ${previous}\n` : `${previous}\n`,
      );
    };
    for await (const line of linesOf(process, input)) {
      if (line === previous) times++;
      else {
        await flush();
        previous = line;
        times = 1;
      }
    }
    await flush();
  });
};

const cut: CommandFunction = (process) => {
  const { values, operands } = parseOptions(process.args, 's', 'dfc');
  const list = values.get('f') ?? values.get('c');
  if (list === undefined) throw new CommandError('expected a list of bytes, characters, or fields');
  const ranges = list.split(',').map((part) => {
    const match = /^(\d*)(-?)(\d*)$/.exec(part);
    if (match === null) throw new CommandError(`invalid list '${list}'`);
    const from = Number(match[1] || 1);
    return [from, match[2] === '' ? from : Number(match[3] || Number.POSITIVE_INFINITY)] as const;
  });
  const delimiter = values.get('d') ?? '\t';
  return eachInput(process, operands, async (input) => {
    for await (const line of linesOf(process, input)) {
      const parts = values.has('f') ? line.split(delimiter) : [...line];
      const chosen = parts.filter((_, index) =>
        ranges.some(([from, to]) => index + 1 >= from && index + 1 <= to),
      );
      const text =
        values.has('f') && parts.length === 1
          ? line
          : chosen.join(values.has('f') ? delimiter : '');
      await print(process, `${text}\n`);
    }
  });
};

const tr: CommandFunction = async (process) => {
  const { flags, operands } = parseOptions(process.args, 'dsc');
  const [from = '', to = ''] = operands.map(characterSet);
  if (flags.has('c')) throw new CommandError('-c is not simulated');
  const map = new Map(
    [...from].map((char, i) => [
      char,
      flags.has('d') ? '' : (to[Math.min(i, to.length - 1)] ?? char),
    ]),
  );
  let last = '';
  for (
    let chunk = await process.stdin.read();
    chunk !== undefined;
    chunk = await process.stdin.read()
  ) {
    let output = '';
    for (const char of Buffer.from(chunk).toString()) {
      const mapped = map.get(char) ?? char;
      if (flags.has('s') && mapped === last && (to === '' ? from : to).includes(mapped)) continue;
      if (mapped !== '') last = mapped;
      output += mapped;
    }
    await print(process, output);
  }
  return 0;
};

function characterSet(text: string): string {
  const classes: Readonly<Record<string, string>> = {
    upper: 'A-Z',
    lower: 'a-z',
    digit: '0-9',
    alpha: 'a-zA-Z',
    alnum: 'a-zA-Z0-9',
    space: ' \t\n\r',
  };
  const named = unescape(text).text.replace(/\[:(\w+):\]/g, (whole, name: string) =>
    Object.hasOwn(classes, name) ? (classes[name] as string) : whole,
  );
  return named.replace(/(.)-(.)/gs, (_, low: string, high: string) => {
    let range = '';
    for (
      let code = low.charCodeAt(0);
      code <= Math.min(high.charCodeAt(0), low.charCodeAt(0) + 255);
      code++
    )
      range += String.fromCharCode(code);
    return range;
  });
}

const tee: CommandFunction = async (process) => {
  const { flags, operands } = parseOptions(process.args, 'a');
  const { files } = process.kernel.config;
  const outputs: Output[] = [process.stdout];
  for (const path of operands) {
    const full = pathOf(process, path);
    if (!flags.has('a')) files.write(full, Buffer.alloc(0), false);
    outputs.push({ write: (bytes) => Promise.resolve(files.write(full, bytes, true)) });
  }
  for (
    let chunk = await process.stdin.read();
    chunk !== undefined;
    chunk = await process.stdin.read()
  ) {
    for (const output of outputs) await output.write(chunk);
  }
  return 0;
};

const base64: CommandFunction = (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'di', 'w', ['--decode']);
  return eachInput(process, operands, async (input) => {
    const data = await input.readAll(MAX_TEXT);
    if (flags.size > 0) await process.stdout.write(Buffer.from(data.toString(), 'base64'));
    else {
      const width = Number(values.get('w') ?? 76);
      const text = data.toString('base64');
      await print(
        process,
        width === 0
          ? text
          : `${(text.match(new RegExp(`.{1,${Math.min(width, 10_000)}}`, 'g')) ?? []).join('\n')}\n`,
      );
    }
  });
};

function digest(algorithm: string): CommandFunction {
  return (process) => {
    const { operands } = parseOptions(process.args, 'b');
    return eachInput(process, operands, async (input, path) => {
      const hash = createHash(algorithm);
      for (let chunk = await input.read(); chunk !== undefined; chunk = await input.read())
        hash.update(chunk);
      await print(process, `${hash.digest('hex')}  ${path}\n`);
    });
  };
}

const rev: CommandFunction = (process) =>
  eachInput(process, process.args, async (input) => {
    for await (const line of linesOf(process, input))
      await print(process, `${[...line].reverse().join('')}\n`);
  });

const cmp: CommandFunction = async (process) => {
  const [a = '', b = ''] = parseOptions(process.args, 's').operands;
  const [left, right] = [
    await open(process, a).readAll(MAX_TEXT),
    await open(process, b).readAll(MAX_TEXT),
  ];
  if (left.equals(right)) return 0;
  await print(process, `${a} ${b} differ\n`);
  return 1;
};

export const textCommands: Readonly<Record<string, CommandFunction>> = {
  echo,
  printf,
  cat,
  head,
  tail,
  wc,
  grep,
  egrep: grep,
  fgrep: grep,
  sed,
  sort,
  uniq,
  cut,
  tr,
  tee,
  base64,
  rev,
  cmp,
  diff: cmp,
  md5sum: digest('md5'),
  sha1sum: digest('sha1'),
  sha256sum: digest('sha256'),
  sha512sum: digest('sha512'),
};
