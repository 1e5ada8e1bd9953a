// The conformance suite on the machine's loopback range: every address of the suite is mapped to
// 127.0.0.0/8.

import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { proxyConformance } from '../conformance.ts';
import type { Backend, PortRules, RulesUpdate, ServiceRules, Target } from '../model.ts';
import { Agent } from '#machinery/net/testing/agent.ts';
import { LAB_PORT } from '../testing/lab.ts';
import { UserspaceBackend } from './userspace-backend.ts';

/** A range for this process, so that tests in parallel do not conflict. */
const block = 64 + (process.pid % 64);
/** Maps an address: '10.0.1.2' → '127.B.1.2', with another B for each range of the suite. */
function inLoopback(ip: string): string {
  const [a = '', , c = '', d = ''] = ip.split('.');
  const offsets: Readonly<Record<string, number>> = {
    '10': ip.startsWith('10.96') ? 1 : 0,
    '192': 2,
    '203': 3,
  };
  return `127.${block}.${10 * (offsets[a] ?? 0) + Number(c === '113' ? 3 : c) + 20}.${d}`;
}
const targets = (list: readonly Target[]): Target[] =>
  list.map((target) => ({ ...target, ip: inLoopback(target.ip) }));
const inLoopbackRules = (rules: PortRules): PortRules => ({
  ...rules,
  clusterIP: inLoopback(rules.clusterIP),
  externalIPs: rules.externalIPs.map(inLoopback),
  loadBalancerIPs: rules.loadBalancerIPs.map(inLoopback),
  cluster: targets(rules.cluster),
  local: targets(rules.local),
});
const translated = (rules: ServiceRules): ServiceRules => ({
  ...rules,
  ports: rules.ports.map(inLoopbackRules),
});

class InLoopback implements Backend {
  readonly name = 'userspace';
  readonly #backend = new UserspaceBackend({
    nodePortIPs: () => [inLoopback('192.168.0.1')],
    machineAddresses: () => ['192.168.0.1', '203.0.113.7', '203.0.113.8'].map(inLoopback),
    addresses: { keep: () => Promise.resolve() },
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'error' }),
  });

  sync({ complete, changes }: RulesUpdate): Promise<void> {
    const own = Array.from(
      changes,
      ([key, rules]) => [key, rules === undefined ? undefined : translated(rules)] as const,
    );
    return this.#backend.sync({ complete, changes: new Map(own) });
  }

  close(): Promise<void> {
    return this.#backend.close();
  }
}

proxyConformance({
  name: 'userspace',
  missing: process.platform === 'linux' ? undefined : 'needs the whole loopback range',
  cannot: {
    'pods as clients': 'the machine has no pods with addresses of their own',
    'source addresses': 'endpoints see the proxy',
    dropping: 'what is not forwarded is refused',
    'rules that outlive the process': 'there are no rules',
    IPv6: 'the loopback range has one address only',
  },
  async start() {
    const agent = new Agent();
    const endpoints = {
      '10.0.0.1': 'pod1',
      '10.0.0.2': 'pod2',
      '10.0.1.1': 'other1',
      '10.0.1.2': 'other2',
    };
    await Promise.all(
      Object.entries(endpoints).map(([ip, name]) => agent.serve(name, inLoopback(ip), LAB_PORT)),
    );
    return {
      backend: () => new InLoopback(),
      connect: (origin, request) =>
        agent.connect({
          ...request,
          host: inLoopback(request.host),
          localAddress: inLoopback(origin === 'node' ? '192.168.0.1' : '192.168.0.2'),
        }),
      stop: () => agent.stop(),
    };
  },
});
