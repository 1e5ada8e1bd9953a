// Measures the delays of the event loop of a server in another process, by a probe inside that
// process.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';

/** Node's flags that load the probe into the server's process. */
export const PROBE_FLAGS: readonly string[] = [
  '--require',
  fileURLToPath(new URL('loop-delay-probe.cjs', import.meta.url)),
];

const TIMEOUT_MS = 10_000;

export interface LoopDelay {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Returns the delays since the last call, or since the start. */
export async function loopDelay(pid: number): Promise<LoopDelay> {
  const file = join(tmpdir(), `coxswain-loop-delay-${pid}.json`);
  const deadline = systemClock.monotonic() + TIMEOUT_MS;
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) {
    if (systemClock.monotonic() > deadline)
      throw new Error(`process ${pid} does not say how its event loop is`);
    await systemClock.sleep(5);
  }
  const delay = JSON.parse(readFileSync(file, 'utf8')) as LoopDelay;
  rmSync(file);
  return delay;
}
