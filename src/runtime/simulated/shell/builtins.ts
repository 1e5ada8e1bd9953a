// The builtins that only read and change the state of the shell. Builtins that run commands, or end
// the shell or a loop, are in shell.ts.

import { COMMANDS } from './commands/index.ts';
import { type FileSystem, resolvePath } from './file-system.ts';
import { type Streams, writeText } from './io.ts';
import { MAX_TEXT, ProgramExit } from './kernel.ts';
import { isName, type ShellState } from './shell-state.ts';

const EXIT_SYNTAX = 2;
const EXIT_NOT_FOUND = 127;

export const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'ash', 'dash']);

/** The builtins that `type` and `command -v` know. */
const NAMES = new Set(
  (
    ': exit return break continue cd pwd export readonly local unset set shift read eval . ' +
    'exec command type wait trap umask ulimit kill'
  ).split(' '),
);

/** The part of a shell that its builtins use. */
export interface BuiltinShell {
  readonly state: ShellState;
  readonly streams: Streams;
  readonly files: FileSystem;
  /** Writes the message to stderr and returns the code. */
  readonly fail: (message: string, code: number) => Promise<number>;
}

/** Resolves with the exit code. `name`: the name by which it was called. */
type Builtin = (shell: BuiltinShell, args: readonly string[], name: string) => Promise<number>;

async function kill(shell: BuiltinShell, args: readonly string[]): Promise<number> {
  const target = args.at(-1);
  if (target !== '1' && target !== '$$')
    return await shell.fail(`kill: (${target ?? ''}) - No such process`, 1);
  const signal = args.length > 1 ? args[0]! : '-TERM';
  const codes: Readonly<Record<string, number>> = {
    '-TERM': 143,
    '-15': 143,
    '-KILL': 137,
    '-9': 137,
    '-INT': 130,
    '-2': 130,
  };
  if (signal === '-0') return 0;
  const code = Object.hasOwn(codes, signal) ? codes[signal] : undefined;
  if (code === undefined) return await shell.fail(`kill: ${signal}: signals are not simulated`, 1);
  throw new ProgramExit(code);
}

async function changeDirectory(shell: BuiltinShell, [first]: readonly string[]): Promise<number> {
  const { state } = shell;
  const path = first ?? state.get('HOME') ?? '/root';
  const target =
    path === '-' ? (state.get('OLDPWD') ?? state.directory) : resolvePath(state.directory, path);
  if (!shell.files.isDirectory(target))
    return await shell.fail(`cd: can't cd to ${path}: No such file or directory`, 1);
  state.set('OLDPWD', state.directory);
  state.directory = target;
  state.set('PWD', target);
  return 0;
}

async function declare(
  shell: BuiltinShell,
  args: readonly string[],
  name: string,
): Promise<number> {
  const { state } = shell;
  for (const arg of args) {
    if (arg === '-p') continue;
    if (arg.startsWith('-') && arg !== '-x' && arg !== '-r' && arg !== '-i') {
      return await shell.fail(`${name}: ${arg}: not supported by the simulated shell`, EXIT_SYNTAX);
    }
    if (arg.startsWith('-')) continue;
    const [variable = '', value] = arg.split(/=(.*)/s);
    if (!isName(variable))
      return await shell.fail(`${name}: ${arg}: bad variable name`, EXIT_SYNTAX);
    if (value !== undefined) state.set(variable, value);
    else if (name === 'local') state.set(variable, '');
    const entry = state.variables.get(variable) ?? { value: '', exported: false, readOnly: false };
    state.variables.set(variable, entry);
    if (name === 'export') entry.exported = true;
    if (name === 'readonly') entry.readOnly = true;
  }
  if (args.length === 0 || (args.length === 1 && args[0] === '-p')) {
    const shown = [...state.variables]
      .filter(([, { exported }]) => exported)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    await writeText(
      shell.streams.stdout,
      shown.map(([key, { value }]) => `${name} ${key}='${value}'\n`).join(''),
    );
  }
  return 0;
}

