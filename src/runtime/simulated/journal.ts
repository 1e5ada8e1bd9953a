// A journal of the sandboxes and containers of simulated nodes: simulated containers survive a
// restart of the process, as real ones do.
//
// The file has JSON lines, which are appended as records change. At the start only the places of
// each node's lines are noted; the records are made when the node's runtime is, and are forgotten
// with it as long as nothing has changed. The file is rewritten if most of it is history. Changes of
// one turn of the event loop are written together.
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
import { inNextTurn } from '#machinery/pending-work.ts';
import type { Logger } from '#machinery/log.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import {
  changeOf,
  encode,
  headOf,
  isContainer,
  type Line,
  RecordReader,
  type Stored,
} from './journal-lines.ts';

/** The records of one node, and the sink for its changes. */
export interface NodeJournal {
  /** Returns the present records. Throws errors of the file system. */
  records(): {
    readonly sandboxes: readonly SandboxRecord[];
    /** The containers of these sandboxes. */
    readonly containers: readonly ContainerRecord[];
  };
  /**
   * Forgets the records, which are read again when they are needed. Returns false if they have
   * changed since they were read: then they stay.
   */
  forget(): boolean;
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

/** A node's part of the journal. At least one of `places` and `records` is there. */
interface NodePart {
  /**
   * Where its lines are in the file: offsets and lengths in turns. Undefined: the records have
   * changed since they were read.
   */
  places: number[] | undefined;
  /** By ID, sandboxes before their containers. Undefined: they are not in memory. */
  records: Map<string, Stored> | undefined;
  /** Whether some of its lines are history. */
  hasHistory: boolean;
}

const REWRITE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Fewer lines of history than this do not lead to a rewrite. */
const SMALL_LINES = 1000;
/** The number of bytes that a rewrite writes in one turn. */
const CHUNK_BYTES = 1024 * 1024;
/** The number of bytes per read: a file of a million containers is larger than a buffer can be. */
const READ_BYTES = 4 * 1024 * 1024;

export class SimulationJournal {
  readonly #config: SimulationJournalConfig;
  /** By node. It includes nodes that are not simulated in this run. */
  readonly #nodes = new Map<string, NodePart>();
  readonly #reader = new RecordReader();
  /** The file with the places of nodes, which outlives a failed write. Undefined: there was none. */
  #source: number | undefined;
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
    const { lines, records, complete } = existsSync(path)
      ? this.#scan(path)
      : { lines: 0, records: 0, complete: true };
    this.#file = openSync(path, 'a', 0o600);
    // Half of it is history, or the last line is incomplete and the next one would be appended to
    // it.
    if (lines > 2 * records + SMALL_LINES || !complete) this.#rewrite();
  }

