import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';

const CLEAN_UP = new URL('./clean-up.ts', import.meta.url).href;

/** A run that has started a process, which ignores nothing, and made a directory with a file in it. */
const RUN = `
  import { spawn } from 'node:child_process';
  import { writeFileSync } from 'node:fs';
  import { endedWithRun, temporaryDirectory } from '${CLEAN_UP}';
  const dir = temporaryDirectory('coxswain-clean-up-');
  writeFileSync(dir + '/data', 'x');
  const child = endedWithRun(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']));
  child.once('spawn', () => console.log(JSON.stringify({ pid: child.pid, dir })));
`;

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  'a run that %s ends leaves neither processes nor directories',
  async (signal) => {
    const run = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', RUN], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(run, 'exit');
    const [line] = (await once(run.stdout, 'data')) as [Buffer];
    const { pid, dir } = JSON.parse(line.toString()) as { pid: number; dir: string };
    expect(existsSync(dir)).toBe(true);
    expect(isRunning(pid)).toBe(true);

    run.kill(signal);

    expect(await exited).toEqual([null, signal]);
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(dir)).toBe(false);
  },
);

/** The parent has waited for the process, so none is left of it when it has ended. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
