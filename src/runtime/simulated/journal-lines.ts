// The lines of the journal of simulated containers, and the records that they make.

import type { LinuxContainerResources } from '#cri/index.ts';
import { shareParts } from '#machinery/collections/share-parts.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { withSharedEnvironment } from './shared-environment.ts';

export type Stored = SandboxRecord | ContainerRecord;

export type Line =
  | readonly [op: 'sandbox', node: string, record: SandboxRecord]
  | readonly [op: 'container', node: string, record: ContainerRecord]
  | readonly [op: 'changed', node: string, id: string, change: Change]
  | readonly [op: 'removed', node: string, id: string];

/** The head of a line. */
export interface LineHead {
  readonly op: string;
  readonly node: string;
}

const QUOTE = 0x22;
/** `["`, and `","` between the texts. */
const BEFORE_OP = 2;
const BETWEEN = 3;

/**
 * Reads the head of a line without parsing the rest. Undefined: the line is not one of the journal,
 * or it is incomplete.
 */
export function headOf(line: Buffer): LineHead | undefined {
  const opEnd = line.indexOf(QUOTE, BEFORE_OP);
  const start = opEnd + BETWEEN;
  const end = line.indexOf(QUOTE, start);
  if (opEnd < 0 || end < 0) return undefined;
  const op = line.toString('latin1', BEFORE_OP, opEnd);
  const node = line.toString('utf8', start, end);
  if (!node.includes('\\')) return { op, node };
  const whole = parseLine(line);
  return whole && { op: whole[0], node: whole[1] };
}

function parseLine(line: Buffer): Line | undefined {
  try {
    return JSON.parse(line.toString()) as Line;
  } catch {
    return undefined;
  }
}

/** Makes records of lines. Neighbours in the file share their equal parts. */
export class RecordReader {
  /** The last records that were read. */
  readonly #latest = new Map<string, object>();

  /** Applies a line to the records of its node, by ID. Throws SyntaxError. */
  apply(records: Map<string, Stored>, text: string): void {
    const line = JSON.parse(text) as Line;
    const [op] = line;
    if (op === 'sandbox' || op === 'container') {
      shareParts(this.#latest.get(op), line[2]);
      this.#latest.set(op, line[2]);
    }
    switch (op) {
      case 'sandbox':
        shareTexts(line[2], line[2]);
        records.set(line[2].id, line[2]);
        break;
      case 'container': {
        const [, , record] = line;
        const sandbox = records.get(record.podSandboxId);
        if (sandbox !== undefined && !isContainer(sandbox)) shareTexts(sandbox, record);
        records.set(record.id, withBytes(record));
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

export function isContainer(record: Stored): record is ContainerRecord {
  return 'podSandboxId' in record;
}

/** `resources`: of a container that was resized. */
type Change = Partial<Omit<ContainerRecord, 'state'>> & {
  readonly state: string;
  readonly resources?: LinuxContainerResources;
};

export function changeOf(record: SandboxRecord | ContainerRecord): Change {
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
export function encode(line: Line): string {
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
