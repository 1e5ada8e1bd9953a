// A load balancer address that the machine gets after the service has it.

import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { Agent } from '#machinery/net/testing/agent.ts';
import { systemRandom } from '#machinery/random.ts';
import { decideService } from '../decide.ts';
import type { PortRules, ServiceRules } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { UserspaceBackend } from './userspace-backend.ts';

const ADDRESS = '127.0.4.77';

test.skipIf(process.platform !== 'linux')(
  'is served from then on, and not after it is gone',
  async () => {
    const given = service(
      { type: 'LoadBalancer', ports: [{ port: 24_080, targetPort: 8080 }] },
      'web',
      ['203.0.113.7'],
    );
    const rules = decideService(given, [slice(['10.0.0.1'])], NODE) as ServiceRules;
    const target = { ip: '127.0.4.78', port: 24_081, local: false };
    const ports = rules.ports.map((port): PortRules => ({
      ...port,
      loadBalancerIPs: [ADDRESS],
      cluster: [target],
    }));
    const clock = new VirtualClock();
    let addresses: readonly string[] = ['127.0.0.1'];
    const backend = new UserspaceBackend({
      nodePortIPs: () => [],
      machineAddresses: () => addresses,
      addresses: undefined,
      clock,
      random: systemRandom,
      logger: recordingLogger(),
    });
    const agent = new Agent();
    await agent.serve('pod', target.ip, target.port);
    const connect = () => agent.connect({ host: ADDRESS, port: 24_080 });
    await backend.sync({
      complete: true,
      changes: new Map([['default/web', { ...rules, ports }]]),
    });
    expect(await connect()).toBe('refused');
    addresses = ['127.0.0.1', ADDRESS];
    await clock.advance('2s');
    await backend.sync({ complete: false, changes: new Map() });
    expect(await connect()).toMatchObject({ server: 'pod' });
    addresses = ['127.0.0.1'];
    await clock.advance('2s');
    await backend.sync({ complete: false, changes: new Map() });
    expect(await connect()).toBe('refused');
    await backend.close();
    await agent.stop();
  },
);
