// An agent for node:http whose connections go to the API server in this process, so that other
// client libraries need no port.

import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Methods of sockets that node:http and client libraries call. A connection inside the process has
 * no use for them.
 */
const SOCKET_METHODS = ['setKeepAlive', 'setNoDelay', 'setTimeout', 'ref', 'unref'] as const;

export class LocalAgent extends Agent {
  readonly #connect: () => Duplex;

  constructor(connect: () => Duplex) {
    // A connection inside the process costs next to nothing, so none is kept for a further request.
    super({ keepAlive: false });
    this.#connect = connect;
  }

  override createConnection(): Duplex {
    const connection = this.#connect();
    const ignored = Object.fromEntries(SOCKET_METHODS.map((name) => [name, () => connection]));
    return Object.assign(connection, ignored);
  }
}
