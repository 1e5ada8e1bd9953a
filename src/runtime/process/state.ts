// The runtime's memory on disk, so that the next one finds everything again: one JSON file per
// sandbox and one directory per container. Every file is replaced as a whole; what was cut short by
// a crash does not count.
//
//   sandboxes/ID.json
//   containers/ID/record.json   config, state and the identity of its process
//   containers/ID/pids          written by the container's supervisor: its own pid, then the program's
//   containers/ID/exit          the same: the exit code
//   containers/ID/stdout, stderr   FIFOs
//   containers/ID/env           its environment, for the shell that becomes its program (supervisor.ts)
//   containers/ID/root/         the container's own directory, with links to its mounts
//   damaged/                    records that could not be read, set aside by name

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

/** Environment values are bytes, which JSON does not have. */
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

/** A record is at most this long: a pod's specification with its environment, several times. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;
const MAX_NOTE_BYTES = 256;

/** Undefined if there is no file. Throws if it is damaged. */
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

  /** Damaged records are set aside. */
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
   * The containers on disk; `lost` are the IDs of the others: their making was cut short, or their
   * record was damaged and is set aside. A process may still run for them. The caller removes them.
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
 * The record of a supervisor about the end of its program: the exit code and the time, in
 * milliseconds since the epoch.
 */
export function readExit(containerDir: string): { exitCode: number; at: number } | undefined {
  const note = readNote(join(containerDir, 'exit'));
  if (note === undefined || !/^\d{1,3}\n$/.test(note.text)) return undefined;
  return { exitCode: Number(note.text), at: note.at };
}

/** The pids of a supervisor and of its program. */
export function readPids(
  containerDir: string,
): { supervisor: number; program: number } | undefined {
  const [supervisor, program] = (readNote(join(containerDir, 'pids'))?.text ?? '')
    .split('\n')
    .map(Number);
  return supervisor && program ? { supervisor, program } : undefined;
}

/** Undefined if there is no such file, or one that no supervisor has written. */
function readNote(path: string): { readonly text: string; readonly at: number } | undefined {
  try {
    const { data, info } = readUntrustedSync(path, MAX_NOTE_BYTES);
    return { text: data.toString('utf8'), at: info.mtimeMs };
  } catch {
    return undefined;
  }
}
