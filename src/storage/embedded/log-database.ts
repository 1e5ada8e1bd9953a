// The durable log on disk: one SQLite table with a row per revision.
//
// A write appends a row; what a row replaces is deleted when its history is compacted. So the newest row of a key is its
// current value, and the rows after the compaction revision are the history. The state lives in memory: nothing here is ever
// looked up by key, so the only index is the revision, and a commit touches few pages.
//
// Runs in the worker thread. Its errors are StorageError, except those of `commit`, `compact` and `probe`, which come from SQLite.

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
import type { Revision } from '../interface.ts';
import { StorageError } from '../interface.ts';
import { corrupt } from './corrupt.ts';
import { HeadMark } from './head-mark.ts';
import type { WorkerConfig } from './protocol.ts';
import { isIntact, sealRecords } from './record.ts';
import type { Database } from './sqlite.ts';
import { loadSqlite, sqliteFailure } from './sqlite.ts';

export const DATABASE_FILE = 'storage.db';
/** Has the process id of the owner of the database, for messages. The lock itself is SQLite's. */
const PID_FILE = 'storage.pid';

/** Marks the file as ours («Cox1» in ASCII). */
const APPLICATION_ID = 0x436f7831;
/** The version of the tables. Higher ones are refused; 1 did not count the rows that are kept. */
const FORMAT_VERSION = 2;
const PAGE_BYTES = 4096;
/**
 * Pages in the write-ahead log, about, before it is copied into the database. That takes some 10 µs a page, in which nothing is committed:
 * in small pieces it is over before the writers that go on meanwhile have to wait.
 */
const CHECKPOINT_PAGES = 500;
/** Pages that a transaction writes beside those that its rows fill: the path to them, and the tables' own. */
const TRANSACTION_PAGES = 4;
/** Sums of revisions are kept modulo this, so that they stay exact. */
const SUM_MODULUS = 2 ** 48;
/** Rows are handed over in pieces of at most this many bytes (but for one large record), which stay in memory while one of their values does. */
const LOAD_PIECE_BYTES = 256 * 1024;
/** Rows looked at together when the pieces are cut. */
const LOAD_ROWS = 1024;
/** Free pages given back to the file system with each compaction request, at least, and for each row that it deletes. */
const VACUUM_PAGES = 256;
const VACUUM_PAGES_PER_ROW = 1;
/** Fewer free pages than this are kept for rows to come. */
const SPARE_PAGES = 4096;
/** With room for this much, the store counts as able to write. */
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

/** From format 1 to 2. */
const COUNT_KEPT = `
  INSERT INTO meta SELECT 'kept_rows', count(*) FROM log
    WHERE revision <= (SELECT value FROM meta WHERE name = 'compacted_revision');
  INSERT INTO meta SELECT 'kept_sum', coalesce(sum(revision), 0) % ${SUM_MODULUS} FROM log
    WHERE revision <= (SELECT value FROM meta WHERE name = 'compacted_revision')`;

interface RowSize {
  readonly revision: Revision;
  /** The length of its record. */
  readonly bytes: number;
}

type Statement = ReturnType<Database['prepare']>;

interface Kept {
  readonly upTo: Revision;
  readonly rows: number;
  /** Modulo SUM_MODULUS. */
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
  /** The compaction revision, and of the rows up to it how many there are and the sum of their revisions: none goes unnoticed. */
  #kept: Kept;
  /** Pages written to the write-ahead log, about, since it was last copied. */
  #logPages = 0;
  /** A write has failed for another reason than lack of space: what the disk has is not known, and it is left alone. */
  #failed = false;

  private constructor(database: Database, dataDir: string) {
    this.#database = database;
    this.#dataDir = dataDir;
    this.#insert = database.prepare('INSERT INTO log VALUES (?, ?)');
    this.#delete = database.prepare('DELETE FROM log WHERE revision = ?');
    // Text in SQLite may be any bytes, and only text can be concatenated. 40 times faster than to fetch each row.
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
    this.#head = HeadMark.open(dataDir);
  }

