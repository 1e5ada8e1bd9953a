// Runs the suite of our back ends on upstream's kube-proxy: the same services and endpoints, in the
// same namespaces, and the same results. Its objects come from our API server. KUBE_PROXY names the
// program (1.36); test/conformance/go.mod has its version.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodes, services } from '#api/groups/core/v1/index.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import { startCluster } from '#cluster/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { type ObjectProxy, proxyConformance } from '#proxy/conformance.ts';
import type { Service, Slice } from '#proxy/model.ts';
import { Lab, labIsMissing } from '#proxy/testing/lab.ts';
import { run } from './harness.ts';

const program = process.env['KUBE_PROXY'] ?? '';
const CONFIGURATION = `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: here
clusterCIDR: 10.0.0.0/16,fd00:0:0:a::/63
nodePortAddresses: [0.0.0.0/0, '::/0']
conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
nftables: { minSyncPeriod: 10ms }
healthzBindAddress: ''
metricsBindAddress: 127.0.0.1:10249
`;
const RELAY = `require('node:net').createServer((a) => {
  const b = require('node:net').connect(process.argv[1]);
  a.on('error', () => b.destroy()).pipe(b);
  b.on('error', () => a.destroy()).pipe(a);
}).listen(6443, '127.0.0.1');`;
const LOAD_BALANCER = { ip: '203.0.113.8', ipMode: 'VIP' } as const;

