import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { FollowedCorefile, nodeFiles } from '#dns/index.ts';
import { freePorts } from '#machinery/net/testing/free-ports.ts';
import type { EmbeddedCluster } from '../index.ts';
import { type CorefileRoleConfig, startCorefileRole } from './dns-corefile.ts';
import { addressesAt, type DnsRoleTests, startDnsRoleTests } from './testing/dns-roles.ts';

let tests: DnsRoleTests;
let cluster: EmbeddedCluster;
let dir: string;
let config: CorefileRoleConfig;
beforeAll(async () => {
  tests = await startDnsRoleTests();
  ({ cluster, dir } = tests);
  config = {
    ...tests.config,
    corefile: join(dir, 'Corefile'),
    onQueryLine: () => undefined,
  };
});
afterAll(() => tests.stop());

test('answers at its addresses, serves its pages, and makes no objects', async () => {
  const [dns, metrics, health, ready] = await freePorts(4);
  writeFileSync(
    config.corefile,
    `cluster.local:${dns} {
      bind 127.0.0.1
      kubernetes {
        kubeconfig ${tests.kubeconfig}
      }
      prometheus localhost:${metrics}
      health localhost:${health} {
        lameduck 1ms
      }
      ready localhost:${ready}
    }`,
  );
  const role = await startCorefileRole(config);
  expect(role.addresses).toEqual([{ address: '127.0.0.1', port: dns }]);
  const addresses = await addressesAt(dns as number, 'kubernetes.default.svc.cluster.local');
  expect(addresses).toMatchObject([{ type: 'A' }]);
  const page = async (port: number | undefined, path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  expect(await page(health, '/health')).toBe('OK');
  expect(await page(ready, '/ready')).toBe('OK');
  expect(await page(metrics, '/metrics')).toContain('coredns_dns_requests_total{');
  const inSystem = cluster.client.resource(endpointSlices).namespace('kube-system');
  expect((await inSystem.list()).items).toEqual([]);
  await role.stop();
});

test.each([
  ['. {\n nonsense\n}\n', /^--corefile: .*Corefile:2: the directive "nonsense" is not supported/],
  ['. {\n kubernetes a.b\n}\n', /^--kubeconfig is needed outside of a pod/],
  ['. {\n kubernetes a.b {\n kubeconfig /nowhere\n }\n}\n', /^kubeconfig of the Corefile: /],
  ['.:5391 {\n bind 192.0.2.7\n}\n', /Corefile: .*EADDRNOTAVAIL/],
])('%j cannot be', async (text, message) => {
  writeFileSync(config.corefile, text);
  await expect(startCorefileRole(config)).rejects.toThrow(message);
});

test('a file that is missing', async () => {
  const corefile = join(dir, 'missing');
  await expect(startCorefileRole({ ...config, corefile })).rejects.toThrow(
    `--corefile: ${corefile}:1: there is no such file`,
  );
});

test('the example can be applied, and its Corefile can be read', async () => {
  const manifest = fileURLToPath(new URL('../../../examples/dns/dns.yaml', import.meta.url));
  await cluster.apply(readFileSync(manifest, 'utf8'));
  const inSystem = cluster.client.resource(configMaps).namespace('kube-system');
  const corefile = (await inSystem.get('coredns')).data?.['Corefile'] ?? '';
  writeFileSync(config.corefile, corefile);
  const { clock, random, logger } = config;
  const path = config.corefile;
  const followed = await FollowedCorefile.load({
    path,
    files: nodeFiles,
    env: {},
    clock,
    random,
    logger,
  });
  expect(followed.corefile.serving).toMatchObject({ port: 53, hasCluster: true });
  expect(followed.corefile.reload).toBeDefined();
});
