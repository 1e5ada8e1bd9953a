// Runs parsed scripts, and the commands in them. Each process of a pipeline is a promise; pipes of
// bounded size connect them.

import type { AndOr, Command, List, Pipeline, Redirect, SimpleCommand } from './ast.ts';
import { BUILTINS, type BuiltinShell, describe, SHELLS } from './builtins.ts';
import { exitCode, LoopSignal, ReturnSignal, ShellExit } from './ends.ts';
import {
  type ExpansionContext,
  ExpansionError,
  expandPattern,
  expandText,
  expandWords,
} from './expand.ts';
import { resolvePath } from './file-system.ts';
import { BrokenPipe, Input, type Output, Pipe, type Streams, writeText } from './io.ts';
import { type Kernel, MAX_CALL_DEPTH, MAX_TEXT, RunsForever } from './kernel.ts';
import { ShellSyntaxError } from './lexer.ts';
import { parse } from './parser.ts';
import type { Process, RunChanges } from './process.ts';
import { EXIT_SIGPIPE, programAt, runProgram, scriptAt } from './programs.ts';
import { redirect } from './redirects.ts';
import { ShellState } from './shell-state.ts';

export interface ShellConfig extends Streams {
  readonly kernel: Kernel;
  readonly env: ReadonlyMap<string, string>;
  readonly directory: string;
}

const EXIT_SYNTAX = 2;
const EXIT_NOT_FOUND = 127;

export class Shell implements ExpansionContext {
  readonly #kernel: Kernel;
  #streams: Streams;
  readonly #state: ShellState;
  /**
   * The number of surrounding conditions of if, while, && and ||: a failure in one does not end a
   * shell with `set -e`.
   */
  #conditions = 0;
  #depth = 0;
  #exitTrap: string | undefined;

  constructor(config: ShellConfig | Shell) {
    if (config instanceof Shell) {
      this.#kernel = config.#kernel;
      this.#streams = config.#streams;
      this.#state = config.#state.copy();
      this.#conditions = config.#conditions;
      this.#depth = config.#depth + 1;
      return;
    }
    this.#kernel = config.kernel;
    this.#streams = config;
    this.#state = new ShellState(config.kernel.config.random, config.directory);
    for (const [name, value] of config.env)
      this.#state.variables.set(name, { value, exported: true, readOnly: false });
    this.set('PWD', config.directory);
  }

  get files(): ExpansionContext['files'] {
    return this.#kernel.config.files;
  }

  get directory(): string {
    return this.#state.directory;
  }

  get positional(): readonly string[] {
    return this.#state.positional;
  }

  get noGlob(): boolean {
    return this.#state.options.has('f');
  }

  get noUnset(): boolean {
    return this.#state.options.has('u');
  }

  get(name: string): string | undefined {
    return this.#state.get(name);
  }

  set(name: string, value: string): void {
    this.#state.set(name, value);
  }

