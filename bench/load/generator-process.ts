// Starts the load generator in a process of its own, and sends orders to it.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OpenOrder, RunOrder, RunReport } from './generator.ts';

export class GeneratorProcess {
  readonly #child: ChildProcess;

  /** Starts the process and opens its connections. */
  static async open(order: Omit<OpenOrder, 'order'>): Promise<GeneratorProcess> {
    const generator = new GeneratorProcess();
    await generator.#order({ ...order, order: 'open' });
    return generator;
  }

  private constructor() {
    this.#child = fork(fileURLToPath(new URL('generator.ts', import.meta.url)));
  }

  async run(order: Omit<RunOrder, 'order'>): Promise<RunReport> {
    return (await this.#order({ ...order, order: 'run' })) as RunReport;
  }

  close(): void {
    this.#child.kill();
  }

  #order(order: OpenOrder | RunOrder): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the load generator ended'));
      this.#child.once('exit', ended);
      this.#child.once(
        'message',
        (message: { readonly report?: unknown; readonly error?: string }) => {
          this.#child.off('exit', ended);
          if (message.error === undefined) resolve(message.report);
          else reject(new Error(`load generator: ${message.error}`));
        },
      );
      this.#child.send(order);
    });
  }
}
