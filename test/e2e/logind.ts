// A D-Bus of its own with a systemd-logind that only knows locks: shutdowns of no machine.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';

const script = fileURLToPath(new URL('fake-logind.py', import.meta.url));
/** Debian's own interpreter: others do not find its modules. */
const PYTHON = '/usr/bin/python3';

const hasModules = (): boolean =>
  spawnSync(PYTHON, ['-c', 'import dbus; from gi.repository import GLib']).status === 0;

/** The reason why there can be no such bus; undefined if there can. */
export const missingLogind =
  ['dbus-daemon', 'busctl', 'systemd-inhibit'].find(
    (program) => !['/usr/bin', '/bin'].some((directory) => existsSync(join(directory, program))),
  ) ?? (hasModules() ? undefined : 'the Python modules dbus and gi');

export interface FakeLogind {
  /** The value of DBUS_SYSTEM_BUS_ADDRESS. */
  readonly address: string;
  /** The number of held locks. */
  readonly locks: number;
  /** Announces a shutdown of the machine, or its cancellation. */
  announce(what: 'shutdown' | 'cancel'): void;
  stop(): void;
}

export async function startFakeLogind(): Promise<FakeLogind> {
  const dir = mkdtempSync(join(tmpdir(), 'cox-dbus-'));
  const socket = join(dir, 'bus');
  const address = `unix:path=${socket}`;
  writeFileSync(
    join(dir, 'bus.conf'),
    `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>${address}</listen>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
`,
  );
  const children: ChildProcess[] = [];
  const stop = (): void => {
    for (const child of children) child.kill();
    rmSync(dir, { recursive: true, force: true });
  };
  const untilTrue = (condition: () => boolean): Promise<void> =>
    wait.pollImmediately({ clock: systemClock, intervalMs: 50, timeoutMs: 30_000 }, condition);
  try {
    children.push(
      spawn('dbus-daemon', ['--nofork', `--config-file=${join(dir, 'bus.conf')}`], {
        stdio: 'ignore',
      }),
    );
    await untilTrue(() => existsSync(socket));
    const logind = spawn(PYTHON, [script], {
      env: { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: address },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.unshift(logind);
    let isReady = false;
    let locks = 0;
    createInterface({ input: logind.stdout }).on('line', (line) => {
      if (line === 'ready') isReady = true;
      const count = /^locks (\d+)$/.exec(line)?.[1];
      if (count !== undefined) locks = Number(count);
    });
    await untilTrue(() => isReady);
    return {
      address,
      get locks() {
        return locks;
      },
      announce: (what) => void logind.stdin.write(`${what}\n`),
      stop,
    };
  } catch (error) {
    stop();
    throw error;
  }
}
