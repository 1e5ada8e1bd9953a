// Lets pods reach an API server that listens on loopback only. The service `kubernetes` names the
// machine's address; a port at that address forwards connections from this machine and its pods to
// the server. Other connections are closed at once.

import { createServer, connect, type Server, type Socket } from 'node:net';
import { contains, parseCidr, parseIp } from '#machinery/net/ip.ts';

export interface PodAccessConfig {
  /** The machine's address. */
  readonly address: string;
  readonly port: number;
  /** The address of the API server. */
  readonly server: { readonly host: string; readonly port: number };
  readonly podCidrs: readonly string[];
  /** The machine's addresses. */
  readonly ownAddresses: () => readonly string[];
}

export interface PodAccess {
  readonly port: number;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 1000;

/** Rejects if it cannot listen there. */
export async function openPodAccess(config: PodAccessConfig): Promise<PodAccess> {
  const { address, port, server: target } = config;
  const ranges = config.podCidrs.flatMap((text) => parseCidr(text) ?? []);
  const mayConnect = (remote: string): boolean => {
    const plain = remote.startsWith('::ffff:') ? remote.slice('::ffff:'.length) : remote;
    const parsed = parseIp(plain);
    if (parsed === undefined) return false;
    return ranges.some((range) => contains(range, parsed)) || config.ownAddresses().includes(plain);
  };
  const sockets = new Set<Socket>();
  const server = createServer(
    { allowHalfOpen: true, pauseOnConnect: true, noDelay: true },
    (client) => {
      if (!mayConnect(client.remoteAddress ?? '')) {
        client.resetAndDestroy();
        return;
      }
      const onward = connect({ ...target, allowHalfOpen: true, noDelay: true });
      for (const [socket, other] of [
        [client, onward],
        [onward, client],
      ] as const) {
        sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  const actual = await listening(server, address, port);
  return {
    port: actual,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}
