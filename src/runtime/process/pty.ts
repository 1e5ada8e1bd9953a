// Terminals without native code: the `script` of util-linux runs a command on one, and `stty` gives
// it its size.

import { execFile, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import type { TerminalSize } from '#cri/index.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';

const run = promisify(execFile);

let available: boolean | undefined;

/** Whether this host has a `script` that can be used, and stty. */
export function hasPty(): boolean {
  if (available === undefined) {
    try {
      available = execFileSync('script', ['--version'], { encoding: 'utf8' }).includes(
        'util-linux',
      );
      execFileSync('stty', ['--version'], { stdio: 'ignore' });
    } catch {
      available = false;
    }
  }
  return available;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The command, on a terminal whose device is noted in `deviceFile`. Its exit code is the command's.
 * It needs an environment that is trusted: script(1) runs with the rights of this process.
 */
export function onPty(command: readonly string[], deviceFile: string): [string, ...string[]] {
  // Renamed when it is complete, so that readers never see a part.
  const note = quoted(deviceFile);
  return [
    'script',
    '-qefc',
    `tty > ${note}.tmp && mv ${note}.tmp ${note}; exec ${command.map(quoted).join(' ')}`,
    '/dev/null',
  ];
}

/** Gives the terminal each size as it comes, until there are no more or the terminal is gone. */
export async function followSizes(
  deviceFile: string,
  sizes: AsyncIterable<TerminalSize>,
  until: () => Promise<void>,
): Promise<void> {
  for await (const { width, height } of sizes) {
    // The device is noted by the command itself, just after it was started.
    await until();
    let device: string;
    try {
      device = readUntrustedSync(deviceFile, 256).data.toString('utf8').trim();
    } catch {
      return;
    }
    if (!/^\/dev\/[\w/]+$/.test(device)) return;
    await run('stty', ['-F', device, 'cols', String(width), 'rows', String(height)]).catch(
      () => undefined,
    );
  }
}

export function forgetPty(deviceFile: string): void {
  rmSync(deviceFile, { force: true });
}
