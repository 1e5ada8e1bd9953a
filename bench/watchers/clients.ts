// The process of the clients (client.ts).

import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OpenOrder, RunOrder, RunReport } from './client.ts';

export class Clients {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL('client.ts', import.meta.url)));
  }

  send(order: OpenOrder | RunOrder): Promise<RunReport | null> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error('the clients ended'));
      this.#child.once('exit', ended);
      this.#child.once(
        'message',
        (message: { readonly report?: RunReport | null; readonly error?: string }) => {
          this.#child.off('exit', ended);
          if (message.error === undefined) resolve(message.report ?? null);
          else reject(new Error(`clients: ${message.error}`));
        },
      );
      this.#child.send(order);
    });
  }

  close(): void {
    this.#child.kill();
  }
}
