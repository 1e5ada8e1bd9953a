// `npm run bench -- history`: a month of writes in the embedded engine, scaled down. It fills a store
// with objects, writes them again and again with the history limits of a server, and proves three
// promises: no turn of the event loop is long because history is forgotten, the file is bounded by
// what is alive, and a start takes as long as it would have without the past.
//
// Pauses are processor time of the main thread between two turns, so that a busy machine does not
// count. A promise that is broken fails the command.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type EmbeddedEngine, openEmbeddedEngine } from '#storage/embedded/index.ts';
import { DEFAULT_HISTORY_LIMITS } from '#storage/mvcc/history-keeper.ts';
import { heading, note, show } from '../report.ts';
import { Turns } from '../thread-cpu.ts';

export interface HistoryOptions {
  readonly objects: number;
  /** Values that are written after the store was filled, in MB. */
  readonly megabytes: number;
}

const VALUE_BYTES = 1024;
/** The size of a row beside its value: key, checksum, and its place in the tree. */
const ROW_BYTES = 200;
const WRITERS = 64;
const FILLERS = 512;
const MAX_PAUSE_MS = 50;
/** The file may have this many times the bytes that are alive: pages are not always full. */
const MAX_FILE_FACTOR = 2;
const MAX_START_FACTOR = 1.5;
const SAMPLES = 40;

const clock = systemClock;

export async function history({ objects, megabytes }: HistoryOptions): Promise<void> {
  const writes = Math.ceil((megabytes * 1e6) / VALUE_BYTES);
  heading(
    `history: ${objects.toLocaleString('en')} objects of 1 KB, ` +
      `${writes.toLocaleString('en')} writes (${megabytes.toLocaleString('en')} MB), embedded store`,
  );
  const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
  const open = (): Promise<EmbeddedEngine> =>
    openEmbeddedEngine({ clock, logger: silentLogger, dataDir });
  const broken: string[] = [];
  const promise = (isKept: boolean, what: string): void => {
    if (!isKept) broken.push(what);
  };
  try {
    let engine = await open();
    await inParallel(objects, FILLERS, (index) => engine.create(keyOf(index), newValue()));
    await engine.compact(await engine.currentRevision());
    await engine.close();
    const [emptyStart, opened] = await timed(open);
    engine = opened;
    show({
      what: 'start, processor time: nothing but the objects',
      unit: 'ms',
      values: [emptyStart],
    });

    const random = new SeededRandom(1);
    const pauses = new Turns();
    const sizes: number[] = [];
    const began = clock.monotonic();
    let next = Math.ceil(writes / SAMPLES);
    let sampling: Promise<unknown> = Promise.resolve();
    await inParallel(writes, WRITERS, async (index) => {
      const key = keyOf(Math.floor(random.float() * objects));
      await engine.guaranteedUpdate(key, () => ({ action: 'put', value: newValue() }));
      if (index < next) return;
      next += Math.ceil(writes / SAMPLES);
      sampling = engine.sizeBytes().then((bytes) => sizes.push(bytes));
    });
    await sampling;
    const seconds = (clock.monotonic() - began) / 1000;
    const longest = pauses.stop();
    show({ what: 'writes by 64 writers', unit: '/s', values: [writes / seconds] });
    show({
      what: 'longest turn of the event loop, processor time',
      unit: 'ms',
      values: [longest],
      goal: { atMost: MAX_PAUSE_MS },
    });
    promise(longest <= MAX_PAUSE_MS, `a turn of the event loop took ${longest.toFixed(0)} ms`);

    const { maxHistoryBytes, maxHistoryRevisions } = DEFAULT_HISTORY_LIMITS;
    const kept = Math.min(writes, maxHistoryRevisions, maxHistoryBytes / VALUE_BYTES);
    const alive = (objects + kept) * (VALUE_BYTES + ROW_BYTES);
    const largest = Math.max(...sizes);
    show({
      what: 'largest file, of the bytes of objects and history',
      unit: '×',
      values: [largest / alive],
      goal: { atMost: MAX_FILE_FACTOR },
    });
    const half = sizes.length >> 1;
    const growth = Math.max(...sizes.slice(half)) / Math.max(...sizes.slice(0, half));
    show({ what: 'largest file of the second half, of the first', unit: '×', values: [growth] });
    promise(
      largest <= MAX_FILE_FACTOR * alive,
      `the file grew to ${(largest / 1e6).toFixed(0)} MB`,
    );

    await engine.compact(await engine.currentRevision());
    await engine.close();
    const [start, again] = await timed(open);
    show({
      what: 'start after all writes, of the first one',
      unit: '×',
      values: [start / emptyStart],
      goal: { atMost: MAX_START_FACTOR },
    });
    promise(start <= MAX_START_FACTOR * emptyStart, `a start took ${start.toFixed(0)} ms`);
    const count = await again.count('/registry/');
    promise(count === objects, `there are ${count} objects after the start, not ${objects}`);
    await again.close();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  if (broken.length === 0) return;
  for (const what of broken) note(`broken: ${what}`);
  process.exitCode = 1;
}

const keyOf = (index: number): string =>
  `/registry/things/default/thing-${String(index).padStart(9, '0')}`;

/** Returns a value with its own buffer, as a server would hand in. */
const newValue = (): Uint8Array => new Uint8Array(VALUE_BYTES).fill(97);

async function inParallel(
  count: number,
  writers: number,
  run: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const loop = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await run(index);
  };
  await Promise.all(Array.from({ length: writers }, loop));
}

/** Returns the processor time of all threads in ms, and the result. */
async function timed<T>(run: () => Promise<T>): Promise<readonly [number, T]> {
  const before = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1000, result];
}
