// Reads the heap of another Node process, after full collections: a module loaded with it writes the
// figure into a file at each signal.

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { temporaryDirectory } from './clean-up.ts';

export class HeapUsage {
  readonly #directory = temporaryDirectory('coxswain-heap-');
  readonly #file = join(this.#directory, 'bytes');

  /** The flags that Node needs to answer. */
  get flags(): readonly string[] {
    const module = `
      import { renameSync, writeFileSync } from 'node:fs';
      process.on('SIGUSR2', () => {
        globalThis.gc();
        globalThis.gc();
        const { heapUsed, external } = process.memoryUsage();
        const file = ${JSON.stringify(this.#file)};
        writeFileSync(file + '.new', String(heapUsed + external));
        renameSync(file + '.new', file);
      });`;
    return ['--expose-gc', `--import=data:text/javascript,${encodeURIComponent(module)}`];
  }

  /**
   * Resolves with the used heap and the memory outside it that belongs to its objects, in bytes. The
   * second collection frees what weak references of the first one held.
   */
  async bytes(pid: number): Promise<number> {
    rmSync(this.#file, { force: true });
    process.kill(pid, 'SIGUSR2');
    await wait.poll({ clock: systemClock, intervalMs: 50, timeoutMs: 30_000 }, () =>
      Promise.resolve(existsSync(this.#file)),
    );
    return Number(readFileSync(this.#file, 'utf8'));
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