async function set(shell: BuiltinShell, args: readonly string[]): Promise<number> {
  const { state } = shell;
  if (args.length === 0) {
    const shown = [...state.variables].sort(([a], [b]) => (a < b ? -1 : 1));
    await writeText(
      shell.streams.stdout,
      shown.map(([key, { value }]) => `${key}='${value}'\n`).join(''),
    );
    return 0;
  }
  const rest = [...args];
  while (rest[0] !== undefined && /^[-+]/.test(rest[0])) {
    const option = rest.shift()!;
    if (option === '--') {
      state.positional = rest;
      return 0;
    }
    if (option.slice(1) === '') break;
    state.setOptions(option.replace('o', ''));
    if (option.includes('o')) state.setLong(rest.shift() ?? '', option.startsWith('-'));
  }
  if (rest.length > 0) state.positional = rest;
  return 0;
}

async function read(shell: BuiltinShell, args: readonly string[]): Promise<number> {
  const { state } = shell;
  const names = args.filter((arg) => !arg.startsWith('-'));
  const options = args.filter((arg) => arg.startsWith('-'));
  if (options.some((option) => option !== '-r')) {
    return await shell.fail(
      `read: ${options.join(' ')}: not supported by the simulated shell`,
      EXIT_SYNTAX,
    );
  }
  let line = await shell.streams.stdin.readLine(MAX_TEXT);
  const ended = line?.endsWith('\n') !== true;
  line = line?.replace(/\r?\n$/, '') ?? '';
  if (options.length === 0) line = line.replace(/\\(.)/g, '$1');
  const separators = state.get('IFS') ?? ' \t\n';
  const targets = names.length === 0 ? ['REPLY'] : names;
  const blank = (char: string | undefined): boolean =>
    char !== undefined && separators.includes(char) && ' \t\n'.includes(char);
  let at = 0;
  for (const [index, name] of targets.entries()) {
    while (blank(line[at])) at++;
    let end = at;
    if (index === targets.length - 1) {
      end = line.length;
      while (end > at && blank(line[end - 1])) end--;
      state.set(name, line.slice(at, end));
      break;
    }
    while (end < line.length && !separators.includes(line[end]!)) end++;
    state.set(name, line.slice(at, end));
    at = end;
    while (blank(line[at])) at++;
    if (at < line.length && separators.includes(line[at]!)) at++;
  }
  return ended ? 1 : 0;
}

/**
 * Prints what each name resolves to, in the format of the builtin `how`: command -v, type, which.
 */
export async function describe(
  shell: BuiltinShell,
  names: readonly string[],
  how: string,
): Promise<number> {
  const { state } = shell;
  let code = 0;
  for (const name of names) {
    const known = state.functions.has(name) || NAMES.has(name);
    const installed = Object.hasOwn(COMMANDS, name) || SHELLS.has(name);
    if (known && how !== 'which')
      await writeText(
        shell.streams.stdout,
        how === 'type' ? `${name} is a shell builtin\n` : `${name}\n`,
      );
    else if (installed)
      await writeText(
        shell.streams.stdout,
        how === 'type' ? `${name} is /bin/${name}\n` : `/bin/${name}\n`,
      );
    else {
      if (how === 'type') await shell.fail(`${name}: not found`, 1);
      code = how === 'type' ? EXIT_NOT_FOUND : 1;
    }
  }
  return code;
}

async function pwd({ state, streams }: BuiltinShell): Promise<number> {
  await writeText(streams.stdout, `${state.directory}\n`);
  return 0;
}

async function unset({ state }: BuiltinShell, args: readonly string[]): Promise<number> {
  for (const name of args.filter((arg) => !arg.startsWith('-'))) {
    state.variables.delete(name);
    state.functions.delete(name);
  }
  return 0;
}

async function shift({ state, fail }: BuiltinShell, [first]: readonly string[]): Promise<number> {
  const count = Number(first ?? 1);
  if (count > state.positional.length) return await fail("shift: can't shift that many", 1);
  state.positional = state.positional.slice(count);
  return 0;
}

const succeed = (): Promise<number> => Promise.resolve(0);

export const BUILTINS: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  [':', succeed],
  ['cd', changeDirectory],
  ['pwd', pwd],
  ['export', declare],
  ['readonly', declare],
  ['local', declare],
  ['declare', declare],
  ['typeset', declare],
  ['unset', unset],
  ['set', set],
  ['shift', shift],
  ['read', read],
  ['type', describe],
  ['which', describe],
  ['umask', succeed],
  ['ulimit', succeed],
  ['kill', kill],
]);
