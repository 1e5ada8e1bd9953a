// kill -9 under load. Clients write and watch; the server is killed at random moments and at every
// point of a write's path to the disk; it is started again, and the clients continue.
//
//
//
// The requirements: an acknowledged write is there, at its revision. Every other write that is
// there was requested, and is there once. Each watcher, resumed from the last revision that it saw,
// receives every revision exactly once, in order.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Random, SeededRandom } from '#machinery/random.ts';
import { endAt, type Failpoint, findFailpoints, nameOfFailpoint, someTime } from './failpoints.ts';
import type { FileLayer } from './file-layer.ts';
import { buildServer, Refused, Server } from './server.ts';
import type { ServedEvent } from './store-server.ts';
import { makeValue, nameOf } from './values.ts';

const CLIENTS = 8;
const KEYS = 10;
const WATCHERS = 3;
/** The limit of acknowledged writes before a kill at a random moment. */
const WRITES = 300;
/**
 * Enough writes for the write-ahead log to be copied into the database. A server that does more
 * without reaching a failpoint never will reach it.
 */
const PLENTY = 2500;
/** One in this many operations of a client is a compaction. */
const COMPACT_RATE = 100;
/**
 * The number of revisions that stay uncompacted before the last one that every watcher has seen.
 */
const KEPT_REVISIONS = 50;

export interface KillOptions {
  readonly kills: number;
  readonly seed: string;
  /** Absent: only kills at random moments. */
  readonly layer: FileLayer | undefined;
}

export interface KillResult {
  readonly kills: number;
  /** The number of failpoints, which every other kill uses in turn. */
  readonly failpoints: number;
  readonly acknowledged: number;
  readonly problems: readonly string[];
}

/** A write, by the name of its value, which determines all its bytes. Undefined: a deletion. */
interface Named {
  readonly revision: number;
  readonly key: string;
  readonly name: string | undefined;
}

/**
 * Returns the event with its value's name. A value whose bytes do not match its name gets a name
 * that no client has written.
 */
function named({ revision, key, value }: ServedEvent): Named {
  if (value === undefined) return { revision, key, name: undefined };
  try {
    // The name is copied: a slice would keep the whole value in memory.
    return { revision, key, name: Buffer.from(nameOf(value)).toString() };
  } catch (error) {
    return { revision, key, name: String(error) };
  }
}

