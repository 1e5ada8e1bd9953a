// Machines that join a cluster by the commands of docs/joining-nodes.md, with other addresses and
// names: one on the first machine's link, and one behind a router. Network namespaces stand for the
// machines; containers are real.

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { labIsMissing, type LabMachine, MachineLab } from '#network/pod-network/testing/lab.ts';
import {
  coxArgs,
  eventually,
  kubectls,
  missingContainerd,
  missingKubectl,
  named,
  run,
  splitWords,
  temporaryDir,
} from './harness.ts';
import { importBusybox } from './images.ts';

const lab = labIsMissing();
const missing = missingKubectl ?? missingContainerd ?? lab;
const guide = readFileSync(
  fileURLToPath(new URL('../../docs/joining-nodes.md', import.meta.url)),
  'utf8',
);

/** Returns the commands of the guide for one more node, by their first words. */
function command(beginning: string): string {
  const section = guide.slice(guide.indexOf('## One more node'));
  const found = section.split('\n').find((line) => line.startsWith(`cox ${beginning}`));
  if (found === undefined) throw new Error(`the guide has no command cox ${beginning}`);
  return found;
}

const pod = (node: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: on-${node}, labels: { app: web } }
spec:
  nodeName: ${node}
  terminationGracePeriodSeconds: 0
  tolerations: [{ operator: Exists }]
  containers:
    - name: web
      image: busybox
      imagePullPolicy: Never
      command:
        - sh
        - -c
        - |
          mkdir -p /tmp/www/cgi-bin
          printf '#!/bin/sh\\necho\\necho $REMOTE_ADDR\\n' > /tmp/www/cgi-bin/client
          chmod +x /tmp/www/cgi-bin/client
          head -c 1000000 /dev/zero > /tmp/www/large
          exec httpd -f -p 8080 -h /tmp/www
