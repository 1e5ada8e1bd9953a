// Loads SQLite: from Node if it has it built in, else from a package with the same API.

import { isBuiltin } from 'node:module';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { StorageErrorReason } from '../interface.ts';

export type Database = DatabaseSyncInstance;

interface Sqlite {
  readonly DatabaseSync: new (path: string) => Database;
}

export async function loadSqlite(): Promise<Sqlite> {
  // The name is not a literal, because bundlers and older type definitions do not have this module.
  const builtin: string = 'node:sqlite';
  const module: unknown = isBuiltin(builtin)
    ? await import(builtin)
    : await import('@photostructure/sqlite');
  return module as Sqlite;
}

// Primary result codes, https://www.sqlite.org/rescode.html.
/** The SQL does not fit the tables. */
const SQLITE_ERROR = 1;
const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
/** The rows do not fit the tables. */
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_NOTADB = 26;

/**
 * Codes by message: the package that is used on older versions of Node throws query errors without
 * a code.
 */
const CODE_OF_MESSAGE: ReadonlyMap<string, number> = new Map([
  ['database is locked', SQLITE_BUSY],
  ['attempt to write a readonly database', SQLITE_READONLY],
  ['database disk image is malformed', SQLITE_CORRUPT],
  ['database or disk is full', SQLITE_FULL],
  ['constraint failed', SQLITE_CONSTRAINT],
  ['datatype mismatch', SQLITE_MISMATCH],
  ['file is not a database', SQLITE_NOTADB],
]);

/**
 * Classifies an error that SQLite threw; undefined if it did not come from SQLite. `ReadOnly`: the
 * file is not writable, or it is damaged so that it marks itself read-only.
 */
export function sqliteFailure(
  error: unknown,
): StorageErrorReason | 'Busy' | 'ReadOnly' | undefined {
  if (!(error instanceof Error)) return undefined;
  switch (primaryCode(error)) {
    case undefined:
      return undefined;
    case SQLITE_BUSY:
      return 'Busy';
    case SQLITE_FULL:
      return 'NoSpace';
    case SQLITE_READONLY:
      return 'ReadOnly';
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_NOTADB:
      return 'Corrupt';
    default:
      return 'Unavailable';
  }
}

function primaryCode(error: Error): number | undefined {
  // The low byte of an extended result code is the primary one.
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  return 'code' in error && error.code === 'ERR_SQLITE_ERROR'
    ? (CODE_OF_MESSAGE.get(error.message) ?? 0)
    : undefined;
}
