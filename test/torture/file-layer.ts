// The test's own layer under the files of a process (file-layer.c): builds it, and reads its
// traces.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory for built files, which is kept between runs. */
export const CACHE_DIR = fileURLToPath(new URL('../../.cache/torture', import.meta.url));

export interface FileLayer {
  /** Returns the environment of a process whose files under `dir` are watched. */
  env(options: {
    readonly dir: string;
    readonly trace?: string;
    readonly fail?: string;
    /** As long as a file with this path exists, the disk is full. */
    readonly full?: string;
  }): Record<string, string>;
}

/** Builds the layer if needed. Returns a text with the reason if it cannot be built. */
export function fileLayer(): FileLayer | string {
  if (process.platform !== 'linux')
    return 'the file layer is loaded with LD_PRELOAD, which needs Linux';
  const source = fileURLToPath(new URL('./file-layer.c', import.meta.url));
  const library = join(
    CACHE_DIR,
    `file-layer-${createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)}.so`,
  );
  if (!existsSync(library)) {
    mkdirSync(CACHE_DIR, { recursive: true });
    const made = `${library}.${process.pid}`;
    const built = spawnSync(
      'cc',
      ['-shared', '-fPIC', '-O2', '-o', made, source, '-ldl', '-lpthread'],
      {
        encoding: 'utf8',
      },
    );
    if (built.error !== undefined)
      return 'the file layer needs a C compiler (apt-get install gcc libc6-dev)';
    if (built.status !== 0) throw new Error(`the file layer cannot be built: ${built.stderr}`);
    renameSync(made, library);
  }
  return {
    env: ({ dir, trace, fail, full }) => ({
      LD_PRELOAD: library,
      COX_FILES_DIR: dir,
      ...(trace !== undefined && { COX_FILES_TRACE: trace }),
      ...(fail !== undefined && { COX_FILES_FAIL: fail }),
      ...(full !== undefined && { COX_FILES_FULL: full }),
    }),
  };
}

/** A change of a file, or a sync. A sync of a directory makes the names of its files durable. */
export type FileOperation =
  | { readonly kind: 'create' | 'sync' | 'unlink'; readonly path: string }
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly offset: number;
      readonly data: Buffer;
    }
  | { readonly kind: 'truncate'; readonly path: string; readonly length: number };

const HEADER_BYTES = 16;

/** Returns the operations of a process, in order. Leaves out a record that a kill has cut off. */
export function readTrace(bytes: Buffer): FileOperation[] {
  const operations: FileOperation[] = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length;) {
    const pathEnd = at + HEADER_BYTES + bytes.readUInt16LE(at + 2);
    const end = pathEnd + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) break;
    const path = bytes.toString('utf8', at + HEADER_BYTES, pathEnd);
    const offset = Number(bytes.readBigUInt64LE(at + 8));
    operations.push(operation(bytes.readUInt8(at), path, offset, bytes.subarray(pathEnd, end)));
    at = end;
  }
  return operations;
}

function operation(kind: number, path: string, offset: number, data: Buffer): FileOperation {
  switch (kind) {
    case 1:
      return { kind: 'create', path };
    case 2:
      return { kind: 'write', path, offset, data };
    case 3:
      return { kind: 'truncate', path, length: offset };
    case 4:
      return { kind: 'sync', path };
    case 5:
      return { kind: 'unlink', path };
    default:
      throw new Error(`a trace has a record of kind ${kind}`);
  }
}
