// Runs small transactions in one nft process that stays alive. Starting a program and closing its
// netlink socket, for which the kernel waits until no processor uses the old rules, takes tens of
// times as long as the transaction (docs/decisions/0006-nft-session.md).
//
// `nft -i` reads one command line at a time, runs it as one transaction, and prints nothing on
// success. Each line is therefore followed by a word that is not a command: when the error about
// this word is on stderr, the transaction is over, and the output before it is the transaction's
// error. After unexpected output the program is ended and the caller gets an error; the outcome of
// the transaction is then unknown.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '../../clock.ts';
import { SYSTEM_PATH } from '../../execute.ts';
import { NftError, parseNftError } from './error.ts';
import { type Nft, systemNft } from './nft.ts';

export interface NftSessionConfig {
  readonly clock: Clock;
  /** Program and arguments that run nft, such as `ip netns exec NAME`. Default: none. */
  readonly prefix?: readonly string[];
}

/**
 * The longest transaction for a session, in UTF-16 units. Longer ones gain nothing, because nft
 * reads a line byte by byte.
 */
const MAX_LINE = 16 * 1024;
/**
 * The number of transactions after which the program is replaced: nft keeps its lines as a history.
 */
const MAX_TRANSACTIONS = 1000;
const IDLE_MS = 60_000;
const PATIENCE_MS = 30_000;
const MAX_OUTPUT = 64 * 1024;
/** Texts with other characters are run by a separate program that reads a file. */
const PLAIN = /^[\x20-\x7e\n]*$/;

export class NftSession implements Nft {
  readonly #config: NftSessionConfig;
  readonly #programs: Nft;
  readonly list: Nft['list'];
  readonly tables: Nft['tables'];
  readonly check: Nft['check'];
  #running: Running | undefined;
  /** This nft has no interactive mode, or it behaves differently there. */
  #unavailable = false;
  #last: Promise<unknown> = Promise.resolve();
  #idle: Timer | undefined;
  #closed = false;

  constructor(config: NftSessionConfig) {
    this.#config = config;
    this.#programs = systemNft(config.prefix);
    this.list = (family, table) => this.#programs.list(family, table);
    this.tables = () => this.#programs.tables();
    this.check = (commands) => this.#programs.check(commands);
  }

  run(commands: string): Promise<void> {
    const done = this.#last.then(() => this.#run(commands));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Ends the program. Later transactions run one program each. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    this.#end();
  }

  async #run(commands: string): Promise<void> {
    const isSmall = commands.length <= MAX_LINE && PLAIN.test(commands);
    const running =
      isSmall && !this.#closed && !this.#unavailable ? await this.#start() : undefined;
    if (running === undefined) return this.#programs.run(commands);
    let output: string;
    try {
      output = await running.send(commands.trim().replaceAll('\n', '; '));
    } catch (error) {
      this.#end();
      throw error;
    }
    if (running.transactions >= MAX_TRANSACTIONS) this.#end();
    else this.#endWhenIdle();
    if (output.trim() === '') return;
    if (!output.includes('Error: ')) this.#end();
    throw parseNftError(output, 1);
  }

  async #start(): Promise<Running | undefined> {
    if (this.#running?.isAlive === true) return this.#running;
    const running = new Running(this.#config);
    this.#running = running;
    try {
      // An empty line tests whether this program behaves as expected.
      if ((await running.send('')).trim() === '') return running;
    } catch (error) {
      if (!(error instanceof NftError)) throw error;
    }
    this.#unavailable = true;
    this.#end();
    return undefined;
  }

  #endWhenIdle(): void {
    this.#idle?.cancel();
    this.#idle = this.#config.clock.setTimer(IDLE_MS, () => this.#end());
  }

  #end(): void {
    this.#idle?.cancel();
    this.#running?.end();
    this.#running = undefined;
  }
}

/** One running nft. */
class Running {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  #output = '';
  #onOutput: (() => void) | undefined;
  #failure: NftError | undefined;
  transactions = 0;

  constructor({ clock, prefix = [] }: NftSessionConfig) {
    this.#clock = clock;
    const [program = '', ...args] = [...prefix, 'nft', '-i'];
    // Otherwise nft would write a history file into the home directory.
    const env = { PATH: SYSTEM_PATH, LC_ALL: 'C', HOME: '/dev/null', TERM: 'dumb' };
    this.#child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'pipe'] });
    this.#child.stderr?.setEncoding('latin1').on('data', (text: string) => {
      this.#output += text;
      if (this.#output.length > MAX_OUTPUT) this.#fail('it printed too much');
      this.#onOutput?.();
    });
    this.#child.on('error', (err) => this.#fail(err.message));
    this.#child.on('exit', () => this.#fail('it ended'));
    this.#child.stdin?.on('error', () => this.#fail('it closed its input'));
    // The child must not keep this process alive. When this process ends, the child's input ends,
    // and so does the child.
    this.#child.unref();
  }

  get isAlive(): boolean {
    return this.#failure === undefined;
  }

  /**
   * Runs a line and returns the output about it. Rejects with NftError if the outcome is unknown.
   */
  send(line: string): Promise<string> {
    const mark = `end-of-${++this.transactions}`;
    const pattern = new RegExp(
      `(?:^|\\n)[^\\n]*Error: [^\\n]*\\n${mark}\\n[ ~]*\\^[\\^~]*[ ]*\\n$`,
    );
    this.#output = '';
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        const end = this.#failure === undefined ? pattern.exec(this.#output) : null;
        if (this.#failure === undefined && end === null) return;
        this.#onOutput = undefined;
        timer.cancel();
        if (this.#failure !== undefined) reject(this.#failure);
        else resolve(this.#output.slice(0, end?.index));
      };
      const timer = this.#clock.setTimer(PATIENCE_MS, () => this.#fail('it does not answer'));
      this.#onOutput = finish;
      if (this.#failure === undefined) this.#child.stdin?.write(`${line}\n${mark}\n`);
      finish();
    });
  }

  end(): void {
    this.#failure ??= new NftError('Other', 'the nft session was closed');
    this.#child.stdin?.end();
  }

  #fail(why: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = new NftError(
      'Other',
      `nft failed: whether the last transaction was applied is unknown: ${why}`,
    );
    this.#child.kill('SIGKILL');
    this.#onOutput?.();
  }
}
