// The durable log on disk: one SQLite table with a row per revision.
//
// A write appends a row. The row that it replaces is deleted when its history is compacted. So the
// newest row of a key is its current value, and the rows after the compaction revision are the
// history. The state lives in memory: nothing is looked up by key here, so the only index is the
// revision, and a commit touches few pages.
//
// Runs in the worker thread. Its errors are StorageError, except those of `commit`, `compact` and
// `probe`, which come from SQLite.

import { errorMessage } from '#machinery/error-message.ts';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Revision, StorageError } from '../interface.ts';
import { corrupt } from './corrupt.ts';
import { HeadMark } from './head-mark.ts';
import type { DatabaseConfig } from './protocol.ts';
import { isIntact, sealRecords } from './record.ts';
import { type Database, loadSqlite, sqliteFailure } from './sqlite.ts';

export const DATABASE_FILE = 'storage.db';
/**
 * The file with the process id of the database's owner, for messages. SQLite holds the lock itself.
 */
const PID_FILE = 'storage.pid';

/** Marks the file as a Coxswain store («Cox1» in ASCII). */
const APPLICATION_ID = 0x436f7831;
/**
 * The version of the tables. A higher version is rejected. Version 1 did not count the kept rows.
 */
const FORMAT_VERSION = 2;
const PAGE_BYTES = 4096;
/**
 * The approximate number of pages in the write-ahead log at which it is copied into the database.
 * Copying takes about 10 µs a page, and blocks commits. Small pieces end before the waiting writers
 * notice.
 */
const CHECKPOINT_PAGES = 500;
/**
 * Pages that a transaction writes beside its rows' own: the path to them in the tree, and the pages
 * of the table of constants.
 */
const TRANSACTION_PAGES = 4;
/** Sums of revisions are kept modulo this number, so that they stay exact. */
const SUM_MODULUS = 2 ** 48;
/**
 * The maximum size of a piece in which rows are handed over (one larger record is a piece of its
 * own). A piece stays in memory as long as one of its values does.
 */
const LOAD_PIECE_BYTES = 256 * 1024;
/** The number of rows that are looked at together when the pieces are cut. */
const LOAD_ROWS = 1024;
/**
 * The minimum number of free pages that each compaction request returns to the file system. It also
 * returns one for each deleted row.
 */
const VACUUM_PAGES = 256;
const VACUUM_PAGES_PER_ROW = 1;
/** Up to this many free pages are kept for later rows. */
const SPARE_PAGES = 4096;
/** The store counts as writable if it has room for this many bytes. */
const PROBE_BYTES = 4 * PAGE_BYTES;

const SCHEMA = `
  CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO meta VALUES ('compacted_revision', 1), ('kept_rows', 0), ('kept_sum', 0);
  -- Always empty between probes.
  CREATE TABLE probe (data BLOB NOT NULL);
  -- One row per write.
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    record   BLOB NOT NULL
  );
`;

/** Migrates the tables from format 1 to 2. */
const COUNT_KEPT = `
  INSERT INTO meta SELECT 'kept_rows', count(*) FROM log
    WHERE revision <= (SELECT value FROM meta WHERE name = 'compacted_revision');
  INSERT INTO meta SELECT 'kept_sum', coalesce(sum(revision), 0) % ${SUM_MODULUS} FROM log
    WHERE revision <= (SELECT value FROM meta WHERE name = 'compacted_revision')`;

interface RowSize {
  readonly revision: Revision;
  /** The length of the row's record. */
  readonly bytes: number;
}

type Statement = ReturnType<Database['prepare']>;

interface Kept {
  readonly upTo: Revision;
  readonly rows: number;
  /** The sum of the revisions, modulo SUM_MODULUS. */
  readonly sum: number;
}

