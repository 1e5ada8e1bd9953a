// A proxy between the engine and a member of etcd, for tests. It drops responses or delays requests
// on demand.

import { connect, createServer, type Server, type Socket } from 'node:net';

export class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Drops the bytes that come from etcd. */
  losesAnswers = false;
  /**
   * Requests that wait to be sent to etcd. `release` sends them, even if the client no longer
   * waits.
   */
  #held: (() => void)[] | undefined;
  #port = 0;

  /** Creates the proxy. `target`: the member's endpoint. */
  constructor(target: string) {
    const { hostname, port } = new URL(target);
    this.#server = createServer((client) => {
      const upstream = connect(Number(port), hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => this.#sockets.delete(socket));
      }
      client.on('data', (chunk) => {
        if (this.#held === undefined) upstream.write(chunk);
        else this.#held.push(() => upstream.write(chunk));
      });
      upstream.on('data', (chunk) => this.losesAnswers || client.write(chunk));
      upstream.on('close', () => client.destroy());
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as { port: number }).port;
  }

  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const send of held) send();
  }

  /** Ends the current connections. New ones are accepted. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    this.disconnect();
  }
}
