// Parts of the userspace proxy that the conformance suite does not cover.

import { createServer, connect, type AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { decideService } from '../decide.ts';
import type { ServiceRules, Target } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { Balancer } from './balancer.ts';
import { frontendsOf, type Route } from './frontends.ts';
import { listenTcp } from './tcp.ts';
import { UserspaceBackend } from './userspace-backend.ts';

const target = (ip: string, port = 8080): Target => ({ ip, port, local: true });
const route = (targets: readonly Target[], affinitySeconds = 0): Route => ({
  id: 'x',
  affinitySeconds,
  targets,
  ownTargets: targets,
  sourceRanges: [],
});
const balancerOf = (clock: VirtualClock): Balancer =>
  new Balancer({ clock, random: new SeededRandom('b'), isOwn: (client) => client === '127.0.0.1' });

test('affinity lasts from the last connection on', async () => {
  const clock = new VirtualClock();
  const balancer = balancerOf(clock);
  const to = route(
    ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((ip) => target(ip)),
    10,
  );
  const kept = target('10.0.0.2');
  balancer.connected(to, '1.1.1.1', kept);
  const isKept = (): boolean =>
    Array.from({ length: 20 }, () => balancer.targetsFor(to, '1.1.1.1')[0]?.ip).every(
      (ip) => ip === kept.ip,
    );
  await clock.advance('9s');
  expect(isKept()).toBe(true);
  balancer.connected(to, '1.1.1.1', kept);
  await clock.advance('9s');
  expect(isKept()).toBe(true);
  await clock.advance('1s');
  expect(isKept()).toBe(false);
});

test('source ranges', () => {
  const balancer = balancerOf(new VirtualClock());
  const to = { ...route([target('10.0.0.1')]), sourceRanges: ['192.168.0.0/24'] };
  expect(
    [
      balancer.targetsFor(to, '192.168.0.7'),
      balancer.targetsFor(to, '192.168.1.7'),
      balancer.targetsFor(to, 'x'),
    ].map((list) => list.length),
  ).toEqual([1, 0, 0]);
});

test('an endpoint that refuses is skipped, and the client gets an error if all do', async () => {
  const server = createServer((socket) => socket.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
  const frontend = (free.address() as AddressInfo).port;
  await new Promise((resolve) => free.close(resolve));
  const dead = target('127.0.0.1', 1);
  const listener = await listenTcp(
    '127.0.0.1',
    frontend,
    route([dead, target('127.0.0.1', port)]),
    balancerOf(new VirtualClock()),
  );
  const ask = (): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(frontend, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('end', () => resolve(text));
      socket.on('error', () => resolve('error'));
    });
  for (let round = 0; round < 6; round++) expect(await ask()).toBe('hello');
  listener.setRoute(route([dead]));
  expect(await ask()).toBe('error');
  listener.setRoute(route([]));
  expect(await ask()).toBe('error');
  await listener.close(true);
  await new Promise((resolve) => server.close(resolve));
});

test('frontends: with endpoints, at addresses of the machine', () => {
  const given = service(
    {
      type: 'LoadBalancer',
      externalIPs: ['192.168.0.1', '203.0.113.1'],
      ports: [{ port: 80, targetPort: 1, nodePort: 30_080 }],
    },
    'web',
    ['203.0.113.2'],
  );
  const rules = decideService(given, [slice(['10.0.0.1'])], NODE) as ServiceRules;
  const settings = { nodePortIPs: ['0.0.0.0', '::'], isOwn: (ip: string) => ip === '192.168.0.1' };
  expect(frontendsOf(rules, settings).map(({ ip, port }) => `${ip}:${port}`)).toEqual([
    '10.96.0.10:80',
    '0.0.0.0:30080',
    '192.168.0.1:80',
  ]);
  expect(frontendsOf(decideService(given, [], NODE) as ServiceRules, settings)).toEqual([]);
});

test('what is not available is logged once', async () => {
  const lines: string[] = [];
  const backend = new UserspaceBackend({
    nodePortIPs: () => [],
    machineAddresses: () => [],
    addresses: undefined,
    clock: new VirtualClock(),
    random: new SeededRandom('u'),
    logger: createLogger({ destination: { write: (line) => lines.push(line) } }),
  });
  const ports = [
    { name: 'a', port: 80, targetPort: 1 },
    { name: 'b', port: 81, targetPort: 1, protocol: 'SCTP' as const },
  ];
  const endpointPorts = [
    { name: 'a', port: 8080, protocol: 'TCP' as const },
    { name: 'b', port: 8080, protocol: 'SCTP' as const },
  ];
  const rules = decideService(
    service({ ports }),
    [slice(['10.0.0.1'], { ports: endpointPorts })],
    NODE,
  );
  await backend.sync({ complete: true, changes: new Map([['default/web', rules]]) });
  await backend.sync({ complete: false, changes: new Map([['default/web', rules]]) });
  expect(lines.filter((line) => line.includes('cluster IPs are not available'))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('SCTP is not available'))).toHaveLength(1);
  expect(lines).toHaveLength(2);
  await backend.close();
});