export class LogDatabase {
  readonly #database: Database;
  readonly #dataDir: string;
  readonly #insert: Statement;
  readonly #delete: Statement;
  readonly #concatenate: Statement;
  readonly #setMeta: Statement;
  readonly #head: HeadMark;
  readonly compactedRevision: Revision;
  /** The number of rows when the database was opened, if none is missing. */
  readonly rows: number;
  /**
   * The compaction revision, with the number of the rows up to it and the sum of their revisions. A
   * missing row is detected by them.
   */
  #kept: Kept;
  /** The approximate number of pages written to the write-ahead log since it was last copied. */
  #logPages = 0;
  /**
   * A write has failed for a reason other than lack of space. The state on disk is unknown, so
   * nothing more is written.
   */
  #failed = false;

  private constructor(database: Database, dataDir: string) {
    this.#database = database;
    this.#dataDir = dataDir;
    this.#insert = database.prepare('INSERT INTO log VALUES (?, ?)');
    this.#delete = database.prepare('DELETE FROM log WHERE revision = ?');
    // SQLite concatenates only text, and its text may be any bytes. One concatenation is 40 times
    // as fast as fetching each row.
    this.#concatenate = database.prepare(
      "SELECT CAST(group_concat(CAST(record AS TEXT), '') AS BLOB) AS records FROM " +
        '(SELECT record FROM log WHERE revision BETWEEN ? AND ? ORDER BY revision)',
    );
    this.#setMeta = database.prepare('UPDATE meta SET value = ? WHERE name = ?');
    const meta = (name: string): number =>
      readNumber(database, `SELECT value FROM meta WHERE name = '${name}'`);
    this.#kept = {
      upTo: meta('compacted_revision'),
      rows: meta('kept_rows'),
      sum: meta('kept_sum'),
    };
    this.compactedRevision = this.#kept.upTo;
    const last = readNumber(database, 'SELECT coalesce(max(revision), 0) FROM log');
    this.rows = this.#kept.rows + Math.max(0, last - this.#kept.upTo);
    this.#head = HeadMark.open(dataDir);
  }

  /** Opens or creates the database in the directory, and locks it for this thread until `close`. */
  static async open(config: DatabaseConfig): Promise<LogDatabase> {
    const { dataDir } = config;
    const { DatabaseSync } = await loadSqlite();
    let database: Database | undefined;
    try {
      const path = join(dataDir, DATABASE_FILE);
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      createPrivately(path, dataDir);
      database = new DatabaseSync(path);
      const opened = openTables(database, dataDir, config.maxBytes);
      writeFileSync(join(dataDir, PID_FILE), `${process.pid}\n`, { mode: 0o600 });
      return new LogDatabase(opened, dataDir);
    } catch (error) {
      // The database holds a lock, and no other code would close it.
      database?.close();
      throw openError(error, dataDir);
    }
  }

  /**
   * Returns functions that fill an empty database with the newest record of each key, in order of
   * revision and sealed, as the state at `revision`. Earlier revisions cannot be read. Only
   * `finish` makes the records durable.
   */
  restore(): {
    add(revision: Revision, record: Uint8Array): void;
    finish(revision: Revision): void;
    abandon(): void;
  } {
    this.#database.exec('BEGIN IMMEDIATE');
    let rows = 0;
    let sum = 0;
    return {
      add: (revision, record) => {
        this.#insert.run(revision, record);
        rows++;
        sum = (sum + revision) % SUM_MODULUS;
      },
      finish: (revision) => {
        this.#setMeta.run(revision, 'compacted_revision');
        this.#setMeta.run(rows, 'kept_rows');
        this.#setMeta.run(sum, 'kept_sum');
        this.#database.exec('COMMIT');
        // Leaving WAL mode releases the lock at the next access, before the thread ends (see
        // close).
        this.#database.exec(
          'PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT count(*) FROM meta',
        );
      },
      abandon: () => this.#database.exec('ROLLBACK'),
    };
  }

  /** Reads every row in order of revision and hands them over in pieces. Throws Corrupt. */
  load(handOver: (records: Uint8Array<ArrayBuffer>) => void): void {
    try {
      const sizes = this.#database.prepare(
        'SELECT revision, length(record) AS bytes FROM log WHERE revision > ? ORDER BY revision LIMIT ?',
      );
      let last = 0;
      const present = { rows: 0, sum: 0 };
      for (;;) {
        const rows = sizes.all(last, LOAD_ROWS) as RowSize[];
        this.#checkGaps(last, rows);
        for (const { revision } of rows) {
          if (revision > this.compactedRevision) break;
          present.rows++;
          present.sum = (present.sum + revision) % SUM_MODULUS;
        }
        for (let begin = 0, end = 0; begin < rows.length; begin = end) {
          let bytes = 0;
          while (
            end < rows.length &&
            (end === begin || bytes + rows[end]!.bytes <= LOAD_PIECE_BYTES)
          ) {
            bytes += rows[end]!.bytes;
            end++;
          }
          handOver(this.#readPiece(rows.slice(begin, end), bytes));
        }
        last = rows.at(-1)?.revision ?? last;
        if (rows.length < LOAD_ROWS) break;
      }
      this.#checkKept(present);
      this.#checkHead(Math.max(last, this.compactedRevision));
    } catch (error) {
      throw openError(error, this.#dataDir);
    }
  }

  /**
   * Checks that there is a row for every revision after the compaction revision. `last`: the
   * revision before these rows.
   */
  #checkGaps(last: Revision, rows: readonly RowSize[]): void {
    let before = Math.max(last, this.compactedRevision);
    for (const { revision } of rows) {
      if (revision <= this.compactedRevision) continue;
      if (revision !== before + 1)
        throw corrupt(this.#dataDir, `revision ${before + 1} is missing`);
      before = revision;
    }
  }

  #checkKept(present: { readonly rows: number; readonly sum: number }): void {
    const { upTo, rows, sum } = this.#kept;
    if (present.rows === rows && present.sum === sum) return;
    throw corrupt(
      this.#dataDir,
      `of the ${rows} rows up to revision ${upTo}, ${present.rows} are present, or the wrong ones`,
    );
  }

  /** Checks that the last acknowledged write is present. A log that ends earlier was not cut by a crash but damaged. */
  #checkHead(last: Revision): void {
    const acknowledged = this.#head.read();
    if (acknowledged === undefined || acknowledged <= last) return;
    throw corrupt(
      this.#dataDir,
      `revision ${acknowledged} was acknowledged, and ${DATABASE_FILE} with its log ends at revision ${last}`,
    );
  }

  /**
   * Returns the records of these rows, which must be all rows between the first and the last of
   * them.
   */
  #readPiece(rows: readonly RowSize[], bytes: number): Uint8Array<ArrayBuffer> {
    const records = this.#concatenation(rows[0]!.revision, rows.at(-1)!.revision);
    if (records.length !== bytes)
      throw corrupt(
        this.#dataDir,
        `${rows.length} rows have ${records.length} bytes, not ${bytes}`,
      );
    let at = 0;
    for (const { revision, bytes: size } of rows) {
      if (!isIntact(records.subarray(at, at + size), revision)) {
        throw corrupt(this.#dataDir, `the row of revision ${revision} does not match its checksum`);
      }
      at += size;
    }
    return records;
  }

  #concatenation(first: Revision, last: Revision): Uint8Array<ArrayBuffer> {
    const { records } = this.#concatenate.get(first, last) as { readonly records: unknown };
    if (!(records instanceof Uint8Array))
      throw corrupt(this.#dataDir, `the rows of revisions ${first} to ${last} have no data`);
    // The records need a buffer of their own, which is transferred to the main thread.
    return records.buffer instanceof ArrayBuffer && records.buffer.byteLength === records.length
      ? new Uint8Array(records.buffer)
      : new Uint8Array(records);
  }

  /** Commits the records durably, all or none. */
  commit(records: Uint8Array): void {
    let last = 0;
    this.#transaction(() => {
      for (const { revision, record } of sealRecords(records)) {
        this.#insert.run(revision, record);
        last = revision;
      }
    }, records.length);
    this.#head.write(last);
  }

  /** Deletes obsolete rows in one transaction. Their order matters only between calls. */
  compact(compactedRevision: Revision, obsolete: Float64Array): void {
    let kept = this.#kept;
    this.#transaction(() => {
      // Every revision after the old compaction revision has a row.
      const { upTo } = this.#kept;
      let rows = this.#kept.rows + (compactedRevision - upTo);
      let sum = this.#kept.sum + sumOfRange(upTo + 1, compactedRevision);
      for (const revision of obsolete) {
        if (this.#delete.run(revision).changes !== 1)
          throw new Error(`the row of revision ${revision} does not exist`);
        rows--;
        sum -= revision;
      }
      kept = { upTo: compactedRevision, rows, sum: modulo(sum) };
      this.#setMeta.run(kept.upTo, 'compacted_revision');
      this.#setMeta.run(kept.rows, 'kept_rows');
      this.#setMeta.run(kept.sum, 'kept_sum');
    }, PAGE_BYTES * obsolete.length);
    this.#kept = kept;
    // If writes go on at the same rate, later rows need the free pages again. Only a surplus is
    // returned.
    const free = readNumber(this.#database, 'PRAGMA freelist_count');
    if (free > SPARE_PAGES && free > readNumber(this.#database, 'PRAGMA page_count') / 2) {
      const pages = Math.max(VACUUM_PAGES, VACUUM_PAGES_PER_ROW * obsolete.length);
      this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
    }
  }

  /** Throws the error that a commit would throw now. */
  probe(): void {
    this.#transaction(
      () => this.#database.exec(`INSERT INTO probe VALUES (zeroblob(${PROBE_BYTES}))`),
      PROBE_BYTES,
    );
    this.#transaction(() => this.#database.exec('DELETE FROM probe'), PROBE_BYTES);
  }

  /**
   * Copies the write-ahead log into the database if it has grown long, so that it can restart from
   * its beginning. SQLite could do so itself inside a commit, but would not report a failure: after
   * a failed sync of the database, data may be lost even if a later sync succeeds. Throws SQLite's
   * errors, except lack of space: then the log only grows until there is space.
   */
  checkpointIfDue(): void {
    if (this.#logPages < CHECKPOINT_PAGES) return;
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
      this.#logPages = 0;
    } catch (error) {
      if (sqliteFailure(error) !== 'NoSpace') {
        this.#failed = true;
        throw error;
      }
      this.#logPages = CHECKPOINT_PAGES / 2;
    }
  }

  /**
   * Closes the database. No other call may follow. On some versions of Node the lock is released
   * only when the thread ends, since statements cannot be finalized.
   */
  close(): void {
    try {
      if (!this.#failed) this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.#head.close();
      rmSync(join(this.#dataDir, PID_FILE), { force: true });
      this.#database.close();
    }
  }

  /** Runs the function in a transaction. `bytes`: about how many bytes it writes. */
  #transaction(run: () => void, bytes: number): void {
    this.#logPages += TRANSACTION_PAGES + Math.ceil(bytes / PAGE_BYTES);
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      run();
      this.#database.exec('COMMIT');
    } catch (error) {
      try {
        this.#database.exec('ROLLBACK');
      } catch {
        // After some errors SQLite has rolled back by itself, so there may be no transaction to
        // roll back. If one were still open, the next BEGIN would fail.
      }
      if (sqliteFailure(error) !== 'NoSpace') this.#failed = true;
      throw error;
    }
  }
}

