// The one way from the proxy to the kernel's tables: the program nft.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Nft {
  /** Runs commands as one transaction: all or none. Rejects with NftError. */
  run(commands: string): Promise<void>;
  /** Returns what `nft -j list table` prints; undefined if there is no such table. */
  list(family: 'ip' | 'ip6', table: string): Promise<string | undefined>;
}

export class NftError extends Error {
  override readonly name = 'NftError';
}

/** Where programs of administrators are; a user's PATH often lacks them. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What nft prints of errors in a transaction is its own input; only its beginning is of use. */
const MAX_ERROR_LENGTH = 2000;
const NOT_FOUND = /No such file or directory/;

/** @param prefix program and arguments that run nft, such as `ip netns exec NAME`. Default: none. */
export function systemNft(prefix: readonly string[] = []): Nft {
  const command = [...prefix, 'nft'];
  return {
    async run(commands) {
      const { code, stderr } = await execute([...command, '-f', '-'], commands);
      if (code !== 0) throw new NftError(`nft failed: ${stderr.trim() || `exit code ${code}`}`);
    },
    async list(family, table) {
      const { code, stdout, stderr } = await execute([...command, '-j', 'list', 'table', family, table], '');
      if (code === 0) return stdout;
      if (NOT_FOUND.test(stderr)) return undefined;
      throw new NftError(`nft list failed: ${stderr.trim() || `exit code ${code}`}`);
    },
  };
}

export interface Executed {
  readonly code: number;
  readonly stdout: string;
  /** At most the first 2,000 characters. */
  readonly stderr: string;
}

/** Runs a program to its end. Rejects if it cannot be started; its messages are in English. */
export function execute([program = '', ...args]: readonly string[], input: string): Promise<Executed> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { PATH: SYSTEM_PATH, LC_ALL: 'C' }, stdio: 'pipe' });
    const out: Buffer[] = [];
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString().slice(0, MAX_ERROR_LENGTH - stderr.length)));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const status = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      resolve({ code: status, stdout: Buffer.concat(out).toString(), stderr });
    });
    // A program that ends early closes its input: its exit code says why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
