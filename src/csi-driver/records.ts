// The records of the driver's volumes and snapshots: one JSON file each, read once at the start.

import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '#machinery/log.ts';

export interface VolumeRecord {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number;
  /** A directory, or a file that is attached as a device. */
  readonly backing: 'directory' | 'image';
  readonly isBlock: boolean;
  readonly source: SourceRecord | undefined;
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
}

const FILE = 'record.json';
const MAX_RECORDS = 100_000;

/** The records of one kind, each in a directory of its own beside the data. */
export class Records<T extends { readonly id: string; readonly name: string }> {
  readonly #directory: string;
  readonly #byId = new Map<string, T>();
  readonly #idByName = new Map<string, string>();

  /** Reads the records. A file that cannot be read is logged and left alone. */
  constructor(directory: string, logger: Logger) {
    this.#directory = directory;
    for (const id of readNames(directory).slice(0, MAX_RECORDS)) {
      try {
        const record = JSON.parse(readFileSync(join(directory, id, FILE), 'utf8')) as T;
        if (record.id !== id) throw new Error('the record has another id');
        this.#add(record);
      } catch (error) {
        // Without a record the creation has not ended: it is repeated by the same name.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          logger.error('CSI driver: record not read', { id, err: error });
      }
    }
  }

  get(id: string): T | undefined {
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
