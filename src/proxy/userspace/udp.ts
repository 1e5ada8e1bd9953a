// Forwards a UDP port. Each client has its own socket towards its endpoint, so that replies can be
// assigned to it.

import { createSocket, type Socket } from 'node:dgram';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Target } from '../model.ts';
import type { Balancer } from './balancer.ts';
import type { Route } from './frontends.ts';
import type { Listener } from './listener.ts';
import { plainAddress } from './tcp.ts';

/**
 * A client without traffic for this time is dropped: the timeout of the kernel's connection
 * tracking for UDP streams.
 */
const IDLE_MS = 120_000;
/**
 * The maximum number of clients per frontend; the one that has been idle longest is dropped. Each
 * takes a file descriptor.
 */
const MAX_CLIENTS = 500;

interface Session {
  readonly socket: Socket;
  readonly target: Target;
  idle: Timer;
}

/** Starts listening. Rejects if the address and port cannot be used. */
export async function listenUdp(
  ip: string,
  port: number,
  route: Route,
  balancer: Balancer,
  clock: Clock,
): Promise<Listener> {
  let current = route;
  const type = ip.includes(':') ? 'udp6' : 'udp4';
  const frontend = createSocket({ type, ipv6Only: type === 'udp6' });
  /** The clients' sessions, in the order of their last datagrams. */
  const sessions = new Map<string, Session>();
  const end = (client: string): void => {
    const session = sessions.get(client);
    sessions.delete(client);
    session?.idle.cancel();
    session?.socket.close();
  };
  const begin = (client: string, address: string, clientPort: number): Session | undefined => {
    const source = plainAddress(address);
    const [target] = balancer.targetsFor(current, source);
    if (target === undefined) return undefined;
    balancer.connected(current, source, target);
    const socket = createSocket(target.ip.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', () => end(client));
    socket.on('message', (data, from) => {
      // Only the endpoint may reply in the name of the service.
      if (from.port === target.port && plainAddress(from.address) === target.ip)
        frontend.send(data, clientPort, address, ignoreError);
    });
    return { socket, target, idle: clock.setTimer(IDLE_MS, () => end(client)) };
  };
  frontend.on('message', (data, { address, port: clientPort }) => {
    const client = `${address} ${clientPort}`;
    let session = sessions.get(client);
    if (session !== undefined && !isTarget(current, session.target)) {
      end(client);
      session = undefined;
    }
    if (session === undefined) {
      session = begin(client, address, clientPort);
      if (session === undefined) return;
      const oldest = sessions.size >= MAX_CLIENTS ? sessions.keys().next().value : undefined;
      if (oldest !== undefined) end(oldest);
    } else {
      sessions.delete(client);
      session.idle.cancel();
      session.idle = clock.setTimer(IDLE_MS, () => end(client));
    }
    sessions.set(client, session);
    session.socket.send(data, session.target.port, session.target.ip, ignoreError);
  });
  await new Promise<void>((resolve, reject) => {
    frontend.once('error', reject);
    frontend.bind({ address: ip, port, exclusive: true }, () => {
      frontend.off('error', reject);
      frontend.on('error', ignoreError);
      resolve();
    });
  });
  return {
    setRoute: (next) => (current = next),
    async close() {
      for (const client of sessions.keys()) end(client);
      await new Promise<void>((resolve) => frontend.close(resolve));
    },
  };
}

const isTarget = ({ targets, ownTargets }: Route, { ip, port }: Target): boolean =>
  [targets, ownTargets].some((list) =>
    list.some((target) => target.ip === ip && target.port === port),
  );

/** Ignores an error: a datagram that cannot be sent is lost, which UDP allows. */
function ignoreError(): void {}
