// Damage: writes that are torn at any offset, and any flipped bit in any file of the store. A torn
// store opens with all acknowledged writes. A store with a flipped bit opens with them too, or is
// refused with a message that names the next step. The store never serves a value that was not
// written, nor an older state.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Random, SeededRandom } from '#machinery/random.ts';
import { SNAPSHOT_SOCKET } from '#storage/embedded/snapshot-socket.ts';
import { type FileLayer, type FileOperation, readTrace } from './file-layer.ts';
import { type Ack, compare, parseAcks, readStore } from './read-store.ts';
import { buildServer, Server } from './server.ts';
import { makeValue } from './values.ts';

const KEYS = 10;
/** The number of writes before the last ones are torn. */
const TORN_WRITES = 60;
/**
 * The number of writes before bits flip: every kind of record exists, and the log is short enough
 * to flip every byte.
 */
const FLIPPED_WRITES = 24;
const VALUE_BYTES = 300;
const LOG_FILE = 'storage.db-wal';

export interface DamageResult {
  readonly cases: number;
  readonly problems: readonly string[];
}

export interface FlipResult extends DamageResult {
  /** The number of refused stores. */
  readonly refused: number;
  /** The number of stores that served wrong data. */
  readonly wrong: number;
}

/**
 * Cuts the writes of the last transactions at every `step`th offset, and leaves out the rest or
 * replaces it with garbage.
 */
