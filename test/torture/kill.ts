// kill -9 under load: clients write and watch, the server is killed at random moments and at points of the path that a write
// takes to the disk, is started again, and the clients go on where they were.
//
// What must hold: a write that was acknowledged is there, at its revision; whatever else is there was asked for, once; and each
// watcher, resumed from the last revision that it saw, has been told every revision exactly once, in order.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededRandom } from '../../src/machinery/random.ts';
import type { FileLayer } from './file-layer.ts';
import { buildServer, Refused, Server } from './server.ts';
import type { ServedEvent } from './store-server.ts';
import { makeValue, nameOf } from './values.ts';

const CLIENTS = 8;
const KEYS = 10;
const WATCHERS = 3;
/** Operations on files from a start to a kill at one of them: an empty start takes about 20, a batch of writes 3. */
const OPERATIONS = 400;
/** So many writes are acknowledged before a kill at a random moment, at most. */
const WRITES = 300;

export interface KillOptions {
  readonly kills: number;
  readonly seed: string;
  /** Absent: only kills at random moments. */
  readonly layer: FileLayer | undefined;
}

export interface KillResult {
  readonly kills: number;
  readonly acknowledged: number;
  readonly problems: readonly string[];
}

interface Acknowledged {
  readonly revision: number;
  readonly key: string;
  readonly value: string | undefined;
}

export async function killRepeatedly(options: KillOptions): Promise<KillResult> {
  const random = new SeededRandom(options.seed);
  const program = await buildServer();
  const dir = mkdtempSync(join(tmpdir(), 'torture-kill-'));
  const acknowledged: Acknowledged[] = [];
  /** Every value that was ever handed to the store. */
  const asked = new Set<string>();
  const told: ServedEvent[][] = Array.from({ length: WATCHERS }, () => []);
  const problems: string[] = [];
  let serial = 0;

  const client = async (server: Server, stop: () => boolean): Promise<void> => {
    while (!stop()) {
      const key = `/t/${random.int(KEYS)}`;
      try {
        if (random.int(5) === 0) {
          const { revision } = await server.request({ op: 'delete', key });
          acknowledged.push({ revision, key, value: undefined });
          continue;
        }
        const value = makeValue(`${key}#${++serial}`, 100 + random.int(12_000));
        asked.add(value);
        const { revision } = await server.request({ op: 'put', key, value });
        acknowledged.push({ revision, key, value });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.reason === 'Lost' || error.reason === 'Unavailable' || error.reason === 'Closed') return;
        if (error.reason !== 'KeyNotFound') throw error;
      }
    }
  };

  let kills = 0;
  try {
    while (kills < options.kills) {
      // Every other kill is at an operation on a file, in the middle of a write for some.
      const atFile = options.layer !== undefined && kills % 2 === 1;
      const fail = `${random.int(3) === 0 ? 'half' : 'kill'}:${1 + random.int(OPERATIONS)}`;
      const server = Server.start(program, dir, atFile ? options.layer?.env({ dir, fail }) : {});
      const revision = await server.ready;
      if (revision !== undefined) {
        const known = Math.max(1, ...acknowledged.map((write) => write.revision));
        if (revision < known)
          problems.push(`after kill ${kills}: revision ${known} was acknowledged, the store is at ${revision}`);
        for (const events of told) server.watch(events.at(-1)?.revision ?? 1, (event) => events.push(event));
        const enough = acknowledged.length + 1 + random.int(WRITES);
        let stopped = false;
        const clients = Array.from({ length: CLIENTS }, () =>
          client(server, () => {
            if (!atFile && acknowledged.length >= enough) void server.kill();
            return stopped;
          }),
        );
        await server.ended;
        stopped = true;
        await Promise.all(clients);
      }
      await server.ended;
      if (server.failure !== undefined) problems.push(`after kill ${kills}: ${server.failure.message}`);
      if (server.errors !== '') problems.push(`after kill ${kills}: ${server.errors.slice(0, 500)}`);
      if (problems.length > 0) return { kills, acknowledged: acknowledged.length, problems };
      kills++;
    }
    const server = Server.start(program, dir);
    const revision = await server.ready;
    if (revision === undefined) return { kills, acknowledged: acknowledged.length, problems: ['the store does not open'] };
    const done = told.map((events) => watchUntil(server, events, revision));
    await Promise.all(done);
    const { items = [] } = await server.request({ op: 'list' });
    await server.kill();
    problems.push(...judge(acknowledged, asked, told, items, revision));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return { kills, acknowledged: acknowledged.length, problems };
}

function watchUntil(server: Server, events: ServedEvent[], revision: number): Promise<void> {
  return new Promise((resolve, reject) => {
    if ((events.at(-1)?.revision ?? 1) >= revision) return resolve();
    void server.ended.then(() => reject(new Error('the server ended before it told everything')));
    server.watch(events.at(-1)?.revision ?? 1, (event) => {
      events.push(event);
      if (event.revision >= revision) resolve();
    });
  });
}

function judge(
  acknowledged: readonly Acknowledged[],
  asked: ReadonlySet<string>,
  told: readonly (readonly ServedEvent[])[],
  items: readonly ServedEvent[],
  revision: number,
): string[] {
  const problems: string[] = [];
  for (const [watcher, events] of told.entries()) {
    const wrong = events.findIndex((event, i) => event.revision !== i + 2);
    if (wrong >= 0) problems.push(`watcher ${watcher}: revision ${events[wrong]?.revision} where ${wrong + 2} was next`);
    if (events.length !== revision - 1) problems.push(`watcher ${watcher}: ${events.length} events up to revision ${revision}`);
  }
  const [log = []] = told;
  for (const [watcher, events] of told.entries()) {
    const other = events.findIndex((event, i) => event.key !== log[i]?.key || event.value !== log[i]?.value);
    if (other >= 0) problems.push(`watcher ${watcher} and the first differ at revision ${other + 2}`);
  }
  for (const { revision: at, key, value } of acknowledged) {
    const event = log[at - 2];
    if (event?.key !== key || event.value !== value) problems.push(`the write of ${key} acknowledged at revision ${at} is lost`);
  }
  const state = new Map<string, ServedEvent>();
  const seen = new Set<string>();
  for (const event of log) {
    if (event.value === undefined) {
      state.delete(event.key);
      continue;
    }
    if (!asked.has(event.value)) problems.push(`revision ${event.revision} has a value that nobody wrote`);
    else if (seen.has(event.value)) problems.push(`${nameOf(event.value)} was written twice`);
    seen.add(event.value);
    state.set(event.key, event);
  }
  const expected = [...state.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  if (JSON.stringify(items) !== JSON.stringify(expected)) problems.push('the list is not what the events add up to');
  return problems.slice(0, 20);
}
