// A journal of the sandboxes and containers of simulated nodes: simulated containers survive a
// restart of the process, as real ones do.
//
// The file has JSON lines, which are appended as records change. At the start it is read, and
// rewritten if most of it is history. Changes of one turn of the event loop are written together.
// Nothing is synced: if a crash of the whole machine loses containers, the kubelet starts them
// again. Only one process at a time has the file open.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { LinuxContainerResources } from '#cri/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { shareParts } from '#machinery/collections/share-parts.ts';
import { inNextTurn } from '#machinery/pending-work.ts';
import { withSharedEnvironment } from './shared-environment.ts';

/** The records of one node when the journal was opened, and the sink for its changes. */
export interface NodeJournal {
  readonly sandboxes: readonly SandboxRecord[];
  /** The containers of these sandboxes. */
  readonly containers: readonly ContainerRecord[];
  sandboxAdded(record: SandboxRecord): void;
  containerAdded(record: ContainerRecord): void;
  /**
   * Records changed fields: the state of a sandbox; all fields of a container except those of its
   * creation.
   */
  changed(record: SandboxRecord | ContainerRecord): void;
  removed(id: string): void;
  /** Writes pending changes. */
  flush(): void;
}

export interface SimulationJournalConfig {
  readonly path: string;
  readonly logger: Logger;
  /**
   * The file is rewritten when this number of bytes was appended since the last rewrite, and at
   * least as many as it had then.
   */
  readonly rewriteBytes?: number;
  /** The number of bytes that are read at a time. Default: 4 MiB. */
  readonly readBytes?: number;
}

type Kind = 'sandbox' | 'container';
type Stored = SandboxRecord | ContainerRecord;

type Line =
  | readonly [op: 'sandbox', node: string, record: SandboxRecord]
  | readonly [op: 'container', node: string, record: ContainerRecord]
  | readonly [op: 'changed', node: string, id: string, change: Change]
  | readonly [op: 'removed', node: string, id: string];

const REWRITE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Fewer lines of history than this do not lead to a rewrite. */
const SMALL_LINES = 1000;
/** The number of lines per write. */
const CHUNK_LINES = 500;
/** The number of bytes per read: a file of a million containers is larger than a buffer can be. */
const READ_BYTES = 4 * 1024 * 1024;

export class SimulationJournal {
  readonly #config: SimulationJournalConfig;
  /**
   * By node, then by ID, sandboxes before their containers. It includes nodes that are not
   * simulated in this run.
   */
  readonly #nodes = new Map<string, Map<string, Stored>>();
  /** The last records that were read: neighbours in the file share their equal parts. */
  readonly #latest = new Map<Kind, object>();
  /** Undefined after a failed write. */
  #file: number | undefined;
  #pending: string[] = [];
  #scheduled = false;
  #rewriting: Rewriting | undefined;
  /** The number of bytes appended since the last rewrite, and the length of the file then. */
  #appended = 0;
  #rewritten = 0;

