// Forwards a TCP port: both directions, half-closed connections, back-pressure.

import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Target } from '../model.ts';
import type { Balancer } from './balancer.ts';
import type { Route } from './frontends.ts';
import type { Listener } from './listener.ts';

/** One frontend must not exhaust the file descriptors of the process. */
const MAX_CONNECTIONS = 2000;
/** The next endpoint is tried if one does not respond within this time. */
const CONNECT_TIMEOUT_MS = 5000;
const MAX_TRIES = 3;

/** Starts listening. Rejects if the address and port cannot be used. */
export async function listenTcp(
  ip: string,
  port: number,
  route: Route,
  balancer: Balancer,
): Promise<Listener> {
  let current = route;
  const sockets = new Set<Socket>();
  const server = createServer(
    { allowHalfOpen: true, pauseOnConnect: true, noDelay: true },
    (client) => {
      const source = plainAddress(client.remoteAddress ?? '');
      sockets.add(client);
      client.on('close', () => sockets.delete(client));
      client.on('error', () => client.destroy());
      const targets = balancer.targetsFor(current, source).slice(0, MAX_TRIES);
      forward(client, targets, (target) => balancer.connected(current, source, target));
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await listening(server, ip, port);
  return {
    setRoute: (next) => (current = next),
    close(connections) {
      if (connections) for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
        // Open connections end by themselves, as with rules in the kernel; the call does not wait
        // for them.
        if (!connections) resolve();
      });
    },
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only: host.includes(':') }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
}

function forward(
  client: Socket,
  [target, ...others]: readonly Target[],
  onConnect: (target: Target) => void,
): void {
  if (target === undefined || client.destroyed) {
    client.resetAndDestroy();
    return;
  }
  const server = connect({
    host: target.ip,
    port: target.port,
    allowHalfOpen: true,
    noDelay: true,
  });
  server.setTimeout(CONNECT_TIMEOUT_MS, () => server.destroy(new Error('no answer')));
  let isConnected = false;
  server.on('error', () => {
    if (isConnected) client.resetAndDestroy();
    else if (!client.destroyed) forward(client, others, onConnect);
  });
  client.once('close', () => server.destroy());
  server.once('connect', () => {
    isConnected = true;
    server.setTimeout(0);
    onConnect(target);
    client.pipe(server);
    server.pipe(client);
  });
}

/** Returns the address of an IPv4 client without the prefix of dual-stack sockets. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
