// Finds out which process has a store open.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE, holder } from './log-database.ts';
import { type Database, loadSqlite, sqliteFailure } from './sqlite.ts';

/**
 * Returns a description of the process that has the store in `dataDir` open ("process 4711"), or
 * undefined if none has. A store that is missing, damaged or unreadable counts as not open. Must
 * not be called in the process that has the store open: closing this function's file would release
 * that process's lock.
 */
export async function storeHolder(dataDir: string): Promise<string | undefined> {
  const path = join(dataDir, DATABASE_FILE);
  if (!existsSync(path)) return undefined;
  const { DatabaseSync } = await loadSqlite();
  let database: Database | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec('BEGIN IMMEDIATE; ROLLBACK');
    return undefined;
  } catch (error) {
    return sqliteFailure(error) === 'Busy' ? holder(dataDir) : undefined;
  } finally {
    database?.close();
  }
}
