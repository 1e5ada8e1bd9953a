// Reads a command line as upstream's components do (pflag), and turns it into one that commander reads:
//
//   --flag=value, --flag value      the same
//   --some_flag                     --some-flag
//   --bool, --bool=false            booleans take no separate value; 1, t, T, true … are true
//   --list a,b --list c             lists and maps are joined: a,b,c
//   -v 4, -v=4, -v4                 shorthands
//
// Flags that upstream has and the command has not are taken out, checked, and warned of or rejected.

import type { Command, Option } from 'commander';
import { UserError } from '#cluster/user-error.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { UpstreamFlag } from './flag.ts';

export interface ReadArguments {
  /** The arguments in commander's form. */
  readonly args: readonly string[];
  /** One line each. */
  readonly warnings: readonly string[];
}

/** Types whose values are joined when the flag is repeated. */
const JOINED: ReadonlySet<string> = new Set([
  'stringSlice',
  'int32Slice',
  'mapStringString',
  'mapStringBool',
  'stringToString',
  'colonSeparatedMultimapStringString',
]);

/** Throws UserError for a flag without its value, a value of the wrong type, and for flags that are rejected. */
export function readArguments(
  given: readonly string[],
  flags: readonly UpstreamFlag[],
  command: Command,
): ReadArguments {
  const args: string[] = [];
  const joined = new Map<string, string[]>();
  const warned = new Map<string, string>();
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  for (let at = 0; at < given.length; at++) {
    const word = given[at] as string;
    if (word === '--') {
      args.push(...given.slice(at));
      break;
    }
    const parsed = parseWord(word);
    const flag = parsed === undefined ? undefined : byName.get(parsed.name);
    if (parsed === undefined || flag === undefined) {
      const taken = passOn(given, at, parsed, command);
      args.push(...taken);
      at += taken.length - 1;
      continue;
    }
    const isSwitch = flag.type === 'bool' || flag.type === 'version';
    let { value } = parsed;
    if (value === undefined && isSwitch) value = 'true';
    if (value === undefined && ++at >= given.length)
      throw new UserError(`flag needs an argument: --${flag.name}`);
    const text = checked(flag, value ?? (given[at] as string));
    if (flag.disposition !== 'implemented') {
      if (flag.accepted.some((accepted) => same(flag.type, accepted, text))) continue;
      const sentence = `--${flag.name}${isSwitch && text === 'true' ? '' : `=${text}`}`;
      if (flag.disposition === 'rejected')
        throw new UserError(`${sentence} is not supported: ${flag.reason}`);
      warned.set(flag.name, `${sentence} is not applied: ${flag.reason}`);
    } else if (flag.type === 'version' && text.startsWith('v')) {
      if (!command.options.some(({ long }) => long === '--reported-version')) {
        throw new UserError(
          `--version=${shortened(text)} is not supported: only the API server reports another version`,
        );
      }
      args.push(`--reported-version=${text}`);
    } else if (flag.name === 'help' || flag.name === 'version') {
      if (text !== 'false') args.push(`--${flag.name}`);
    } else if (JOINED.has(flag.type)) {
      joined.set(flag.name, [...(joined.get(flag.name) ?? []), text]);
    } else args.push(`--${flag.name}=${text}`);
  }
  const lists = [...joined].map(
    ([name, texts]) => `--${name}=${texts.filter((text) => text !== '').join(',')}`,
  );
  return { args: [...lists, ...args], warnings: [...warned.values()] };
}

/** Undefined: no flag. */
function parseWord(word: string): { readonly name: string; readonly value?: string } | undefined {
  const short = /^-([A-Za-z])=?(.*)$/s.exec(word);
  if (short !== null && (short[1] === 'v' || short[1] === 'h')) {
    const name = short[1] === 'h' ? 'help' : 'v';
    return short[2] === '' ? { name } : { name, value: short[2] as string };
  }
  const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (name === undefined) return undefined;
  const dashed = name.replaceAll('_', '-');
  // One of upstream's flags is spelled with underscores.
  const known = dashed === 'concurrent-rc-syncs' ? 'concurrent_rc_syncs' : dashed;
  return value === undefined ? { name: known } : { name: known, value };
}

/** The words of a flag that upstream has not: it is the command's own, or unknown. */
function passOn(
  given: readonly string[],
  at: number,
  parsed: ReturnType<typeof parseWord>,
  command: Command,
): readonly string[] {
  const word = given[at] as string;
  const option: Option | undefined = command.options.find(
    ({ long, short }) => long === `--${parsed?.name}` || short === word,
  );
  if (option === undefined || parsed === undefined) return [word];
  const named =
    parsed.value === undefined ? `--${parsed.name}` : `--${parsed.name}=${parsed.value}`;
  const next = given[at + 1];
  return option.required && parsed.value === undefined && next !== undefined
    ? [named, next]
    : [named];
}

const BOOLEANS: ReadonlyMap<string, string> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, 'true'] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, 'false'] as const),
]);

/** The value in its usual form. Throws UserError if it is of another type. */
function checked({ name, type }: UpstreamFlag, text: string): string {
  const refuse = (expected: string): never => {
    throw new UserError(
      `invalid argument ${JSON.stringify(shortened(text))} for --${name}: it takes ${expected}`,
    );
  };
  switch (type) {
    case 'bool':
      return BOOLEANS.get(text) ?? refuse('true or false');
    case 'int':
    case 'int32':
    case 'int64':
    case 'uint':
    case 'Level':
      if (!/^[-+]?(\d{1,18}|0x[\da-f]{1,15})$/i.test(text)) refuse('a whole number');
      if (type === 'uint' && text.startsWith('-')) refuse('a whole number, 0 or more');
      return text;
    case 'float32':
    case 'float64':
      return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? text : refuse('a number');
    case 'duration':
      return isDuration(text) ? text : refuse('a duration, such as 15s or 1m30s');
    case 'mapStringBool':
      for (const item of items(text))
        if (!BOOLEANS.has(item.split('=')[1] ?? '')) refuse('pairs such as a=true,b=false');
      return text;
    case 'stringToString':
      for (const item of pairs(text) ?? ['']) if (!item.includes('=')) refuse(PAIRS);
      return text;
    default:
      return text;
  }
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch (error) {
    if (error instanceof DurationError) return false;
    throw error;
  }
}

const PAIRS = 'pairs such as a=b,c=d, those with commas in quotes: "a,b=c,d"';

/**
 * Splits the value of a flag of pairs as pflag does: one pair is a whole, several are a record of
 * CSV. Undefined: the quotes are wrong.
 */
function pairs(text: string): readonly string[] | undefined {
  if (text === '') return [];
  if (text.split('=').length <= 2) return [text.replace(/^"+|"+$/g, '')];
  if (!/^(?:[^",]*|"(?:[^"]|"")*")(?:,(?:[^",]*|"(?:[^"]|"")*"))*$/.test(text)) return undefined;
  return Array.from(text.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g), ([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'),
  );
}

const items = (text: string): readonly string[] => text.split(',').filter((item) => item !== '');

function same(type: string, one: string, other: string): boolean {
  if (one === other) return true;
  if (one === '' || other === '') return false;
  if (type === 'duration') return isDuration(one) && parseDuration(one) === parseDuration(other);
  if (/^(u?int|float)/.test(type)) return Number(one) === Number(other);
  return false;
}

const MAX_SHOWN = 80;

/** Long texts, as a line of a message can show them. */
export function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}