  async substitute(list: List): Promise<string> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const stdout: Output = {
      write: (bytes) => {
        length += bytes.length;
        if (length > MAX_TEXT) return Promise.reject(new ExpansionError('out of memory'));
        chunks.push(Buffer.from(bytes));
        return Promise.resolve();
      },
    };
    this.#state.status = await this.#subshell({ ...this.#streams, stdout }, (shell) =>
      shell.#list(list),
    );
    return Buffer.concat(chunks).toString();
  }

  /**
   * Runs a command without a script: the first process of a container, or an exec. Resolves with
   * its exit code.
   */
  async command(words: readonly string[]): Promise<number> {
    return await this.#toExit(() => this.#invoke(words, this.#streams, true));
  }

  /** Runs `work`. Returns an exit code for each way in which a script can end. */
  async #toExit(work: () => Promise<number>): Promise<number> {
    let code: number;
    try {
      code = await work();
    } catch (error) {
      if (error instanceof ShellExit || error instanceof ReturnSignal) code = error.code;
      else if (error instanceof LoopSignal) code = 0;
      else if (error instanceof BrokenPipe) return EXIT_SIGPIPE;
      else if (error instanceof ExpansionError) code = await this.#fail(error.message, EXIT_SYNTAX);
      else throw error;
    }
    const trap = this.#exitTrap;
    this.#exitTrap = undefined;
    if (trap === undefined) return code;
    this.#state.status = code;
    const after = await this.#toExit(() => this.#script(trap));
    return after === 0 ? code : after;
  }

  async #fail(message: string, code: number): Promise<number> {
    await writeText(this.#streams.stderr, `${this.#state.name}: ${message}\n`);
    return code;
  }

  /** Parses and runs a script. */
  async #script(text: string): Promise<number> {
    let list: List;
    try {
      list = parse(text);
    } catch (error) {
      if (error instanceof ShellSyntaxError) return await this.#syntaxError(error);
      throw error;
    }
    return await this.#list(list);
  }

  async #syntaxError(err: ShellSyntaxError): Promise<number> {
    await this.#fail(
      err.unsupported ? `${err.message} by the simulated shell` : err.message,
      EXIT_SYNTAX,
    );
    if (err.unsupported) this.#kernel.unknown();
    throw new ShellExit(EXIT_SYNTAX);
  }

  /** Runs a shell without a script: reads commands from its input, line by line. */
  async #interactive(): Promise<number> {
    let text = '';
    for (;;) {
      const line = await this.#streams.stdin.readLine(MAX_TEXT);
      if (line === undefined) break;
      text += line;
      // The whole command is parsed again with each of its lines.
      await this.#kernel.step(1 + Math.floor(text.length / 500));
      let list: List;
      try {
        list = parse(text);
      } catch (error) {
        if (!(error instanceof ShellSyntaxError)) throw error;
        if (error.incomplete) continue;
        await this.#fail(error.message, EXIT_SYNTAX);
        this.#state.status = EXIT_SYNTAX;
        text = '';
        continue;
      }
      text = '';
      this.#state.status = await this.#list(list);
    }
    if (text !== '') return await this.#script(text);
    return this.#state.status;
  }

  async #list(list: List): Promise<number> {
    for (const item of list) {
      if (item.background) {
        this.#state.jobs.push(this.#background(item));
        this.#state.status = 0;
      } else await this.#andOr(item);
    }
    return this.#state.status;
  }

  #background(item: AndOr): Promise<number> {
    const streams = { ...this.#streams, stdin: Input.empty() };
    const job = this.#subshell(streams, (shell) => shell.#andOr(item)).catch((error: unknown) => {
      // Only `wait` waits for a job that never ends.
      if (error instanceof RunsForever)
        return this.#kernel.blocked(new Promise<number>(() => undefined));
      throw error;
    });
    // The failure is reported by `wait`.
    job.catch(() => undefined);
    return job;
  }

  async #andOr({ first, rest }: AndOr): Promise<number> {
    const guarded = rest.length > 0;
    let failedLast = !guarded;
    this.#state.status = guarded
      ? await this.#asCondition(() => this.#pipeline(first))
      : await this.#pipeline(first);
    for (const [index, { operator, pipeline }] of rest.entries()) {
      if ((operator === '&&') !== (this.#state.status === 0)) continue;
      const last = index === rest.length - 1;
      this.#state.status = last
        ? await this.#pipeline(pipeline)
        : await this.#asCondition(() => this.#pipeline(pipeline));
      failedLast = last;
    }
    if (
      this.#state.status !== 0 &&
      failedLast &&
      this.#state.options.has('e') &&
      this.#conditions === 0
    ) {
      const negated = (rest.at(-1)?.pipeline ?? first).negated;
      if (!negated) throw new ShellExit(this.#state.status);
    }
    return this.#state.status;
  }

  async #asCondition(work: () => Promise<number>): Promise<number> {
    this.#conditions++;
    try {
      return await work();
    } finally {
      this.#conditions--;
    }
  }

  async #pipeline({ negated, commands }: Pipeline): Promise<number> {
    const [only] = commands;
    const run = (): Promise<number> =>
      commands.length === 1 && only !== undefined ? this.#command(only) : this.#pipe(commands);
    const code = negated ? await this.#asCondition(run) : await run();
    return negated ? (code === 0 ? 1 : 0) : code;
  }

  async #pipe(commands: readonly Command[]): Promise<number> {
    let { stdin } = this.#streams;
    let previous: Pipe | undefined;
    const running: Promise<number>[] = [];
    for (const [index, command] of commands.entries()) {
      const source = previous;
      const target = index < commands.length - 1 ? new Pipe(this.#kernel) : undefined;
      const streams = { ...this.#streams, stdin, stdout: target ?? this.#streams.stdout };
      running.push(
        this.#subshell(streams, (shell) => shell.#command(command)).finally(() => {
          target?.closeWriter();
          source?.closeReader();
        }),
      );
      previous = target;
      stdin = target?.input ?? stdin;
    }
    const codes = await Promise.all(running);
    const last = codes.at(-1) ?? 0;
    return this.#state.options.has('pipefail') && last === 0
      ? (codes.findLast((code) => code !== 0) ?? 0)
      : last;
  }

  /** Runs `work` in a copy of this shell. */
  async #subshell(streams: Streams, work: (shell: Shell) => Promise<number>): Promise<number> {
    const shell = new Shell(this);
    if (shell.#depth > MAX_CALL_DEPTH) throw new ExpansionError('too many nested subshells');
    shell.#streams = streams;
    return await shell.#toExit(() => work(shell));
  }

  async #command(command: Command): Promise<number> {
    await this.#kernel.step();
    if (command.kind === 'simple') return await this.#simple(command);
    if (command.redirects.length === 0) return await this.#compound(command);
    const before = this.#streams;
    const streams = await this.#redirect(command.redirects);
    if (streams === undefined) return 1;
    this.#streams = streams;
    try {
      return await this.#compound(command);
    } finally {
      this.#streams = before;
    }
  }

  async #compound(command: Exclude<Command, SimpleCommand>): Promise<number> {
    switch (command.kind) {
      case 'group':
        if (!command.subshell) return await this.#list(command.body);
        return await this.#subshell(this.#streams, (shell) => shell.#list(command.body));
      case 'function':
        this.#state.functions.set(command.name, command.body);
        return 0;
      case 'if':
        for (const { condition, body } of command.branches) {
          if ((await this.#asCondition(() => this.#list(condition))) === 0)
            return await this.#body(body);
        }
        return await this.#body(command.otherwise);
      case 'case': {
        const subject = await expandText(command.subject, this);
        for (const { patterns, body } of command.branches) {
          for (const pattern of patterns) {
            if ((await expandPattern(pattern, this)).matches(subject))
              return await this.#body(body);
          }
        }
        return 0;
      }
      case 'for': {
        const items =
          command.items === undefined
            ? this.#state.positional
            : await expandWords(command.items, this);
        let code = 0;
        for (const item of items) {
          await this.#kernel.step();
          this.set(command.variable, item);
          const turn = await this.#loopBody(command.body);
          code = turn.code;
          if (turn.ended) break;
        }
        return code;
      }
      case 'loop': {
        let code = 0;
        for (;;) {
          await this.#kernel.step();
          const condition = await this.#loopBody(command.condition, true);
          if (condition.ended || (condition.code === 0) === command.until) return code;
          const turn = await this.#loopBody(command.body);
          code = turn.code;
          if (turn.ended) return code;
        }
      }
    }
  }

  /** Runs a body. An empty one succeeds. */
  async #body(list: List): Promise<number> {
    return list.length === 0 ? 0 : await this.#list(list);
  }

  /** Runs the body of a loop. `ended`: a `break` ends the loop. */
  async #loopBody(
    list: List,
    condition = false,
  ): Promise<{ readonly code: number; readonly ended: boolean }> {
    try {
      const run = (): Promise<number> => this.#body(list);
      return { code: condition ? await this.#asCondition(run) : await run(), ended: false };
    } catch (error) {
      if (!(error instanceof LoopSignal)) throw error;
      if (error.levels > 1) {
        error.levels--;
        throw error;
      }
      return { code: 0, ended: error.kind === 'break' };
    }
  }

  async #simple({ assignments, words, redirects }: SimpleCommand): Promise<number> {
    const args = await expandWords(words, this);
    const streams = redirects.length === 0 ? this.#streams : await this.#redirect(redirects);
    if (streams === undefined) return 1;
    const values: [string, string][] = [];
    for (const { name, value } of assignments) values.push([name, await expandText(value, this)]);
    if (args.length === 0) {
      const before = this.#state.status;
      for (const [name, value] of values) this.set(name, value);
      // An assignment has the status of its command substitution.
      const substitutes = [...assignments.map(({ value }) => value), ...words].some((word) =>
        word.some(({ kind }) => kind === 'command'),
      );
      return substitutes ? before : 0;
    }
    if (this.#state.options.has('x'))
      await writeText(this.#streams.stderr, `+ ${args.join(' ')}\n`);
    if (values.length === 0) return await this.#invoke(args, streams, false);
    const saved = values.map(([name]) => [name, this.#state.variables.get(name)] as const);
    for (const [name, value] of values)
      this.#state.variables.set(name, { value, exported: true, readOnly: false });
    try {
      return await this.#invoke(args, streams, false);
    } finally {
      for (const [name, variable] of saved) {
        if (variable === undefined) this.#state.variables.delete(name);
        else this.#state.variables.set(name, variable);
      }
    }
  }

  #redirect(redirects: readonly Redirect[]): Promise<Streams | undefined> {
    return redirect(redirects, this.#streams, this, (message, code) => this.#fail(message, code));
  }

  /** Runs a command. `direct`: not from a script, so that keywords of the shell are no commands. */
  async #invoke(words: readonly string[], streams: Streams, direct: boolean): Promise<number> {
    const [name = '', ...args] = words;
    const before = this.#streams;
    if (!direct) {
      const body = this.#state.functions.get(name);
      if (body !== undefined) return await this.#call(body, args, streams);
      this.#streams = streams;
      try {
        const code = await this.#builtin(name, args);
        if (code !== undefined) return code;
      } finally {
        // `exec` with redirections only changes the streams of the shell permanently.
        this.#streams = name === 'exec' && args.length === 0 ? streams : before;
      }
    }
    return await this.#external(name, args, streams, direct);
  }

  async #call(body: Command, args: readonly string[], streams: Streams): Promise<number> {
    if (++this.#depth > MAX_CALL_DEPTH)
      throw new ExpansionError('function calls are nested too deeply');
    const [positional, before] = [this.#state.positional, this.#streams];
    this.#state.positional = args;
    this.#streams = streams;
    try {
      return await this.#command(body);
    } catch (error) {
      if (error instanceof ReturnSignal) return error.code;
      throw error;
    } finally {
      this.#depth--;
      this.#state.positional = positional;
      this.#streams = before;
    }
  }

  async #external(
    path: string,
    args: readonly string[],
    streams: Streams,
    direct: boolean,
  ): Promise<number> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (name === 'busybox' && args.length > 0)
      return await this.#external(args[0]!, args.slice(1), streams, direct);
    if (SHELLS.has(name))
      return await this.#subshell({ ...streams }, (shell) => shell.#newShell(args));
    const command = programAt(path, this.directory);
    if (command === undefined) {
      const script = scriptAt(path, this.directory, this.files);
      if (script !== undefined)
        return await this.#subshell(streams, (shell) => shell.#runFile(path, script, args));
      this.#kernel.unknown();
      const message = direct
        ? `exec: "${path}": executable file not found in $PATH`
        : `${this.#state.name}: ${path}: not found`;
      await writeText(streams.stderr, `${message}\n`);
      return EXIT_NOT_FOUND;
    }
    return await runProgram(command, this.#process(name, args, streams));
  }

  #runFile(path: string, text: string, args: readonly string[]): Promise<number> {
    this.#state.name = path;
    this.#state.positional = args;
    this.#state.functions.clear();
    return this.#script(text);
  }

  /** Runs `sh …`: a new shell. Called on the copy. */
  async #newShell(args: readonly string[]): Promise<number> {
    for (const [name, variable] of this.#state.variables)
      if (!variable.exported) this.#state.variables.delete(name);
    this.#state.functions.clear();
    this.#state.options.clear();
    this.#conditions = 0;
    this.#state.name = 'sh';
    const rest = [...args];
    let script: string | undefined;
    while (rest[0] !== undefined && /^[-+]./.test(rest[0])) {
      const option = rest.shift()!;
      if (option === '--') break;
      if (option.startsWith('--')) continue;
      if (option.includes('c')) {
        script = '';
        this.#state.setOptions(option.replace('c', ''));
      } else if (option === '-o' || option === '+o')
        this.#state.setLong(rest.shift() ?? '', option === '-o');
      else this.#state.setOptions(option);
    }
    if (script !== undefined) {
      script = rest.shift();
      if (script === undefined) return await this.#fail('-c requires an argument', EXIT_SYNTAX);
      this.#state.name = rest.shift() ?? 'sh';
      this.#state.positional = rest;
      return await this.#script(script);
    }
    const [file, ...more] = rest;
    if (file === undefined || this.#state.options.has('s')) return await this.#interactive();
    const path = resolvePath(this.#state.directory, file);
    if (this.files.find(path) === undefined) {
      this.#kernel.unknown();
      return await this.#fail(`can't open '${file}': No such file or directory`, EXIT_SYNTAX);
    }
    return await this.#runFile(file, this.files.read(path).toString(), more);
  }

  #process(name: string, args: readonly string[], streams: Streams): Process {
    const env = new Map(
      [...this.#state.variables]
        .filter(([, { exported }]) => exported)
        .map(([key, { value }]) => [key, value]),
    );
    return {
      kernel: this.#kernel,
      name,
      args,
      ...streams,
      stdin: streams.stdin,
      directory: this.#state.directory,
      env,
      run: (command, changes) =>
        this.#subshell(streams, (shell) => shell.#runChanged(command, changes ?? {})),
    };
  }

  #runChanged(command: readonly string[], { env, stdin }: RunChanges): Promise<number> {
    if (env !== undefined) {
      for (const [name, variable] of this.#state.variables)
        if (variable.exported) this.#state.variables.delete(name);
      for (const [name, value] of env)
        this.#state.variables.set(name, { value, exported: true, readOnly: false });
    }
    if (stdin !== undefined) this.#streams = { ...this.#streams, stdin };
    return this.#invoke(command, this.#streams, true);
  }

  /** Runs a builtin. Resolves with undefined for any other command. */
  async #builtin(name: string, args: readonly string[]): Promise<number | undefined> {
    const [first] = args;
    switch (name) {
      case 'exit':
        throw new ShellExit(exitCode(first, this.#state.status));
      case 'return':
        throw new ReturnSignal(exitCode(first, this.#state.status));
      case 'break':
      case 'continue':
        throw new LoopSignal(name, Math.max(1, Number(first ?? 1) || 1));
      case 'eval':
        return await this.#script(args.join(' '));
      case '.':
      case 'source': {
        if (first === undefined)
          return await this.#fail(`${name}: filename argument required`, EXIT_SYNTAX);
        return await this.#script(
          this.files.read(resolvePath(this.#state.directory, first)).toString(),
        );
      }
      case 'exec':
        if (args.length === 0) return 0;
        throw new ShellExit(await this.#external(args[0]!, args.slice(1), this.#streams, true));
      case 'command':
      case 'builtin':
        return await this.#commandBuiltin(args);
      case 'wait': {
        const codes = await Promise.all(this.#state.jobs.splice(0));
        return args.length === 0 ? 0 : (codes.at(-1) ?? 0);
      }
      case 'trap':
        return this.#trap(args);
      default: {
        const builtin = BUILTINS.get(name);
        return builtin === undefined ? undefined : await builtin(this.#builtinShell(), args, name);
      }
    }
  }

  #builtinShell(): BuiltinShell {
    return {
      state: this.#state,
      streams: this.#streams,
      files: this.files,
      fail: (message, code) => this.#fail(message, code),
    };
  }

  #trap(args: readonly string[]): number {
    const [action, ...signals] = args;
    // Signals do not reach simulated processes: only the trap for EXIT can ever run.
    if (signals.includes('EXIT') || signals.includes('0'))
      this.#exitTrap = action === '-' || action === '' ? undefined : action;
    return 0;
  }

  async #commandBuiltin(args: readonly string[]): Promise<number> {
    if (args[0] === '-v' || args[0] === '-V')
      return await describe(this.#builtinShell(), args.slice(1), 'command');
    if (args.length === 0) return 0;
    const code = await this.#builtin(args[0]!, args.slice(1));
    return code ?? (await this.#external(args[0]!, args.slice(1), this.#streams, false));
  }
}