export async function tearWrites(options: {
  readonly step: number;
  readonly transactions: number;
  readonly seed: string;
  readonly layer: FileLayer;
}): Promise<DamageResult> {
  const random = new SeededRandom(options.seed);
  const dir = newDirectory();
  const trace = `${dir}.trace`;
  const problems: string[] = [];
  let cases = 0;
  try {
    const server = Server.start(await buildServer(), dir, options.layer.env({ dir, trace }));
    await write(server, random, TORN_WRITES);
    await server.kill();
    const operations = readTrace(readFileSync(trace));
    const log = join(dir, 'store', LOG_FILE);
    const syncs = operations.flatMap((operation, i) =>
      operation.kind === 'sync' && operation.path === log ? [i] : [],
    );
    for (const [n, end] of syncs.slice(-options.transactions).entries()) {
      const begin = syncs[syncs.length - options.transactions + n - 1] ?? 0;
      const before = operations.slice(0, begin + 1);
      const torn = operations.slice(begin + 1, end).filter(isWriteTo(log));
      const content = replay(before, log);
      const acks = acksOf(before, join(dir, 'acks'));
      for (const [i, last] of torn.entries()) {
        for (let offset = 0; offset <= last.data.length; offset += options.step) {
          let bytes = content;
          for (const whole of torn.slice(0, i)) bytes = overlay(bytes, whole.offset, whole.data);
          bytes = overlay(bytes, last.offset, last.data.subarray(0, offset));
          // The garbage stands for old data of the disk, or for an incomplete sector.
          if (random.int(2) === 0)
            bytes = overlay(
              bytes,
              last.offset + offset,
              Buffer.from(random.bytes(last.data.length - offset)),
            );
          const left = join(dir, `left-${cases++}`);
          copyStore(join(dir, 'store'), left);
          writeFileSync(join(left, LOG_FILE), bytes);
          writeFileSync(
            join(left, 'storage.head'),
            replay(before, join(dir, 'store', 'storage.head')),
          );
          const wrong = compare(await readStore(left), acks);
          rmSync(left, { recursive: true, force: true });
          if (wrong.length > 0)
            problems.push(`torn at ${last.offset} + ${offset} of the log: ${wrong[0]}`);
        }
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
    rmSync(trace, { force: true });
  }
  return { cases, problems: problems.slice(0, 10) };
}

/**
 * Flips one bit in about every `step`th byte of every file of a killed store and of a closed one;
 * 1: in every byte.
 */
export async function flipBits(options: {
  readonly step: number;
  readonly seed: string;
}): Promise<FlipResult> {
  const random = new SeededRandom(options.seed);
  const dir = newDirectory();
  const wrong: string[] = [];
  const unclear: string[] = [];
  let cases = 0;
  let refused = 0;
  try {
    const server = Server.start(await buildServer(), dir);
    await write(server, random, FLIPPED_WRITES);
    await server.kill();
    const acks = parseAcks(readFileSync(join(dir, 'acks'), 'utf8'));
    const closed = join(dir, 'closed');
    copyStore(join(dir, 'store'), closed);
    const intact = compare(await readStore(closed), acks);
    if (intact.length > 0)
      return { cases, refused, wrong: 0, problems: [`without damage: ${intact[0]}`] };
    for (const source of [join(dir, 'store'), closed]) {
      const names = readdirSync(source).filter(
        (name) => name !== 'storage.pid' && name !== SNAPSHOT_SOCKET,
      );
      const files = new Map(names.map((name) => [name, readFileSync(join(source, name))]));
      for (const [name, bytes] of files) {
        // The log is by far the longest file.
        const step = Math.max(1, Math.min(options.step, Math.ceil(bytes.length / 40)));
        for (
          let at = random.int(Math.min(step, bytes.length + 1));
          at < bytes.length;
          at += 1 + random.int(2 * step - 1)
        ) {
          const left = join(dir, `left-${cases++}`);
          const bit = random.int(8);
          const flipped = Buffer.from(bytes);
          flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
          mkdirSync(left, { mode: 0o700 });
          for (const [other, content] of files)
            writeFileSync(join(left, other), other === name ? flipped : content);
          const found = await readStore(left);
          rmSync(left, { recursive: true, force: true });
          if (found.refused !== undefined) {
            refused++;
            if (found.refused.reason !== 'Corrupt')
              unclear.push(
                `bit ${bit} of byte ${at} of ${name} is not reported as damage: ${found.refused.message}`,
              );
            continue;
          }
          const different = compare(found, acks);
          if (different.length > 0)
            wrong.push(`bit ${bit} of byte ${at} of ${name}: ${different[0]}`);
        }
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return {
    cases,
    refused,
    wrong: wrong.length,
    problems: [...wrong.slice(0, 10), ...unclear.slice(0, 10)],
  };
}

/**
 * Copies a store without the socket of the killed server, which is no data and cannot be copied.
 */
function copyStore(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => basename(path) !== SNAPSHOT_SOCKET });
}

/**
 * Returns a new directory in memory if the system has one: the test does not depend on the disk,
 * and opens thousands of stores.
 */
function newDirectory(): string {
  const memory = '/dev/shm';
  return realpathSync(mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'torture-damage-')));
}

async function write(server: Server, random: Random, writes: number): Promise<void> {
  if ((await server.ready) === undefined)
    throw new Error(`the server does not start: ${server.errors}`);
  for (let i = 0; i < writes; i++) {
    const key = `/t/${i % KEYS}`;
    // From their first round on, the keys exist.
    if (i > KEYS && random.int(8) === 0)
      await server.request({ op: 'delete', key: `/t/${(i - 1) % KEYS}` });
    await server.request({ op: 'put', key, value: makeValue(`${key}#${i}`, VALUE_BYTES) });
    if (i === writes / 2) await server.request({ op: 'compact', revision: i - 5 });
  }
}

function isWriteTo(path: string) {
  return (
    operation: FileOperation,
  ): operation is Extract<FileOperation, { readonly kind: 'write' }> =>
    operation.kind === 'write' && operation.path === path;
}

/** Returns the content of the file after these operations. */
function replay(operations: readonly FileOperation[], path: string): Buffer {
  let bytes: Buffer = Buffer.alloc(0);
  for (const operation of operations) {
    if (operation.path !== path) continue;
    if (operation.kind === 'write') bytes = overlay(bytes, operation.offset, operation.data);
    if (operation.kind === 'truncate') bytes = bytes.subarray(0, operation.length);
  }
  return bytes;
}

function acksOf(operations: readonly FileOperation[], path: string): Ack[] {
  return parseAcks(replay(operations, path).toString('utf8'));
}

function overlay(bytes: Buffer, offset: number, data: Buffer): Buffer {
  const result = Buffer.alloc(Math.max(bytes.length, offset + data.length));
  bytes.copy(result);
  data.copy(result, offset);
  return result;
}
