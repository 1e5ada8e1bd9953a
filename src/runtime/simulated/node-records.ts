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

type OutlinedSandbox = RuntimeOutline['sandboxes'][number];
type OutlinedContainer = RuntimeOutline['containers'][number];

/** An image of containers. */
export interface UsedImage {
  readonly spec: ImageSpec;
  /** The reference that it had. */
  readonly ref: string;
}

/** The file. */
export interface LineSource {
  /** Reads the bytes of a line without its newline. */
  read(offset: number, length: number): Buffer;
  /** Called for a line that cannot be parsed, and counts as absent. */
  onBroken(error: unknown): void;
}

/** Records as they are in the file. */
interface Filed {
  /** The offset and the length of each line, one after the other. */
  readonly places: readonly number[];
  /** The number of records. */
  readonly size: number;
  /** There are lines of records that are gone. */
  readonly hasRemoved: boolean;
  /** See NodeRecords.idleImages. */
  readonly idleImages: readonly UsedImage[] | undefined;
}

export class NodeRecords {
  /** Undefined: they have changed since they were read. */
  #filed: Filed | undefined;
  #outline: RuntimeOutline | undefined;
  /** By ID, sandboxes before their containers. Undefined: they are in the file only. */
  #records: Map<string, Stored> | undefined;

  /** Without arguments: a node without records. */
  constructor(filed?: Filed, outline?: RuntimeOutline) {
    this.#filed = filed;
    this.#outline = outline;
    if (filed === undefined) this.#records = new Map();
  }

  /** The number of records. */
  get size(): number {
    return this.#records?.size ?? this.#filed?.size ?? 0;
  }

  /** Returns the outline, once. Undefined: it was returned, or the records were read. */
  takeOutline(): RuntimeOutline | undefined {
    const outline = this.#outline;
    this.#outline = undefined;
    return outline;
  }

  /**
   * Returns the images of containers that do nothing by themselves: none has a command, and nothing
   * is simulated by annotations. Undefined: some may do something.
   */
  get idleImages(): readonly UsedImage[] | undefined {
    return this.#filed?.idleImages;
  }

  /** Reads the records, if they are not in memory. */
  read(source: LineSource): Map<string, Stored> {
    this.#outline = undefined;
    return (this.#records ??= this.#parse(source));
  }

  /** Returns the records for a change, from which on they are in memory. */
  change(source: LineSource): Map<string, Stored> {
    const records = this.read(source);
    this.#filed = undefined;
    return records;
  }

  /** Leaves the records to the file. Returns false if they have changed since they were read. */
  forget(): boolean {
    if (this.#filed === undefined) return false;
    this.#records = undefined;
    return true;
  }

  /**
   * Returns the lines of the present records without their newlines: of records that were not read,
   * as they are.
   */
  lines(source: LineSource): Iterable<Buffer | Stored> {
    const filed = this.#filed;
    if (this.#records !== undefined || filed === undefined) return this.#records?.values() ?? [];
    return filed.hasRemoved ? this.#parse(source).values() : linesAt(filed.places, source);
  }

  /** The file was replaced. `places`: those of the lines that `lines` has returned. */
  moved(places: readonly number[]): void {
    if (this.#filed !== undefined) this.#filed = { ...this.#filed, places, hasRemoved: false };
  }

  #parse(source: LineSource): Map<string, Stored> {
    return parseLines(linesAt(this.#filed?.places ?? [], source), (error) =>
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
  readonly #images = new Map<string, UsedImage>();
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
        idleImages: this.#isIdle ? [...this.#images.values()] : undefined,
      },
      { sandboxes, containers },
    );
  }
}