export async function killRepeatedly(options: KillOptions): Promise<KillResult> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-kill-')));
  try {
    return await new Run(options, await buildServer(), dir).run();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

interface Killed {
  readonly problems: readonly string[];
  /** Whether the server ended at the intended point. */
  readonly reached: boolean;
}

function complaints({ failure, errors }: Server): string[] {
  return [
    ...(failure === undefined ? [] : [failure.message]),
    ...(errors === '' ? [] : [errors.slice(0, 500)]),
  ];
}

class Run {
  readonly #options: KillOptions;
  readonly #program: string;
  readonly #dir: string;
  readonly #random: Random;
  readonly #acknowledged: Named[] = [];
  /** The name of every value that was ever handed to the store. */
  readonly #asked = new Set<string>();
  readonly #received: Named[][] = Array.from({ length: WATCHERS }, () => []);
  #serial = 0;

  constructor(options: KillOptions, program: string, dir: string) {
    this.#options = options;
    this.#program = program;
    this.#dir = dir;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<KillResult> {
    const { layer } = this.#options;
    const failpoints =
      layer === undefined
        ? []
        : await findFailpoints({
            program: this.#program,
            layer,
            load: (server) => this.#trialLoad(server),
          });
    /** Failpoints that were tried, and that no server has reached. */
    const missed = new Map<Failpoint, boolean>();
    const result = (kills: number, problems: readonly string[]): KillResult => ({
      kills,
      failpoints: missed.size,
      acknowledged: this.#acknowledged.length,
      problems,
    });
    for (let kills = 0; kills < this.#options.kills; kills++) {
      // Every other kill is at a failpoint, each in its turn.
      const failpoint =
        kills % 2 === 1 ? failpoints[((kills - 1) / 2) % failpoints.length] : undefined;
      const { problems, reached } =
        failpoint?.ofNewStore === true
          ? await this.#endedWhenNew(failpoint)
          : await this.#untilKilled(failpoint);
      const where = failpoint === undefined ? '' : `, ${nameOfFailpoint(failpoint)}`;
      if (problems.length > 0)
        return result(
          kills,
          problems.map((problem) => `after kill ${kills}${where}: ${problem}`),
        );
      if (failpoint !== undefined)
        missed.set(failpoint, (missed.get(failpoint) ?? true) && !reached);
    }
    const never = [...missed]
      .filter(([, never]) => never)
      .map(([failpoint]) => nameOfFailpoint(failpoint));
    return result(this.#options.kills, [
      ...never.map((name) => `no server came by the failpoint: ${name}`),
      ...(await this.#judge()),
    ]);
  }

  /** Starts the server on the store of the previous one, and loads it until it is killed. */
  async #untilKilled(failpoint: Failpoint | undefined): Promise<Killed> {
    const fail = failpoint && endAt(failpoint, someTime(failpoint, this.#random));
    const server = Server.start(this.#program, this.#dir, this.#layered(this.#dir, fail));
    const problems: string[] = [];
    const revision = await server.ready;
    let reached = true;
    if (revision !== undefined) {
      const known = this.#acknowledged.reduce(
        (newest, write) => Math.max(newest, write.revision),
        1,
      );
      if (revision < known)
        problems.push(`revision ${known} was acknowledged, the store is at ${revision}`);
      for (const events of this.#received)
        server.watch(events.at(-1)?.revision ?? 1, (event) => events.push(named(event)));
      const enough =
        this.#acknowledged.length +
        (failpoint === undefined ? 1 + this.#random.int(WRITES) : PLENTY);
      const stop = (): boolean => {
        if (this.#acknowledged.length < enough) return server.hasEnded;
        reached = failpoint === undefined;
        void server.kill();
        return true;
      };
      await Promise.all(Array.from({ length: CLIENTS }, () => this.#client(server, stop)));
    }
    await server.ended;
    problems.push(...complaints(server));
    return { problems, reached };
  }

  /** Ends a server while it creates a store: the next server finds no store, or an empty one. */
  async #endedWhenNew(failpoint: Failpoint): Promise<Killed> {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'torture-new-')));
    try {
      const fail = endAt(failpoint, someTime(failpoint, this.#random));
      const first = Server.start(this.#program, dir, this.#layered(dir, fail));
      const reached = (await first.ready) === undefined;
      await first.kill();
      const next = Server.start(this.#program, dir);
      const revision = await next.ready;
      await next.kill();
      const wrong =
        revision === 1 ? [] : [`the next server is at revision ${revision} of a new store`];
      return { problems: [...complaints(first), ...complaints(next), ...wrong], reached };
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  #layered(dir: string, fail: string | undefined): Record<string, string> {
    const { layer } = this.#options;
    return fail === undefined || layer === undefined ? {} : layer.env({ dir, fail });
  }

  async #client(server: Server, stop: () => boolean): Promise<void> {
    const random = this.#random;
    while (!stop()) {
      const key = `/t/${random.int(KEYS)}`;
      try {
        if (random.int(COMPACT_RATE) === 0) {
          const seen = Math.min(...this.#received.map((events) => events.at(-1)?.revision ?? 1));
          if (seen > KEPT_REVISIONS)
            await server.request({ op: 'compact', revision: seen - KEPT_REVISIONS });
          continue;
        }
        if (random.int(5) === 0) {
          const { revision } = await server.request({ op: 'delete', key });
          this.#acknowledged.push({ revision, key, name: undefined });
          continue;
        }
        const name = `${key}#${++this.#serial}`;
        const value = makeValue(name, 100 + random.int(12_000));
        this.#asked.add(name);
        const { revision } = await server.request({ op: 'put', key, value });
        this.#acknowledged.push({ revision, key, name });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.reason === 'Lost' || error.reason === 'Unavailable' || error.reason === 'Closed')
          return;
        if (error.reason !== 'KeyNotFound') throw error;
      }
    }
  }

  /** Puts the load of the clients on a store of its own. */
  async #trialLoad(server: Server): Promise<void> {
    let left = PLENTY;
    const client = async (): Promise<void> => {
      while (left-- > 0) {
        const key = `/t/${this.#random.int(KEYS)}`;
        const value = makeValue(`${key}#${left}`, 100 + this.#random.int(12_000));
        const { revision } = await server.request({ op: 'put', key, value });
        if (left % COMPACT_RATE === 0) await server.request({ op: 'compact', revision });
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  }

  async #judge(): Promise<string[]> {
    const server = Server.start(this.#program, this.#dir);
    const revision = await server.ready;
    if (revision === undefined)
      return [`the store does not open: ${server.failure?.message ?? server.errors}`];
    await Promise.all(this.#received.map((events) => watchUntil(server, events, revision)));
    const { items = [] } = await server.request({ op: 'list' });
    await server.kill();
    return judge(this.#acknowledged, this.#asked, this.#received, items.map(named), revision);
  }
}

function watchUntil(server: Server, events: Named[], revision: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if ((events.at(-1)?.revision ?? 1) >= revision) return resolve();
    void server.ended.then(() => reject(new Error('the server ended before it sent everything')));
    server.watch(events.at(-1)?.revision ?? 1, (event) => {
      events.push(named(event));
      if (event.revision >= revision) resolve();
    });
  });
}

function judge(
  acknowledged: readonly Named[],
  asked: ReadonlySet<string>,
  received: readonly (readonly Named[])[],
  items: readonly Named[],
  revision: number,
): string[] {
  const problems: string[] = [];
  for (const [watcher, events] of received.entries()) {
    const wrong = events.findIndex((event, i) => event.revision !== i + 2);
    if (wrong >= 0)
      problems.push(
        `watcher ${watcher}: revision ${events[wrong]?.revision} where ${wrong + 2} was next`,
      );
    if (events.length !== revision - 1)
      problems.push(`watcher ${watcher}: ${events.length} events up to revision ${revision}`);
  }
  const [log = []] = received;
  for (const [watcher, events] of received.entries()) {
    const other = events.findIndex(
      (event, i) => event.key !== log[i]?.key || event.name !== log[i]?.name,
    );
    if (other >= 0)
      problems.push(`watcher ${watcher} and the first differ at revision ${other + 2}`);
  }
  for (const { revision: at, key, name } of acknowledged) {
    const event = log[at - 2];
    if (event?.key !== key || event.name !== name)
      problems.push(`the write of ${key} acknowledged at revision ${at} is lost`);
  }
  const state = new Map<string, Named>();
  const seen = new Set<string>();
  for (const event of log) {
    if (event.name === undefined) {
      state.delete(event.key);
      continue;
    }
    if (!asked.has(event.name))
      problems.push(`revision ${event.revision} has a value that was not written`);
    else if (seen.has(event.name)) problems.push(`${event.name} was written twice`);
    seen.add(event.name);
    state.set(event.key, event);
  }
  const expected = [...state.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  if (JSON.stringify(items) !== JSON.stringify(expected))
    problems.push('the list is not what the events add up to');
  return problems.slice(0, 20);
}