/**
 * Creates the file, readable by this user only, if it does not exist. Never opens an existing file:
 * closing it would release SQLite's lock.
 */
function createPrivately(path: string, dataDir: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    throw error;
  }
  const directory = openSync(dataDir, 'r');
  fsyncSync(directory);
  closeSync(directory);
}

function openTables(database: Database, dataDir: string, maxBytes: number | undefined): Database {
  // The first access takes the lock and holds it until the database is closed. Exclusive locking
  // also makes the shared-memory file unnecessary.
  database.exec(
    `PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`,
  );
  const tables = readNumber(database, 'SELECT count(*) FROM sqlite_schema');
  const applicationId = readNumber(database, 'PRAGMA application_id');
  const version = readNumber(database, 'PRAGMA user_version');
  if (tables > 0 && applicationId !== APPLICATION_ID) {
    throw new StorageError(
      'Corrupt',
      `${join(dataDir, DATABASE_FILE)} is the database of another program: choose another data directory`,
    );
  }
  if (version > FORMAT_VERSION) {
    throw new StorageError(
      'Corrupt',
      `the store in ${dataDir} has format ${version}, and this program knows formats up to ${FORMAT_VERSION}: ` +
        'run the newer version that wrote it, or choose another data directory',
    );
  }
  if (tables > 0 && version < 1) throw corrupt(dataDir, `it says that its format is ${version}`);
  database.exec(
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0`,
  );
  if (maxBytes !== undefined)
    database.exec(`PRAGMA max_page_count = ${Math.max(16, Math.floor(maxBytes / PAGE_BYTES))}`);
  database.exec('BEGIN EXCLUSIVE');
  if (tables === 0) {
    database.exec(SCHEMA);
    database.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}`,
    );
  } else if (version < FORMAT_VERSION) {
    database.exec(`${COUNT_KEPT}; PRAGMA user_version = ${FORMAT_VERSION}`);
  }
  database.exec('COMMIT');
  return database;
}

