// The records of the driver's volumes, snapshots and groups of snapshots: one JSON file each, read
// once at the start.

import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import type { VolumeAttributes } from './attributes.ts';
import type { Logger } from '#machinery/log.ts';

export interface VolumeRecord {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number;
  /** A directory, or a file that is attached as a device. */
  readonly backing: 'directory' | 'image';
  readonly isBlock: boolean;
  readonly source: SourceRecord | undefined;
  /** Absent: none were set. */
  readonly attributes?: VolumeAttributes;
  /** By node: how the volume is published to it by the controller. */
  readonly publishedTo: Readonly<Record<string, PublishRecord>>;
}

export interface SourceRecord {
  readonly kind: 'snapshot' | 'volume';
  readonly id: string;
}

export interface PublishRecord {
  readonly readonly: boolean;
  /** The access mode and type, as text, to compare. */
  readonly capability: string;
}

export interface SnapshotRecord {
  readonly id: string;
  readonly name: string;
  readonly volumeId: string;
  readonly sizeBytes: number;
  readonly backing: VolumeRecord['backing'];
  readonly isBlock: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The group that the snapshot belongs to. Absent: it was taken by itself. */
  readonly groupId?: string;
}

/** Snapshots that were taken together, and are deleted together. */
export interface GroupRecord {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly members: readonly SnapshotRecord[];
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isBacking = (value: unknown): boolean => value === 'directory' || value === 'image';
const isSize = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isAttributes = (value: unknown): boolean =>
  isObject(value) && (value['readAheadKiB'] === undefined || isSize(value['readAheadKiB']));
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Reports whether the value is a complete record of a volume. */
export function isVolumeRecord(value: unknown): value is VolumeRecord {
  if (!isObject(value)) return false;
  const { id, name, capacityBytes, backing, isBlock, source, publishedTo, attributes } = value;
  const isSource =
    source === undefined ||
    (isObject(source) &&
      isText(source['id']) &&
      (source['kind'] === 'snapshot' || source['kind'] === 'volume'));
  const isPublished =
    isObject(publishedTo) &&
    Object.values(publishedTo).every(
      (each) =>
        isObject(each) && typeof each['readonly'] === 'boolean' && isText(each['capability']),
    );
  return (
    [id, name].every(isText) &&
    isSize(capacityBytes) &&
    isBacking(backing) &&
    typeof isBlock === 'boolean' &&
    isSource &&
    isPublished &&
    (attributes === undefined || isAttributes(attributes))
  );
}

/** Reports whether the value is a complete record of a snapshot. */
export function isSnapshotRecord(value: unknown): value is SnapshotRecord {
  if (!isObject(value)) return false;
  const { id, name, volumeId, sizeBytes, backing, isBlock, createdAt, groupId = '' } = value;
  return (
    [id, name, volumeId, groupId].every(isText) &&
    isSize(sizeBytes) &&
    isBacking(backing) &&
    typeof isBlock === 'boolean' &&
    Number.isFinite(createdAt)
  );
}

/** Reports whether the value is a complete record of a group. */
export function isGroupRecord(value: unknown): value is GroupRecord {
  if (!isObject(value)) return false;
  const { id, name, createdAt, members } = value;
  return (
    [id, name].every(isText) &&
    Number.isFinite(createdAt) &&
    Array.isArray(members) &&
    members.every((each) => isSnapshotRecord(each))
  );
}

const FILE = 'record.json';
const MAX_RECORDS = 100_000;

/**
 * The records of one kind, each in a directory of its own beside the data. A record that cannot be
 * read is damaged: its data is left alone, and no volume of its id is made or deleted.
 */
export class Records<T extends { readonly id: string; readonly name: string }> {
  readonly #directory: string;
  readonly #byId = new Map<string, T>();
  readonly #idByName = new Map<string, string>();
  readonly #damaged = new Set<string>();

  /** Reads the records. One that is damaged is logged. */
  constructor(directory: string, isRecord: (value: unknown) => value is T, logger: Logger) {
    this.#directory = directory;
    for (const id of readNames(directory).slice(0, MAX_RECORDS)) {
      try {
        const record: unknown = JSON.parse(readFileSync(join(directory, id, FILE), 'utf8'));
        if (!isRecord(record)) throw new Error('the record is not complete');
        if (record.id !== id) throw new Error('the record has another id');
        this.#add(record);
      } catch (error) {
        // Without a record the creation has not ended: it is repeated by the same name.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
        this.#damaged.add(id);
        logger.error('CSI driver: record not read', { id, err: error });
      }
    }
  }

  /** Returns the record; undefined if there is none. Throws Internal if it is damaged. */
  get(id: string): T | undefined {
    if (this.#damaged.has(id)) throw new RpcError('INTERNAL', `the record of ${id} is damaged`);
    return this.#byId.get(id);
  }

  /** Returns the record; undefined if there is none, or a damaged one. */
  ifIntact(id: string): T | undefined {
    return this.#byId.get(id);
  }

  byName(name: string): T | undefined {
    return this.#byId.get(this.#idByName.get(name) ?? '');
  }

  /** The records, by id. */
  list(): readonly T[] {
    return [...this.#byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the directory of a volume's or snapshot's data. */
  directoryOf(id: string): string {
    if (!/^[a-z0-9-]+$/.test(id)) throw new Error(`${JSON.stringify(id)} is not an id`);
    return join(this.#directory, id);
  }

  /** Writes the record: a crash leaves the old one or the new one. */
  async put(record: T): Promise<void> {
    const directory = this.directoryOf(record.id);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, FILE);
    const file = await open(`${path}.tmp`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
    this.#add(record);
  }

  /** Deletes the record; the data has to be deleted before. */
  async delete(id: string): Promise<void> {
    const record = this.#byId.get(id);
    await rm(join(this.directoryOf(id), FILE), { force: true });
    this.#byId.delete(id);
    if (record !== undefined) this.#idByName.delete(record.name);
  }

  #add(record: T): void {
    this.#byId.set(record.id, record);
    this.#idByName.set(record.name, record.id);
  }
}

function readNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
