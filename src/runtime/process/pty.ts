// Terminals without native code: `script` of util-linux runs a command on a terminal, and `stty`
// sets its size.

import { execFile, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import type { TerminalSize } from '#cri/index.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';

const run = promisify(execFile);

let available: boolean | undefined;

/** Reports whether this host has a usable `script`, and stty. */
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
 * Returns a command that runs `command` on a terminal, and writes the terminal's device to
 * `deviceFile`. The exit code is the command's. It needs a trusted environment, because script(1)
 * runs with the rights of this process.
 */
export function onPty(command: readonly string[], deviceFile: string): [string, ...string[]] {
  // Renamed when complete, so that readers never see a part of it.
  const note = quoted(deviceFile);
  return [
    'script',
    '-qefc',
    `tty > ${note}.tmp && mv ${note}.tmp ${note}; exec ${command.map(quoted).join(' ')}`,
    '/dev/null',
  ];
}

/**
 * Sets the terminal's size to each value as it arrives, until the values end or the terminal is
 * gone.
 */
export async function followSizes(
  deviceFile: string,
  sizes: AsyncIterable<TerminalSize>,
  until: () => Promise<void>,
): Promise<void> {
  for await (const { width, height } of sizes) {
    // The command itself writes the device, just after its start.
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
