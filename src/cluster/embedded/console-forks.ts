// Copies of a cluster that users make in its console.

import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

/** The parts of a copy that are used here. */
interface Copy {
  readonly url: string | undefined;
  clientOf(user: { readonly name: string; readonly groups?: readonly string[] }): Client;
  stop(): Promise<void>;
}

/** Each copy is a cluster that runs. */
const MAX_FORKS = 8;

export class ConsoleForks {
  readonly #fork: () => Promise<Copy>;
  readonly #copies: Copy[] = [];

  constructor(fork: () => Promise<Copy>) {
    this.#fork = fork;
  }

  /**
   * Makes a copy. Returns the address of its console, which signs the user in once. Throws
   * TooManyRequests if there are too many.
   */
  async create(user: {
    readonly name: string;
    readonly groups: readonly string[];
  }): Promise<{ readonly url: string }> {
    if (this.#copies.length >= MAX_FORKS)
      throw apierrors.tooManyRequests(
        `there are ${MAX_FORKS} forks already, which end with this cluster`,
        60,
      );
    const copy = await this.#fork();
    this.#copies.push(copy);
    const { path } = await copy
      .clientOf(user)
      .transport.request<{ readonly path: string }>({ method: 'POST', path: '/console/codes' });
    return { url: `${copy.url}${path}` };
  }

  /** Stops the copies. */
  async stop(): Promise<void> {
    await Promise.all(this.#copies.splice(0).map((copy) => copy.stop()));
  }
}
