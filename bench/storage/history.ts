// `npm run bench -- history`: a month of writes in the embedded engine, scaled down. It fills a store
// with objects, writes them again and again with the history limits of a server, and proves three
// promises: no turn of the event loop is long because history is forgotten, the file is bounded by
// what is alive, and a start takes as long as it would have without the past.
//
// With `--kilobytes 1,16,64` each write has one of these sizes. Small values replace the objects,
// others are those of a thousand large objects beside them, since a cluster has few of these.
//
// Pauses are processor time of the main thread between two turns, so that a busy machine does not
// count. A promise that is broken fails the command.

import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type EmbeddedEngine, openEmbeddedEngine } from '#storage/embedded/index.ts';
import { DEFAULT_HISTORY_LIMITS, historyLimits } from '#storage/mvcc/history-keeper.ts';
import { temporaryDirectory } from '../clean-up.ts';
import { peakResidentMB } from '../process-usage.ts';
import { heading, median, note, show } from '../report.ts';
import { Turns } from '../thread-cpu.ts';
import { Progress } from './progress.ts';
import type { StartResult } from './start-once.ts';

export interface HistoryOptions {
  readonly objects: number;
  /** Values that are written after the store was filled, in MB. */
  readonly megabytes: number;
  /** The sizes of these values in KiB. Each write has one of them, at random. */
  readonly kilobytes: readonly number[];
}

/** The objects that the store was filled with, and those that are written. */
interface Load {
  readonly objects: number;
  /** The sizes of written values in bytes. */
  readonly sizes: readonly number[];
  readonly meanBytes: number;
  /** The mean of the sizes that are those of large objects; 0 if there are none. */
  readonly meanLargeBytes: number;
  readonly writes: number;
}

const VALUE_BYTES = 1024;
/** The number of objects with larger values. */
const LARGE_OBJECTS = 1000;
/** Large values are pieces of a random text of this size, so that they are not like each other. */
const TEXT_BYTES = 4 * 1024 * 1024;
/** The size of a row beside its value: key, checksum, and its place in the tree. */
const ROW_BYTES = 200;
/** Objects are created in another order than that of their keys, as they are replaced. A prime. */
const STRIDE = 7_919_993;
const WRITERS = 64;
const FILLERS = 512;
const MAX_PAUSE_MS = 50;
/** The file may have this many times the bytes that are alive: pages are not always full. */
const MAX_FILE_FACTOR = 2;
const MAX_START_FACTOR = 1.5;
const SAMPLES = 40;
const STARTS = 3;

const clock = systemClock;

/** A promise of the store, and whether it was kept. */
interface Promised {
  readonly kept: boolean;
  readonly what: string;
}

