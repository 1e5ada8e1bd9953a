// Runs parsed scripts. Each process of a pipeline is a promise; they meet at pipes of bounded size.

import type { AndOr, Command, List, Pipeline, Redirect, SimpleCommand } from './ast.ts';
import { COMMANDS } from './commands/index.ts';
import { type ExpansionContext, ExpansionError, expandPattern, expandText, expandWords } from './expand.ts';
import { FileError, resolvePath } from './file-system.ts';
import { BrokenPipe, discard, Input, type Output, Pipe, writeText } from './io.ts';
import { type Kernel, MAX_CALL_DEPTH, MAX_TEXT, ProgramExit, RunsForever } from './kernel.ts';
import { ShellSyntaxError } from './lexer.ts';
import { parse } from './parser.ts';
import { CommandError, type Process, type RunChanges } from './process.ts';

/** The end of this shell: `exit`, `set -e`, an error of expansion. */
class ShellExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

class ReturnSignal extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`return ${code}`);
    this.code = code;
  }
}

class LoopSignal extends Error {
  readonly kind: 'break' | 'continue';
  levels: number;

  constructor(kind: 'break' | 'continue', levels: number) {
    super(kind);
    this.kind = kind;
    this.levels = levels;
  }
}

export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

export interface ShellConfig extends Streams {
  readonly kernel: Kernel;
  readonly env: ReadonlyMap<string, string>;
  readonly directory: string;
}

interface Variable {
  value: string;
  exported: boolean;
  readOnly: boolean;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const SHELLS = new Set(['sh', 'bash', 'ash', 'dash']);
const FAILURE_COST = 200;
const EXIT_SYNTAX = 2;
const EXIT_NOT_FOUND = 127;
const EXIT_SIGPIPE = 141;

export class Shell implements ExpansionContext {
  readonly #kernel: Kernel;
  #streams: Streams;
  readonly #variables: Map<string, Variable>;
  readonly #functions: Map<string, Command>;
  readonly #options: Set<string>;
  readonly #jobs: Promise<number>[] = [];
  #positional: readonly string[] = [];
  #name = 'sh';
  #directory: string;
  #status = 0;
  /** Conditions of if, while, && and ||: a failure there does not end a shell with `set -e`. */
  #conditions = 0;
  #depth = 0;
  #exitTrap: string | undefined;

  constructor(config: ShellConfig | Shell) {
    if (config instanceof Shell) {
      this.#kernel = config.#kernel;
      this.#streams = config.#streams;
      this.#variables = new Map([...config.#variables].map(([name, variable]) => [name, { ...variable }]));
      this.#functions = new Map(config.#functions);
      this.#options = new Set(config.#options);
      this.#positional = config.#positional;
      this.#name = config.#name;
      this.#directory = config.#directory;
      this.#status = config.#status;
      this.#conditions = config.#conditions;
      this.#depth = config.#depth + 1;
      return;
    }
    this.#kernel = config.kernel;
    this.#streams = config;
    this.#variables = new Map();
    this.#functions = new Map();
    this.#options = new Set();
    this.#directory = config.directory;
    for (const [name, value] of config.env) this.#variables.set(name, { value, exported: true, readOnly: false });
    this.set('PWD', config.directory);
  }

  get files(): ExpansionContext['files'] {
    return this.#kernel.config.files;
  }

  get directory(): string {
    return this.#directory;
  }

  get positional(): readonly string[] {
    return this.#positional;
  }

  get noGlob(): boolean {
    return this.#options.has('f');
  }

  get noUnset(): boolean {
    return this.#options.has('u');
  }

