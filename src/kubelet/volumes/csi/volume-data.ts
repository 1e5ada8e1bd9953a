// The file that records which volume of which driver a directory belongs to, so that the volume can
// be unmounted after a restart: vol_data.json, with upstream's keys.

import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readUntrusted } from '#machinery/files/untrusted.ts';

export interface VolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  /** The name of the persistent volume, or of the inline volume in its pod. */
  readonly specVolID?: string;
  readonly volumeLifecycleMode?: 'Persistent' | 'Ephemeral';
}

export const DATA_FILE = 'vol_data.json';
const MAX_BYTES = 64 * 1024;

/** The file exists but does not name a volume. */
export class VolumeDataError extends Error {}

/** Writes the file; a crash leaves the old or the new one. Creates the directory. */
export async function writeVolumeData(directory: string, data: VolumeData): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o750 });
  const path = join(directory, DATA_FILE);
  await rm(`${path}.tmp`, { force: true });
  await writeFile(`${path}.tmp`, `${JSON.stringify(data)}\n`, { flag: 'wx', mode: 0o644 });
  await rename(`${path}.tmp`, path);
}

/** Returns the data; undefined if there is no file. Rejects with VolumeDataError if it is corrupt. */
export async function readVolumeData(directory: string): Promise<VolumeData | undefined> {
  const path = join(directory, DATA_FILE);
  let text: string;
  try {
    text = (await readUntrusted(path, MAX_BYTES)).toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new VolumeDataError(`failed to parse volume data file [${path}]`, { cause: error });
  }
  if (!isVolumeData(data)) throw new VolumeDataError(`volume data file [${path}] names no volume`);
  return data;
}

function isVolumeData(value: unknown): value is VolumeData {
  if (typeof value !== 'object' || value === null) return false;
  const { driverName, volumeHandle } = value as Record<string, unknown>;
  return typeof driverName === 'string' && typeof volumeHandle === 'string' && driverName !== '';
}
