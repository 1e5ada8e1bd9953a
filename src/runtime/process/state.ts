// The runtime's memory on disk, so that the next one finds everything again: one JSON file per sandbox and one directory per
// container. Every file is replaced as a whole; what was cut short by a crash does not count.
//
//   sandboxes/ID.json
//   containers/ID/record.json   config, state and the identity of its process
//   containers/ID/pids          written by the container's supervisor: its own pid, then the program's
//   containers/ID/exit          the same: the exit code
//   containers/ID/stdout, stderr   FIFOs
//   containers/ID/root/         the container's own directory, with links to its mounts

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProcessIdentity } from '../process-identity.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';

export interface StoredContainer {
  readonly record: ContainerRecord;
  /** The supervisor, once it was started. */
  readonly supervisor: ProcessIdentity | undefined;
}

/** Environment values are bytes, which JSON does not have. */
function replacer(_key: string, value: unknown): unknown {
  if (value !== null && typeof value === 'object' && (value as { type?: unknown }).type === 'Buffer') return value;
  return value instanceof Uint8Array ? { type: 'Buffer', data: [...value] } : value;
}

function reviver(_key: string, value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === 'Buffer' && Array.isArray(data) ? new Uint8Array(data as number[]) : value;
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'), reviver) as T;
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read: ${(err as Error).message}`, { cause: err });
  }
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(value, replacer), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

export class ProcessState {
  readonly #sandboxes: string;
  readonly #containers: string;

  constructor(dir: string) {
    this.#sandboxes = join(dir, 'sandboxes');
    this.#containers = join(dir, 'containers');
    mkdirSync(this.#sandboxes, { recursive: true, mode: 0o700 });
    mkdirSync(this.#containers, { recursive: true, mode: 0o711 });
  }

  sandboxes(): SandboxRecord[] {
    return readdirSync(this.#sandboxes)
      .filter((name) => name.endsWith('.json'))
      .map((name) => readJson<SandboxRecord>(join(this.#sandboxes, name)))
      .filter((record) => record !== undefined);
  }

  /** Directories without a record are of containers whose making was cut short; they are removed. */
  containers(): StoredContainer[] {
    const stored: StoredContainer[] = [];
    for (const id of readdirSync(this.#containers)) {
      const container = readJson<StoredContainer>(join(this.containerDir(id), 'record.json'));
      if (container === undefined) this.removeContainer(id);
      else stored.push(container);
    }
    return stored;
  }

  containerDir(id: string): string {
    return join(this.#containers, id);
  }

  saveSandbox(record: SandboxRecord): void {
    writeJson(join(this.#sandboxes, `${record.id}.json`), record);
  }

  saveContainer(container: StoredContainer): void {
    const dir = this.containerDir(container.record.id);
    mkdirSync(dir, { recursive: true, mode: 0o711 });
    writeJson(join(dir, 'record.json'), container);
  }

  removeSandbox(id: string): void {
    rmSync(join(this.#sandboxes, `${id}.json`), { force: true });
  }

  removeContainer(id: string): void {
    rmSync(this.containerDir(id), { recursive: true, force: true });
  }
}

/** What a supervisor wrote about the end of its program: the exit code and when, in milliseconds since the epoch. */
export function readExit(containerDir: string): { exitCode: number; at: number } | undefined {
  const path = join(containerDir, 'exit');
  try {
    const exitCode = Number(readFileSync(path, 'utf8'));
    return Number.isInteger(exitCode) ? { exitCode, at: statSync(path).mtimeMs } : undefined;
  } catch {
    return undefined;
  }
}

/** The pids of a supervisor and of its program. */
export function readPids(containerDir: string): { supervisor: number; program: number } | undefined {
  let text: string;
  try {
    text = readFileSync(join(containerDir, 'pids'), 'utf8');
  } catch {
    return undefined;
  }
  const [supervisor, program] = text.split('\n').map(Number);
  return supervisor && program ? { supervisor, program } : undefined;
}