  get(name: string): string | undefined {
    switch (name) {
      case '?':
        return String(this.#status);
      case '#':
        return String(this.#positional.length);
      case '$':
        return '1';
      case '!':
        return this.#jobs.length === 0 ? '' : String(this.#jobs.length + 1);
      case '-':
        return [...this.#options].join('');
      case '0':
        return this.#name;
      case '@':
      case '*':
        return this.#positional.join(' ');
      case 'RANDOM':
        return String(Math.floor(this.#kernel.config.random.float() * 32_768));
      default:
        return /^\d+$/.test(name) ? this.#positional[Number(name) - 1] : this.#variables.get(name)?.value;
    }
  }

  set(name: string, value: string): void {
    if (!NAME.test(name)) throw new ExpansionError(`${name}: bad variable name`);
    if (value.length > MAX_TEXT) throw new ExpansionError('out of memory');
    const present = this.#variables.get(name);
    if (present?.readOnly === true) throw new ExpansionError(`${name}: is read only`);
    if (present === undefined) this.#variables.set(name, { value, exported: this.#options.has('a'), readOnly: false });
    else present.value = value;
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
    this.#status = await this.#subshell({ ...this.#streams, stdout }, (shell) => shell.#list(list));
    return Buffer.concat(chunks).toString();
  }

  /** Runs a command without a script: the first process of a container, or an exec. Resolves with its exit code. */
  async command(words: readonly string[]): Promise<number> {
    return await this.#toExit(() => this.#invoke(words, this.#streams, true));
  }

  /** Turns the ways in which a script ends into an exit code. */
  async #toExit(work: () => Promise<number>): Promise<number> {
    let code: number;
    try {
      code = await work();
    } catch (err) {
      if (err instanceof ShellExit || err instanceof ReturnSignal) code = err.code;
      else if (err instanceof LoopSignal) code = 0;
      else if (err instanceof BrokenPipe) return EXIT_SIGPIPE;
      else if (err instanceof ExpansionError) code = await this.#fail(err.message, EXIT_SYNTAX);
      else throw err;
    }
    const trap = this.#exitTrap;
    this.#exitTrap = undefined;
    if (trap === undefined) return code;
    this.#status = code;
    const after = await this.#toExit(() => this.#script(trap));
    return after === 0 ? code : after;
  }

  async #fail(message: string, code: number): Promise<number> {
    await writeText(this.#streams.stderr, `${this.#name}: ${message}\n`);
    return code;
  }

  /** Parses and runs a script. */
  async #script(text: string): Promise<number> {
    let list: List;
    try {
      list = parse(text);
    } catch (err) {
      if (err instanceof ShellSyntaxError) return await this.#syntaxError(err);
      throw err;
    }
    return await this.#list(list);
  }

  async #syntaxError(err: ShellSyntaxError): Promise<number> {
    await this.#fail(err.unsupported ? `${err.message} by the simulated shell` : err.message, EXIT_SYNTAX);
    if (err.unsupported) this.#kernel.unknown();
    throw new ShellExit(EXIT_SYNTAX);
  }

  /** A shell without a script: reads commands from its input, line by line. */
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
      } catch (err) {
        if (!(err instanceof ShellSyntaxError)) throw err;
        if (err.incomplete) continue;
        await this.#fail(err.message, EXIT_SYNTAX);
        this.#status = EXIT_SYNTAX;
        text = '';
        continue;
      }
      text = '';
      this.#status = await this.#list(list);
    }
    if (text !== '') return await this.#script(text);
    return this.#status;
  }

