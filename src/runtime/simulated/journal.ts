// A journal of the sandboxes and containers of simulated nodes: simulated containers survive a
// restart of the process, as real ones do.
//
// The file has JSON lines, which are appended as records change. At the start it is read, and
// rewritten if most of it is history. Changes of one turn of the event loop are written together.
// Nothing is synced: if a crash of the whole machine loses containers, the kubelet starts them
// again. Only one process at a time has the file open.

import { closeSync, fstatSync, mkdirSync, openSync, readSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { inNextTurn } from '#machinery/pending-work.ts';
import type { Logger } from '#machinery/log.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { appendLines, eachLine, type EncodedLine, Replacement, Scratch } from './journal-file.ts';
import {
  changeOf,
  encodeLine,
  isContainer,
  type Line,
  LineReader,
  shortLineOf,
  type ShortLine,
  type Stored,
} from './journal-lines.ts';
import {
  type LineSource,
  NodeReader,
  NodeRecords,
  type NodeSummary,
  type UsedImage,
} from './node-records.ts';

/** The records of one node, and the sink for their changes. */
export interface NodeJournal {
  /** See NodeRecords. */
  readonly idleImages: readonly UsedImage[] | undefined;
  /** Returns the records in short. Throws errors of the file system. */
  summary(): NodeSummary;
  /** Returns the records, which the caller may change. Throws errors of the file system. */
  read(): NodeContents;
  /** Reports whether `read` will return the present records. False: some could not be written. */
  readonly isComplete: boolean;
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

export interface NodeContents {
  readonly sandboxes: readonly SandboxRecord[];
  /** The containers of these sandboxes. */
  readonly containers: readonly ContainerRecord[];
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

const REWRITE_BYTES = 64 * 1024 * 1024;
/** Fewer lines of history than this do not lead to a rewrite. */
const SMALL_LINES = 1000;
/** The number of lines per write of a new file. */
const CHUNK_LINES = 500;
/** The number of bytes per read: a file of a million containers is larger than a buffer can be. */
const READ_BYTES = 4 * 1024 * 1024;

export class SimulationJournal {
  readonly #config: SimulationJournalConfig;
  /** By name. It includes nodes that are not simulated in this run. */
  readonly #nodes = new Map<string, NodeRecords>();
  /** Its bytes stay as they are. */
  readonly #source: LineSource;
  /** Its bytes are valid until the next read or write. */
  readonly #passing: LineSource;
  readonly #scratch = new Scratch();
  /** The file that lines are read from, also after a failed write. */
  #readFile: number | undefined;
  /** Undefined after a failed write. */
  #file: number | undefined;
  #pending: PendingLine[] = [];
  #scheduled = false;
  /** The length of the file, without and with the pending lines. */
  #length = 0;
  #end = 0;
  readonly #summaryReader = new LineReader({ addresses: true });
  #rewriting: Rewriting | undefined;
  /** The number of bytes appended since the last rewrite, and the length of the file then. */
  #appended = 0;
  #rewritten = 0;

  /** Reads the file, if it exists. Throws errors of the file system. */
  constructor(config: SimulationJournalConfig) {
    this.#config = config;
    const { path } = config;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#source = {
      read: (offset, length) => this.#lines(offset, length, Buffer.allocUnsafe(length)),
      onBroken: this.#onBroken,
    };
    this.#passing = {
      read: (offset, length) => this.#lines(offset, length),
      onBroken: this.#onBroken,
    };
    this.#file = openSync(path, 'a', 0o600);
    this.#readFile = openSync(path, 'r');
    const { lines, complete } = this.#readAll(this.#readFile);
    this.#length = fstatSync(this.#readFile).size;
    this.#end = this.#length;
    let records = 0;
    for (const node of this.#nodes.values()) records += node.size;
    // Half of it is history, or the last line is incomplete and the next one would be appended to
    // it.
    if (lines > 2 * records + SMALL_LINES || !complete) this.#rewrite();
  }

  node(name: string): NodeJournal {
    const node = this.#nodes.get(name) ?? new NodeRecords();
    this.#nodes.set(name, node);
    const append = (line: Line): void => this.#append(node, line);
    const isComplete = (): boolean => {
      this.#flush();
      return this.#file !== undefined || !node.hasChanged;
    };
    return {
      get idleImages() {
        return node.idleImages;
      },
      get isComplete() {
        return isComplete();
      },
      summary: () => node.summary(this.#passing, this.#summaryReader),
      read: () => {
        const records = [...node.read(this.#passing).values()];
        return {
          sandboxes: records.filter((record) => !isContainer(record)),
          containers: records.filter(isContainer),
        };
      },
      sandboxAdded: (record) => append(['sandbox', name, record]),
      containerAdded: (record) => append(['container', name, record]),
      changed: (record) => append(['changed', name, record.id, changeOf(record)]),
      removed: (id) => append(['removed', name, id]),
      flush: () => this.#flush(),
    };
  }

  /** Closes the file. Idempotent. */
  close(): void {
    this.#flush();
    this.#abandonRewrite();
    this.#closeFiles();
  }

  /** Returns the number of lines, and whether the last one was finished. */
  #readAll(file: number): { readonly lines: number; readonly complete: boolean } {
    const reader = new LineReader({ addresses: false });
    const nodes = new Map<string, NodeReader>();
    let lines = 0;
    const rest = eachLine(file, this.#config.readBytes ?? READ_BYTES, (bytes, offset) => {
      lines++;
      const line = reader.read(bytes);
      if (line === undefined) {
        this.#onBroken(new Error('it is no line of the journal'));
        return;
      }
      let node = nodes.get(line.node);
      if (node === undefined) nodes.set(line.node, (node = new NodeReader()));
      node.add(line, offset, bytes.length);
    });
    for (const [name, node] of nodes) this.#nodes.set(name, node.finish());
    return { lines, complete: rest === 0 };
  }

  /** `target`: default: memory that is valid until the next read or write. */
  #lines(offset: number, length: number, target?: Buffer): Buffer {
    if (offset + length > this.#length) this.#flush();
    if (this.#readFile === undefined) throw new Error('the journal is closed');
    const bytes = target ?? this.#scratch.take(length);
    if (readSync(this.#readFile, bytes, 0, length, offset) < length)
      throw new Error(`${this.#config.path} is shorter than it was`);
    return bytes;
  }

  /** A crash of the machine left an incomplete line, with others after it. */
  readonly #onBroken = (error: unknown): void => {
    const { logger, path } = this.#config;
    logger.warn('a line of the simulated containers cannot be read', { path, err: error });
  };

  #append(node: NodeRecords, line: Line): void {
    const text = encodeLine(line);
    const length = Buffer.byteLength(text);
    const short = shortLineOf(line, text)!;
    if (this.#file === undefined) {
      node.lose(short);
      return;
    }
    node.add(short, this.#end, length);
    this.#end += length + 1;
    this.#pending.push({ node, short, text, length });
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
    const file = this.#file;
    const lines = this.#pending;
    if (lines.length === 0 || file === undefined) return;
    this.#guard(() => {
      const size = appendLines(file, lines, this.#scratch);
      this.#pending = [];
      this.#appended += size;
      this.#length += size;
      this.#rewriting?.since.push(...lines);
    });
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
    const next = new Replacement(this.#config.path);
    const places = new Map<NodeRecords, number[]>();
    this.#rewriting = { next, places, since: [], steps: this.#writeAll(next, places) };
    return this.#rewriting;
  }

  /** Writes all records, and stops after each piece. */
  *#writeAll(next: Replacement, placesOf: Map<NodeRecords, number[]>): Generator<void> {
    for (const [name, node] of this.#nodes) {
      const places: number[] = [];
      for (const line of node.lines(this.#source)) {
        const bytes = Buffer.isBuffer(line) ? line : Buffer.from(encodeLine(lineOf(name, line)));
        places.push(next.put(bytes), bytes.length);
        if (next.waiting < CHUNK_LINES) continue;
        next.flush();
        yield;
      }
      placesOf.set(node, places);
    }
  }

  /** Replaces the file by the new one. */
  #endRewrite({ next, places, since }: Rewriting): void {
    // Pending lines have places in the old file.
    this.#flush();
    for (const { node, text, length } of since) {
      const of = places.get(node) ?? [];
      of.push(next.put(Buffer.from(text)), length);
      places.set(node, of);
    }
    const { file, length } = next.finish();
    const readFile = openSync(this.#config.path, 'r');
    this.#rewriting = undefined;
    this.#closeFiles();
    this.#file = file;
    this.#readFile = readFile;
    for (const [node, moved] of places) node.moved(moved);
    this.#rewritten = length;
    this.#length = length;
    this.#end = length;
    this.#appended = 0;
  }

  /** Gives up a new file that is not complete. */
  #abandonRewrite(): void {
    this.#rewriting?.next.abandon();
    this.#rewriting = undefined;
  }

  #closeFiles(): void {
    for (const file of [this.#file, this.#readFile]) if (file !== undefined) closeSync(file);
    this.#file = undefined;
    this.#readFile = undefined;
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
      for (const { node, short } of this.#pending) node.lose(short);
      this.#pending = [];
      rmSync(path, { force: true });
    }
  }
}

interface PendingLine extends EncodedLine {
  readonly node: NodeRecords;
  readonly short: ShortLine;
}

interface Rewriting {
  readonly next: Replacement;
  /** The places of the lines of each node in the new file. */
  readonly places: Map<NodeRecords, number[]>;
  /** Lines that were written to the old file since the beginning. */
  readonly since: PendingLine[];
  /** Each step writes a piece. */
  readonly steps: Iterator<void>;
}

function lineOf(node: string, record: Stored): Line {
  return isContainer(record) ? ['container', node, record] : ['sandbox', node, record];
}
