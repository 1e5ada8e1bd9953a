// The lines of the journal of simulated containers: as values, and in short. At a start of thousands
// of nodes no line is parsed: what a line is about is at known places of its text.

import type {
  ContainerState,
  ImageSpec,
  LinuxContainerResources,
  PodSandboxState,
} from '#cri/index.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { annotationPrefix } from './annotations.ts';

export type Stored = SandboxRecord | ContainerRecord;

export type Line =
  | readonly [op: 'sandbox', node: string, record: SandboxRecord]
  | readonly [op: 'container', node: string, record: ContainerRecord]
  | readonly [op: 'changed', node: string, id: string, change: Change]
  | readonly [op: 'removed', node: string, id: string];

/** `resources`: of a container that was resized. */
export type Change = Partial<Omit<ContainerRecord, 'state'>> & {
  readonly state: PodSandboxState | ContainerState;
  readonly resources?: LinuxContainerResources;
};

/** The subject of a line. */
export type ShortLine =
  | {
      readonly op: 'sandbox';
      readonly node: string;
      readonly id: string;
      readonly uid: string;
      readonly state: PodSandboxState;
      /** See NodeRecords.idleImages. */
      readonly isIdle: boolean;
      /** Undefined: it was not read. */
      readonly ip: string | undefined;
    }
  | {
      readonly op: 'container';
      readonly node: string;
      readonly id: string;
      readonly podSandboxId: string;
      readonly state: ContainerState;
      readonly image: ImageSpec;
      readonly imageRef: string;
      readonly isIdle: boolean;
    }
  | {
      readonly op: 'changed';
      readonly node: string;
      readonly id: string;
      readonly state: PodSandboxState | ContainerState;
    }
  | { readonly op: 'removed'; readonly node: string; readonly id: string };

export function isContainer(record: Stored): record is ContainerRecord {
  return 'podSandboxId' in record;
}

/** Returns the line without its newline. Values of environment variables are bytes, which JSON cannot represent. */
export function encodeLine(line: Line): string {
  if (line[0] !== 'container') return JSON.stringify(line);
  const [op, node, record] = line;
  const envs = record.config.envs?.map(({ key, value }) => ({ key, value: base64(value) }));
  return JSON.stringify([
    op,
    node,
    envs === undefined ? record : { ...record, config: { ...record.config, envs } },
  ]);
}

/** Returns the value of a line without its newline. Throws SyntaxError. */
export function decodeLine(text: string): Line {
  const line = JSON.parse(text) as Line;
  return line[0] === 'container' ? [line[0], line[1], withBytes(line[2])] : line;
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

export function changeOf(record: Stored): Change {
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

export function applyChange(record: Stored, { resources, ...fields }: Change): void {
  Object.assign(record, fields);
  if (resources === undefined || !isContainer(record)) return;
  const { config } = record;
  Object.assign(record, { config: { ...config, linux: { ...config.linux, resources } } });
}

const SANDBOX_STATES = ['SANDBOX_READY', 'SANDBOX_NOTREADY'] as const;
const CONTAINER_STATES = ['CONTAINER_RUNNING', 'CONTAINER_EXITED', 'CONTAINER_CREATED'] as const;
const STATES = [...CONTAINER_STATES, ...SANDBOX_STATES];
const QUOTE = '"';
const METADATA = ',"config":{"metadata":{';
const UID = '"uid":"';
const IMAGE = '"image":{';
const IMAGE_REF = '},"imageRef":"';
const NO_COMMAND = '"command":[],"args":[]';
const SANDBOX_STATE = '","state":"';
const IP = '"ip":"';
const CONTAINER_STATE = ',"state":"';

export class LineReader {
  readonly #readsAddresses: boolean;
  /** By text: containers have few images. */
  readonly #images = new Map<string, ImageSpec>();

  /** `addresses`: whether the addresses of sandboxes are read. */
  constructor({ addresses }: { readonly addresses: boolean }) {
    this.#readsAddresses = addresses;
  }

  /**
   * Returns the subject of a line without its newline; undefined if it is no line of a journal, as
   * after a crash of the machine. Whether the rest of the line can be parsed is not checked.
   */
  read(bytes: Buffer): ShortLine | undefined {
    return this.#scan(bytes) ?? parseShort(bytes);
  }

  /** Reads a line at the known places. Undefined: it has another form, which other versions may write. */
  #scan(bytes: Buffer): ShortLine | undefined {
    // Each byte is a character, whatever it means: the parts that are taken are ASCII.
    const text = bytes.toString('latin1');
    const opEnd = text.indexOf(QUOTE, 2);
    const op = text.slice(2, opEnd);
    const nodeAt = opEnd + '","'.length;
    const nodeEnd = text.indexOf(QUOTE, nodeAt);
    const isRecord = op === 'sandbox' || op === 'container';
    const before = isRecord ? '",{"id":"' : '","';
    if (!text.startsWith(before, nodeEnd)) return undefined;
    const idAt = nodeEnd + before.length;
    const idEnd = text.indexOf(QUOTE, idAt);
    const node = plain(bytes, nodeAt, nodeEnd);
    const id = plain(bytes, idAt, idEnd);
    if (node === undefined || id === undefined) return undefined;
    switch (op) {
      case 'sandbox':
        return scanSandbox(bytes, text, { node, id, idEnd }, this.#readsAddresses);
      case 'container':
        return this.#scanContainer(bytes, text, { node, id, idEnd });
      case 'changed': {
        const state = stateAfter(text, '",{"state":"', idEnd, STATES);
        return state === undefined ? undefined : { op, node, id, state };
      }
      case 'removed':
        return { op, node, id };
      default:
        return undefined;
    }
  }

  #scanContainer(bytes: Buffer, text: string, { node, id, idEnd }: Found): ShortLine | undefined {
    const podSandboxId = textAfter(bytes, text, '","podSandboxId":"', idEnd);
    const imageAt = text.indexOf(IMAGE, idEnd) + IMAGE.length - 1;
    const image = this.#image(bytes, imageAt, text.indexOf('}', imageAt) + 1);
    const refAt = text.lastIndexOf(IMAGE_REF);
    const stateAt = text.lastIndexOf(CONTAINER_STATE);
    if (stateAt === -1 || refAt === -1) return undefined;
    const imageRef = textAfter(bytes, text, IMAGE_REF, refAt);
    const state = stateAfter(text, CONTAINER_STATE, stateAt, CONTAINER_STATES);
    if (podSandboxId === undefined || image === undefined) return undefined;
    if (imageRef === undefined || state === undefined) return undefined;
    const isIdle = text.includes(NO_COMMAND, idEnd) && !text.includes(annotationPrefix);
    return { op: 'container', node, id, podSandboxId, state, image, imageRef, isIdle };
  }

  #image(bytes: Buffer, from: number, to: number): ImageSpec | undefined {
    if (from < IMAGE.length || to <= from) return undefined;
    const text = bytes.toString('utf8', from, to);
    let image = this.#images.get(text);
    if (image === undefined) {
      try {
        image = JSON.parse(text) as ImageSpec;
      } catch {
        // It has an object inside, so that it does not end here.
        return undefined;
      }
      this.#images.set(text, image);
    }
    return image;
  }
}