proxyConformance({
  name: 'kube-proxy',
  missing: existsSync(program) ? labIsMissing() : 'KUBE_PROXY names no program',
  async start() {
    const lab = await Lab.start();
    const dir = mkdtempSync(join(tmpdir(), 'kube-proxy-'));
    const cluster = await startCluster({
      nodes: 0,
      port: 0,
      serviceCidr: '10.96.0.0/16,fd00:10:96::/112',
      controllers: ['ttl-controller'],
    });
    const { client } = cluster;
    const { port } = new URL(cluster.url ?? '');
    // Namespaces share files, so a socket in the file system leads from one to the other.
    const path = join(dir, 'api.sock');
    const relay: Server = createServer((near) => {
      const far = connect(Number(port), '127.0.0.1');
      near.on('error', () => far.destroy()).pipe(far);
      far.on('error', () => near.destroy()).pipe(near);
    });
    await new Promise<void>((resolve) => relay.listen(path, resolve));
    await client.resource(nodes).create({ metadata: { name: 'here' } });
    const addresses = ['192.168.0.1', 'fd00:0:0:1::1'].map((address) => ({
      type: 'InternalIP',
      address,
    }));
    await client
      .resource(nodes)
      .patch(
        'here',
        'application/merge-patch+json',
        { status: { addresses } },
        { subresource: 'status' },
      );
    writeFileSync(
      join(dir, 'config.yaml'),
      `${CONFIGURATION}clientConnection: { kubeconfig: ${join(dir, 'kubeconfig')} }\n`,
    );
    writeFileSync(
      join(dir, 'kubeconfig'),
      (cluster.kubeconfig ?? '').replace(/server: .*/, 'server: https://127.0.0.1:6443'),
    );
    const inNode = (...args: string[]): ChildProcess => {
      const [command = '', ...rest] = [...lab.inside('node'), ...args];
      return spawn(command, rest, {
        stdio: [
          'ignore',
          'ignore',
          process.env['KUBE_PROXY_LOG'] === undefined ? 'ignore' : 'inherit',
        ],
      });
    };
    const forwarder = inNode(process.execPath, '-e', RELAY, path);
    let kubeProxy: ChildProcess | undefined;
    const metric = async (name: string): Promise<number> => {
      const [command = '', ...rest] = [
        ...lab.inside('node'),
        'curl',
        '-s',
        'http://127.0.0.1:10249/metrics',
      ];
      const { stdout } = await run(command, rest);
      return Number(
        new RegExp(`^kubeproxy_${name}(?:\\{ip_family="IPv4"\\})? (\\S+)`, 'm').exec(stdout)?.[1] ??
          Number.NaN,
      );
    };
    const until = async (condition: () => Promise<boolean>): Promise<void> => {
      for (let tries = 0; tries < 200 && !(await condition()); tries++) await systemClock.sleep(50);
    };
    const start = (): ObjectProxy => {
      const child = inNode(program, '--config', join(dir, 'config.yaml'));
      kubeProxy = child;
      return {
        async apply(wantedServices, wantedSlices) {
          await until(async () => (await metric('sync_proxy_rules_last_timestamp_seconds')) > 0);
          const seenServices = await metric('sync_proxy_rules_service_changes_total');
          const seenEndpoints = await metric('sync_proxy_rules_endpoint_changes_total');
          const serviceWrites = await applyServices(wantedServices);
          const sliceWrites = await applySlices(wantedSlices);
          // kube-proxy lists services for each family, and slices for their own.
          await until(
            async () =>
              (await metric('sync_proxy_rules_service_changes_total')) >=
                seenServices + 2 * serviceWrites &&
              (await metric('sync_proxy_rules_endpoint_changes_total')) >=
                seenEndpoints + sliceWrites,
          );
          await until(
            async () =>
              (await metric('sync_proxy_rules_last_timestamp_seconds')) >=
                (await metric('sync_proxy_rules_last_queued_timestamp_seconds')) &&
              (await metric('sync_proxy_rules_service_changes_pending')) === 0 &&
              (await metric('sync_proxy_rules_endpoint_changes_pending')) === 0,
          );
        },
        async close() {
          const ended = new Promise((resolve) => child.once('exit', resolve));
          child.kill('SIGTERM');
          await ended;
        },
      };
    };
    const inDefault = client.resource(services).namespace('default');
    const slicesInDefault = client.resource(endpointSlices).namespace('default');
    async function applyServices(wanted: readonly Service[]): Promise<number> {
      const { items } = await inDefault.list();
      let changes = 0;
      for (const { metadata } of items) {
        if (
          metadata.name === 'kubernetes' ||
          wanted.some((service) => service.metadata.name === metadata.name)
        )
          continue;
        await inDefault.delete(metadata.name);
        changes++;
      }
      for (const { metadata, spec, status } of wanted) {
        const present = items.find((item) => item.metadata.name === metadata.name);
        const object = { metadata: { name: metadata.name, namespace: 'default' }, spec };
        let written =
          present === undefined
            ? await inDefault.create(object)
            : // Ports and addresses that the server has allocated stay.
              await inDefault.update({
                ...present,
                spec: { ...present.spec, ...CLEARED, ...spec },
              });
        // A write without a change causes no event.
        if (written.metadata.resourceVersion !== present?.metadata.resourceVersion) changes++;
        if ((status.loadBalancer.ingress ?? []).length > 0) {
          const balanced = { status: { loadBalancer: { ingress: [LOAD_BALANCER] } } };
          const before = written.metadata.resourceVersion;
          written = await inDefault.patch(metadata.name, 'application/merge-patch+json', balanced, {
            subresource: 'status',
          });
          if (written.metadata.resourceVersion !== before) changes++;
        }
      }
      return changes;
    }
    async function applySlices(wanted: readonly Slice[]): Promise<number> {
      const { items } = await slicesInDefault.list();
      let changes = 0;
      for (const { metadata } of items) {
        if (
          metadata.name === 'kubernetes' ||
          wanted.some((slice) => slice.metadata.name === metadata.name)
        )
          continue;
        await slicesInDefault.delete(metadata.name);
        changes++;
      }
      for (const slice of wanted) {
        const present = items.find((item) => item.metadata.name === slice.metadata.name);
        const { endpoints, ports, addressType, metadata } = slice;
        if (present !== undefined && present.addressType === addressType) {
          const written = await slicesInDefault.update({ ...present, endpoints, ports });
          if (written.metadata.resourceVersion !== present.metadata.resourceVersion) changes++;
        } else {
          changes += present === undefined ? 1 : 2;
          if (present !== undefined) await slicesInDefault.delete(metadata.name);
          await slicesInDefault.create({
            metadata: { name: metadata.name, labels: metadata.labels },
            endpoints,
            ports,
            addressType,
          });
        }
      }
      return changes;
    }
    return {
      backend: start,
      connect: (origin, request) => lab.agent(origin).connect(request),
      async stop() {
        kubeProxy?.kill('SIGKILL');
        forwarder.kill('SIGKILL');
        relay.close();
        await cluster.stop();
        await lab.stop();
        rmSync(dir, { recursive: true, force: true });
      },
    };
  },
});

/** Fields of a service that a test leaves out to clear them. */
const CLEARED = {
  externalTrafficPolicy: undefined,
  internalTrafficPolicy: undefined,
  sessionAffinity: undefined,
  sessionAffinityConfig: undefined,
  loadBalancerSourceRanges: undefined,
  externalIPs: undefined,
};