  async #list(list: List): Promise<number> {
    for (const item of list) {
      if (item.background) {
        this.#jobs.push(this.#background(item));
        this.#status = 0;
      } else await this.#andOr(item);
    }
    return this.#status;
  }

  #background(item: AndOr): Promise<number> {
    const streams = { ...this.#streams, stdin: Input.empty() };
    const job = this.#subshell(streams, (shell) => shell.#andOr(item)).catch((err: unknown) => {
      // A job that never ends keeps only `wait` waiting.
      if (err instanceof RunsForever) return this.#kernel.blocked(new Promise<number>(() => undefined));
      throw err;
    });
    // Its failure shows where it is waited for.
    job.catch(() => undefined);
    return job;
  }

  async #andOr({ first, rest }: AndOr): Promise<number> {
    const guarded = rest.length > 0;
    let failedLast = !guarded;
    this.#status = guarded ? await this.#asCondition(() => this.#pipeline(first)) : await this.#pipeline(first);
    for (const [index, { operator, pipeline }] of rest.entries()) {
      if ((operator === '&&') !== (this.#status === 0)) continue;
      const last = index === rest.length - 1;
      this.#status = last ? await this.#pipeline(pipeline) : await this.#asCondition(() => this.#pipeline(pipeline));
      failedLast = last;
    }
    if (this.#status !== 0 && failedLast && this.#options.has('e') && this.#conditions === 0) {
      const negated = (rest.at(-1)?.pipeline ?? first).negated;
      if (!negated) throw new ShellExit(this.#status);
    }
    return this.#status;
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
    const run = (): Promise<number> => (commands.length === 1 && only !== undefined ? this.#command(only) : this.#pipe(commands));
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
    return this.#options.has('pipefail') && last === 0 ? (codes.findLast((code) => code !== 0) ?? 0) : last;
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
    const streams = await this.#redirected(command.redirects);
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
        this.#functions.set(command.name, command.body);
        return 0;
      case 'if':
        for (const { condition, body } of command.branches) {
          if ((await this.#asCondition(() => this.#list(condition))) === 0) return await this.#body(body);
        }
        return await this.#body(command.otherwise);
      case 'case': {
        const subject = await expandText(command.subject, this);
        for (const { patterns, body } of command.branches) {
          for (const pattern of patterns) {
            if ((await expandPattern(pattern, this)).matches(subject)) return await this.#body(body);
          }
        }
        return 0;
      }
      case 'for': {
        const items = command.items === undefined ? this.#positional : await expandWords(command.items, this);
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

  /** An empty body succeeds. */
  async #body(list: List): Promise<number> {
    return list.length === 0 ? 0 : await this.#list(list);
  }

  /** `ended`: a `break` ends the loop. */
  async #loopBody(list: List, condition = false): Promise<{ readonly code: number; readonly ended: boolean }> {
    try {
      const run = (): Promise<number> => this.#body(list);
      return { code: condition ? await this.#asCondition(run) : await run(), ended: false };
    } catch (err) {
      if (!(err instanceof LoopSignal)) throw err;
      if (err.levels > 1) {
        err.levels--;
        throw err;
      }
      return { code: 0, ended: err.kind === 'break' };
    }
  }

  async #simple({ assignments, words, redirects }: SimpleCommand): Promise<number> {
    const args = await expandWords(words, this);
    const streams = redirects.length === 0 ? this.#streams : await this.#redirected(redirects);
    if (streams === undefined) return 1;
    const values: [string, string][] = [];
    for (const { name, value } of assignments) values.push([name, await expandText(value, this)]);
    if (args.length === 0) {
      const before = this.#status;
      for (const [name, value] of values) this.set(name, value);
      // An assignment has the status of its command substitution.
      const substitutes = [...assignments.map(({ value }) => value), ...words].some((word) =>
        word.some(({ kind }) => kind === 'command'),
      );
      return substitutes ? before : 0;
    }
    if (this.#options.has('x')) await writeText(this.#streams.stderr, `+ ${args.join(' ')}\n`);
    if (values.length === 0) return await this.#invoke(args, streams, false);
    const saved = values.map(([name]) => [name, this.#variables.get(name)] as const);
    for (const [name, value] of values) this.#variables.set(name, { value, exported: true, readOnly: false });
    try {
      return await this.#invoke(args, streams, false);
    } finally {
      for (const [name, variable] of saved) {
        if (variable === undefined) this.#variables.delete(name);
        else this.#variables.set(name, variable);
      }
    }
  }

  /** The streams after redirections; undefined if one failed, which was reported. */
  async #redirected(redirects: readonly Redirect[]): Promise<Streams | undefined> {
    const streams: [Input, Output, Output] = [this.#streams.stdin, this.#streams.stdout, this.#streams.stderr];
    for (const { fd, operator, target } of redirects) {
      const text = await expandText(target, this);
      if (operator === '<<') {
        streams[0] = Input.of(Buffer.from(text));
        continue;
      }
      if (operator === '<<<') {
        streams[0] = Input.of(Buffer.from(`${text}\n`));
        continue;
      }
      if (operator === '>&' || operator === '<&') {
        if (text === '-') {
          if (fd === 0) streams[0] = Input.empty();
          else if (fd === 1 || fd === 2) streams[fd] = discard;
          continue;
        }
        const from = Number(text);
        if (fd === 0 && from === 0) continue;
        if ((fd !== 1 && fd !== 2) || (from !== 1 && from !== 2)) {
          await this.#fail(`${text}: Bad file descriptor`, 1);
          return undefined;
        }
        streams[fd] = streams[from];
        continue;
      }
      try {
        if (operator === '<') {
          if (fd !== 0) throw new FileError('Bad file descriptor');
          streams[0] = this.#openInput(text, streams[0]);
        } else {
          const output = this.#openOutput(text, operator === '>>', streams);
          if (operator === '&>') streams[1] = streams[2] = output;
          else if (fd === 1 || fd === 2) streams[fd] = output;
          else throw new FileError('Bad file descriptor');
        }
      } catch (err) {
        if (!(err instanceof FileError)) throw err;
        const verb = operator === '<' ? "can't open" : "can't create";
        await this.#fail(`${verb} ${text}: ${err.message}`, 1);
        return undefined;
      }
    }
    return { stdin: streams[0], stdout: streams[1], stderr: streams[2] };
  }

  #openInput(path: string, stdin: Input): Input {
    const full = resolvePath(this.#directory, path);
    const node = this.files.find(full);
    return node?.kind === 'device' && node.device === 'stdin' ? stdin : Input.of(this.files.read(full));
  }

  #openOutput(path: string, append: boolean, [, stdout, stderr]: readonly [Input, Output, Output]): Output {
    const full = resolvePath(this.#directory, path);
    const node = this.files.find(full);
    if (node?.kind === 'device') {
      if (node.device === 'stdout') return stdout;
      return node.device === 'stderr' ? stderr : discard;
    }
    // The output of the container's first process, as daemons that log to it find it.
    if (!append || node === undefined) this.files.write(full, Buffer.alloc(0), append);
    return {
      write: async (bytes) => {
        try {
          this.files.write(full, bytes, true);
        } catch (err) {
          if (err instanceof FileError) throw new CommandError(`write error: ${err.message}`);
          throw err;
        }
      },
    };
  }

  /** `direct`: not from a script, so that words of the shell are no commands. */
  async #invoke(words: readonly string[], streams: Streams, direct: boolean): Promise<number> {
    const [name = '', ...args] = words;
    const before = this.#streams;
    if (!direct) {
      const body = this.#functions.get(name);
      if (body !== undefined) return await this.#call(body, args, streams);
      this.#streams = streams;
      try {
        const code = await this.#builtin(name, args);
        if (code !== undefined) return code;
      } finally {
        // `exec` with redirections only changes the streams of the shell for good.
        this.#streams = name === 'exec' && args.length === 0 ? streams : before;
      }
    }
    return await this.#external(name, args, streams, direct);
  }

  async #call(body: Command, args: readonly string[], streams: Streams): Promise<number> {
    if (++this.#depth > MAX_CALL_DEPTH) throw new ExpansionError('function calls are nested too deeply');
    const [positional, before] = [this.#positional, this.#streams];
    this.#positional = args;
    this.#streams = streams;
    try {
      return await this.#command(body);
    } catch (err) {
      if (err instanceof ReturnSignal) return err.code;
      throw err;
    } finally {
      this.#depth--;
      this.#positional = positional;
      this.#streams = before;
    }
  }

  async #external(path: string, args: readonly string[], streams: Streams, direct: boolean): Promise<number> {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (name === 'busybox' && args.length > 0) return await this.#external(args[0] as string, args.slice(1), streams, direct);
    if (SHELLS.has(name)) return await this.#subshell({ ...streams }, (shell) => shell.#newShell(args));
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined || !this.#isInstalled(path)) {
      const script = this.#scriptFile(path);
      if (script !== undefined) return await this.#subshell(streams, (shell) => shell.#runFile(path, script, args));
      this.#kernel.unknown();
      const message = direct ? `exec: "${path}": executable file not found in $PATH` : `${this.#name}: ${path}: not found`;
      await writeText(streams.stderr, `${message}\n`);
      return EXIT_NOT_FOUND;
    }
    const process = this.#process(name, args, streams);
    try {
      return await command(process);
    } catch (err) {
      if (err instanceof BrokenPipe) return EXIT_SIGPIPE;
      if (!(err instanceof CommandError || err instanceof FileError)) throw err;
      // A command may fail because it took long: others run before the next one does.
      await this.#kernel.step(FAILURE_COST);
      await writeText(streams.stderr, `${name}: ${err.message}\n`);
      return err instanceof CommandError ? err.code : 1;
    }
  }

  /** A path with a directory names a program only where programs are, unless it is a file that was written. */
  #isInstalled(path: string): boolean {
    if (!path.includes('/')) return true;
    return ['/bin', '/usr/bin', '/usr/local/bin', '/sbin', '/usr/sbin'].includes(
      resolvePath(this.#directory, path).replace(/\/[^/]*$/, ''),
    );
  }

  #scriptFile(path: string): string | undefined {
    if (!path.includes('/')) return undefined;
    const node = this.files.find(resolvePath(this.#directory, path));
    return node?.kind === 'file' && (node.mode & 0o111) !== 0 ? node.content.toString() : undefined;
  }

  #runFile(path: string, text: string, args: readonly string[]): Promise<number> {
    this.#name = path;
    this.#positional = args;
    this.#functions.clear();
    return this.#script(text);
  }

  /** `sh …`: a shell of its own. Called on the copy. */
  async #newShell(args: readonly string[]): Promise<number> {
    for (const [name, variable] of this.#variables) if (!variable.exported) this.#variables.delete(name);
    this.#functions.clear();
    this.#options.clear();
    this.#conditions = 0;
    this.#name = 'sh';
    const rest = [...args];
    let script: string | undefined;
    while (rest[0] !== undefined && /^[-+]./.test(rest[0])) {
      const option = rest.shift() as string;
      if (option === '--') break;
      if (option.startsWith('--')) continue;
      if (option.includes('c')) {
        script = '';
        this.#setOptions(option.replace('c', ''));
      } else if (option === '-o' || option === '+o') this.#setLong(rest.shift() ?? '', option === '-o');
      else this.#setOptions(option);
    }
    if (script !== undefined) {
      script = rest.shift();
      if (script === undefined) return await this.#fail('-c requires an argument', EXIT_SYNTAX);
      this.#name = rest.shift() ?? 'sh';
      this.#positional = rest;
      return await this.#script(script);
    }
    const [file, ...more] = rest;
    if (file === undefined || this.#options.has('s')) return await this.#interactive();
    const path = resolvePath(this.#directory, file);
    if (this.files.find(path) === undefined) {
      this.#kernel.unknown();
      return await this.#fail(`can't open '${file}': No such file or directory`, EXIT_SYNTAX);
    }
    return await this.#runFile(file, this.files.read(path).toString(), more);
  }

  #setOptions(text: string): void {
    for (const letter of text.slice(1)) {
      if (text.startsWith('-')) this.#options.add(letter);
      else this.#options.delete(letter);
    }
  }

  #setLong(name: string, on: boolean): void {
    const letters: Readonly<Record<string, string>> = {
      errexit: 'e',
      nounset: 'u',
      xtrace: 'x',
      noglob: 'f',
      pipefail: 'pipefail',
      allexport: 'a',
    };
    const letter = Object.hasOwn(letters, name) ? letters[name] : undefined;
    if (letter === undefined) throw new ExpansionError(`set: illegal option -o ${name}`);
    if (on) this.#options.add(letter);
    else this.#options.delete(letter);
  }

  #process(name: string, args: readonly string[], streams: Streams): Process {
    const env = new Map([...this.#variables].filter(([, { exported }]) => exported).map(([key, { value }]) => [key, value]));
    return {
      kernel: this.#kernel,
      name,
      args,
      ...streams,
      stdin: streams.stdin,
      directory: this.#directory,
      env,
      run: (command, changes) => this.#subshell(streams, (shell) => shell.#runChanged(command, changes ?? {})),
    };
  }

  #runChanged(command: readonly string[], { env, stdin }: RunChanges): Promise<number> {
    if (env !== undefined) {
      for (const [name, variable] of this.#variables) if (variable.exported) this.#variables.delete(name);
      for (const [name, value] of env) this.#variables.set(name, { value, exported: true, readOnly: false });
    }
    if (stdin !== undefined) this.#streams = { ...this.#streams, stdin };
    return this.#invoke(command, this.#streams, true);
  }

  /** The commands that change the shell itself; undefined for any other. */
  async #builtin(name: string, args: readonly string[]): Promise<number | undefined> {
    const [first] = args;
    switch (name) {
      case ':':
        return 0;
      case 'exit':
        throw new ShellExit(exitCode(first, this.#status));
      case 'return':
        throw new ReturnSignal(exitCode(first, this.#status));
      case 'break':
      case 'continue':
        throw new LoopSignal(name, Math.max(1, Number(first ?? 1) || 1));
      case 'cd':
        return await this.#changeDirectory(first);
      case 'pwd':
        await writeText(this.#streams.stdout, `${this.#directory}\n`);
        return 0;
      case 'export':
      case 'readonly':
      case 'local':
      case 'declare':
      case 'typeset':
        return await this.#declare(name, args);
      case 'unset':
        for (const each of args.filter((arg) => !arg.startsWith('-'))) {
          this.#variables.delete(each);
          this.#functions.delete(each);
        }
        return 0;
      case 'set':
        return await this.#setBuiltin(args);
      case 'shift': {
        const count = Number(first ?? 1);
        if (count > this.#positional.length) return await this.#fail("shift: can't shift that many", 1);
        this.#positional = this.#positional.slice(count);
        return 0;
      }
      case 'read':
        return await this.#read(args);
      case 'eval':
        return await this.#script(args.join(' '));
      case '.':
      case 'source': {
        if (first === undefined) return await this.#fail(`${name}: filename argument required`, EXIT_SYNTAX);
        return await this.#script(this.files.read(resolvePath(this.#directory, first)).toString());
      }
      case 'exec':
        if (args.length === 0) return 0;
        throw new ShellExit(await this.#external(args[0] as string, args.slice(1), this.#streams, true));
      case 'command':
      case 'builtin':
        return await this.#commandBuiltin(args);
      case 'type':
      case 'which':
        return await this.#describe(name, args);
      case 'wait': {
        const codes = await Promise.all(this.#jobs.splice(0));
        return args.length === 0 ? 0 : (codes.at(-1) ?? 0);
      }
      case 'trap':
        return this.#trap(args);
      case 'umask':
      case 'ulimit':
        return 0;
      case 'kill':
        return await this.#kill(args);
      default:
        return undefined;
    }
  }

  #trap(args: readonly string[]): number {
    const [action, ...signals] = args;
    // Signals do not reach simulated processes: only the trap for the end of the shell can ever run.
    if (signals.includes('EXIT') || signals.includes('0')) this.#exitTrap = action === '-' || action === '' ? undefined : action;
    return 0;
  }

  async #kill(args: readonly string[]): Promise<number> {
    const target = args.at(-1);
    if (target !== '1' && target !== '$$') return await this.#fail(`kill: (${target ?? ''}) - No such process`, 1);
    const signal = args.length > 1 ? (args[0] as string) : '-TERM';
    const codes: Readonly<Record<string, number>> = { '-TERM': 143, '-15': 143, '-KILL': 137, '-9': 137, '-INT': 130, '-2': 130 };
    if (signal === '-0') return 0;
    const code = Object.hasOwn(codes, signal) ? codes[signal] : undefined;
    if (code === undefined) return await this.#fail(`kill: ${signal}: signals are not simulated`, 1);
    throw new ProgramExit(code);
  }

  async #changeDirectory(path = this.get('HOME') ?? '/root'): Promise<number> {
    const target = path === '-' ? (this.get('OLDPWD') ?? this.#directory) : resolvePath(this.#directory, path);
    if (!this.files.isDirectory(target)) return await this.#fail(`cd: can't cd to ${path}: No such file or directory`, 1);
    this.set('OLDPWD', this.#directory);
    this.#directory = target;
    this.set('PWD', target);
    return 0;
  }

  async #declare(name: string, args: readonly string[]): Promise<number> {
    for (const arg of args) {
      if (arg === '-p') continue;
      if (arg.startsWith('-') && arg !== '-x' && arg !== '-r' && arg !== '-i') {
        return await this.#fail(`${name}: ${arg}: not supported by the simulated shell`, EXIT_SYNTAX);
      }
      if (arg.startsWith('-')) continue;
      const [variable = '', value] = arg.split(/=(.*)/s);
      if (!NAME.test(variable)) return await this.#fail(`${name}: ${arg}: bad variable name`, EXIT_SYNTAX);
      if (value !== undefined) this.set(variable, value);
      else if (name === 'local') this.set(variable, '');
      const entry = this.#variables.get(variable) ?? { value: '', exported: false, readOnly: false };
      this.#variables.set(variable, entry);
      if (name === 'export') entry.exported = true;
      if (name === 'readonly') entry.readOnly = true;
    }
    if (args.length === 0 || (args.length === 1 && args[0] === '-p')) {
      const shown = [...this.#variables].filter(([, { exported }]) => exported).sort(([a], [b]) => (a < b ? -1 : 1));
      await writeText(this.#streams.stdout, shown.map(([key, { value }]) => `${name} ${key}='${value}'\n`).join(''));
    }
    return 0;
  }

  async #setBuiltin(args: readonly string[]): Promise<number> {
    if (args.length === 0) {
      const shown = [...this.#variables].sort(([a], [b]) => (a < b ? -1 : 1));
      await writeText(this.#streams.stdout, shown.map(([key, { value }]) => `${key}='${value}'\n`).join(''));
      return 0;
    }
    const rest = [...args];
    while (rest[0] !== undefined && /^[-+]/.test(rest[0])) {
      const option = rest.shift() as string;
      if (option === '--') {
        this.#positional = rest;
        return 0;
      }
      if (option.slice(1) === '') break;
      this.#setOptions(option.replace('o', ''));
      if (option.includes('o')) this.#setLong(rest.shift() ?? '', option.startsWith('-'));
    }
    if (rest.length > 0) this.#positional = rest;
    return 0;
  }

  async #read(args: readonly string[]): Promise<number> {
    const names = args.filter((arg) => !arg.startsWith('-'));
    const options = args.filter((arg) => arg.startsWith('-'));
    if (options.some((option) => option !== '-r')) {
      return await this.#fail(`read: ${options.join(' ')}: not supported by the simulated shell`, EXIT_SYNTAX);
    }
    let line = await this.#streams.stdin.readLine(MAX_TEXT);
    const ended = line?.endsWith('\n') !== true;
    line = line?.replace(/\r?\n$/, '') ?? '';
    if (options.length === 0) line = line.replace(/\\(.)/g, '$1');
    const separators = this.get('IFS') ?? ' \t\n';
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
        this.set(name, line.slice(at, end));
        break;
      }
      while (end < line.length && !separators.includes(line[end] as string)) end++;
      this.set(name, line.slice(at, end));
      at = end;
      while (blank(line[at])) at++;
      if (at < line.length && separators.includes(line[at] as string)) at++;
    }
    return ended ? 1 : 0;
  }

  async #commandBuiltin(args: readonly string[]): Promise<number> {
    if (args[0] === '-v' || args[0] === '-V') return await this.#describe('command', args.slice(1));
    if (args.length === 0) return 0;
    const code = await this.#builtin(args[0] as string, args.slice(1));
    return code ?? (await this.#external(args[0] as string, args.slice(1), this.#streams, false));
  }

  async #describe(how: string, names: readonly string[]): Promise<number> {
    let code = 0;
    for (const name of names) {
      const known = this.#functions.has(name) || BUILTINS.has(name);
      const installed = Object.hasOwn(COMMANDS, name) || SHELLS.has(name);
      if (known && how !== 'which')
        await writeText(this.#streams.stdout, how === 'type' ? `${name} is a shell builtin\n` : `${name}\n`);
      else if (installed) await writeText(this.#streams.stdout, how === 'type' ? `${name} is /bin/${name}\n` : `/bin/${name}\n`);
      else {
        if (how === 'type') await this.#fail(`${name}: not found`, 1);
        code = how === 'type' ? EXIT_NOT_FOUND : 1;
      }
    }
    return code;
  }
}

const BUILTINS = new Set(
  ': exit return break continue cd pwd export readonly local unset set shift read eval . exec command type wait trap umask ulimit kill'.split(
    ' ',
  ),
);

function exitCode(text: string | undefined, status: number): number {
  if (text === undefined) return status;
  if (!/^-?\d+$/.test(text)) throw new ExpansionError(`exit: Illegal number: ${text}`);
  return Number(text) & 255;
}