  /** Reads the file, if it exists. Throws errors of the file system. */
  constructor(config: SimulationJournalConfig) {
    this.#config = config;
    const { path } = config;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const { lines, complete } = existsSync(path) ? this.#read(path) : { lines: 0, complete: true };
    this.#latest.clear();
    this.#file = openSync(path, 'a', 0o600);
    let records = 0;
    for (const stored of this.#nodes.values()) records += stored.size;
    // Half of it is history, or the last line is incomplete and the next one would be appended to
    // it.
    if (lines > 2 * records + SMALL_LINES || !complete) this.#rewrite();
  }

  node(name: string): NodeJournal {
    const stored = this.#nodes.get(name) ?? new Map<string, Stored>();
    this.#nodes.set(name, stored);
    const records = [...stored.values()];
    return {
      sandboxes: records.filter((record) => !isContainer(record)),
      containers: records.filter(isContainer),
      sandboxAdded: (record) => {
        stored.set(record.id, record);
        this.#append(['sandbox', name, record]);
      },
      containerAdded: (record) => {
        stored.set(record.id, record);
        this.#append(['container', name, record]);
      },
      changed: (record) => this.#append(['changed', name, record.id, changeOf(record)]),
      removed: (id) => {
        stored.delete(id);
        this.#append(['removed', name, id]);
      },
      flush: () => this.#flush(),
    };
  }

  /** Closes the file. Idempotent. */
  close(): void {
    this.#flush();
    this.#abandonRewrite();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Returns the number of lines, and whether the last one was finished. */
  #read(path: string): { readonly lines: number; readonly complete: boolean } {
    const file = openSync(path, 'r');
    const chunk = Buffer.allocUnsafe(this.#config.readBytes ?? READ_BYTES);
    /** The beginning of a line that ends in a later chunk. */
    let begun: Buffer[] = [];
    let lines = 0;
    try {
      for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
        let start = 0;
        for (
          let end = chunk.indexOf(NEWLINE);
          end !== -1 && end < size;
          end = chunk.indexOf(NEWLINE, start)
        ) {
          const rest = chunk.subarray(start, end);
          this.#apply((begun.length === 0 ? rest : Buffer.concat([...begun, rest])).toString());
          begun = [];
          start = end + 1;
          lines++;
        }
        if (start < size) begun.push(Buffer.from(chunk.subarray(start, size)));
      }
    } finally {
      closeSync(file);
    }
    return { lines, complete: begun.length === 0 };
  }

  #apply(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch (error) {
      // A crash left an incomplete line, with others after it.
      this.#config.logger.warn('a line of the simulated containers cannot be read', {
        path: this.#config.path,
        err: error,
      });
      return;
    }
    const [op, node] = line;
    if (op === 'sandbox' || op === 'container') {
      shareParts(this.#latest.get(op), line[2]);
      this.#latest.set(op, line[2]);
    }
    let stored = this.#nodes.get(node);
    if (stored === undefined) this.#nodes.set(node, (stored = new Map()));
    switch (op) {
      case 'sandbox':
        shareTexts(line[2], line[2]);
        stored.set(line[2].id, line[2]);
        break;
      case 'container': {
        const [, , record] = line;
        const sandbox = stored.get(record.podSandboxId);
        if (sandbox !== undefined && !isContainer(sandbox)) shareTexts(sandbox, record);
        stored.set(record.id, withBytes(record));
        break;
      }
      case 'changed': {
        const record = stored.get(line[2]);
        if (record !== undefined) applyChange(record, line[3]);
        break;
      }
      case 'removed':
        stored.delete(line[2]);
    }
  }

  #append(line: Line): void {
    if (this.#file === undefined) return;
    this.#pending.push(encode(line));
    if (this.#scheduled) return;
    this.#scheduled = true;
    inNextTurn(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#appended > (this.#config.rewriteBytes ?? REWRITE_BYTES) + this.#rewritten)
        this.#rewriteInTurns();
    });
  }

  #flush(): void {
    const lines = this.#pending;
    this.#pending = [];
    if (lines.length === 0 || this.#file === undefined) return;
    this.#guard(() => (this.#appended += writeSync(this.#file as number, lines.join(''))));
    for (const line of lines) this.#rewriting?.next.since.push(line);
  }

  /** Writes a new file with the present records only, and replaces the old one. */
  #rewrite(): void {
    this.#guard(() => {
      const rewriting = this.#beginRewrite();
      while (rewriting.steps.next().done !== true) continue;
      this.#endRewrite(rewriting);
    });
  }

  /**
   * Does the same, one piece in each turn of the event loop. Changes meanwhile are written to the
   * old file, and to the new one when it has all records: repeating them there ends in their state.
   */
  #rewriteInTurns(): void {
    if (this.#rewriting !== undefined) return;
    const step = (rewriting: Rewriting): void => {
      // The journal was closed, or has failed.
      if (this.#rewriting !== rewriting) return;
      let done = false;
      this.#guard(() => {
        done = rewriting.steps.next().done === true;
        if (done) this.#endRewrite(rewriting);
      });
      if (!done) inNextTurn(() => step(rewriting));
    };
    this.#guard(() => step(this.#beginRewrite()));
  }

  #beginRewrite(): Rewriting {
    const file = openSync(`${this.#config.path}.new`, 'w', 0o600);
    const next: NewFile = { file, length: 0, since: [] };
    this.#rewriting = { next, steps: this.#writeAll(next) };
    return this.#rewriting;
  }

  /** Writes all records, and stops after each piece. */
  *#writeAll(next: NewFile): Generator<void, void> {
    let lines: string[] = [];
    const flush = (): void => {
      write(next, lines);
      lines = [];
    };
    for (const [node, stored] of this.#nodes) {
      for (const record of stored.values()) {
        lines.push(encode([isContainer(record) ? 'container' : 'sandbox', node, record] as Line));
        if (lines.length < CHUNK_LINES) continue;
        flush();
        yield;
      }
    }
    flush();
  }

  /** Replaces the file by the new one. */
  #endRewrite({ next }: Rewriting): void {
    const { path } = this.#config;
    write(next, next.since);
    renameSync(`${path}.new`, path);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = next.file;
    this.#rewritten = next.length;
    this.#rewriting = undefined;
    this.#appended = 0;
  }

  /** Gives up a new file that is not complete. */
  #abandonRewrite(): void {
    const rewriting = this.#rewriting;
    if (rewriting === undefined) return;
    this.#rewriting = undefined;
    closeSync(rewriting.next.file);
    rmSync(`${this.#config.path}.new`, { force: true });
  }

  /**
   * Runs a write. A file without one of the changes would be wrong: after a failure the journal is
   * deleted, and a restart begins without containers.
   */
  #guard(write: () => void): void {
    try {
      write();
    } catch (error) {
      const { path, logger } = this.#config;
      logger.error('simulated containers cannot be recorded, they will not survive a restart', {
        path,
        err: error,
      });
      this.#abandonRewrite();
      if (this.#file !== undefined) closeSync(this.#file);
      this.#file = undefined;
      this.#pending = [];
      rmSync(path, { force: true });
    }
  }
}

