// The runtime's state on disk, from which the next runtime restores it: one JSON file per sandbox
// and one directory per container. Every file is replaced atomically; a file that a crash left
// incomplete is ignored.
// - sandboxes/ID.json
// - containers/ID/record.json: config, state and the identity of its process
// - containers/ID/pids: written by the container's supervisor: its own pid, then the program's
// - containers/ID/exit: written by the supervisor: the exit code
// - containers/ID/stdout, stderr: FIFOs
// - containers/ID/env: its environment, for the shell that becomes its program (supervisor.ts)
// - containers/ID/root/: the container's own directory, with links to its mounts
// - damaged/: unreadable records, moved here under their names

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';

export interface StoredContainer {
  readonly record: ContainerRecord;
  /** The supervisor, once it was started. */
  readonly supervisor: ProcessIdentity | undefined;
}

/** Environment values are bytes, which JSON cannot represent. */
function replacer(_key: string, value: unknown): unknown {
  if (
    value !== null &&
    typeof value === 'object' &&
    (value as { type?: unknown }).type === 'Buffer'
  )
    return value;
  return value instanceof Uint8Array ? { type: 'Buffer', data: [...value] } : value;
}

function reviver(_key: string, value: unknown): unknown {
  const { type, data } = (value ?? {}) as { type?: unknown; data?: unknown };
  return type === 'Buffer' && Array.isArray(data) ? new Uint8Array(data as number[]) : value;
}

/** The maximum length of a record: several times a pod's specification with its environment. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const MAX_NOTE_BYTES = 256;

/** Reads a record. Returns undefined if the file does not exist. Throws if it is damaged. */
function readJson<T>(path: string, check: (value: T) => boolean): T | undefined {
  let text: string;
  try {
    text = readUntrustedSync(path, MAX_RECORD_BYTES).data.toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const value = JSON.parse(text, reviver) as T;
  if (value === null || typeof value !== 'object' || !check(value))
    throw new Error('it is not a record');
  return value;
}

function writeJson(path: string, value: unknown): void {
  writeDurableFile(path, JSON.stringify(value, replacer));
}

export class ProcessState {
  readonly #sandboxes: string;
  readonly #containers: string;
  readonly #damaged: string;
  readonly #logger: Logger;

  constructor(dir: string, logger: Logger) {
    this.#sandboxes = join(dir, 'sandboxes');
    this.#containers = join(dir, 'containers');
    this.#damaged = join(dir, 'damaged');
    this.#logger = logger;
    mkdirSync(this.#sandboxes, { recursive: true, mode: 0o700 });
    mkdirSync(this.#containers, { recursive: true, mode: 0o711 });
  }

  /** Returns the sandboxes. Damaged records are moved away. */
  sandboxes(): SandboxRecord[] {
    return readdirSync(this.#sandboxes)
      .filter((name) => name.endsWith('.json'))
      .map((name) => {
        const isRecord = (record: SandboxRecord): boolean =>
          `${record.id}.json` === name &&
          typeof record.config === 'object' &&
          typeof record.state === 'string';
        return this.#read(join(this.#sandboxes, name), name, isRecord);
      })
      .filter((record) => record !== undefined);
  }

  /**
   * Returns the containers on disk. `lost`: the IDs of containers without a usable record: their
   * creation was interrupted, or the record was damaged and is moved away. A process may still run
   * for them. The caller removes them.
   */
  containers(): { readonly stored: readonly StoredContainer[]; readonly lost: readonly string[] } {
    const stored: StoredContainer[] = [];
    const lost: string[] = [];
    for (const id of readdirSync(this.#containers)) {
      const isRecord = ({ record }: StoredContainer): boolean =>
        record?.id === id &&
        typeof record.config === 'object' &&
        typeof record.podSandboxId === 'string';
      const container = this.#read(
        join(this.containerDir(id), 'record.json'),
        `${id}.json`,
        isRecord,
      );
      if (container === undefined) lost.push(id);
      else stored.push(container);
    }
    return { stored, lost };
  }

  #read<T>(path: string, name: string, check: (value: T) => boolean): T | undefined {
    try {
      return readJson(path, check);
    } catch (error) {
      let aside = join(this.#damaged, name);
      for (let count = 1; existsSync(aside); count++)
        aside = join(this.#damaged, `${name}.${count}`);
      this.#logger.error('damaged record set aside', { path, aside, err: error });
      mkdirSync(this.#damaged, { recursive: true, mode: 0o700 });
      renameSync(path, aside);
      return undefined;
    }
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

/**
 * Returns the supervisor's record of its program's end: the exit code and the time, in milliseconds
 * since the epoch.
 */
export function readExit(containerDir: string): { exitCode: number; at: number } | undefined {
  const note = readNote(join(containerDir, 'exit'));
  if (note === undefined || !/^\d{1,3}\n$/.test(note.text)) return undefined;
  return { exitCode: Number(note.text), at: note.at };
}

/** Returns the pids of a supervisor and its program. */
export function readPids(
  containerDir: string,
): { supervisor: number; program: number } | undefined {
  const [supervisor, program] = (readNote(join(containerDir, 'pids'))?.text ?? '')
    .split('\n')
    .map(Number);
  return supervisor && program ? { supervisor, program } : undefined;
}

/**
 * Returns the file's text and time; undefined if it does not exist, or no supervisor has written
 * it.
 */
function readNote(path: string): { readonly text: string; readonly at: number } | undefined {
  try {
    const { data, info } = readUntrustedSync(path, MAX_NOTE_BYTES);
    return { text: data.toString('utf8'), at: info.mtimeMs };
  } catch {
    return undefined;
  }
}
