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
/** Fewer lines of history than this do not lead to a rewrite. */
const SMALL_LINES = 1000;
/** The number of lines per write. */
const CHUNK_LINES = 500;

export class SimulationJournal {
  readonly #config: SimulationJournalConfig;
  /**
   * By node, then by ID, sandboxes before their containers. It includes nodes that are not
   * simulated in this run.
   */
  readonly #nodes = new Map<string, Map<string, Stored>>();
  /** Undefined after a failed write. */
  #file: number | undefined;
  #pending: string[] = [];
  #scheduled = false;
  /** The number of bytes appended since the last rewrite, and the length of the file then. */
  #appended = 0;
  #rewritten = 0;

  /** Reads the file, if it exists. Throws errors of the file system. */
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
    // Half of it is history, or the last line is incomplete and the next one would be appended to
    // it.
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

  /** Closes the file. Idempotent. */
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
      // A crash left an incomplete line, with others after it.
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

  /** Writes a new file with the present records only, and replaces the old one. */
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
      if (this.#file !== undefined) closeSync(this.#file);
      this.#file = undefined;
      this.#pending = [];
      rmSync(path, { force: true });
    }
  }
}

/** `resources`: of a container that was resized. */
type Change = Partial<Omit<ContainerRecord, 'state'>> & {
  readonly state: string;
  readonly resources?: LinuxContainerResources;
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
