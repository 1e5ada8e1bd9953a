// Host ports of pods with a network of their own: each is a listener in this process that connects
// to the pod. TCP only.

import { createServer, type Server, type Socket } from 'node:net';
import { CriError, type PodSandboxConfig } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { dial, joinConnections, watchErrors } from '#machinery/net/peer/index.ts';

type PortMapping = NonNullable<PodSandboxConfig['portMappings']>[number];

/** Throws InvalidArgument for a host port that cannot be forwarded. */
export function checkPortMappings(mappings: readonly PortMapping[]): void {
  for (const { hostPort, protocol = 'TCP' } of mappings)
    if (hostPort && protocol !== 'TCP')
      throw new CriError(
        'InvalidArgument',
        `the process runtime forwards host ports of TCP only, not ${protocol} ${hostPort}`,
      );
}

/** Open host ports of one pod. */
export class PortMap {
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Opens the ports. Rejects with FailedPrecondition if one is in use; then none is open. */
  async open(mappings: readonly PortMapping[], address: string): Promise<void> {
    try {
      for (const { hostPort, containerPort, hostIp } of mappings) {
        if (!hostPort || !containerPort) continue;
        await this.#listen(hostPort, hostIp || undefined, containerPort, address);
      }
    } catch (error) {
      this.close();
      throw new CriError('FailedPrecondition', `host port: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #listen(
    port: number,
    host: string | undefined,
    containerPort: number,
    address: string,
  ): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      watchErrors(client);
      this.#sockets.add(client);
      client.once('close', () => this.#sockets.delete(client));
      this.#forward(client, containerPort, address).catch((error: unknown) => {
        this.#logger.debug('host port connection failed', { port, err: error });
        client.destroy();
      });
    });
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.unref();
        resolve();
      });
    });
  }

  /** Copies between a client and the pod until both have closed. Rejects if the pod is not reached. */
  async #forward(client: Socket, port: number, host: string): Promise<void> {
    const clock = this.#clock;
    await joinConnections(clock, client, await dial({ host, port, clock }));
  }

  /** Closes the ports and their connections. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
