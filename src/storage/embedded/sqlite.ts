// SQLite: built into Node where Node has it, from a package with the same API elsewhere.

import { isBuiltin } from 'node:module';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { StorageErrorReason } from '../interface.ts';

export type Database = DatabaseSyncInstance;

interface Sqlite {
  readonly DatabaseSync: new (path: string) => Database;
}

export async function loadSqlite(): Promise<Sqlite> {
  // Not a literal: bundlers and older type definitions do not know this module.
  const builtin: string = 'node:sqlite';
  const module: unknown = isBuiltin(builtin) ? await import(builtin) : await import('@photostructure/sqlite');
  return module as Sqlite;
}

// Primary result codes, https://www.sqlite.org/rescode.html.
/** The SQL does not fit the tables. */
const SQLITE_ERROR = 1;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** What an error that SQLite threw means; undefined if it did not come from SQLite. */
export function sqliteFailure(error: unknown): StorageErrorReason | 'Busy' | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  // The low byte of an extended result code is the primary one.
  switch (error.errcode & 0xff) {
    case SQLITE_BUSY:
      return 'Busy';
    case SQLITE_FULL:
      return 'NoSpace';
    case SQLITE_ERROR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return 'Corrupt';
    default:
      return 'Unavailable';
  }
}
