// `cox snapshot save|restore|status`: the state of a cluster in one file, taken while it runs, put
// back while it does not.

import {
  clusterSnapshotStatus,
  restoreClusterSnapshot,
  saveClusterSnapshot,
  type SnapshotStatus,
} from '#cluster/stores/snapshot.ts';
import { writeJson } from './inspect/output.ts';

export async function save(
  file: string,
  options: { dataDir: string; output?: 'json' },
): Promise<void> {
  const status = await saveClusterSnapshot({ file, dataDir: options.dataDir });
  if (options.output === 'json') return writeStatus({ file, ...status });
  process.stdout.write(`saved ${file}\n${describe(status)}`);
}

export async function status(file: string, options: { output?: 'json' }): Promise<void> {
  const found = await clusterSnapshotStatus(file);
  if (options.output === 'json') {
    writeStatus(found);
  } else process.stdout.write(`${file} is whole\n${describe(found)}`);
}

export async function restore(
  file: string,
  options: { dataDir: string; bumpRevision: number; output?: 'json' },
): Promise<void> {
  const { status: restored, store, movedTo } = await restoreClusterSnapshot({ file, ...options });
  if (options.output === 'json') return writeStatus({ ...restored, file, store, movedTo });
  process.stdout.write(`restored ${store} from ${file}\n${describe(restored)}`);
  if (movedTo !== undefined) process.stdout.write(`the store that was there is now ${movedTo}\n`);
}

function writeStatus({
  createdAt,
  ...rest
}: SnapshotStatus & Readonly<Partial<Record<'file' | 'store' | 'movedTo', string>>>) {
  writeJson({ ...rest, createdAt: new Date(createdAt).toISOString() });
}

function describe({ revision, keys, fileBytes, hash, createdAt }: SnapshotStatus): string {
  const rows = [
    ['taken', new Date(createdAt).toISOString()],
    ['revision', String(revision)],
    ['keys', String(keys)],
    ['size', `${fileBytes} bytes`],
    ['sha-256', hash],
  ];
  return rows.map(([name = '', value]) => `  ${name.padEnd(9)} ${value}\n`).join('');
}
