// Commands for text.

import { createHash } from 'node:crypto';
import type { Output } from '../io.ts';
import { MAX_TEXT } from '../kernel.ts';
import {
  CommandError,
  type CommandFunction,
  parseOptions,
  pathOf,
  print,
  type Process,
} from '../process.ts';
import { echo, printf, unescape } from './echo.ts';
import { grep } from './grep.ts';
import { eachInput, linesOf, open } from './inputs.ts';
import { sed } from './sed.ts';

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
