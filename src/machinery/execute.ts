// Runs programs of the system (nft, conntrack, ip) with arguments as an array, never through a shell.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/** The directories of administration programs, which a user's PATH often lacks. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The longest error text that is kept, in characters. Programs repeat their input in errors. */
const MAX_ERROR_LENGTH = 2000;

export interface Executed {
  readonly code: number;
  readonly stdout: string;
  /** The first 2,000 characters of standard error. */
  readonly stderr: string;
}

/**
 * Runs a program to its end. Its messages are in English. Rejects if the program cannot be started.
 */
export function execute(
  [program = '', ...args]: readonly string[],
  input: string,
): Promise<Executed> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { PATH: SYSTEM_PATH, LC_ALL: 'C' }, stdio: 'pipe' });
    const out: Buffer[] = [];
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on(
      'data',
      (chunk: Buffer) => (stderr += chunk.toString().slice(0, MAX_ERROR_LENGTH - stderr.length)),
    );
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const status = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      resolve({ code: status, stdout: Buffer.concat(out).toString(), stderr });
    });
    // A program that ends early closes its input. Its exit code gives the reason.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
