// sed: substitution, deletion and printing, with addresses.

import type { Input } from '../io.ts';
import { MAX_TEXT } from '../kernel.ts';
import { CommandError, type CommandFunction, parseOptions, pathOf, print } from '../process.ts';
import { RegularExpression } from '../regular-expression.ts';
import { eachInput } from './inputs.ts';

interface Substitution {
  readonly kind: 's' | 'd' | 'p';
  readonly address: ((line: string, number: number, last: boolean) => boolean) | undefined;
  readonly expression?: RegularExpression;
  readonly all?: boolean;
  readonly replacement?: string;
  readonly print?: boolean;
}

export const sed: CommandFunction = async (process) => {
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