function modulo(sum: number): number {
  return ((sum % SUM_MODULUS) + SUM_MODULUS) % SUM_MODULUS;
}

/** Returns first + … + last, modulo SUM_MODULUS; 0 for an empty range. */
function sumOfRange(first: Revision, last: Revision): number {
  const count = last - first + 1;
  // One of the two factors is even and is halved. The factors may be large, and only integers below
  // 2^53 are exact.
  const [half, other] = count % 2 === 0 ? [count / 2, first + last] : [count, (first + last) / 2];
  return Number((BigInt(half) * BigInt(other)) % BigInt(SUM_MODULUS));
}

/** Returns the first column of the query's only row, which must be a number. */
function readNumber(database: Database, sql: string): number {
  const row: unknown = database.prepare(sql).get();
  const value: unknown =
    typeof row === 'object' && row !== null ? Object.values(row)[0] : undefined;
  if (typeof value !== 'number')
    throw new StorageError('Corrupt', `the store's database is damaged: ${sql} returned no row`);
  return value;
}

/** Returns the StorageError for an error that was thrown while the database was opened or read. */
function openError(error: unknown, dataDir: string): StorageError {
  if (error instanceof StorageError) return error;
  const message = errorMessage(error);
  switch (sqliteFailure(error)) {
    case 'Busy':
      return new StorageError(
        'Unavailable',
        `the store in ${dataDir} is in use by ${holder(dataDir)}: stop it, or choose another data directory`,
      );
    case 'Corrupt':
      return corrupt(dataDir, message);
    case 'ReadOnly':
      if (isWritable(join(dataDir, DATABASE_FILE))) return corrupt(dataDir, message);
      return new StorageError(
        'Unavailable',
        `the store in ${dataDir} cannot be opened: ${DATABASE_FILE} must not be written`,
        {
          cause: error,
        },
      );
    case 'NoSpace':
      return new StorageError('NoSpace', `no space for the store in ${dataDir}: ${message}`, {
        cause: error,
      });
    default:
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
        return new StorageError('NoSpace', `no space for the store in ${dataDir}: ${message}`, {
          cause: error,
        });
      }
      return new StorageError(
        'Unavailable',
        `the store in ${dataDir} cannot be opened: ${message}`,
        { cause: error },
      );
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns a description of the process that has the database open, for messages. */
export function holder(dataDir: string): string {
  try {
    const pid = Number.parseInt(readFileSync(join(dataDir, PID_FILE), 'utf8'), 10);
    if (pid === process.pid) return 'this process itself';
    if (pid > 0) return `process ${pid}`;
  } catch {
    // The file is only a hint: the owner of the lock may not have written it yet.
  }
  return 'another process';
}