`;
const service = `
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`;

describe.skipIf(missing !== undefined)(
  named('machines join by the commands of the guide', missing),
  () => {
    const dir = temporaryDir();
    const children: { readonly process: ChildProcess; readonly ended: Promise<void> }[] = [];
    let machines: MachineLab;
    let first: LabMachine;
    let near: LabMachine;
    let far: LabMachine;

    const folder = (machine: LabMachine): string => join(dir.path, machine.address);
    /** Not `ip netns exec`: containers must not inherit a mount namespace from the command. */
    const inside = (machine: LabMachine): string[] => [
      'nsenter',
      `--net=/run/netns/${machine.inside.at(-1)!}`,
    ];
    /** Returns the command with the addresses and names of this test. */
    const adapted = (line: string, name: string, machine: LabMachine): string[] => [
      ...coxArgs,
      ...splitWords(
        line
          .replaceAll('worker-2', name)
          .replaceAll('10.0.0.5', first.address)
          .replaceAll('10.0.0.8', machine.address),
      ).slice(1),
    ];

    async function runOn(
      machine: LabMachine,
      args: readonly string[],
      cwd = folder(machine),
    ): Promise<string> {
      const [program = '', ...rest] = [...inside(machine), ...args];
      const { status, stdout, stderr } = await run(program, rest, { cwd, timeoutMs: 120_000 });
      if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
      return stdout;
    }
    const kubectl = (...args: readonly string[]): Promise<string> =>
      runOn(first, [
        kubectls().at(-1)?.path ?? 'kubectl',
        '--kubeconfig',
        join(folder(first), '.coxswain', 'kubeconfig'),
        ...args,
      ]);

    async function start(
      machine: LabMachine,
      args: readonly string[],
      ready: RegExp,
    ): Promise<void> {
      const [program = '', ...rest] = [...inside(machine), process.execPath, ...args];
      const child = spawn(program, rest, {
        cwd: folder(machine),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      children.push({ process: child, ended });
      let said = '';
      await new Promise<void>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr]) {
          stream.on('data', (chunk: Buffer) => {
            said += chunk.toString('utf8');
            appendFileSync(join(dir.path, 'log'), chunk);
            if (ready.test(said)) resolve();
          });
        }
        void ended.then(() => reject(new Error(`${args.join(' ')} ended:\n${said}`)));
      });
    }

    async function joinAs(name: string, machine: LabMachine): Promise<void> {
      for (const line of [command('certs kubeconfig kubelet'), command('certs node')])
        await runOn(first, [process.execPath, ...adapted(line, name, machine)]);
      await runOn(first, [
        process.execPath,
        ...adapted(command('certs kubeconfig proxy'), name, machine),
      ]);
      const [from, to] = [folder(first), folder(machine)];
      mkdirSync(join(to, 'certs'), { recursive: true });
      for (const file of [`${name}.conf`, 'proxy.conf']) cpSync(join(from, file), join(to, file));
      for (const file of ['ca.crt', `kubelet-${name}.crt`, `kubelet-${name}.key`])
        cpSync(join(from, '.coxswain', 'pki', file), join(to, 'certs', file));
      await start(
        machine,
        [
          ...adapted(command('kubelet'), name, machine),
          '--no-install',
          '--runtime',
          'containerd',
          // The disk of the machine under the tests may be nearly full.
          '--eviction-hard',
          'memory.available<100Mi',
          '--image-gc-high-threshold',
          '100',
        ],
        /^ready:/m,
      );
      await start(machine, adapted(command('proxy'), name, machine), /^ready:/m);
      await importBusybox(join(to, '.coxswain-node'));
    }

    /** Returns a request command. wget does not work in the image, since its libc is static. */
    const request = (
      from: string,
      address: string,
      port: number,
      path: string,
      then = 'tail -n 1',
    ): Promise<string> => {
      const command = `printf 'GET ${path} HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${address} ${port} | ${then}`;
      return kubectl('exec', `on-${from}`, '--', 'sh', '-c', command);
    };
    /** Returns the address that the server sees. */
    const client = async (from: string, address: string, port = 8080): Promise<string> =>
      (await request(from, address, port, '/cgi-bin/client'))
        .trim()
        .replace(/^\[::ffff:(.*)\]$/, '$1');
    /** Resets the machine, unless that was done before. */
    async function reset(machine: LabMachine): Promise<void> {
      const data = join(folder(machine), machine === first ? '.coxswain' : '.coxswain-node');
      if (!existsSync(join(data, 'cox.tag'))) return;
      await runOn(machine, [process.execPath, ...coxArgs, 'reset', '--yes', '--data-dir', data]);
    }
    const addressOf = (name: string): Promise<string> =>
      kubectl('get', 'pod', `on-${name}`, '-o', 'jsonpath={.status.podIP}');

    let firstName = '';
    beforeAll(async () => {
      machines = new MachineLab();
      first = await machines.machine('a', 1);
      near = await machines.machine('a', 2);
      far = await machines.machine('b', 3);
      for (const machine of [first, near, far]) mkdirSync(folder(machine));
      const up = adapted(command('up'), '', first);
      await start(first, [...up, '--no-install', '--runtime', 'containerd'], /cluster ready/);
      await importBusybox(join(folder(first), '.coxswain'));
      firstName = await kubectl('get', 'nodes', '-o', 'jsonpath={.items[0].metadata.name}');
      await joinAs('worker-2', near);
      await joinAs('worker-3', far);
      await kubectl('wait', '--for=condition=Ready', 'nodes', '--all', '--timeout=60s');
    });

    afterAll(async () => {
      await kubectl('delete', 'pods', '--all', '--grace-period=1', '--timeout=60s').catch(
        () => undefined,
      );
      for (const { process: child, ended } of children.toReversed()) {
        child.kill('SIGTERM');
        await ended;
      }
      for (const machine of [first, near, far]) await reset(machine);
      await machines.stop();
      dir.remove();
    });

    test('nodes have ranges and conditions', async () => {
      const path =
        'jsonpath={range .items[*]}{.spec.podCIDR} ' +
        '{.status.conditions[?(@.type=="NetworkUnavailable")].reason}{"\\n"}{end}';
      const ranges = (await kubectl('get', 'nodes', '-o', path)).trim().split('\n');
      expect(ranges.toSorted()).toEqual(
        [0, 1, 2].map((part) => `10.244.${part}.0/24 RouteCreated`),
      );
    });

    test('pods reach each other with their own addresses, and services by name', async () => {
      const names = [firstName, 'worker-2', 'worker-3'];
      for (const name of names) {
        const { status, stderr } = await run(
          'nsenter',
          [
            ...inside(first).slice(1),
            kubectls().at(-1)?.path ?? 'kubectl',
            '--kubeconfig',
            join(folder(first), '.coxswain', 'kubeconfig'),
            'apply',
            '-f',
            '-',
          ],
          { input: `${pod(name)}---${service}` },
        );
        expect(stderr).toBe('');
        expect(status).toBe(0);
      }
      await kubectl('wait', '--for=condition=Ready', 'pods', '--all', '--timeout=60s');
      for (const from of names) {
        const own = await addressOf(from);
        for (const to of names) {
          const address = await addressOf(to);
          expect(await client(from, address), `${from} to ${to}`).toBe(own);
          const size = Number(await request(from, address, 8080, '/large', 'wc -c'));
          expect(size, `${from} to ${to}`).toBeGreaterThan(1_000_000);
        }
        const clusterIP = await kubectl(
          'get',
          'service',
          'web',
          '-o',
          'jsonpath={.spec.clusterIP}',
        );
        await eventually(
          `the service, from ${from}`,
          async () => (await client(from, clusterIP, 80)) !== '',
        );
        const name = 'web.default.svc.cluster.local';
        await eventually(`its name, from ${from}`, async () =>
          (await kubectl('exec', `on-${from}`, '--', 'nslookup', name)).includes(clusterIP),
        );
      }
      expect(first.run('ip', 'route', 'show', 'proto', '84')).toMatch(
        /10\.244\.1\.0\/24 via 10\.91\.1\.2 dev eth0/,
      );
      expect(first.run('ip', 'route', 'show', 'proto', '84')).toMatch(
        /10\.244\.2\.0\/24 via 10\.244\.2\.0 dev cxv/,
      );
    });

    test('pods have the MTU that the network supports', async () => {
      const mtu = await kubectl('exec', 'on-worker-3', '--', 'cat', '/sys/class/net/eth0/mtu');
      expect(mtu.trim()).toBe('1450');
    });

    test('a removed node leaves no rules or routes on the others', async () => {
      await kubectl('delete', 'pod', 'on-worker-3', '--timeout=30s');
      const kubelet = children.at(-2);
      kubelet?.process.kill('SIGTERM');
      await kubelet?.ended;
      await kubectl('delete', 'node', 'worker-3');
      await eventually(
        'routes without the node',
        async () => !first.run('ip', 'route').includes('10.244.2.0'),
      );
      expect(first.run('ip', 'link')).not.toContain('cxv');
      expect(await client('worker-2', await addressOf(firstName))).toBe(
        await addressOf('worker-2'),
      );
    });

    test('a reset leaves no process, mount or interface on a machine', async () => {
      await kubectl('delete', 'pod', 'on-worker-2', '--timeout=30s');
      for (const { process: child, ended } of children.slice(1, 3)) {
        child.kill('SIGTERM');
        await ended;
      }
      await reset(near);
      expect(near.run('ip', 'route', 'show', 'proto', '84')).toBe('');
      expect(near.run('ip', '-o', 'link')).not.toMatch(/: (?:cox|cxv)/);
      expect(near.run('nft', 'list', 'tables')).not.toContain('coxswain-pods');
    });
  },
);
