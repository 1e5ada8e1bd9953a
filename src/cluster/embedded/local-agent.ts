// An agent for node:http whose connections go to the API server in this process, so that other client libraries need no port.

import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

export class LocalAgent extends Agent {
  readonly #connect: () => Duplex;

  constructor(connect: () => Duplex) {
    super({ keepAlive: true });
    this.#connect = connect;
  }

  override createConnection(): Duplex {
    const connection = this.#connect() as Duplex & { ref?: () => void; unref?: () => void };
    // Node's agent calls these of a socket. This connection does not keep the process alive.
    connection.ref ??= () => undefined;
    connection.unref ??= () => undefined;
    return connection;
  }
}
