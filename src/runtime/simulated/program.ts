// What a simulated process does, step by step. A program is a generator: it yields what takes time or makes output, and
// returns how it ends. Whoever runs it (container.ts for a container's first process and for exec) supplies time and streams.

import type { LogStream } from '../../cri/index.ts';
import { NotUnderstood, parse } from './shell.ts';
import type { Command, List, SimpleCommand, Word } from './shell.ts';
import { ownValue } from '../../machinery/string-map.ts';

export type Step =
  | { readonly kind: 'sleep'; readonly ms: number }
  | { readonly kind: 'write'; readonly stream: LogStream; readonly text: string }
  /** Copies standard input to standard output, to its end. */
  | { readonly kind: 'copy-stdin' };

/** An exit code, or that the process runs until somebody stops it. */
export type Outcome = number | 'forever';

export type Program = Generator<Step, Outcome, void>;

export interface ProgramContext {
  readonly hostname: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** The outcome of a command that is not known: a container's process serves for ever, one in an exec just succeeds. */
  readonly unknown: Outcome;
}

/** Leaves the whole script, from however deep. */
class Exit extends Error {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super('exit');
    this.outcome = outcome;
  }
}

const shells = new Set(['sh', 'bash', 'ash', 'dash']);
/** Commands that make no output, take no time and succeed, as far as a test pod is concerned. */
const silent = new Set(
  ': true cd chmod chown cp export ln mkdir mv rm rmdir set sync test touch trap ulimit umask unset wait ['.split(' '),
);
/** So many steps without any sleep are a busy loop: it runs for ever, but here it must not. */
const MAX_STEPS = 10_000;
const sleepUnits: Readonly<Record<string, number>> = { '': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How the command would run. An empty command is an image's own entry point: unknown. */
export function* program(command: readonly string[], context: ProgramContext): Program {
  try {
    const status = yield* bounded(run(command, { ...context, variables: { ...context.env } }));
    return status;
  } catch (err) {
    if (err instanceof Exit) return err.outcome;
    if (err instanceof NotUnderstood) return context.unknown;
    throw err;
  }
}

interface Scope extends ProgramContext {
  readonly variables: Record<string, string>;
}

/** A running piece of program: yields undefined once per turn of a loop, so that `bounded` can count. */
type Running = Generator<Step | undefined, number, void>;

function* bounded(steps: Running): Program {
  let count = 0;
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
    if (next.value?.kind === 'sleep' && next.value.ms > 0) count = 0;
    else if (++count > MAX_STEPS) return 'forever';
    if (next.value !== undefined) yield next.value;
  }
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function* run(command: readonly string[], scope: Scope, stdout: LogStream | 'discard' = 'stdout'): Running {
  const [path, ...args] = command;
  if (path === undefined) throw new Exit(scope.unknown);
  const name = basename(path);
  const write = function* (text: string): Running {
    if (stdout !== 'discard') yield { kind: 'write', stream: stdout, text };
    return 0;
  };
  if (shells.has(name)) return yield* shell(args, scope);
  if (silent.has(name)) return 0;
  switch (name) {
    case 'busybox':
      return yield* run(args, scope, stdout);
    case 'exec':
      throw new Exit(yield* run(args, scope, stdout));
    case 'exit':
      throw new Exit(args[0] === undefined ? Number(scope.variables['?'] ?? 0) : Number.parseInt(args[0], 10) & 255);
    case 'false':
      return 1;
    case 'sleep':
      yield { kind: 'sleep', ms: sleepMs(args) };
      return 0;
    case 'echo':
      return yield* write(args[0] === '-n' ? args.slice(1).join(' ') : `${args.join(' ')}\n`);
    case 'printf':
      if (args[0] === undefined || args.length > 1 || args[0].includes('%')) throw new NotUnderstood('printf');
      return yield* write(args[0].replaceAll('\\n', '\n').replaceAll('\\t', '\t'));
    case 'cat':
      if (args.length === 0 || args[0] === '-') yield { kind: 'copy-stdin' };
      return 0;
    case 'env':
    case 'printenv':
      return yield* printEnv(name, args, scope, write);
    case 'hostname':
      return yield* write(`${scope.hostname}\n`);
    case 'pwd':
      return yield* write(`${scope.workingDir}\n`);
    default:
      throw new Exit(scope.unknown);
  }
}

function* printEnv(name: string, args: readonly string[], scope: Scope, write: (text: string) => Running): Running {
  const [wanted] = args;
  if (wanted === undefined) {
    return yield* write(
      Object.entries(scope.env)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
    );
  }
  if (name === 'env') throw new NotUnderstood('env with a command');
  const value = ownValue(scope.env, wanted);
  return value === undefined ? 1 : yield* write(`${value}\n`);
}

function sleepMs(args: readonly string[]): number {
  let total = 0;
  for (const arg of args) {
    if (arg === 'infinity' || arg === 'inf') throw new Exit('forever');
    const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(arg);
    if (!match) throw new Exit(1);
    total += Number(match[1]) * sleepUnits[match[2]!]!;
  }
  return total;
}

function* shell(args: readonly string[], scope: Scope): Running {
  const rest = [...args];
  while (rest[0]?.startsWith('-') || rest[0]?.startsWith('+')) {
    const option = rest.shift()!;
    if (!option.includes('c')) continue;
    const script = rest.shift();
    if (script === undefined) return 2;
    rest.shift();
    rest.forEach((argument, i) => (scope.variables[String(i + 1)] = argument));
    return yield* runList(parse(script), scope);
  }
  if (rest.length > 0) throw new Exit(scope.unknown);
  // A shell without a script reads its input; without one it ends at once, as `sh` does in a pod without stdin.
  return 0;
}

function* runList(list: List, scope: Scope): Running {
  let status = 0;
  for (const { when, command } of list) {
    if ((when === 'success' && status !== 0) || (when === 'failure' && status === 0)) continue;
    status = yield* runCommand(command, scope);
    scope.variables['?'] = String(status);
  }
  return status;
}

function* runCommand(command: Command, scope: Scope): Running {
  switch (command.kind) {
    case 'simple':
      return yield* runSimple(command, scope);
    case 'loop':
      for (;;) {
        const status = yield* runList(command.condition, scope);
        if ((status === 0) === command.until) return 0;
        yield* runList(command.body, scope);
        yield undefined;
      }
    case 'for':
      for (const item of command.items) {
        for (const value of expandFields(item, scope)) {
          scope.variables[command.variable] = value;
          yield* runList(command.body, scope);
        }
      }
      return 0;
    case 'if':
      for (const { condition, body } of command.branches) {
        if ((yield* runList(condition, scope)) === 0) return yield* runList(body, scope);
      }
      return yield* runList(command.otherwise, scope);
  }
}

function* runSimple(command: SimpleCommand, scope: Scope): Running {
  let words = command.words.flatMap((word) => expandFields(word, scope));
  while (words[0] !== undefined && /^\w+=/.test(words[0])) {
    const [assignment, ...rest] = words;
    const at = assignment.indexOf('=');
    scope.variables[assignment.slice(0, at)] = assignment.slice(at + 1);
    words = rest;
  }
  return words.length === 0 ? 0 : yield* run(words, scope, command.stdout);
}

/** The word with its variables filled in; a word that is nothing but one unquoted variable is split at blanks. */
function expandFields(word: Word, scope: Scope): string[] {
  const text = word.map((piece) => ('text' in piece ? piece.text : (scope.variables[piece.variable] ?? ''))).join('');
  const bareVariable = word.length === 1 && 'variable' in word[0]!;
  return bareVariable ? text.split(/\s+/).filter((field) => field !== '') : [text];
}