/** A file that will replace the present one. */
interface NewFile {
  readonly file: number;
  /** The number of bytes so far. */
  length: number;
  /** Lines that were written to the old file since the beginning. */
  readonly since: string[];
}

interface Rewriting {
  readonly next: NewFile;
  /** Each step writes a piece. */
  readonly steps: Iterator<void, void>;
}

function write(next: NewFile, lines: readonly string[]): void {
  if (lines.length > 0) next.length += writeSync(next.file, lines.join(''));
}

/**
 * Makes a record that was just parsed use the sandbox's own texts: the names and IDs of a pod are in
 * half a dozen places, and each would be kept in memory.
 */
function shareTexts(
  { id, config: { metadata } }: SandboxRecord,
  record: SandboxRecord | ContainerRecord,
): void {
  const texts = [metadata?.uid, metadata?.name, metadata?.namespace];
  const labels = record.config.labels as Record<string, string>;
  for (const [key, value] of Object.entries(labels ?? {})) {
    const text = texts.find((each) => each === value);
    if (text !== undefined) labels[key] = text;
  }
  if (isContainer(record)) Object.assign(record, { podSandboxId: id });
}

function isContainer(record: Stored): record is ContainerRecord {
  return 'podSandboxId' in record;
}

/** `resources`: of a container that was resized. */
type Change = Partial<Omit<ContainerRecord, 'state'>> & {
  readonly state: string;
  readonly resources?: LinuxContainerResources;
};

function changeOf(record: SandboxRecord | ContainerRecord): Change {
  if (!isContainer(record)) return { state: record.state };
  const { state, startedAt, finishedAt, exitCode, reason, message, config } = record;
  return {
    state,
    startedAt,
    finishedAt,
    exitCode,
    reason,
    message,
    resources: config.linux?.resources,
  };
}

function applyChange(
  record: SandboxRecord | ContainerRecord,
  { resources, ...fields }: Change,
): void {
  Object.assign(record, fields);
  if (resources === undefined || !isContainer(record)) return;
  const { config } = record;
  Object.assign(record, { config: { ...config, linux: { ...config.linux, resources } } });
}

/** Values of environment variables are bytes, which JSON cannot represent. */
function encode(line: Line): string {
  if (line[0] !== 'container') return `${JSON.stringify(line)}\n`;
  const [op, node, record] = line;
  const envs = record.config.envs?.map(({ key, value }) => ({ key, value: base64(value) }));
  return (
    JSON.stringify([
      op,
      node,
      envs === undefined ? record : { ...record, config: { ...record.config, envs } },
    ]) + '\n'
  );
}

function base64(value: Uint8Array | undefined): string | undefined {
  return value === undefined
    ? undefined
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
}

function withBytes(record: ContainerRecord): ContainerRecord {
  const encoded = record.config.envs as
    | readonly { readonly key?: string; readonly value?: string }[]
    | undefined;
  if (encoded === undefined) return record;
  const envs = encoded.map(({ key, value }) => ({
    key,
    value: value === undefined ? undefined : Buffer.from(value, 'base64'),
  }));
  return { ...record, config: withSharedEnvironment({ ...record.config, envs }) };
}