  /** Opens or creates the database in the directory, and locks it for this thread until `close`. */
  static async open(config: WorkerConfig): Promise<LogDatabase> {
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
      // It holds a lock, and has no other owner that would close it.
      database?.close();
      throw openError(error, dataDir);
    }
  }

  /**
   * Fills an empty database with the newest records of keys, in order of revision and sealed, as the state at `revision`: no
   * revision before it can be read. Only what is finished is kept.
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
        // The lock goes with the write-ahead log and the next access, without waiting for the thread to end (see close).
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
      const found = { rows: 0, sum: 0 };
      for (;;) {
        const rows = sizes.all(last, LOAD_ROWS) as RowSize[];
        this.#checkGaps(last, rows);
        for (const { revision } of rows) {
          if (revision > this.compactedRevision) break;
          found.rows++;
          found.sum = (found.sum + revision) % SUM_MODULUS;
        }
        for (let begin = 0, end = 0; begin < rows.length; begin = end) {
          let bytes = 0;
          while (
            end < rows.length &&
            (end === begin || bytes + (rows[end] as RowSize).bytes <= LOAD_PIECE_BYTES)
          ) {
            bytes += (rows[end] as RowSize).bytes;
            end++;
          }
          handOver(this.#readPiece(rows.slice(begin, end), bytes));
        }
        last = rows.at(-1)?.revision ?? last;
        if (rows.length < LOAD_ROWS) break;
      }
      this.#checkKept(found);
      this.#checkHead(Math.max(last, this.compactedRevision));
    } catch (error) {
      throw openError(error, this.#dataDir);
    }
  }

  /** After the compaction revision there is a row for every revision. `last`: the revision before these rows. */
  #checkGaps(last: Revision, rows: readonly RowSize[]): void {
    let before = Math.max(last, this.compactedRevision);
    for (const { revision } of rows) {
      if (revision <= this.compactedRevision) continue;
      if (revision !== before + 1)
        throw corrupt(this.#dataDir, `revision ${before + 1} is missing`);
      before = revision;
    }
  }

  #checkKept(found: { readonly rows: number; readonly sum: number }): void {
    const { upTo, rows, sum } = this.#kept;
    if (found.rows === rows && found.sum === sum) return;
    throw corrupt(
      this.#dataDir,
      `of the ${rows} rows up to revision ${upTo}, ${found.rows} are there, or others than there should be`,
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

  /** The records of these rows, which are all that there are between the first and the last of them. */
  #readPiece(rows: readonly RowSize[], bytes: number): Uint8Array<ArrayBuffer> {
    const records = this.#concatenation(
      (rows[0] as RowSize).revision,
      (rows.at(-1) as RowSize).revision,
    );
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
    // It must have its buffer for itself, to be handed over.
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

  /** Deletes rows that nothing needs any more. The order matters only between calls. */
  compact(compactedRevision: Revision, obsolete: Float64Array): void {
    let kept = this.#kept;
    this.#transaction(() => {
      // After the old compaction revision there was a row for every revision.
      const { upTo } = this.#kept;
      let rows = this.#kept.rows + (compactedRevision - upTo);
      let sum = this.#kept.sum + sumOfRange(upTo + 1, compactedRevision);
      for (const revision of obsolete) {
        if (this.#delete.run(revision).changes !== 1)
          throw new Error(`the row of revision ${revision} is gone already`);
        rows--;
        sum -= revision;
      }
      kept = { upTo: compactedRevision, rows, sum: modulo(sum) };
      this.#setMeta.run(kept.upTo, 'compacted_revision');
      this.#setMeta.run(kept.rows, 'kept_rows');
      this.#setMeta.run(kept.sum, 'kept_sum');
    }, PAGE_BYTES * obsolete.length);
    this.#kept = kept;
    // Where writes go on at the same rate, the rows to come need the free pages again: only a surplus is given back.
    const free = readNumber(this.#database, 'PRAGMA freelist_count');
    if (free > SPARE_PAGES && free > readNumber(this.#database, 'PRAGMA page_count') / 2) {
      const pages = Math.max(VACUUM_PAGES, VACUUM_PAGES_PER_ROW * obsolete.length);
      this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
    }
  }

  /** Throws what a commit would throw now. */
  probe(): void {
    this.#transaction(
      () => this.#database.exec(`INSERT INTO probe VALUES (zeroblob(${PROBE_BYTES}))`),
      PROBE_BYTES,
    );
    this.#transaction(() => this.#database.exec('DELETE FROM probe'), PROBE_BYTES);
  }

  /**
   * Copies the write-ahead log into the database once it is long, so that it can begin anew. SQLite would do that by itself
   * inside a commit, but would say nothing when it fails: a sync of the database that failed, and worked when it was tried
   * again, may have lost what it was to keep. Throws what SQLite throws, but for lack of space: the log only grows until there is some.
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
   * No other call may follow. On some versions of Node the lock is released only when the thread ends, since statements cannot
   * be disposed of.
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

  /** `bytes`: how much it writes, about. */
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
        // After some errors SQLite has rolled back by itself, and there is no transaction any more. If there were one, the next
        // BEGIN would fail.
      }
      if (sqliteFailure(error) !== 'NoSpace') this.#failed = true;
      throw error;
    }
  }
}

/** Creates the file, readable by this user only, if there is none. Never opens an existing one: closing it would release SQLite's lock. */
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
  // The lock is taken by the first access and held until the database is closed. It also spares the shared-memory file.
  database.exec(
    `PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`,
  );
  const tables = readNumber(database, 'SELECT count(*) FROM sqlite_schema');
  const applicationId = readNumber(database, 'PRAGMA application_id');
  const version = readNumber(database, 'PRAGMA user_version');
  if (tables > 0 && applicationId !== APPLICATION_ID) {
    throw new StorageError(
      'Corrupt',
      `${join(dataDir, DATABASE_FILE)} is some other program's database: choose another data directory`,
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

/** first + … + last, modulo SUM_MODULUS; 0 for an empty range. */
function sumOfRange(first: Revision, last: Revision): number {
  const count = last - first + 1;
  // One of the two factors is even. They may be large, and only whole numbers below 2^53 are exact.
  const [half, other] = count % 2 === 0 ? [count / 2, first + last] : [count, (first + last) / 2];
  return Number((BigInt(half) * BigInt(other)) % BigInt(SUM_MODULUS));
}

/** The one number that the query answers. */
function readNumber(database: Database, sql: string): number {
  const row: unknown = database.prepare(sql).get();
  const value: unknown =
    typeof row === 'object' && row !== null ? Object.values(row)[0] : undefined;
  if (typeof value !== 'number')
    throw new StorageError('Corrupt', `the store's database is damaged: ${sql} has no answer`);
  return value;
}

/** The StorageError for whatever was thrown while the database was opened or read. */
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
    // It is only a hint: the owner of the lock may not have written it yet.
  }
  return 'another process';
}
