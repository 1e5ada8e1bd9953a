import { expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { createLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { type ProxyRoleConfig, startProxyRole } from './proxy.ts';

const config: ProxyRoleConfig = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ destination: { write: () => undefined } }),
  kubeconfig: '/nonexistent/proxy.conf',
  hostnameOverride: 'here',
  proxyMode: 'userspace',
  masqueradeAll: false,
  healthzBindAddress: '',
  metricsBindAddress: '',
  cleanup: false,
};

test.each<[string, Partial<ProxyRoleConfig>, RegExp]>([
  ['no kubeconfig', { kubeconfig: undefined }, /^--kubeconfig is needed/],
  ['a kubeconfig that is not there', {}, /^--kubeconfig: /],
  [
    'a mode that upstream has',
    { proxyMode: 'iptables' },
    /^unknown --proxy-mode "iptables": it is auto, nftables, userspace/,
  ],
  ['a name that no node has', { hostnameOverride: 'A_B' }, /^"A_B" is no name of a node/],
  [
    'a range of pods',
    { clusterCidr: '10.244.0.0/16,x' },
    /^--cluster-cidr takes ranges, .* not 'x'$/,
  ],
])('%s', async (_, flags, message) => {
  await expect(startProxyRole({ ...config, ...flags })).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(message),
  });
});
