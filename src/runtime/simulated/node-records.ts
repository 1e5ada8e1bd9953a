// The records of one simulated node in the journal. They are in the file only: the place of each
// line is known, and what all lines say in short, until that was returned. The runtime has the
// records that it uses.

import type { ImageSpec, RuntimeOutline } from '#cri/index.ts';
import { shareParts } from '#machinery/collections/share-parts.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import {
  applyChange,
  decodeLine,
  isContainer,
  type Line,
  type LineReader,
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

/** The subject of the lines of a node, in short. */
export interface NodeSummary {
  readonly outline: RuntimeOutline;
  /** The addresses of sandboxes that are ready. Undefined: they were not read. */
  readonly addresses: readonly string[] | undefined;
}

/** The file. */
export interface LineSource {
  /** Reads the bytes of a line, or of neighbouring lines, without the last newline. */
  read(offset: number, length: number): Buffer;
  /** Called for a line that cannot be parsed, and counts as absent. */
  onBroken(error: unknown): void;
}

/** The lines of a node in a file. */
export interface FiledLines {
  /** The offset and the length of each line, one after the other. */
  readonly places: number[];
  /** The number of records. */
  readonly size: number;
  /** See NodeRecords.idleImages. */
  readonly isIdle: boolean;
  readonly images: UsedImage[];
  readonly outline: RuntimeOutline;
}

export class NodeRecords {
  #places: number[];
  #size: number;
  #isIdle: boolean;
  readonly #images: UsedImage[];
  #outline: RuntimeOutline | undefined;
  #hasChanged = false;
  /** IDs of records whose removal could not be written. */
  #gone: Set<string> | undefined;

  /** Without an argument: a node without records. */
  constructor(filed?: FiledLines) {
    this.#places = filed?.places ?? [];
    this.#size = filed?.size ?? 0;
    this.#isIdle = filed?.isIdle ?? true;
    this.#images = filed?.images ?? [];
    this.#outline = filed?.outline;
  }

  /** The number of records. */
  get size(): number {
    return this.#size;
  }

  /** Reports whether anything has changed since the journal was opened. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /**
   * Returns the images of containers that do nothing by themselves: none has a command, and nothing
   * is simulated by annotations. Undefined: some may do something. Images stay when their containers
   * go.
   */
  get idleImages(): readonly UsedImage[] | undefined {
    return this.#isIdle ? this.#images : undefined;
  }

  /** Adds a line that is, or will be, at this place of the file. */
  add(line: ShortLine, offset: number, length: number): void {
    this.#hasChanged = true;
    this.#outline = undefined;
    this.#places.push(offset, length);
    if (line.op === 'removed') this.#size--;
    if (line.op !== 'sandbox' && line.op !== 'container') return;
    this.#size++;
    this.#isIdle &&= line.isIdle;
    if (line.op === 'container') noteImage(this.#images, line);
  }

  /** Records a line that cannot be written. */
  lose(line: ShortLine): void {
    this.#hasChanged = true;
    if (line.op === 'removed') (this.#gone ??= new Set()).add(line.id);
  }

  /** Returns the summary of the records, which are not parsed. */
  summary(source: LineSource, reader: LineReader): NodeSummary {
    const outline = this.#outline;
    this.#outline = undefined;
    if (outline !== undefined) return { outline, addresses: undefined };
    const lines = new NodeReader();
    for (const bytes of linesAt(this.#places, source)) {
      const line = reader.read(bytes);
      if (line === undefined) source.onBroken(new Error('it is no line of the journal'));
      else lines.add(line, 0, 0);
    }
    return lines.summary();
  }

  /** Reads the records, by ID; sandboxes are before their containers. */
  read(source: LineSource): Map<string, Stored> {
    this.#outline = undefined;
    const records = parseLines(linesAt(this.#places, source), (error) => source.onBroken(error));
    for (const id of this.#gone ?? []) records.delete(id);
    return records;
  }

  /**
   * Returns the lines of the present records without their newlines: as they are, unless half of
   * them are history.
   */
  lines(source: LineSource): Iterable<Buffer | Stored> {
    return this.#places.length > 4 * this.#size
      ? this.read(source).values()
      : linesAt([...this.#places], source);
  }

  /** The file was replaced. `places`: those of the lines that `lines` has returned, and later ones. */
  moved(places: number[]): void {
    this.#places = places;
  }
}

function noteImage(
  images: UsedImage[],
  { image, imageRef }: Extract<ShortLine, { op: 'container' }>,
): void {
  // The latest spec of an image is that of the node.
  const at = images.findIndex(({ ref }) => ref === imageRef);
  if (at === -1) images.push({ spec: image, ref: imageRef });
  else images[at] = { spec: image, ref: imageRef };
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

/** Neighbouring lines are read together, up to so many bytes. */
const MAX_READ = 64 * 1024;

/** Yields the lines at these places. */
export function* linesAt(places: readonly number[], source: LineSource): Iterable<Buffer> {
  for (let i = 0; i < places.length;) {
    const first = places[i]!;
    let [next, end] = [i, first];
    // A line begins after the newline of its neighbour.
    while (
      next < places.length &&
      (next === i || (places[next] === end + 1 && end + 1 + places[next + 1]! - first <= MAX_READ))
    ) {
      end = places[next]! + places[next + 1]!;
      next += 2;
    }
    const bytes = source.read(first, end - first);
    for (; i < next; i += 2) {
      const at = places[i]! - first;
      yield bytes.subarray(at, at + places[i + 1]!);
    }
  }
}

/** Collects the lines of a node while the file is read. */
export class NodeReader {
  readonly #places: number[] = [];
  readonly #sandboxes = new Map<string, OutlinedSandbox>();
  readonly #containers = new Map<string, OutlinedContainer>();
  readonly #images: UsedImage[] = [];
  /** By ID of the sandbox. */
  readonly #addresses = new Map<string, string>();
  #isIdle = true;

  add(line: ShortLine, offset: number, length: number): void {
    this.#places.push(offset, length);
    switch (line.op) {
      case 'sandbox': {
        const { id, uid, state, isIdle, ip } = line;
        this.#isIdle &&= isIdle;
        this.#sandboxes.set(id, { id, uid, state });
        if (ip !== undefined) this.#addresses.set(id, ip);
        break;
      }
      case 'container': {
        const { id, podSandboxId, state, isIdle } = line;
        this.#isIdle &&= isIdle;
        noteImage(this.#images, line);
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
        this.#sandboxes.delete(line.id);
        this.#containers.delete(line.id);
    }
  }

  finish(): NodeRecords {
    const { outline } = this.summary();
    return new NodeRecords({
      places: this.#places,
      size: outline.sandboxes.length + outline.containers.length,
      isIdle: this.#isIdle,
      images: this.#images,
      outline,
    });
  }

  summary(): NodeSummary {
    const sandboxes = [...this.#sandboxes.values()];
    return {
      outline: { sandboxes, containers: [...this.#containers.values()] },
      addresses: sandboxes.flatMap(({ id, state }) =>
        state === 'SANDBOX_READY' ? (this.#addresses.get(id) ?? []) : [],
      ),
    };
  }
}
