// The sandboxes and containers of simulated nodes, in a file: simulated containers survive a
// restart of the process, as real ones do.
//
// The file is a journal of JSON lines, appended to as things change. On a start it is read, and
// rewritten if most of it is history. Changes of one turn of the event loop are written together.
// Nothing is synced: what a crash of the whole machine loses, the kubelet starts again. One process
// at a time has the file open.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { LinuxContainerResources } from '#cri/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { inNextTurn } from '#machinery/pending-work.ts';

/** The records of one node when the journal was opened, and the sink of its changes. */
export interface NodeJournal {
  readonly sandboxes: readonly SandboxRecord[];
  /** Containers of these sandboxes. */
  readonly containers: readonly ContainerRecord[];
  sandboxAdded(record: SandboxRecord): void;
  containerAdded(record: ContainerRecord): void;
  /**
   * Fields of the record have changed: of a sandbox its state; of a container everything but what
   * it was created with.
   */
  changed(record: SandboxRecord | ContainerRecord): void;
  removed(id: string): void;
  /** Writes what has not been written. */
  flush(): void;
}

export interface SimulationJournalConfig {
  readonly path: string;
  readonly logger: Logger;
  /**
   * The file is rewritten once so many bytes were appended since it was last as short as can be,
   * and as many as it had then.
   */
  readonly rewriteBytes?: number;
}

type Kind = 'sandbox' | 'container';
type Stored =
  | { readonly kind: 'sandbox'; record: SandboxRecord }
  | { readonly kind: 'container'; record: ContainerRecord };

type Line =
  | readonly [op: 'sandbox', node: string, record: SandboxRecord]
  | readonly [op: 'container', node: string, record: ContainerRecord]
  | readonly [op: 'changed', node: string, id: string, change: Change]
  | readonly [op: 'removed', node: string, id: string];

const REWRITE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
/** So many lines of history are not worth a rewrite. */
const SMALL_LINES = 1000;
/** Lines that are written at a time. */
const CHUNK_LINES = 500;

export class SimulationJournal {
  readonly #config: SimulationJournalConfig;
  /**
   * By node, then by id, sandboxes before their containers. Of nodes that are not simulated this
   * time, too.
   */
  readonly #nodes = new Map<string, Map<string, Stored>>();
  /** Absent after a write has failed. */
  #file: number | undefined;
  #pending: string[] = [];
  #scheduled = false;
  /** Bytes appended since the file was rewritten, and its length then. */
  #appended = 0;
  #rewritten = 0;

  /** Reads the file, if it is there. Throws what the file system does. */
  constructor(config: SimulationJournalConfig) {
    this.#config = config;
    const { path } = config;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const { lines, complete } = existsSync(path)
      ? this.#read(readFileSync(path))
      : { lines: 0, complete: true };
    this.#file = openSync(path, 'a', 0o600);
    let records = 0;
    for (const stored of this.#nodes.values()) records += stored.size;
    // Half of it is history, or the next line would be appended to one that was not finished.
    if (lines > 2 * records + SMALL_LINES || !complete) this.#rewrite();
  }

  node(name: string): NodeJournal {
    const stored = this.#nodes.get(name) ?? new Map<string, Stored>();
    this.#nodes.set(name, stored);
    const of = <K extends Kind>(kind: K) =>
      [...stored.values()].filter(
        (each): each is Extract<Stored, { kind: K }> => each.kind === kind,
      );
    return {
      sandboxes: of('sandbox').map(({ record }) => record),
      containers: of('container').map(({ record }) => record),
      sandboxAdded: (record) => {
        stored.set(record.id, { kind: 'sandbox', record });
        this.#append(['sandbox', name, record]);
      },
      containerAdded: (record) => {
        stored.set(record.id, { kind: 'container', record });
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

  /** Idempotent. */
  close(): void {
    this.#flush();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Returns the number of lines, and whether the last one was finished. */
  #read(bytes: Buffer): { readonly lines: number; readonly complete: boolean } {
    let lines = 0;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      this.#apply(bytes.toString('utf8', start, end));
      start = end + 1;
      lines++;
    }
    return { lines, complete: start === bytes.length };
  }

  #apply(text: string): void {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch (error) {
      // A line that a crash has left half written, with others after it.
      this.#config.logger.warn('a line of the simulated containers cannot be read', {
        path: this.#config.path,
        err: error,
      });
      return;
    }
    const [op, node] = line;
    let stored = this.#nodes.get(node);
    if (stored === undefined) this.#nodes.set(node, (stored = new Map()));
    switch (op) {
      case 'sandbox':
        stored.set(line[2].id, { kind: 'sandbox', record: line[2] });
        break;
      case 'container':
        stored.set(line[2].id, { kind: 'container', record: withBytes(line[2]) });
        break;
      case 'changed': {
        const record = stored.get(line[2])?.record;
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
        this.#rewrite();
    });
  }

  #flush(): void {
    const lines = this.#pending;
    this.#pending = [];
    if (lines.length === 0 || this.#file === undefined) return;
    this.#guard(() => (this.#appended += writeSync(this.#file as number, lines.join(''))));
  }

  /** Writes a file that has the present state only, and puts it in the place of the other. */
  #rewrite(): void {
    const { path } = this.#config;
    const next = `${path}.new`;
    this.#guard(() => {
      const file = openSync(next, 'w', 0o600);
      let length = 0;
      let lines: string[] = [];
      const flush = (): void => {
        length += writeSync(file, lines.join(''));
        lines = [];
      };
      try {
        for (const [node, stored] of this.#nodes) {
          for (const { kind, record } of stored.values()) {
            lines.push(encode([kind, node, record] as Line));
            if (lines.length >= CHUNK_LINES) flush();
          }
        }
        flush();
      } catch (error) {
        closeSync(file);
        rmSync(next, { force: true });
        throw error;
      }
      renameSync(next, path);
      if (this.#file !== undefined) closeSync(this.#file);
      this.#file = file;
      this.#rewritten = length;
      this.#appended = 0;
      this.#pending = [];
    });
  }

  /**
   * A file that misses a change would be wrong: after a failure there is none, and a restart begins
   * without containers.
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
      if (this.#file !== undefined) closeSync(this.#file);
      this.#file = undefined;
      this.#pending = [];
      rmSync(path, { force: true });
    }
  }
}

/** `resources`: of a container, which may be resized. */
type Change = Partial<Omit<ContainerRecord, 'state'>> & {
  readonly state: string;
  readonly resources?: LinuxContainerResources | undefined;
};

function changeOf(record: SandboxRecord | ContainerRecord): Change {
  if (!('podSandboxId' in record)) return { state: record.state };
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
  if (resources === undefined || !('podSandboxId' in record)) return;
  const { config } = record;
  Object.assign(record, { config: { ...config, linux: { ...config.linux, resources } } });
}

/** Values of environment variables are bytes, which JSON does not have. */
function encode(line: Line): string {
  if (line[0] !== 'container') return `${JSON.stringify(line)}\n`;
  const [op, node, record] = line;
  const envs = record.config.envs?.map(({ key, value }) => ({ key, value: base64(value) }));
  return `${JSON.stringify([op, node, envs === undefined ? record : { ...record, config: { ...record.config, envs } }])}\n`;
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
  return { ...record, config: { ...record.config, envs } };
}
