// Measures durable writes: ConfigMaps created through the API by 1, 64 and 256 clients, on the
// embedded store. In the same run it measures the limit of the disk for records of that size, with
// as many records for each sync as there are clients: a file that is appended to and synced, and
// SQLite alone. It measures a bare TLS server in Node with 64 clients, too, which shows the present
// speed of the processors.

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { loadSqlite } from '#storage/embedded/sqlite.ts';
import { BuiltCluster } from '../built-cluster.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { createNamespace, measureBare } from '../load/bench.ts';
import type { RunReport } from '../load/generator.ts';
import { GeneratorProcess } from '../load/generator-process.ts';
import { loopDelay, PROBE_FLAGS, type LoopDelay } from './loop-delay.ts';
import { heading, median, note, quantile, show } from '../report.ts';
import { Stolen } from '../stolen.ts';

const CLIENTS = [1, 64, 256];
const ROUNDS = 3;
const ROUND_MS = 2500;
const CEILING_MS = 1000;
/** The approximate size of such a ConfigMap in the store. */
const RECORD_BYTES = 1400;
/** The goal for 64 clients, in creates per second. */
const GOAL = { atLeast: 8000 };
/** The goal for the delay of the server's event loop: p99 in ms. */
const DELAY_GOAL = { atMost: 20 };

export async function store(): Promise<void> {
  heading(
    'store: durable creates of ConfigMaps of 1 KB through the API (embedded store, TLS, ' +
      'HTTP/1.1), and what the disk gives',
  );
  const ceilings = new Map<number, { readonly file: Ceiling; readonly sqlite: Ceiling }>();
  for (const clients of CLIENTS)
    ceilings.set(clients, { file: appendAndSync(clients), sqlite: await rawSqlite(clients) });
  const { create: bare } = await measureBare('h1');
  const cluster = await BuiltCluster.start({
    flags: ['--store', 'embedded', '--runtime', 'simulated'],
    nodeFlags: PROBE_FLAGS,
  });
  let generator: GeneratorProcess | undefined;
  try {
    await createNamespace(cluster.target);
    generator = await GeneratorProcess.open({
      target: cluster.target,
      protocol: 'h1',
      connections: Math.max(...CLIENTS),
    });
    let created = 0;
    for (const clients of CLIENTS) {
      const rounds: RunReport[] = [];
      const delays: LoopDelay[] = [];
      const stolenPercents: number[] = [];
      const stolen = new Stolen();
      // The first round warms up.
      for (let i = 0; i <= ROUNDS; i++) {
        const report = await generator.run({
          work: 'create',
          from: created,
          durationMs: ROUND_MS,
          connections: clients,
        });
        created += report.requests;
        const delay = await loopDelay(cluster.pid);
        const stolenPercent = stolen.percent();
        if (i === 0) continue;
        rounds.push(report);
        delays.push(delay);
        stolenPercents.push(stolenPercent);
      }
      const { file, sqlite } = ceilings.get(clients)!;
      const rates = rounds.map(({ requests, elapsedMs }) => requests / (elapsedMs / 1000));
      const what = `creates, ${clients} ${clients === 1 ? 'client' : 'clients'}`;
      show({
        what,
        unit: '/s',
        values: rates,
        ...(clients === 64 && { goal: GOAL }),
        comparedWith: { name: 'raw SQLite', value: sqlite.perSecond },
      });
      show({ what: '  p50', unit: 'ms', values: rounds.map(({ p50Ms }) => p50Ms) });
      show({ what: '  p99', unit: 'ms', values: rounds.map(({ p99Ms }) => p99Ms) });
      show({
        what: '  event loop: delay p99',
        unit: 'ms',
        values: delays.map(({ p99Ms }) => p99Ms),
        goal: DELAY_GOAL,
      });
      show({
        what: '  event loop: the longest',
        unit: 'ms',
        values: delays.map(({ maxMs }) => maxMs),
      });
      show({
        what: '  of the processors, stolen by other guests',
        unit: '%',
        values: stolenPercents,
      });
      if (clients === 64) {
        const rate = bare.requests / (bare.elapsedMs / 1000);
        show({
          what: '  ceiling: a bare TLS server that keeps nothing',
          unit: '/s',
          values: [rate],
        });
        note(`    the API reaches ${((100 * median(rates)) / rate).toFixed(0)} % of it`);
      }
      const each = clients === 1 ? 'a record' : `${clients} records`;
      showCeiling(`ceiling: append of ${each} and a sync`, file, median(rates));
      showCeiling(`ceiling: raw SQLite, ${each} a transaction`, sqlite, median(rates));
    }
    note(`${created} objects were created`);
  } finally {
    generator?.close();
    await cluster.stop();
  }
}

interface Ceiling {
  /** Records per second. */
  readonly perSecond: number;
  /** Quantiles of the time of one sync with its records. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

function showCeiling(what: string, { perSecond, p50Ms, p99Ms }: Ceiling, rate: number): void {
  show({ what: `  ${what}`, unit: '/s', values: [perSecond] });
  note(
    `    a sync: p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms; the API reaches ` +
      `${((100 * rate) / perSecond).toFixed(0)} % of it`,
  );
}

function appendAndSync(records: number): Ceiling {
  return inDirectory((dir) => {
    const file = openSync(join(dir, 'file'), 'w');
    const bytes = Buffer.alloc(records * RECORD_BYTES, 'x');
    try {
      return measure(records, () => {
        writeSync(file, bytes);
        fdatasyncSync(file);
      });
    } finally {
      closeSync(file);
    }
  });
}

async function rawSqlite(records: number): Promise<Ceiling> {
  const { DatabaseSync } = await loadSqlite();
  return inDirectory((dir) => {
    const database = new DatabaseSync(join(dir, 'file.db'));
    database.exec(
      'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL',
    );
    database.exec('CREATE TABLE log (revision INTEGER PRIMARY KEY, record BLOB NOT NULL)');
    const insert = database.prepare('INSERT INTO log VALUES (?, ?)');
    const record = Buffer.alloc(RECORD_BYTES, 'x');
    let revision = 0;
    try {
      return measure(records, () => {
        database.exec('BEGIN');
        for (let i = 0; i < records; i++) insert.run(++revision, record);
        database.exec('COMMIT');
      });
    } finally {
      database.close();
    }
  });
}

function inDirectory<T>(use: (dir: string) => T): T {
  const dir = temporaryDirectory('bench-store-');
  try {
    return use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function measure(records: number, commit: () => void): Ceiling {
  const times: number[] = [];
  const began = systemClock.monotonic();
  let now = began;
  while (now < began + CEILING_MS) {
    commit();
    const after = systemClock.monotonic();
    times.push(after - now);
    now = after;
  }
  return {
    perSecond: (times.length * records) / ((now - began) / 1000),
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  };
}