/** Returns the subject of a line in whatever form. */
function parseShort(bytes: Buffer): ShortLine | undefined {
  try {
    const text = bytes.toString();
    return shortLineOf(decodeLine(text), text);
  } catch {
    // It is no JSON, or its value is another one.
    return undefined;
  }
}

/** Returns the subject of a line, which is also given as text; undefined for another value. */
export function shortLineOf(line: Line, text: string): ShortLine | undefined {
  const isUnsimulated = !text.includes(annotationPrefix);
  switch (line[0]) {
    case 'sandbox': {
      const [op, node, { id, config, state, ip }] = line;
      return { op, node, id, uid: config.metadata?.uid ?? '', state, isIdle: isUnsimulated, ip };
    }
    case 'container': {
      const [op, node, { id, podSandboxId, config, state, imageRef }] = line;
      const { image = {}, command = [], args = [] } = config;
      const isIdle = isUnsimulated && command.length === 0 && args.length === 0;
      return { op, node, id, podSandboxId, state, image, imageRef, isIdle };
    }
    case 'changed':
      return { op: line[0], node: line[1], id: line[2], state: line[3].state };
    case 'removed':
      return { op: line[0], node: line[1], id: line[2] };
    default:
      return undefined;
  }
}

interface Found {
  readonly node: string;
  readonly id: string;
  /** The place of the quote after the ID. */
  readonly idEnd: number;
}

function scanSandbox(
  bytes: Buffer,
  text: string,
  { node, id, idEnd }: Found,
  readsAddress: boolean,
): ShortLine | undefined {
  // The first member of the config, so that the first UID is that of the pod.
  if (!text.startsWith(METADATA, idEnd + 1)) return undefined;
  const uidAt = text.indexOf(UID, idEnd);
  const stateAt = text.lastIndexOf(SANDBOX_STATE);
  if (uidAt === -1 || stateAt === -1) return undefined;
  const uid = textAfter(bytes, text, UID, uidAt);
  const state = stateAfter(text, SANDBOX_STATE, stateAt, SANDBOX_STATES);
  const ip = readsAddress ? textAfter(bytes, text, IP, text.lastIndexOf(IP, stateAt)) : undefined;
  if (uid === undefined || state === undefined) return undefined;
  if (readsAddress && ip === undefined) return undefined;
  return { op: 'sandbox', node, id, uid, state, isIdle: !text.includes(annotationPrefix), ip };
}

/** Returns the text after `before`, which must be at `at`; undefined if it is not, or has escapes. */
function textAfter(bytes: Buffer, text: string, before: string, at: number): string | undefined {
  if (!text.startsWith(before, at)) return undefined;
  const from = at + before.length;
  return plain(bytes, from, text.indexOf(QUOTE, from));
}

/** Returns the state after `before`, which must be at `at`; undefined if it is none of these. */
function stateAfter<S extends string>(
  text: string,
  before: string,
  at: number,
  states: readonly S[],
): S | undefined {
  const from = at + before.length;
  return text.startsWith(before, at)
    ? states.find((state) => text.startsWith(`${state}"`, from))
    : undefined;
}

/**
 * Returns the text of these bytes; undefined if it is not ASCII or has escapes. It is a text of its
 * own: a part of the line's text would keep all of it in memory.
 */
function plain(bytes: Buffer, from: number, to: number): string | undefined {
  if (to < from) return undefined;
  for (let i = from; i < to; i++) if (bytes[i]! > 0x7e || bytes[i] === 0x5c) return undefined;
  return bytes.toString('latin1', from, to);
}
