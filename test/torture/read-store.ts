// Reads a store on disk as a server finds it at its start, and compares it with the acknowledged
// writes.

import { LogDatabase } from '#storage/embedded/log-database.ts';
import { readWrites } from '#storage/embedded/record.ts';
import { StorageError } from '#storage/interface.ts';
import { nameOf } from './values.ts';

export interface FoundWrite {
  readonly revision: number;
  /** Absent: the key was deleted. */
  readonly value: string | undefined;
}

export type Found =
  | { readonly refused: StorageError }
  | {
      readonly refused?: undefined;
      readonly revision: number;
      readonly keys: ReadonlyMap<string, FoundWrite>;
    };

/**
 * Opens the store, with all repairs that opening makes, reads it and closes it. Throws every error
 * that is not a StorageError.
 */
export async function readStore(dataDir: string): Promise<Found> {
  let database: LogDatabase | undefined;
  try {
    database = await LogDatabase.open({ dataDir, maxBytes: undefined });
    let revision = database.compactedRevision;
    const keys = new Map<string, FoundWrite>();
    database.load((records) => {
      for (const write of readWrites(records)) {
        keys.set(write.key, {
          revision: write.revision,
          value: write.kv && new TextDecoder().decode(write.kv.value),
        });
        revision = Math.max(revision, write.revision);
      }
    });
    return { revision, keys };
  } catch (error) {
    if (error instanceof StorageError) return { refused: error };
    throw error;
  } finally {
    database?.close();
  }
}

/** A line of DIR/acks. */
export type Ack = readonly [revision: number, key: string, value: string | null];

export function parseAcks(text: string): Ack[] {
  // The last line may have been cut off.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Ack);
}

/**
 * Returns the problems of the store, given the writes that were acknowledged before. Empty: none.
 */
export function compare(found: Found, acks: readonly Ack[]): string[] {
  if (found.refused !== undefined) return [`it is refused: ${found.refused.message}`];
  const problems: string[] = [];
  const last = Math.max(1, ...acks.map(([revision]) => revision));
  if (found.revision < last)
    problems.push(`revision ${last} was acknowledged, the store is at ${found.revision}`);
  const newest = new Map<string, Ack>();
  for (const ack of acks) if ((newest.get(ack[1])?.[0] ?? 0) < ack[0]) newest.set(ack[1], ack);
  for (const [key, [revision, , value]] of newest) {
    const has = found.keys.get(key);
    if (has === undefined ? value !== null : has.revision < revision) {
      problems.push(`the write of ${key} at revision ${revision} was acknowledged, and is lost`);
    } else if (has?.revision === revision && (has.value ?? null) !== value) {
      problems.push(`${key} has another value at revision ${revision} than was acknowledged`);
    }
  }
  for (const [key, { value }] of found.keys) {
    if (value === undefined) continue;
    try {
      if (!nameOf(value).startsWith(`${key}#`)) problems.push(`${key} has a value of another key`);
    } catch (error) {
      problems.push(`${key}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return problems;
}