export async function history(options: HistoryOptions): Promise<void> {
  const load = loadOf(options);
  const { objects, writes } = load;
  heading(
    `history: ${objects.toLocaleString('en')} objects of 1 KB, ${writes.toLocaleString('en')} writes of ` +
      `${options.kilobytes.join(', ')} KB (${options.megabytes.toLocaleString('en')} MB), embedded store`,
  );
  const dataDir = temporaryDirectory('coxswain-bench-');
  const open = (): Promise<EmbeddedEngine> =>
    openEmbeddedEngine({ clock, logger: silentLogger, dataDir });
  const promises: Promised[] = [];
  try {
    await fill(await open(), load);
    const { ms: emptyStart } = startOf(dataDir);
    show({
      what: 'start, processor time: nothing but the objects',
      unit: 'ms',
      values: [emptyStart],
    });
    const engine = await open();
    promises.push(...(await replace(engine, load)));
    await engine.close();
    promises.push(...startAgain(dataDir, load, emptyStart));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  const broken = promises.filter(({ kept }) => !kept);
  if (broken.length === 0) return;
  for (const { what } of broken) note(`broken: ${what}`);
  process.exitCode = 1;
}

function loadOf({ objects, megabytes, kilobytes }: HistoryOptions): Load {
  const sizes = kilobytes.map((size) => size * 1024);
  const meanBytes = mean(sizes);
  const large = sizes.filter(isLarge);
  return {
    objects,
    sizes,
    meanBytes,
    meanLargeBytes: large.length === 0 ? 0 : mean(large),
    writes: Math.ceil((megabytes * 1e6) / meanBytes),
  };
}

const isLarge = (bytes: number): boolean => bytes > VALUE_BYTES;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns the number of all objects. */
const countOf = ({ objects, meanLargeBytes }: Load): number =>
  objects + (meanLargeBytes > 0 ? LARGE_OBJECTS : 0);

/** Creates the objects, and closes the store without history. */
async function fill(engine: EmbeddedEngine, load: Load): Promise<void> {
  const { objects, meanLargeBytes } = load;
  const progress = new Progress({
    clock,
    what: 'created',
    total: objects,
    more: async () => `, file ${megabytesOf(await engine.sizeBytes())} MB`,
  });
  await inParallel(objects, FILLERS, async (index) => {
    const object = (index * STRIDE) % objects;
    await engine.create(keyOf(object), newValue(object, 0));
    progress.done++;
  });
  if (meanLargeBytes > 0)
    await inParallel(LARGE_OBJECTS, WRITERS, async (index) => {
      await engine.create(largeKeyOf(index), newLargeValue(Math.round(meanLargeBytes)));
    });
  progress.stop();
  await forgetHistory(engine);
  await engine.close();
}

/** Replaces random objects again and again. */
async function replace(engine: EmbeddedEngine, load: Load): Promise<readonly Promised[]> {
  const { writes } = load;
  const turns = new Turns();
  const sizes: number[] = [];
  const began = clock.monotonic();
  let next = Math.ceil(writes / SAMPLES);
  let sampling: Promise<unknown> = Promise.resolve();
  const progress = new Progress({
    clock,
    what: 'replaced',
    total: writes,
    more: async () =>
      `, file ${megabytesOf(await engine.sizeBytes())} MB, longest turn ${turns.lap().toFixed(1)} ms`,
  });
  await inParallel(writes, WRITERS, async (index) => {
    const { key, value } = nextWrite(load, index + 1);
    await engine.guaranteedUpdate(key, () => ({ action: 'put', value }));
    progress.done++;
    if (index < next) return;
    next += Math.ceil(writes / SAMPLES);
    sampling = engine.sizeBytes().then((bytes) => sizes.push(bytes));
  });
  await sampling;
  progress.stop();
  const seconds = (clock.monotonic() - began) / 1000;
  const longest = turns.stop();
  show({ what: 'writes by 64 writers', unit: '/s', values: [writes / seconds] });
  show({ what: 'resident, at most', unit: 'MB', values: [peakResidentMB(process.pid)] });
  show({
    what: 'longest turn of the event loop, processor time',
    unit: 'ms',
    values: [longest],
    goal: { atMost: MAX_PAUSE_MS },
  });
  const largest = showSizes(sizes, load);
  await forgetHistory(engine);
  return [
    {
      kept: longest <= MAX_PAUSE_MS,
      what: `a turn of the event loop took ${longest.toFixed(0)} ms`,
    },
    { kept: largest <= MAX_FILE_FACTOR, what: `the file grew to ${largest.toFixed(2)} times` },
  ];
}

/** Returns the largest size, as a multiple of the bytes of objects and history. */
function showSizes(sizes: readonly number[], load: Load): number {
  const { objects, meanBytes, meanLargeBytes, writes } = load;
  const { maxHistoryBytes, maxHistoryRevisions } = historyLimits(DEFAULT_HISTORY_LIMITS, objects);
  const kept = Math.min(writes, maxHistoryRevisions, maxHistoryBytes / meanBytes);
  const alive =
    objects * (VALUE_BYTES + ROW_BYTES) +
    LARGE_OBJECTS * meanLargeBytes +
    kept * (meanBytes + ROW_BYTES);
  const largest = Math.max(...sizes) / alive;
  show({
    what: 'largest file, of the bytes of objects and history',
    unit: '×',
    values: [largest],
    goal: { atMost: MAX_FILE_FACTOR },
  });
  const half = sizes.length >> 1;
  const growth = Math.max(...sizes.slice(half)) / Math.max(...sizes.slice(0, half));
  show({ what: 'largest file of the second half, of the first', unit: '×', values: [growth] });
  const tenths = sizes.filter((_, index) => (index + 1) % (SAMPLES / 10) === 0);
  note(`file after each tenth of the writes: ${tenths.map(megabytesOf).join(', ')} MB`);
  return largest;
}

function startAgain(dataDir: string, load: Load, emptyStart: number): readonly Promised[] {
  const objects = countOf(load);
  const { ms: start, count } = startOf(dataDir);
  show({
    what: 'start after all writes, of the first one',
    unit: '×',
    values: [start / emptyStart],
    goal: { atMost: MAX_START_FACTOR },
  });
  return [
    { kept: start <= MAX_START_FACTOR * emptyStart, what: `a start took ${start.toFixed(0)} ms` },
    { kept: count === objects, what: `there are ${count} objects after the start, not ${objects}` },
  ];
}

/**
 * Starts the store in a process of its own, whose heap has no garbage of other work. Returns the
 * median of three starts.
 */
function startOf(dataDir: string): StartResult {
  const program = fileURLToPath(new URL('start-once.ts', import.meta.url));
  const results = Array.from({ length: STARTS }, () => {
    const output = execFileSync(process.execPath, ['--import', 'tsx', program, dataDir], {
      encoding: 'utf8',
    });
    return JSON.parse(output) as StartResult;
  });
  return { ms: median(results.map(({ ms }) => ms)), count: results[0]!.count };
}

/** Forgets all history, and waits until its rows are deleted. */
async function forgetHistory(engine: EmbeddedEngine): Promise<void> {
  await engine.compact(await engine.currentRevision());
}

const megabytesOf = (bytes: number): string => Math.round(bytes / 1e6).toLocaleString('en');

const keyOf = (index: number): string =>
  `/registry/things/default/thing-${String(index).padStart(9, '0')}`;

/** Returns a value of VALUE_BYTES, unlike all others, with its own buffer, as a server would hand in. */
function newValue(object: number, write: number): Uint8Array {
  const start = `{"kind":"Thing","metadata":{"name":"thing-${object}","generation":${write}},"data":"`;
  const value = Buffer.allocUnsafeSlow(VALUE_BYTES).fill('a');
  value.write(start);
  value.write('"}', VALUE_BYTES - 2);
  return value;
}

const random = new SeededRandom(1);

/** Returns the next write. `write`: its number. */
function nextWrite(
  { objects, sizes }: Load,
  write: number,
): { readonly key: string; readonly value: Uint8Array } {
  const size = sizes[Math.floor(random.float() * sizes.length)]!;
  if (isLarge(size))
    return {
      key: largeKeyOf(Math.floor(random.float() * LARGE_OBJECTS)),
      value: newLargeValue(size),
    };
  const object = Math.floor(random.float() * objects);
  return { key: keyOf(object), value: newValue(object, write) };
}

const largeKeyOf = (index: number): string =>
  `/registry/large/default/large-${String(index).padStart(4, '0')}`;

const textBytes = Buffer.from(Buffer.from(random.bytes((TEXT_BYTES / 4) * 3)).toString('base64'));

/** Returns a value with its own buffer, whose text is unlike that of others. */
function newLargeValue(size: number): Uint8Array {
  const value = Buffer.allocUnsafeSlow(size);
  const start = Math.floor(random.float() * (TEXT_BYTES - size));
  textBytes.copy(value, 0, start, start + size);
  const head = '{"kind":"Large","data":"';
  value.write(head);
  value.write('"}', size - 2);
  return value;
}

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
