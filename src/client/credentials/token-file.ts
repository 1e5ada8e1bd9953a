// A bearer token in a file that another program replaces, as the kubelet does for the token of a
// ServiceAccount.

import { readFile } from 'node:fs/promises';
import type { Clock } from '#machinery/clock.ts';
import type { Credentials, CredentialSource } from './credential-source.ts';

/** The time after which the file is read again, as in client-go. */
const REREAD_MS = 60_000;

export interface TokenFileConfig {
  readonly path: string;
  readonly clock: Clock;
  /** Default: reads from the file system. */
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Reads the token at most once a minute, and immediately after a 401. An unreadable file fails the
 * request only if there is no older token.
 */
export class TokenFile implements CredentialSource {
  readonly #config: TokenFileConfig;
  #token: string | undefined;
  #readAt = 0;

  constructor(config: TokenFileConfig) {
    this.#config = config;
  }

  async current(): Promise<Credentials> {
    const { path, clock, read = readText } = this.#config;
    const now = clock.monotonic();
    if (this.#token === undefined || now - this.#readAt >= REREAD_MS) {
      try {
        const token = (await read(path)).trim();
        if (token === '') throw new Error(`the token file ${path} is empty`);
        this.#token = token;
        this.#readAt = now;
      } catch (error) {
        if (this.#token === undefined) throw error;
        // Retried with the next request: the server rejects the old token when it expires.
      }
    }
    return { token: this.#token };
  }

  invalidate(rejected: Credentials): void {
    if (rejected.token === this.#token) this.#readAt = -REREAD_MS;
  }
}

const readText = (path: string): Promise<string> => readFile(path, 'utf8');
