// Stores the certificates that a kubelet is issued, in upstream's layout: each pair is one file,
// PREFIX-TIME.pem, and PREFIX-current.pem is a symbolic link to the one in use.
//
// A new pair is written to the disk before the link changes, and the link is replaced by a rename.
// If the process ends in between, the next start uses the old pair.

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { syncDirectory, writeDurableFile } from '#machinery/files/durable-file.ts';
import { certificateOf, type IssuedPair } from './issued-pair.ts';

export interface PairStoreConfig {
  readonly clock: Clock;
  readonly directory: string;
  /** 'kubelet-client' or 'kubelet-server'. */
  readonly prefix: string;
  /** Files with a pair that is used as long as none was issued. */
  readonly certFile?: string;
  readonly keyFile?: string;
}

export class PairStore {
  readonly #config: PairStoreConfig;

  /** Completes a change of the current pair that was interrupted. Throws for unusable files. */
  constructor(config: PairStoreConfig) {
    this.#config = config;
    const { currentPath } = this;
    if (existsSync(currentPath)) return;
    const updated = this.#path('updated');
    const kind = linkKind(updated);
    if (kind === 'absent') return;
    if (kind === 'file') throw new Error(`expected "${updated}" to be a symlink but it is a file`);
    renameSync(updated, currentPath);
  }

  /** The symbolic link to the current pair: a file with the certificate and its key. */
  get currentPath(): string {
    return this.#path('current');
  }

  /**
   * Returns the current pair, of the first place that has one: the link, the configured files,
   * PREFIX.crt and PREFIX.key. Undefined: there is none. Throws if a file cannot be used.
   */
  current(): IssuedPair | undefined {
    const { directory, prefix, certFile, keyFile } = this.#config;
    const places = [
      { cert: this.currentPath, key: this.currentPath },
      ...(certFile !== undefined && keyFile !== undefined
        ? [{ cert: certFile, key: keyFile }]
        : []),
      { cert: join(directory, `${prefix}.crt`), key: join(directory, `${prefix}.key`) },
    ];
    const place = places.find(({ cert, key }) => existsSync(cert) && existsSync(key));
    return place === undefined ? undefined : readPair(place.cert, place.key);
  }

  /** Stores a pair and makes it the current one. Throws if it cannot be used or stored. */
  update(cert: string, key: string): IssuedPair {
    const { directory, clock } = this.#config;
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    const path = this.#path(timeOf(clock.now()));
    const pair = certificateOf(cert, key);
    writeDurableFile(path, pair.cert + pair.key);
    const updated = this.#path('updated');
    for (const link of [this.currentPath, updated]) {
      if (linkKind(link) === 'file')
        throw new Error(`expected "${link}" to be a symlink but it is a file`);
    }
    rmSync(updated, { force: true });
    symlinkSync(resolve(path), updated);
    renameSync(updated, this.currentPath);
    syncDirectory(directory);
    return pair;
  }

  #path(qualifier: string): string {
    const { directory, prefix } = this.#config;
    return join(directory, `${prefix}-${qualifier}.pem`);
  }
}

function readPair(certFile: string, keyFile: string): IssuedPair {
  try {
    const text = readFileSync(certFile, 'utf8');
    const key = keyFile === certFile ? text : readFileSync(keyFile, 'utf8');
    return certificateOf(text, key);
  } catch (error) {
    throw new Error(
      `could not convert data from "${certFile}" into cert/key pair: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

function linkKind(path: string): 'absent' | 'link' | 'file' {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 'absent';
  return stats.isSymbolicLink() ? 'link' : 'file';
}

/** Returns a local time as upstream names files: '2026-01-31-23-59-59'. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  return [
    date.getFullYear(),
    ...[date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes()].map(two),
    two(date.getSeconds()),
  ].join('-');
}
