// A TCP load balancer: new connections go, in turns, to servers whose /readyz answers with 200.
// Open connections stay where they are. It is what docs/high-availability.md asks of one.

import { get } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { systemClock } from '#machinery/clock.ts';

const CHECK_MS = 100;
const CHECK_TIMEOUT_MS = 1000;

export class LoadBalancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ready = new Set<number>();
  readonly #stop = new AbortController();
  #ports: readonly number[] = [];
  #next = 0;
  #checking: Promise<void> = Promise.resolve();

  static async start(): Promise<LoadBalancer> {
    const balancer = new LoadBalancer();
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', () => resolve()));
    return balancer;
  }

  private constructor() {
    this.#server = createServer((client) => this.#accept(client));
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The servers' ports. Checks them from now on. Called once. */
  balance(ports: readonly number[]): void {
    this.#ports = ports;
    this.#checking = this.#check();
  }

  /** The number of servers that get new connections. */
  get readyServers(): number {
    return this.#ready.size;
  }

  isReady(port: number): boolean {
    return this.#ready.has(port);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#checking;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #check(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await Promise.all(
        this.#ports.map(async (port) => {
          if (await answersReady(port)) this.#ready.add(port);
          else this.#ready.delete(port);
        }),
      );
      await systemClock.sleep(CHECK_MS, this.#stop.signal).catch(() => undefined);
    }
  }

  /** Connects to the next server that is ready; to another one if it does not accept. */
  #accept(client: Socket): void {
    const candidates = [...this.#ready];
    const from = this.#next++;
    const tryNext = (attempt: number): void => {
      const port = candidates[(from + attempt) % candidates.length];
      if (attempt >= candidates.length || port === undefined) {
        client.destroy();
        return;
      }
      const server = connect(port, '127.0.0.1');
      server.once('connect', () => {
        server.off('error', refused);
        this.#join(client, server);
      });
      const refused = (): void => tryNext(attempt + 1);
      server.once('error', refused);
    };
    client.on('error', () => client.destroy());
    tryNext(0);
  }

  #join(client: Socket, server: Socket): void {
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroySoon();
      });
      from.pipe(to);
    }
  }
}

function answersReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      { host: '127.0.0.1', port, path: '/readyz', rejectUnauthorized: false, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    request.setTimeout(CHECK_TIMEOUT_MS, () => request.destroy(new Error('no answer')));
    request.once('error', () => resolve(false));
  });
}
