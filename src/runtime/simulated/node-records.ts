// The records of one simulated node in the journal. Until they are asked for they are in the file
// only: the place of each line is known, and what all lines say in short.

import type { ImageSpec, RuntimeOutline } from '#cri/index.ts';
import { shareParts } from '#machinery/collections/share-parts.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import {
  applyChange,
  decodeLine,
  isContainer,
  type Line,
  type ShortLine,
  type Stored,
} from './journal-lines.ts';
import { withSharedEnvironment } from './shared-environment.ts';

/** The sandboxes and containers of a node in short. */
export interface NodeOutline extends RuntimeOutline {
  /** Each once, with the reference that the image had. */
  readonly images: readonly OutlinedImage[];
  /**
   * True: no container has a command, and nothing is simulated by annotations. So no container does
   * anything by itself, unless its image has a default command.
   */
  readonly isIdle: boolean;
}

type OutlinedSandbox = RuntimeOutline['sandboxes'][number];
type OutlinedContainer = RuntimeOutline['containers'][number];

interface OutlinedImage {
  readonly spec: ImageSpec;
  readonly ref: string;
}

/** The file. */
export interface LineSource {
  /** Reads the bytes of a line without its newline. */
  read(offset: number, length: number): Buffer;
  /** Called for a line that cannot be parsed, and counts as absent. */
  onBroken(error: unknown): void;
}

/** Records that are in the file only. */
interface Unread {
  /** The offset and the length of each line, one after the other. */
  readonly places: readonly number[];
  /** The number of records. */
  readonly size: number;
  /** There are lines of records that are gone. */
  readonly hasRemoved: boolean;
}

export class NodeRecords {
  #unread: Unread | undefined;
  #outline: NodeOutline | undefined;
  /** By ID, sandboxes before their containers. */
  #records: Map<string, Stored> | undefined;

  /** Without arguments: a node without records. */
  constructor(unread?: Unread, outline?: NodeOutline) {
    this.#unread = unread;
    this.#outline = outline;
    if (unread === undefined) this.#records = new Map();
  }

  /** The number of records. */
  get size(): number {
    return this.#records?.size ?? this.#unread?.size ?? 0;
  }

  /** Returns the outline, once. Undefined: it was returned, or the records were read. */
  takeOutline(): NodeOutline | undefined {
    const outline = this.#outline;
    this.#outline = undefined;
    return outline;
  }

  /** Reads the records, if they were not read yet. */
  read(source: LineSource): Map<string, Stored> {
    this.#records ??= this.#parse(source);
    this.#unread = undefined;
    this.#outline = undefined;
    return this.#records;
  }

  /**
   * Returns the lines of the present records without their newlines: of records that were not read,
   * as they are.
   */
  lines(source: LineSource): Iterable<Buffer | Stored> {
    const unread = this.#unread;
    if (this.#records !== undefined || unread === undefined) return this.#records?.values() ?? [];
    return unread.hasRemoved ? this.#parse(source).values() : linesAt(unread.places, source);
  }

  /** The file was replaced. `places`: those of the lines that `lines` has returned. */
  moved(places: readonly number[]): void {
    if (this.#unread !== undefined) this.#unread = { ...this.#unread, places, hasRemoved: false };
  }

  #parse(source: LineSource): Map<string, Stored> {
    return parseLines(linesAt(this.#unread?.places ?? [], source), (error) =>
      source.onBroken(error),
    );
  }
}

/** Returns the records after these lines, by ID. Neighbours share their equal parts. */
function parseLines(
  lines: Iterable<Buffer>,
  onBroken: (error: unknown) => void,
): Map<string, Stored> {
  const records = new Map<string, Stored>();
  const latest = new Map<string, Stored>();
  for (const bytes of lines) {
    let line: Line;
    try {
      line = decodeLine(bytes.toString());
    } catch (error) {
      onBroken(error);
      continue;
    }
    if (line[0] === 'sandbox' || line[0] === 'container') {
      shareParts(latest.get(line[0]), line[2]);
      latest.set(line[0], line[2]);
    }
    apply(records, line);
  }
  return records;
}

function apply(records: Map<string, Stored>, line: Line): void {
  switch (line[0]) {
    case 'sandbox':
      shareTexts(line[2], line[2]);
      records.set(line[2].id, line[2]);
      break;
    case 'container': {
      const [, , record] = line;
      const sandbox = records.get(record.podSandboxId);
      if (sandbox !== undefined && !isContainer(sandbox)) shareTexts(sandbox, record);
      records.set(record.id, { ...record, config: withSharedEnvironment(record.config) });
      break;
    }
    case 'changed': {
      const record = records.get(line[2]);
      if (record !== undefined) applyChange(record, line[3]);
      break;
    }
    case 'removed':
      records.delete(line[2]);
  }
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

function* linesAt(places: readonly number[], source: LineSource): Iterable<Buffer> {
  for (let i = 0; i < places.length; i += 2) yield source.read(places[i]!, places[i + 1]!);
}

/** Collects the lines of a node while the file is read. */
export class NodeReader {
  readonly #places: number[] = [];
  readonly #sandboxes = new Map<string, OutlinedSandbox>();
  readonly #containers = new Map<string, OutlinedContainer>();
  readonly #images = new Map<string, OutlinedImage>();
  #isIdle = true;
  #hasRemoved = false;

  add(line: ShortLine, offset: number, length: number): void {
    this.#places.push(offset, length);
    switch (line.op) {
      case 'sandbox': {
        const { id, uid, state, isIdle } = line;
        this.#isIdle &&= isIdle;
        this.#sandboxes.set(id, { id, uid, state });
        break;
      }
      case 'container': {
        const { id, podSandboxId, state, image, imageRef, isIdle } = line;
        this.#isIdle &&= isIdle;
        this.#images.set(imageRef, { spec: image, ref: imageRef });
        // The same text, which is in memory once.
        const sandbox = this.#sandboxes.get(podSandboxId)?.id ?? podSandboxId;
        this.#containers.set(id, { id, podSandboxId: sandbox, state });
        break;
      }
      case 'changed': {
        const { id, state } = line;
        const [sandbox, container] = [this.#sandboxes.get(id), this.#containers.get(id)];
        if (sandbox !== undefined)
          this.#sandboxes.set(id, { ...sandbox, state: state as OutlinedSandbox['state'] });
        if (container !== undefined)
          this.#containers.set(id, { ...container, state: state as OutlinedContainer['state'] });
        break;
      }
      case 'removed':
        this.#hasRemoved = true;
        this.#sandboxes.delete(line.id);
        this.#containers.delete(line.id);
    }
  }

  finish(): NodeRecords {
    const [sandboxes, containers] = [[...this.#sandboxes.values()], [...this.#containers.values()]];
    return new NodeRecords(
      {
        places: this.#places,
        size: sandboxes.length + containers.length,
        hasRemoved: this.#hasRemoved,
      },
      { sandboxes, containers, images: [...this.#images.values()], isIdle: this.#isIdle },
    );
  }
}