  node(name: string): NodeJournal {
    const part = this.#partOf(name);
    const change = (line: Line, apply?: (records: Map<string, Stored>) => void): void => {
      const records = this.#recordsOf(part);
      part.places = undefined;
      apply?.(records);
      this.#append(line);
    };
    const add = (op: 'sandbox' | 'container', record: Stored): void =>
      change([op, name, record] as Line, (records) => records.set(record.id, record));
    return {
      records: () => {
        const records = [...this.#recordsOf(part).values()];
        return {
          sandboxes: records.filter((record) => !isContainer(record)),
          containers: records.filter(isContainer),
        };
      },
      forget: () => {
        if (part.places === undefined) return false;
        part.records = undefined;
        return true;
      },
      sandboxAdded: (record) => add('sandbox', record),
      containerAdded: (record) => add('container', record),
      changed: (record) => change(['changed', name, record.id, changeOf(record)]),
      removed: (id) => change(['removed', name, id], (records) => records.delete(id)),
      flush: () => this.#flush(),
    };
  }

  /** Closes the file. Idempotent. */
  close(): void {
    this.#flush();
    this.#abandonRewrite();
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    if (this.#source !== undefined) closeSync(this.#source);
    this.#source = undefined;
  }

  #partOf(name: string): NodePart {
    let part = this.#nodes.get(name);
    if (part === undefined) {
      part = { places: [], records: undefined, hasHistory: false };
      this.#nodes.set(name, part);
    }
    return part;
  }

  #recordsOf(part: NodePart): Map<string, Stored> {
    if (part.records !== undefined) return part.records;
    const records = new Map<string, Stored>();
    for (const text of this.#linesOf(part.places ?? [])) {
      try {
        this.#reader.apply(records, text);
      } catch (error) {
        // A crash left an incomplete line, with others after it.
        this.#config.logger.warn('a line of the simulated containers cannot be read', {
          path: this.#config.path,
          err: error,
        });
      }
    }
    return (part.records = records);
  }

  *#linesOf(places: readonly number[]): Generator<string> {
    for (let i = 0; i < places.length; i += 2)
      yield* this.#bytesAt(places[i]!, places[i + 1]!)
        .toString()
        .trimEnd()
        .split('\n');
  }

  #bytesAt(offset: number, length: number): Buffer {
    if (this.#source === undefined) throw new Error('the journal is closed');
    const bytes = Buffer.allocUnsafe(length);
    const read = readSync(this.#source, bytes, 0, length, offset);
    if (read < length) throw new Error(`${this.#config.path} is shorter than before`);
    return bytes;
  }

  /**
   * Notes the places of the lines. Returns the number of lines and of records, and whether the last
   * line was finished.
   */
  #scan(path: string): {
    readonly lines: number;
    readonly records: number;
    readonly complete: boolean;
  } {
    const file = (this.#source = openSync(path, 'r'));
    const chunk = Buffer.allocUnsafe(this.#config.readBytes ?? READ_BYTES);
    /** The beginning of a line that ends in a later chunk. */
    let begun: Buffer[] = [];
    let [lines, records, offset] = [0, 0, 0];
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      let start = 0;
      for (
        let end = chunk.indexOf(NEWLINE);
        end !== -1 && end < size;
        end = chunk.indexOf(NEWLINE, start)
      ) {
        const rest = chunk.subarray(start, end);
        const line = begun.length === 0 ? rest : Buffer.concat([...begun, rest]);
        begun = [];
        records += this.#note(line, offset);
        offset += line.length + 1;
        start = end + 1;
        lines++;
      }
      if (start < size) begun.push(Buffer.from(chunk.subarray(start, size)));
    }
    return { lines, records, complete: begun.length === 0 };
  }

  /** Notes the place of a line. Returns by how many records there are more. */
  #note(line: Buffer, offset: number): number {
    const head = headOf(line);
    if (head === undefined) {
      this.#config.logger.warn('a line of the simulated containers cannot be read', {
        path: this.#config.path,
      });
      return 0;
    }
    const part = this.#partOf(head.node);
    addPlace((part.places ??= []), offset, line.length + 1);
    if (head.op === 'sandbox' || head.op === 'container') return 1;
    part.hasHistory = true;
    return head.op === 'removed' ? -1 : 0;
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
    const next: NewFile = { file, length: 0, since: [], places: new Map() };
    this.#rewriting = { next, steps: this.#writeAll(next) };
    return this.#rewriting;
  }

  /** Writes all records, and stops after each piece. */
  *#writeAll(next: NewFile): Generator<void, void> {
    let written = 0;
    for (const [node, part] of this.#nodes) {
      const from = next.length;
      if (part.records === undefined && !part.hasHistory) {
        const { places = [] } = part;
        for (let i = 0; i < places.length; i += 2)
          write(next, this.#bytesAt(places[i]!, places[i + 1]!));
      } else {
        const isInMemory = part.records !== undefined;
        const records = this.#recordsOf(part);
        const lines = [...records.values()].map((record) =>
          encode([isContainer(record) ? 'container' : 'sandbox', node, record] as Line),
        );
        if (!isInMemory) part.records = undefined;
        write(next, Buffer.from(lines.join('')));
      }
      next.places.set(part, next.length > from ? [from, next.length - from] : []);
      written += next.length - from;
      if (written < CHUNK_BYTES) continue;
      written = 0;
      yield;
    }
  }

  /** Replaces the file by the new one. */
  #endRewrite({ next }: Rewriting): void {
    const { path } = this.#config;
    write(next, Buffer.from(next.since.join('')));
    renameSync(`${path}.new`, path);
    if (this.#source !== undefined) closeSync(this.#source);
    this.#source = openSync(path, 'r');
    for (const [part, places] of next.places) {
      part.hasHistory = false;
      // A node that has changed meanwhile has further lines.
      if (part.places !== undefined) part.places = places;
    }
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
  /** Where the lines of nodes are. */
  readonly places: Map<NodePart, number[]>;
}

interface Rewriting {
  readonly next: NewFile;
  /** Each step writes a piece. */
  readonly steps: Iterator<void, void>;
}

function write(next: NewFile, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(next.file, bytes, at);
  next.length += bytes.length;
}

/** Adds a place. Neighbours are one place. */
function addPlace(places: number[], offset: number, length: number): void {
  const last = places.length - 2;
  const end = last < 0 ? undefined : places[last]! + places[last + 1]!;
  if (end === offset) places[last + 1]! += length;
  else places.push(offset, length);
}
