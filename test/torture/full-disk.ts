// A disk that is full again and again while clients write. Writes are refused with NoSpace and no
// other error, reads succeed, and writes succeed as soon as there is room, without a restart. Some
// servers are killed while the disk is full; their successors start before there is room, and
// after. No acknowledged write is lost, and no refused write is there.

import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Random, SeededRandom } from '#machinery/random.ts';
import type { FileLayer } from './file-layer.ts';
import { compare, parseAcks, readStore } from './read-store.ts';
import { buildServer, Refused, Server } from './server.ts';
import { makeValue } from './values.ts';

const CLIENTS = 8;
const KEYS = 20;
/** The limit of acknowledged writes while there is room. */
const MOST_WRITES = 400;
const REFUSALS = 40;
/**
 * After this many rounds a new store is used: an old store has free space inside, from deleted
 * history, so it need not grow.
 */
const ROUNDS_OF_A_STORE = 6;
const ENOUGH_ROOM_WRITES = 2000;

export interface FullDiskOptions {
  /** How often the disk is full. */
  readonly rounds: number;
  readonly seed: string;
  readonly layer: FileLayer;
}

export interface FullDiskResult {
  readonly acknowledged: number;
  readonly refused: number;
  readonly problems: readonly string[];
}

export async function fillDisk({ rounds, seed, layer }: FullDiskOptions): Promise<FullDiskResult> {
  const program = await buildServer();
  const result = { acknowledged: 0, refused: 0, problems: [] as string[] };
  for (let done = 0; done < rounds && result.problems.length === 0; done += ROUNDS_OF_A_STORE) {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-full-')));
    const run = new Run(new SeededRandom(`${seed}/${done}`), layer, program, dir);
    try {
      for (let round = 0; round < ROUNDS_OF_A_STORE && run.problems.length === 0; round++) {
        await run.round(round % 3 === 2);
      }
      if (run.problems.length === 0) await run.end();
      result.acknowledged += run.acknowledged;
      result.refused += run.refused;
      result.problems.push(...run.problems);
    } finally {
      await run.server?.kill();
      rmSync(dir, { recursive: true, force: true });
    }
  }
  return result;
}

class Run {
  readonly problems: string[] = [];
  readonly #random: Random;
  readonly #layer: FileLayer;
  readonly #program: string;
  readonly #dir: string;
  /** As long as this file exists, the disk is full. */
  readonly #flag: string;
  readonly #refusedNames = new Set<string>();
  server: Server | undefined;
  acknowledged = 0;
  refused = 0;
  #serial = 0;

  constructor(random: Random, layer: FileLayer, program: string, dir: string) {
    this.#random = random;
    this.#layer = layer;
    this.#program = program;
    this.#dir = dir;
    this.#flag = join(dir, 'full');
  }

  async round(killed: boolean): Promise<void> {
    const server = this.server ?? (await this.#start());
    if (server === undefined)
      return void this.problems.push('the store does not open although there is room');
    this.server = server;
    const enough = this.acknowledged + 1 + this.#random.int(MOST_WRITES);
    await this.#write(server, () => this.acknowledged >= enough);
    writeFileSync(this.#flag, '');
    const until = this.refused + REFUSALS;
    const plenty = this.acknowledged + ENOUGH_ROOM_WRITES;
    await this.#write(server, () => this.refused >= until || this.acknowledged >= plenty);
    const { items = [] } = await server.request({ op: 'list' });
    if (items.length === 0) this.problems.push('nothing can be read while the disk is full');
    for (const { value = '' } of items) {
      if (this.#refusedNames.has(value.split('|')[0] ?? ''))
        this.problems.push('a write that was refused is there');
    }
    if (killed) {
      await server.kill();
      this.server = undefined;
      // The server may serve, or report that there is no space; it must not report damage.
      const early = await this.#start();
      if (early === undefined && this.#lastFailure !== 'NoSpace')
        this.problems.push(`on a full disk: ${this.#lastFailure}`);
      await early?.kill();
    }
    rmSync(this.#flag);
    if (server.failure !== undefined)
      this.problems.push(`the store gave up: ${server.failure.message}`);
    if (server.errors !== '') this.problems.push(server.errors.slice(0, 500));
  }

  /** Makes room: writes succeed, and the disk has exactly the acknowledged writes. */
  async end(): Promise<void> {
    const server = this.server ?? (await this.#start());
    if (server === undefined)
      return void this.problems.push('the store does not open although there is room');
    this.server = server;
    const refused = this.refused;
    const enough = this.acknowledged + 50;
    await this.#write(server, () => this.acknowledged >= enough || this.refused > refused);
    if (this.refused > refused)
      this.problems.push('a write was refused although there was room again');
    await server.kill();
    this.server = undefined;
    this.problems.push(
      ...compare(
        await readStore(join(this.#dir, 'store')),
        parseAcks(readFileSync(join(this.#dir, 'acks'), 'utf8')),
      ),
    );
  }

  #lastFailure: string | undefined;

  async #start(): Promise<Server | undefined> {
    const server = Server.start(
      this.#program,
      this.#dir,
      this.#layer.env({ dir: this.#dir, full: this.#flag }),
    );
    if ((await server.ready) !== undefined) return server;
    this.#lastFailure = server.failure?.reason ?? server.errors;
    return undefined;
  }

  async #write(server: Server, done: () => boolean): Promise<void> {
    const client = async (): Promise<void> => {
      while (!done() && this.problems.length === 0) {
        const key = `/t/${this.#random.int(KEYS)}`;
        const name = `${key}#${++this.#serial}`;
        try {
          await server.request({
            op: 'put',
            key,
            value: makeValue(name, 100 + this.#random.int(12_000)),
          });
          this.acknowledged++;
        } catch (error) {
          if (!(error instanceof Refused) || error.reason !== 'NoSpace') {
            this.problems.push(`a write was not refused for lack of space: ${String(error)}`);
            return;
          }
          this.refused++;
          this.#refusedNames.add(name);
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  }
}
